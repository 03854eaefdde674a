//! Starting up: `initialize` and `tools/list` are answered whatever the database's state.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::{LEGACY, Place, Server};

/// A server on `db` that answered both within a second: clients give a server ten, and no database is looked at.
fn at_once(place: &Place, db: &str) -> Server {
    let started = Instant::now();
    let mut server = place.start().env("MEMORY_DB", db).agent("a").spawn();
    server.initialize(LEGACY);
    server.result("tools/list", json!({}));
    assert!(
        started.elapsed() < Duration::from_secs(1),
        "{db}: {:?}",
        started.elapsed()
    );
    server
}

#[test]
fn p10_starting_does_not_wait_for_the_database() {
    let place = Place::new();
    place.agent("a").remember("app", "key", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    at_once(&place, place.db().to_str().expect("a path"));
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
    let text = place.path().join("text.db");
    std::fs::write(&text, "no database").expect("a file");
    at_once(&place, text.to_str().expect("a path"));
}

#[test]
fn p10_s08_a_place_that_takes_no_file_is_said_by_the_tools_and_ends_nothing() {
    let place = Place::new();
    // Nobody can make a file there, whoever runs the test.
    let mut server = at_once(&place, "/proc/no/such/place/memory.db");
    let refusal = server
        .attempt("remember", json!({"scope": "a", "key": "k", "value": 1}))
        .expect_err("no file in /proc");
    assert!(refusal.text().contains("/proc/no/such/place/memory.db"), "{refusal:?}");
    server.result("ping", json!({}));
}
