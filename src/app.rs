//! The use cases, one verb each: who calls, when, on which store, and what this process remembers of a session.

pub mod doctor;
pub mod error;
pub mod files;
pub mod handoffs;
pub mod memory;
pub mod outcomes;
pub mod purge;
pub mod session;
pub mod transfer;
pub mod upkeep;

mod git;

use std::time::{SystemTime, UNIX_EPOCH};

pub use error::AppError;

use crate::config::Config;
use crate::domain::handoff::place::Cwd;
use crate::domain::{Actor, Agent, Home, Invalid, Owner, Project, Session, Time, Workspace};
use crate::store::Store;

/// One process's way to a store. Clones are not needed: share it.
pub struct App {
    config: Config,
    store: Store,
    sessions: session::Sessions,
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
    /// Whether it sees and may end what belongs to others.
    pub root: bool,
    /// Where it acts.
    pub home: Home,
    /// In which directory it works.
    pub cwd: Option<Cwd>,
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
            root: false,
            home: Home {
                workspace: Workspace::new("default")?,
                project: Project::new("default")?,
            },
            cwd: None,
        })
    }
}

impl App {
    /// An application with these settings. Opens nothing.
    pub fn new(config: Config) -> Self {
        let store = Store::new(&config.db, config.durability);
        Self {
            config,
            store,
            sessions: session::Sessions::default(),
        }
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
            root: false,
            home: self.config.home.clone(),
            cwd: self.config.cwd.clone(),
        }
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
            root: caller.root,
            cwd: caller.cwd.clone(),
            now: now(),
            lease: self.config.claim_lease,
        }
    }
}

/// The clock.
fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
