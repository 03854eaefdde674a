//! The file's format, recomputed by a script that shares no line with the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::harness::Place;

fn script() -> Command {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/check_chains.py");
    let mut command = Command::new("python3");
    command.arg(script);
    command
}

/// Lets the script check a file.
pub fn check(db: &Path) -> Output {
    script().arg(db).output().expect("this test needs python3 on the PATH")
}

/// Everything that it printed.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// A store with everything in it that an entry or a body can hold.
fn varied(place: &Place) {
    let mut scout = place.start().env("MEMORY_OWNER", "alice").agent("Späher").serve();
    for (key, value) in [
        (
            "numbers",
            json!({"z": 1e-7, "a": -0.0, "big": u64::MAX, "e": 1e21, "half": 0.5, "small": 5e-324}),
        ),
        ("texts", json!(["é", "\u{1}", "😀", "\"\\/", "用户身份验证"])),
        ("nothing", json!(null)),
    ] {
        let answer = scout.call(
            "remember",
            json!({"scope": "größe/x", "key": key, "value": value, "tags": ["ß", "a b"]}),
        );
        assert_eq!(answer["record"]["version"], 1);
    }
    scout.call(
        "remember",
        json!({"scope": "größe/x", "key": "texts", "value": "later", "confidence": 1.0}),
    );
    scout.call(
        "handoff",
        json!({"title": "→ one", "summary": "first", "next_steps": ["a"], "expires_in": "90m"}),
    );
    let second = scout.hand_off(
        "two",
        json!({"to_agent": "Läufer", "cwd": "/src/app", "expires_in": "0"}),
    );
    let id = second["packet"]["id"].as_str().unwrap().to_owned();
    scout.hand_off("three", json!({"supersedes": id, "to_agent": "Läufer"}));

    let mut runner = place.start().env("MEMORY_OWNER", "alice").agent("Läufer").serve();
    let taken = runner.call("resume", json!({}));
    let id = taken["packet"]["id"].as_str().unwrap().to_owned();
    let report = |outcome: &str, run: &str, note: &str| json!({"outcome": outcome, "outcome_ref": run, "handoff_id": id, "note": note});
    runner.call("record_outcome", report("released", "r1", "not today"));
    runner.call("resume", json!({"handoff_id": id}));
    runner.call("record_outcome", report("failure", "r2", "it fell → over"));
    let refs = json!([{"scope": "größe/x", "key": "texts"}, {"scope": "größe/x", "key": "numbers", "version": 1}]);
    runner.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "r3", "refs": refs}),
    );
    let back = runner.hand_off("back", json!({}));
    let id = back["packet"]["id"].as_str().unwrap();
    runner.call(
        "record_outcome",
        json!({"outcome": "abandoned", "outcome_ref": "r4", "handoff_id": id, "note": "no need"}),
    );
    let mut other = place.start().env("MEMORY_PROJECT", "a b/ü:").agent("x").serve();
    other.remember("s", "k", json!({"deep": [[[1.0]]]}));
}

#[test]
fn x07_another_language_recomputes_every_chain() {
    let place = Place::new();
    varied(&place);
    place.verify_clean();
    let output = check(&place.db());
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(
        said(&output).contains("5 versions") && said(&output).contains("4 packets"),
        "{}",
        said(&output)
    );
}

#[test]
fn another_language_names_what_was_changed() {
    let place = Place::new();
    varied(&place);
    place
        .sql()
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    let intact = std::fs::read(place.db()).unwrap();
    for (change, named) in [
        (
            "UPDATE content SET body = replace(body, 'later', 'Later')",
            "größe/x/texts version 2",
        ),
        (
            "UPDATE content SET nonce = zeroblob(16) WHERE id = 1",
            "its text does not fit",
        ),
        (
            "UPDATE content SET body = CAST(x'22ff22' AS TEXT) WHERE id = 1",
            "größe/x/numbers version 1",
        ),
        ("DELETE FROM content WHERE body LIKE '%fell%'", "its text is not there"),
        (
            "UPDATE content SET nonce = x'', body = '' WHERE body LIKE '%fell%'",
            "no entry says that it was purged",
        ),
        (
            "INSERT INTO content (nonce, body) VALUES (zeroblob(16), 'null')",
            "nothing refers to it",
        ),
        ("UPDATE version SET tags = '[\"ß\"]' WHERE id = 1", "version 1"),
        ("UPDATE version SET author = 'spaher' WHERE id = 2", "version 1"),
        (
            "DELETE FROM version WHERE id = (SELECT max(id) FROM version)",
            "current versions",
        ),
        (
            "UPDATE opinion SET confidence = confidence + 1e-12 WHERE successes > 0",
            "its opinion",
        ),
        ("UPDATE outcome SET confidence_after = 1.0", "ends elsewhere"),
        ("UPDATE head SET version_id = 2 WHERE key = 'texts'", "current versions"),
        (
            "UPDATE handoff SET accepted_owner = 'bob' WHERE state = 'closed'",
            "accepted_owner",
        ),
        ("UPDATE handoff SET state = 'open' WHERE state = 'closed'", "state"),
        (
            "UPDATE handoff SET checkpoint = replace(checkpoint, 'hm1', 'hm2')",
            "its hash does not fit",
        ),
        ("UPDATE handoff_ref SET position = position + 300", "its pin at"),
        ("DELETE FROM handoff_note", "its notes"),
        (
            "UPDATE ledger SET agent = 'x' WHERE seq = 3 AND project_id = 1",
            "entry 3: its hash",
        ),
        (
            "DELETE FROM ledger WHERE seq = 4 AND project_id = 1",
            "entry 4 is not there",
        ),
        (
            "DELETE FROM ledger WHERE seq = (SELECT max(seq) FROM ledger) AND project_id = 1",
            "handoff",
        ),
        (
            "INSERT INTO ledger SELECT project_id, 0, at, agent, session, kind, subject, detail, digest, hash FROM ledger WHERE seq = 2",
            "entry 0",
        ),
        ("UPDATE project SET name = 'other' WHERE id = 2", "other"),
        ("UPDATE meta SET store_id = '00'", "meta"),
    ] {
        std::fs::write(place.db(), &intact).unwrap();
        let sql = place.sql();
        for trigger in [
            "version_update",
            "version_delete",
            "ledger_insert",
            "ledger_update",
            "ledger_delete",
            "content_update",
            "content_delete",
        ] {
            sql.execute_batch(&format!("DROP TRIGGER {trigger}")).unwrap();
        }
        sql.execute_batch(change).unwrap();
        drop(sql);
        let output = check(&place.db());
        assert_eq!(output.status.code(), Some(1), "{change}: {}", said(&output));
        assert!(said(&output).contains(named), "{change}: {}", said(&output));
        // The program itself finds each of them, too.
        assert_eq!(place.run(&["verify"]).code, Some(1), "{change}");
    }
}

#[test]
fn another_language_says_when_it_cannot_run() {
    let place = Place::new();
    let nowhere = check(&place.work().join("nothing.db"));
    assert_eq!(nowhere.status.code(), Some(2), "{}", said(&nowhere));
    std::fs::write(
        place.db(),
        "no database at all, but long enough to look at ".repeat(100),
    )
    .unwrap();
    let foreign = check(&place.db());
    assert_eq!(foreign.status.code(), Some(2), "{}", said(&foreign));
}

#[test]
fn another_language_recomputes_the_vectors_of_the_page() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/format.md");
    let output = script().arg("--vectors").arg(page).output().expect("python3 starts");
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
}
