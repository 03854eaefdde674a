//! Sessions from their first line to their end.

use std::io::{Write, pipe};
use std::sync::mpsc::channel;

use serde_json::{Value, json};

use super::{Client, call, initialize, text};

#[test]
fn p05_a_version_that_we_speak_is_answered() {
    for (asked, answered) in [
        (json!("2024-11-05"), "2024-11-05"),
        (json!("2025-03-26"), "2025-03-26"),
        (json!("2025-06-18"), "2025-06-18"),
        (json!("2025-11-25"), "2025-11-25"),
        (json!("2026-07-28"), "2025-11-25"),
        (json!("2099-01-01"), "2025-11-25"),
        (json!(""), "2025-11-25"),
        (json!(20250618), "2025-11-25"),
        (Value::Null, "2025-11-25"),
    ] {
        let mut client = Client::start();
        client.line(&initialize(asked.clone()));
        assert_eq!(client.answer()["result"]["protocolVersion"], answered, "{asked}");
        client.alive();
    }
}

#[test]
fn p05_an_initialize_request_may_lack_anything() {
    for params in [
        "null",
        "{}",
        "[]",
        r#"{"protocolVersion":"2025-06-18","capabilities":{"roots":true,"sampling":[]},"clientInfo":{"name":"x"}}"#,
        r#"{"capabilities":null,"clientInfo":"me"}"#,
        r#"{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1","icons":7}}"#,
    ] {
        let mut client = Client::start();
        client.line(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{params}}}"#
        ));
        let version = client.answer()["result"]["protocolVersion"].clone();
        assert_eq!(
            version,
            if params.contains("2025-06-18") {
                "2025-06-18"
            } else {
                "2025-11-25"
            },
            "{params}"
        );
        client.alive();
    }
}

#[test]
fn p07_meta_is_taken_along() {
    let mut client = Client::start();
    client.line(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"},"_meta":{"a/b":1}}}"#);
    assert_eq!(client.answer()["result"]["protocolVersion"], "2025-06-18");
    client.line(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"progressToken":1}}}"#);
    assert!(client.answer()["result"]["tools"].is_array());
    client.line(r#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":{"progressToken":"t"},"name":"echo","arguments":{"a":1},"later":[{}]}}"#);
    let answer = client.answer();
    assert!(text(&answer).starts_with(r#"{"a":1} token"#), "{answer}");
    client.line(r#"{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"echo"}}"#);
    assert_eq!(text(&client.answer()), "nothing");
}

#[test]
fn arguments_arrive_as_they_were_sent() {
    let mut client = Client::opened();
    for arguments in [
        r#"{"value":1e400}"#,
        r#"{"value":12345678901234567890123456789,"z":1,"a":2}"#,
        r#"{"a":1,"a":2,"b":{"c":1,"c":-0.0}}"#,
        r#"{"value":1.10,"text":"\u00e9\ud83d\ude00 \" \\ud83d"}"#,
        r#""{\"a\":1}""#,
        "null",
        "[1]",
        r#"{  "spaced" : [ 1 , 2 ]  }"#,
        "{\"emoji\":\"\u{1f600}\u{2028}\"}",
    ] {
        client.line(&call(1, "echo", arguments));
        assert_eq!(text(&client.answer()), arguments);
    }
}

#[test]
fn a_panic_is_one_answer() {
    let mut client = Client::opened();
    client.line(&call(1, "panic", "{}"));
    let answer = client.answer();
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(1), &json!(true)));
    let error: Value = serde_json::from_str(text(&answer)).expect("JSON");
    assert_eq!(error["error"]["code"], "internal");
    assert!(
        !answer.to_string().contains("as told"),
        "the panic's text stays on standard error"
    );
    client.alive();
}

const MODERN: &str = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}"#;

#[test]
fn both_generations_are_spoken_on_one_process() {
    let mut client = Client::start();
    client.line(&format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{MODERN}}}}}"#
    ));
    let versions = client.answer()["result"]["supportedVersions"].clone();
    assert!(
        versions.as_array().expect("versions").contains(&json!("2026-07-28")),
        "{versions}"
    );
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.line(&initialize(json!("2025-06-18")));
    assert_eq!(client.answer()["result"]["protocolVersion"], "2025-06-18");
    client.alive();

    let mut client = Client::start();
    let modern = |id: u64, tool: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"n":1.0}},{MODERN}}}}}"#
        )
    };
    client.line(&modern(1, "echo"));
    let answer = client.answer();
    assert_eq!(
        (text(&answer), &answer["result"]["resultType"]),
        (r#"{"n":1.0}"#, &json!("complete"))
    );
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    client.line(&modern(2, "panic"));
    let answer = client.answer();
    assert_eq!(
        (&answer["result"]["isError"], &answer["result"]["resultType"]),
        (&json!(true), &json!("complete"))
    );
    client.refused(
        br#"{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo"}}"#,
        json!(3),
        -32602,
    );
    client.line(&modern(4, "echo"));
    assert_eq!(client.answer()["id"], 4);
}

#[test]
fn an_id_that_is_under_way_is_not_taken_twice() {
    let mut client = Client::opened();
    client.line(&call(1, "slow", "{}"));
    client.refused(call(1, "echo", "{}").as_bytes(), json!(1), -32600);
    assert_eq!(text(&client.answer()), "{}");
    client.line(&call(1, "echo", "{}"));
    assert_eq!(text(&client.answer()), "{}");
    client.line(&call(2, "hang", "{}"));
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#);
    client.line(&call(2, "echo", "{}"));
    assert_eq!(client.answer()["id"], 2);
}

#[test]
fn the_end_of_input_is_a_clean_end_with_everything_written() {
    let (answers, outcome) = Client::start().end();
    assert!(answers.is_empty() && outcome.is_ok());

    let mut client = Client::start();
    client.bytes(b"nonsense\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}\n{\"torn\":");
    let (answers, outcome) = client.end();
    let codes: Vec<_> = answers
        .iter()
        .map(|answer| answer["error"]["code"].as_i64().expect("an error"))
        .collect();
    assert_eq!(codes, [-32700, -32602, -32700]);
    outcome.expect("a clean end");

    let mut client = Client::opened();
    for id in 0..50 {
        client.line(&call(id, if id % 2 == 0 { "slow" } else { "echo" }, "{}"));
    }
    client.bytes(call(50, "echo", "{}").as_bytes());
    let (answers, outcome) = client.end();
    let mut ids: Vec<_> = answers
        .iter()
        .map(|answer| answer["id"].as_u64().expect("an id"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, (0..=50).collect::<Vec<_>>());
    outcome.expect("a clean end");
}

#[test]
fn a_shutdown_lets_calls_finish_but_not_for_ever() {
    let mut client = Client::opened();
    client.line(&call(1, "slow", "{}"));
    client.alive();
    client.stop.take().expect("once").send(()).expect("the server listens");
    let (answers, outcome) = client.rest();
    assert_eq!(answers.len(), 1);
    assert_eq!(text(&answers[0]), "{}");
    outcome.expect("a clean end");

    let mut client = Client::opened();
    client.line(&call(1, "hang", "{}"));
    client.alive();
    client.stop.take().expect("once").send(()).expect("the server listens");
    let (answers, outcome) = client.rest();
    assert!(answers.is_empty() && outcome.is_ok());
}

#[test]
fn a_flood_is_answered_in_full() {
    let mut client = Client::opened();
    let mut to = client.to.take().expect("open");
    let writer = std::thread::spawn(move || {
        for id in 0..3000 {
            writeln!(to, "{}", call(id, "echo", &format!("{{\"n\":{id}}}"))).expect("the server reads");
        }
    });
    let (answers, outcome) = client.rest();
    writer.join().expect("no panic");
    assert_eq!(answers.len(), 3000);
    assert!(
        answers
            .iter()
            .all(|answer| text(answer) == format!("{{\"n\":{}}}", answer["id"]))
    );
    outcome.expect("a clean end");
}

#[test]
fn a_client_that_does_not_read_cannot_keep_the_process() {
    let (unread, server_writes) = pipe().expect("a pipe");
    let (_lines, nothing) = channel();
    let mut client = Client::with(server_writes, nothing);
    client.line(&initialize(json!("2025-06-18")));
    let answer = format!("\"{}\"", "x".repeat(8192));
    for id in 0..20 {
        client.line(&call(id, "echo", &answer));
    }
    client.stop.take().expect("once").send(()).expect("the server listens");
    client.server.join().expect("no panic").expect("a clean end");
    drop(unread);
}

#[test]
fn a_client_that_closed_its_end_is_left() {
    let (unread, server_writes) = pipe().expect("a pipe");
    let (_lines, nothing) = channel();
    let mut client = Client::with(server_writes, nothing);
    drop(unread);
    client.line(&initialize(json!("2025-06-18")));
    client.line(&call(1, "echo", "1"));
    client.server.join().expect("no panic").expect("a clean end");
}
