//! `serve`: the store over HTTP.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;

use super::output::{CliError, Done, Out, say, told};
use crate::app::App;
use crate::app::tokens::Admission;
use crate::config::Surroundings;
use crate::config::serve::{LOCAL_HOSTS, ServeConfig, ServeFlags};
use crate::domain::Invalid;
use crate::http::{self, Setup};
use crate::mcp;

/// What `serve` takes.
#[derive(Debug, Args)]
pub struct Serve {
    /// Where to listen: an address and a port, or a port of this machine [env: MEMORY_LISTEN] [default: 127.0.0.1:7766]
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// A name under which it may be asked, besides localhost and the address; may be given more than once [env:
    /// MEMORY_ALLOW_HOST]
    #[arg(long, value_name = "HOST")]
    allow_host: Vec<String>,
    /// Another origin whose pages may ask it; may be given more than once [env: MEMORY_ALLOW_ORIGIN]
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Every packet counts as owned: callers that are not root see only what they own [env: MEMORY_ROOT_ONLY]
    #[arg(long)]
    root_only: bool,
    /// Requests that a token may make in a second; 0: any number [env: MEMORY_RATE_LIMIT] [default: 100]
    #[arg(long, value_name = "NUMBER")]
    rate_limit: Option<String>,
}

impl From<Serve> for ServeFlags {
    fn from(args: Serve) -> Self {
        Self {
            listen: args.listen,
            allow_host: args.allow_host,
            allow_origin: args.allow_origin,
            root_only: args.root_only,
            rate_limit: args.rate_limit,
        }
    }
}

/// Serves until the process is asked to end.
pub async fn run(app: Arc<App>, args: Serve, json: bool, shutdown: impl Future<Output = ()>) -> ExitCode {
    told(serve(app, args, json, shutdown).await, json).into()
}

async fn serve(app: Arc<App>, args: Serve, json: bool, shutdown: impl Future<Output = ()>) -> Result<Done, CliError> {
    let config = ServeConfig::resolve(args.into(), &Surroundings::of_process())?;
    let closed = app.admit(None).await? != Admission::Open;
    if !closed && !config.is_local() {
        return Err(Invalid::new(
            "--listen",
            format!(
                "{}, which other machines can reach, and nobody has a token",
                config.listen
            ),
            "an address of this machine alone, or a token: `handoff-memory token create --owner NAME`",
        )
        .into());
    }
    if !closed && config.root_only {
        return Err(Invalid::new(
            "--root-only",
            "there, and nobody has a token",
            "a token first: `handoff-memory token create --owner NAME`, and one with --root",
        )
        .into());
    }
    let listener = http::bind(config.listen).await.map_err(|error| {
        Invalid::new(
            "--listen",
            format!("{}, where this program cannot listen: {error}", config.listen),
            "a free port of this machine",
        )
    })?;
    let address = listener.local_addr().unwrap_or(config.listen);
    let url = format!("http://{address}");
    let mut out = Out::new(json);
    let db = app.config().db.display().to_string();
    if !out.took(&serde_json::json!({ "url": url, "db": db, "tokens": closed }))? {
        out.line(format!("serving {} at {url}", super::print::visible(&db)))?;
    }
    out.flush()?;
    if config.listen.ip().is_unspecified() && config.hosts.len() == LOCAL_HOSTS {
        say("handoff-memory: other machines have no name to ask by yet: start it with --allow-host NAME");
    }
    let setup = Setup {
        local: config.is_local() && !closed,
        hosts: config.hosts,
        origins: config.origins,
        strict: config.root_only,
        rate: config.rate_limit,
    };
    let (beside, ended) = mcp::http::mount(&app);
    let shutdown = async {
        shutdown.await;
        tokio::spawn(ended);
    };
    http::serve(app, setup, listener, beside, shutdown)
        .await
        .map_err(|error| crate::app::AppError::internal(format!("the server broke off: {error}")))?;
    Ok(Done::Well)
}
