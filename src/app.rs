//! The use cases, one verb each: who calls, when, on which store, and what this process remembers of a session.

pub mod agents;
pub mod doctor;
pub mod error;
pub mod files;
pub mod handoffs;
pub mod memory;
pub mod outcomes;
pub mod purge;
pub mod session;
pub mod tokens;
pub mod transfer;
pub mod upkeep;

mod git;

use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

pub use error::{AppError, Door};

use crate::config::Config;
use crate::domain::handoff::place::Cwd;
use crate::domain::redact::Redact;
use crate::domain::{Actor, Agent, Home, Invalid, Owner, Project, Reach, Session, Time, Workspace};
use crate::store::Store;
pub use crate::store::sqlite::Commit;

use tokio::sync::watch;

/// One process's way to a store. Clones are not needed: share it.
pub struct App {
    config: Config,
    store: Store,
    sessions: Arc<session::Sessions>,
    commits: Arc<Commits>,
    /// One proof of the file at a time: each reads all of it.
    proving: tokio::sync::Mutex<()>,
}

/// Who wants to know of commits: the number of those so far, and a call for each.
#[derive(Default)]
struct Commits {
    count: watch::Sender<u64>,
    told: OnceLock<Box<dyn Fn(Commit) + Send + Sync>>,
}

/// Who calls: fixed for a process on stdio, made for each request elsewhere.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Who it is.
    pub agent: Agent,
    /// In which run.
    pub session: Option<Session>,
    /// For whom it acts.
    pub owner: Option<Owner>,
    /// How far it sees, and what it may change.
    pub reach: Reach,
    /// Where it acts.
    pub home: Home,
    /// In which directory it works.
    pub cwd: Option<Cwd>,
    /// Whether it came with a token that is not root's: then what is the server's own, and what may be another owner's, is
    /// not told.
    pub guest: bool,
}

impl Caller {
    /// An agent in the default project, without session, owner or directory.
    ///
    /// # Errors
    /// When `agent` is no name.
    pub fn new(agent: &str) -> Result<Self, Invalid> {
        Ok(Self {
            agent: Agent::new(agent)?,
            session: None,
            owner: None,
            reach: Reach::Shared,
            home: Home {
                workspace: Workspace::new("default")?,
                project: Project::new("default")?,
            },
            cwd: None,
            guest: false,
        })
    }
}

impl App {
    /// An application with these settings. Opens nothing.
    pub fn new(config: Config) -> Self {
        let store = Store::new(&config.db, config.durability);
        let commits = Arc::new(Commits::default());
        let kept = Arc::clone(&commits);
        store.watch(move |commit| {
            kept.count.send_modify(|count| *count += 1);
            if let Some(told) = kept.told.get() {
                told(commit);
            }
        });
        Self {
            config,
            store,
            sessions: Arc::default(),
            commits,
            proving: tokio::sync::Mutex::default(),
        }
    }

    /// The instant.
    pub fn time(&self) -> Time {
        now()
    }

    /// The settings.
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The caller that the settings describe, in `session`. `client` is the name that an MCP client gives itself, used
    /// when no agent is configured.
    pub fn caller(&self, client: Option<&str>, session: Option<Session>) -> Caller {
        let named = || client.and_then(|name| Agent::new(name).ok());
        let unnamed = || Agent::new("agent").ok();
        // `agent` is a valid name; the chain cannot come up empty.
        let agent = self.config.agent.clone().or_else(named).or_else(unnamed);
        Caller {
            agent: agent.expect("a constant name is valid"),
            session: self.config.session.clone().or(session),
            owner: self.config.owner.clone(),
            reach: Reach::Shared,
            home: self.config.home.clone(),
            cwd: self.config.cwd.clone(),
            guest: false,
        }
    }

    /// Changes with each commit of this process; those of others are not told.
    pub fn commits(&self) -> watch::Receiver<u64> {
        self.commits.count.subscribe()
    }

    /// Calls `told` after each commit of this process. Only the first call counts.
    pub fn on_commit(&self, told: impl Fn(Commit) + Send + Sync + 'static) {
        let _ = self.commits.told.set(Box::new(told));
    }

    /// Finishes the writes that were asked for and closes the store.
    pub async fn close(&self) {
        self.store.close().await;
    }

    fn actor(&self, caller: &Caller) -> Actor {
        Actor {
            home: caller.home.clone(),
            agent: caller.agent.clone(),
            session: caller.session.clone(),
            owner: caller.owner.clone(),
            reach: caller.reach,
            cwd: caller.cwd.clone(),
            now: now(),
            lease: self.config.claim_lease,
        }
    }
}

impl Caller {
    /// An answer as this caller may read it.
    fn reads<T: Redact>(&self, mut answer: T) -> T {
        if self.reach == Reach::Observer {
            answer.redact();
        }
        answer
    }
}

/// The clock.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
