//! The command line: settings as flags, and what is done without an MCP client.

pub mod output;
pub mod print;

mod doctor;
mod handoffs;
mod interrupt;
mod ledger;
mod markdown;
mod memory;
mod moving;
mod progress;
mod purge;
mod refs;
mod serve;
mod shell;
mod stats;
mod tokens;
mod words;

use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use tokio::runtime::Builder;

use self::handoffs::draft::Draft;
use self::output::{Done, Out, Ran, is_attended, say, told};
use crate::app::{App, Caller};
use crate::config::{Config, Flags, Surroundings};
use crate::mcp;

/// Shared, versioned memory for AI agents, and the handoff that carries their work across sessions.
///
/// Without a subcommand it serves MCP on standard input and output; that is what a client's config entry starts.
///
/// Exit codes: 0 done (an empty answer, too); 1 a fault was found, or a rule said no (not_found, conflict, not_allowed);
/// 2 it could not run (wrong arguments, no database, busy, read-only, disk full, damage).
#[derive(Debug, Default, Parser)]
#[command(
    name = "handoff-memory",
    version,
    about,
    max_term_width = 100,
    next_help_heading = "Settings"
)]
pub struct Cli {
    #[command(flatten)]
    settings: Settings,
    /// How what is logged on standard error looks; RUST_LOG says what is [env: MEMORY_LOG_FORMAT] [default: text]
    #[arg(long, global = true, value_name = "FORMAT", value_parser = ["text", "json"], help_heading = "Output")]
    log_format: Option<String>,
    /// Print one JSON document for programs (`log`: one a line); errors on standard error are JSON, too
    #[arg(long, global = true, help_heading = "Output")]
    json: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

impl Cli {
    /// Whether the log is to be JSON lines.
    pub fn logs_json(&self) -> bool {
        let variable = || std::env::var("MEMORY_LOG_FORMAT").ok();
        let format = self.log_format.clone().or_else(variable);
        format.is_some_and(|format| format.trim().eq_ignore_ascii_case("json"))
    }
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
    /// Write down something other agents or later sessions should know
    Remember(memory::Remember),
    /// Read a record by scope and key, or search
    Recall(memory::Recall),
    /// Every version of one record, oldest first
    History(memory::History),
    /// Write a packet for the next session (the same as `handoffs create`)
    Handoff(Box<Draft>),
    /// Take up the work that waits for you (with an id the same as `handoffs accept`)
    Resume(handoffs::Resume),
    /// Report how acting on what was remembered turned out, and end the packet you worked on
    #[command(name = "record_outcome", alias = "record-outcome")]
    RecordOutcome(handoffs::RecordOutcome),
    /// Who and where you are, what there is, and what waits
    #[command(name = "memory_stats", aliases = ["memory-stats", "stats"])]
    MemoryStats(stats::MemoryStats),
    /// The queue: see what waits, and act on it
    #[command(subcommand)]
    Handoffs(handoffs::Handoffs),
    /// The ledger: everything that happened, newest last
    Log(ledger::Log),
    /// Compare two versions of a record
    Diff(memory::Diff),
    /// Prove every hash, chain, row and index of the file
    Verify(ledger::Verify),
    /// Print one string that pins the project's whole ledger; keep it outside the store
    Checkpoint(ledger::Print),
    /// Copy the store as it is now, under whatever is being written, and prove the copy
    Backup(moving::Backup),
    /// Write everything down as JSON Lines: versions, hashes, packets, outcomes, ledger; nothing is lost
    Export(moving::Export),
    /// Take an export in: what is absent is taken, what goes on is added, what has diverged is left alone
    Import(moving::Import),
    /// Remove a value, a packet's texts or a note for ever; what refers to it still verifies
    Purge(purge::Purge),
    /// Serve the store over HTTP: REST, MCP, and a page to look at
    ///
    /// Until a token is made it serves everyone on this machine, and listens there alone. `token create` makes one; from then
    /// on it lets nobody in without.
    Serve(serve::Serve),
    /// Who may come in over HTTP
    #[command(subcommand)]
    Token(tokens::Tokens),
    /// Look at everything that can be wrong, each with what to do about it
    Doctor(doctor::Doctor),
    /// Print the completions of a shell
    Completions(shell::Completions),
    /// Print the manual page
    Man(shell::Man),
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

/// What every subcommand works with.
struct Face {
    app: Arc<App>,
    caller: Caller,
    out: Out,
    /// The settings that stood beside the command, without those of the environment.
    flags: Flags,
}

/// Reads the arguments.
///
/// # Errors
/// Has told what is wrong with them, or what was asked about the program itself; gives the exit code.
pub fn parse() -> Result<Cli, ExitCode> {
    Cli::try_parse().map_err(|error| {
        let mut words = std::env::args_os().take_while(|word| word != "--");
        output::of_arguments(&error, words.any(|word| word == "--json"))
    })
}

/// Runs the program as its arguments say, and tells its exit code.
pub fn run(cli: Cli) -> ExitCode {
    let json = cli.json;
    let flags = Flags::from(cli.settings);
    let config = match Config::resolve(flags.clone(), &Surroundings::of_process()) {
        Ok(config) => config,
        Err(invalid) => return told(Err(invalid.into()), json).into(),
    };
    for notice in &config.notices {
        say(format!("handoff-memory: {}", print::visible(notice)));
    }
    let Some(command) = cli.command else {
        // A client's pipe is served; a person at a terminal would wait for ever.
        if is_attended() {
            return told(
                shell::welcome(&config.db.display().to_string(), json).map(|()| Done::Well),
                json,
            )
            .into();
        }
        return in_runtime(Builder::new_current_thread(), config, stdio);
    };
    if let Command::Serve(args) = command {
        return in_runtime(Builder::new_multi_thread(), config, async move |app| {
            serve::run(app, args, json, stopped()).await
        });
    }
    in_runtime(Builder::new_multi_thread(), config, async move |app| {
        interrupt::watch();
        let looks = !json && !matches!(command, Command::Completions(_) | Command::Man(_));
        let caller = app.caller(None, None);
        let mut face = Face {
            app: Arc::clone(&app),
            caller,
            out: Out::new(json),
            flags,
        };
        let ran = dispatch(&mut face, command).await;
        let ran = ran.and_then(|done| face.out.flush().map(|()| done));
        app.close().await;
        if looks && ran.is_ok() && app.sizes().0 == 0 {
            // Nothing found may mean that it was looked for in the wrong place.
            let db = app.config().db.display().to_string();
            say(format!(
                "handoff-memory: there is no database at {} yet",
                print::visible(&db)
            ));
        }
        told(ran, json).into()
    })
}

async fn dispatch(face: &mut Face, command: Command) -> Ran {
    match command {
        Command::Remember(args) => memory::remember(face, args).await,
        Command::Recall(args) => memory::recall(face, args).await,
        Command::History(args) => memory::history(face, args).await,
        Command::Diff(args) => memory::diff(face, args).await,
        Command::Handoff(args) => handoffs::create(face, *args).await,
        Command::Resume(args) => handoffs::resume(face, args).await,
        Command::RecordOutcome(args) => handoffs::record_outcome(face, args).await,
        Command::MemoryStats(args) => stats::memory_stats(face, args).await,
        Command::Handoffs(command) => handoffs::run(face, command).await,
        Command::Log(args) => ledger::log(face, args).await,
        Command::Verify(args) => ledger::verify(face, args).await,
        Command::Checkpoint(args) => ledger::checkpoint(face, args).await,
        Command::Backup(args) => moving::backup(face, args).await,
        Command::Export(args) => moving::export(face, args).await,
        Command::Import(args) => moving::import(face, args).await,
        Command::Purge(args) => purge::purge(face, args).await,
        // Served before: it ends when it is told to, and not by itself.
        Command::Serve(_) => Ok(Done::Well),
        Command::Token(command) => tokens::run(face, command).await,
        Command::Doctor(args) => doctor::doctor(face, args).await,
        Command::Completions(args) => shell::completions(&mut face.out, &args),
        Command::Man(args) => shell::man(&mut face.out, &args),
    }
}

/// Runs `work` on a runtime of its own. One client is best served by one thread: each further one would have to be woken for
/// each call, and the store has threads of its own.
fn in_runtime<F: Future<Output = ExitCode>>(
    mut runtime: Builder,
    config: Config,
    work: impl FnOnce(Arc<App>) -> F,
) -> ExitCode {
    let runtime = match runtime.enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            say(format!(
                "handoff-memory: the system gave no threads to work with: {error}"
            ));
            return Done::Failed.into();
        }
    };
    let code = runtime.block_on(async {
        large_files_fail();
        work(Arc::new(App::new(config))).await
    });
    // A client that keeps the input open must not keep the process from ending.
    runtime.shutdown_background();
    code
}

async fn stdio(app: Arc<App>) -> ExitCode {
    match mcp::serve(app, std::io::stdin(), std::io::stdout(), stopped()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "the session ended early");
            ExitCode::FAILURE
        }
    }
}

/// A write past a file size limit is to fail as a write does, and not to end the process: once the signal has been listened
/// for, it ends nothing any more.
#[cfg(unix)]
fn large_files_fail() {
    use tokio::signal::unix::{SignalKind, signal};
    let _ = signal(SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw()));
}

#[cfg(not(unix))]
fn large_files_fail() {}

/// Resolves when the system asks the process to end. It listens from this call on, and not only from the first look at what it
/// gives: who has read that it serves may ask at once.
#[cfg(unix)]
fn stopped() -> impl Future<Output = ()> {
    use tokio::signal::unix::{SignalKind, signal};
    let asked = (signal(SignalKind::terminate()), signal(SignalKind::interrupt()));
    async move {
        match asked {
            (Ok(mut terminate), Ok(mut interrupt)) => {
                tokio::select! { _ = terminate.recv() => {} _ = interrupt.recv() => {} }
            }
            _ => std::future::pending().await,
        }
    }
}

/// Resolves when the user asks the process to end.
#[cfg(not(unix))]
async fn stopped() {
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending::<()>().await;
    }
}
