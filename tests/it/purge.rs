//! Purges: what was stored and should not have been is gone to the last byte, and everything that refers to it still
//! verifies and says what happened.

use std::path::Path;

use serde_json::{Value, json};

use crate::everything::{checkpoints, document, holds, intact, no_byte_left, plain};
use crate::handoffs::{id, resume_id};
use crate::harness::{Place, Ran, Server};
use crate::storage::text;

/// Runs `purge` without being asked, and gives what was said; it must go well.
#[track_caller]
fn purge(place: &Place, args: &[&str]) -> Ran {
    let ran = place.run(&[&["--agent", "janitor", "purge", "--why", "secret", "--yes"], args].concat());
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    plain(&ran);
    ran
}

/// Asserts that nothing of a text is left: not in the database's files, not in a new backup, not in a new export; and that
/// what is left is intact.
#[track_caller]
fn gone(place: &Place, needle: &str) {
    no_byte_left(&place.db(), needle);
    let (backup, export) = (place.path().join("new.db"), place.path().join("new.jsonl"));
    for (command, file) in [("backup", &backup), ("export", &export)] {
        let ran = place.run(&[command, "--overwrite", text(file)]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let bytes = std::fs::read(file).expect("the file");
        assert!(!holds(&bytes, needle), "{needle} is in a new {command}");
    }
    intact(place);
}

/// Asserts that a text is still there.
#[track_caller]
fn there(place: &Place, needle: &str) {
    let wal = std::fs::read(crate::storage::beside(&place.db(), "-wal")).unwrap_or_default();
    let db = std::fs::read(place.db()).expect("the file");
    assert!(holds(&db, needle) || holds(&wal, needle), "{needle} is gone");
}

/// Asserts that a record's version tells who purged it, when and why, and nothing of its value.
#[track_caller]
fn told(record: &Value) {
    let purged = &record["purged"];
    assert_eq!(
        (&purged["by"], &purged["why"]),
        (&json!("janitor"), &json!("secret")),
        "{record}"
    );
    assert!(purged["at"].as_str().is_some_and(|at| at.ends_with('Z')), "{record}");
    assert!(
        record.get("value").is_none() && record.get("preview").is_none(),
        "{record}"
    );
}

/// A store with three versions of `s/leak` that a closed and an open packet pin, and a server that read all of it and goes on.
struct Leaky {
    place: Place,
    reader: Server,
    closed: String,
    open: String,
}

impl Leaky {
    fn new() -> Self {
        let place = Place::new();
        let mut scout = place.agent("scout");
        for word in ["one", "two", "three"] {
            scout.remember(
                "s",
                "leak",
                json!({"secret": format!("SENTINEL-{word}"), "more": [word]}),
            );
        }
        scout.remember("s", "kept", json!("kept words"));
        let pins = |versions: &[u64]| -> Value {
            versions
                .iter()
                .map(|n| json!({"scope": "s", "key": "leak", "version": n}))
                .collect()
        };
        let closed = id(&scout.hand_off(
            "SENTINEL-title",
            json!({"summary": "SENTINEL-summary", "next_steps": ["SENTINEL-step"], "open_questions": ["SENTINEL-question"],
                   "files_touched": ["SENTINEL-file"], "refs": pins(&[1, 3])}),
        ));
        let mut codex = place.agent("codex");
        resume_id(&mut codex, &closed);
        let report = json!({"outcome": "failure", "outcome_ref": "r1", "handoff_id": closed, "note": "SENTINEL-note"});
        codex.call("record_outcome", report);
        let refs = json!([{"scope": "s", "key": "kept"}]);
        let alone = json!({"outcome": "success", "outcome_ref": "r2", "refs": refs, "note": "SENTINEL-alone"});
        codex.call("record_outcome", alone);
        let open = id(&scout.hand_off("waiting", json!({"next_steps": ["x"], "refs": pins(&[2, 3])})));
        scout.finish();
        codex.finish();
        for word in ["one", "two", "three", "title", "summary", "file", "note", "alone"] {
            there(&place, &format!("SENTINEL-{word}"));
        }
        let mut reader = place.agent("reader");
        reader.call("history", json!({"scope": "s", "key": "leak"}));
        reader.read("s", "leak");
        reader.call("resume", json!({"peek": true, "handoff_id": closed}));
        reader.call("resume", json!({"peek": true, "handoff_id": open}));
        assert_eq!(reader.found(json!({"query": "SENTINEL"})), ["s/leak"]);
        Self {
            place,
            reader,
            closed,
            open,
        }
    }

    /// The record's versions as the running server tells them.
    fn versions(&mut self) -> Vec<Value> {
        let history = self.reader.call("history", json!({"scope": "s", "key": "leak"}));
        history["versions"].as_array().expect("versions").clone()
    }

    /// The status of each pin of a packet, and whether a value came with it.
    fn pins(&mut self, id: &str) -> Vec<(String, bool)> {
        let seen = self.reader.call("resume", json!({"peek": true, "handoff_id": id}));
        let refs = seen["refs"].as_array().expect("refs").iter();
        refs.map(|pin| {
            (
                pin["status"].as_str().expect("a status").to_owned(),
                pin.get("value").is_some(),
            )
        })
        .collect()
    }

    /// The id of the outcome of a run.
    fn outcome(&self, run: &str) -> String {
        self.place
            .sql()
            .query_row("SELECT id FROM outcome WHERE outcome_ref = ?1", [run], |row| row.get(0))
            .expect("an outcome")
    }
}

fn pin(status: &str, value: bool) -> (String, bool) {
    (status.to_owned(), value)
}

#[test]
fn a_superseded_version_is_purged_alone() {
    let mut leaky = Leaky::new();
    purge(&leaky.place, &["--scope", "s", "--key", "leak", "--version", "1"]);
    gone(&leaky.place, "SENTINEL-one");
    there(&leaky.place, "SENTINEL-two");
    let versions = leaky.versions();
    told(&versions[0]);
    assert_eq!(versions[1]["value"]["secret"], "SENTINEL-two");
    assert_eq!(leaky.reader.read("s", "leak")["value"]["secret"], "SENTINEL-three");
    assert_eq!(leaky.reader.found(json!({"query": "SENTINEL"})), ["s/leak"]);
    let (closed, open) = (leaky.closed.clone(), leaky.open.clone());
    assert_eq!(leaky.pins(&closed), [pin("purged", false), pin("current", true)]);
    assert_eq!(leaky.pins(&open), [pin("stale", true), pin("current", true)]);
    let old = json!({"scope": "s", "key": "leak", "version": 1});
    told(&leaky.reader.call("recall", old)["records"][0]);
}

#[test]
fn the_current_version_is_purged_and_no_older_one_takes_its_place() {
    let mut leaky = Leaky::new();
    purge(&leaky.place, &["--scope", "s", "--key", "leak", "--version", "3"]);
    gone(&leaky.place, "SENTINEL-three");
    let current = leaky.reader.read("s", "leak");
    told(&current);
    assert_eq!(current["version"], 3);
    assert!(leaky.reader.found(json!({"query": "SENTINEL"})).is_empty());
    assert_eq!(leaky.reader.found(json!({"query": "kept"})), ["s/kept"]);
    assert_eq!(
        leaky.reader.found(json!({"scope": "s"})).len(),
        2,
        "the record is still there"
    );
    let open = leaky.open.clone();
    assert_eq!(leaky.pins(&open), [pin("stale", true), pin("purged", false)]);
    // Life goes on.
    assert_eq!(leaky.reader.remember("s", "leak", json!("clean"))["version"], 4);
    assert_eq!(leaky.reader.found(json!({"query": "clean"})), ["s/leak"]);
    intact(&leaky.place);
}

#[test]
fn all_versions_of_a_record_are_purged_at_once() {
    let mut leaky = Leaky::new();
    let ran = purge(&leaky.place, &["--scope", "s", "--key", "leak", "--all-versions"]);
    assert!(ran.stdout.contains("3 texts purged"), "{ran:?}");
    for word in ["one", "two", "three"] {
        gone(&leaky.place, &format!("SENTINEL-{word}"));
    }
    leaky.versions().iter().for_each(told);
    let (closed, open) = (leaky.closed.clone(), leaky.open.clone());
    for id in [&closed, &open] {
        assert!(leaky.pins(id).iter().all(|one| *one == pin("purged", false)));
    }
    // A person is told the same.
    for args in [
        &["history", "--scope", "s", "--key", "leak"] as &[&str],
        &["recall", "--scope", "s", "--key", "leak"],
        &["handoffs", "show", &closed],
    ] {
        let ran = leaky.place.run(args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("purged"), "{args:?}: {ran:?}");
    }
    let log = leaky.place.run(&["--json", "log", "--since", "0"]);
    let whys = log
        .stdout
        .lines()
        .filter(|line| line.contains("\"purged\"") && line.contains("\"secret\""));
    assert_eq!(whys.count(), 3, "{log:?}");
    // The one that takes the packet up is given it, and told.
    let mut codex = leaky.place.agent("codex");
    let taken = resume_id(&mut codex, &open);
    assert_eq!(taken["refs"][0]["status"], "purged", "{taken}");
    codex.finish();
    intact(&leaky.place);
}

#[test]
fn a_packets_texts_go_with_every_note_on_it() {
    let mut leaky = Leaky::new();
    let closed = leaky.closed.clone();
    purge(&leaky.place, &["--handoff", &closed]);
    for word in ["title", "summary", "step", "question", "file", "note"] {
        gone(&leaky.place, &format!("SENTINEL-{word}"));
    }
    there(&leaky.place, "SENTINEL-one");
    there(&leaky.place, "SENTINEL-alone");
    let seen = leaky.reader.call("resume", json!({"peek": true, "handoff_id": closed}));
    let packet = &seen["packet"];
    assert_eq!(packet["purged"]["by"], "janitor", "{seen}");
    for part in ["summary", "next_steps", "open_questions", "files_touched"] {
        let empty = packet
            .get(part)
            .is_none_or(|part| part.as_array().is_some_and(Vec::is_empty));
        assert!(empty, "{part} in {seen}");
    }
    assert_eq!(
        (&packet["state"], &packet["ended_as"]),
        (&json!("closed"), &json!("failure"))
    );
    assert_eq!(leaky.pins(&closed), [pin("stale", true), pin("current", true)]);
    let shown = leaky.place.run(&["handoffs", "show", &closed]);
    assert!(shown.stdout.contains("purged by janitor"), "{shown:?}");
    assert_eq!(leaky.place.run(&["handoffs", "list", "--all"]).code, Some(0));
}

#[test]
fn the_note_of_an_outcome_is_purged_wherever_it_stands() {
    let leaky = Leaky::new();
    purge(&leaky.place, &["--outcome", &leaky.outcome("r2")]);
    gone(&leaky.place, "SENTINEL-alone");
    there(&leaky.place, "SENTINEL-note");
    // One note on several versions and on the end of a packet is one text.
    purge(&leaky.place, &["--outcome", &leaky.outcome("r1")]);
    gone(&leaky.place, "SENTINEL-note");
    there(&leaky.place, "SENTINEL-title");
    let entries = "SELECT count(*) FROM ledger WHERE kind = 'purged' AND detail LIKE '%note%'";
    assert_eq!(leaky.place.count(entries), 1 + 3);
}

#[test]
fn whatever_holds_a_text_is_found_however_it_is_written() {
    let place = Place::new();
    let secret = "SENTINEL \"quoted\" line\none \\ tab\t~é";
    let mut scout = place.agent("scout");
    scout.remember("v", "text", json!(secret));
    scout.remember(
        "v",
        "inside",
        json!({"a": [1, {"b": format!("before {secret} after")}]}),
    );
    scout.remember("v", "as key", json!({secret: {"deeper": null}}));
    scout.remember("v", "kept", json!("SENTINEL \"quoted\" line two"));
    scout.remember("v", "old", json!(secret));
    scout.remember("v", "old", json!("nothing of it"));
    let packet = id(&scout.hand_off(
        "packet",
        json!({"summary": "s", "next_steps": [format!("do {secret}")]}),
    ));
    let mut codex = place.agent("codex");
    resume_id(&mut codex, &packet);
    let note = format!("tried {secret}");
    codex.call(
        "record_outcome",
        json!({"outcome": "released", "outcome_ref": "r", "handoff_id": packet, "note": note}),
    );
    let other = place
        .start()
        .agent("x")
        .env("MEMORY_PROJECT", "other")
        .env("MEMORY_WORKSPACE", "w");
    let mut other_server = other.serve();
    other_server.remember("v", "elsewhere", json!([secret]));
    // The same text as escapes: what a client sends is kept byte for byte.
    let escaped = "\"\\u0053\\u0045NTINEL \\u0022quoted\\u0022 line\\none \\u005c tab\\u0009~\\u00e9\"";
    let ran = place.run(&["remember", "--scope", "v", "--key", "escaped", "--value", escaped]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    scout.finish();
    codex.finish();

    let dry = place.run(&["--json", "purge", "--containing", secret, "--dry-run"]);
    assert_eq!(dry.code, Some(0), "{dry:?}");
    let answer = document(&dry);
    assert_eq!(answer["dry_run"], true);
    let before = checkpoints(&place);
    let ran = place.start().args(&[
        "--json",
        "--agent",
        "janitor",
        "purge",
        "--why",
        "personal",
        "-y",
        "--containing",
        "-",
    ]);
    let ran = ran.run_fed(format!("{secret}\n").as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let purged = document(&ran);
    assert_eq!(purged["texts"], answer["texts"]);
    assert!(purged.get("dry_run").is_none(), "{purged}");
    let mut subjects: Vec<&str> = purged["texts"]
        .as_array()
        .expect("texts")
        .iter()
        .map(|one| one["subject"].as_str().expect("a subject"))
        .collect();
    subjects.sort_unstable();
    let mut expected = vec![
        r#"["v","as key",1]"#,
        r#"["v","elsewhere",1]"#,
        r#"["v","escaped",1]"#,
        r#"["v","inside",1]"#,
        r#"["v","old",1]"#,
        r#"["v","text",1]"#,
        &packet,
        &packet,
    ];
    expected.sort_unstable();
    assert_eq!(subjects, expected);
    assert_ne!(checkpoints(&place), before);
    for needle in [
        "one \\\\ tab",
        "before SENTINEL",
        "do SENTINEL",
        "tried SENTINEL",
        "u0053",
    ] {
        gone(&place, needle);
    }
    assert_eq!(other_server.read("v", "elsewhere")["purged"]["why"], "personal");
    let mut reader = place.agent("reader");
    assert_eq!(reader.read("v", "kept")["value"], "SENTINEL \"quoted\" line two");
    assert_eq!(reader.read("v", "old")["value"], "nothing of it");

    // A second time there is nothing, and nothing is written.
    let before = checkpoints(&place);
    let again = purge(&place, &["--containing", secret]);
    assert!(again.stdout.contains("nothing was purged"), "{again:?}");
    assert_eq!(checkpoints(&place), before);
}

#[test]
fn what_was_purged_cannot_be_purged_again() {
    let leaky = Leaky::new();
    let targets: [&[&str]; 3] = [
        &["--scope", "s", "--key", "leak", "--version", "2"],
        &["--handoff", &leaky.closed],
        &["--outcome", &leaky.outcome("r2")],
    ];
    for target in targets {
        purge(&leaky.place, target);
        let before = checkpoints(&leaky.place);
        let again = purge(&leaky.place, target);
        assert!(again.stdout.contains("nothing was purged"), "{again:?}");
        assert_eq!(checkpoints(&leaky.place), before, "{target:?}");
    }
    intact(&leaky.place);
}

/// The names that `purge --containing` says it cannot remove, as one text.
#[track_caller]
fn names(place: &Place, needle: &str) -> String {
    let ran = place.run(&["--json", "purge", "--containing", needle, "--dry-run"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    document(&ran)["names"].to_string()
}

#[test]
fn identifiers_that_hold_the_text_are_told_and_stay() {
    let place = Place::new();
    let mut scout = place
        .start()
        .agent("scout")
        .env("MEMORY_OWNER", "owner-NEEDLE7")
        .serve();
    scout.remember("scope-NEEDLE1", "k", json!(1));
    scout.remember("s", "key-NEEDLE2", json!(1));
    scout.call(
        "remember",
        json!({"scope": "s", "key": "tagged", "value": 1, "tags": ["tag-NEEDLE3"]}),
    );
    let refs = json!([{"scope": "s", "key": "tagged"}]);
    scout.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "run-NEEDLE4", "refs": refs}),
    );
    scout.hand_off(
        "t",
        json!({"cwd": "/src/NEEDLE5", "to_agent": "to-NEEDLE6", "next_steps": ["x"]}),
    );
    let mut named = place
        .start()
        .agent("agent-NEEDLE8")
        .env("SESSION_ID", "session-NEEDLE9")
        .serve();
    named.remember("s", "by", json!(1));
    for (n, words) in [
        (1, "record scope-NEEDLE1/k"),
        (2, "record s/key-NEEDLE2"),
        (3, "record s/tagged"),
        (4, "outcome o_"),
        (5, "packet h_"),
        (6, "packet h_"),
        (7, "packet h_"),
        (8, "record s/by"),
        (9, "record s/by"),
    ] {
        let told = names(&place, &format!("NEEDLE{n}"));
        assert!(told.contains(words), "NEEDLE{n}: {told}");
    }
    let ran = purge(&place, &["--containing", "NEEDLE"]);
    assert!(
        ran.stdout.contains("stays: ") && ran.stdout.contains("part of a hash"),
        "{ran:?}"
    );
    assert!(ran.stdout.contains("nothing was purged"), "{ran:?}");
    assert_eq!(scout.read("scope-NEEDLE1", "k")["value"], 1);
    // At most twenty are listed, and the rest are counted.
    for n in 0..30 {
        scout.remember("many-NEEDLES", &format!("k{n}"), json!(n));
    }
    let ran = place.run(&["--json", "purge", "--containing", "many-NEEDLES", "--dry-run"]);
    let answer = document(&ran);
    assert_eq!(answer["names"].as_array().map(Vec::len), Some(20));
    assert_eq!(answer["names_total"], 30);
}

#[test]
fn every_identifier_that_holds_the_text_is_told() {
    let place = Place::new();
    let start = place.start().agent("scout").env("MEMORY_PROJECT", "project-NEEDLE1");
    let mut scout = start.env("MEMORY_WORKSPACE", "workspace-NEEDLE2").serve();
    scout.call(
        "remember",
        json!({"scope": "s", "key": "k", "value": 1, "tags": ["\"NEEDLE3\" said"]}),
    );
    let mut plain = place.agent("scout");
    let packet = id(&plain.hand_off("t", json!({"next_steps": ["x"], "refs": []})));
    let mut taker = place
        .start()
        .agent("taker-NEEDLE4")
        .env("SESSION_ID", "session-NEEDLE5")
        .serve();
    resume_id(&mut taker, &packet);
    let report = json!({"outcome": "success", "outcome_ref": "run-NEEDLE6", "handoff_id": packet});
    taker.call("record_outcome", report);
    let needles = [
        "NEEDLE1",
        "NEEDLE2",
        "\"NEEDLE3\" said",
        "NEEDLE4",
        "NEEDLE5",
        "NEEDLE6",
    ];
    let unsaid: Vec<&str> = needles
        .into_iter()
        .filter(|needle| matches!(&*names(&place, needle), "null" | "[]"))
        .collect();
    assert!(
        unsaid.is_empty(),
        "these stay in the file, and nothing is said: {unsaid:?}"
    );
}

#[test]
fn a_value_that_several_records_share_is_purged_in_one_of_them_alone() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "a", json!("SENTINEL-shared"));
    scout.remember("s", "b", json!("SENTINEL-shared"));
    purge(&place, &["--scope", "s", "--key", "a", "--all-versions"]);
    told(&scout.read("s", "a"));
    assert_eq!(scout.read("s", "b")["value"], "SENTINEL-shared");
    purge(&place, &["--scope", "s", "--key", "b", "--version", "1"]);
    gone(&place, "SENTINEL-shared");
    // Written again by mistake, it is a version of its own.
    assert_eq!(scout.remember("s", "a", json!("SENTINEL-shared"))["version"], 2);
    assert_eq!(scout.read("s", "a")["value"], "SENTINEL-shared");
    scout.finish();
    intact(&place);
}

#[test]
fn a_long_value_is_gone_from_every_page() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let words: String = (0..20_000).map(|n| format!("SENTINEL{n} ")).collect();
    scout.remember("s", "long", json!(words));
    for n in 0..50 {
        scout.remember("s", &format!("k{n}"), json!(format!("between {n}")));
    }
    scout.remember("s", "long", json!(words + "more"));
    scout.remember("s", "long", json!("short"));
    let ran = place.run(&[
        "--agent",
        "j",
        "purge",
        "--containing",
        "SENTINEL77 ",
        "--why",
        "mistake",
        "-y",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    gone(&place, "SENTINEL");
    // Neither a word of it in the index, in whatever case.
    gone(&place, "sentinel");
    assert!(scout.found(json!({"query": "SENTINEL77"})).is_empty());
    assert_eq!(scout.found(json!({"query": "between 7"}))[0], "s/k7");
    scout.finish();
}

#[test]
fn what_cannot_be_purged_is_refused_and_nothing_is_written() {
    let leaky = Leaky::new();
    let place = &leaky.place;
    let before = checkpoints(place);
    let why: &[&str] = &["--why", "secret", "--yes"];
    let unknown: [&[&str]; 5] = [
        &["--scope", "s", "--key", "absent", "--all-versions"],
        &["--scope", "s", "--key", "leak", "--version", "9"],
        &["--handoff", "h_0123456789abcdef"],
        &["--outcome", "o_0123456789abcdef"],
        &["--scope", "SENTINEL", "--key", "leak", "--version", "1"],
    ];
    for args in unknown {
        let ran = place.run(&[&["--json", "purge"], why, args].concat());
        assert_eq!(ran.code, Some(1), "{args:?}: {ran:?}");
        let refusal: Value = serde_json::from_str(&ran.stderr).expect("one JSON document");
        assert_eq!(refusal["error"]["code"], "not_found", "{args:?}");
    }
    let target: &[&str] = &["--scope", "s", "--key", "leak", "--version", "1"];
    let wrong: [&[&str]; 12] = [
        &["--yes", "--why", "secret"],
        &["--yes", "--why", "secret", "--scope", "s", "--key", "leak"],
        &["--yes", "--why", "secret", "--scope", "s"],
        &["--yes", "--why", "secret", "--handoff", "leak"],
        &["--yes", "--why", "secret", "--outcome", "r1"],
        &["--yes", "--why", "secret", "--containing", "  "],
        &[
            "--yes",
            "--why",
            "secret",
            "--scope",
            "s",
            "--key",
            "leak",
            "--version",
            "0",
        ],
        &[
            "--yes",
            "--why",
            "secret",
            "--scope",
            "s",
            "--key",
            "leak",
            "--version",
            "1",
            "--all-versions",
        ],
        &[
            "--yes",
            "--why",
            "secret",
            "--scope",
            "s",
            "--key",
            "leak",
            "--version",
            "1",
            "--containing",
            "x",
        ],
        &[
            "--yes",
            "--why",
            "because",
            "--scope",
            "s",
            "--key",
            "leak",
            "--version",
            "1",
        ],
        &[target, &["--yes"]].concat(),
        // There is nobody to ask.
        &[target, &["--why", "secret"]].concat(),
    ];
    for args in wrong {
        let ran = place.run(&[&["purge"], args].concat());
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        plain(&ran);
    }
    let ran = place.run(&[&["purge", "--why", "secret"], target].concat());
    assert!(ran.stderr.contains("--yes"), "{ran:?}");
    assert_eq!(checkpoints(place), before);
    there(place, "SENTINEL-one");
    intact(place);
}

#[test]
fn a_store_that_is_not_there_is_no_store_without_the_text() {
    let place = Place::new();
    let args = ["purge", "--containing", "SENTINEL", "--why", "secret", "--yes"];
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(text(Path::new(&place.db()))), "{ran:?}");
    assert!(!place.db().exists());
}

#[test]
fn a_purge_reaches_what_belongs_to_any_owner_and_is_private_to_any_agent() {
    use crate::everything::everything;
    let place = everything();
    let ran = purge(&place, &["--containing", "for claude"]);
    assert!(ran.stdout.contains("own:notes version 1"), "{ran:?}");
    gone(&place, "for claude");
    let ran = purge(&place, &["--containing", "resumed elsewhere"]);
    assert!(ran.stdout.contains("texts"), "{ran:?}");
    gone(&place, "resumed elsewhere");
    let owned: String = place
        .sql()
        .query_row(
            "SELECT id FROM handoff WHERE owner = 'ann' AND state = 'expired'",
            [],
            |row| row.get(0),
        )
        .expect("a packet of another owner");
    purge(&place, &["--handoff", &owned]);
    gone(&place, "summary of run out\"");
}
