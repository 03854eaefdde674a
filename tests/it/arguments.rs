//! What models really send: JSON in strings, numbers as text, nulls, misspelt names.

use serde_json::{Value, json};

use crate::handoffs::id;
use crate::harness::{Place, Server, assert_warned};

fn refused(server: &mut Server, tool: &str, arguments: Value, words: &[&str]) {
    let refusal = server.refuse(tool, arguments.clone(), "invalid_argument");
    for word in words {
        assert!(
            refusal.text().contains(word),
            "{tool} {arguments}: no {word:?} in {refusal:?}"
        );
    }
}

#[test]
fn a01_lists_and_objects_are_taken_from_their_json_text() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write = json!({"scope": "app", "key": "k", "value": 1, "tags": "[\"a\",\"b\"]"});
    assert_eq!(server.call("remember", write)["record"]["tags"], json!(["a", "b"]));
    // A text that is no JSON is a list of one.
    let one = json!({"scope": "app", "key": "one", "value": 1, "tags": "alone"});
    assert_eq!(server.call("remember", one)["record"]["tags"], json!(["alone"]));

    let native = json!({"title": "t", "summary": "s", "next_steps": ["x"], "refs": [{"scope": "app", "key": "k", "version": 1}]});
    let texts = json!({"title": "t", "summary": "s", "next_steps": "[\"x\"]",
                       "refs": "[{\"scope\":\"app\",\"key\":\"k\",\"version\":1}]"});
    let nested = json!({"title": "t", "summary": "s", "next_steps": ["x"],
                        "refs": ["{\"scope\":\"app\",\"key\":\"k\",\"version\":\"1\"}"]});
    let first = server.call("handoff", native);
    assert_eq!(first["packet"]["next_steps"], json!(["x"]));
    for other in [texts, nested] {
        let again = server.call("handoff", other);
        assert_eq!(
            (id(&again), &again["refs"]),
            (id(&first), &first["refs"]),
            "the same packet in other clothes"
        );
    }

    // The whole of the arguments as one text.
    let call = server.send(
        "tools/call",
        json!({"name": "remember", "arguments": "{\"scope\":\"app\",\"key\":\"whole\",\"value\":\"[1,2]\"}"}),
    );
    assert_eq!(server.answer(call)["record"]["version"], 1);
    assert_eq!(
        server.read("app", "whole")["value"],
        "[1,2]",
        "a value that is text stays text"
    );
}

#[test]
fn a01_what_cannot_be_taken_names_its_field() {
    let place = Place::new();
    let mut server = place.agent("scout");
    server.remember("app", "k", json!(1));
    let handoff = |refs: Value| json!({"title": "t", "summary": "s", "refs": refs});
    refused(&mut server, "handoff", handoff(json!("[{\"scope\":")), &["refs"]);
    refused(
        &mut server,
        "handoff",
        handoff(json!([{"scope": "app"}])),
        &["refs", "key"],
    );
    refused(
        &mut server,
        "handoff",
        handoff(json!([{"scope": "app", "key": "k", "version": "x"}])),
        &["refs", "version"],
    );
    refused(&mut server, "handoff", handoff(json!([7])), &["refs"]);
    refused(
        &mut server,
        "remember",
        json!({"scope": "app", "key": "k", "value": 1, "tags": [["x"]]}),
        &["tags"],
    );
    refused(
        &mut server,
        "remember",
        json!({"scope": "app", "key": "k", "value": 1, "tags": {"a": 1}}),
        &["tags"],
    );
    refused(
        &mut server,
        "remember",
        json!({"scope": ["app"], "key": "k", "value": 1}),
        &["scope"],
    );
    let call = server.send("tools/call", json!({"name": "remember", "arguments": [1, 2]}));
    let reply = server.reply(call);
    assert!(
        reply["error"].is_object() || reply["result"]["isError"] == true,
        "{reply}"
    );
    assert_eq!(place.count("SELECT count(*) FROM version"), 1);
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 0);
}

#[test]
fn a01_text_is_never_taken_for_something_else() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for (n, text) in ["007", "null", "[1,2]", "true", "{\"a\":1}", "1e5", " padded ", ""]
        .into_iter()
        .enumerate()
    {
        let key = format!("k{n}");
        server.remember("app", &key, json!(text));
        assert_eq!(server.read("app", &key)["value"], text);
    }
    let written = server.hand_off("[1,2]", json!({"summary": "{\"a\":1}", "next_steps": ["7"]}));
    assert_eq!(
        (&written["packet"]["title"], &written["packet"]["summary"]),
        (&json!("[1,2]"), &json!("{\"a\":1}"))
    );
    assert_eq!(written["packet"]["next_steps"], json!(["7"]));
}

#[test]
fn a03_numbers_and_booleans_are_taken_from_text_and_never_truncated() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 0..12 {
        server.remember("app", &format!("k{n}"), json!(n));
    }
    for limit in [json!("10"), json!(10.0), json!("10.0"), json!(10), json!(" 10 ")] {
        assert_eq!(
            server.found(json!({"scope": "app", "limit": limit})).len(),
            10,
            "{limit}"
        );
    }
    let found = server.found(json!({"scope": "app", "min_confidence": "0.5", "limit": 200}));
    assert_eq!(found.len(), 12);
    for (verify, ran) in [
        (json!("true"), true),
        (json!("false"), false),
        (json!(true), true),
        (json!("TRUE"), true),
    ] {
        let stats = server.call("memory_stats", json!({"verify": verify}));
        assert_eq!(stats.get("verify").is_some(), ran, "{verify}");
    }
    for limit in [
        json!(10.5),
        json!("ten"),
        json!("10.5"),
        json!("NaN"),
        json!([10]),
        json!(true),
    ] {
        refused(
            &mut server,
            "recall",
            json!({"scope": "app", "limit": limit}),
            &["limit", "1", "200"],
        );
    }
    for confidence in [json!(1.7), json!(-0.1), json!("NaN"), json!("inf"), json!("high")] {
        let write = json!({"scope": "app", "key": "c", "value": 1, "confidence": confidence});
        refused(&mut server, "remember", write, &["confidence", "0", "1"]);
    }
    for version in [json!(1.5), json!("one"), json!(-1)] {
        refused(
            &mut server,
            "recall",
            json!({"scope": "app", "key": "k1", "version": version}),
            &["version"],
        );
    }
    refused(&mut server, "memory_stats", json!({"verify": "maybe"}), &["verify"]);
    assert_eq!(place.count("SELECT count(*) FROM version WHERE key = 'c'"), 0);
}

#[test]
fn a04_a_limit_below_one_is_an_error_and_a_large_one_is_two_hundred() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 0..205 {
        server.remember("app", &format!("k{n}"), json!(n));
    }
    for limit in [
        json!(0),
        json!(-1),
        json!("-1"),
        json!(-9.0),
        json!("-99999999999999999999"),
    ] {
        refused(
            &mut server,
            "recall",
            json!({"scope": "app", "limit": limit}),
            &["limit"],
        );
        refused(
            &mut server,
            "history",
            json!({"scope": "app", "key": "k1", "limit": limit}),
            &["limit"],
        );
    }
    for limit in [
        json!(201),
        json!(i64::MAX),
        json!(u64::MAX),
        json!(1e9),
        json!("1000000000"),
        json!("99999999999999999999"),
        json!(1e300),
    ] {
        let found = server.call("recall", json!({"scope": "app", "limit": limit}));
        assert!(found["records"].as_array().is_some_and(|r| r.len() <= 200), "{limit}");
        assert_eq!(found["total"], 205);
        assert_warned(&found, &["limit", "200"]);
    }
}

#[test]
fn a06_null_blank_and_missing_are_absent() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write = json!({"scope": "app", "key": "k", "value": "needle", "tags": null, "confidence": null, "expected_version": null});
    assert_eq!(server.call("remember", write)["record"]["confidence"], 0.7);
    let search =
        json!({"query": "needle", "tag": null, "limit": null, "cursor": null, "scope": "", "min_confidence": "  "});
    assert_eq!(server.found(search), ["app/k"]);
    server.hand_off(
        "t",
        json!({"next_steps": ["x"], "to_agent": null, "expires_in": "", "refs": null, "cwd": null}),
    );
    assert_eq!(
        server.call("resume", json!({"handoff_id": null, "peek": true, "cwd": null}))["waiting"],
        0
    );
    let mut other = place.agent("other");
    for arguments in [json!({}), Value::Null] {
        let call = other.send("tools/call", json!({"name": "memory_stats", "arguments": arguments}));
        assert_eq!(other.answer(call)["records"], 1);
    }
    let call = other.send("tools/call", json!({"name": "memory_stats"}));
    assert_eq!(other.answer(call)["records"], 1);
    // A value of null is a value; a required argument that is null or blank is missing.
    server.remember("app", "null", Value::Null);
    assert_eq!(server.read("app", "null").get("value"), Some(&Value::Null));
    refused(
        &mut server,
        "remember",
        json!({"scope": null, "key": "k", "value": 1}),
        &["scope"],
    );
    refused(
        &mut server,
        "remember",
        json!({"scope": " ", "key": "k", "value": 1}),
        &["scope"],
    );
    refused(&mut server, "remember", json!({"scope": "app", "key": "k"}), &["value"]);
    assert_eq!(
        server.call(
            "remember",
            json!({"scope": "app", "key": "t", "value": 1, "tags": ["null"]})
        )["record"]["tags"],
        json!(["null"])
    );
}

#[test]
fn a13_an_unknown_argument_is_told_and_a_read_without_a_filter_is_refused() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write = json!({"scope": "app", "key": "k", "value": 1, "reason": "x"});
    let written = server.call("remember", write);
    assert_eq!(written["record"]["version"], 1);
    assert_warned(&written, &["reason", "ignored"]);
    let found = server.call("recall", json!({"scope": "app", "q": "foo"}));
    assert_eq!(found["total"], 1);
    assert_warned(&found, &["q", "query"]);
    refused(&mut server, "recall", json!({"q": "foo"}), &["query"]);
    refused(&mut server, "recall", json!({}), &["query", "scope", "key", "tag"]);
    refused(&mut server, "recall", json!({"limit": 5}), &["query"]);
    refused(&mut server, "recall", json!({"query": "  ", "scope": null}), &["query"]);
    // The author is no argument: it is ignored, and told.
    let forged = server.call(
        "remember",
        json!({"scope": "app", "key": "f", "value": 1, "author": "boss"}),
    );
    assert_eq!(forged["record"]["author"], "scout");
    assert_warned(&forged, &["author"]);
}

#[test]
fn every_limit_takes_what_just_fits_and_names_itself_and_what_was_sent() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write = |name: &str, sent: Value| {
        let mut write = json!({"scope": "s", "key": "k", "value": 1});
        write[name] = sent;
        write
    };
    let packet = |name: &str, sent: Value| {
        let mut packet = json!({"title": "t", "summary": "s", "refs": []});
        packet[name] = sent;
        packet
    };
    // Two bytes a character, so that a limit of bytes is not one of characters.
    let bytes = |n: usize| "\u{fc}".repeat(n / 2) + &"x".repeat(n % 2);
    let characters = |n: usize| "\u{2192}".repeat(n);
    let many = |n: usize| (0..n).map(|n| n.to_string()).collect::<Vec<_>>();
    let nested = |n: usize| (0..n).fold(json!(1), |inner, _| json!([inner]));
    server.remember("s", "k", json!(0));
    let report = |name: &str, sent: Value| {
        let mut report =
            json!({"outcome": "success", "outcome_ref": "r", "refs": [{"scope": "s", "key": "k", "version": 1}]});
        report[name] = sent;
        report
    };

    // What is sent has `limit` (taken) and then one more (refused).
    type Case<'a> = (&'a str, &'a str, usize, &'a dyn Fn(usize) -> Value);
    let cases: [Case; 20] = [
        ("remember", "scope", 512, &|n| write("scope", json!(bytes(n)))),
        ("remember", "key", 512, &|n| write("key", json!(bytes(n)))),
        ("remember", "value", 1024 * 1024, &|n| {
            write("value", json!(bytes(n - 2)))
        }),
        ("remember", "tags", 32, &|n| write("tags", json!(many(n)))),
        ("remember", "tags[1]", 64, &|n| write("tags", json!(["x", bytes(n)]))),
        ("handoff", "title", 200, &|n| packet("title", json!(characters(n)))),
        ("handoff", "summary", 16 * 1024, &|n| packet("summary", json!(bytes(n)))),
        ("handoff", "next_steps", 64, &|n| packet("next_steps", json!(many(n)))),
        ("handoff", "next_steps[1]", 2048, &|n| {
            packet("next_steps", json!(["x", bytes(n)]))
        }),
        ("handoff", "open_questions", 64, &|n| {
            packet("open_questions", json!(many(n)))
        }),
        ("handoff", "open_questions[1]", 2048, &|n| {
            packet("open_questions", json!(["x", bytes(n)]))
        }),
        ("handoff", "files_touched", 64, &|n| {
            packet("files_touched", json!(many(n)))
        }),
        ("handoff", "files_touched[1]", 2048, &|n| {
            packet("files_touched", json!(["x", bytes(n)]))
        }),
        ("handoff", "cwd", 1024, &|n| {
            packet("cwd", json!(format!("/{}", bytes(n - 1))))
        }),
        ("handoff", "to_agent", 256, &|n| packet("to_agent", json!(bytes(n)))),
        (
            "resume",
            "cwd",
            1024,
            &|n| json!({"peek": true, "cwd": format!("/{}", bytes(n - 1))}),
        ),
        ("recall", "query", 4096, &|n| json!({"query": bytes(n)})),
        ("recall", "tag", 64, &|n| json!({"tag": bytes(n)})),
        ("record_outcome", "outcome_ref", 256, &|n| {
            report("outcome_ref", json!(bytes(n)))
        }),
        ("record_outcome", "note", 16 * 1024, &|n| {
            report("note", json!(bytes(n)))
        }),
    ];
    for (tool, field, limit, sent) in cases {
        let rows = "SELECT count(*) FROM ledger";
        let before = place.count(rows);
        let over = server.refuse(tool, sent(limit + 1), "invalid_argument");
        for word in [field.to_owned(), limit.to_string(), (limit + 1).to_string()] {
            assert!(over.message.contains(&word), "{tool} {field}: no {word} in {over:?}");
        }
        assert_eq!(place.count(rows), before, "{tool} {field}: a refused call wrote");
        if let Err(refusal) = server.attempt(tool, sent(limit)) {
            panic!("{tool} {field} of {limit}: {refusal:?}");
        }
    }
    server.call("remember", write("value", nested(64)));
    refused(
        &mut server,
        "remember",
        write("value", nested(65)),
        &["value[0][0]", "64 levels"],
    );
    for (field, blank) in [("scope", " "), ("key", "\t"), ("key", "\u{3000}")] {
        refused(&mut server, "remember", write(field, json!(blank)), &[field]);
    }
    for (field, odd) in [
        ("scope", "a\u{0}b"),
        ("key", "a\nb"),
        ("scope", "a\u{7f}b"),
        ("key", "a\u{85}b"),
    ] {
        refused(&mut server, "remember", write(field, json!(odd)), &[field, "control"]);
    }
    refused(
        &mut server,
        "remember",
        write("tags", json!(["a\u{1b}b"])),
        &["tags", "control"],
    );
    // A name is measured as it is kept: trimmed and composed.
    let composed = format!("  {}  ", "u\u{308}".repeat(256));
    assert_eq!(
        server.call("remember", write("key", json!(composed)))["record"]["key"],
        bytes(512)
    );
    place.verify_clean();
}

#[test]
fn a_refused_call_creates_no_file() {
    let place = Place::new();
    let mut server = place.agent("scout");
    refused(
        &mut server,
        "remember",
        json!({"scope": "", "key": "k", "value": 1}),
        &["scope"],
    );
    refused(
        &mut server,
        "handoff",
        json!({"title": "t", "summary": "s", "expires_in": "soon"}),
        &["expires_in", "7d"],
    );
    refused(
        &mut server,
        "record_outcome",
        json!({"outcome": "great", "outcome_ref": "r"}),
        &["outcome", "success"],
    );
    assert!(!place.db().exists());
}

#[test]
fn a03_a_look_stays_a_look_however_it_is_spelt() {
    let place = Place::new();
    place.agent("scout").hand_off("t", json!({"next_steps": ["x"]}));
    let mut codex = place.agent("codex");
    for peek in [json!("true"), json!("True"), json!(" true "), json!(true)] {
        let seen = codex.call("resume", json!({"peek": peek}));
        assert_eq!((&seen["waiting"], seen.get("packet")), (&json!(1), None), "{peek}");
    }
    for peek in [json!("yes"), json!(1), json!("1"), json!([true]), json!({})] {
        refused(&mut codex, "resume", json!({"peek": peek}), &["peek", "true or false"]);
    }
    assert_eq!(codex.stats()["handoffs"]["open"], 1, "a look took the packet");
    let shared = codex.call(
        "handoff",
        json!({"title": "t", "summary": "s", "shared": "false", "expires_in": "0"}),
    );
    assert!(shared["packet"].get("expires_at").is_none(), "{shared}");
}

#[test]
fn a03_expected_version_is_exact() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write =
        |value: u64, expected: Value| json!({"scope": "s", "key": "k", "value": value, "expected_version": expected});
    assert_eq!(server.call("remember", write(1, json!("0")))["record"]["version"], 1);
    assert_eq!(server.call("remember", write(2, json!(1.0)))["record"]["version"], 2);
    for expected in [
        json!(1.5),
        json!(-1),
        json!("two"),
        json!(true),
        json!("99999999999999999999"),
    ] {
        refused(&mut server, "remember", write(3, expected), &["expected_version"]);
    }
    server.refuse("remember", write(3, json!("1")), "conflict");
    assert_eq!(server.read("s", "k")["version"], 2);
}

#[test]
fn names_are_trimmed_and_composed_and_values_are_not() {
    let place = Place::new();
    let mut server = place.agent("scout");
    server.remember("  caf\u{65}\u{301} ", " k ", json!(" caf\u{65}\u{301} "));
    let read = server.read("caf\u{e9}", "k");
    assert_eq!(
        (&read["scope"], &read["value"]),
        (&json!("caf\u{e9}"), &json!(" caf\u{65}\u{301} "))
    );
}
