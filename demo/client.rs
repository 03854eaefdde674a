//! What both agents of the demo need to talk to `handoff-memory`: their flags, a server process of their own
//! behind an MCP client, and one kind of failure that is worth reading.

use std::env;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use rmcp::ServiceExt;
use rmcp::model::{CallToolRequestParams, ClientCapabilities, ClientConfig, Implementation};
use rmcp::service::{RoleClient, RunningService};
use rmcp::transport::TokioChildProcess;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tokio::process::Command;
use tokio::time::timeout;

/// The server waits up to 10 s for a busy database before it says so; a silence longer than this is a fault.
const PATIENCE: Duration = Duration::from_secs(30);

/// The flags of both programs.
#[derive(Parser)]
#[command(about = "One of the two agents of the handoff-memory demo", long_about = None)]
pub struct Options {
    /// The memory that both agents share: an SQLite file, made when it is not there
    #[arg(long, env = "MEMORY_DB", value_name = "FILE")]
    db: PathBuf,
    /// The handoff-memory program [default: HANDOFF_MEMORY_BIN, else the one that cargo built beside this example]
    #[arg(long, value_name = "PATH")]
    server: Option<PathBuf>,
    /// The job board: a JSON file of listings
    #[arg(long, value_name = "FILE", default_value = concat!(env!("CARGO_MANIFEST_DIR"), "/demo/listings.json"))]
    pub board: PathBuf,
    /// Where files for people are written [default: the folder of the memory]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Options {
    /// The memory's absolute path, `~` expanded as the server does it.
    pub fn memory(&self) -> Result<PathBuf, Failure> {
        let path = match (self.db.strip_prefix("~"), env::home_dir()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => self.db.clone(),
        };
        std::path::absolute(&path).map_err(|source| Failure::File { path, source })
    }

    /// Writes one file for people, and returns its absolute path: what a packet says about files must hold in
    /// another working directory too.
    pub fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let memory = self.memory()?;
        let folder = self.out.as_deref().or(memory.parent()).unwrap_or(Path::new("."));
        let write = || -> io::Result<PathBuf> {
            std::fs::create_dir_all(folder)?;
            let path = folder.canonicalize()?.join(name);
            std::fs::write(&path, text)?;
            Ok(path)
        };
        write().map_err(|source| Failure::File {
            path: folder.join(name),
            source,
        })
    }

    fn server(&self) -> Result<PathBuf, Failure> {
        let named = || {
            env::var_os("HANDOFF_MEMORY_BIN")
                .filter(|path| !path.is_empty())
                .map(PathBuf::from)
        };
        // Cargo puts examples into `examples/` beside the programs of the same profile.
        let built = || {
            let example = env::current_exe().ok()?;
            Some(
                example
                    .parent()?
                    .parent()?
                    .join("handoff-memory")
                    .with_extension(env::consts::EXE_EXTENSION),
            )
        };
        let path = self
            .server
            .clone()
            .or_else(named)
            .or_else(built)
            .unwrap_or_else(|| "handoff-memory".into());
        if path.is_file() {
            Ok(path)
        } else {
            Err(Failure::NoServer { path })
        }
    }
}

/// Why an agent had to stop.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    #[error("there is no handoff-memory at {}: run `cargo build` first, or name one with --server", path.display())]
    NoServer { path: PathBuf },
    #[error("{} could not be started", path.display())]
    Start { path: PathBuf, source: io::Error },
    #[error("{} was started but did not open an MCP session", path.display())]
    Greeting {
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("{tool} was refused ({code}): {message}{}", if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") })]
    Refused {
        tool: &'static str,
        code: String,
        message: String,
        hint: String,
    },
    #[error("{tool} got no answer that it could use")]
    Call {
        tool: &'static str,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("the board cannot be read from {}", path.display())]
    Board {
        path: PathBuf,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("the board answered {url} with something unexpected")]
    Page {
        url: String,
        source: Box<dyn Error + Send + Sync>,
    },
    #[error("{} could not be written", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{0}")]
    Stuck(String),
}

/// One agent's own server process, and the MCP session with it.
pub struct Session {
    service: RunningService<RoleClient, ClientConfig>,
    server: PathBuf,
}

impl Session {
    /// Starts a server for `agent` on the memory in `options`, and greets it.
    pub async fn start(agent: &'static str, options: &Options) -> Result<Self, Failure> {
        let server = options.server()?;
        let mut command = Command::new(&server);
        // Both agents may have been started from one shell: a session id from there would make them one session,
        // and a session is never handed its own packet.
        command
            .env("MEMORY_DB", options.memory()?)
            .env("AGENT_ID", agent)
            .env_remove("SESSION_ID")
            // A variable of this client, which the server would take for a misspelt one of its own.
            .env_remove("HANDOFF_MEMORY_BIN");
        // The server shares our stderr. That it made a new database is news to a user with a mistyped path; here it
        // would land in the middle of the agent's own words.
        if env::var_os("RUST_LOG").is_none() {
            command.env("RUST_LOG", "error");
        }
        let transport = TokioChildProcess::new(command).map_err(|source| Failure::Start {
            path: server.clone(),
            source,
        })?;
        let me = Implementation::new(format!("demo-{agent}"), env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), me);
        match timeout(PATIENCE, config.serve(transport)).await {
            Ok(Ok(service)) => Ok(Self { service, server }),
            Ok(Err(cause)) => Err(Failure::Greeting {
                path: server,
                source: Box::new(cause),
            }),
            Err(_) => Err(Failure::Greeting {
                path: server,
                source: silence(),
            }),
        }
    }

    /// The name that the server gives itself, and the protocol version that both agreed on.
    pub fn greeting(&self) -> String {
        let Some(peer) = self.service.peer_info() else {
            return "a server that told nothing of itself".to_owned();
        };
        let name = peer.server_info.as_ref().map_or("unnamed", |info| info.name.as_str());
        format!("{name}, MCP {}", peer.protocol_version)
    }

    /// Calls one tool and reads its answer as a `T`.
    pub async fn call<T: DeserializeOwned>(&self, tool: &'static str, arguments: Value) -> Result<T, Failure> {
        let broken = |source: Box<dyn Error + Send + Sync>| Failure::Call { tool, source };
        let arguments = match arguments {
            Value::Object(arguments) => arguments,
            _ => Map::new(),
        };
        let request = CallToolRequestParams::new(tool).with_arguments(arguments);
        let result = timeout(PATIENCE, self.service.call_tool(request))
            .await
            .map_err(|_| broken(silence()))?
            .map_err(|cause| broken(Box::new(cause)))?;
        // Every tool answers with the same JSON twice: structured, and as text for clients that know no better.
        let answer = match result.structured_content {
            Some(answer) => answer,
            None => {
                let text = result
                    .content
                    .first()
                    .and_then(|block| block.as_text())
                    .map(|text| text.text.as_str());
                serde_json::from_str(text.unwrap_or_default()).map_err(|cause| broken(Box::new(cause)))?
            }
        };
        if result.is_error == Some(true) {
            let part = |name: &str| answer["error"][name].as_str().unwrap_or_default().to_owned();
            return Err(Failure::Refused {
                tool,
                code: part("code"),
                message: part("message"),
                hint: part("hint"),
            });
        }
        serde_json::from_value(answer).map_err(|cause| broken(Box::new(cause)))
    }

    /// Ends the session: the server sees the end of its input, finishes and exits.
    pub async fn close(mut self) -> Result<(), Failure> {
        match self.service.close().await {
            Ok(_) => Ok(()),
            Err(cause) => Err(Failure::Greeting {
                path: self.server,
                source: Box::new(cause),
            }),
        }
    }
}

fn silence() -> Box<dyn Error + Send + Sync> {
    format!("it said nothing for {} s", PATIENCE.as_secs()).into()
}

/// Turns the end of a program into its exit status, and a failure into words on stderr, causes included.
pub fn finish(agent: &str, end: Result<(), Failure>) -> ExitCode {
    let Err(failure) = end else { return ExitCode::SUCCESS };
    eprintln!("{agent}: {failure}");
    let mut cause = failure.source();
    while let Some(error) = cause {
        eprintln!("  because: {error}");
        cause = error.source();
    }
    ExitCode::FAILURE
}
