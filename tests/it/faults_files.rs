//! Subcommands that move a whole store, with their system calls failing one after the other and killed at each of them:
//! what is made is there whole or not at all, what it is made of stays, and the same command finds its way afterwards.

use std::path::Path;

use crate::everything::{checkpoints, no_byte_left};
use crate::faults::{Trace, walk};
use crate::faults_calls::{Template, said_at_the_end};
use crate::harness::{Place, Ran, Refusal};
use crate::storage::{listed, text};

/// Runs a command under the trace; gives what it answered, none when it was killed. An error is one plain refusal.
#[track_caller]
fn answered(place: &Place, trace: &Trace, args: &[&str]) -> Option<Result<(), Refusal>> {
    let start = place.start().agent("scout").env("RUST_LOG", "off").arg("--json");
    let ran = trace.wrap(start.args(args)).run();
    match ran.code {
        Some(0) => Some(Ok(())),
        Some(1 | 2) => {
            assert_eq!(ran.stdout, "", "{ran:?}");
            let refusal = said_at_the_end(&ran.stderr);
            trace.explains(&refusal);
            Some(Err(refusal))
        }
        None => {
            assert!(trace.kills(), "{args:?} was ended by a signal: {ran:?}");
            None
        }
        Some(_) => panic!("{args:?}: {ran:?}"),
    }
}

/// The same; gives whether it said that it is done.
#[track_caller]
fn done(place: &Place, trace: &Trace, args: &[&str]) -> bool {
    answered(place, trace, args).is_some_and(|answer| answer.is_ok())
}

/// Runs a command that nothing stands in the way of.
#[track_caller]
fn now(place: &Place, args: &[&str]) -> Ran {
    let ran = place.start().agent("scout").env("RUST_LOG", "off").args(args).run();
    assert_eq!(ran.code, Some(0), "{args:?} after the fault: {ran:?}");
    ran
}

/// Asserts that a process that went on has left nothing half made behind.
#[track_caller]
fn tidy(place: &Place, trace: &Trace) {
    let removing = trace.fault.is_some_and(|fault| fault.call.name.starts_with("unlink"));
    if !trace.kills() && !removing {
        let left: Vec<String> = listed(place.path())
            .into_iter()
            .filter(|name| name.contains(".part"))
            .collect();
        assert!(left.is_empty(), "{left:?}");
    }
}

/// Asserts that another file than a place's is an intact store that goes as far as this.
#[track_caller]
fn is_copy(place: &Place, copy: &Path, wanted: &str) {
    let start = place.start().env("MEMORY_DB", copy);
    let ran = start.clone().arg("verify").run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(start.args(&["checkpoint", "--all"]).run().stdout, wanted);
}

#[test]
#[ignore = "needs strace"]
fn a_backup_is_there_whole_or_not_at_all_after_every_fault() {
    let template = Template::new();
    walk(
        "a backup",
        || template.copy(),
        |place, trace| {
            let copy = place.path().join("copy.db");
            let wanted = checkpoints(place);
            let made = done(place, trace, &["backup", text(&copy)]);
            assert!(copy.exists() || !made);
            if copy.exists() {
                is_copy(place, &copy, &wanted);
            }
            tidy(place, trace);
            now(place, &["backup", "--overwrite", text(&copy)]);
            is_copy(place, &copy, &wanted);
            place.verify_clean();
        },
    );
}

#[test]
#[ignore = "needs strace"]
fn a_backup_takes_the_place_of_an_older_one_whole_or_not_at_all_after_every_fault() {
    let template = Template::new();
    walk(
        "a backup over another",
        || template.copy(),
        |place, trace| {
            let copy = place.path().join("copy.db");
            now(place, &["backup", text(&copy)]);
            let older = std::fs::read(&copy).expect("the copy");
            now(place, &["remember", "--scope", "s", "--key", "new", "--value", "1"]);
            let wanted = checkpoints(place);
            let made = done(place, trace, &["backup", "--overwrite", text(&copy)]);
            if made || std::fs::read(&copy).expect("there is always one") != older {
                is_copy(place, &copy, &wanted);
            }
            tidy(place, trace);
            now(place, &["backup", "--overwrite", text(&copy)]);
            is_copy(place, &copy, &wanted);
            place.verify_clean();
        },
    );
}

#[test]
#[ignore = "needs strace"]
fn an_export_is_there_whole_or_not_at_all_after_every_fault() {
    // So much that it is written in many pieces.
    let template = Template::of(150, 1_500);
    let calm = template.export();
    walk(
        "an export",
        || template.copy(),
        |place, trace| {
            let file = place.path().join("export.jsonl");
            let made = done(place, trace, &["export", text(&file)]);
            assert!(file.exists() || !made);
            if file.exists() {
                assert!(
                    std::fs::read_to_string(&file).expect("the export") == calm,
                    "another export"
                );
            }
            tidy(place, trace);
            now(place, &["export", "--overwrite", text(&file)]);
            assert!(
                std::fs::read_to_string(&file).expect("the export") == calm,
                "another export"
            );
            place.verify_clean();
        },
    );
}

#[test]
#[ignore = "needs strace"]
fn an_import_goes_on_where_a_fault_ended_it() {
    let template = Template::new();
    let calm = template.export();
    let wanted = template.checkpoints();
    let prepare = || {
        let place = Place::new();
        std::fs::write(place.path().join("export.jsonl"), &calm).expect("the export");
        place
    };
    walk("an import", prepare, |place, trace| {
        let file = place.path().join("export.jsonl");
        let made = done(place, trace, &["import", text(&file)]);
        if made {
            assert_eq!(checkpoints(place), wanted);
        }
        let verified = place.run(&["verify"]);
        let nothing = !made && verified.code == Some(2) && verified.stderr.contains("no database");
        assert!(verified.code == Some(0) || nothing, "{verified:?}");
        now(place, &["import", text(&file)]);
        assert_eq!(checkpoints(place), wanted);
        place.verify_clean();
    });
}

/// What is to be purged.
const SECRET: &str = "hunter2-do-not-tell";

/// How many stored texts hold the secret.
fn secrets(place: &Place) -> i64 {
    place.count(&format!(
        "SELECT count(*) FROM content WHERE instr(body, '{SECRET}') > 0"
    ))
}

#[test]
#[ignore = "needs strace"]
fn a_purge_is_done_whole_or_not_at_all_after_every_fault_and_can_be_finished() {
    let place = Place::new();
    let mut seed = place.agent("seed");
    for n in 0..30 {
        let text = if n % 5 == 0 { SECRET } else { "nothing special" };
        seed.remember(
            "s",
            &format!("k{n}"),
            serde_json::json!({"n": n, "text": format!("{text} {}", "x".repeat(500))}),
        );
    }
    seed.hand_off(
        "a packet",
        serde_json::json!({"summary": format!("the password is {SECRET}"), "next_steps": ["x"]}),
    );
    seed.finish();
    let all = secrets(&place);
    assert_eq!(all, 7);
    let prepare = || {
        let copy = Place::new();
        std::fs::copy(place.db(), copy.db()).expect("a copy");
        copy
    };
    walk("a purge", prepare, |place, trace| {
        let purge = ["purge", "--containing", SECRET, "--why", "secret", "-y"];
        let answer = answered(place, trace, &purge);
        let left = secrets(place);
        match answer {
            Some(Ok(())) => {
                assert_eq!(left, 0);
                no_byte_left(&place.db(), SECRET);
            }
            Some(Err(refusal)) => {
                // Whoever is told that nothing was written keeps the secret for safe.
                let told = refusal.message.contains("the texts are purged");
                assert_eq!((left, told), if told { (0, true) } else { (all, false) }, "{refusal:?}");
                assert_eq!(told, refusal.hint.contains("purge --finish"), "{refusal:?}");
            }
            None => assert!(left == 0 || left == all, "{left} texts are left of {all}"),
        }
        place.verify_clean();
        // The same once more finishes it, whatever was done before.
        now(place, &purge);
        assert_eq!(secrets(place), 0);
        no_byte_left(&place.db(), SECRET);
        assert_eq!(place.count("SELECT count(*) FROM content WHERE body <> ''"), 24);
        place.verify_clean();
    });
}
