//! What can happen around an export and an import: a kill, a full disk, others at work, a closed pipe, files in the way.
//! And Markdown, which stored text cannot break out of.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::everything::{checkpoints, document, everything, import, imported, intact, plain};
use crate::handoffs::until;
use crate::harness::{PATIENCE, Place, open_sql, wait};
use crate::moving_large::generate;
use crate::storage::{Small, as_root, beside, listed, mode, text};

/// An export of so many versions, and its checkpoint.
fn generated(place: &Place, versions: u64) -> (PathBuf, String) {
    let file = place.path().join("generated.jsonl");
    let end = generate(&file, "large", versions, versions / 3);
    (file, end.to_string())
}

fn start_import(place: &Place, file: &Path) -> Child {
    let mut command = place.start().args(&["import", text(file)]).command();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("the executable starts")
}

/// How many entries there are; none before there is a ledger.
fn entries(place: &Place) -> Option<i64> {
    let there = std::fs::metadata(place.db()).is_ok_and(|meta| meta.len() > 0);
    let count = |sql: rusqlite::Connection| sql.query_row("SELECT count(*) FROM ledger", [], |row| row.get(0)).ok();
    if there { count(open_sql(&place.db())) } else { None }
}

#[test]
fn u06_an_import_that_was_killed_is_completed_by_another() {
    let place = Place::new();
    let (file, end) = generated(&place, 6_000);
    let mut under_way = 0;
    for at_least in [1, 1_000, 3_000] {
        let there = Place::new();
        let mut child = start_import(&there, &file);
        until("some entries", || entries(&there).filter(|count| *count >= at_least));
        child.kill().expect("it is killed");
        child.wait().expect("it ends");
        let taken = entries(&there).expect("a ledger");
        under_way += i64::from(taken < 6_001);
        there.verify_clean();
        let projects = imported(&there, &file, 0);
        assert_eq!(
            (projects[0].2, projects[0].3),
            (taken.unsigned_abs(), 6_001 - taken.unsigned_abs())
        );
        assert_eq!(checkpoints(&there).trim(), end);
        there.verify_clean();
    }
    assert!(under_way > 0, "each import was done before it was killed");
}

#[test]
fn u06_an_import_that_is_interrupted_leaves_nothing_behind() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let place = Place::new();
        let aside = place.path().join("aside");
        std::fs::create_dir(&aside).expect("a folder");
        let start = place.start().env("TMPDIR", &aside).args(&["import"]);
        // Its input never ends: it waits until it is told to end.
        let mut child = start
            .command()
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the executable starts");
        until("what it keeps aside", || (listed(&aside).len() == 1).then_some(()));
        kill_process(Pid::from_child(&child), signal).expect("it is told");
        let status = wait(&mut child, PATIENCE).expect("it ends");
        assert_eq!(status.code(), Some(code));
        assert_eq!(listed(&aside).len(), 0, "{signal:?}");
        assert!(!place.db().exists());
    }
}

#[test]
fn u06_two_imports_of_one_export_at_once_make_one_store() {
    let place = Place::new();
    let (file, end) = generated(&place, 3_000);
    let there = Place::new();
    let added: u64 = std::thread::scope(|threads| {
        let both: Vec<_> = (0..2).map(|_| threads.spawn(|| imported(&there, &file, 0))).collect();
        both.into_iter().map(|one| one.join().expect("it ends")[0].3).sum()
    });
    assert_eq!(added, 3_001, "each entry was added once");
    assert_eq!(checkpoints(&there).trim(), end);
    there.verify_clean();
}

#[test]
fn u06_an_import_and_writers_of_other_projects_do_not_disturb_each_other() {
    let place = Place::new();
    let (file, end) = generated(&place, 3_000);
    let there = Place::new();
    let mut scout = there.agent("scout");
    scout.remember("s", "k", json!(0));
    let mut child = start_import(&there, &file);
    let mut written = 0;
    let status = loop {
        written += 1;
        assert_eq!(scout.remember("s", "k", json!(written))["version"], written + 1);
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
    };
    assert_eq!(status.code(), Some(0));
    assert!(written > 1);
    assert_eq!(scout.read("s", "k")["value"], written);
    scout.finish();
    assert!(checkpoints(&there).contains(&end));
    there.verify_clean();
}

#[test]
fn u06_a_write_into_a_project_that_is_being_imported_parts_it_and_is_kept() {
    let place = Place::new();
    let (file, _) = generated(&place, 6_000);
    let there = Place::new();
    let mut scout = there.start().agent("scout").env("MEMORY_PROJECT", "large").serve();
    let mut child = start_import(&there, &file);
    until("a project", || entries(&there).filter(|count| *count > 0));
    let written = scout.remember("mine", "k", json!("kept"));
    assert_eq!(written["version"], 1);
    let status = child.wait().expect("it ends");
    let whole = there.count("SELECT count(*) FROM ledger WHERE agent = 'scout' AND kind = 'remembered'") == 6_001;
    // It parted the ledgers, unless all of the import was there before.
    assert_eq!(status.code(), Some(if whole { 0 } else { 1 }));
    assert_eq!(scout.read("mine", "k")["value"], "kept");
    scout.finish();
    there.verify_clean();
}

#[test]
fn s07_an_export_to_a_full_disk_leaves_no_file_and_says_so() {
    let place = everything();
    let (file, _) = generated(&place, 4_000);
    import(&place, &file, 0);
    let Some(small) = Small::mount(&place.path().join("small"), "1m") else {
        return;
    };
    let target = small.at.join("export.jsonl");
    std::fs::write(small.at.join("older.jsonl"), "older").expect("it fits");
    std::fs::write(small.at.join("ballast"), vec![0; 900_000]).expect("it fits");
    for args in [
        vec!["export", text(&target)],
        vec!["export", "--markdown", text(&target)],
        vec!["export", "--overwrite", text(&small.at.join("older.jsonl"))],
    ] {
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
        assert!(ran.stderr.contains(args[args.len() - 1]), "{ran:?}");
        assert!(ran.stderr.contains("space"), "{ran:?}");
        plain(&ran);
        assert_eq!(listed(&small.at), ["ballast", "older.jsonl"], "{args:?}");
        assert_eq!(
            std::fs::read_to_string(small.at.join("older.jsonl")).expect("the file"),
            "older"
        );
    }
    let ran = place.run(&["--json", "export", text(&target)]);
    let refusal: serde_json::Value = serde_json::from_str(&ran.stderr).expect("one JSON document");
    assert_eq!(refusal["error"]["code"], "disk_full");
    small.remount("size=12m");
    assert_eq!(place.run(&["export", text(&target)]).code, Some(0));
}

#[test]
fn s07_an_import_on_a_full_disk_keeps_what_fitted_and_goes_on_later() {
    let place = Place::new();
    let (file, end) = generated(&place, 6_000);
    let Some(small) = Small::mount(&place.path().join("small"), "4m") else {
        return;
    };
    let start = place.start().env("MEMORY_DB", small.at.join("memory.db"));
    let ran = start.clone().args(&["--json", "import", text(&file)]).run();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("disk_full"), "{ran:?}");
    small.remount("size=64m");
    assert_eq!(start.clone().arg("verify").run().code, Some(0));
    let ran = start.clone().args(&["--json", "import", text(&file)]).run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let project = &document(&ran)["projects"][0];
    assert_eq!(
        (&project["state"], &project["checkpoint"]),
        (&json!("extended"), &json!(end))
    );
    assert_eq!(start.arg("verify").run().code, Some(0));
}

#[test]
fn s07_a_file_size_limit_ends_an_export_as_a_full_disk_does() {
    let place = everything();
    let (file, _) = generated(&place, 1_000);
    import(&place, &file, 0);
    let start = place.start().args(&["export", "limited.jsonl"]);
    let ran = start
        .through(&["sh", "-c", "trap '' XFSZ; ulimit -f 256; exec \"$@\"", "sh"])
        .run();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    plain(&ran);
    assert_eq!(listed(&place.work()), [""; 0]);
}

#[test]
fn s07_the_signal_of_a_file_size_limit_does_not_end_an_export() {
    let place = everything();
    let (file, _) = generated(&place, 1_000);
    import(&place, &file, 0);
    let start = place.start().args(&["export", "limited.jsonl"]);
    let ran = start.through(&["sh", "-c", "ulimit -f 256; exec \"$@\"", "sh"]).run();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert_eq!(listed(&place.work()), [""; 0]);
}

#[test]
fn an_export_is_its_users_alone_and_takes_no_files_place_unasked() {
    let place = everything();
    for umask in ["000", "022", "077"] {
        let name = format!("{umask}.jsonl");
        let start = place.start().args(&["export", &name]);
        let script = format!("umask {umask}; exec \"$@\"");
        let ran = start.through(&["sh", "-c", &script, "sh"]).run();
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(mode(&place.work().join(&name)), 0o600, "umask {umask}");
    }
    let mine = place.work().join("mine.txt");
    std::fs::write(&mine, "mine").expect("a file");
    std::fs::set_permissions(&mine, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let ran = place.run(&["export", "mine.txt"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("--overwrite"), "{ran:?}");
    assert_eq!(std::fs::read_to_string(&mine).expect("the file"), "mine");
    assert_eq!(place.run(&["export", "--overwrite", "mine.txt"]).code, Some(0));
    assert_eq!(mode(&mine), 0o600);
    import(&Place::new(), &mine, 0);
    // Places where no file can be.
    let closed = place.path().join("closed");
    std::fs::create_dir(&closed).expect("a folder");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).expect("a mode");
    for to in [
        place.path().join("no/such/folder.jsonl"),
        place.work(),
        closed.join("x.jsonl"),
    ] {
        if as_root() && to.starts_with(&closed) {
            continue;
        }
        for overwrite in [&[] as &[&str], &["--overwrite"]] {
            let ran = place.run(&[&["export"], overwrite, &[text(&to)]].concat());
            assert_eq!(ran.code, Some(2), "{ran:?}");
            assert!(ran.stderr.contains(text(&to)), "{ran:?}");
        }
    }
    assert_eq!(
        listed(&place.work()),
        ["000.jsonl", "022.jsonl", "077.jsonl", "mine.txt"]
    );
}

#[test]
fn u06_an_export_never_takes_the_place_of_its_database() {
    let place = everything();
    let before = checkpoints(&place);
    for end in ["", "-wal", "-shm"] {
        let target = beside(&place.db(), end);
        // A server has it open, so that all three files are there.
        let mut scout = place.agent("scout");
        scout.read("app", "plan");
        let ran = place.run(&["export", "--overwrite", text(&target)]);
        assert_eq!(ran.code, Some(2), "{end}: {ran:?}");
        scout.remember("app", "plan", json!(end));
        scout.finish();
        place.verify_clean();
    }
    assert_ne!(checkpoints(&place), before);
}

#[test]
fn u06_a_file_appears_only_when_it_is_whole() {
    let place = Place::new();
    let (file, _) = generated(&place, 4_000);
    import(&place, &file, 0);
    let target = place.path().join("whole.jsonl");
    for older in [None, Some("older\n")] {
        let _ = std::fs::remove_file(&target);
        if let Some(older) = older {
            std::fs::write(&target, older).expect("a file");
        }
        let mut command = place.start().args(&["export", "--overwrite", text(&target)]).command();
        let mut child = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .expect("it starts");
        loop {
            let ended = child.try_wait().expect("it can be waited for").is_some();
            let now = std::fs::read_to_string(&target).ok();
            let whole = now
                .as_ref()
                .is_some_and(|text| text.ends_with("\"]}\n") && text.contains("{\"end\":["));
            assert!(whole || (now.as_deref() == older && !ended), "a part of it is there");
            if ended {
                break;
            }
        }
        assert!(std::fs::read(&target).expect("the export") == std::fs::read(&file).expect("the first"));
    }
}

#[test]
fn u01_a_reader_that_has_seen_enough_ends_an_export_quietly() {
    let place = Place::new();
    let (file, _) = generated(&place, 2_000);
    import(&place, &file, 0);
    for args in [&["export"] as &[&str], &["export", "--markdown"]] {
        let mut command = place.start().args(args).command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let mut first = [0; 20];
        let mut pipe = child.stdout.take().expect("a pipe");
        pipe.read_exact(&mut first).expect("a beginning");
        drop(pipe);
        let output = child.wait_with_output().expect("it ends");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
        // Where nothing can be written, that is an error.
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let Ok(full) = full else { continue };
        let mut command = place.start().args(args).command();
        command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(full);
        let output = command.output().expect("it ends");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(
            String::from_utf8_lossy(&output.stderr).contains("could not be written"),
            "{output:?}"
        );
    }
}

#[test]
fn u06_an_import_from_a_pipe_that_breaks_off_keeps_what_came() {
    let place = Place::new();
    let (file, end) = generated(&place, 2_000);
    let there = Place::new();
    let half = std::fs::read(&file).expect("the export");
    let cut = half
        .iter()
        .enumerate()
        .filter(|(_, byte)| **byte == b'\n')
        .nth(1_500)
        .expect("a line")
        .0;
    let ran = there.start().args(&["import"]).run_fed(&half[..=cut]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("ends early"), "{ran:?}");
    assert_eq!(entries(&there), Some(1_500));
    let ran = there.start().args(&["import", "-"]).run_fed(&half);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(checkpoints(&there).trim(), end);
    // A folder, and a file that nobody may read, are no export.
    let ran = there.run(&["import", text(there.path())]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(
        ran.stderr.contains(text(there.path())) || ran.stderr.contains("input"),
        "{ran:?}"
    );
    plain(&ran);
    there.verify_clean();
}

/// Texts that mean to end a fence, begin a heading, draw, link or turn a terminal.
const HOSTILE: [&str; 9] = [
    "```\n# Owned\n```text",
    "````````\n<script>alert(1)</script>\n~~~\n",
    "   ``````   \n## Packets\n",
    "a\r# Owned\r\n> quoted\r",
    "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m",
    "\u{202e}txet\u{2028}# Owned\u{2029}\u{85}x\u{200b}",
    "[click](javascript:x) ![](http://evil.example/x.png) <img src=x>",
    "&lt;b&gt; | a | b |\n|---|---|\n",
    "*a* _b_ `c` ~~d~~ # e\n===\n---\n1. f",
];

/// Takes Markdown apart as a reader would: the lines outside of fences, and what stands in each fence.
fn blocks(markdown: &str) -> (Vec<&str>, Vec<String>) {
    let (mut outside, mut fences) = (Vec::new(), Vec::new());
    let mut open: Option<(usize, String)> = None;
    for line in markdown.split('\n') {
        let bare = line.trim_start_matches(' ');
        let indent = line.len() - bare.len();
        let ticks = bare.len() - bare.trim_start_matches('`').len();
        match &mut open {
            Some((length, _)) if indent < 4 && ticks >= *length && bare[ticks..].trim().is_empty() => {
                fences.push(open.take().expect("an open fence").1);
            }
            Some((_, text)) => text.push_str(&format!("{line}\n")),
            None if indent < 4 && ticks >= 3 && !bare[ticks..].contains('`') => open = Some((ticks, String::new())),
            None => outside.push(line),
        }
    }
    assert!(open.is_none(), "a fence that never ends");
    (outside, fences)
}

#[test]
fn x03_stored_text_cannot_break_out_of_markdown() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (n, text) in HOSTILE.iter().enumerate() {
        scout.remember("s", &format!("text {n}"), json!(text));
        scout.remember("s", &format!("list {n}"), json!({"a": [text, {(*text): 1}]}));
    }
    // In names control characters are refused, and all else is allowed.
    let name = "</h3><script> `x` [a](b) # *y* \u{202e}";
    let tagged = json!({"scope": name, "key": name, "value": 1, "tags": ["<b>", "`", "# x"]});
    scout.call("remember", tagged);
    let mut named = place.start().agent(name).env("MEMORY_PROJECT", name).serve();
    named.remember("s", "k", json!(1));
    for text in HOSTILE {
        let title: String = text.replace(['\n', '\r'], " ");
        scout.hand_off(
            &title,
            json!({"summary": text, "next_steps": [text, "ok"], "open_questions": [text], "files_touched": [text],
                   "to_agent": name}),
        );
    }
    let ran = place.run(&["export", "--markdown"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (outside, fences) = blocks(&ran.stdout);
    // One fence for each value and each summary.
    assert_eq!(fences.len(), 2 * HOSTILE.len() + 2 + HOSTILE.len(), "{outside:#?}");
    let hidden = |c: char| c.is_control() || "\u{202e}\u{2028}\u{2029}\u{200b}".contains(c);
    for line in ran.stdout.split('\n') {
        assert!(!line.chars().any(hidden), "{line:?}");
    }
    let headings = outside.iter().filter(|line| line.trim_start().starts_with('#')).count();
    // Two projects, a heading for each scope, one for the packets, and one for each record and packet.
    assert_eq!(
        headings,
        2 + 3 + 1 + (2 * HOSTILE.len() + 2) + HOSTILE.len(),
        "{outside:#?}"
    );
    for line in &outside {
        // Our own marks are two: a heading's and a code span's, around ids and checkpoints alone.
        let mut rest = line.trim_start_matches(['#', ' ']).to_owned();
        for span in rest.clone().split('`').skip(1).step_by(2) {
            if span.starts_with("h_") || span.starts_with("hm1:") {
                rest = rest.replace(&format!("`{span}`"), "");
            }
        }
        let mut before = ' ';
        for c in rest.chars() {
            assert!(!"<>[]`*#|&!~".contains(c) || before == '\\', "{c} in {line:?}");
            before = if before == '\\' { ' ' } else { c };
        }
        let marks = ["===", "---", ">", "1.", "    "];
        assert!(marks.iter().all(|mark| !line.starts_with(mark)), "{line:?}");
    }
    let told = fences.concat();
    for text in [
        "# Owned",
        "<script>alert(1)</script>",
        "[click](javascript:x)",
        "\\u{1b}[2J",
    ] {
        assert!(told.contains(text), "{text} is not shown as it is");
    }
}

#[test]
fn u06_markdown_tells_of_everything_current_and_of_what_was_purged() {
    let place = everything();
    let ran = place.run(&["export", "--markdown"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let (_, fences) = blocks(&ran.stdout);
    assert!(!fences.is_empty());
    for words in [
        "the last one",
        "what took its place",
        "(purged: personal)",
        "step of taken over",
        "summary of cancelled",
    ] {
        assert!(ran.stdout.contains(words), "{words}");
    }
    assert!(!ran.stdout.contains("\"second\""), "only current versions");
    let (there, file) = (Place::new(), export_markdown(&place));
    import(&there, &file, 2);
    assert!(!there.db().exists());
    intact(&place);
}

fn export_markdown(place: &Place) -> PathBuf {
    let file = place.path().join("reading.md");
    let ran = place.run(&["export", "--markdown", text(&file)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(mode(&file), 0o600);
    file
}
