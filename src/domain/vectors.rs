//! The vectors of `docs/format.md`, recomputed from the page itself: it says what the code does, or this fails.

use std::collections::BTreeSet;

use serde_json::Value;

use super::canonical::{canonical, ordered};
use super::handoff::{Git, PacketBody, Texts};
use super::ledger::{Checkpoint, EntryBody, Kind, project_subject};
use super::record::{Address, VersionBody, version_subject};
use super::{Confidence, Hash, JsonText, Key, Scope};

const PAGE: &str = include_str!("../../docs/format.md");

/// The blocks that are marked as vectors of `kind`, in the order of the page.
fn vectors(kind: &str) -> Vec<Value> {
    let opening = format!("```json vector={kind}\n");
    let blocks = PAGE.split(opening.as_str()).skip(1).map(|rest| {
        let block = rest.split("\n```").next().unwrap_or_default();
        serde_json::from_str(block).unwrap_or_else(|error| panic!("vector {kind}: {error}\n{block}"))
    });
    let found: Vec<Value> = blocks.collect();
    assert!(!found.is_empty(), "the page has no vector of {kind}");
    found
}

/// The rows of the table under `<!-- marker -->`, cell by cell.
fn table(marker: &str) -> Vec<Vec<&'static str>> {
    let (_, rest) = PAGE
        .split_once(&format!("<!-- {marker} -->\n"))
        .unwrap_or_else(|| panic!("the page has no table of {marker}"));
    rest.lines()
        .take_while(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// The names in backquotes.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    maybe(value, name).unwrap_or_else(|| panic!("{name} is missing in {value}"))
}

fn maybe<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value[name].as_str()
}

fn number(value: &Value, name: &str) -> u64 {
    value[name]
        .as_u64()
        .unwrap_or_else(|| panic!("{name} is missing in {value}"))
}

fn texts<'a>(value: &'a Value, name: &str) -> Vec<&'a str> {
    value[name]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Value::as_str)
        .collect()
}

/// The page's table of a body names the fields of its vectors: the first has them all, the second those that are never
/// left out. Gives how each hash of `body` comes out, from the code's own type.
fn bodies(kind: &str, compute: impl Fn(&Value, &Value) -> (String, Hash)) {
    for vector in vectors(kind) {
        let (form, hash) = compute(&vector["body"], &vector);
        assert_eq!(form, text(&vector, "canonical"), "{kind}");
        assert_eq!(hash.to_string(), text(&vector, "hash"), "{kind} {form}");
    }
}

fn fields(body: &Value) -> BTreeSet<&str> {
    body.as_object().unwrap().keys().map(String::as_str).collect()
}

#[track_caller]
fn fields_are_those_of_the_table(kind: &str, all: &Value, least: &Value) {
    let rows = table(&format!("fields: {kind}"));
    let names = |kept: &dyn Fn(&str) -> bool| -> BTreeSet<&str> {
        rows.iter()
            .filter(|row| kept(row[2]))
            .flat_map(|row| quoted(row[0]))
            .collect()
    };
    assert_eq!(names(&|_| true), fields(all), "{kind}");
    assert_eq!(names(&|left_out| left_out == "never"), fields(least), "{kind}");
}

#[test]
fn texts_are_salted_by_their_nonce() {
    for vector in vectors("text") {
        let hex = text(&vector, "nonce");
        let nonce: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(nonce.len(), 16);
        let hash = Hash::of_text(&nonce, text(&vector, "body"));
        assert_eq!(hash.to_string(), text(&vector, "hash"));
        // The first two are values, the last a packet's texts: each as it would be stored.
        let body = text(&vector, "body");
        assert_eq!(JsonText::value("value", body).unwrap().as_str(), body);
        if let Ok(texts) = serde_json::from_str::<Texts>(body) {
            assert_eq!(JsonText::of(&texts).as_str(), body);
        }
    }
    assert!(
        vectors("text")
            .iter()
            .any(|vector| serde_json::from_str::<Texts>(text(vector, "body")).is_ok())
    );
}

#[test]
fn canonical_forms() {
    for vector in vectors("canonical") {
        assert_eq!(canonical(&vector["input"]), text(&vector, "canonical"));
    }
    for vector in vectors("numbers") {
        for pair in vector.as_array().unwrap() {
            assert_eq!(canonical(&pair[0]), pair[1].as_str().unwrap());
        }
    }
}

#[test]
fn versions() {
    bodies("version", |body, _| {
        let version = VersionBody {
            v: 1,
            workspace: text(body, "workspace"),
            project: text(body, "project"),
            scope: text(body, "scope"),
            key: text(body, "key"),
            version: number(body, "version"),
            value_hash: text(body, "value_hash"),
            tags: texts(body, "tags"),
            meta: body.get("meta"),
            author: text(body, "author"),
            session: maybe(body, "session"),
            private_to: maybe(body, "private_to"),
            confidence: body["confidence"].as_f64().unwrap(),
            created_at: text(body, "created_at"),
            prev_hash: text(body, "prev_hash"),
        };
        (ordered(&version), version.hash())
    });
    let all = vectors("version");
    fields_are_those_of_the_table("version", &all[0]["body"], &all[1]["body"]);
    // The value hashes are those of the page's texts.
    let known: Vec<_> = vectors("text").iter().map(|v| text(v, "hash").to_owned()).collect();
    assert!(
        all.iter()
            .all(|v| known.iter().any(|hash| hash == text(&v["body"], "value_hash")))
    );
}

#[test]
fn packets() {
    bodies("packet", |body, _| {
        let git: Option<Git> = body.get("git").map(|git| serde_json::from_value(git.clone()).unwrap());
        let packet = PacketBody {
            v: 1,
            id: text(body, "id"),
            workspace: text(body, "workspace"),
            project: text(body, "project"),
            from_agent: text(body, "from_agent"),
            from_session: maybe(body, "from_session"),
            to_agent: maybe(body, "to_agent"),
            owner: maybe(body, "owner"),
            cwd: maybe(body, "cwd"),
            origin: text(body, "origin"),
            texts_hash: text(body, "texts_hash"),
            refs: texts(body, "refs").into_iter().map(str::to_owned).collect(),
            git: git.as_ref(),
            checkpoint: text(body, "checkpoint"),
            created_at: text(body, "created_at"),
            expires_at: maybe(body, "expires_at"),
            supersedes: maybe(body, "supersedes"),
            continues: maybe(body, "continues"),
        };
        (ordered(&packet), packet.hash())
    });
    let all = vectors("packet");
    fields_are_those_of_the_table("packet", &all[0]["body"], &all[1]["body"]);
}

#[test]
fn entries() {
    bodies("entry", |body, vector| {
        let entry = EntryBody {
            seq: number(body, "seq"),
            at: text(body, "at"),
            agent: text(body, "agent"),
            session: maybe(body, "session"),
            kind: text(body, "kind"),
            subject: text(body, "subject"),
            detail: &body["detail"],
            digest: text(body, "digest"),
        };
        (ordered(&entry), entry.hash(text(vector, "previous")))
    });
    let all = vectors("entry");
    fields_are_those_of_the_table("entry", &all[3]["body"], &all[0]["body"]);
    // One chain, from nothing on, that vouches for the second version and the second packet.
    let mut previous = Hash::ZERO.to_string();
    for entry in &all {
        assert_eq!(text(entry, "previous"), previous);
        previous = text(entry, "hash").to_owned();
    }
    let digests: Vec<_> = all.iter().map(|entry| text(&entry["body"], "digest")).collect();
    let of_detail = |entry: &Value| Hash::of(&[canonical(&entry["body"]["detail"]).as_bytes()]).to_string();
    assert_eq!(digests[0], of_detail(&all[0]));
    assert_eq!(digests[1], text(&vectors("version")[1], "hash"));
    assert_eq!(digests[2], text(&vectors("packet")[1], "hash"));
    assert_eq!(digests[3], of_detail(&all[3]));
    let at = Address {
        scope: Scope::new("app").unwrap(),
        key: Key::new("colour").unwrap(),
    };
    assert_eq!(text(&all[0]["body"], "subject"), project_subject("default", "default"));
    assert_eq!(text(&all[1]["body"], "subject"), version_subject(&at, 1));
}

#[test]
fn the_page_has_every_kind() {
    let named: Vec<Kind> = table("kinds")
        .iter()
        .map(|row| Kind::parse(quoted(row[0])[0]).unwrap_or_else(|| panic!("{} is no kind", row[0])))
        .collect();
    assert_eq!(named.len(), 11);
    assert!((1..11).all(|at| !named[..at].contains(&named[at])));
}

#[test]
fn checkpoints() {
    for vector in vectors("checkpoint") {
        let point = Checkpoint {
            store: text(&vector, "store").to_owned(),
            workspace: text(&vector, "workspace").to_owned(),
            project: text(&vector, "project").to_owned(),
            seq: number(&vector, "seq"),
            hash: Hash::parse(text(&vector, "hash")).unwrap(),
        };
        assert_eq!(point.to_string(), text(&vector, "text"));
        assert_eq!(Checkpoint::parse(text(&vector, "text")), Ok(point));
    }
}

#[test]
fn confidence() {
    for vector in vectors("confidence") {
        for step in vector.as_array().unwrap() {
            let before = Confidence::named("confidence", step[0].as_f64().unwrap()).unwrap();
            let after = before.after(step[1] == "success");
            assert_eq!(Some(after.get()), step[2].as_f64(), "{step}");
        }
    }
}
