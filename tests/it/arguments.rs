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
    for limit in [json!(0), json!(-1), json!("-1"), json!(-9.0)] {
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
fn limits_are_told_with_what_was_sent() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let mut deep = json!(1);
    for _ in 0..65 {
        deep = json!([deep]);
    }
    let long = |n: usize| "x".repeat(n);
    let write = |scope: &str, key: &str, value: Value| json!({"scope": scope, "key": key, "value": value});
    let cases = [
        ("remember", write(&long(513), "k", json!(1)), ["scope", "512"]),
        ("remember", write("s", &long(513), json!(1)), ["key", "512"]),
        ("remember", write("s", "k", deep), ["value", "64"]),
        (
            "remember",
            json!({"scope": "s", "key": "k", "value": 1, "tags": [long(65)]}),
            ["tags", "64"],
        ),
        (
            "remember",
            json!({"scope": "s", "key": "k", "value": 1, "tags": (0..33).map(|n| n.to_string()).collect::<Vec<_>>()}),
            ["tags", "32"],
        ),
        ("handoff", json!({"title": long(201), "summary": "s"}), ["title", "200"]),
        (
            "handoff",
            json!({"title": "t", "summary": long(16 * 1024 + 1)}),
            ["summary", "16"],
        ),
        (
            "handoff",
            json!({"title": "t", "summary": "s", "next_steps": vec!["x"; 65]}),
            ["next_steps", "64"],
        ),
        (
            "handoff",
            json!({"title": "t", "summary": "s", "open_questions": [long(2049)]}),
            ["open_questions", "2"],
        ),
        (
            "handoff",
            json!({"title": "t", "summary": "s", "cwd": long(1025)}),
            ["cwd", "1"],
        ),
        (
            "handoff",
            json!({"title": "t", "summary": "s", "expires_in": "soon"}),
            ["expires_in", "7d"],
        ),
        ("recall", json!({"query": long(4097)}), ["query", "4"]),
        (
            "record_outcome",
            json!({"outcome": "success", "outcome_ref": long(257), "refs": []}),
            ["outcome_ref", "256"],
        ),
    ];
    for (tool, arguments, words) in cases {
        refused(&mut server, tool, arguments, &words);
    }
    assert!(!place.db().exists(), "a refused call created something");
    let fits = json!({"scope": long(512), "key": long(512), "value": 1, "tags": vec![long(64)]});
    server.call("remember", fits);
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
