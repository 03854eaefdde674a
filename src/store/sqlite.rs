//! The store on one SQLite file; with its rooms the only code that knows rusqlite.
//!
//! Writes go through one thread of this process and one `BEGIN IMMEDIATE` transaction each; several processes take
//! turns by SQLite's own lock. Reads run beside them on connections of their own. Nothing stays open in a transaction
//! while idle, so that no reader pins the write-ahead log.

mod connection;
mod fail;
mod functions;
mod handoffs;
mod ledger;
mod outcomes;
mod packets;
mod place;
mod records;
mod schema;
mod search;
mod stats;
mod versions;
mod worker;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{Durability, StoreError};

/// One store: a file, opened when it is first needed. Clones share it.
#[derive(Clone)]
pub struct Store {
    worker: Arc<worker::Worker>,
}

impl Store {
    /// A store on the file at `path`. Nothing is opened or created before the first verb.
    pub fn new(path: impl Into<PathBuf>, durability: Durability) -> Self {
        Self {
            worker: Arc::new(worker::Worker::new(path.into(), durability)),
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

    /// Whether the file was opened by a verb and has not been closed since.
    pub fn is_open(&self) -> bool {
        self.worker.is_open()
    }

    /// Finishes the write in hand and closes the file. A later verb opens it again.
    pub async fn close(&self) {
        self.worker.close().await;
    }
}

/// What every verb answers.
pub type Answer<T> = Result<T, StoreError>;
