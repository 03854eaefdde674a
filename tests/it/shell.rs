//! Subcommands as a person or a program at a shell runs them.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::harness::{PATIENCE, Place, Ran, Refusal, Start, drain, no_null, wait};

/// Somebody who runs subcommands, one process each.
#[derive(Clone)]
pub struct Shell {
    start: Start,
}

impl Shell {
    /// The agent `name` at a place. Nothing is logged, so that whatever stands on standard error was said by a command.
    pub fn of(place: &Place, name: &str) -> Self {
        Self {
            start: place.start().agent(name).env("RUST_LOG", "off"),
        }
    }

    pub fn env(self, name: &str, value: &str) -> Self {
        Self {
            start: self.start.env(name, value),
        }
    }

    pub fn cwd(self, path: impl Into<PathBuf>) -> Self {
        Self {
            start: self.start.cwd(path),
        }
    }

    /// One command, to be started in another way.
    pub fn start(&self, args: &[&str]) -> Start {
        self.start.clone().args(args)
    }

    /// Runs one command with nothing on standard input.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start(args).run()
    }

    /// Runs one command with this text on standard input.
    pub fn given(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.start(args).command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable starts");
        let mut stdin = child.stdin.take().expect("stdin");
        let input = input.to_owned();
        // A command that ends without reading must not hold the test up.
        std::thread::spawn(move || {
            let _ = stdin.write_all(input.as_bytes());
        });
        ended(child)
    }

    /// What a command that must succeed tells a person, and that it says nothing else.
    #[track_caller]
    pub fn says(&self, args: &[&str]) -> String {
        let ran = self.run(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}: {ran:?}");
        ran.stdout
    }

    /// The one JSON document that a command gives a program.
    #[track_caller]
    pub fn json(&self, args: &[&str]) -> Value {
        let with_json = [args, &["--json"]].concat();
        let ran = self.run(&with_json);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{args:?}: {ran:?}");
        document(&ran.stdout)
    }

    /// The refusal of a command that must end with this exit code and fail with this code; both forms say the same.
    #[track_caller]
    pub fn refused(&self, args: &[&str], exit: i32, code: &str) -> Refusal {
        let refusal = refusal(&self.run(&[args, &["--json"]].concat()), exit);
        assert_eq!(refusal.code, code, "{args:?}: {refusal:?}");
        let told = self.run(args);
        assert_eq!(
            (told.code, told.stdout.as_str()),
            (Some(exit), ""),
            "{args:?}: {told:?}"
        );
        // A program is told the same on every face; a person what to do at a shell.
        let hint = told.stderr.lines().find_map(|line| line.strip_prefix("  "));
        assert!(
            !refusal.hint.is_empty() && hint.is_some_and(|hint| !hint.is_empty()),
            "{told:?}"
        );
        for word in ["handoff_id", "outcome_ref", "expected_version", "`supersedes`"] {
            assert!(
                !hint.is_some_and(|hint| hint.contains(word)),
                "a hint says {word}: {told:?}"
            );
        }
        refusal
    }

    /// `remember` of JSON text.
    #[track_caller]
    pub fn remember(&self, scope: &str, key: &str, json: &str) -> Value {
        self.json(&["remember", "--scope", scope, "--key", key, "--value", json])["record"].clone()
    }

    /// The value that is current under an exact name.
    #[track_caller]
    pub fn value(&self, scope: &str, key: &str) -> Value {
        let found = self.json(&["recall", "--scope", scope, "--key", key]);
        assert_eq!(found["total"], 1, "{scope}/{key}: {found}");
        found["records"][0]["value"].clone()
    }

    /// The id of a new packet, with these flags beside title and summary.
    #[track_caller]
    pub fn hand_off(&self, title: &str, more: &[&str]) -> String {
        let args = [
            &[
                "handoffs",
                "create",
                "--title",
                title,
                "--summary",
                "where things stand",
            ],
            more,
        ]
        .concat();
        let answer = self.json(&args);
        answer["packet"]["id"].as_str().expect("a packet's id").to_owned()
    }

    /// `handoffs show` of a packet of the caller's.
    #[track_caller]
    pub fn show(&self, id: &str) -> Value {
        self.json(&["handoffs", "show", id])
    }
}

/// Takes what a finished process left.
pub fn ended(mut child: Child) -> Ran {
    let stdout = child.stdout.take().map(drain);
    let stderr = child.stderr.take().map(drain);
    let status = wait(&mut child, PATIENCE).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("a command did not end within {PATIENCE:?}")
    });
    let text = |read: Option<std::thread::JoinHandle<String>>| {
        read.map_or_else(String::new, |read| read.join().expect("it was read"))
    };
    Ran {
        code: status.code(),
        stdout: text(stdout),
        stderr: text(stderr),
    }
}

/// Standard output that must be one JSON document on one line, and nothing else.
#[track_caller]
pub fn document(stdout: &str) -> Value {
    let line = stdout
        .strip_suffix('\n')
        .unwrap_or_else(|| panic!("no line: {stdout:?}"));
    assert!(!line.contains('\n'), "more than one line: {stdout}");
    let document = serde_json::from_str(line).unwrap_or_else(|e| panic!("not one JSON document ({e}): {stdout}"));
    no_null(&document, "");
    document
}

/// What a command with `--json` that failed with this exit code says on standard error, with nothing on standard output.
#[track_caller]
pub fn refusal(ran: &Ran, exit: i32) -> Refusal {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(exit), ""), "{ran:?}");
    let told = document(&ran.stderr);
    let word = |name: &str| {
        let word = told["error"][name].as_str();
        word.unwrap_or_else(|| panic!("no `{name}`: {told}")).to_owned()
    };
    Refusal {
        code: word("code"),
        message: word("message"),
        hint: word("hint"),
    }
}
