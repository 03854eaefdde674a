//! An open connection and the files under it: whether they are still those that stand at its path, and what becomes of the
//! connection when they are not.
//!
//! Processes agree on a log through its index, and both are found by their paths. One that goes on with files that were
//! removed agrees with nobody who came later, and writes over what those wrote: so it lets go of them first.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::super::StoreError;
use super::place::{self, Files};

/// An open connection.
pub struct Opened {
    /// The connection.
    pub conn: Connection,
    /// Whether opening it made the file or its tables.
    pub created: bool,
    path: PathBuf,
    files: Files,
}

/// What stands at the paths of an open database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The files that are open.
    Ours,
    /// Another database or none.
    Gone,
    /// The same database; of its log something was removed, and nobody has written another one.
    LogGone,
    /// A log that others write.
    Taken,
}

impl Opened {
    /// A connection that has read from the file at `path`, so that its log is open, too.
    ///
    /// # Errors
    /// When the file has gone meanwhile.
    pub fn new(conn: Connection, path: &Path, created: bool) -> Result<Self, StoreError> {
        match place::files(path) {
            Ok(files) if files.database.is_some() => Ok(Self {
                conn,
                created,
                path: path.to_owned(),
                files,
            }),
            _ => Err(StoreError::Replaced { path: path.to_owned() }),
        }
    }

    /// Which files are open.
    pub fn files(&self) -> Files {
        self.files
    }

    /// Whether they are still those at the path.
    pub fn still_there(&self) -> bool {
        self.standing() == Standing::Ours
    }

    fn standing(&self) -> Standing {
        let Ok(now) = place::files(&self.path) else {
            return Standing::Gone;
        };
        if now == self.files {
            return Standing::Ours;
        }
        let another_log = now.log.is_some() && now.log != self.files.log;
        if now.index.is_some() && now.index != self.files.index {
            Standing::Taken
        } else if now.database != self.files.database {
            if another_log { Standing::Taken } else { Standing::Gone }
        } else {
            // Whoever opens the database makes an empty log where there is none, and cannot yet read what ours holds.
            let size = std::fs::metadata(place::beside(&self.path, "-wal")).map_or(0, |meta| meta.len());
            if another_log && size > 0 {
                Standing::Taken
            } else {
                Standing::LogGone
            }
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        match self.standing() {
            // The last one to close moves the log into the file, and takes the log away.
            Standing::Ours | Standing::Gone => {}
            // What was acknowledged stands in the removed log alone.
            Standing::LogGone => {
                let _ = self.conn.busy_timeout(Duration::from_secs(1));
                let _ = self.conn.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(()));
            }
            // To move our log now would write over what others wrote, and to take it away would take theirs.
            Standing::Taken => {
                let _ = self
                    .conn
                    .set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
            }
        }
    }
}
