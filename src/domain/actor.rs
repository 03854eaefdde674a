//! Who acts, where and when: what every use case needs to know of its caller.

use super::handoff::Sight;
use super::handoff::choice::Seeker;
use super::handoff::place::Cwd;
use super::ledger::Stamp;
use super::{Agent, Owner, Project, Refusal, Session, Span, Time, Workspace};

/// The two-level home of everything that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Home {
    /// The outer one.
    pub workspace: Workspace,
    /// The inner one.
    pub project: Project,
}

/// How far a caller sees, and what it may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reach {
    /// Its owner's packets and the shared ones.
    #[default]
    Shared,
    /// Its owner's packets alone: every packet counts as owned, and none is anybody's.
    Owned,
    /// Everything, as whoever can read the file does; may end only what is its own.
    Local,
    /// That everything is there, without its texts; changes nothing.
    Observer,
    /// Everything, and may end what belongs to others.
    Root,
}

impl Reach {
    /// Whether the caller sees and may end what belongs to others.
    pub fn is_root(self) -> bool {
        self == Self::Root
    }

    /// Refuses a caller that may change nothing.
    ///
    /// # Errors
    /// When it only observes.
    pub fn may_change(self) -> Result<(), Refusal> {
        if self != Self::Observer {
            return Ok(());
        }
        Err(Refusal::not_allowed(
            "an observer sees what there is and changes nothing",
            "use a token that was made without --observer",
        ))
    }

    /// Refuses a caller that may not read texts, where an answer would tell what they hold.
    ///
    /// # Errors
    /// When it only observes.
    pub fn may_search(self) -> Result<(), Refusal> {
        if self != Self::Observer {
            return Ok(());
        }
        Err(Refusal::not_allowed(
            "an observer cannot search what it may not read",
            "leave out query and tag, or use a token that was made without --observer",
        ))
    }
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
    /// How far it sees, and what it may change.
    pub reach: Reach,
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
        match self.reach {
            Reach::Root | Reach::Local | Reach::Observer => Sight::All,
            Reach::Shared => Sight::OwnOrShared(self.owner.clone()),
            Reach::Owned => Sight::Own(self.owner.clone()),
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
