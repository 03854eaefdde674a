//! The power is cut while the whole file is worked on: a text is removed for ever, copies and exports are written, an export is
//! taken in, and many clients share commits.

use serde_json::{Value, json};

use crate::concurrency::at_once;
use crate::everything::{Scribe, export};
use crate::harness::{Place, Ran, Start};
use crate::power::{Agent, full};
use crate::power_check::{Case, Plan, Promise};
use crate::power_trace::Recorder;
use crate::shell::Shell;
use crate::storage::text;
use crate::web::Web;

/// What is to be removed.
const SECRET: &str = "sk-4711-do-not-keep";

/// Runs a command under the recorder to its good end; gives a piece of what it said last.
#[track_caller]
fn ran(recorder: &mut Recorder, start: Start) -> String {
    let ran: Ran = recorder.record(start).run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let last = ran.stdout.trim_end().lines().next_back().expect("it says something");
    last.to_owned()
}

/// A text is written, purged, and work goes on. With `beside`, another process has the store open, so that the one that
/// purges is not the last to close it.
pub fn purge(beside: bool, durability: &str) -> Case {
    let place = Place::new();
    let shell = Shell::of(&place, "root").env("MEMORY_DURABILITY", durability);
    shell.remember("s", "kept", "\"there before\"");
    let other = beside.then(|| {
        let mut other = place.agent("other");
        other.read("s", "kept");
        other
    });
    let scout = place.start().agent("scout").env("MEMORY_DURABILITY", durability);
    let mut recorder = Recorder::of(&place);
    let mut agent = Agent::of(&recorder.record(scout.clone()));
    agent.remember(
        "leaked",
        json!(format!("the key is {SECRET}, {}", "and more ".repeat(900))),
    );
    agent.remember("leaked", json!("a clean one"));
    let said = agent.finish();
    let purging = shell.start(&["purge", "--containing", SECRET, "--why", "secret", "--yes", "--json"]);
    let purged = ran(&mut recorder, purging);
    let mut agent = Agent::of(&recorder.record(scout.clone()));
    agent.remember("after", json!(1));
    let after = agent.finish();
    let mut case = said.case(&place, recorder, &place.db());
    case.promised(&purged, Promise::Purged);
    after.add(&mut case);
    case.secret = Some(SECRET.to_owned());
    drop(other);
    case
}

/// Copies and exports are written, and written once more over those that are there.
pub fn beside() -> Case {
    let place = Place::new();
    let shell = Shell::of(&place, "root");
    shell.remember("s", "kept", "\"there before\"");
    let mut recorder = Recorder::of(&place);
    let mut said = Vec::new();
    for round in ["first", "second"] {
        for (command, name) in [("backup", "copy.db"), ("export", "all.jsonl")] {
            let to = place.path().join(name);
            let start = shell.start(&[command, text(&to), "--overwrite", "--json"]);
            let told = ran(&mut recorder, start);
            said.push((told, name, std::fs::read(&to).expect("it is there")));
        }
        let write = ["remember", "--scope", "s", "--key", round, "--value", "1", "--json"];
        ran(&mut recorder, shell.start(&write));
    }
    let copy = shell.run(&["verify", "--db", text(&place.path().join("copy.db"))]);
    assert_eq!(copy.code, Some(0), "{copy:?}");
    let mut case = Case::of(&place, recorder.trace(), &place.db());
    for (told, name, bytes) in said {
        case.published(&told, name, bytes);
    }
    case
}

/// A file that was not there is written into a folder that was just made, without leave to take another one's place.
pub fn new_file() -> Case {
    let place = Place::new();
    let shell = Shell::of(&place, "root");
    shell.remember("s", "kept", "\"there before\"");
    let mut recorder = Recorder::of(&place);
    let to = recorder.make_folder("new").join("all.jsonl");
    let told = ran(&mut recorder, shell.start(&["export", text(&to), "--json"]));
    let mut case = Case::of(&place, recorder.trace(), &place.db());
    case.published(&told, "new/all.jsonl", std::fs::read(&to).expect("it is there"));
    case
}

/// An export of more entries than one transaction takes.
fn import() -> Case {
    let from = Place::new();
    let mut scribe = Scribe::at(&from.db());
    for n in 0..520 {
        scribe.remember("scout", &format!("s/k{}", n % 40), &n.to_string(), |_| {});
    }
    scribe.done();
    let file = export(&from, "all.jsonl");
    let place = Place::new();
    let mut recorder = Recorder::of(&place);
    let start = Shell::of(&place, "root").start(&["import", text(&file), "--json"]);
    let told = ran(&mut recorder, start);
    let mut case = Case::of(&place, recorder.trace(), &place.db());
    let all = Promise::Entries(case.entries());
    case.promised(&told, all);
    case
}

/// Many clients of one server, whose writes share commits.
fn serve() -> Case {
    let place = Place::new();
    let shell = Shell::of(&place, "root");
    shell.remember("s", "kept", "\"there before\"");
    let mut recorder = Recorder::of(&place);
    let web = Web::started(recorder.record(place.start().env("RUST_LOG", "off")), &[]);
    let told: Vec<Vec<(String, String)>> = at_once(6, |n| {
        let client = web.anyone().header("X-Agent-Id", &format!("agent-{n}"));
        let write = |k: usize| {
            let value = json!({"client": n, "turn": k});
            let body = json!({"scope": "s", "key": format!("k{}", k % 2), "value": value}).to_string();
            let answer: Value = client.ask("POST", "/records", Some(&body)).json();
            let hash = answer["record"]["hash"].as_str().expect("a hash").to_owned();
            (hash, value.to_string())
        };
        (0..6).map(write).collect()
    });
    let (code, stderr) = web.stop();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let mut case = Case::of(&place, recorder.trace(), &place.db());
    for (hash, value) in told.concat() {
        case.wrote(&hash, &value);
    }
    case
}

#[test]
#[ignore = "needs strace"]
fn a_purged_text_is_in_no_file_of_the_store_after_a_power_cut() {
    purge(false, "full").cut(full(250, 12_000)).kept("a purge");
    // Nor does a purge wait for less than the disk where other writes do.
    let plan = Plan {
        durable: false,
        ..full(100, 4_000)
    };
    purge(false, "normal")
        .cut(plan)
        .kept("a purge where writes do not wait");
}

#[test]
#[ignore = "needs strace"]
fn a_purged_text_is_gone_after_a_power_cut_though_another_process_has_the_store_open() {
    purge(true, "full")
        .cut(full(150, 8_000))
        .kept("a purge beside another process");
}

#[test]
#[ignore = "needs strace"]
fn a_copy_and_an_export_are_whole_once_they_were_said_to_be_and_never_there_by_halves() {
    beside().cut(full(250, 12_000)).kept("a copy and an export");
    new_file().cut(full(60, 2_000)).kept("a new export");
}

#[test]
#[ignore = "needs strace"]
fn an_import_survives_a_power_cut_and_half_of_one_is_a_beginning() {
    import().cut(full(60, 2_000)).kept("an import");
}

#[test]
#[ignore = "needs strace"]
fn every_answer_of_a_shared_commit_survives_a_power_cut() {
    serve().cut(full(250, 12_000)).kept("a server");
}
