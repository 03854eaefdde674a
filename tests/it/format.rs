//! The file's format, recomputed by a script that shares no line with the program.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::json;

use crate::harness::Place;

fn check(db: &Path) -> Output {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/check_chains.py");
    Command::new("python3")
        .arg(script)
        .arg(db)
        .output()
        .expect("this test needs python3 on the PATH")
}

fn said(output: &Output) -> String {
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
    runner.hand_off("back", json!({}));
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
fn another_language_names_a_changed_byte() {
    let place = Place::new();
    varied(&place);
    let sql = place.sql();
    sql.execute_batch("DROP TRIGGER content_update; UPDATE content SET body = replace(body, 'later', 'Later')")
        .unwrap();
    let output = check(&place.db());
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    assert!(said(&output).contains("größe/x/texts version 2"), "{}", said(&output));
    let nowhere = check(&place.work().join("nothing.db"));
    assert_eq!(nowhere.status.code(), Some(2), "{}", said(&nowhere));
}
