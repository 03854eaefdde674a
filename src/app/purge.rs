//! Removing stored texts on purpose.

use super::{App, AppError, Caller};
use crate::domain::purge::{Found, Held, Reason, Target};
use crate::store::StoreError;

impl App {
    /// The texts that a target names, each with everything that refers to it, and the names that hold what was looked for and
    /// cannot be removed.
    ///
    /// # Errors
    /// When what is named is not there.
    pub async fn purgeable(&self, caller: &Caller, target: Target) -> Result<Found, AppError> {
        Ok(self.store.purgeable(self.actor(caller), target).await?)
    }

    /// Removes the texts, says why in the ledger, and takes what is left of them out of the file. Gives how many there were.
    ///
    /// # Errors
    /// [`StoreError::Reader`] when the texts are gone from the tables and another process
    /// keeps the write-ahead log from being cut, [`StoreError::Unclean`] when they are and the rest failed in another way:
    /// [`App::clean`] goes on from there.
    pub async fn purge(&self, caller: &Caller, texts: Vec<Held>, why: Reason) -> Result<u64, AppError> {
        let purged = self.store.purge(self.actor(caller), texts, why).await?;
        self.store.clean().await.map_err(|error| match error {
            StoreError::Reader { .. } => error,
            other => StoreError::Unclean(Box::new(other)),
        })?;
        Ok(purged)
    }

    /// Takes what is left of purged texts out of the file.
    ///
    /// # Errors
    /// [`StoreError::Reader`] when another process holds a read open.
    pub async fn clean(&self) -> Result<(), AppError> {
        Ok(self.store.clean().await?)
    }

    /// Makes the search index anew from the current versions.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub async fn rebuild_index(&self) -> Result<(), AppError> {
        Ok(self.store.rebuild_index().await?)
    }
}
