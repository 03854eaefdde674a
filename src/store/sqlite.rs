//! The store on one SQLite file; with its rooms the only code that knows rusqlite.
//!
//! Writes go through one thread of this process and one `BEGIN IMMEDIATE` transaction each; several processes take
//! turns by SQLite's own lock. Reads run beside them on connections of their own. Nothing stays open in a transaction
//! while idle, so that no reader pins the write-ahead log.

mod backup;
mod connection;
mod entries;
mod export;
mod fail;
mod functions;
mod handoffs;
mod import;
mod ledger;
mod listing;
mod opened;
mod outcomes;
mod packets;
mod place;
mod purge;
mod queue;
mod records;
mod rows;
mod schema;
#[doc(hidden)]
pub mod search;
mod searching;
mod stats;
mod taking;
mod targets;
#[cfg(test)]
mod tests;
mod tokens;
mod verify;
mod versions;
mod whole;
mod worker;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Durability, StoreError};
use crate::domain::handoff::listing::{Ended, Listing};
use crate::domain::handoff::seen::{HandedOff, Listed, Peeked, Recorded, Resumed, Seen};
use crate::domain::handoff::{HandoffId, NewHandoff};
use crate::domain::ledger::Told;
use crate::domain::outcome::{NewOutcome, Reported};
use crate::domain::record::{NewVersion, Version};
use crate::domain::sought::{Page, Sought};
use crate::domain::{Actor, Address, Session, Span, Time};

pub use listing::{Counts, Overview, Waiting};
pub use place::{FileFacts, facts};
pub use records::Remembered;
pub use stats::Stats;
pub use tokens::Admission;
pub use versions::Budget;
pub use worker::Commit;

/// The version of the SQLite that is built in.
pub fn version() -> &'static str {
    rusqlite::version()
}

/// Tells whether the holder of a session is known to be gone.
pub type Gone = Arc<dyn Fn(&Session) -> bool + Send + Sync>;

/// One store: a file, opened when it is first needed. Clones share it.
#[derive(Clone)]
pub struct Store {
    worker: Arc<worker::Worker>,
}

impl Store {
    /// A store on the file at `path`. Nothing is opened or created before the first verb.
    pub fn new(path: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            worker: Arc::new(worker::Worker::new(path.into(), durability, false)),
        }
    }

    /// A store on a file that is gone again soon, so that nobody is told that it was made.
    pub fn aside(path: impl Into<PathBuf>) -> Self {
        Self {
            worker: Arc::new(worker::Worker::new(path.into(), Durability::Normal, true)),
        }
    }

    /// Where the file is or will be.
    pub fn path(&self) -> &Path {
        self.worker.path()
    }

    /// Whether this process made the file.
    pub fn created(&self) -> bool {
        self.worker.created()
    }

    /// Whether a verb has opened the file since it was last closed.
    pub fn is_open(&self) -> bool {
        self.worker.is_open()
    }

    /// Calls `watch` after each commit of this process. Only the first call counts.
    pub fn watch(&self, watch: impl Fn(Commit) + Send + Sync + 'static) {
        self.worker.watch(watch);
    }

    /// How many bytes the database and its write-ahead log take.
    pub fn sizes(&self) -> (u64, u64) {
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let mut wal = self.path().as_os_str().to_owned();
        wal.push("-wal");
        (size(self.path()), size(Path::new(&wal)))
    }

    /// Finishes the writes that were asked for and closes the file. A later verb opens it again.
    pub async fn close(&self) {
        self.worker.close().await;
    }

    /// Appends a version: its text, its row, its ledger entry, its place as the current one and its index terms, all or
    /// nothing. A repeat of the current version by its author writes nothing.
    ///
    /// # Errors
    /// A conflict when `expected_version` does not hold; whatever keeps the file from being written.
    pub async fn remember(&self, actor: Actor, new: NewVersion) -> Result<Remembered, StoreError> {
        self.worker.write(move |tx| records::remember(tx, &actor, &new)).await
    }

    /// One version of a record, the current one unless a number is given; none when the caller may not see it.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn version(
        &self,
        actor: Actor,
        at: Address,
        number: Option<u64>,
        budget: Budget,
    ) -> Result<Option<Version>, StoreError> {
        self.worker
            .glance(move |conn| versions::one_of(conn, &actor, &at, number, budget))
            .await
    }

    /// A record's versions after number `after`, oldest first, and how many there are in all.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn history(
        &self,
        actor: Actor,
        at: Address,
        after: u64,
        limit: usize,
        budget: Budget,
    ) -> Result<(Vec<Version>, u64), StoreError> {
        self.worker
            .read(move |conn| versions::history(conn, &actor, &at, after, limit, budget))
            .await
    }

    /// One page of a search over the current versions. Values past `budget` bytes are given by their beginnings; past
    /// `ceiling` bytes in all the page ends early.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn search(
        &self,
        actor: Actor,
        sought: Sought,
        budget: Budget,
        ceiling: usize,
    ) -> Result<Page, StoreError> {
        self.worker
            .read(move |conn| searching::page(conn, &actor, &sought, budget, ceiling))
            .await
    }

    /// Writes a packet with its pins, and ends what it takes the place of, all or nothing. An identical one of the last
    /// ten minutes is answered instead. `touched` is what the session touched, pinned when the packet names no refs.
    ///
    /// # Errors
    /// When a ref names nothing, or `supersedes` names a packet that cannot be superseded.
    pub async fn hand_off(
        &self,
        actor: Actor,
        new: NewHandoff,
        touched: Vec<(Address, u64)>,
        ttl: Span,
    ) -> Result<HandedOff, StoreError> {
        self.worker
            .write(move |tx| writing::hand_off(tx, &actor, &new, &touched, ttl))
            .await
    }

    /// Takes the next packet for the caller, or the one named, and resolves its pins, in one transaction: of any number
    /// of claimants exactly one gets it. When there is nothing to take, nothing is written and no file is made.
    ///
    /// # Errors
    /// When the packet named is unknown, ended, or in other hands.
    pub async fn resume(&self, actor: Actor, id: Option<HandoffId>, gone: Gone) -> Result<Resumed, StoreError> {
        let look = actor.clone();
        let wanted = id.clone();
        let nothing = self
            .worker
            .read(move |conn| {
                if wanted.is_some() || taking::anything(conn, &look)? {
                    return Ok(None);
                }
                taking::peek(conn, &look, None, 0).map(|peeked| Some(peeked.queue))
            })
            .await?;
        if let Some(queue) = nothing {
            return Ok(Resumed { found: None, queue });
        }
        if let Some(id) = &id {
            // An id that is not there is refused by a read, so that asking for it makes no file.
            let (look, id) = (actor.clone(), id.clone());
            self.worker
                .read(move |conn| taking::peek(conn, &look, Some(&id), 0))
                .await?;
        }
        self.worker
            .write(move |tx| taking::resume(tx, &actor, id.as_ref(), &*gone))
            .await
    }

    /// What there is for the caller; claims nothing and writes nothing.
    ///
    /// # Errors
    /// When the packet named is unknown.
    pub async fn peek(&self, actor: Actor, id: Option<HandoffId>, limit: usize) -> Result<Peeked, StoreError> {
        self.worker
            .read(move |conn| taking::peek(conn, &actor, id.as_ref(), limit))
            .await
    }

    /// Records a report: moves opinions and ends or returns the packet, all or nothing. `ttl` is how long a packet that
    /// is given back past its time waits; `force` ends what others hold.
    ///
    /// # Errors
    /// When a ref or the packet is unknown, the run reported the opposite before, or the packet is another's.
    pub async fn record(&self, actor: Actor, new: NewOutcome, ttl: Span, force: bool) -> Result<Recorded, StoreError> {
        let (look, wanted) = (actor.clone(), new.clone());
        self.worker
            .glance(move |conn| outcomes::known(conn, &look, &wanted))
            .await?;
        self.worker
            .write(move |tx| outcomes::record(tx, &actor, &new, ttl, force))
            .await
    }

    /// The reports on any version of a record, oldest first; the newest that fit when there are very many.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn reported(&self, actor: Actor, at: Address, limit: usize) -> Result<Vec<Reported>, StoreError> {
        self.worker
            .read(move |conn| outcomes::of_record(conn, &actor, &at, limit))
            .await
    }

    /// Writes down the packets of the caller's project whose time is over; writes only when there are some.
    ///
    /// # Errors
    /// Whatever keeps the file from being read or written.
    pub async fn expire_due(&self, actor: Actor) -> Result<u64, StoreError> {
        let look = actor.clone();
        if !self.worker.glance(move |conn| handoffs::any_due(conn, &look)).await? {
            return Ok(0);
        }
        self.worker
            .write(move |tx| {
                let mut journal = ledger::Journal::open(tx, &actor.home, actor.stamp())?;
                handoffs::expire_due(&mut journal)
            })
            .await
    }

    /// One page of the packets that the caller may know of. Claims and writes nothing.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn handoffs(&self, actor: Actor, wanted: Listing) -> Result<Listed, StoreError> {
        self.worker
            .read(move |conn| listing::packets(conn, &actor, &wanted))
            .await
    }

    /// Ends open packets as their time would, in one transaction, and gives those that it ended.
    ///
    /// # Errors
    /// When one that is named is unknown or not open.
    pub async fn expire(&self, actor: Actor, wanted: Ended) -> Result<Vec<Seen>, StoreError> {
        let (look, home) = (actor.clone(), actor.home.clone());
        // Where there is nothing, nothing is made.
        if self
            .worker
            .read(move |conn| ledger::project(conn, &home))
            .await?
            .is_none()
        {
            return self
                .worker
                .read(move |conn| handoffs::expire_some(conn, &look, &wanted))
                .await;
        }
        self.worker
            .write(move |tx| handoffs::expire_some(tx, &actor, &wanted))
            .await
    }

    /// Opens a packet again that its time has ended; it then waits for `ttl` from now, zero being for ever.
    ///
    /// # Errors
    /// When it is unknown, or did not end by its time.
    pub async fn reopen(&self, actor: Actor, id: HandoffId, ttl: Span) -> Result<Seen, StoreError> {
        let (look, wanted) = (actor.clone(), id.clone());
        self.worker
            .read(move |conn| taking::peek(conn, &look, Some(&wanted), 0))
            .await?;
        self.worker
            .write(move |tx| handoffs::reopen(tx, &actor, &id, ttl))
            .await
    }

    /// The entries of the caller's ledger after a position, oldest first, as far as the caller may see them.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn entries(&self, actor: Actor, after: u64, limit: usize) -> Result<Vec<Told>, StoreError> {
        self.worker
            .read(move |conn| entries::after(conn, &actor, after, limit))
            .await
    }

    /// The position of the last entry of the caller's ledger; 0 before anything was written.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn last_entry(&self, actor: Actor) -> Result<u64, StoreError> {
        self.worker.glance(move |conn| entries::last(conn, &actor)).await
    }

    /// The position of the last entry of the caller's ledger that was written before an instant; 0 when there is none.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn before(&self, actor: Actor, at: Time) -> Result<u64, StoreError> {
        self.worker.glance(move |conn| entries::before(conn, &actor, at)).await
    }

    /// The entries about one packet, each with its note.
    ///
    /// # Errors
    /// When there is no such packet for this caller.
    pub async fn entries_of(&self, actor: Actor, id: HandoffId) -> Result<Vec<Told>, StoreError> {
        self.worker
            .read(move |conn| entries::of_packet(conn, &actor, &id))
            .await
    }

    /// The numbers of the caller's project and of the file.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn stats(&self, actor: Actor) -> Result<Stats, StoreError> {
        self.worker.read(move |conn| stats::stats(conn, &actor)).await
    }
}
