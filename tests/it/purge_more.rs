//! Purges among others: asked about on a terminal, with a reader in the way, killed in the middle, under writers, and of what
//! came by an import.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use handoff_memory::domain::purge::Target;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};

use crate::everything::{Scribe, checkpoints, export, import, intact, no_byte_left, plain};
use crate::handoffs::until;
use crate::harness::{PATIENCE, Place, Ran, Server, finished};
use crate::storage::text;

/// A store with a value, and the arguments that purge it.
fn leaky() -> (Place, Vec<&'static str>) {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "leak", json!("SENTINEL"));
    scout.remember("s", "kept", json!("kept"));
    scout.finish();
    (
        place,
        vec![
            "--agent",
            "janitor",
            "purge",
            "--containing",
            "SENTINEL",
            "--why",
            "secret",
        ],
    )
}

/// Runs a command that has a terminal as its standard input, on which `typed` is typed.
fn on_terminal(place: &Place, args: &[&str], typed: &str) -> Ran {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal");
    grantpt(&master).expect("it is ours");
    unlockpt(&master).expect("it opens");
    let name = ptsname(&master, Vec::new()).expect("its name");
    let name = name.into_string().expect("a path");
    let terminal = File::options().read(true).write(true).open(name).expect("the terminal");
    let mut master = File::from(master);
    // The terminal keeps what was typed until it is read.
    master.write_all(typed.as_bytes()).expect("it is typed");
    let mut command = place.start().args(args).command();
    command.stdin(terminal).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finished(command, PATIENCE);
    plain(&ran);
    ran
}

#[test]
fn on_a_terminal_it_asks_and_takes_no_for_an_answer() {
    let (place, args) = leaky();
    let before = checkpoints(&place);
    for answer in ["n\n", "\n", "no\n", "nein\n", "yess\n", "\u{4}", "purge\n"] {
        let ran = on_terminal(&place, &args, answer);
        assert_eq!(ran.code, Some(1), "{answer:?}: {ran:?}");
        // What is asked about is shown first.
        assert!(ran.stdout.contains("s:leak version 1 in default/default"), "{ran:?}");
        assert!(ran.stderr.contains("Purge 1 text for ever? [y/N]"), "{ran:?}");
        assert!(ran.stderr.contains("nothing was purged"), "{ran:?}");
        assert_eq!(checkpoints(&place), before, "{answer:?}");
    }
    assert_eq!(place.agent("x").read("s", "leak")["value"], "SENTINEL");
    for answer in ["y\n", " YES \n"] {
        let (place, args) = leaky();
        let ran = on_terminal(&place, &args, answer);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(ran.stdout.contains("1 text purged"), "{ran:?}");
        assert!(
            ran.stderr
                .contains("backups and exports that were made before still hold it"),
            "{ran:?}"
        );
        no_byte_left(&place.db(), "SENTINEL");
        intact(&place);
    }
}

#[test]
fn on_a_terminal_yes_is_not_asked_again_and_nothing_found_asks_nothing() {
    let (place, mut args) = leaky();
    let ran = on_terminal(&place, &[&args[..], &["--dry-run"]].concat(), "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("[y/N]"), "{ran:?}");
    args.push("--yes");
    let ran = on_terminal(&place, &args, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("[y/N]"), "{ran:?}");
    args.pop();
    let ran = on_terminal(&place, &args, "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.stderr.contains("[y/N]"), "{ran:?}");
    intact(&place);
}

#[test]
fn hostile_names_do_not_reach_the_terminal_that_is_asked() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s\u{202e}", "k\u{200b}", json!("SENTINEL"));
    scout.call(
        "remember",
        json!({"scope": "SENTINEL\u{202e}", "key": "k", "value": 1, "tags": ["\u{202e}SENTINEL"]}),
    );
    scout.finish();
    let ran = on_terminal(&place, &["purge", "--containing", "SENTINEL", "--why", "other"], "n\n");
    let said = ran.stdout + &ran.stderr;
    assert!(said.contains("\\u{202e}"), "{said}");
    assert!(!said.contains(['\u{202e}', '\u{200b}', '\u{1b}']), "{said:?}");
}

#[test]
fn a_reader_in_the_way_is_one_clear_error_and_finish_takes_the_rest() {
    let (place, mut args) = leaky();
    let mut server = place.agent("server");
    server.read("s", "leak");
    let sql = place.sql();
    sql.execute_batch("BEGIN").expect("a transaction");
    let held: i64 = sql
        .query_row("SELECT count(*) FROM content", [], |row| row.get(0))
        .expect("a read that stays open");
    assert_eq!(held, 2);
    // A write puts the reader's moment behind the end of the log.
    server.remember("s", "after", json!(1));
    args.insert(0, "--json");
    args.push("--yes");
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let refusal: Value = serde_json::from_str(&ran.stderr).expect("one JSON document");
    let error = &refusal["error"];
    assert_eq!(error["code"], "busy", "{refusal}");
    assert!(
        error["message"]
            .as_str()
            .is_some_and(|said| said.contains("the texts are purged")),
        "{refusal}"
    );
    assert!(
        error["hint"]
            .as_str()
            .is_some_and(|said| said.contains("purge --finish")),
        "{refusal}"
    );
    // Nobody reads it any more, though its bytes are still in the file.
    assert_eq!(server.read("s", "leak")["purged"]["by"], "janitor");
    assert!(server.found(json!({"query": "SENTINEL"})).is_empty());
    sql.execute_batch("ROLLBACK").expect("the reader ends");
    drop(sql);
    let ran = place.run(&["purge", "--finish"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    no_byte_left(&place.db(), "SENTINEL");
    server.remember("s", "leak", json!("clean"));
    server.finish();
    intact(&place);
}

#[test]
fn a_writer_in_the_way_is_busy_and_nothing_is_purged() {
    let (place, mut args) = leaky();
    args.push("--yes");
    let before = checkpoints(&place);
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("nothing was written"), "{ran:?}");
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
    assert_eq!(checkpoints(&place), before);
    assert_eq!(place.run(&args).code, Some(0));
    no_byte_left(&place.db(), "SENTINEL");
    intact(&place);
}

#[test]
fn finish_needs_a_store_and_does_no_harm_where_nothing_is_left() {
    let nowhere = Place::new();
    let ran = nowhere.run(&["purge", "--finish"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(!nowhere.db().exists());
    let (place, _) = leaky();
    let before = checkpoints(&place);
    assert_eq!(place.run(&["purge", "--finish"]).code, Some(0));
    assert_eq!(checkpoints(&place), before);
    assert_eq!(place.agent("x").read("s", "leak")["value"], "SENTINEL");
    // With anything else it makes no sense.
    for more in [["--containing", "x"], ["--why", "secret"]] {
        assert_eq!(place.run(&[&["purge", "--finish"], &more[..]].concat()).code, Some(2));
    }
    intact(&place);
}

#[test]
fn finish_takes_the_settings_that_every_command_takes() {
    let (place, _) = leaky();
    let db = place.db();
    let settings: [&[&str]; 3] = [&["--json"], &["--db", text(&db)], &["--agent", "janitor"]];
    for setting in settings {
        let ran = place.run(&[setting, &["purge", "--finish"]].concat());
        assert_eq!(ran.code, Some(0), "{setting:?}: {ran:?}");
    }
}

#[test]
fn finish_takes_them_after_itself_too() {
    let (place, _) = leaky();
    for setting in [&["--json"] as &[&str], &["--agent", "janitor"]] {
        let ran = place.run(&[&["purge", "--finish"], setting].concat());
        assert_eq!(ran.code, Some(0), "{setting:?}: {ran:?}");
    }
}

#[test]
fn finish_answers_programs_too() {
    let (place, _) = leaky();
    let ran = place.run(&["--json", "purge", "--finish"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    crate::everything::document(&ran);
}

/// A store of some size, a value of which is to be purged.
fn sizable() -> Place {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "leak", json!(format!("SENTINEL {}", "x".repeat(50_000))));
    for n in 0..400 {
        scout.remember("s", &format!("k{n}"), json!({"n": n, "text": "word ".repeat(300)}));
    }
    scout.finish();
    place
}

fn is_purged(place: &Place) -> bool {
    place.count("SELECT count(*) FROM ledger WHERE kind = 'purged'") > 0
}

#[test]
fn a_purge_that_was_killed_leaves_a_store_that_verifies() {
    let first = sizable();
    let bytes = std::fs::read(first.db()).expect("the file");
    let args = ["purge", "--containing", "SENTINEL", "--why", "secret", "--yes"];
    // How far the file and its log have grown when the kill comes; the last one comes after the entry was written.
    let mut purged = 0;
    for moment in 0..8 {
        let place = Place::new();
        std::fs::write(place.db(), &bytes).expect("the file");
        let wal = crate::storage::beside(&place.db(), "-wal");
        let mut command = place.start().args(&args).command();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("it starts");
        until("the moment", || {
            let ended = child.try_wait().expect("it can be waited for").is_some();
            let reached = match moment {
                7 => is_purged(&place),
                _ => crate::storage::size(&wal) >= moment * 120_000,
            };
            (ended || reached).then_some(())
        });
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        place.verify_clean();
        purged += usize::from(is_purged(&place));
        // What was begun can be ended: the rest of a purge that was written, or all of it.
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(place.run(&["purge", "--finish"]).code, Some(0));
        no_byte_left(&place.db(), "SENTINEL");
        assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'purged'"), 1);
        intact(&place);
    }
    assert!(purged > 0, "no kill came after the entry was written");
}

#[test]
fn a_purge_that_was_killed_is_ended_by_the_same_purge() {
    let place = sizable();
    // What a kill between the entry and the cleaning leaves.
    let mut scribe = Scribe::at(&place.db());
    scribe.purge_unclean("janitor", Target::containing("SENTINEL").expect("a text"));
    scribe.done();
    let ran = place.run(&["purge", "--containing", "SENTINEL", "--why", "secret", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    no_byte_left(&place.db(), "SENTINEL");
}

#[test]
fn purges_and_writers_do_not_disturb_each_other() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..6 {
        scout.remember("s", &format!("leak{n}"), json!(format!("SENTINEL-{n}-")));
        scout.hand_off(
            &format!("SENTINEL-{n}- title"),
            json!({"next_steps": ["x"], "refs": []}),
        );
    }
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..3)
            .map(|w| {
                let (place, done) = (&place, &done);
                threads.spawn(move || {
                    let mut server = place.agent(&format!("writer-{w}"));
                    let mut written = 0;
                    while !done.load(Ordering::Relaxed) {
                        written += 1;
                        let record = server.remember("w", &format!("k{w}"), json!({"n": written}));
                        assert_eq!(record["version"], written);
                        server.found(json!({"query": "SENTINEL"}));
                    }
                    server.finish();
                    written
                })
            })
            .collect();
        for n in 0..6 {
            let needle = format!("SENTINEL-{n}-");
            let ran = place.run(&["purge", "--containing", &needle, "--why", "personal", "--yes"]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
            assert!(ran.stdout.contains("2 texts purged"), "{ran:?}");
            no_byte_left(&place.db(), &needle);
            assert_eq!(scout.read("s", &format!("leak{n}"))["purged"]["why"], "personal");
        }
        done.store(true, Ordering::Relaxed);
        let written: Vec<i64> = writers.into_iter().map(|w| w.join().expect("it ends")).collect();
        assert!(written.iter().all(|count| *count > 0), "{written:?}");
    });
    scout.finish();
    no_byte_left(&place.db(), "SENTINEL");
    intact(&place);
}

#[test]
fn two_purges_of_one_text_at_once_are_one_purge() {
    let (place, mut args) = leaky();
    args.push("--yes");
    std::thread::scope(|threads| {
        let both: Vec<_> = (0..2).map(|_| threads.spawn(|| place.run(&args))).collect();
        for one in both {
            let ran = one.join().expect("it ends");
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
    });
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'purged'"), 1);
    no_byte_left(&place.db(), "SENTINEL");
    intact(&place);
}

/// A store that was imported, in which the entries of one note lie on both sides of a border between two transactions.
fn imported_across_a_border() -> (Place, String) {
    let here = Place::new();
    let mut scout = here.agent("scout");
    let write = |server: &mut Server, from: usize, to: usize| {
        let sent: Vec<u64> = (from..to)
            .map(|n| server.send_call("remember", json!({"scope": "s", "key": format!("k{n}"), "value": n})))
            .collect();
        for request in sent {
            server.answer(request);
        }
    };
    // Entry 1 made the project, so that 497 records end at entry 498.
    write(&mut scout, 0, 497);
    let refs: Value = (0..6).map(|n| json!({"scope": "s", "key": format!("k{n}")})).collect();
    scout.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "r", "refs": refs, "note": "SENTINEL"}),
    );
    scout.finish();
    let outcome: String = here
        .sql()
        .query_row("SELECT id FROM outcome WHERE seq = 499", [], |row| row.get(0))
        .expect("the first outcome");
    let there = Place::new();
    import(&there, &export(&here, "export.jsonl"), 0);
    (there, outcome)
}

#[test]
fn a_note_that_was_imported_is_found_wherever_it_stands() {
    let (there, _) = imported_across_a_border();
    let ran = there.run(&["purge", "--containing", "SENTINEL", "--why", "secret", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    no_byte_left(&there.db(), "SENTINEL");
    assert_eq!(there.count("SELECT count(*) FROM ledger WHERE kind = 'purged'"), 6);
    intact(&there);
}

#[test]
fn a_note_that_was_imported_is_purged_with_all_its_outcomes() {
    let (there, outcome) = imported_across_a_border();
    let ran = there.run(&["purge", "--outcome", &outcome, "--why", "secret", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    no_byte_left(&there.db(), "SENTINEL");
    intact(&there);
}

#[test]
fn a_purge_that_gives_up_its_output_is_done_all_the_same() {
    let (place, mut args) = leaky();
    args.push("--yes");
    let mut command = place.start().args(&args).command();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    drop(child.stdout.take());
    let mut said = String::new();
    let mut stderr = child.stderr.take().expect("stderr");
    stderr.read_to_string(&mut said).expect("what it says");
    assert!(
        child.wait().expect("it ends").code().is_some_and(|code| code != 101),
        "{said}"
    );
    assert!(!said.contains("panicked"), "{said}");
    // Either nothing was done, or all of it.
    if is_purged(&place) {
        no_byte_left(&place.db(), "SENTINEL");
    } else {
        assert_eq!(place.agent("x").read("s", "leak")["value"], "SENTINEL");
    }
    intact(&place);
}
