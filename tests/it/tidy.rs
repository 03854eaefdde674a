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

/// What each room may import, besides itself. The order is the house's, from the top floor down.
const MAY_KNOW: [(&str, &[&str]); 10] = [
    ("main", &["cli", "config"]),
    (
        "lib",
        &["app", "cli", "config", "domain", "http", "mcp", "store", "wire"],
    ),
    ("cli", &["app", "wire", "config", "domain", "mcp", "http", "store"]),
    ("mcp", &["app", "wire", "domain"]),
    ("http", &["app", "wire", "domain"]),
    ("wire", &["app", "domain", "store"]),
    ("app", &["domain", "store", "config"]),
    ("config", &["domain", "store"]),
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

#[test]
fn rooms_import_downwards_only() {
    for (name, text) in files("src") {
        let here = room(&name);
        let (_, may_know) = MAY_KNOW
            .iter()
            .find(|(room, _)| *room == here)
            .unwrap_or_else(|| panic!("src/{name} is in no known room"));
        let code = code(&text);
        for (other, _) in MAY_KNOW {
            if other == here || other == "main" || other == "lib" || may_know.contains(&other) {
                continue;
            }
            for path in [
                format!("crate::{other}::"),
                format!("crate::{other};"),
                format!("handoff_memory::{other}::"),
            ] {
                assert!(
                    !code.contains(&path),
                    "src/{name} imports {path}, which {here} may not know"
                );
            }
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
