//! A server that is killed or asked to end while many clients work: what was answered is there, what was not answered is
//! there whole or not at all.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU16, AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::harness::{Place, is_long};
use crate::kills::Dice;
use crate::web::{Answer, Client, Web, eventually};

/// How many clients work at once.
const CLIENTS: usize = 8;

/// What an answer promised.
#[derive(Debug, Clone)]
enum Promise {
    /// This version of a key with this hash.
    Version(String, u64, String),
    /// A packet that has come this far at least.
    Packet(String, &'static str),
    /// A run that was counted once.
    Outcome(String),
}

/// The states of a packet in their order.
const STATES: [&str; 3] = ["open", "accepted", "closed"];

/// A port that the system gives to nobody by itself: a server that is started again finds it free.
fn port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 20_000 + (std::process::id() % 500) as u16 * 20;
    loop {
        let port = base + NEXT.fetch_add(1, Ordering::Relaxed) % 20;
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Works until there is no answer any more; gives what was promised.
fn work(client: &Client, name: &str, answered: &AtomicUsize) -> Vec<Promise> {
    let mut promised = Vec::new();
    for n in 0.. {
        if turn(client, name, n, answered, &mut promised).is_none() {
            return promised;
        }
    }
    promised
}

/// One record and one packet from its writing to its end; none when an answer did not come.
fn turn(client: &Client, name: &str, n: usize, answered: &AtomicUsize, promised: &mut Vec<Promise>) -> Option<()> {
    let ask = |path: &str, body: Value| -> Option<Value> {
        let answer: Answer = client.try_ask("POST", path, Some(&body.to_string())).ok()?;
        assert!([200, 201].contains(&answer.status), "{path} {body}: {answer:?}");
        answered.fetch_add(1, Ordering::SeqCst);
        Some(answer.json())
    };
    let run = format!("{name}/{n}");
    // Everyone writes the same keys, so that versions are contended for.
    let key = format!("k{}", n % 3);
    let record = ask(
        "/records",
        json!({"scope": "s", "key": key, "value": run, "tags": [name]}),
    )?["record"]
        .clone();
    let hash = record["hash"].as_str().expect("a hash").to_owned();
    promised.push(Promise::Version(
        key.clone(),
        record["version"].as_u64().expect("a version"),
        hash,
    ));
    let refs = json!([{"scope": "s", "key": key, "version": record["version"]}]);
    let packet = json!({"title": run, "summary": "s", "next_steps": ["x"], "refs": refs});
    let id = ask("/handoffs", packet)?["packet"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    promised.push(Promise::Packet(id.clone(), STATES[0]));
    ask(&format!("/handoffs/{id}/accept"), json!({}))?;
    promised.push(Promise::Packet(id.clone(), STATES[1]));
    ask(
        &format!("/handoffs/{id}/close"),
        json!({"outcome": "success", "outcome_ref": run}),
    )?;
    promised.extend([Promise::Packet(id, STATES[2]), Promise::Outcome(run)]);
    Some(())
}

/// Asserts that all that was promised is in the file.
#[track_caller]
fn kept(place: &Place, promised: &[Promise]) {
    place.verify_clean();
    let sql = place.sql();
    let text = |query: &str, params: &[&dyn rusqlite::ToSql]| -> Option<String> {
        sql.query_row(query, params, |row| row.get(0)).ok()
    };
    for promise in promised {
        match promise {
            Promise::Version(key, version, hash) => {
                let query = "SELECT hash FROM version WHERE scope = 's' AND key = ?1 AND version = ?2";
                let found = text(query, &[key, &i64::try_from(*version).expect("a version")]);
                assert_eq!(found.as_ref(), Some(hash), "{promise:?}");
            }
            Promise::Packet(id, state) => {
                let found = text("SELECT state FROM handoff WHERE id = ?1", &[id]).unwrap_or_default();
                let place = |state: &str| STATES.iter().position(|known| *known == state);
                assert!(place(&found) >= place(state), "{promise:?}: {found}");
            }
            Promise::Outcome(run) => {
                let query = "SELECT CAST(count(*) AS TEXT) FROM outcome WHERE outcome_ref = ?1";
                assert_eq!(text(query, &[run]).as_deref(), Some("1"), "{promise:?}");
            }
        }
    }
}

#[test]
fn s04_every_answered_version_claim_and_report_survives_sigkill_and_the_port_is_free_at_once() {
    let rounds = if is_long() { 200 } else { 6 };
    let mut place = Place::new();
    let mut dice = Dice(20_261_201);
    let listen = format!("127.0.0.1:{}", port());
    let (mut all, mut sum) = (Vec::new(), 0);
    for round in 0..rounds {
        // Each file lives through 25 kills.
        if round > 0 && round % 25 == 0 {
            counted_once(&place);
            place = Place::new();
            all.clear();
        }
        // Started anew where the one before was killed with its clients connected.
        let web = Web::of(&place, &["--listen", &listen]);
        let reader = web.anyone().stream("/ledger");
        let answered = AtomicUsize::new(0);
        let enough = 50 + dice.below(150) as usize;
        let promised = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|n| {
                    let name = format!("{round}-{n}");
                    let client = web.anyone().header("X-Agent-Id", &format!("agent-{n}")).session(&name);
                    let answered = &answered;
                    scope.spawn(move || work(&client, &name, answered))
                })
                .collect();
            eventually("there is load", || answered.load(Ordering::SeqCst) > enough);
            web.kill();
            let done: Vec<Vec<Promise>> = clients
                .into_iter()
                .map(|client| client.join().expect("a client"))
                .collect();
            done.concat()
        });
        assert!(promised.len() >= enough, "round {round}");
        sum += promised.len();
        all.extend(promised);
        kept(&place, &all);
        drop(reader);
    }
    counted_once(&place);
    println!("{rounds} kills of a server under load: {sum} answers");
}

/// Asserts that each success was counted as often as its row is there, answered or not.
#[track_caller]
fn counted_once(place: &Place) {
    let (rows, counted) = ("SELECT count(*) FROM outcome", "SELECT sum(successes) FROM opinion");
    assert_eq!(place.count(rows), place.count(counted));
}

#[test]
fn a_server_that_is_asked_to_end_answers_all_that_it_does_and_does_nothing_else() {
    let rounds = if is_long() { 30 } else { 3 };
    for round in 0..rounds {
        let place = Place::new();
        let web = Web::of(&place, &[]);
        let answered = AtomicUsize::new(0);
        let written = Mutex::new(Vec::new());
        let code = std::thread::scope(|scope| {
            for n in 0..CLIENTS {
                let (url, answered, written) = (web.url.clone(), &answered, &written);
                scope.spawn(move || {
                    let mut client = Client::at(&url);
                    for k in 0.. {
                        // Half of them come over a new connection each time.
                        if n % 2 == 0 {
                            client = Client::at(&url);
                        }
                        let name = format!("{n}/{k}");
                        let body = json!({"scope": "s", "key": name, "value": k}).to_string();
                        let Ok(answer) = client.try_ask("POST", "/records", Some(&body)) else {
                            return;
                        };
                        assert_eq!(answer.status, 201, "{answer:?}");
                        written.lock().expect("a list").push(name);
                        answered.fetch_add(1, Ordering::SeqCst);
                    }
                });
            }
            eventually("there is load", || answered.load(Ordering::SeqCst) > 100 + 40 * round);
            web.stop()
        });
        assert_eq!((code.0, code.1.as_str()), (Some(0), ""));
        place.verify_clean();
        let sql = place.sql();
        let mut statement = sql.prepare("SELECT key FROM version").expect("a query");
        let keys = statement.query_map([], |row| row.get(0)).expect("rows");
        let mut there: Vec<String> = keys.collect::<Result<_, _>>().expect("keys");
        let mut told = written.into_inner().expect("a list");
        there.sort();
        told.sort();
        assert_eq!(there, told, "round {round}");
    }
}
