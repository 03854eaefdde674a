//! The `handoff-memory` program: parse, log to standard error, dispatch, exit code.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use handoff_memory::cli::{Cli, parse, run};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // A client starts the program without arguments, and waits: there is nothing to parse then. Wrong arguments end with
    // code 2 and a message on standard error.
    let cli = if std::env::args_os().len() == 1 {
        Cli::default()
    } else {
        match parse() {
            Ok(cli) => cli,
            Err(code) => return code,
        }
    };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        // That nobody reads the log is no reason to stop: a failure to write it must not be told by a panic.
        .log_internal_errors(false)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    if cli.logs_json() {
        log.json().flatten_event(true).init();
    } else {
        log.init();
    }
    run(cli)
}
