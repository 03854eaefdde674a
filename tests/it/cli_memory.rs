//! Records and the ledger at a shell: where a value comes from, what is kept of it, versions compared, the ledger read,
//! followed and proved.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Place};
use crate::shell::{Shell, document};

#[test]
fn a_value_comes_as_json_as_text_from_a_file_or_from_standard_input() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let file = place.work().join("value.json");
    std::fs::write(&file, " {\"b\" : 1.0,\n \"a\": -0.0}\n").expect("a file");
    let remember = |key: &'static str, how: &[&'static str], input: &str| {
        let args = [&["remember", "--scope", "a", "--key", key], how].concat();
        let ran = scout.given(&args, input);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{how:?}: {ran:?}");
        // As the bytes that a program gets.
        let found = scout.says(&["recall", "--scope", "a", "--key", key, "--json"]);
        let from = found.find(r#""value":"#).expect("a value") + 8;
        let to = found.find(r#","tags":"#).expect("tags");
        found[from..to].to_owned()
    };
    assert_eq!(remember("json", &["--value", "[1, 2.50]"], ""), "[1,2.5]");
    assert_eq!(remember("null", &["--value", "null"], ""), "null");
    assert_eq!(remember("minus", &["--value", "-5"], ""), "-5");
    assert_eq!(remember("file", &["--file", "value.json"], ""), r#"{"b":1.0,"a":-0.0}"#);
    assert_eq!(remember("stdin", &["--value", "-"], "[\n  true\n]\n"), "[true]");
    assert_eq!(remember("file -", &["--file", "-"], "false"), "false");
    assert_eq!(remember("text", &["--text", "two\nlines"], ""), r#""two\nlines""#);
    assert_eq!(remember("text -", &["--text", "-"], "a letter\n"), r#""a letter\n""#);
    // Wrong ones are refused, and say what would be right.
    for (how, word) in [
        (["--value", "plain words"], "--text"),
        (["--value", "007"], "--text"),
        (["--file", "no-such-file"], "no-such-file"),
    ] {
        let ran = scout.run(&[["remember", "--scope", "a", "--key", "wrong"].as_slice(), &how].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains(word), "{ran:?}");
    }
    for how in [
        [].as_slice(),
        &["--value", "1", "--text", "1"],
        &["--text", "1", "--file", "value.json"],
    ] {
        let ran = scout.run(&[["remember", "--scope", "a", "--key", "wrong"].as_slice(), how].concat());
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{how:?}: {ran:?}");
    }
    assert_eq!(scout.json(&["recall", "--scope", "a", "--key", "wrong"])["total"], 0);
    place.verify_clean();
}

#[test]
fn a_string_that_looks_like_something_else_stays_a_string_byte_for_byte() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for text in [
        "007",
        "null",
        "[1,2]",
        "1e5",
        "true",
        "-5",
        "--json",
        " blank ",
        "\"quoted\"",
        "",
        "C:\\new",
        "é\u{301}",
    ] {
        let json = Value::from(text).to_string();
        scout.remember("a", "json", &json);
        assert_eq!(scout.value("a", "json"), json!(text));
        let args = ["remember", "--scope", "a", "--key", "text", "--text", text];
        assert_eq!(scout.json(&args)["record"]["key"], "text");
        assert_eq!(scout.value("a", "text"), json!(text));
    }
}

#[test]
fn two_versions_are_compared() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for value in [
        r#"{"name":"a","size":1.0}"#,
        r#"{"name":"a","size":1}"#,
        r#""size""#,
        r#""size""#,
    ] {
        let tag = format!("t{}", value.len());
        let args = [
            "remember", "--scope", "app", "--key", "k", "--value", value, "--tag", &tag,
        ];
        scout.json(&args);
    }
    scout.json(&[
        "remember",
        "--scope",
        "app",
        "--key",
        "k",
        "--value",
        r#""size""#,
        "--tag",
        "other",
    ]);
    assert_eq!(
        scout.says(&["diff", "app", "k", "1", "2"]),
        "--- version 1\n+++ version 2\n@@ -1,4 +1,4 @@\n {\n   \"name\": \"a\",\n-  \"size\": 1.0\n+  \"size\": 1\n }\n"
    );
    // Without numbers: the current one against the one before; with one number: that one against the current one.
    assert!(
        scout
            .says(&["diff", "app", "k"])
            .contains("versions 3 and 4 hold the same value")
    );
    assert!(
        scout
            .says(&["diff", "app", "k", "2"])
            .contains("--- version 2\n+++ version 4")
    );
    let backwards = scout.json(&["diff", "app", "k", "2", "1"]);
    assert_eq!(
        (&backwards["from"]["version"], &backwards["to"]["version"]),
        (&json!(2), &json!(1))
    );
    let text = backwards["diff"].as_str().expect("a diff");
    assert!(text.contains("-  \"size\": 1\n+  \"size\": 1.0\n"), "{text}");
    let same = scout.json(&["diff", "app", "k", "3", "4"]);
    assert_eq!((&same["same_value"], &same["diff"]), (&json!(true), &json!("")));
}

#[test]
fn the_ledger_is_read_from_where_one_says() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 0..60 {
        server.remember("a", &format!("k{n}"), json!(n));
    }
    let scout = Shell::of(&place, "scout");
    let seqs = |args: &[&str]| -> Vec<u64> {
        let told = scout.says(&[&["log", "--json"], args].concat());
        let lines = told.lines().map(|line| document(&format!("{line}\n")));
        lines.map(|entry| entry["seq"].as_u64().expect("a seq")).collect()
    };
    assert_eq!(
        seqs(&[]),
        (12..=61).collect::<Vec<_>>(),
        "the newest 50, the newest last"
    );
    assert_eq!(seqs(&["--since", "0"]), (1..=61).collect::<Vec<_>>());
    assert_eq!(seqs(&["--since", "59"]), [60, 61]);
    assert_eq!(seqs(&["--since", "61"]), [0; 0]);
    assert_eq!(scout.says(&["log", "--since", "60"]).lines().count(), 1);
}

#[test]
fn what_is_anothers_is_in_the_ledger_without_its_content() {
    let place = Place::new();
    let ann = Shell::of(&place, "scout").env("MEMORY_OWNER", "ann");
    let id = ann.hand_off("hers", &["--next-step", "x"]);
    let bob = Shell::of(&place, "scout").env("MEMORY_OWNER", "bob");
    let told = bob.says(&["log", "--since", "1", "--json"]);
    let entry = document(&told);
    assert_eq!(
        (&entry["seq"], &entry["redacted"], entry.get("subject")),
        (&json!(2), &json!(true), None)
    );
    assert!(!bob.says(&["log"]).contains(&id));
    assert!(bob.says(&["log", "--root"]).contains(&id));
    assert!(ann.says(&["log"]).contains(&id));
}

#[test]
fn the_ledger_is_followed() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "before", "1");
    for (args, after) in [
        (["log", "--follow"].as_slice(), "after"),
        (&["log", "-f", "--since", "2", "--json"], "later"),
    ] {
        let mut command = scout.start(args).command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable starts");
        let reader = BufReader::new(child.stdout.take().expect("stdout"));
        let (heard, lines) = channel();
        std::thread::spawn(move || {
            reader
                .lines()
                .map_while(Result::ok)
                .try_for_each(|line| heard.send(line))
        });
        let hear = |word: &str| loop {
            let line = lines
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{word} was never told"));
            if line.contains(word) {
                break line;
            }
        };
        if args.len() == 2 {
            hear("before");
        }
        scout.remember("a", after, "1");
        let line = hear(after);
        if args.contains(&"--json") {
            assert_eq!(document(&format!("{line}\n"))["kind"], "remembered");
        }
        assert!(child.try_wait().expect("a child").is_none(), "it goes on");
        child.kill().expect("it can be ended");
        child.wait().expect("it ends");
    }
    place.verify_clean();
}

#[test]
fn a_store_is_proved_against_checkpoints() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    let first = scout.says(&["checkpoint"]).trim().to_owned();
    scout.json(&[
        "remember",
        "--scope",
        "b",
        "--key",
        "k",
        "--value",
        "1",
        "--project",
        "p2",
    ]);
    scout.remember("a", "k", "2");
    let all = scout.says(&["checkpoint", "--all"]);
    let all: Vec<&str> = all.lines().collect();
    assert_eq!(all.len(), 2, "{all:?}");
    assert!(all[1].contains(":default:p2:2:"), "{all:?}");
    let args = [
        "verify",
        "--checkpoint",
        &first,
        "--checkpoint",
        all[0],
        "--checkpoint",
        all[1],
    ];
    assert_eq!(scout.json(&args)["ok"], true);
    // Another file does not extend them.
    let other = Place::new();
    let stranger = Shell::of(&other, "scout");
    stranger.remember("a", "k", "1");
    let ran = stranger.run(&["verify", "--checkpoint", &first, "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(document(&ran.stdout)["faults"][0]["kind"], "checkpoint", "{ran:?}");
}
