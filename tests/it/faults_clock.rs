//! A clock that is set forward and back while processes run: nothing is lost, order stays, and what ended wrongly can be
//! brought back. The clock is the real one's, seen through libfaketime.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::concurrency::at_once;
use crate::handoffs::id;
use crate::harness::{Place, Server, Start, assert_warned, is_long};
use crate::kills::Dice;
use crate::web::{Web, token};

/// A clock that one test sets, for as many processes as wear it.
struct Clock {
    file: PathBuf,
}

impl Clock {
    fn of(place: &Place, name: &str) -> Self {
        let clock = Self {
            file: place.path().join(format!("{name}.clock")),
        };
        clock.set("+0");
        clock
    }

    /// From now on it goes this far from the real one: `+2d`, `-1y`, `+0`.
    fn set(&self, to: &str) {
        // At once: a process that looked at half a file would end.
        let new = self.file.with_extension("new");
        std::fs::write(&new, format!("{to}\n")).expect("a clock");
        std::fs::rename(new, &self.file).expect("a clock");
    }

    /// The same process, seeing this clock. Timers go on as they do.
    fn worn(&self, start: Start) -> Start {
        start
            .env("LD_PRELOAD", library())
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("NO_FAKE_STAT", "1")
    }

    fn agent(&self, place: &Place, name: &str) -> Server {
        self.worn(place.start()).agent(name).serve()
    }
}

/// Where libfaketime is.
fn library() -> PathBuf {
    let folders = std::fs::read_dir("/usr/lib").expect("/usr/lib").flatten();
    let found = folders
        .map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"))
        .find(|file| file.is_file());
    found.expect("libfaketime is not installed, and these tests set the clock with it: apt-get install libfaketime")
}

/// Where clocks are set to: a little, months, a lifetime, before everything, and past what can be written down.
const JUMPS: [&str; 8] = ["+0", "-1h", "+1h", "-300d", "+30d", "+73y", "-56y", "+8500y"];

/// Asserts that the ledger's times never go back, and that the file is intact.
#[track_caller]
fn in_order(place: &Place) {
    let back = "SELECT count(*) FROM ledger a JOIN ledger b ON b.project_id = a.project_id AND b.seq = a.seq + 1
                WHERE b.at < a.at";
    assert_eq!(place.count(back), 0);
    place.verify_clean();
}

#[test]
#[ignore = "needs libfaketime"]
fn versions_keep_their_order_while_the_clocks_of_their_writers_jump() {
    let place = Place::new();
    let rounds = if is_long() { 300 } else { 12 };
    let promised: Vec<(i64, String)> = at_once(4, |n| {
        let clock = Clock::of(&place, &format!("c{n}"));
        let mut server = clock.agent(&place, &format!("agent-{n}"));
        let mut dice = Dice(n as u64 + 1);
        let mut promised = Vec::new();
        for round in 0..rounds {
            clock.set(JUMPS[dice.below(JUMPS.len() as u64) as usize]);
            let record = server.remember("s", "one", json!([n, round]));
            promised.push((
                record["version"].as_i64().expect("a version"),
                record["hash"].as_str().expect("a hash").to_owned(),
            ));
            let title = format!("{n}/{round}");
            server.hand_off(&title, json!({"next_steps": ["x"], "expires_in": "1h"}));
            clock.set(JUMPS[dice.below(JUMPS.len() as u64) as usize]);
            let taken = server.call("resume", json!({}));
            if let Some(id) = taken["packet"]["id"].as_str() {
                let report = json!({"outcome": "success", "outcome_ref": title, "handoff_id": id});
                // Another one, whose clock is ahead, may have taken it over meanwhile.
                if let Err(refusal) = server.attempt("record_outcome", report) {
                    assert!(
                        ["conflict", "not_allowed"].contains(&refusal.code.as_str()),
                        "{refusal:?}"
                    );
                }
            }
        }
        assert!(!server.stderr().contains("panicked"), "{}", server.stderr());
        server.finish();
        promised
    })
    .concat();
    let mut versions: Vec<i64> = promised.iter().map(|(version, _)| *version).collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=4 * rounds).collect::<Vec<_>>());
    let sql = place.sql();
    for (version, hash) in promised {
        let query = "SELECT count(*) FROM version WHERE key = 'one' AND version = ?1 AND hash = ?2";
        let found: i64 = sql
            .query_row(query, rusqlite::params![version, hash], |row| row.get(0))
            .expect("a count");
        assert_eq!(found, 1, "version {version}");
    }
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 4 * rounds);
    in_order(&place);
}

#[test]
#[ignore = "needs libfaketime"]
fn an_entry_from_the_future_ends_no_packet_before_its_time() {
    let place = Place::new();
    let clock = Clock::of(&place, "astray");
    let mut scout = place.agent("scout");
    let packets = ["taken", "released", "cancelled", "superseded"]
        .map(|title| id(&scout.hand_off(title, json!({"next_steps": ["x"], "expires_in": "7d"}))));
    let mut codex = place.agent("codex");
    assert_eq!(
        codex.call("resume", json!({"handoff_id": packets[1]}))["packet"]["title"],
        "released"
    );
    let mut astray = clock.agent(&place, "astray");
    clock.set("+73y");
    let ahead = astray.remember("s", "k", json!(1));
    assert!(ahead["at"].as_str().is_some_and(|at| at > "2098"), "{ahead}");
    // Everybody else's clock is right, and by it nothing is over.
    assert_eq!(
        codex.call("resume", json!({"handoff_id": packets[0]}))["packet"]["title"],
        "taken"
    );
    let back = json!({"outcome": "released", "outcome_ref": "back", "handoff_id": packets[1]});
    let released = codex.call("record_outcome", back);
    assert_eq!(released["packet"]["state"], "open", "{released}");
    scout.hand_off("its successor", json!({"next_steps": ["x"], "supersedes": packets[3]}));
    let ran = place
        .start()
        .agent("scout")
        .args(&["handoffs", "cancel", &packets[2]])
        .run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ends = |packet: &str| -> Option<String> {
        let query = "SELECT ended_as FROM handoff WHERE id = ?1";
        place
            .sql()
            .query_row(query, [packet], |row| row.get(0))
            .expect("a packet")
    };
    assert_eq!(
        packets.map(|packet| ends(&packet)),
        [None, None, Some("cancelled".to_owned()), Some("superseded".to_owned())]
    );
    in_order(&place);
}

#[test]
#[ignore = "needs libfaketime"]
fn a_packet_that_a_wrong_clock_ended_is_opened_again_and_one_that_it_wrote_is_taken() {
    let place = Place::new();
    let clock = Clock::of(&place, "astray");
    let packet = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    clock.set("+73y");
    let mut astray = clock.agent(&place, "astray");
    assert!(
        astray.call("resume", json!({})).get("packet").is_none(),
        "by its clock it is over"
    );
    let late = id(&astray.hand_off("from the future", json!({"next_steps": ["x"], "expires_in": "1h"})));
    let mut codex = place.agent("codex");
    let refusal = codex.refuse("resume", json!({"handoff_id": packet}), "conflict");
    assert!(refusal.text().contains("reopen"), "{refusal:?}");
    let ran = place.run(&["handoffs", "reopen", &packet]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for (wanted, title) in [(&packet, "waits"), (&late, "from the future")] {
        let taken = codex.call("resume", json!({"handoff_id": wanted}));
        assert_eq!(taken["packet"]["title"], title, "{taken}");
        let report = json!({"outcome": "success", "outcome_ref": title, "handoff_id": wanted});
        assert_eq!(codex.call("record_outcome", report)["packet"]["state"], "closed");
    }
    in_order(&place);
}

#[test]
#[ignore = "needs libfaketime"]
fn a_claim_lapses_by_the_clock_of_who_asks_and_comes_back_by_hand() {
    let place = Place::new();
    let clock = Clock::of(&place, "claude");
    let mut scout = place.agent("scout");
    let mut codex = place.agent("codex");
    let mut claude = clock.agent(&place, "claude");
    let first = id(&scout.hand_off("first", json!({"next_steps": ["x"]})));
    codex.call("resume", json!({"handoff_id": first}));
    for early in ["-30d", "+0", "+7h"] {
        clock.set(early);
        assert!(claude.call("resume", json!({})).get("packet").is_none(), "{early}");
    }
    clock.set("+9h");
    let taken = claude.call("resume", json!({}));
    assert_eq!(
        (&taken["packet"]["id"], &taken["took_over_from"]),
        (&json!(first), &json!("codex"))
    );
    // The one who lost it is told, and gets it back from the one whose clock was wrong.
    let report = |run: &str| json!({"outcome": "success", "outcome_ref": run, "handoff_id": first});
    assert_warned(&codex.call("record_outcome", report("late")), &["taken over by claude"]);
    clock.set("+0");
    claude.call(
        "record_outcome",
        json!({"outcome": "released", "outcome_ref": "sorry", "handoff_id": first}),
    );
    codex.call("resume", json!({"handoff_id": first}));
    assert_eq!(
        codex.call("record_outcome", report("in time"))["packet"]["state"],
        "closed"
    );

    // A claim from the future lapses for nobody, and is given back by hand.
    let second = id(&scout.hand_off("second", json!({"next_steps": ["x"]})));
    clock.set("+10d");
    claude.call("resume", json!({"handoff_id": second}));
    assert!(codex.call("resume", json!({})).get("packet").is_none());
    let ran = place.run(&["handoffs", "release", &second, "--force"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(codex.call("resume", json!({}))["packet"]["id"], json!(second));
    in_order(&place);
}

#[test]
#[ignore = "needs libfaketime"]
fn the_ledger_is_read_from_an_instant_in_its_own_order() {
    let place = Place::new();
    let clock = Clock::of(&place, "astray");
    let mut astray = clock.agent(&place, "astray");
    for (n, at) in ["+0", "+73y", "-300d", "+0"].iter().enumerate() {
        clock.set(at);
        astray.remember("s", &format!("k{n}"), json!(n));
    }
    let since = |instant: &str| -> Vec<Value> {
        let ran = place.run(&["log", "--since", instant, "--json"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let lines = ran.stdout.lines();
        lines
            .map(|line| serde_json::from_str::<Value>(line).expect("a line")["seq"].clone())
            .collect()
    };
    assert_eq!(since("2001-01-01"), [1, 2, 3, 4, 5].map(|seq| json!(seq)));
    assert_eq!(since("2090-01-01"), [3, 4, 5].map(|seq| json!(seq)));
    assert!(since("2900-01-01").is_empty());
    in_order(&place);
}

#[test]
#[ignore = "needs libfaketime"]
fn a_token_is_good_by_the_servers_clock_and_again_when_that_is_set_right() {
    let place = Place::new();
    let clock = Clock::of(&place, "server");
    let short = token(&place, &["--owner", "ann", "--expires-in", "1d"]);
    let long = token(&place, &["--owner", "ann"]);
    let web = Web::started(clock.worn(place.start().env("RUST_LOG", "off")), &[]);
    let write = |token: &str, n: u32| {
        let body = json!({"scope": "s", "key": "k", "value": n});
        web.with(token).post("/records", &body).status
    };
    assert_eq!((write(&short, 1), write(&long, 2)), (201, 201));
    clock.set("+2d");
    assert_eq!((write(&short, 3), write(&long, 4)), (401, 201));
    clock.set("-300d");
    assert_eq!((write(&short, 5), write(&long, 6)), (201, 201));
    clock.set("+0");
    assert_eq!((write(&short, 7), write(&long, 8)), (201, 201));
    assert_eq!(web.stop().0, Some(0));
    assert_eq!(place.count("SELECT max(version) FROM version"), 7);
    in_order(&place);
}
