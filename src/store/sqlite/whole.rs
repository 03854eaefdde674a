//! The store's verbs on the whole file: proving it, copying it, moving its projects, removing texts from it.

use std::path::{Path, PathBuf};

use super::super::StoreError;
use super::{Overview, Store, backup, export, import, ledger, listing, purge, search, verify, versions};
use crate::domain::fault::Report;
use crate::domain::ledger::Checkpoint;
use crate::domain::purge::{Found, Held, Reason, Target};
use crate::domain::record::Version;
use crate::domain::transfer::{EntryLine, Taken};
use crate::domain::{Actor, Address, Home};

impl Store {
    /// Every project of the file, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn projects(&self) -> Result<Vec<Overview>, StoreError> {
        self.worker.read(listing::projects).await
    }

    /// The checkpoint of the caller's project as it is now; none before anything was written there.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn checkpoint(&self, actor: Actor) -> Result<Option<Checkpoint>, StoreError> {
        self.worker
            .read(move |conn| ledger::checkpoint(conn, &actor.home))
            .await
    }

    /// Proves the whole file, and that it extends each of the checkpoints, in short reads while others write.
    /// `progress` is told how much is done of how much.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no file or nothing in it; whatever keeps the file from being read.
    pub async fn verify(
        &self,
        checkpoints: Vec<Checkpoint>,
        mut progress: impl FnMut(u64, u64) + Send + 'static,
    ) -> Result<Report, StoreError> {
        self.worker
            .survey(move |conn| Ok(verify::verify(conn, &checkpoints, &mut progress)?))
            .await
    }

    /// Copies the file as it is at one moment into the empty file at `to`. The copy is not durable yet.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is nothing to copy; whatever keeps the one from being read or the other from being
    /// written.
    pub async fn copy(&self, to: PathBuf) -> Result<(), StoreError> {
        self.worker.survey(move |conn| backup::copy(conn, &to)).await
    }

    /// Proves a copy.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn verify_copy(
        path: &Path,
        mut progress: impl FnMut(u64, u64) + Send + 'static,
    ) -> Result<Report, StoreError> {
        let path = path.to_owned();
        tokio::task::spawn_blocking(move || backup::check(&path, &mut progress))
            .await
            .unwrap_or_else(|_| Err(StoreError::Internal("a check ended in a panic".to_owned())))
    }

    /// The lines of an export for the project's entries after a position, at most `limit`, as they are at one moment.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn lines(&self, home: Home, after: u64, limit: usize) -> Result<Vec<EntryLine>, StoreError> {
        self.worker
            .read(move |conn| export::lines(conn, &home, after, limit))
            .await
    }

    /// Takes consecutive lines of a project's export in: what is not there yet is added, all or nothing; where the ledgers
    /// part, nothing is written.
    ///
    /// # Errors
    /// When a line does not follow from the one before it; whatever keeps the file from being written.
    pub async fn take_in(&self, home: Home, lines: Vec<EntryLine>) -> Result<Taken, StoreError> {
        self.worker.write(move |tx| import::take(tx, &home, &lines)).await
    }

    /// The current versions after an address, by scope and key, at most `limit`. Whoever may see them: upkeep is root's.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn heads(&self, home: Home, after: Option<Address>, limit: usize) -> Result<Vec<Version>, StoreError> {
        self.worker
            .read(move |conn| versions::heads(conn, &home, after.as_ref(), limit))
            .await
    }

    /// The texts that a target names, each with everything that refers to it.
    ///
    /// # Errors
    /// When what is named is not there; whatever keeps the file from being read.
    pub async fn purgeable(&self, actor: Actor, target: Target) -> Result<Found, StoreError> {
        self.worker.read(move |conn| purge::find(conn, &actor, &target)).await
    }

    /// Empties the texts and says why in the ledger, all or nothing; gives how many were emptied. [`Store::clean`] then takes
    /// what is left of them out of the file.
    ///
    /// # Errors
    /// Whatever keeps the file from being written.
    pub async fn purge(&self, actor: Actor, texts: Vec<Held>, why: Reason) -> Result<u64, StoreError> {
        self.worker.write(move |tx| purge::purge(tx, &actor, &texts, why)).await
    }

    /// Takes what is left of purged texts out of the file's free pages and its write-ahead log.
    ///
    /// # Errors
    /// [`StoreError::Reader`] when another process holds a read open.
    pub async fn clean(&self) -> Result<(), StoreError> {
        let cleaned = self.worker.alone(purge::clean).await?;
        if cleaned {
            Ok(())
        } else {
            Err(StoreError::Reader {
                path: self.path().to_owned(),
            })
        }
    }

    /// Makes the search index anew from the current versions.
    ///
    /// # Errors
    /// Whatever keeps the file from being written.
    pub async fn rebuild_index(&self) -> Result<(), StoreError> {
        self.worker.write(|tx| Ok(search::rebuild(tx)?)).await
    }
}
