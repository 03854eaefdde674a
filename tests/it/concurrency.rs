//! Several processes on one file, and several calls at once on one connection.

use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::handoffs::{id, resume};
use crate::harness::{Place, Server, answer_of, assert_warned};

/// Runs `work` in one thread for each number below `count`, and gives what each returned, in order.
pub fn at_once<T: Send>(count: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> = (0..count).map(|n| scope.spawn(move || work(n))).collect();
        threads
            .into_iter()
            .map(|t| t.join().expect("the thread ends"))
            .collect()
    })
}

/// Sends all calls without waiting, then takes all answers, which must be successes.
fn pipelined(server: &mut Server, tool: &str, calls: impl IntoIterator<Item = Value>) -> Vec<Value> {
    let ids: Vec<u64> = calls.into_iter().map(|call| server.send_call(tool, call)).collect();
    ids.into_iter().map(|id| server.answer(id)).collect()
}

#[test]
fn twelve_first_starts_at_once_on_a_missing_file_all_work() {
    for _ in 0..5 {
        let place = Place::new();
        at_once(12, |n| {
            let mut server = place.agent(&format!("agent-{n}"));
            server.remember("start", &format!("k{n}"), json!(n));
        });
        assert_eq!(place.count("SELECT count(*) FROM version"), 12);
        assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'created'"), 1);
        place.verify_clean();
    }
}

#[test]
fn c01_four_processes_with_500_writes_each_lose_and_refuse_nothing() {
    let place = Place::new();
    at_once(4, |n| {
        let mut server = place.agent(&format!("writer-{n}"));
        for batch in 0..10 {
            let calls = (0..50).map(|i| {
                let number = batch * 50 + i;
                json!({"scope": format!("w{n}"), "key": format!("k{number}"), "value": {"n": n, "i": number}})
            });
            for answer in pipelined(&mut server, "remember", calls) {
                assert_eq!(answer["record"]["version"], 1, "{answer}");
            }
        }
    });
    assert_eq!(place.count("SELECT count(*) FROM head"), 2_000);
    let mut reader = place.agent("reader");
    let stats = reader.stats();
    assert_eq!((&stats["records"], &stats["versions"]), (&json!(2_000), &json!(2_000)));
    place.verify_clean();
}

#[test]
fn c01_versions_of_one_key_from_eight_processes_are_without_gaps() {
    let place = Place::new();
    let mut versions: Vec<u64> = at_once(8, |n| {
        let mut server = place.agent(&format!("writer-{n}"));
        let calls = (0..25).map(|i| json!({"scope": "one", "key": "key", "value": [n, i]}));
        let answers = pipelined(&mut server, "remember", calls);
        answers
            .iter()
            .map(|a| a["record"]["version"].as_u64().expect("a version"))
            .collect::<Vec<_>>()
    })
    .concat();
    versions.sort_unstable();
    assert_eq!(versions, (1..=200).collect::<Vec<_>>());
    place.verify_clean();
}

#[test]
fn c03_reading_then_writing_in_many_processes_is_never_locked_out() {
    let place = Place::new();
    let until = Instant::now() + Duration::from_secs(4);
    at_once(10, |n| {
        let mut server = place.agent(&format!("agent-{n}"));
        let mut round = 0;
        while Instant::now() < until {
            server.remember("one", "key", json!([n, round]));
            server.call(
                "handoff",
                json!({"title": format!("{n}-{round}"), "summary": "s", "next_steps": ["x"]}),
            );
            resume(&mut server);
            let report = json!({"outcome": "success", "outcome_ref": format!("run-{n}-{round}"),
                                "refs": [{"scope": "one", "key": "key"}]});
            server.call("record_outcome", report);
            round += 1;
        }
        assert!(round > 0);
    });
    place.verify_clean();
}

#[test]
fn twenty_claimants_and_a_hundred_packets_make_a_hundred_claims() {
    let place = Place::new();
    let mut author = place.agent("author");
    let mut claimants: Vec<Server> = (0..4).map(|n| place.agent(&format!("claimant-{n}"))).collect();
    for round in 0..100 {
        let written = author.hand_off(&format!("round {round}"), json!({"next_steps": ["x"], "refs": []}));
        let packet = id(&written);
        // Four processes with five calls each: the calls go out before any answer is waited for.
        let asked: Vec<Vec<u64>> = claimants
            .iter_mut()
            .map(|c| (0..5).map(|_| c.send_call("resume", json!({}))).collect())
            .collect();
        let mut winners = 0;
        for (claimant, ids) in claimants.iter_mut().zip(asked) {
            for call in ids {
                let answer = claimant.answer(call);
                if let Some(taken) = answer["packet"]["id"].as_str() {
                    assert_eq!(taken, packet, "{answer}");
                    winners += usize::from(answer.get("already_yours").is_none());
                }
            }
        }
        assert_eq!(winners, 1, "round {round}");
        // Closing it leaves nothing unfinished that a bare `resume` of the next round would give again.
        let holder: String = place
            .sql()
            .query_row("SELECT accepted_by FROM handoff WHERE id = ?1", [&packet], |row| {
                row.get(0)
            })
            .expect("the packet was accepted");
        let holder = claimants
            .iter_mut()
            .enumerate()
            .find(|(n, _)| format!("claimant-{n}") == holder);
        let report = json!({"outcome": "success", "outcome_ref": format!("run-{round}"), "handoff_id": packet});
        holder.expect("one of the claimants").1.call("record_outcome", report);
    }
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"), 100);
    place.verify_clean();
}

#[test]
fn c04_reads_answer_at_once_while_another_process_holds_the_write_lock() {
    let place = Place::new();
    let mut writer = place.agent("writer");
    writer.remember("app", "key", json!("value"));
    writer.hand_off("waiting", json!({"next_steps": ["x"]}));
    let mut old = place.agent("old-reader");
    old.read("app", "key");
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let mut fresh = place.agent("fresh-reader");
    for reader in [&mut old, &mut fresh] {
        let started = Instant::now();
        reader.read("app", "key");
        assert_eq!(reader.found(json!({"query": "value"})), ["app/key"]);
        reader.call("history", json!({"scope": "app", "key": "key"}));
        let peeked = reader.call("resume", json!({"peek": true}));
        assert_eq!(peeked["waiting"], 1, "{peeked}");
        assert_eq!(reader.stats()["records"], 1);
        // Far below the ten seconds that a write would wait for the lock.
        assert!(
            started.elapsed() < Duration::from_secs(5),
            "reads waited for the write lock"
        );
    }
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
}

#[test]
fn a_write_that_cannot_get_the_lock_is_one_clear_busy_error() {
    let place = Place::new();
    let mut writer = place.agent("writer");
    writer.remember("app", "key", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let started = Instant::now();
    let refusal = writer.refuse("remember", json!({"scope": "app", "key": "key", "value": 2}), "busy");
    assert!(started.elapsed() < Duration::from_secs(20), "the wait is bounded");
    assert!(!refusal.hint.is_empty(), "{refusal:?}");
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
    assert_eq!(writer.remember("app", "key", json!(2))["version"], 2);
}

#[test]
fn c06_thirty_pipelined_calls_are_all_answered_and_none_is_lost() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let mut writes = Vec::new();
    let mut others = Vec::new();
    for n in 0..10 {
        writes.push(server.send_call("remember", json!({"scope": "app", "key": "key", "value": n})));
        others.push(server.send_call("recall", json!({"scope": "app"})));
        others.push(match n % 2 {
            0 => server.send_call(
                "handoff",
                json!({"title": format!("t{n}"), "summary": "s", "next_steps": ["x"]}),
            ),
            _ => server.send_call("memory_stats", json!({})),
        });
    }
    let mut versions: Vec<u64> = writes
        .into_iter()
        .map(|id| server.answer(id)["record"]["version"].as_u64().expect("a version"))
        .collect();
    versions.sort_unstable();
    assert_eq!(versions, (1..=10).collect::<Vec<_>>());
    for id in others {
        server.answer(id);
    }
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 5);
    assert!(server.finish().is_empty(), "an answer that nobody asked for");
    place.verify_clean();
}

#[test]
fn c07_expected_version_stops_a_lost_update_and_tells_what_is_there() {
    let place = Place::new();
    let (mut a, mut b) = (place.agent("a"), place.agent("b"));
    a.remember("app", "key", json!("first"));
    a.read("app", "key");
    b.read("app", "key");
    a.remember("app", "key", json!("second"));
    let late = json!({"scope": "app", "key": "key", "value": "mine", "expected_version": 1});
    let refusal = b.refuse("remember", late, "conflict");
    assert!(
        refusal.text().contains('2') && refusal.text().contains('a'),
        "{refusal:?}"
    );
    assert_eq!(place.count("SELECT count(*) FROM version"), 2);
    let fresh = json!({"scope": "app", "key": "key", "value": "x", "expected_version": 0});
    b.refuse("remember", fresh, "conflict");

    // Without the argument it is done, and said.
    let done = b.call("remember", json!({"scope": "app", "key": "key", "value": "mine"}));
    assert_eq!(done["record"]["version"], 3);
    assert_warned(&done, &["2"]);
    let new = json!({"scope": "app", "key": "new", "value": "x", "expected_version": 0});
    assert_eq!(b.call("remember", new)["record"]["version"], 1);
}

#[test]
fn c09_the_same_value_again_is_unchanged_also_as_a_retry() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let write = json!({"scope": "app", "key": "key", "value": {"b": 1, "a": 2}, "tags": ["x"], "expected_version": 0});
    assert!(server.call("remember", write.clone()).get("unchanged").is_none());
    let again = server.call("remember", write);
    assert_eq!(
        (&again["unchanged"], &again["record"]["version"]),
        (&json!(true), &json!(1))
    );
    // Another text of the same value, other tags or another confidence are a new version.
    for (version, more) in [
        (2, json!({"value": {"a": 2, "b": 1}, "tags": ["x"]})),
        (3, json!({"value": {"a": 2, "b": 1}})),
        (4, json!({"value": {"a": 2, "b": 1}, "confidence": 0.9})),
    ] {
        let mut write = more;
        write["scope"] = json!("app");
        write["key"] = json!("key");
        assert_eq!(server.call("remember", write)["record"]["version"], version);
    }
    // Another author's same value is a version of its own.
    let mut other = place.agent("other");
    let theirs = other.call(
        "remember",
        json!({"scope": "app", "key": "key", "value": {"a": 2, "b": 1}}),
    );
    assert_eq!(theirs["record"]["version"], 5, "{theirs}");
    place.verify_clean();
}

#[test]
fn c09_the_same_value_from_many_calls_at_once_is_one_version() {
    let place = Place::new();
    at_once(4, |_| {
        let mut server = place.agent("scout");
        let calls = (0..5).map(|_| json!({"scope": "app", "key": "key", "value": "same"}));
        for answer in pipelined(&mut server, "remember", calls) {
            assert_eq!(answer["record"]["version"], 1, "{answer}");
        }
    });
    assert_eq!(place.count("SELECT count(*) FROM version"), 1);
}

#[test]
fn c10_writers_go_on_while_verify_runs_and_it_raises_no_false_fault() {
    let place = Place::new();
    let mut filler = place.agent("filler");
    for batch in 0..20 {
        let calls = (0..200).map(|i| json!({"scope": format!("s{batch}"), "key": format!("k{i}"), "value": i}));
        pipelined(&mut filler, "remember", calls);
    }
    let mut prover = place.agent("prover");
    let running = prover.send_call("memory_stats", json!({"verify": true}));
    let mut writer = place.agent("writer");
    let mut longest = Duration::ZERO;
    for n in 0..100 {
        let started = Instant::now();
        writer.remember("live", "key", json!(n));
        longest = longest.max(started.elapsed());
    }
    let proof = prover.answer(running);
    assert_eq!(proof["verify"]["ok"], true, "{proof}");
    // 200 ms is what is promised; a loaded machine gets some room on top.
    assert!(
        longest < Duration::from_secs(2),
        "a write waited {longest:?} for verify"
    );
    place.verify_clean();
}

#[test]
fn c12_what_another_process_wrote_is_seen_at_once_and_never_written_back() {
    let place = Place::new();
    let (mut a, mut b) = (place.agent("a"), place.agent("b"));
    a.remember("app", "key", json!("one"));
    assert_eq!(a.read("app", "key")["value"], "one");
    b.read("app", "key");
    for n in 2..20 {
        let writer = if n % 2 == 0 { &mut b } else { &mut a };
        writer.remember("app", "key", json!(format!("v{n}")));
        for reader in [&mut a, &mut b] {
            let read = reader.read("app", "key");
            assert_eq!((&read["version"], &read["value"]), (&json!(n), &json!(format!("v{n}"))));
            assert_eq!(reader.found(json!({"query": format!("v{n}")})), ["app/key"]);
        }
    }
}

#[test]
fn a_second_call_is_answered_while_a_long_one_runs() {
    let place = Place::new();
    let mut server = place.agent("scout");
    server.remember("app", "key", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let write = server.send_call("remember", json!({"scope": "app", "key": "key", "value": 2}));
    // The write waits for the lock; a ping and a read do not wait for the write.
    server.result("ping", json!({}));
    server.read("app", "key");
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
    let written = answer_of(&server.reply(write)).expect("the write gets the lock");
    assert_eq!(written["record"]["version"], 2);
}
