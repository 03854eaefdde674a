//! The command line: settings as flags, and what is done without an MCP client.

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};

use crate::app::{App, AppError};
use crate::config::{Config, Flags, Surroundings};
use crate::domain::ledger::Checkpoint;
use crate::mcp;
use crate::wire::make;

/// Shared, versioned memory for AI agents, and the handoff that carries their work across sessions.
///
/// Without a subcommand it serves MCP on standard input and output; that is what a client's config entry starts.
#[derive(Debug, Default, Parser)]
#[command(name = "handoff-memory", version, about, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    settings: Settings,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Settings; each has a variable of the environment, too.
#[derive(Debug, Default, Args)]
struct Settings {
    /// The database file [env: MEMORY_DB]
    #[arg(long, global = true, value_name = "FILE")]
    db: Option<String>,
    /// Who acts [env: AGENT_ID] [default: the client's name]
    #[arg(long, global = true, value_name = "NAME")]
    agent: Option<String>,
    /// This run of it [env: SESSION_ID] [default: the process]
    #[arg(long, global = true, value_name = "NAME")]
    session: Option<String>,
    /// The person that the agent acts for [env: MEMORY_OWNER] [default: nobody, packets are shared]
    #[arg(long, global = true, value_name = "NAME")]
    owner: Option<String>,
    /// The outer home [env: MEMORY_WORKSPACE] [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    workspace: Option<String>,
    /// The inner home; `auto`: the git repository [env: MEMORY_PROJECT] [default: default]
    #[arg(long, global = true, value_name = "NAME")]
    project: Option<String>,
    /// How long a packet waits when it does not say; 0: for ever [env: MEMORY_HANDOFF_TTL] [default: 14d]
    #[arg(long, global = true, value_name = "SPAN")]
    handoff_ttl: Option<String>,
    /// How long a claim holds without activity; 0: for ever [env: MEMORY_CLAIM_LEASE] [default: 8h]
    #[arg(long, global = true, value_name = "SPAN")]
    claim_lease: Option<String>,
    /// What a commit waits for: full (the disk) or normal [env: MEMORY_DURABILITY] [default: full]
    #[arg(long, global = true, value_name = "LEVEL")]
    durability: Option<String>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Prove every hash, chain, row and index of the file
    ///
    /// Exit codes: 0 intact, 1 a fault was found, 2 could not run.
    Verify {
        /// Prove too that the store extends this checkpoint; may be given more than once
        #[arg(long = "checkpoint", value_name = "CHECKPOINT")]
        checkpoints: Vec<String>,
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
    /// Print one string that pins the project's whole ledger; keep it outside the store
    ///
    /// Exit codes: 0 printed, 2 could not run.
    Checkpoint,
}

impl From<Settings> for Flags {
    fn from(settings: Settings) -> Self {
        Self {
            db: settings.db,
            agent: settings.agent,
            session: settings.session,
            owner: settings.owner,
            workspace: settings.workspace,
            project: settings.project,
            handoff_ttl: settings.handoff_ttl,
            claim_lease: settings.claim_lease,
            durability: settings.durability,
        }
    }
}

/// Runs the program as its arguments say, and tells its exit code.
pub fn run(cli: Cli) -> ExitCode {
    let config = match Config::resolve(cli.settings.into(), &Surroundings::of_process()) {
        Ok(config) => config,
        Err(invalid) => {
            eprintln!("handoff-memory: {invalid}");
            return ExitCode::from(2);
        }
    };
    for notice in &config.notices {
        eprintln!("handoff-memory: {notice}");
    }
    // Two workers serve one client; the store has a thread of its own.
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("handoff-memory: the system gave no threads to work with: {error}");
            return ExitCode::from(2);
        }
    };
    let app = Arc::new(App::new(config));
    let code = runtime.block_on(async {
        match cli.command {
            None => serve(Arc::clone(&app)).await,
            Some(Command::Verify { checkpoints, json }) => told(verify(&app, &checkpoints, json).await),
            Some(Command::Checkpoint) => told(checkpoint(&app).await),
        }
    });
    // A client that keeps the input open must not keep the process from ending.
    runtime.shutdown_background();
    code
}

fn told(result: Result<ExitCode, AppError>) -> ExitCode {
    result.unwrap_or_else(|error| {
        eprintln!("handoff-memory: {error}\n  {}", error.hint());
        ExitCode::from(2)
    })
}

async fn serve(app: Arc<App>) -> ExitCode {
    match mcp::serve(app, std::io::stdin(), std::io::stdout(), stopped()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the session ended early");
            ExitCode::FAILURE
        }
    }
}

/// Resolves when the system asks the process to end.
#[cfg(unix)]
async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    // A write past a file size limit is to fail as a write does, and not to end the process.
    let too_large = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
    match (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
        too_large,
    ) {
        (Ok(mut terminate), Ok(mut interrupt), _too_large) => {
            tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
        }
        _ => std::future::pending().await,
    }
}

/// Resolves when the user asks the process to end.
#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn verify(app: &App, checkpoints: &[String], json: bool) -> Result<ExitCode, AppError> {
    let checkpoints = checkpoints
        .iter()
        .map(|text| Checkpoint::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let report = app.verify(checkpoints, |_, _| {}).await?;
    if json {
        println!(
            "{}",
            serde_json::to_string(&make::verified(&report)).unwrap_or_default()
        );
    } else if report.ok() {
        println!(
            "intact: {} rows checked in {}",
            report.checked,
            app.config().db.display()
        );
    } else {
        for fault in &report.faults {
            println!("{}: {}: {}", fault.kind, visible(&fault.place), visible(&fault.what));
        }
        println!(
            "{} kinds of fault in {}",
            report.faults.len(),
            app.config().db.display()
        );
    }
    Ok(if report.ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

async fn checkpoint(app: &App) -> Result<ExitCode, AppError> {
    println!("{}", app.checkpoint(&app.caller(None, None)).await?);
    Ok(ExitCode::SUCCESS)
}

/// Stored text on a terminal: control characters and marks that turn its direction are shown, not obeyed.
fn visible(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            c if c.is_control() => c.escape_default().to_string(),
            '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
                c.escape_unicode().to_string()
            }
            c => c.to_string(),
        })
        .collect()
}
