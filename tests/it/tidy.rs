//! The rules of the house that a program can check: headers, lengths, and who may import whom.

use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file below a folder of the project, with its path from `src` on and its text.
fn files(folder: &str) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path: PathBuf = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ext| ext == "rs") {
                let name = path
                    .strip_prefix(&root)
                    .expect("below the root")
                    .to_string_lossy()
                    .replace('\\', "/");
                found.push((name, fs::read_to_string(&path).expect("source text")));
            }
        }
    }
    assert!(!found.is_empty());
    found.sort();
    found
}

/// The text without its comments.
fn code(text: &str) -> String {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or_default())
        .collect::<Vec<_>>()
        .join("\n")
}

/// The room of a file: its first path segment without the ending.
fn room(name: &str) -> &str {
    name.split('/').next().unwrap_or_default().trim_end_matches(".rs")
}

/// What each room may import, besides itself: a room, or one thing of it. From the top floor down.
const MAY_KNOW: [(&str, &[&str]); 11] = [
    ("main", &["cli", "config"]),
    (
        "lib",
        &["app", "ask", "cli", "config", "domain", "http", "mcp", "store", "wire"],
    ),
    ("cli", &["app", "wire", "config", "domain", "mcp", "http"]),
    ("mcp", &["app", "ask", "wire", "domain"]),
    ("http", &["app", "ask", "wire", "domain"]),
    ("ask", &["wire::schema", "domain"]),
    ("wire", &["app", "domain"]),
    ("app", &["domain", "store", "config"]),
    ("config", &["domain", "store::Durability"]),
    ("store", &["domain"]),
    ("domain", &[]),
];

#[test]
fn every_file_says_what_it_is_for() {
    for folder in ["src", "tests/it", "demo", "benches"] {
        for (name, text) in files(folder) {
            assert!(
                text.starts_with("//! "),
                "{folder}/{name} does not begin with a `//!` line"
            );
        }
    }
}

#[test]
fn no_file_holds_two_nouns() {
    for (name, text) in files("src") {
        let lines = text.lines().count();
        assert!(
            lines <= 400,
            "src/{name} has {lines} lines; over 400 it holds two nouns"
        );
        assert!(!name.ends_with("mod.rs"), "src/{name}: name.rs stands beside name/");
    }
}

/// What of the crate's rooms a file names, as `room::thing` or `room`: in a path, in a group of imports, or through
/// `super`.
fn rooms_named(name: &str, text: &str) -> Vec<String> {
    let code: String = code(text).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut named = Vec::new();
    for root in ["crate::", "handoff_memory::"] {
        for (at, _) in code.match_indices(root) {
            let before = code[..at].chars().next_back();
            if before.is_none_or(|c| !c.is_alphanumeric() && c != '_') {
                named.extend(leaves(&code[at + root.len()..]));
            }
        }
    }
    // `super` leads out of a room where it is repeated more often than the file is deep.
    let depth = name.matches('/').count();
    for (at, word) in code.match_indices(&"super::".repeat(depth + 1)) {
        named.extend(leaves(&code[at + word.len()..]));
    }
    named
}

/// The first two segments of each path of an import, which may be a group: `{app::{App, Caller}, wire}`.
fn leaves(rest: &str) -> Vec<String> {
    let segment = |text: &str| -> String { text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect() };
    let Some(group) = rest.strip_prefix('{') else {
        let first = segment(rest);
        let Some(more) = rest[first.len()..].strip_prefix("::") else {
            return vec![first];
        };
        let seconds = match more.strip_prefix('{') {
            Some(group) => members(group).iter().map(|member| segment(member)).collect(),
            None => vec![segment(more)],
        };
        return seconds.iter().map(|second| format!("{first}::{second}")).collect();
    };
    members(group).iter().flat_map(|member| leaves(member)).collect()
}

/// The members of a group of imports, up to its closing brace.
fn members(group: &str) -> Vec<String> {
    let mut depth = 0;
    let mut members = vec![String::new()];
    for c in group.chars() {
        match c {
            '}' if depth == 0 => break,
            ',' if depth == 0 => members.push(String::new()),
            _ => {
                depth += i32::from(c == '{') - i32::from(c == '}');
                members.last_mut().expect("one at least").push(c);
            }
        }
    }
    members
        .iter()
        .map(|member| member.trim().to_owned())
        .filter(|member| !member.is_empty())
        .collect()
}

#[test]
fn imports_are_seen_however_they_are_written() {
    for (name, text, seen) in [
        ("mcp.rs", "use crate::app::App;", vec!["app::App"]),
        (
            "mcp/a.rs",
            "use crate::{app::{App, Caller}, wire};",
            vec!["app::App", "app::Caller", "wire"],
        ),
        (
            "mcp/a.rs",
            "use crate::{\n    store::{self, sqlite::Store},\n};",
            vec!["store::self", "store::sqlite"],
        ),
        (
            "mcp/a.rs",
            "fn f() -> crate::store::StoreError {}",
            vec!["store::StoreError"],
        ),
        ("mcp/a.rs", "use super::super::cli;", vec!["cli"]),
        ("mcp/a.rs", "use super::answer;", vec![]),
        ("mcp/a/b.rs", "use super::super::answer;", vec![]),
        ("mcp.rs", "use super::cli::run;", vec!["cli::run"]),
        ("main.rs", "handoff_memory::cli::main()", vec!["cli::main"]),
        ("mcp.rs", "// use crate::store::Store;", vec![]),
    ] {
        assert_eq!(rooms_named(name, text), seen, "{text}");
    }
}

#[test]
fn rooms_import_downwards_only() {
    let mut broken = Vec::new();
    for (name, text) in files("src") {
        let here = room(&name);
        let (_, may_know) = MAY_KNOW
            .iter()
            .find(|(room, _)| *room == here)
            .unwrap_or_else(|| panic!("src/{name} is in no known room"));
        for path in rooms_named(&name, &text) {
            let (other, thing) = path.split_once("::").unwrap_or((&path, ""));
            let known = MAY_KNOW.iter().any(|(room, _)| *room == other);
            let by_name = ["main", "lib"].contains(&other);
            let allowed = other == here
                || may_know
                    .iter()
                    .any(|may| *may == other || may.split_once("::") == Some((other, thing)));
            if known && !by_name && !allowed {
                broken.push(format!("src/{name} knows {path}"));
            }
        }
    }
    assert!(
        broken.is_empty(),
        "against docs/architecture.md:\n{}",
        broken.join("\n")
    );
}

#[test]
fn only_a_face_knows_its_protocol() {
    for (name, text) in files("src") {
        for (word, rooms) in [
            ("rmcp::", &["mcp"] as &[&str]),
            ("clap::", &["cli", "config", "main"]),
            ("schemars::", &["ask", "http", "mcp", "wire"]),
            ("axum::", &["cli", "http", "mcp"]),
            ("prometheus::", &["http"]),
        ] {
            let knows = code(&text).contains(word);
            assert!(!knows || rooms.contains(&room(&name)), "src/{name} knows {word}");
        }
    }
}

#[test]
fn only_the_sqlite_store_knows_rusqlite() {
    for (name, text) in files("src") {
        if !name.starts_with("store/sqlite") {
            assert!(!code(&text).contains("rusqlite"), "src/{name} knows rusqlite");
        }
    }
}

#[test]
fn only_the_command_line_prints() {
    for (name, text) in files("src") {
        if room(&name) != "cli" && room(&name) != "main" {
            for word in ["println!", "print!", "dbg!"] {
                let code = code(&text).replace("eprintln!", "").replace("eprint!", "");
                assert!(!code.contains(word), "src/{name} uses {word}");
            }
        }
    }
}

#[test]
fn the_domain_does_no_io_and_reads_no_clock() {
    for (name, text) in files("src").into_iter().filter(|(name, _)| room(name) == "domain") {
        // What stands after `mod tests` may do as it likes.
        let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
        for word in [
            "std::fs",
            "std::env",
            "std::net",
            "SystemTime::now",
            "Instant::now",
            "Timestamp::now",
            "getrandom",
            "tokio",
        ] {
            assert!(!code(&text).contains(word), "src/{name} uses {word}");
        }
    }
}
