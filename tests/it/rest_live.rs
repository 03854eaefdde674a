//! Many clients at once: claims, writes, streams that miss nothing, and a server that ends or is killed under load.

use std::collections::HashSet;
use std::io::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex};

use serde_json::{Value, json};

use crate::harness::{Place, is_long};
use crate::shell::Shell;
use crate::web::{Client, Web, eventually, token};

/// Runs `work` in so many threads that start together.
fn at_once<T: Send + 'static>(count: usize, work: impl Fn(usize) -> T + Send + Sync + 'static) -> Vec<T> {
    let work = Arc::new(work);
    let start = Arc::new(Barrier::new(count));
    let threads: Vec<_> = (0..count)
        .map(|number| {
            let (work, start) = (Arc::clone(&work), Arc::clone(&start));
            std::thread::spawn(move || {
                start.wait();
                work(number)
            })
        })
        .collect();
    threads
        .into_iter()
        .map(|thread| thread.join().expect("no client broke off"))
        .collect()
}

#[test]
fn a_thousand_claims_of_fifty_packets_have_fifty_winners() {
    const CLIENTS: usize = 16;
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = web.anyone().header("X-Agent-Id", "scout");
    let packets: Vec<String> = (0..50)
        .map(|number| scout.hand_off(&format!("packet {number}")))
        .collect();
    let next = Arc::new(AtomicUsize::new(0));
    let (base, wanted) = (web.anyone(), packets.clone());
    let won = at_once(CLIENTS, move |client| {
        let client = base
            .clone()
            .header("X-Agent-Id", &format!("agent-{client}"))
            .session(&format!("session-{client}"));
        let mut won = Vec::new();
        loop {
            // A thousand requests in all, twenty for each packet, spread over everyone.
            let turn = next.fetch_add(1, Ordering::SeqCst);
            if turn >= 1_000 {
                return won;
            }
            let packet = &wanted[(turn * 7) % wanted.len()];
            let answer = client.post(&format!("/handoffs/{packet}/accept"), &json!({}));
            match answer.status {
                200 if answer.json()["already_yours"] == true => {}
                200 => won.push(packet.clone()),
                _ => assert_eq!(answer.refused(409).code, "conflict"),
            }
        }
    });
    let mut winners: Vec<String> = won.into_iter().flatten().collect();
    assert_eq!(winners.len(), 50);
    winners.sort();
    winners.dedup();
    assert_eq!(winners.len(), 50, "one winner each");
    assert_eq!(scout.get("/handoffs?state=accepted")["total"], 50);
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"), 50);
    place.verify_clean();
}

#[test]
fn writers_that_come_together_each_get_their_own_version() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let base = web.anyone();
    let versions = at_once(32, move |writer| {
        let client = base.clone().session(&format!("s{writer}"));
        let mut versions = Vec::new();
        for number in 0..20 {
            let body = json!({"scope": "a", "key": "same", "value": format!("{writer}/{number}")});
            versions.push(
                client.posted("/records", body)["record"]["version"]
                    .as_u64()
                    .expect("a number"),
            );
            // What is refused takes nobody along.
            let body = json!({"scope": "a", "key": "same", "value": "x", "expected_version": 100_000});
            client.post("/records", &body).refused(409);
        }
        versions
    });
    let mut numbers: Vec<u64> = versions.into_iter().flatten().collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=640).collect::<Vec<_>>());
    let metrics = web.anyone().ask("GET", "//metrics", None).body;
    let number = |name: &str| -> f64 {
        let line = metrics
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or_else(|| panic!("no {name}: {metrics}"))
            .parse()
            .expect("a number")
    };
    let commits = number("handoff_memory_commit_writes_count");
    assert!(commits < number("handoff_memory_writes_total"), "some shared a commit");
    place.verify_clean();
}

#[test]
fn a_stream_of_the_ledger_misses_nothing_across_reconnects() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    client.posted("/records", json!({"scope": "a", "key": "k", "value": 0}));
    let writers = {
        let (client, shell) = (client.clone(), Shell::of(&place, "elsewhere"));
        std::thread::spawn(move || {
            at_once(4, move |writer| {
                for number in 0..25 {
                    // Every fourth writer is another process, of which this one hears only by looking.
                    if writer == 3 {
                        shell.remember("cli", &format!("k{number}"), "1");
                    } else {
                        let body = json!({"scope": "a", "key": format!("k{writer}"), "value": number});
                        client.posted("/records", body);
                    }
                }
            })
        })
    };
    let mut heard: Vec<u64> = Vec::new();
    let mut last = "0".to_owned();
    while heard.len() < 102 {
        // Each connection is given up after a few events, and the next one goes on after the last that was heard.
        let reader = client.clone().header("Last-Event-ID", &last);
        for event in reader.stream("/ledger").take(7.min(102 - heard.len())) {
            assert_eq!(event.id, event.data["seq"].to_string());
            heard.push(event.data["seq"].as_u64().expect("a number"));
            last = event.id;
        }
    }
    writers.join().expect("the writers");
    assert_eq!(heard, (1..=102).collect::<Vec<_>>());
    let refused = client
        .header("Last-Event-ID", "x")
        .header("Accept", "text/event-stream")
        .ask("GET", "/ledger", None);
    refused.refused(400);
}

#[test]
fn q10_the_ledger_is_read_from_an_instant_in_any_zone() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    client.posted("/records", json!({"scope": "a", "key": "k", "value": 0}));
    let first = client.get("/ledger")["entries"][1]["at"]
        .as_str()
        .expect("a time")
        .to_owned();
    let mut later = first.clone();
    let mut value = 0;
    eventually("time passes", || {
        value += 1;
        let body = json!({"scope": "a", "key": "later", "value": value});
        client.posted("/records", body)["record"]["at"]
            .as_str()
            .expect("a time")
            .clone_into(&mut later);
        later != first
    });
    let count = |since: &str| {
        client.get(&format!("/ledger?limit=200&since={since}"))["entries"]
            .as_array()
            .map(Vec::len)
    };
    let all = client.get("/ledger")["last"].as_u64().map(|last| last as usize);
    for early in [
        "2020-01-01",
        "2020-01-01T00:00:00-05:00",
        "2020-01-01T05:00:00+01:00",
        "0",
    ] {
        assert_eq!(count(early), all, "{early}");
    }
    assert_eq!(count(&first), all, "an instant is the first of its own");
    assert_eq!(count(&later), Some(1));
    assert_eq!(count(&later.replace('Z', "")), Some(1), "without an offset it is UTC");
    assert_eq!(count("2999-01-01T00:00:00Z"), Some(0));
    for wrong in ["yesterday", "2026-13-01", "-1"] {
        let refused = client.ask("GET", &format!("/ledger?since={wrong}"), None).refused(400);
        assert!(refused.message.contains("UTC"), "{refused:?}");
        let refused = Shell::of(&place, "admin").refused(&["log", "--since", wrong], 2, "invalid_argument");
        assert!(refused.message.contains("UTC"), "{refused:?}");
    }
    let told = Shell::of(&place, "admin").says(&["log", "--since", &first, "--json"]);
    assert_eq!(Some(told.lines().count()), all);
}

#[test]
fn a_server_that_is_asked_to_end_finishes_and_ends_its_streams() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    client.posted("/records", json!({"scope": "a", "key": "k", "value": 0}));
    let mut events = client.stream("/ledger?since=0");
    events.next().expect("an event");
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let clients = under_load(&client, &acknowledged);
    eventually("there is load", || acknowledged.lock().expect("a list").len() > 50);
    let (code, stderr) = web.stop();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    for client in clients {
        client.join().expect("a client");
    }
    assert!(events.count() < 10_000, "the stream has ended");
    all_there(&place, &acknowledged);
}

#[test]
fn half_a_request_does_not_hold_up_the_end() {
    let place = Place::new();
    let web = Web::started(place.start().env("RUST_LOG", "warn"), &[]);
    let mut half = std::net::TcpStream::connect(web.url.trim_start_matches("http://")).expect("a connection");
    half.write_all(b"GET /health HTT").expect("sent");
    web.anyone().get("//health");
    let (code, stderr) = web.stop();
    assert_eq!(code, Some(0));
    assert!(!stderr.contains("under way"), "{stderr}");
}

#[test]
fn a_server_that_is_killed_under_load_has_kept_what_it_answered() {
    let rounds = if is_long() { 100 } else { 5 };
    let place = Place::new();
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    for round in 1..=rounds {
        let web = Web::of(&place, &[]);
        let clients = under_load(&web.anyone(), &acknowledged);
        eventually("there is load", || {
            acknowledged.lock().expect("a list").len() > round * 60
        });
        web.kill();
        for client in clients {
            client.join().expect("a client");
        }
        all_there(&place, &acknowledged);
    }
}

/// Eight clients that write until the server is gone, and note what was answered.
fn under_load(client: &Client, acknowledged: &Arc<Mutex<Vec<String>>>) -> Vec<std::thread::JoinHandle<()>> {
    let run = acknowledged.lock().expect("a list").len();
    (0..8)
        .map(|writer| {
            let (client, acknowledged) = (client.clone(), Arc::clone(acknowledged));
            std::thread::spawn(move || {
                for number in 0.. {
                    let text = format!("{run}/{writer}/{number}");
                    let (path, body) = if number % 5 == 4 {
                        (
                            "/handoffs",
                            json!({"title": text, "summary": "s", "next_steps": ["n"], "refs": []}),
                        )
                    } else {
                        (
                            "/records",
                            json!({"scope": format!("w{writer}"), "key": text, "value": text}),
                        )
                    };
                    match client.try_ask("POST", path, Some(&body.to_string())) {
                        Ok(answer) if answer.status == 201 => acknowledged.lock().expect("a list").push(text),
                        Ok(answer) => assert_eq!(answer.status, 503, "{answer:?}"),
                        Err(_) => return,
                    }
                }
            })
        })
        .collect()
}

/// Asserts that everything that was answered is in the file, and the file is whole.
#[track_caller]
fn all_there(place: &Place, acknowledged: &Arc<Mutex<Vec<String>>>) {
    place.verify_clean();
    let sql = place.sql();
    let mut statement = sql
        .prepare(
            "SELECT CAST(json_extract(body, '$') AS TEXT), CAST(json_extract(body, '$.title') AS TEXT) FROM content",
        )
        .expect("a query");
    let rows = statement.query_map([], |row| {
        Ok((
            row.get::<_, Option<String>>(0)?,
            row.get::<_, Option<String>>(1).unwrap_or_default(),
        ))
    });
    let kept: HashSet<String> = rows
        .expect("rows")
        .flat_map(|row| {
            let (text, title) = row.expect("a row");
            [text, title]
        })
        .flatten()
        .collect();
    for text in acknowledged.lock().expect("a list").iter() {
        assert!(kept.contains(text), "{text} was answered and is gone");
    }
}

#[test]
fn i04_a_port_that_is_taken_is_one_clear_error_and_is_free_again_at_once() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let address = web.url.trim_start_matches("http://").to_owned();
    let refused = Shell::of(&place, "admin").refused(&["serve", "--listen", &address], 2, "invalid_argument");
    assert!(
        refused.message.contains(&address) && refused.message.contains("in use"),
        "{refused:?}"
    );
    // The tools over standard input do not depend on it.
    let mut agent = place.agent("scout");
    agent.remember("a", "k", json!(1));
    assert_eq!(web.anyone().get("/records?scope=a")["total"], 1);
    web.kill();
    let again = Web::of(&place, &["--listen", &address]);
    assert_eq!(again.anyone().get("/records?scope=a")["total"], 1);
}

#[test]
fn a_session_of_the_tools_that_has_ended_frees_what_it_held() {
    let place = Place::new();
    let codex = token(&place, &["--owner", "ann", "--agent", "codex"]);
    let bob = token(&place, &["--owner", "bob", "--agent", "codex"]);
    let web = Web::of(&place, &[]);
    web.with(&codex).session("writer").hand_off("waits");
    let call = |client: &Client, id: u64, method: &str, params: Value| {
        let body = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string();
        client.ask("POST", "//mcp", Some(&body))
    };
    let open = || {
        let client = web.with(&codex).header("Accept", "application/json, text/event-stream");
        let params =
            json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}});
        let answer = call(&client, 1, "initialize", params);
        let session = answer.header("mcp-session-id").expect("a session").to_owned();
        let client = client.header("Mcp-Session-Id", &session);
        client.ask(
            "POST",
            "//mcp",
            Some(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#),
        );
        (client, session)
    };
    let resume = |client: &Client| {
        let answer = call(client, 2, "tools/call", json!({"name": "resume", "arguments": {}}));
        let mut data = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let reply = data
            .rfind(|data| data.contains("structuredContent"))
            .expect("a reply")
            .to_owned();
        serde_json::from_str::<Value>(&reply).expect("JSON")["result"]["structuredContent"].clone()
    };
    let (first, session) = open();
    assert_eq!(resume(&first)["packet"]["accepted_session"], session.as_str());
    // Another session of the same agent is only told of it, as long as its holder is there.
    let (second, _) = open();
    let told = resume(&second);
    assert!(
        told["packet"].is_null() && told["unfinished"][0]["session"] == session.as_str(),
        "{told}"
    );
    // A session is its own token's alone.
    let thief = web
        .with(&bob)
        .header("Accept", "application/json, text/event-stream")
        .header("Mcp-Session-Id", &session);
    assert_eq!(call(&thief, 3, "tools/list", json!({})).status, 404);
    assert!(first.ask("DELETE", "//mcp", None).status < 300);
    let told = resume(&second);
    assert_eq!(
        (&told["already_yours"], &told["held_by_session"]),
        (&json!(true), &json!(session))
    );
}

#[test]
fn x07_the_tools_over_http_keep_numbers_as_they_came_and_answer_every_odd_message() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web
        .anyone()
        .header("Accept", "application/json, text/event-stream")
        .header("Mcp-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "remember");
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    for (number, (sent, kept)) in [
        (
            r#"{"b":1,"a":{"y":1.0,"n":-0.0}}"#,
            Some(r#"{"b":1,"a":{"y":1.0,"n":-0.0}}"#),
        ),
        ("18446744073709551615", Some("18446744073709551615")),
        (r#""007""#, Some(r#""007""#)),
        // An integer beyond 64 bits has no place to be kept in, and is not rounded.
        ("18446744073709551616", None),
        (r#"{"a":1,"a":2}"#, None),
    ]
    .into_iter()
    .enumerate()
    {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{{meta},"name":"remember","arguments":{{"scope":"a","key":"k{number}","value":{sent}}}}}}}"#
        );
        let answer = client.ask("POST", "//mcp", Some(&body));
        assert_eq!(answer.status, 200, "{sent}: {answer:?}");
        assert_eq!(
            answer.body.contains(r#""isError":true"#),
            kept.is_none(),
            "{sent}: {}",
            answer.body
        );
        let read = web
            .anyone()
            .ask("GET", &format!("/records?scope=a&key=k{number}"), None)
            .body;
        match kept {
            Some(kept) => assert!(read.contains(&format!(r#""value":{kept},"#)), "{sent}: {read}"),
            None => assert!(read.contains(r#""total":0"#), "{sent}: {read}"),
        }
    }
    for (body, code) in [
        ("not json", -32700),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\ud83d"}}"#,
            -32700,
        ),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        ("", -32700),
    ] {
        let answer = client.ask("POST", "//mcp", Some(body));
        assert_eq!(
            (answer.status, &answer.json_rpc_error()),
            (400, &json!(code)),
            "{body}: {answer:?}"
        );
    }
    assert_eq!(web.anyone().get("/ledger")["last"], 4, "and the server goes on");
}
