//! The power is cut: what the real program asked of the disk is recorded, and of that only what the disk was waited for is sure to
//! be there. On every disk that may be left the store proves itself, all that was acknowledged is there, and work goes on.

use std::path::Path;

use serde_json::{Value, json};

use crate::everything::document;
use crate::handoffs::{id, until};
use crate::harness::{Place, Server, Start, is_long};
use crate::kills::Dice;
use crate::power_check::{Case, Plan, Promise};
use crate::power_trace::{Recorder, put};
use crate::storage::{beside, size};

/// About so many disks, or so many with `LONG_TESTS=1`, on which all that was acknowledged must be there.
pub fn full(disks: usize, long: usize) -> Plan {
    Plan {
        disks: if is_long() { long } else { disks },
        started: if is_long() { 100 } else { 40 },
        durable: true,
        one: false,
    }
}

/// What a client was told, in its order.
enum Told {
    /// This version has this value.
    Version(String, String),
    /// An answer with these bytes, after which the ledger had so many entries.
    Entries(String, u64),
}

/// An agent under the recorder that remembers what it was told.
pub struct Agent {
    server: Server,
    told: Vec<Told>,
}

impl Agent {
    /// An agent whose process is about to be started.
    pub fn of(start: &Start) -> Self {
        Self {
            server: start.serve(),
            told: Vec::new(),
        }
    }

    pub fn remember(&mut self, key: &str, value: Value) {
        let record = self.server.remember("s", key, value.clone());
        let hash = record["hash"].as_str().expect("a hash").to_owned();
        self.told.push(Told::Version(hash, value.to_string()));
    }

    /// Calls a tool, and asks how far the ledger goes then.
    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let request = self.server.send_call(tool, arguments);
        let answer = self.server.answer(request);
        let stats = self.server.stats();
        let checkpoint = stats["checkpoint"].as_str().expect("a checkpoint");
        let seq = checkpoint.split(':').nth(4).expect("its place");
        let entries = seq.parse().expect("a number");
        self.told
            .push(Told::Entries(format!("\"id\":{request},\"result\""), entries));
        answer
    }

    fn resume(&mut self) -> String {
        id(&self.call("resume", json!({})))
    }

    fn report(&mut self, outcome: &str, run: &str, more: Value) {
        let mut arguments = more;
        arguments["outcome"] = json!(outcome);
        arguments["outcome_ref"] = json!(run);
        self.call("record_outcome", arguments);
    }

    /// Ends the process.
    pub fn finish(self) -> Said {
        self.server.finish();
        Said(self.told)
    }
}

/// All that an agent was told.
pub struct Said(Vec<Told>);

impl Said {
    /// A case of that.
    pub fn case(self, place: &Place, recorder: Recorder, db: &Path) -> Case {
        let mut case = Case::of(place, recorder.trace(), db);
        self.add(&mut case);
        case
    }

    /// Adds it to a case.
    pub fn add(self, case: &mut Case) {
        for told in self.0 {
            match told {
                Told::Version(hash, value) => case.wrote(&hash, &value),
                Told::Entries(needle, entries) => case.promised(&needle, Promise::Entries(entries)),
            }
        }
    }
}

/// A store that lies in folders which are not there before the first write.
pub fn fresh() -> Case {
    let place = Place::new();
    let db = place.path().join("new/deeper/memory.db");
    let mut recorder = Recorder::of(&place);
    let start = place.start().agent("scout").env("MEMORY_DB", &db);
    let mut agent = Agent::of(&recorder.record(start));
    agent.remember("first", json!("one"));
    agent.remember("second", json!({"of": 2}));
    agent.finish().case(&place, recorder, &db)
}

/// Two servers, one after the other: the first one is killed, the second one goes on with its log, empties it while it rests,
/// begins another one, and ends.
pub fn session(durability: &str) -> Case {
    let place = Place::new();
    place.agent("seed").remember("s", "base", json!("there before"));
    let mut recorder = Recorder::of(&place);
    let start = |recorder: &mut Recorder, name: &str| {
        let start = place.start().agent(name).env("MEMORY_DURABILITY", durability);
        recorder.record(start)
    };
    let refs = json!([{"scope": "s", "key": "base"}]);
    let mut agent = Agent::of(&start(&mut recorder, "scout"));
    agent.remember("plan", json!({"steps": [1, 2, 3]}));
    agent.remember("long", json!("a text of several pages ".repeat(400)));
    agent.call(
        "handoff",
        json!({"title": "t", "summary": "s", "refs": refs, "next_steps": ["go on"]}),
    );
    agent.report("success", "run-1", json!({"refs": refs, "note": "it held"}));
    agent.server.kill();
    agent.server = start(&mut recorder, "executor").serve();
    let packet = agent.resume();
    agent.report("released", "run-2", json!({"handoff_id": packet}));
    let packet = agent.resume();
    agent.remember("plan", json!({"steps": [4]}));
    agent.report("success", "run-3", json!({"handoff_id": packet, "note": "done"}));
    let log = beside(&place.db(), "-wal");
    until("the log is emptied while it rests", || (size(&log) == 0).then_some(()));
    agent.remember("plan", json!("after the log was emptied"));
    agent.remember("more", json!([1, 2]));
    agent.finish().case(&place, recorder, &place.db())
}

/// A log that grows past its limit, so that a commit moves it into the file, and begins again from its start.
fn long_log() -> Case {
    let place = Place::new();
    let mut recorder = Recorder::of(&place);
    let start = place.start().agent("scout");
    let mut agent = Agent::of(&recorder.record(start));
    for n in 0..12 {
        agent.remember("long", json!(format!("{n} {}", "x".repeat(380_000))));
    }
    for n in 0..4 {
        agent.remember("long", json!(n));
    }
    agent.finish().case(&place, recorder, &place.db())
}

#[test]
#[ignore = "needs strace"]
fn a_fresh_store_is_there_with_its_folders_once_something_was_acknowledged() {
    fresh().cut(full(250, 12_000)).kept("a fresh store");
}

#[test]
#[ignore = "needs strace"]
fn every_acknowledged_write_of_a_session_survives_a_power_cut() {
    session("full").cut(full(350, 20_000)).kept("a session");
}

#[test]
#[ignore = "needs strace"]
fn a_log_that_grew_past_its_limit_survives_a_power_cut() {
    long_log().cut(full(60, 1_500)).kept("a long log");
}

#[test]
#[ignore = "needs strace"]
fn the_power_may_be_cut_again_while_the_store_recovers() {
    let mut dice = Dice(7);
    let count = if is_long() { 20 } else { 4 };
    let disks = session("full").left(count, &mut dice);
    assert_eq!(disks.len(), count);
    for (n, disk) in disks.iter().enumerate() {
        let (place, looked) = (Place::new(), Place::new());
        for there in [&place, &looked] {
            put(disk, there.path());
        }
        // Looking recovers the store, so that it is done elsewhere.
        let before = looked.count("SELECT count(*) FROM ledger").unsigned_abs();
        let mut recorder = Recorder::of(&place);
        let write = ["remember", "--scope", "s", "--key", "again", "--value", "1", "--json"];
        let ran = recorder.record(place.start().agent("later").args(&write)).run();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let mut case = Case::of(&place, recorder.trace(), &place.db());
        assert_eq!(case.entries(), before + 1);
        case.had(before);
        case.wrote(document(&ran)["record"]["hash"].as_str().expect("a hash"), "1");
        case.cut(full(60, 240)).kept(&format!("recovery {n}"));
    }
}
