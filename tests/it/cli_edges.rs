//! Where a command line could mislead: pipes that close, drafts that are refused, texts that look like ours, answers for programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use serde_json::json;

use crate::harness::{LEGACY, PATIENCE, Place, Server, assert_warned, wait};
use crate::shell::{Shell, document, refusal};
use crate::terminal::at_terminal;

/// The exit code of a command whose standard output, or error, is a pipe that nobody reads.
fn unheard(shell: &Shell, args: &[&str], stdout: bool) -> Option<i32> {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = shell.start(args).command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if stdout {
        command.stdout(writer);
    } else {
        command.stderr(writer);
    }
    let mut child = command.spawn().expect("the executable starts");
    wait(&mut child, PATIENCE).expect("it ends").code()
}

#[test]
fn u01_that_a_fault_was_found_survives_a_closed_pipe() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    place
        .sql()
        .execute("UPDATE opinion SET confidence = 0.1", [])
        .expect("a change by hand");
    for args in [
        ["verify"].as_slice(),
        &["verify", "--json"],
        &["memory_stats", "--verify"],
        &["memory_stats", "--verify", "--json"],
    ] {
        assert_eq!(scout.run(args).code, Some(1));
        assert_eq!(unheard(&scout, args, true), Some(1), "{args:?}");
    }
}

#[test]
fn u01_a_write_is_done_although_nobody_listens_on_standard_error() {
    let place = Place::new();
    // As a person runs it: the log is on, and the first write logs a line.
    let scout = Shell::of(&place, "scout").env("RUST_LOG", "warn");
    let args = ["remember", "--scope", "a", "--key", "k", "--value", "1"];
    assert_eq!(unheard(&scout, &args, false), Some(0));
    assert_eq!(scout.value("a", "k"), 1);
    let loud = scout.env("RUST_LOG", "trace");
    let args = ["remember", "--scope", "a", "--key", "k", "--value", "2"];
    assert_eq!(unheard(&loud, &args, false), Some(0));
}

#[test]
fn u01_a_server_whose_log_nobody_reads_takes_every_write() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let mut command = place.start().agent("scout").command();
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(writer);
    let mut server = Server::over(command.spawn().expect("the executable starts"));
    server.initialize(LEGACY);
    server.remember("a", "k", json!(1));
}

#[test]
fn errors_are_json_where_json_was_asked_for() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for args in [
        ["recall", "--scope", "a", "--limit", "ten"].as_slice(),
        &["recall", "--bogus", "x"],
        &["bogus"],
        &["remember", "--scope", "a", "--key", "k"],
        &["remember", "--scope", "a", "--key", "k", "--file", "no-such-file"],
        &["handoffs", "create", "--file", "no-such-file"],
        &["handoffs", "list", "--state", "gone"],
    ] {
        let refusal = refusal(&scout.run(&[&["--json"], args].concat()), 2);
        assert_eq!(refusal.code, "invalid_argument", "{args:?}");
    }
}

#[test]
fn a_program_gets_one_document_even_with_a_terminal_or_many_projects() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    let args = ["handoffs", "expire", "--older-than", "0", "--json"];
    let seen = at_terminal(&scout.start(&args), 80, "");
    assert_eq!(document(&seen.text)["total"], 0);
    scout.json(&[
        "remember",
        "--scope",
        "a",
        "--key",
        "k",
        "--value",
        "1",
        "--project",
        "p2",
    ]);
    scout.json(&["checkpoint", "--all"]);
}

#[test]
fn a_project_that_is_not_there_is_not_a_file_that_is_not_there() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    let ran = scout.run(&["checkpoint", "--project", "other"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        !ran.stderr.contains("no database") && ran.stderr.contains("other"),
        "{ran:?}"
    );
}

#[test]
fn texts_may_begin_with_a_hyphen() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    let args = [
        "handoff",
        "--title",
        "- a title",
        "--summary",
        "- one\n- two",
        "--next-step",
        "-x",
        "--open-question",
        "-?",
        "--file-touched",
        "-rf",
    ];
    assert_eq!(scout.json(&args)["packet"]["summary"], "- one\n- two");
    let args = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "-1",
        "--refs",
        "a:k",
        "--note",
        "- done",
    ];
    assert_eq!(scout.json(&args)["outcome_ref"], "-1");
}

#[test]
fn a04_a_limit_beyond_any_number_is_200_with_a_warning() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    for limit in ["9223372036854775808", "1e9", "500.0"] {
        assert_warned(&scout.json(&["recall", "--scope", "a", "--limit", limit]), &["200"]);
    }
}

#[test]
fn a_difference_is_seen() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for (key, old, new) in [
        ("kind", "1", r#""1""#),
        ("line ends", r#""one\ntwo""#, r#""one\r\ntwo""#),
        ("a return", r#""one\rtwo""#, r#""one\rthree""#),
    ] {
        scout.remember("a", key, old);
        scout.remember("a", key, new);
        let told = scout.says(&["diff", "a", key]);
        let lines = |sign: char| -> Vec<&str> {
            let lines = told.lines().skip(2).filter(|line| line.starts_with(sign));
            lines.map(|line| &line[1..]).collect()
        };
        assert!(!lines('-').is_empty() && !lines('+').is_empty(), "{key}: {told}");
        assert_ne!(lines('-'), lines('+'), "{key}: {told}");
    }
}

#[test]
fn version_0_is_no_version() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    scout.remember("a", "k", "2");
    scout.refused(&["diff", "a", "k", "0", "2"], 2, "invalid_argument");
}

#[test]
fn a_draft_is_kept_until_it_was_taken() {
    let place = Place::new();
    let data = place.data();
    let editor = place.path().join("editor");
    let new = place.path().join("new");
    fs::write(&editor, format!("#!/bin/sh\ncat '{}' > \"$1\"\n", new.display())).expect("a script");
    fs::set_permissions(&editor, Permissions::from_mode(0o755)).expect("an executable");
    let scout = Shell::of(&place, "scout")
        .env("EDITOR", editor.to_str().expect("UTF-8"))
        .env("TMPDIR", data.to_str().expect("UTF-8"));
    scout.remember("a", "k", "1");
    let words = "# t\n## Summary\nwork of an hour\n";
    let mut lost = Vec::new();
    for (more, flags) in [
        ("## Refs\n- a:not-there\n".to_owned(), [].as_slice()),
        ("## Refs\n- a:k@0\n".to_owned(), &[]),
        (format!("## For\n{}\n", "x".repeat(300)), &[]),
        (String::new(), &["--supersedes", "h_0123456789abcdef"]),
    ] {
        fs::write(&new, format!("{words}{more}")).expect("a file");
        let ran = scout.run(&[&["handoff", "--edit"], flags].concat());
        assert_ne!(ran.code, Some(0), "{ran:?}");
        let drafts: Vec<_> = fs::read_dir(&data)
            .expect("a folder")
            .map(|one| one.expect("an entry").path())
            .collect();
        match drafts.as_slice() {
            [draft] if ran.stderr.contains(draft.to_str().expect("UTF-8")) => fs::remove_file(draft).expect("gone"),
            _ => lost.push((more, flags, ran.stderr)),
        }
    }
    assert!(lost.is_empty(), "these drafts were lost: {lost:#?}");
    // What can be seen without a draft is seen before anybody writes one.
    let before = scout.run(&["handoff", "--edit", "--expires-in", "soon"]);
    assert_eq!(before.code, Some(2), "{before:?}");
    assert_eq!(fs::read_dir(&data).expect("a folder").count(), 0, "{before:?}");
}

#[test]
fn x03_a_title_passes_for_no_line_of_ours() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for title in ["Ledger", "this packet was yours already", "Pinned: 3 versions, 0 stale"] {
        let id = scout.hand_off(title, &["--next-step", "x"]);
        let told = scout.says(&["handoffs", "show", &id]);
        let times = told.lines().filter(|line| *line == title).count();
        assert_eq!(times, usize::from(title == "Ledger"), "{told}");
    }
}

#[test]
fn a_packet_without_an_end_that_was_ended_has_no_blank_where_a_time_should_be() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let id = scout.hand_off("t", &["--expires-in", "0"]);
    scout.json(&["handoffs", "expire", &id]);
    let refusal = scout.refused(&["handoffs", "accept", &id], 1, "conflict");
    assert!(!refusal.message.trim_end().ends_with("at"), "{refusal:?}");
}

#[test]
fn the_last_page_says_that_it_is_the_last() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for title in ["one", "two"] {
        scout.hand_off(title, &["--next-step", "x"]);
        scout.remember("a", title, "1");
    }
    assert_eq!(
        scout
            .json(&["recall", "--scope", "a", "--limit", "2"])
            .get("next_cursor"),
        None
    );
    assert!(!scout.says(&["handoffs", "list", "--limit", "2"]).contains("go on"));
    assert_eq!(
        scout.json(&["handoffs", "list", "--limit", "2"]).get("next_cursor"),
        None
    );
}

#[test]
fn a_directory_that_is_relative_is_taken_from_the_working_directory() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let work = place.work().canonicalize().expect("the folder is there");
    let id = scout.hand_off("t", &["--next-step", "x", "--cwd", "."]);
    assert_eq!(scout.show(&id)["packet"]["cwd"], work.to_str().expect("UTF-8"));
}

#[test]
fn on_a_narrow_terminal_the_id_is_whole() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let id = scout.hand_off(&"long ".repeat(20), &["--next-step", "x"]);
    for columns in [50, 60, 80] {
        let seen = at_terminal(&scout.start(&["handoffs", "list"]), columns, "");
        assert!(seen.text.contains(&id), "{columns} columns: {seen:?}");
    }
}

#[test]
fn what_to_do_is_told_in_the_words_of_a_shell() {
    let place = Place::new();
    let (scout, codex) = (Shell::of(&place, "scout"), Shell::of(&place, "codex"));
    let held = scout.hand_off("held", &["--next-step", "x"]);
    codex.json(&["handoffs", "accept", &held]);
    let open = scout.hand_off("open", &["--next-step", "x"]);
    let hint = |args: &[&str]| {
        let ran = scout.clone().env("AGENT_ID", "claude").run(args);
        assert_ne!(ran.code, Some(0), "{ran:?}");
        ran.stderr.lines().last().expect("a hint").trim().to_owned()
    };
    for (args, words) in [
        (
            ["handoffs", "accept", &held].as_slice(),
            "`handoffs accept` without an id",
        ),
        (
            &["handoffs", "release", &held],
            "`handoffs release` and `handoffs cancel` have --force",
        ),
        (&["handoffs", "cancel", &open], "--force"),
        (&["handoffs", "show", "h_0123456789abcdef"], "handoffs list --all"),
        (
            &[
                "handoffs",
                "create",
                "--title",
                "t",
                "--summary",
                "s",
                "--supersedes",
                &held,
            ],
            "without --supersedes",
        ),
        (
            &[
                "remember",
                "--scope",
                "s",
                "--key",
                "k",
                "--value",
                "1",
                "--expected-version",
                "3",
            ],
            "leave out --expected-version",
        ),
    ] {
        let hint = hint(args);
        assert!(hint.contains(words), "{args:?}: {hint}");
    }
}

#[test]
fn on_a_terminal_of_eighty_columns_a_list_names_the_recipient_and_an_entry_is_one_line() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.hand_off(&"long ".repeat(20), &["--next-step", "x", "--to-agent", "executor"]);
    let seen = at_terminal(&scout.start(&["handoffs", "list"]), 80, "");
    assert!(seen.text.contains("scout → executor"), "{seen:?}");
    scout.remember("a", "k", "1");
    let note = "n".repeat(200);
    scout.json(&[
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        &note,
        "--refs",
        "a:k@1",
    ]);
    let entries = place.count("SELECT count(*) FROM ledger");
    let seen = at_terminal(&scout.start(&["log"]), 80, "");
    assert_eq!(seen.text.lines().count() as i64, entries, "{seen:?}");
    assert!(seen.text.contains('…'), "{seen:?}");
    assert!(scout.says(&["log"]).contains(&note[..100]), "whole where nobody looks");
}
