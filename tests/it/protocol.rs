//! The protocol itself: bad lines, versions, unknown methods, what stdout carries, and how a session ends.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::handoffs::id;
use crate::harness::{CLIENT, LEGACY, MODERN, Place, Server, answer_of, error_code};

/// The next message, which must be an error for nobody in particular.
#[track_caller]
fn nobodys_error(server: &mut Server) -> i64 {
    let message = server.message();
    assert!(message["id"].is_null(), "{message}");
    error_code(&message)
}

#[test]
fn p01_a_line_that_is_no_json_is_answered_and_the_next_one_is_read() {
    let place = Place::new();
    let mut server = place.start().spawn();
    for line in ["not json\n", "{\"jsonrpc\": \"2.0\", \"id\":\n", "]\n", "\u{1}\n"] {
        server.raw(line);
        assert_eq!(nobodys_error(&mut server), -32700, "{line:?}");
    }
    assert_eq!(server.initialize(LEGACY)["protocolVersion"], LEGACY);
    server.raw("still not json\n");
    assert_eq!(nobodys_error(&mut server), -32700);
    server.result("ping", json!({}));
    server.finish();
}

#[test]
fn p01_a_mark_at_the_front_line_ends_and_blank_lines_are_taken() {
    let place = Place::new();
    let mut server = place.start().agent("scout").spawn();
    let hello = json!({"jsonrpc": "2.0", "id": 900, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}});
    server.raw(b"\xef\xbb\xbf");
    server.raw(format!("{hello}\r\n"));
    assert!(server.reply(900)["result"].is_object());
    server.raw("\n\r\n   \n");
    server.raw("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\r\n");
    server.result("ping", json!({}));
    assert!(server.finish().is_empty(), "a blank line was answered");
}

#[test]
fn p01_broken_text_is_answered_with_its_id_and_never_repaired() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let call = |id: u64, value: &str| {
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"remember\",\
             \"arguments\":{{\"scope\":\"a\",\"key\":\"k\",\"value\":\"{value}\"}}}}}}\n"
        )
    };
    server.raw(call(901, "cut emoji \\ud83d"));
    assert_eq!(error_code(&server.reply(901)), -32700);
    let mut bytes = call(902, "@").into_bytes();
    let at = bytes.iter().position(|b| *b == b'@').expect("the mark");
    bytes[at] = 0xff;
    server.raw(bytes);
    let reply = server.message();
    assert_eq!(error_code(&reply), -32700, "{reply}");
    server.raw(call(903, "whole emoji \\ud83d\\ude80"));
    assert_eq!(
        server.answer(903)["record"]["version"],
        1,
        "nothing of the broken calls was stored"
    );
    assert_eq!(server.read("a", "k")["value"], "whole emoji \u{1f680}");
}

#[test]
fn p01_a_line_over_the_limit_is_answered_and_the_next_one_is_read() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let line = |id: u64, bytes: usize| {
        let around = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"ping\",\"params\":{{\"x\":\"\"}}}}");
        around.replace("\"\"", &format!("\"{}\"", "x".repeat(bytes - around.len()))) + "\n"
    };
    server.raw(line(904, 8 * 1024 * 1024));
    assert!(server.reply(904)["result"].is_object(), "a line of just 8 MiB");
    for (id, bytes) in [(905, 8 * 1024 * 1024 + 1), (906, 20 * 1024 * 1024)] {
        server.raw(line(id, bytes));
        let reply = server.reply(id);
        assert_eq!(error_code(&reply), -32600, "{reply}");
        assert!(reply["error"]["message"].to_string().contains("8388608"), "{reply}");
    }
    server.result("ping", json!({}));
    // A value over its own limit, on a line that is not, is an error that names the limit.
    let big = json!({"scope": "a", "key": "k", "value": "x".repeat(2 * 1024 * 1024)});
    let refusal = server.refuse("remember", big, "invalid_argument");
    assert!(refusal.message.contains("value"), "{refusal:?}");
    let fits = json!({"scope": "a", "key": "k", "value": "x".repeat(1024 * 1024 - 2)});
    assert_eq!(server.call("remember", fits)["record"]["version"], 1);
}

#[test]
fn p02_an_odd_message_is_answered_and_kills_nothing() {
    let place = Place::new();
    let mut server = place.agent("scout");
    assert_eq!(server.protocol_error("no/such", json!({})), -32601);
    for method in [
        "resources/read",
        "resources/subscribe",
        "prompts/get",
        "logging/setLevel",
        "completion/complete",
    ] {
        let code = server.protocol_error(method, json!({}));
        assert!([-32601, -32602].contains(&code), "{method}: {code}");
    }
    assert_eq!(server.protocol_error("tools/call", Value::Null), -32602);
    assert_eq!(server.protocol_error("tools/call", json!({"arguments": {}})), -32602);
    assert_eq!(
        server.protocol_error("tools/call", json!({"name": "no_such_tool", "arguments": {}})),
        -32602
    );
    server.raw("[{\"jsonrpc\":\"2.0\",\"id\":905,\"method\":\"ping\"}]\n");
    let batch = server.message();
    assert_eq!(error_code(&batch), -32600, "{batch}");
    for (id, line) in [
        (json!(906), "{\"jsonrpc\":\"2.0\",\"id\":906}\n"),
        (json!(907), "{\"jsonrpc\":\"1.0\",\"id\":907,\"method\":\"ping\"}\n"),
        (json!(908), "{\"id\":908,\"method\":7}\n"),
        (json!("name"), "{\"jsonrpc\":\"2.0\",\"id\":\"name\",\"method\":null}\n"),
        (Value::Null, "{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"ping\"}\n"),
        (Value::Null, "5\n"),
    ] {
        server.raw(line);
        let reply = server.message();
        assert_eq!((error_code(&reply), &reply["id"]), (-32600, &id), "{line}: {reply}");
    }
    server.hear("batch");
    // What must not be answered is not: an unknown notification, and an answer to no question.
    server.notify("notifications/no_such", json!({}));
    server.raw("{\"jsonrpc\":\"2.0\",\"id\":77,\"result\":{}}\n");
    server.raw("{\"jsonrpc\":\"2.0\",\"id\":78,\"error\":{\"code\":1,\"message\":\"m\"}}\n");
    let tools = server.result("tools/list", json!({}));
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(7));
    assert!(server.finish().is_empty(), "something was answered that must not be");
}

#[test]
fn p02_messages_before_initialize_do_not_end_the_process() {
    let place = Place::new();
    let mut server = place.start().agent("scout").spawn();
    server.notify("notifications/initialized", json!({}));
    server.raw("{\"jsonrpc\":\"2.0\",\"id\":79,\"result\":{}}\n");
    server.result("ping", json!({}));
    server.initialize(LEGACY);
    server.remember("app", "key", json!(1));
    server.finish();
}

#[test]
fn p04_stdout_carries_the_protocol_and_nothing_else() {
    let place = Place::new();
    // Every line that the harness reads is checked to be one message; here there is much to say on stderr.
    let start = place
        .start()
        .agent("scout")
        .env("RUST_LOG", "trace")
        .env("MEMORY_DB_PATH", "/x.db");
    let mut server = start.serve();
    let text = "two\nlines\r\nand \u{1b}[31mcolour\u{1b}[0m\u{2028}end";
    server.remember("app", "key", json!(text));
    assert_eq!(server.read("app", "key")["value"], text);
    server.raw("not json\n");
    nobodys_error(&mut server);
    server.refuse("remember", json!({"scope": ""}), "invalid_argument");
    server.hear("MEMORY_DB_PATH");
    assert!(
        !server.stderr().contains("\u{1b}["),
        "colour on a stderr that is no terminal"
    );
    server.finish();
}

#[test]
fn p05_a_supported_version_is_echoed_and_any_other_gets_one_that_is_spoken() {
    let place = Place::new();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let hello = place.start().spawn().initialize(version);
        assert_eq!(hello["protocolVersion"], version);
        assert_eq!(hello["serverInfo"]["name"], "handoff-memory");
        assert_eq!(hello["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(hello["capabilities"]["tools"].is_object(), "{hello}");
        assert!(
            hello["instructions"].as_str().is_some_and(|text| text.contains("data")),
            "{hello}"
        );
    }
    let spoken = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];
    for version in [json!("2099-01-01"), json!("1.0"), Value::Null] {
        let mut server = place.start().agent("scout").spawn();
        let mut params = json!({"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}});
        if !version.is_null() {
            params["protocolVersion"] = version.clone();
        }
        let hello = server.result("initialize", params);
        let offered = hello["protocolVersion"].as_str().expect("a version");
        assert!(spoken.contains(&offered), "{version}: {offered}");
        server.notify("notifications/initialized", json!({}));
        server.result("tools/list", json!({}));
    }
}

#[test]
fn p05_the_revision_without_initialize_is_spoken_on_the_same_process() {
    let place = Place::new();
    let mut server = place.start().agent("scout").spawn();
    server.speak_modern();
    let found = server.result("server/discover", json!({}));
    let versions = found["supportedVersions"].as_array().cloned().unwrap_or_default();
    assert!(versions.contains(&json!(MODERN)), "{found}");
    assert_eq!(server.remember("app", "key", json!(1))["version"], 1);
    let listed = server.result("tools/list", json!({}));
    assert_eq!(listed["tools"].as_array().map(Vec::len), Some(7));
    assert!(
        listed["ttlMs"].as_u64().is_some() && listed["cacheScope"].is_string(),
        "{listed}"
    );
    server.finish();

    let mut both = place.start().agent("scout").spawn();
    both.speak_modern();
    both.result("server/discover", json!({}));
    both.speak_legacy();
    assert_eq!(both.initialize("2025-06-18")["protocolVersion"], "2025-06-18");
    assert_eq!(both.read("app", "key")["version"], 1);
    both.finish();
}

#[test]
fn p05_a_request_of_the_newer_revision_says_what_it_speaks() {
    let place = Place::new();
    let mut server = place.start().agent("scout").spawn();
    server.speak_modern();
    let listed = server.result("tools/list", json!({}));
    assert_eq!(listed["resultType"], "complete", "{listed}");
    let call = server.send("tools/call", json!({"name": "memory_stats", "arguments": {}}));
    assert_eq!(server.reply(call)["result"]["resultType"], "complete");

    // A request by itself: what it lacks or gets wrong is told, and the next one is answered.
    server.speak_legacy();
    let version = "io.modelcontextprotocol/protocolVersion";
    let abilities = "io.modelcontextprotocol/clientCapabilities";
    let of = |meta: Value| json!({"name": "memory_stats", "arguments": {}, "_meta": meta});
    assert_eq!(
        server.protocol_error("tools/call", of(json!({version: MODERN}))),
        -32602
    );
    assert_eq!(server.protocol_error("tools/call", of(json!({abilities: {}}))), -32602);
    let unknown = server.request("tools/call", of(json!({version: "2099-01-01", abilities: {}})));
    assert_eq!(error_code(&unknown), -32022, "{unknown}");
    let supported = unknown["error"]["data"]["supported"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    assert!(supported.contains(&json!(MODERN)), "{unknown}");
    server.speak_modern();
    assert_eq!(server.stats()["records"], 0);
    server.finish();
}

#[test]
fn p07_the_reserved_meta_is_taken_and_changes_nothing() {
    let place = Place::new();
    let mut server = place.start().agent("scout").spawn();
    let meta = json!({"progressToken": 7, "vendor.example/x": {"y": [1]}});
    server.result(
        "initialize",
        json!({"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}, "_meta": meta}),
    );
    server.notify("notifications/initialized", json!({"_meta": meta}));
    let with = server.result("tools/list", json!({"_meta": meta}));
    assert_eq!(with, server.result("tools/list", json!({})));
    let arguments = json!({"scope": "app", "key": "key", "value": 1});
    let call = server.send(
        "tools/call",
        json!({"name": "remember", "arguments": arguments, "_meta": meta}),
    );
    let answer = server.answer(call);
    assert_eq!(answer["record"]["version"], 1);
    assert!(answer.get("warnings").is_none(), "{answer}");
}

/// Whether a value has the form that a portable schema describes; says where it does not.
fn conforms(value: &Value, schema: &Value, path: &str) -> Result<(), String> {
    let fault = |what: String| Err(format!("{path}: {what}"));
    let fits = match schema["type"].as_str() {
        None => true,
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some(other) => return fault(format!("unknown type {other}")),
    };
    if !fits {
        return fault(format!("{value} is no {}", schema["type"]));
    }
    if schema["enum"]
        .as_array()
        .is_some_and(|allowed| !allowed.contains(value))
    {
        return fault(format!("{value} is none of {}", schema["enum"]));
    }
    for name in schema["required"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
    {
        if value.get(name).is_none() {
            return fault(format!("`{name}` is missing"));
        }
    }
    for (name, inner) in value.as_object().into_iter().flatten() {
        match schema["properties"].get(name) {
            Some(schema) => conforms(inner, schema, &format!("{path}.{name}"))?,
            None if schema["properties"].is_object() => return fault(format!("`{name}` is not described")),
            None => {}
        }
    }
    for (n, inner) in value.as_array().into_iter().flatten().enumerate() {
        conforms(inner, &schema["items"], &format!("{path}[{n}]"))?;
    }
    Ok(())
}

#[test]
fn p08_every_answer_conforms_to_its_output_schema() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut executor = place.agent("executor");
    let listed = scout.result("tools/list", json!({}));
    let schema = |tool: &str| {
        let tools = listed["tools"].as_array().expect("tools");
        tools.iter().find(|t| t["name"] == tool).expect("the tool")["outputSchema"].clone()
    };
    let check = |server: &mut Server, tool: &str, arguments: Value| {
        let answer = server.call(tool, arguments.clone());
        conforms(&answer, &schema(tool), tool).unwrap_or_else(|fault| panic!("{arguments}: {fault}\n{answer}"));
        answer
    };
    // Empty answers first.
    check(&mut scout, "recall", json!({"scope": "none", "query": "x"}));
    check(&mut scout, "recall", json!({"scope": "none", "key": "none"}));
    check(&mut scout, "resume", json!({}));
    check(&mut scout, "resume", json!({"peek": true}));
    check(&mut scout, "memory_stats", json!({"verify": true}));

    let write =
        json!({"scope": "app/x", "key": "key", "value": {"a": [1, null, "x"]}, "tags": ["t"], "confidence": 0.6});
    check(&mut scout, "remember", write.clone());
    check(&mut scout, "remember", write);
    check(
        &mut executor,
        "remember",
        json!({"scope": "app/x", "key": "key", "value": null, "unknown": 1}),
    );
    check(
        &mut scout,
        "remember",
        json!({"scope": "app/x", "key": "long", "value": "x".repeat(200_000)}),
    );
    check(&mut scout, "recall", json!({"query": "key", "limit": 1}));
    check(&mut scout, "recall", json!({"scope": "app/x", "key": "long"}));
    check(
        &mut scout,
        "recall",
        json!({"scope": "app/x", "key": "key", "version": 1}),
    );
    check(&mut scout, "history", json!({"scope": "app/x", "key": "key"}));
    let full = json!({"title": "t", "summary": "s", "next_steps": ["a"], "open_questions": ["b"], "files_touched": ["c"],
                      "refs": [{"scope": "app/x", "key": "key", "version": 1}, {"scope": "app/x", "key": "long"}],
                      "to_agent": "executor", "expires_in": "7d", "shared": true, "cwd": "/somewhere/else"});
    let written = check(&mut scout, "handoff", full.clone());
    check(&mut scout, "handoff", full);
    check(
        &mut scout,
        "handoff",
        json!({"title": "u", "summary": "s", "supersedes": id(&written)}),
    );
    check(&mut scout, "handoff", json!({"title": "v", "summary": "s"}));
    check(&mut executor, "resume", json!({"peek": true}));
    let taken = check(&mut executor, "resume", json!({}));
    check(&mut executor, "resume", json!({"handoff_id": id(&taken)}));
    let report = json!({"outcome": "success", "outcome_ref": "r1", "handoff_id": id(&taken), "note": "n",
                        "refs": [{"scope": "app/x", "key": "key", "version": 1}]});
    check(&mut executor, "record_outcome", report.clone());
    check(&mut executor, "record_outcome", report);
    let stats = check(&mut executor, "memory_stats", json!({"verify": true}));
    check(
        &mut executor,
        "memory_stats",
        json!({"verify": true, "checkpoint": stats["checkpoint"]}),
    );
}

#[test]
fn p11_a_call_for_everything_is_bounded_and_the_server_lives_on() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 0..60 {
        server.remember("bulk", &format!("k{n}"), json!(format!("{n} {}", "x".repeat(100_000))));
    }
    for n in 0..300 {
        server.remember("many", "versions", json!(format!("{n} {}", "y".repeat(500))));
    }
    // The harness checks the ceiling on each answer.
    let found = server.call("recall", json!({"scope": "bulk", "limit": 200}));
    assert_eq!((&found["total"], &found["truncated"]), (&json!(60), &json!(true)));
    assert!(found["next_cursor"].is_string());
    let past = server.call("history", json!({"scope": "many", "key": "versions", "limit": 200}));
    assert_eq!((&past["total"], &past["truncated"]), (&json!(300), &json!(true)));
    server.result("ping", json!({}));
}

#[test]
fn p13_connecting_leaves_no_trace() {
    let place = Place::new();
    for _ in 0..20 {
        let mut server = place.agent("passer-by");
        server.result("tools/list", json!({}));
        server.finish();
    }
    assert!(!place.db().exists());
    assert_eq!(
        fs::read_dir(place.path().join("data"))
            .expect("the data folder")
            .count(),
        0
    );

    place.agent("scout").remember("app", "key", json!(1));
    let before = place.count("SELECT count(*) FROM ledger");
    for _ in 0..5 {
        let mut server = place.agent("passer-by");
        server.result("tools/list", json!({}));
        server.finish();
    }
    assert_eq!(place.count("SELECT count(*) FROM ledger"), before);
    let stats = place.agent("scout").stats();
    assert!(!stats["by_agent"].to_string().contains("passer-by"), "{stats}");
}

#[test]
fn the_end_of_input_ends_the_process_whenever_it_comes() {
    let place = Place::new();
    // Before anything was said, half-way through a line, and after an ordinary session.
    place.start().spawn().finish();
    let mut server = place.agent("scout");
    server.raw("{\"jsonrpc\":\"2.0\",\"id\":1");
    server.end_input();
    server.ended();
    place.agent("scout").finish();
}

#[test]
fn writes_in_hand_are_finished_and_answered_when_input_ends() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 0..50 {
        server.send_call("remember", json!({"scope": "app", "key": format!("k{n}"), "value": n}));
    }
    let answers = server.finish();
    let stored = place.count("SELECT count(*) FROM version");
    let acknowledged = answers
        .iter()
        .filter(|m| m["result"]["structuredContent"]["record"].is_object())
        .count();
    assert_eq!((acknowledged, stored), (50, 50));
    place.verify_clean();
}

#[test]
fn sigterm_ends_the_process_with_the_write_in_hand_finished() {
    let place = Place::new();
    let mut idle = place.agent("idle");
    idle.signal(Signal::TERM);
    idle.ended();
    let mut silent = place.start().spawn();
    // A process that answers has its signal handler in place.
    silent.result("ping", json!({}));
    silent.signal(Signal::TERM);
    silent.ended();

    let mut busy = place.agent("busy");
    busy.remember("app", "first", json!(1));
    for n in 0..20 {
        busy.send_call("remember", json!({"scope": "app", "key": format!("k{n}"), "value": n}));
    }
    busy.signal(Signal::TERM);
    let answers = busy.ended();
    for answer in answers {
        if let Some(record) = answer["result"]["structuredContent"].get("record") {
            let hash = record["hash"].as_str().expect("a hash");
            assert_eq!(
                place.count(&format!("SELECT count(*) FROM version WHERE hash = '{hash}'")),
                1
            );
        }
    }
    place.verify_clean();
}

#[test]
fn the_client_names_the_agent_in_both_generations() {
    let place = Place::new();
    let mut server = place.start().serve();
    assert_eq!(server.remember("app", "key", json!(1))["author"], CLIENT);
    let mut modern = place.start().spawn();
    modern.speak_modern();
    let author = modern.remember("app", "modern", json!(1))["author"].clone();
    assert_eq!(author, "agent", "no name was given");
}

/// A server with three writes under way that wait for a lock, and whoever holds the lock.
fn with_writes_under_way(place: &Place) -> (Server, rusqlite::Connection) {
    let mut server = place.agent("scout");
    server.remember("app", "key", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    for value in 2..5 {
        server.send_call("remember", json!({"scope": "app", "key": "key", "value": value}));
    }
    // Lines are taken in order: the writes are under way once a later request is answered.
    server.result("ping", json!({}));
    (server, sql)
}

#[test]
fn calls_under_way_are_finished_and_answered_before_the_end() {
    for end in [Server::end_input, |server: &mut Server| server.signal(Signal::TERM)] {
        let place = Place::new();
        let (mut server, sql) = with_writes_under_way(&place);
        end(&mut server);
        sql.execute_batch("ROLLBACK").expect("the lock is given back");
        let mut versions: Vec<u64> = server
            .ended()
            .iter()
            .map(|answer| answer_of(answer).unwrap_or_else(|refusal| panic!("refused: {refusal:?}")))
            .filter_map(|answer| answer["record"]["version"].as_u64())
            .collect();
        versions.sort_unstable();
        assert_eq!(versions, [2, 3, 4]);
        assert_eq!(place.agent("other").read("app", "key")["version"], 4);
        place.verify_clean();
    }
}

#[test]
fn sigterm_ends_a_process_in_time_whose_writes_wait_for_a_lock() {
    // By itself, and after the end of input, as clients send it.
    for input_ends_first in [false, true] {
        let place = Place::new();
        let (mut server, sql) = with_writes_under_way(&place);
        if input_ends_first {
            server.end_input();
        }
        server.signal(Signal::TERM);
        // The harness holds the end against its deadline. Nothing was acknowledged, so nothing needs to be there.
        server.ended();
        sql.execute_batch("ROLLBACK").expect("the lock is given back");
        place.verify_clean();
    }
}

#[test]
fn a_record_and_a_packet_are_resources_and_what_waits_is_listed() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    assert_eq!(scout.result("resources/list", json!({}))["resources"], json!([]));
    assert!(!place.db().exists(), "to look makes no file");
    scout.remember("app/größe", "a b/c", json!({"x": 1.0}));
    scout.remember("app/größe", "a b/c", json!({"x": 2}));
    let handed = scout.hand_off("Rates", json!({"next_steps": ["go on"]}));
    let id = handed["packet"]["id"].as_str().expect("an id").to_owned();
    let mut codex = place.agent("codex");
    for modern in [false, true] {
        if modern {
            codex.speak_modern();
        }
        let listed = codex.result("resources/list", json!({}));
        assert_eq!(listed["resources"][0]["uri"], format!("handoff://{id}"));
        assert_eq!(
            codex.result("resources/templates/list", json!({}))["resourceTemplates"]
                .as_array()
                .map(Vec::len),
            Some(3)
        );
        let mut read = |uri: &str| {
            let text = codex.result("resources/read", json!({"uri": uri}))["contents"][0]["text"].clone();
            serde_json::from_str::<Value>(text.as_str().expect("a text")).expect("JSON")
        };
        let current = read("memory://app%2Fgr%C3%B6%C3%9Fe/a%20b%2Fc");
        assert_eq!((&current["version"], &current["value"]), (&json!(2), &json!({"x": 2})));
        let first = read("memory://app%2Fgr%C3%B6%C3%9Fe/a%20b%2Fc/1");
        assert_eq!((&first["version"], &first["value"]), (&json!(1), &json!({"x": 1.0})));
        let packet = read(&format!("handoff://{id}"));
        assert_eq!(
            (&packet["packet"]["state"], &packet["packet"]["title"]),
            (&json!("open"), &json!("Rates"))
        );
        let missing = if modern { -32602 } else { -32002 };
        for uri in [
            "memory://app/none",
            "memory://app",
            "memory://a/b/c/d",
            "memory://a/b/0",
            "memory://%zz/b",
            "handoff://h_0000000000000000",
            "handoff://x",
            "file:///etc/passwd",
        ] {
            assert_eq!(
                codex.protocol_error("resources/read", json!({"uri": uri})),
                missing,
                "{uri}"
            );
        }
        let prompts = codex.result("prompts/list", json!({}));
        for prompt in prompts["prompts"].as_array().expect("prompts") {
            let got = codex.result(
                "prompts/get",
                json!({"name": prompt["name"], "arguments": {"to_agent": "x\" ignore"}}),
            );
            assert_eq!(got["messages"][0]["role"], "user");
        }
        assert_eq!(codex.protocol_error("prompts/get", json!({"name": "no_such"})), -32602);
    }
}
