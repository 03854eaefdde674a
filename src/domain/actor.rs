//! Who acts, where and when: what every use case needs to know of its caller.

use super::handoff::Sight;
use super::handoff::choice::Seeker;
use super::handoff::place::Cwd;
use super::ledger::Stamp;
use super::{Agent, Owner, Project, Session, Span, Time, Workspace};

/// The two-level home of everything that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Home {
    /// The outer one.
    pub workspace: Workspace,
    /// The inner one.
    pub project: Project,
}

/// A caller, at one instant.
#[derive(Debug, Clone)]
pub struct Actor {
    /// Where it acts.
    pub home: Home,
    /// Who it is.
    pub agent: Agent,
    /// In which run; none equals no other.
    pub session: Option<Session>,
    /// For whom it acts.
    pub owner: Option<Owner>,
    /// Whether it sees and may end what belongs to others.
    pub root: bool,
    /// In which directory it works.
    pub cwd: Option<Cwd>,
    /// The instant.
    pub now: Time,
    /// How long a claim holds without activity; zero: for ever.
    pub lease: Span,
}

impl Actor {
    /// Which packets this caller may know of.
    pub fn sight(&self) -> Sight {
        if self.root {
            Sight::All
        } else {
            Sight::OwnOrShared(self.owner.clone())
        }
    }

    /// The caller as one who looks for work.
    pub fn seeker(&self) -> Seeker {
        Seeker {
            agent: self.agent.clone(),
            session: self.session.clone(),
            cwd: self.cwd.clone(),
            now: self.now,
            lease: self.lease,
        }
    }

    /// What stands on each ledger entry of this call.
    pub fn stamp(&self) -> Stamp {
        Stamp {
            at: self.now,
            agent: self.agent.clone(),
            session: self.session.clone(),
        }
    }
}
