//! A packet written at a shell: from flags, a JSON or Markdown file, standard input, or an editor.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::harness::{Place, Ran};
use crate::shell::{Shell, document};
use crate::terminal::{Screen, at_terminal};

const MARKDOWN: &str = "# Rates: half done

## Summary
The table is there.

## Not a section of ours
- neither is this list

## Next steps
1. fill it
2. test it
   on both machines
* tell codex

- rest

## Open Questions
- which rounding?
## FILES TOUCHED
- src/rate.rs
## Refs
- app/billing:rate@1
- app/billing:rate
## For
codex
## Directory
/src/app
<!-- Nobody reads
this. -->
";

/// What [`MARKDOWN`] says.
fn described() -> Value {
    json!({
        "title": "Rates: half done",
        "summary": "The table is there.\n\n## Not a section of ours\n- neither is this list",
        "next_steps": ["fill it", "test it\non both machines", "tell codex", "rest"],
        "open_questions": ["which rounding?"],
        "files_touched": ["src/rate.rs"],
        "to_agent": "codex",
        "cwd": "/src/app"
    })
}

/// Asserts that an answer's packet says all of this.
#[track_caller]
fn says(answer: &Value, expected: &Value) {
    for (name, field) in expected.as_object().expect("fields") {
        assert_eq!(&answer["packet"][name], field, "{name}: {answer}");
    }
}

/// A shell at a place with two versions of `app/billing rate`.
fn with_rates(place: &Place) -> Shell {
    let scout = Shell::of(place, "scout");
    scout.remember("app/billing", "rate", "1");
    scout.remember("app/billing", "rate", "2");
    scout
}

#[test]
fn a_packet_is_described_by_flags() {
    let place = Place::new();
    let scout = with_rates(&place);
    let answer = scout.json(&[
        "handoffs",
        "create",
        "--title",
        "Rates",
        "--summary",
        "Two\n\nparagraphs.",
        "--next-step",
        "one",
        "--next-step",
        "two",
        "--open-question",
        "why?",
        "--file-touched",
        "a.rs",
        "--file-touched",
        "b.rs",
        "--ref",
        "app/billing:rate@1",
        "--ref",
        r#"[{"scope": "app/billing", "key": "rate"}]"#,
        "--to-agent",
        " Codex ",
        "--expires-in",
        "0",
        "--cwd",
        "/src/app",
    ]);
    says(
        &answer,
        &json!({"title": "Rates", "summary": "Two\n\nparagraphs.", "next_steps": ["one", "two"], "open_questions": ["why?"],
                "files_touched": ["a.rs", "b.rs"], "to_agent": "Codex", "cwd": "/src/app", "state": "open"}),
    );
    assert_eq!(answer["packet"].get("expires_at"), None);
    let pins: Vec<_> = answer["refs"]
        .as_array()
        .expect("refs")
        .iter()
        .map(|one| &one["version"])
        .collect();
    assert_eq!(pins, [1, 2]);
    // Said again within a few minutes it is the same packet.
    let again = ["handoff", "--title", "again", "--summary", "s", "--next-step", "x"];
    assert_eq!(scout.json(&again).get("unchanged"), None);
    assert_eq!(scout.json(&again)["unchanged"], true);
    assert_eq!(scout.json(&["handoffs", "list"])["total"], 2);
}

#[test]
fn a_packet_is_described_by_a_file_or_by_standard_input_and_flags_go_before() {
    let place = Place::new();
    let scout = with_rates(&place);
    let work = place.work();
    fs::write(work.join("packet.md"), MARKDOWN).expect("a file");
    let mut packet = described();
    packet["refs"] =
        json!([{"scope": "app/billing", "key": "rate", "version": 1}, {"scope": "app/billing", "key": "rate"}]);
    packet["expires_in"] = json!("2h");
    packet["shared"] = json!(true);
    packet["supersedes"] = Value::Null;
    fs::write(work.join("packet.json"), format!("\u{feff}\n{packet:#}\n")).expect("a file");
    let create = ["handoffs", "create", "--json"];
    let mut answers = Vec::new();
    for (source, input) in [
        (["-f", "packet.md"], ""),
        (["--file", "packet.json"], ""),
        (["-f", "-"], packet.to_string().as_str()),
        (["-f", "-"], MARKDOWN),
    ] {
        let owner = format!("owner {}", answers.len());
        // Each for an owner of its own, or it would be the same packet.
        let ran = scout
            .clone()
            .env("MEMORY_OWNER", &owner)
            .given(&[create.as_slice(), &source].concat(), input);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{source:?}: {ran:?}");
        let answer = document(&ran.stdout);
        says(&answer, &described());
        let pins: Vec<_> = answer["refs"]
            .as_array()
            .expect("refs")
            .iter()
            .map(|one| &one["version"])
            .collect();
        assert_eq!(pins, [1, 2], "{answer}");
        answers.push(answer);
    }
    assert_eq!(answers[1]["packet"].get("owner"), None, "shared");
    assert_eq!(answers[0]["packet"]["owner"], "owner 0");

    let flags = [
        "-f",
        "packet.md",
        "--title",
        "Mine",
        "--next-step",
        "only this",
        "--ref",
        "app/billing:rate@2",
        "--to-agent",
        "x",
    ];
    let answer = scout.json(&[&["handoffs", "create"], flags.as_slice()].concat());
    says(
        &answer,
        &json!({"title": "Mine", "next_steps": ["only this"], "to_agent": "x", "open_questions": ["which rounding?"]}),
    );
    assert_eq!(answer["refs"].as_array().map(Vec::len), Some(1), "{answer}");
}

#[test]
fn a_file_that_holds_no_packet_is_refused_with_its_place() {
    let place = Place::new();
    let scout = with_rates(&place);
    for (input, word) in [
        (r#"{"title": "t", "summary": "s", "nextsteps": ["x"]}"#, "nextsteps"),
        (
            r#"{"title": "t", "summary": "s", "refs": [{"scope": "a", "key": "k", "v": 1}]}"#,
            "`v`",
        ),
        (r#"{"title": "t", "summary": "s", "next_steps": "x"}"#, "line 1"),
        (r#"{"title": "t", "title": "u", "summary": "s"}"#, "title"),
        (r#"{"title": "t", "summary": "s"} more"#, "line 1"),
        (r#"{"title": "t"}"#, "summary"),
        (
            r#"{"title": "t", "summary": "s", "refs": [{"scope": "a", "key": "k", "version": 0}]}"#,
            "refs[0].version",
        ),
        ("no heading at all", "# title"),
        ("# t\n## Summary\ns\n## Refs\n- nowhere\n", "nowhere"),
        ("## Summary\ns\n", "title"),
        ("", "title"),
    ] {
        let ran = scout.given(&["handoffs", "create", "-f", "-"], input);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{input}: {ran:?}");
        assert!(ran.stderr.contains(word), "{input}: {ran:?}");
    }
    for name in ["no-such-file", "."] {
        let ran = scout.run(&["handoffs", "create", "-f", name]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(name), "{ran:?}");
    }
    assert_eq!(scout.json(&["handoffs", "list"])["total"], 0);
}

/// An editor: a script that gets the draft's path as `$1`, and a folder of its own for drafts.
struct Desk {
    place: Place,
    scout: Shell,
}

impl Desk {
    fn new() -> Self {
        let place = Place::new();
        let scout = with_rates(&place).env("TMPDIR", place.data().to_str().expect("UTF-8"));
        Self { place, scout }
    }

    /// A shell whose editor runs this script.
    fn editing(&self, script: &str) -> Shell {
        let editor = self.place.path().join("my editor");
        fs::write(&editor, format!("#!/bin/sh\n{script}\n")).expect("a script");
        fs::set_permissions(&editor, Permissions::from_mode(0o755)).expect("an executable");
        let word = format!("'{}' --wait", editor.display());
        // It is called with an argument of its own before the draft's path.
        self.scout.clone().env("EDITOR", &word)
    }

    /// A shell whose editor leaves this text as the draft.
    fn writing(&self, text: &str) -> Shell {
        let new = self.place.path().join("new draft");
        fs::write(&new, text).expect("a file");
        self.editing(&format!("cat '{}' > \"$2\"", new.display()))
    }

    /// The drafts that are still there.
    fn drafts(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.place.data()).expect("the folder for drafts");
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    fn packets(&self) -> Value {
        self.scout.json(&["handoffs", "list"])["total"].clone()
    }

    /// Asserts that nothing was written, and that what the person wrote is where it was told to be, for its user alone.
    #[track_caller]
    fn kept(&self, ran: &Ran, text: &str) {
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        let drafts = self.drafts();
        let [draft] = drafts.as_slice() else {
            panic!("not one draft: {drafts:?}, {ran:?}")
        };
        assert!(ran.stderr.contains(draft.to_str().expect("UTF-8")), "{ran:?}");
        assert_eq!(fs::read_to_string(draft).expect("the draft"), text);
        assert_eq!(
            fs::metadata(draft).expect("the draft").permissions().mode() & 0o777,
            0o600
        );
        assert_eq!(self.packets(), 0);
        fs::remove_file(draft).expect("it is taken away");
    }
}

#[test]
fn a_packet_is_written_in_an_editor() {
    let desk = Desk::new();
    let seen = desk.place.path().join("seen");
    let look = format!("cp \"$2\" '{0}'; ls -l \"$2\" > '{0}.mode'", seen.display());
    let new = desk.place.path().join("new");
    fs::write(&new, MARKDOWN).expect("a file");
    let shell = desk.editing(&format!("{look}; cat '{}' > \"$2\"", new.display()));
    let flags = [
        "handoffs",
        "create",
        "--edit",
        "--title",
        "A title",
        "--next-step",
        "a\nstep",
        "--ref",
        "app/billing:rate",
        "--to-agent",
        "x",
        "--expires-in",
        "0",
        "--cwd",
        "/elsewhere",
    ];
    let answer = shell.json(&flags);
    says(
        &answer,
        &json!({"title": "Rates: half done", "to_agent": "codex", "next_steps": described()["next_steps"]}),
    );
    assert_eq!(
        answer["packet"].get("expires_at"),
        None,
        "what has no place in the draft comes from the flags"
    );
    assert_eq!(answer["packet"]["cwd"], "/elsewhere");
    assert_eq!(answer["refs"].as_array().map(Vec::len), Some(2), "{answer}");
    // The draft began with what the flags said, and nobody else could read it.
    let draft = fs::read_to_string(&seen).expect("what the editor got");
    for line in [
        "# A title",
        "- a",
        "  step",
        "- app/billing:rate",
        "x",
        "## Open questions",
    ] {
        assert!(
            draft.lines().any(|one| one == line),
            "{line:?} is not in the draft:\n{draft}"
        );
    }
    let mode = fs::read_to_string(desk.place.path().join("seen.mode")).expect("its mode");
    assert!(mode.starts_with("-rw-------"), "{mode}");
    assert!(desk.drafts().is_empty(), "a draft that was taken is gone");
}

#[test]
fn a_draft_that_comes_back_as_it_was_writes_nothing() {
    let desk = Desk::new();
    for script in ["exit 0", "touch \"$2\"", ": > \"$2\"", "printf ' \\n\\n' > \"$2\""] {
        for flags in [[].as_slice(), &["--title", "t", "--summary", "s", "--next-step", "x"]] {
            let ran = desk
                .editing(script)
                .run(&[&["handoffs", "create", "--edit"], flags].concat());
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(1), ""), "{script}: {ran:?}");
            assert!(ran.stderr.contains("nothing was written"), "{script}: {ran:?}");
        }
    }
    assert!(desk.drafts().is_empty());
    assert_eq!(desk.packets(), 0);
}

#[test]
fn a_draft_that_cannot_be_taken_is_kept_and_its_place_is_told() {
    let desk = Desk::new();
    for (text, word) in [
        ("# t\n## Summary\n", "summary"),
        ("## Summary\nwork of an hour\n", "title"),
        ("work of an hour\n", "# title"),
        ("# t\n## Summary\nwork of an hour\n## Refs\n- nowhere\n", "nowhere"),
        (
            &format!("# {}\n## Summary\nwork of an hour\n", "long ".repeat(50)),
            "200",
        ),
    ] {
        let ran = desk.writing(text).run(&["handoffs", "create", "--edit"]);
        assert!(ran.stderr.contains(word), "{ran:?}");
        desk.kept(&ran, text);
    }
    // An editor that fails may have saved something.
    let ran = desk
        .editing("printf 'half a thought' > \"$2\"; exit 3")
        .run(&["handoff", "--edit"]);
    desk.kept(&ran, "half a thought");
    let ran = desk
        .scout
        .clone()
        .env("EDITOR", "/no/such/editor")
        .run(&["handoff", "--edit", "--title", "only this"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let drafts = desk.drafts();
    let [draft] = drafts.as_slice() else {
        panic!("{drafts:?}, {ran:?}")
    };
    assert!(ran.stderr.contains(draft.to_str().expect("UTF-8")), "{ran:?}");
    assert!(fs::read_to_string(draft).expect("the draft").contains("# only this"));
}

#[test]
fn a_person_who_says_nothing_gets_the_editor_and_visual_goes_first() {
    let desk = Desk::new();
    let shell = desk.writing(MARKDOWN);
    let (from, to) = (desk.place.path().join("my editor"), desk.place.path().join("visual"));
    fs::rename(&from, &to).expect("the editor has another name");
    let shell = shell
        .env("EDITOR", "/no/such/editor")
        .env("VISUAL", &format!("'{}' x", to.display()));
    let Screen { code, text } = at_terminal(&shell.start(&["handoffs", "create"]), 100, "");
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("written") && text.contains("Rates: half done"), "{text}");
    assert_eq!(desk.packets(), 1);
    // A program has no editor.
    let ran = shell.run(&["handoffs", "create"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("title"), "{ran:?}");
    assert!(desk.drafts().is_empty());
}
