//! The ledger as a stream: it misses nothing, whoever writes, however slowly it is read, and though the server dies.

use std::net::TcpStream;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::concurrency::at_once;
use crate::harness::{LEGACY, Place};
use crate::rest_work::agent;
use crate::shell::Shell;
use crate::web::{Client, Event, Web, eventually, id_of, token};

/// The positions of events, each of which carries its own.
#[track_caller]
fn positions(events: impl Iterator<Item = Event>) -> Vec<u64> {
    events
        .map(|event| {
            assert_eq!(event.id, event.data["seq"].to_string());
            event.data["seq"].as_u64().expect("a position")
        })
        .collect()
}

/// Writes `count` records, and tries again where the server is not there: it may be another one next time.
fn persist(url: &Mutex<String>, name: &str, count: usize) {
    for n in 0..count {
        let body = json!({"scope": name, "key": format!("k{n}"), "value": n}).to_string();
        eventually("the server takes a record", || {
            let client = Client::at(&url.lock().expect("an address"));
            client
                .try_ask("POST", "/records", Some(&body))
                .is_ok_and(|answer| answer.status < 300)
        });
    }
}

#[test]
fn a_reader_that_comes_back_misses_nothing_though_the_server_is_killed_and_others_write() {
    let place = Place::new();
    let mut web = Web::of(&place, &[]);
    let url = Mutex::new(web.url.clone());
    let done = AtomicBool::new(false);
    let heard = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let (place, url) = (&place, &url);
                scope.spawn(move || {
                    let name = format!("writer-{n}");
                    match n {
                        0 | 1 => persist(url, &name, 60),
                        2 => (0..30).for_each(|k| drop(Shell::of(place, &name).remember("s", &format!("k{k}"), "1"))),
                        _ => {
                            let mut server = place.agent(&name);
                            (0..60).for_each(|k| drop(server.remember(&name, &format!("k{k}"), json!(k))));
                        }
                    }
                })
            })
            .collect();
        let reader = scope.spawn(|| {
            let (mut heard, mut last) = (Vec::new(), 0);
            loop {
                std::thread::yield_now();
                let client = Client::at(&url.lock().expect("an address")).header("Last-Event-ID", &last.to_string());
                // What was heard of a connection that broke off stays heard.
                for event in client.try_stream("/ledger").into_iter().flatten() {
                    heard.extend(positions(std::iter::once(event)));
                    last = *heard.last().expect("one at least");
                    if done.load(Ordering::SeqCst) && last == last_entry(&place) {
                        return heard;
                    }
                    if heard.len() % 13 == 0 {
                        break;
                    }
                }
            }
        });
        for _ in 0..3 {
            let before = last_entry(&place);
            eventually("there is load", || last_entry(&place) > before + 20);
            web.kill();
            web = Web::of(&place, &[]);
            url.lock().expect("an address").clone_from(&web.url);
        }
        for writer in writers {
            writer.join().expect("a writer");
        }
        done.store(true, Ordering::SeqCst);
        // One more, so that a reader that has heard everything looks again.
        persist(&url, "last", 1);
        reader.join().expect("the reader")
    });
    assert_eq!(heard, (1..=last_entry(&place)).collect::<Vec<_>>());
    assert!(heard.len() > 210, "{}", heard.len());
    place.verify_clean();
}

/// The position of the last entry in the file.
fn last_entry(place: &Place) -> u64 {
    if !place.db().exists() {
        return 0;
    }
    let last = place
        .sql()
        .query_row("SELECT max(seq) FROM ledger", [], |row| row.get::<_, Option<i64>>(0));
    last.ok().flatten().unwrap_or(0).unsigned_abs()
}

#[test]
fn a_reader_that_starts_late_or_rests_gets_every_entry_in_order() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = agent(&web, "reader");
    let write = |round: usize| {
        at_once(8, |n| {
            for k in 0..90 {
                let body = json!({"scope": format!("w{n}"), "key": format!("k{k}"), "value": round});
                client.posted("/records", body);
            }
        });
        client.get("/ledger")["last"].as_u64().expect("a position")
    };
    let mut resting = client.stream("/ledger?since=0");
    let mut news = client.stream("/ledger");
    let first = write(0);
    assert_eq!(first, 721);
    let from_then = client.stream(&format!("/ledger?since={first}"));
    assert_eq!(positions(resting.by_ref().take(10)), (1..=10).collect::<Vec<_>>());
    let second = write(1);
    for (from, stream) in [(10, resting), (first, from_then), (0, client.stream("/ledger?since=0"))] {
        let wanted: Vec<u64> = (from + 1..=second).collect();
        assert_eq!(positions(stream.take(wanted.len())), wanted);
    }
    // One that names no position hears what came since it was opened.
    let heard = positions(news.by_ref().take(second as usize));
    assert_eq!(
        heard,
        (1..=second).collect::<Vec<_>>(),
        "nothing was there when it was opened"
    );
    let late = client.clone().header("Last-Event-ID", &(second - 1).to_string());
    assert_eq!(
        positions(late.stream("/ledger?since=0").take(1)),
        [second],
        "where it was goes before where it began"
    );
}

#[test]
fn a_stream_ends_when_the_time_of_its_token_is_over_and_others_go_on() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann", "--expires-in", "1h"]);
    let bob = token(&place, &["--owner", "bob"]);
    let web = Web::of(&place, &["--rate-limit", "0"]);
    web.with(&ann).hand_off("hers");
    let mut hers = web.with(&ann).stream("/ledger?since=0");
    let mut his = web.with(&bob).stream("/ledger?since=0");
    for events in [&mut hers, &mut his] {
        assert_eq!(events.next().expect("an entry").id, "1");
    }
    // An hour passes.
    let passed = "UPDATE token SET expires_at = '2020-01-01T00:00:00.000Z' WHERE id = ?1";
    place.sql().execute(passed, [id_of(&ann)]).expect("it has one");
    assert!(hers.count() <= 1, "what was on its way, and then the end");
    web.with(&ann).ask("GET", "/handoffs", None).refused(401);
    web.with(&bob).hand_off("after it");
    assert!(his.any(|event| event.data["kind"] == "handed_off" && event.id == "3"));
}

#[test]
fn streams_and_quiet_connections_end_when_the_server_is_asked_to_end() {
    let place = Place::new();
    let web = Web::started(place.start().env("RUST_LOG", "warn"), &[]);
    let client = agent(&web, "reader");
    client.posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    let mut streams: Vec<_> = (0..20).map(|_| client.stream("/ledger?since=0")).collect();
    for stream in &mut streams {
        assert_eq!(positions(stream.take(2)), [1, 2]);
    }
    // A session of the tools, with the stream on which its server could speak first.
    let tools = client.clone().header("Accept", "application/json, text/event-stream");
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "it", "version": "1"}}});
    let session = tools
        .post("//mcp", &begin)
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let speaks = client.clone().header("Mcp-Session-Id", &session).stream("//mcp");
    // A connection on which nothing has come yet.
    let quiet = TcpStream::connect(web.url.trim_start_matches("http://")).expect("it listens");
    assert_eq!(client.get("//health")["status"], "ok");
    let (code, stderr) = web.stop();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(!stderr.contains("under way"), "nothing had to be waited for: {stderr}");
    assert!(streams.iter_mut().all(|stream| stream.next().is_none()));
    assert!(speaks.count() <= 1, "at most the one with which it began");
    drop(quiet);
    place.verify_clean();
}
