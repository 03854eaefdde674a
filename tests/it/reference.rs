//! `docs/cli.md` says what the command line takes, as its definition does.

use std::fmt::Write as _;
use std::path::Path;

use clap::{Arg, ArgAction, Command, CommandFactory as _};
use handoff_memory::cli::Cli;

/// What stands above the part that is made from the definition.
const MARK: &str = "<!-- Made from the definition: UPDATE_SNAPSHOTS=1 cargo test --test it reference -->";

/// The reference of all subcommands as Markdown.
fn reference() -> String {
    let mut root = Cli::command();
    root.build();
    let mut page = String::new();
    section(&mut page, &root, "handoff-memory");
    page
}

fn section(page: &mut String, command: &Command, path: &str) {
    let top = path == "handoff-memory";
    let _ = writeln!(page, "\n## {}\n", if top { "Settings and output" } else { path });
    if top {
        page.push_str("These stand before or after any subcommand.\n");
    } else {
        let about = command.get_long_about().or(command.get_about());
        let _ = writeln!(
            page,
            "{}\n",
            escaped(&about.map(ToString::to_string).unwrap_or_default())
        );
        let usage = command.clone().render_usage().to_string();
        let usage = usage.trim().trim_start_matches("Usage: ").trim();
        let _ = writeln!(page, "```text\n{usage}\n```");
        let aliases: Vec<&str> = command.get_all_aliases().collect();
        if !aliases.is_empty() {
            let names: Vec<String> = aliases.iter().map(|name| format!("`{name}`")).collect();
            let _ = writeln!(page, "\nAlso: {}", names.join(", "));
        }
    }
    let own = |arg: &&Arg| arg.is_global_set() == top && !arg.is_hide_set() && !is_built_in(arg);
    let rows: Vec<String> = command.get_arguments().filter(own).map(row).collect();
    if !rows.is_empty() {
        let _ = writeln!(page, "\n| argument | what it is |\n|---|---|\n{}", rows.join("\n"));
    }
    for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
        section(page, sub, &format!("{path} {}", sub.get_name()));
    }
}

/// Whether it is the help or the version of the program, which every command has.
fn is_built_in(arg: &Arg) -> bool {
    !matches!(
        arg.get_action(),
        ArgAction::Set | ArgAction::Append | ArgAction::SetTrue
    )
}

fn row(arg: &Arg) -> String {
    let value = || {
        let names = arg.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let flag = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("`-{short}`, `--{long}`"),
        (None, Some(long)) => format!("`--{long}`"),
        _ => format!("`{}`", value()),
    };
    let takes = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && arg.get_long().is_some();
    let flag = if takes { format!("{flag} `{}`", value()) } else { flag };
    let help = arg.get_long_help().or(arg.get_help());
    let mut what = help.map(|help| help.to_string()).unwrap_or_default();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if !values.is_empty() && !matches!(arg.get_action(), ArgAction::SetTrue) {
        let _ = write!(what, ": {}", values.join(", "));
    }
    format!("| {flag} | {} |", escaped(&what).replace('\n', " "))
}

fn escaped(text: &str) -> String {
    text.replace('<', "&lt;").replace('|', "\\|").trim().to_owned()
}

#[test]
fn the_page_on_the_command_line_is_made_from_its_definition() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/cli.md");
    let page = std::fs::read_to_string(&path).expect("docs/cli.md");
    let (written, made) = page.split_once(MARK).expect("the mark in docs/cli.md");
    let reference = reference();
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, format!("{written}{MARK}\n{reference}")).expect("docs/cli.md can be written");
        return;
    }
    assert_eq!(
        made.trim(),
        reference.trim(),
        "docs/cli.md is not what the definition says; run UPDATE_SNAPSHOTS=1 cargo test --test it reference"
    );
}

#[test]
fn every_subcommand_and_argument_says_what_it_is() {
    fn check(command: &Command, path: &str) {
        assert!(command.get_about().is_some(), "{path} says nothing of itself");
        for arg in command.get_arguments().filter(|arg| !is_built_in(arg)) {
            assert!(
                arg.get_help().is_some(),
                "{path}: {} says nothing of itself",
                arg.get_id()
            );
        }
        for sub in command.get_subcommands().filter(|sub| sub.get_name() != "help") {
            check(sub, &format!("{path} {}", sub.get_name()));
        }
    }
    let mut root = Cli::command();
    root.build();
    check(&root, "handoff-memory");
}
