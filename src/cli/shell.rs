//! What helps at a shell: completions, the man page, and what a person sees who starts the program without arguments.

use std::path::PathBuf;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::output::{CliError, Done, Out, Ran, plain};
use super::{Cli, print};

/// What `completions` takes.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

/// What `man` takes.
#[derive(Debug, Args)]
pub struct Man {
    /// Write a page for each subcommand into this folder, instead of the main page to standard output
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

/// Prints the completions of a shell.
pub fn completions(out: &mut Out, args: &Completions) -> Ran {
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "handoff-memory", &mut text);
    out.write(&String::from_utf8_lossy(&text))?;
    Ok(Done::Well)
}

/// Prints or writes the manual.
pub fn man(out: &mut Out, args: &Man) -> Ran {
    let failed = |error: std::io::Error| CliError::File(format!("the manual could not be written: {}", plain(&error)));
    match &args.dir {
        Some(folder) => {
            std::fs::create_dir_all(folder).map_err(failed)?;
            clap_mangen::generate_to(Cli::command().disable_help_subcommand(true), folder).map_err(failed)?;
        }
        None => {
            let mut text = Vec::new();
            clap_mangen::Man::new(Cli::command().disable_help_subcommand(true))
                .render(&mut text)
                .map_err(failed)?;
            out.write(&String::from_utf8_lossy(&text))?;
        }
    }
    Ok(Done::Well)
}

/// What a person sees who starts the program at a terminal: what it is for, and the entry to paste.
pub fn welcome(db: &str, json: bool) -> Result<(), CliError> {
    let mut out = Out::new(json);
    let binary =
        std::env::current_exe().map_or_else(|_| "handoff-memory".to_owned(), |path| path.display().to_string());
    let entry = serde_json::json!({
        "mcpServers": {
            "handoff-memory": {
                "command": binary,
                "args": [],
                "env": { "MEMORY_DB": db, "AGENT_ID": "claude-code" }
            }
        }
    });
    if out.took(&entry)? {
        return out.flush();
    }
    let entry = serde_json::to_string_pretty(&entry).unwrap_or_default();
    out.line(print::styled(
        print::HEADING,
        "handoff-memory: one memory for several agents, and the handoff between them",
    ))?;
    out.line("")?;
    out.line("Without a subcommand this program speaks MCP on standard input and output: an agent's client")?;
    out.line(
        "starts it, not a person. Put this into your client's MCP config, with a name of its own for each agent:",
    )?;
    out.line("")?;
    out.line(entry)?;
    out.line("")?;
    out.line("or, for Claude Code:")?;
    out.line("")?;
    out.line(format!(
        "  claude mcp add handoff-memory -e MEMORY_DB={} -e AGENT_ID=claude-code -- {}",
        quoted(db),
        quoted(&binary)
    ))?;
    out.line("")?;
    out.line(
        "At a shell: `handoff-memory handoffs list` shows what waits, `handoff-memory --help` what else there is.",
    )?;
    out.flush()
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}
