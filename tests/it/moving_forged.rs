//! Exports whose hashes were all made anew after a change: what no store of ours could have written is refused, since
//! whatever is taken in must be readable afterwards and must verify.

use handoff_memory::domain::Hash;
use handoff_memory::domain::canonical::canonical;
use handoff_memory::domain::ledger::Checkpoint;
use serde_json::{Map, Value, json};

use crate::everything::{Scribe, address, export, intact, plain, report, tags};
use crate::harness::{Place, Ran};
use crate::storage::text;

/// A small store: a record with two versions, a packet that was taken and closed with a note, one that was cancelled, one
/// that was superseded, and one that waits.
fn small() -> Vec<Value> {
    let place = Place::new();
    let mut scribe = Scribe::at(&place.db());
    scribe.remember("scout/s1", "app/plan", "\"first\"", |new| new.tags = tags(&["red"]));
    scribe.remember("scout/s1", "app/plan", "\"second\"", |_| {});
    let pins = vec![handoff_memory::domain::Ref {
        at: address("app/plan"),
        version: Some(1),
    }];
    let closed = scribe.hand_off("scout/s1", "closed", |new| new.refs = Some(pins.clone()));
    scribe.resume("codex/s2/ann", &closed);
    scribe.report("codex/s2/ann", report("success", "r1", &[], Some(&closed), None));
    scribe.report("codex/s2", report("failure", "r2", &pins, None, Some("a note")));
    let given_back = scribe.hand_off("scout/s1", "given back", |_| {});
    scribe.resume("codex/s2", &given_back);
    scribe.report(
        "codex/s2",
        report("released", "r3", &[], Some(&given_back), Some("no time")),
    );
    let old = scribe.hand_off("scout/s1", "old", |_| {});
    scribe.hand_off("scout/s1", "new", |new| new.supersedes = Some(old));
    scribe.done();
    let lines = std::fs::read_to_string(export(&place, "export.jsonl")).expect("the export");
    lines
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

/// Where the first entry of a kind is.
fn find(lines: &[Value], kind: &str) -> usize {
    let found = lines.iter().position(|line| line["entry"]["kind"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}"))
}

/// The hash of a body; absent fields are left out.
fn body_hash(body: Value) -> String {
    let Value::Object(fields) = body else { unreachable!() };
    let set: Map<String, Value> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    Hash::of(&[canonical(&set).as_bytes()]).to_string()
}

/// Makes every hash of the one project anew from what the lines hold now.
fn forge(lines: &mut [Value]) -> Vec<u8> {
    let mut hash = Hash::ZERO;
    let mut versions: Vec<(Value, String)> = Vec::new();
    let (mut home, mut seq) = (Value::Null, 0);
    for line in lines.iter_mut() {
        if line["entry"].is_null() {
            continue;
        }
        let salted = line["text"].is_object().then(|| text_hash(&line["text"]));
        let entry = line["entry"].clone();
        if entry["seq"] == 1 {
            home = entry["detail"].clone();
        }
        let digest = if line["version"].is_object() {
            if let Some(salted) = salted {
                line["version"]["value_hash"] = json!(salted);
            }
            let subject: Value = entry["subject"]
                .as_str()
                .and_then(|subject| serde_json::from_str(subject).ok())
                .unwrap_or_default();
            let record = json!([subject[0], subject[1]]);
            let before = versions.iter().rfind(|(at, _)| json!([at[0], at[1]]) == record);
            let before = before.map_or(Hash::ZERO.to_string(), |(_, hash)| hash.clone());
            line["version"]["prev_hash"] = json!(before);
            let mut body = line["version"].clone();
            for (name, value) in [
                ("v", json!(1)),
                ("workspace", home["workspace"].clone()),
                ("project", home["project"].clone()),
                ("scope", subject[0].clone()),
                ("key", subject[1].clone()),
                ("version", subject[2].clone()),
                ("author", entry["agent"].clone()),
                ("session", entry["session"].clone()),
                ("created_at", entry["at"].clone()),
            ] {
                body[name] = value;
            }
            let digest = body_hash(body);
            versions.push((subject, digest.clone()));
            digest
        } else if line["packet"].is_object() {
            if let Some(salted) = salted {
                line["packet"]["texts_hash"] = json!(salted);
            }
            let before = Checkpoint {
                store: home["store"].as_str().unwrap_or_default().to_owned(),
                workspace: home["workspace"].as_str().unwrap_or_default().to_owned(),
                project: home["project"].as_str().unwrap_or_default().to_owned(),
                seq,
                hash,
            };
            line["packet"]["checkpoint"] = json!(before.to_string());
            let mut hashes = Vec::new();
            for pin in line["packet"]["refs"].as_array_mut().expect("refs") {
                let named = json!([pin[0], pin[1], pin[2]]);
                if let Some((_, hash)) = versions.iter().find(|(at, _)| *at == named) {
                    pin[3] = json!(hash);
                }
                hashes.push(pin[3].clone());
            }
            let mut body = line["packet"].clone();
            body["refs"] = json!(hashes);
            for (name, value) in [
                ("v", json!(1)),
                ("id", entry["subject"].clone()),
                ("workspace", home["workspace"].clone()),
                ("project", home["project"].clone()),
                ("from_agent", entry["agent"].clone()),
                ("from_session", entry["session"].clone()),
                ("created_at", entry["at"].clone()),
                ("expires_at", entry["detail"]["expires_at"].clone()),
            ] {
                body[name] = value;
            }
            body_hash(body)
        } else {
            if let (Some(salted), true) = (salted, entry["detail"]["note_hash"].is_string()) {
                line["entry"]["detail"]["note_hash"] = json!(salted);
            }
            Hash::of(&[canonical(&line["entry"]["detail"]).as_bytes()]).to_string()
        };
        line["entry"]["digest"] = json!(digest);
        let mut body = line["entry"].as_object().expect("an entry").clone();
        body.shift_remove("hash");
        hash = Hash::of(&[hash.to_string().as_bytes(), canonical(&body).as_bytes()]);
        line["entry"]["hash"] = json!(hash.to_string());
        seq = line["entry"]["seq"].as_u64().unwrap_or(seq);
    }
    let end = format!(
        "hm1:{}:default:default:{seq}:{hash}",
        home["store"].as_str().unwrap_or("0")
    );
    *lines.last_mut().expect("an end") = json!({ "end": [end] });
    lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

fn text_hash(text: &Value) -> String {
    let nonce = text["nonce"].as_str().unwrap_or_default().as_bytes();
    let bytes = nonce
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    Hash::of_text(&bytes.collect::<Vec<_>>(), text["body"].as_str().unwrap_or_default()).to_string()
}

fn take(bytes: &[u8]) -> (Place, Ran) {
    let place = Place::new();
    let file = place.path().join("forged.jsonl");
    std::fs::write(&file, bytes).expect("a file");
    let ran = place.run(&["import", text(&file)]);
    plain(&ran);
    (place, ran)
}

/// A field somewhere in the line of the first entry of a kind, and what is put there.
type Change = (&'static str, &'static str, Value);

fn changed((kind, path, value): &Change) -> Vec<u8> {
    let mut lines = small();
    let n = find(&lines, kind);
    let (parent, name) = path.rsplit_once('/').expect("a path");
    let parent = lines[n].pointer_mut(parent).unwrap_or_else(|| panic!("{kind}{path}"));
    match parent {
        Value::Array(items) => items[name.parse::<usize>().expect("a place")] = value.clone(),
        parent => parent[name] = value.clone(),
    }
    forge(&mut lines)
}

#[test]
fn u06_what_was_hashed_anew_without_a_change_is_what_it_was() {
    let mut lines = small();
    let before: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let bytes = forge(&mut lines);
    assert!(bytes == before, "the hashes of this test are not those of the program");
    let (place, ran) = take(&bytes);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    intact(&place);
}

#[test]
fn u06_what_no_store_could_have_written_is_refused() {
    let text = |body: &str| json!({"nonce": "11".repeat(16), "body": body});
    let texts = |more: Value| {
        let mut texts =
            json!({"title": "t", "summary": "s", "next_steps": [], "open_questions": [], "files_touched": []});
        for (name, value) in more.as_object().expect("fields") {
            texts[name] = value.clone();
        }
        texts.to_string()
    };
    let changes: Vec<Change> = vec![
        ("created", "/entry/detail/store", json!("no id")),
        ("created", "/entry/detail/store", json!("A".repeat(32))),
        ("created", "/entry/detail/more", json!(1)),
        ("created", "/entry/detail/workspace", json!("another")),
        ("created", "/entry/subject", json!("default/another")),
        ("remembered", "/entry/agent", json!(" ")),
        ("remembered", "/entry/agent", json!("e\u{301}")),
        ("remembered", "/entry/agent", json!("a".repeat(257))),
        ("remembered", "/entry/session", json!("a\u{1b}b")),
        ("remembered", "/entry/at", json!("2025-12-01T00:00:01Z")),
        ("remembered", "/entry/at", json!("2020-01-01T00:00:00.000Z")),
        ("remembered", "/entry/at", json!("yesterday")),
        ("remembered", "/entry/kind", json!("forgotten")),
        ("remembered", "/entry/subject", json!("[\"app\",\"plan\",2]")),
        ("remembered", "/entry/subject", json!("[\"app\", \"plan\", 1]")),
        ("remembered", "/entry/subject", json!("[\" \",\"plan\",1]")),
        ("remembered", "/entry/subject", json!("app/plan")),
        ("remembered", "/version/confidence", json!(1.5)),
        ("remembered", "/version/tags", json!(["a", "a"])),
        ("remembered", "/version/tags", json!([" a"])),
        (
            "remembered",
            "/version/tags",
            json!((0..33).map(|n| format!("t{n}")).collect::<Vec<_>>()),
        ),
        ("remembered", "/version/meta", json!([1])),
        ("remembered", "/version/private_to", json!("")),
        ("remembered", "/text", text("no JSON")),
        ("remembered", "/text", text("{ \"a\": 1 }")),
        ("remembered", "/text", text("{\"a\":1,\"a\":2}")),
        ("remembered", "/text", text("123456789012345678901234567890")),
        ("remembered", "/text", text(&("[".repeat(65) + &"]".repeat(65)))),
        ("remembered", "/text", text(&format!("\"{}\"", "x".repeat(1 << 20)))),
        ("remembered", "/text", text("1.50")),
        ("remembered", "/text", text("\"\\ud800\"")),
        ("remembered", "/text", text("")),
        ("remembered", "/text/nonce", json!("00")),
        ("handed_off", "/entry/subject", json!("h_1")),
        ("handed_off", "/packet/origin", json!("mechanical")),
        ("handed_off", "/packet/refs/0/2", json!(9)),
        ("handed_off", "/packet/owner", json!(" ")),
        ("handed_off", "/packet/to_agent", json!("a\nb")),
        ("handed_off", "/packet/cwd", json!("\u{7}")),
        ("handed_off", "/packet/supersedes", json!("the old one")),
        ("handed_off", "/packet/continues", json!("x")),
        ("handed_off", "/text", text(&texts(json!({"more": 1})))),
        ("handed_off", "/text", text("{\"title\":\"t\"}")),
        ("handed_off", "/text", text("\"t\"")),
        ("accepted", "/entry/subject", json!("h_0123456789abcdef")),
        ("accepted", "/entry/kind", json!("closed")),
        ("accepted", "/entry/kind", json!("resumed")),
        ("outcome", "/entry/subject", json!("o_1")),
        ("outcome", "/entry/detail/before", json!(0.5)),
        ("outcome", "/entry/detail/after", json!(1.0)),
        ("outcome", "/entry/detail/outcome", json!("failure")),
        ("outcome", "/entry/detail/outcome", json!("Success")),
        ("outcome", "/entry/detail/version", json!(7)),
        ("outcome", "/entry/detail/more", json!("free text")),
        ("outcome", "/entry/detail/outcome_ref", json!(" r1 ")),
        ("released", "/text", text("{\"no\":\"text\"}")),
        ("released", "/text", text("\"\\u0041\"")),
        ("released", "/entry/detail/note_hash", json!(5)),
    ];
    for change in &changes {
        let (place, ran) = take(&changed(change));
        assert_eq!(ran.code, Some(2), "{change:?}: {ran:?}");
        if place.db().exists() && place.count("SELECT count(*) FROM ledger") > 0 {
            place.verify_clean();
        }
    }
}

#[test]
fn u06_what_is_there_twice_is_refused() {
    for kind in ["created", "remembered", "handed_off", "accepted", "outcome", "closed"] {
        let mut lines = small();
        let n = find(&lines, kind);
        // The same thing once more as the next entry, with everything after it one further.
        lines.insert(n + 1, lines[n].clone());
        for line in lines.iter_mut().skip(n + 1).filter(|line| line["entry"].is_object()) {
            line["entry"]["seq"] = json!(line["entry"]["seq"].as_u64().expect("a number") + 1);
        }
        let (place, ran) = take(&forge(&mut lines));
        if kind == "accepted" {
            // Taken over by the same agent: odd, and allowed.
            assert_eq!(ran.code, Some(0), "{ran:?}");
            intact(&place);
        } else {
            assert_eq!(ran.code, Some(2), "{kind}: {ran:?}");
        }
    }
}

/// Changes of what later entries of a packet set, and of what is fixed for an entry of a version.
fn unreadable() -> Vec<Change> {
    vec![
        ("remembered", "/entry/detail/more", json!(1)),
        ("handed_off", "/entry/detail/expires_at", json!("soon")),
        ("accepted", "/entry/detail/owner", json!(" ")),
        ("accepted", "/entry/detail/owner", json!(5)),
        ("accepted", "/entry/detail/cwd", json!("\u{1b}[2J")),
        ("accepted", "/entry/detail", json!([1])),
        ("closed", "/entry/detail/ended_as", json!("somehow")),
        ("closed", "/entry/detail/ended_as", json!(null)),
        ("closed", "/entry/detail/outcome_ref", json!("r".repeat(5_000))),
        ("closed", "/entry/detail/outcome_ref", json!("a\u{1}b")),
        ("released", "/entry/detail/expires_at", json!("soon")),
        ("expired", "/entry/detail/superseded_by", json!("x")),
        ("expired", "/entry/detail/ended_as", json!("success")),
    ]
}

#[test]
fn u06_an_entry_whose_detail_cannot_be_read_back_is_refused() {
    for change in unreadable() {
        let ran = take(&changed(&change)).1;
        assert_eq!(ran.code, Some(2), "{change:?}: {ran:?}");
    }
}
