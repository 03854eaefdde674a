//! Lines that are no message that rmcp could take.

use serde_json::{Value, json};

use super::{Client, call, initialize, text};
use crate::mcp::lines::LINE_BYTES;

#[test]
fn p01_bad_lines_do_not_end_the_session() {
    let mut client = Client::start();
    client.refused(b"not json", Value::Null, -32700);
    client.refused(b"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":", json!(3), -32700);
    client.line("\u{feff}");
    client.line("\r");
    client.line("  ");
    client.bytes(format!("\u{feff}{}\r\n\r\n\n", initialize(json!("2025-11-25"))).as_bytes());
    assert_eq!(client.answer()["result"]["protocolVersion"], "2025-11-25");
    client.refused(
        b"{\"id\":9,\"method\":\"ping\",\"jsonrpc\":\"2.0\",\"x\":\"\xff\xfe\"}",
        json!(9),
        -32700,
    );
    client.refused(b"\xc0\x80", Value::Null, -32700);
    client.refused(
        br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"v":"cut \ud83d"}},"id":"s"}"#,
        json!("s"),
        -32700,
    );
    client.refused(
        br#"{"jsonrpc":"2.0","id":"\udc00","method":"ping"}"#,
        Value::Null,
        -32700,
    );
    client.refused(
        b"{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"} trailing",
        json!(4),
        -32700,
    );
    client.line(r#"{"jsonrpc":"2.0","id":5,"method":"ping"}"#);
    assert_eq!(client.answer(), json!({"jsonrpc": "2.0", "id": 5, "result": {}}));
    let (rest, outcome) = client.end();
    assert!(rest.is_empty() && outcome.is_ok());
}

#[test]
fn p01_an_overlong_line_is_answered_with_its_id() {
    let mut client = Client::opened();
    let filler = "x".repeat(LINE_BYTES);
    client.refused(
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"{filler}"}}"#).as_bytes(),
        json!(1),
        -32600,
    );
    client.refused(
        format!(r#"{{"method":"tools/call","params":"{filler}","jsonrpc":"2.0","id":2}}"#).as_bytes(),
        json!(2),
        -32600,
    );
    client.refused(filler.repeat(2).as_bytes(), Value::Null, -32600);
    let head = call(3, "echo", "\"").len() + 1;
    let whole = call(3, "echo", &format!("\"{}\"", &filler[head..]));
    assert_eq!(whole.len(), LINE_BYTES);
    client.line(&whole);
    assert_eq!(text(&client.answer()).len(), LINE_BYTES - head + 2);
}

#[test]
fn p02_one_odd_message_gets_one_error() {
    let mut client = Client::opened();
    // The id and the code of the answer, and the line.
    for case in [
        r#"1 -32601 {"jsonrpc":"2.0","id":1,"method":"no/such"}"#,
        r#"1 -32601 {"jsonrpc":"2.0","id":1,"method":"no/such","params":[1]}"#,
        r#"2 -32602 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}"#,
        r#"2 -32602 {"jsonrpc":"2.0","id":2,"method":"tools/call"}"#,
        r#"2 -32602 {"jsonrpc":"2.0","id":2,"method":"tools/call","params":["echo"]}"#,
        r#"3 -32602 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"arguments":{}}}"#,
        r#"3 -32602 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":7}}"#,
        r#"3 -32602 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","arguments":{},"arguments":{}}}"#,
        r#"3 -32602 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"echo","_meta":5}}"#,
        r#"3 -32602 {"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"nobody"}}"#,
        r#"null -32600 [{"jsonrpc":"2.0","id":4,"method":"ping"}]"#,
        r#"null -32600 []"#,
        r#"null -32600 5"#,
        r#"null -32600 {}"#,
        r#"5 -32600 {"jsonrpc":"2.0","id":5}"#,
        r#"5 -32600 {"jsonrpc":"2.0","id":5,"method":6}"#,
        r#"5 -32600 {"jsonrpc":"1.0","id":5,"method":"ping"}"#,
        r#"5 -32600 {"id":5,"method":"ping"}"#,
        r#"5 -32600 {"jsonrpc":"2.0","id":5,"method":"ping","result":{}}"#,
        r#"5 -32600 {"jsonrpc":"2.0","id":5,"method":"ping","method":"ping"}"#,
        r#"null -32600 {"jsonrpc":"2.0","id":null,"method":"ping"}"#,
        r#"null -32600 {"jsonrpc":"2.0","id":[1],"method":"ping"}"#,
        r#"1.5 -32600 {"jsonrpc":"2.0","id":1.5,"method":"ping"}"#,
        r#"6 -32601 {"jsonrpc":"2.0","id":6,"method":"resources/list"}"#,
        r#"6 -32601 {"jsonrpc":"2.0","id":6,"method":"prompts/list"}"#,
        r#"6 -32601 {"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"info"}}"#,
        r#"6 -32601 {"jsonrpc":"2.0","id":6,"method":"logging/setLevel","params":{"level":"shout"}}"#,
        r#"6 -32602 {"jsonrpc":"2.0","id":6,"method":"resources/read","params":{}}"#,
        r#"6 -32602 {"jsonrpc":"2.0","id":6,"method":"ping","params":{"x":1e400}}"#,
    ] {
        let mut parts = case.splitn(3, ' ');
        let mut next = || parts.next().expect("three parts");
        let (id, code, line) = (next(), next(), next());
        client.refused(
            line.as_bytes(),
            id.parse().expect("JSON"),
            code.parse().expect("a code"),
        );
        client.alive();
    }
}

#[test]
fn p02_what_must_not_be_answered_is_passed_over() {
    let mut client = Client::opened();
    for line in [
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/nobody/knows"}"#,
        r#"{"jsonrpc":"2.0","id":8,"result":{"x":1}}"#,
        r#"{"jsonrpc":"1.0","id":8,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}"#,
        r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}"#,
        r#"{"id":8,"result":1e999,"error":5}"#,
    ] {
        client.line(line);
        client.alive();
    }
}

#[test]
fn p02_nothing_before_the_handshake_ends_the_process() {
    let mut client = Client::start();
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    client.line(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    client.line(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#);
    client.line(r#"{"jsonrpc":"2.0","id":2,"method":"ping"}"#);
    assert_eq!(client.answer()["id"], 2);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.refused(br#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#, json!(3), -32602);
    client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    client.refused(br#"{"jsonrpc":"2.0","id":3,"method":"no/such"}"#, json!(3), -32602);
    client.line(r#"{"jsonrpc":"2.0","id":3,"result":{}}"#);
    client.line(&initialize(json!("2025-06-18")));
    assert_eq!(client.answer()["id"], "init");
    client.alive();
}

#[test]
fn deep_nesting_is_answered_wherever_it_stands() {
    let mut client = Client::opened();
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    client.line(&call(1, "echo", &deep));
    assert_eq!(text(&client.answer()), deep);
    client.refused(
        format!(r#"{{"jsonrpc":"2.0","id":2,"method":"ping","params":{deep}}}"#).as_bytes(),
        json!(2),
        -32602,
    );
    client.refused(
        format!(
            r#"{{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{{"name":"echo","_meta":{{"x":{deep}}}}}}}"#
        )
        .as_bytes(),
        json!(2),
        -32602,
    );
    client.refused(
        format!(r#"{{"jsonrpc":"2.0","id":{deep},"method":"ping"}}"#).as_bytes(),
        Value::Null,
        -32600,
    );
    client.refused(deep.as_bytes(), Value::Null, -32600);
    client.line(&format!(r#"{{"jsonrpc":"2.0","id":2,"result":{deep}}}"#));
    client.line(&format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{deep}}}"#
    ));
    client.alive();
}
