//! The store's verbs on the whole file: proving it, copying it, moving its projects, removing texts from it.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::super::StoreError;
use super::tokens::Admission;
use super::{
    Overview, Store, Waiting, backup, export, import, ledger, listing, place, purge, search, tokens, verify, versions,
};
use crate::domain::fault::Report;
use crate::domain::ledger::Checkpoint;
use crate::domain::purge::{Found, Held, Reason, Target};
use crate::domain::record::Version;
use crate::domain::token::{NewToken, Presented, Token, TokenId};
use crate::domain::transfer::{EntryLine, Taken};
use crate::domain::{Actor, Address, Home, Time};

impl Store {
    /// What waits in each project of the file, as far as the caller may know, the oldest project first.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn waiting(&self, actor: Actor) -> Result<Vec<Waiting>, StoreError> {
        self.worker.read(move |conn| listing::waiting(conn, &actor)).await
    }

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

    /// Takes what is left of purged texts out of the file's free pages and its write-ahead log, and waits until the disk has
    /// done so.
    ///
    /// # Errors
    /// [`StoreError::Reader`] when another process holds a read open.
    pub async fn clean(&self) -> Result<(), StoreError> {
        let path = self.path().to_owned();
        let clean = move |conn: &Connection| {
            let cleaned = purge::clean(conn)?;
            // SQLite does not wait until the log is cut: what stands in it was moved and does no harm. Here it would.
            Ok(cleaned.then(|| place::settle_log(&path)).transpose())
        };
        self.worker.alone(clean).await??.ok_or_else(|| StoreError::Reader {
            path: self.path().to_owned(),
        })
    }

    /// Makes the search index anew from the current versions.
    ///
    /// # Errors
    /// Whatever keeps the file from being written.
    pub async fn rebuild_index(&self) -> Result<(), StoreError> {
        self.worker.write(|tx| Ok(search::rebuild(tx)?)).await
    }

    /// Keeps a token; only a hash of its secret.
    ///
    /// # Errors
    /// Whatever keeps the file from being written.
    pub async fn add_token(&self, token: Presented, new: NewToken, now: Time) -> Result<Token, StoreError> {
        self.worker.write(move |tx| tokens::add(tx, &token, &new, now)).await
    }

    /// Every token that was made, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn tokens(&self) -> Result<Vec<Token>, StoreError> {
        self.worker.read(tokens::all).await
    }

    /// The token of this id.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn token(&self, id: TokenId) -> Result<Option<Token>, StoreError> {
        self.worker.glance(move |conn| tokens::one(conn, &id)).await
    }

    /// Ends a token.
    ///
    /// # Errors
    /// Not found when there is none of this id.
    pub async fn revoke_token(&self, id: TokenId, now: Time) -> Result<Token, StoreError> {
        let wanted = id.clone();
        self.worker
            .read(
                move |conn| match tokens::all(conn)?.iter().any(|token| token.id == wanted) {
                    true => Ok(()),
                    // Asking for one that is not there makes no file.
                    false => Err(tokens::unknown(&wanted).into()),
                },
            )
            .await?;
        self.worker.write(move |tx| tokens::revoke(tx, &id, now)).await
    }

    /// Whether a caller that shows this, or nothing, may come in. The secret is compared in constant time.
    ///
    /// # Errors
    /// Whatever keeps the file from being read.
    pub async fn admit(&self, shown: Option<String>, now: Time) -> Result<Admission, StoreError> {
        self.worker
            .glance(move |conn| tokens::admit(conn, shown.as_deref(), now))
            .await
    }
}
