//! One caller's write: run inside a transaction that others may share, and answered when that has been committed.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use rusqlite::{Connection, Transaction};
use tokio::sync::oneshot;

use crate::store::StoreError;
use crate::store::sqlite::fail::Fail;

/// What a transaction holds of one caller.
pub trait Piece: Send {
    /// Does the work, once more if it was done before in a transaction that is gone. Says whether it went well.
    fn run(&mut self, tx: &Transaction, path: &Path) -> Result<(), StoreError>;

    /// Tells the caller what came of it, once the transaction was committed, or was not.
    fn answer(self: Box<Self>, committed: Result<(), StoreError>);
}

/// A piece of work and the way to its caller.
pub struct Work<T, F> {
    work: F,
    result: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<T, F> Work<T, F> {
    pub fn new(work: F, reply: oneshot::Sender<Result<T, StoreError>>) -> Self {
        Self {
            work,
            result: None,
            reply,
        }
    }
}

impl<T: Send, F: FnMut(&Transaction) -> Result<T, Fail> + Send> Piece for Work<T, F> {
    fn run(&mut self, tx: &Transaction, path: &Path) -> Result<(), StoreError> {
        // A panic in one call is that call's error; what it wrote is rolled back like that of any other failure.
        let ran = catch_unwind(AssertUnwindSafe(|| (self.work)(tx).map_err(|fail| fail.told(path))));
        let result = ran.unwrap_or_else(|_| {
            Err(StoreError::Internal(
                "a write ended in a panic; nothing was kept".to_owned(),
            ))
        });
        let told = match &result {
            Ok(_) => Ok(()),
            Err(error) => Err(error.clone()),
        };
        self.result = Some(result);
        told
    }

    fn answer(self: Box<Self>, committed: Result<(), StoreError>) {
        let result = match (self.result, committed) {
            (Some(Err(error)), _) | (_, Err(error)) => Err(error),
            (Some(Ok(value)), Ok(())) => Ok(value),
            (None, Ok(())) => Err(StoreError::Internal("a write was not run".to_owned())),
        };
        // The caller may have gone; what was committed stays.
        let _ = self.reply.send(result);
    }
}

/// Runs the pieces in one transaction, each all or nothing. False when SQLite gave the whole transaction up on the way.
pub fn together(tx: &Transaction, pieces: &mut [Box<dyn Piece>], path: &Path) -> rusqlite::Result<bool> {
    for piece in pieces {
        step(tx, "SAVEPOINT piece")?;
        let ran = piece.run(tx, path);
        // What a full or broken disk did to one piece it may have done to all of them.
        let broken = matches!(
            ran,
            Err(StoreError::DiskFull { .. }
                | StoreError::Corrupt { .. }
                | StoreError::Io { .. }
                | StoreError::ReadOnly { .. })
        );
        if broken || tx.is_autocommit() {
            return Ok(false);
        }
        if ran.is_err() {
            step(tx, "ROLLBACK TO piece")?;
        }
        step(tx, "RELEASE piece")?;
    }
    Ok(true)
}

fn step(conn: &Connection, sql: &str) -> rusqlite::Result<()> {
    conn.prepare_cached(sql)?.execute([]).map(drop)
}
