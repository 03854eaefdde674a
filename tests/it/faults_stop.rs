//! A process that is stopped in the middle of what it does, as by a debugger or a laptop's lid: the others wait or are told,
//! nothing is lost, and it goes on or is ended.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::faults::{Call, Fault, Harm, Trace};
use crate::handoffs::id;
use crate::harness::{Place, Server, answer_of, is_long};
use crate::storage::text;
use crate::web::{Web, eventually};

/// A server that stopped in what it was asked for last.
struct Stuck {
    server: Server,
    request: u64,
}

impl Stuck {
    /// Starts a server and lets it `work` until it stops at the `nth` call of this name. Others must have the file open, so
    /// that it writes nothing else before.
    fn at(place: &Place, call: &str, nth: usize, work: impl FnOnce(&mut Server) -> u64) -> Self {
        let fault = Fault {
            call: Call::named(call),
            harm: Harm::Stop,
            nth,
        };
        let trace = Trace::with(place, fault);
        let mut server = trace.wrap(place.start().agent("stuck")).serve();
        let request = work(&mut server);
        eventually("it stops", || {
            trace
                .written()
                .iter()
                .any(|line| line.contains("--- stopped by SIGSTOP ---"))
        });
        Self { server, request }
    }

    /// Lets it go on, and gives what it answers to what it was asked.
    #[track_caller]
    fn go_on(&mut self) -> Value {
        self.server.signal(Signal::CONT);
        let reply = self.server.reply(self.request);
        answer_of(&reply).unwrap_or_else(|refusal| panic!("it was stopped, and is refused: {refusal:?}"))
    }
}

fn remember(server: &mut Server, value: &str) -> u64 {
    server.send_call("remember", json!({"scope": "s", "key": "k", "value": value}))
}

/// The versions of the one record, each with its value.
fn versions(place: &Place) -> Vec<(i64, String)> {
    let sql = place.sql();
    let mut statement = sql
        .prepare("SELECT v.version, c.body FROM version v JOIN content c ON c.id = v.content_id WHERE v.key = 'k' ORDER BY 1")
        .expect("a query");
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.expect("rows").collect::<Result<_, _>>().expect("versions")
}

fn expected(values: &[&str]) -> Vec<(i64, String)> {
    (1..).zip(values.iter().map(|value| format!("\"{value}\""))).collect()
}

/// At which writes and flushes of one transaction a writer is stopped: all of them in the long form.
fn moments() -> Vec<(&'static str, usize)> {
    let place = Place::new();
    let mut other = place.agent("other");
    other.remember("s", "k", json!("first"));
    let trace = Trace::counting_all(&place);
    let mut server = trace.wrap(place.start().agent("stuck")).serve();
    server.remember("s", "k", json!("second"));
    server.kill();
    let all: Vec<(&str, usize)> = trace
        .numbers()
        .into_iter()
        .filter(|(name, _)| ["pwrite64", "fsync", "fdatasync"].contains(name))
        .collect();
    assert!(all.len() > 10, "{all:?}");
    if is_long() {
        return all;
    }
    [all[0], all[all.len() / 2], all[all.len() - 1]].into()
}

#[test]
#[ignore = "needs strace"]
fn a_writer_that_is_stopped_in_a_transaction_makes_the_others_wait_and_loses_nothing() {
    for (call, nth) in moments() {
        let place = Place::new();
        let mut other = place.agent("other");
        other.remember("s", "k", json!("first"));
        let mut stuck = Stuck::at(&place, call, nth, |server| remember(server, "stuck"));
        let waits = remember(&mut other, "other");
        // Who only reads is answered, and sees nothing of what is not committed.
        assert_eq!(place.agent("reader").read("s", "k")["value"], "first", "{call} {nth}");
        let mine = stuck.go_on();
        let theirs = other.answer(waits);
        assert_eq!(
            (&mine["record"]["version"], &theirs["record"]["version"]),
            (&json!(2), &json!(3))
        );
        assert_eq!(versions(&place), expected(&["first", "stuck", "other"]), "{call} {nth}");
        stuck.server.finish();
        place.verify_clean();
    }
}

#[test]
#[ignore = "needs strace"]
fn a_stopped_writer_that_is_killed_leaves_the_store_to_the_others_at_once() {
    for (call, nth) in moments() {
        let place = Place::new();
        let mut other = place.agent("other");
        other.remember("s", "k", json!("first"));
        let mut stuck = Stuck::at(&place, call, nth, |server| remember(server, "stuck"));
        let waits = remember(&mut other, "other");
        stuck.server.kill();
        other.answer(waits);
        // What was never answered is there whole, or not at all.
        let (with, without) = (expected(&["first", "stuck", "other"]), expected(&["first", "other"]));
        let found = versions(&place);
        assert!(found == with || found == without, "{call} {nth}: {found:?}");
        place.verify_clean();
    }
}

#[test]
#[ignore = "needs strace"]
fn while_a_writer_is_stopped_every_face_says_busy_and_nothing_of_it_is_kept() {
    let place = Place::new();
    let mut other = place.agent("other");
    other.remember("s", "k", json!("first"));
    let web = Web::of(&place, &[]);
    let mut stuck = Stuck::at(&place, "pwrite64", 2, |server| remember(server, "stuck"));
    let body = json!({"scope": "s", "key": "k", "value": "over HTTP"});
    let (over_lines, over_http, at_a_shell) = std::thread::scope(|scope| {
        let lines = scope.spawn(|| {
            let request = remember(&mut other, "over lines");
            answer_of(&other.reply(request)).expect_err("the lock is held")
        });
        let http = scope.spawn(|| web.anyone().post("/records", &body).refused(503));
        let shell = scope.spawn(|| {
            let args = ["remember", "--scope", "s", "--key", "k", "--text", "at a shell"];
            place.start().agent("shell").env("RUST_LOG", "off").args(&args).run()
        });
        let joined = (lines.join(), http.join(), shell.join());
        (
            joined.0.expect("lines"),
            joined.1.expect("http"),
            joined.2.expect("shell"),
        )
    });
    for refusal in [&over_lines, &over_http] {
        assert_eq!(refusal.code, "busy", "{refusal:?}");
        assert!(
            refusal.message.contains("10 s") && refusal.message.contains("nothing was written"),
            "{refusal:?}"
        );
        assert!(refusal.hint.contains("call again"), "{refusal:?}");
    }
    assert_eq!(
        (at_a_shell.code, at_a_shell.stdout.as_str()),
        (Some(2), ""),
        "{at_a_shell:?}"
    );
    assert!(
        at_a_shell.stderr.contains("locked by another process"),
        "{at_a_shell:?}"
    );
    // Reads went on for all of them, and so do writes afterwards.
    assert_eq!(other.read("s", "k")["value"], "first");
    assert_eq!(stuck.go_on()["record"]["version"], 2);
    let sent = remember(&mut other, "later");
    assert_eq!(other.answer(sent)["record"]["version"], 3);
    assert_eq!(versions(&place), expected(&["first", "stuck", "later"]));
    place.verify_clean();
}

#[test]
#[ignore = "needs strace"]
fn a_claim_that_is_stopped_on_its_way_has_one_winner() {
    for lives in [true, false] {
        let place = Place::new();
        let packet = id(&place
            .agent("scout")
            .hand_off("one for all", json!({"next_steps": ["x"]})));
        let mut other = place.agent("other");
        other.remember("s", "k", json!(1));
        let claim = json!({"handoff_id": packet});
        let mut stuck = Stuck::at(&place, "pwrite64", 3, |server| {
            server.send_call("resume", claim.clone())
        });
        let wish = other.send_call("resume", json!({}));
        if lives {
            assert_eq!(stuck.go_on()["packet"]["id"], json!(packet));
            assert!(other.answer(wish).get("packet").is_none(), "it is taken");
        } else {
            stuck.server.kill();
            assert_eq!(other.answer(wish)["packet"]["id"], json!(packet));
        }
        assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"), 1);
        place.verify_clean();
    }
}

#[test]
#[ignore = "needs strace"]
fn a_server_that_is_stopped_while_it_empties_the_log_loses_nothing() {
    for lives in [true, false] {
        let place = Place::new();
        let mut other = place.agent("other");
        let mut seed = place.agent("seed");
        seed.remember("s", "other", json!(0));
        other.read("s", "other");
        seed.finish();
        let mut stuck = Stuck::at(&place, "ftruncate", 1, |server| {
            let request = remember(server, "first");
            server.answer(request);
            // It rests now, and cuts the log by itself.
            server.send_call("memory_stats", json!({}))
        });
        let waits = remember(&mut other, "second");
        if lives {
            stuck.go_on();
        } else {
            stuck.server.kill();
        }
        assert_eq!(other.answer(waits)["record"]["version"], 2);
        assert_eq!(versions(&place), expected(&["first", "second"]));
        place.verify_clean();
    }
}

#[test]
#[ignore = "needs strace"]
fn a_reader_that_is_stopped_holds_nobody_up() {
    let place = Place::new();
    let mut other = place.agent("other");
    for n in 0..50 {
        other.remember("s", &format!("old{n}"), json!("x".repeat(2_000)));
    }
    let mut stuck = Stuck::at(&place, "pread64", 12, |server| {
        server.send_call("recall", json!({"scope": "s", "limit": 50}))
    });
    for n in 0..50 {
        other.remember("s", &format!("old{n}"), json!({"n": n, "text": "y".repeat(2_000)}));
    }
    let seen = stuck.go_on();
    assert_eq!(seen["total"], 50);
    let values = seen["records"].as_array().expect("records");
    assert!(
        values.iter().all(|record| record["version"] == 1),
        "one moment, not two: {seen}"
    );
    stuck.server.finish();
    place.verify_clean();
}

#[test]
#[ignore = "needs strace"]
fn a_server_can_be_asked_to_end_as_soon_as_it_says_that_it_serves() {
    for _ in 0..10 {
        let place = Place::new();
        assert_eq!(Web::of(&place, &[]).stop(), (Some(0), String::new()));
        assert!(!place.db().exists(), "{} was made", text(&place.db()));
    }
}
