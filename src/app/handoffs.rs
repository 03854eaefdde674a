//! Handing work over and taking it up.

use std::sync::Arc;

use super::{App, AppError, Caller, git};
use crate::domain::handoff::listing::{Ended, Listing};
use crate::domain::handoff::seen::{Handed, HandedOff, Listed, Peeked, Resolved, Resumed, Seen};
use crate::domain::handoff::{HandoffId, NewHandoff};
use crate::domain::ledger::Told;
use crate::domain::record::Stored;
use crate::domain::{Session, Span, Time, limits};

impl App {
    /// Writes a packet. When it names no refs it pins what the caller's session touched; when it names no directory it
    /// is about the caller's.
    ///
    /// # Errors
    /// When a ref names nothing, or `supersedes` names a packet that cannot be superseded.
    pub async fn hand_off(&self, caller: &Caller, mut new: NewHandoff) -> Result<(HandedOff, Vec<String>), AppError> {
        caller.reach.may_change()?;
        if new.cwd.is_none() {
            new.cwd.clone_from(&caller.cwd);
        }
        if new.git.is_none()
            && let Some(cwd) = new.cwd.as_ref().filter(|_| caller.cwd.is_some())
        {
            new.git = git::snapshot(cwd).await;
        }
        let bare = new.texts.next_steps.is_empty();
        let touched = self.sessions.touched(caller);
        let handed = self
            .store
            .hand_off(self.actor(caller), new, touched, self.config.handoff_ttl)
            .await?;
        let mut warnings = Vec::new();
        if let Some((to, near)) = &handed.unknown_recipient {
            let near = match near.as_slice() {
                [] => String::new(),
                names => format!("; nearest known: {}", names.join(", ")),
            };
            warnings.push(format!("no agent named {to} was seen in this project yet{near}"));
        }
        if bare && handed.refs.is_empty() {
            warnings.push(
                "this packet has neither next steps nor refs, so the next session has little to start from; to take it \
                 back, report it as abandoned"
                    .to_owned(),
            );
        }
        if !handed.left_out.is_empty() {
            let names: Vec<String> = handed.left_out.iter().take(10).map(ToString::to_string).collect();
            warnings.push(format!(
                "{} records that this session touched were not pinned, as a packet pins at most {} and stays under {} \
                 bytes: {}",
                handed.left_out.len(),
                limits::REFS,
                limits::PACKET_BYTES,
                names.join(", ")
            ));
        }
        Ok((handed, warnings))
    }

    /// Takes the next packet for the caller, or the one named.
    ///
    /// # Errors
    /// When the packet named is unknown, ended, or in other hands.
    pub async fn resume(&self, caller: &Caller, id: Option<HandoffId>) -> Result<(Resumed, Vec<String>), AppError> {
        caller.reach.may_change()?;
        let sessions = Arc::clone(&self.sessions);
        let gone = Arc::new(move |session: &Session| sessions.gone(session));
        let resumed = self.store.resume(self.actor(caller), id, gone).await?;
        let mut warnings = Vec::new();
        if let Some((_, refs, handed)) = &resumed.found {
            for one in refs.iter().filter(|one| matches!(one.version.value, Stored::Whole(_))) {
                let (at, version) = (&one.version.at, one.version.version);
                self.sessions.touch(caller, at, version);
            }
            warnings = sentences(handed);
        }
        Ok((resumed, warnings))
    }

    /// Notes that a session has ended, so that what it held is free for another one of its agent.
    pub fn end_session(&self, session: Session) {
        self.sessions.end(session);
    }

    /// One page of the packets that the caller may know of; claims nothing.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn handoffs(&self, caller: &Caller, wanted: Listing) -> Result<Listed, AppError> {
        Ok(caller.reads(self.store.handoffs(self.actor(caller), wanted).await?))
    }

    /// One packet with its refs and ledger entries; claims nothing.
    ///
    /// # Errors
    /// When there is no such packet for this caller.
    pub async fn show(&self, caller: &Caller, id: HandoffId) -> Result<Shown, AppError> {
        let peeked = self.store.peek(self.actor(caller), Some(id.clone()), 0).await?;
        let one = caller.reads(peeked.one);
        let (seen, refs, handed) = one.ok_or_else(|| AppError::internal("a packet was not given"))?;
        let warnings = rolled_back(&handed).into_iter().collect();
        let entries = caller.reads(self.store.entries_of(self.actor(caller), id).await?);
        Ok(Shown {
            seen,
            refs,
            entries,
            warnings,
        })
    }

    /// Ends open packets as their time would; what was ended is given as it stands afterwards.
    ///
    /// # Errors
    /// When one that is named is unknown or not open.
    pub async fn expire(&self, caller: &Caller, wanted: Ended) -> Result<Vec<Seen>, AppError> {
        caller.reach.may_change()?;
        Ok(self.store.expire(self.actor(caller), wanted).await?)
    }

    /// The instant that lies `age` before now.
    pub fn ago(&self, age: Span) -> Time {
        super::now().minus(age)
    }

    /// Opens a packet again that its time has ended; without `wait` it waits as long as a new one.
    ///
    /// # Errors
    /// When it is unknown, or did not end by its time.
    pub async fn reopen(&self, caller: &Caller, id: HandoffId, wait: Option<Span>) -> Result<Seen, AppError> {
        caller.reach.may_change()?;
        let wait = wait.unwrap_or(self.config.handoff_ttl);
        Ok(self.store.reopen(self.actor(caller), id, wait).await?)
    }

    /// What there is for the caller; claims nothing.
    ///
    /// # Errors
    /// When the packet named is unknown.
    pub async fn peek(&self, caller: &Caller, id: Option<HandoffId>) -> Result<(Peeked, Vec<String>), AppError> {
        let peeked = caller.reads(self.store.peek(self.actor(caller), id, limits::ANSWER_LIST).await?);
        let warnings = peeked
            .one
            .as_ref()
            .map_or_else(Vec::new, |(_, _, handed)| sentences(handed));
        Ok((peeked, warnings))
    }
}

/// One packet with its refs and its ledger entries.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The packet.
    pub seen: Seen,
    /// What it pins.
    pub refs: Vec<Resolved>,
    /// The entries about it, oldest first.
    pub entries: Vec<Told>,
    /// What the caller should know.
    pub warnings: Vec<String>,
}

/// What the caller should know about how a packet came into its hands.
fn sentences(handed: &Handed) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(to) = &handed.meant_for {
        warnings.push(format!("this packet is addressed to {to}"));
    }
    if handed.unrelated {
        warnings.push("this packet is about another directory than yours; see which one".to_owned());
    }
    if let Some(session) = &handed.held_by_session
        && handed.holder_alive
    {
        warnings.push(format!(
            "session {session} of this agent held the packet and may still be at work on it; it is yours now"
        ));
    }
    warnings.extend(rolled_back(handed));
    warnings
}

fn rolled_back(handed: &Handed) -> Option<String> {
    handed.rolled_back.then(|| {
        "the ledger no longer holds the checkpoint that this packet carries: the file was rolled back or rewritten since; \
         run verify and compare before you rely on it"
            .to_owned()
    })
}
