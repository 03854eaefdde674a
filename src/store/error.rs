//! Why the store could not do what it was asked.

use std::path::PathBuf;

use crate::domain::Refusal;

/// Everything that can go wrong between a use case and its file. The texts are for the caller.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A rule of the domain said no; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another process held the write lock for too long; nothing was written.
    #[error("the database at {} was locked by another process for more than 10 s; nothing was written", .path.display())]
    Busy {
        /// The database file.
        path: PathBuf,
    },
    /// A process holds a read open, so that purged texts still stand in the write-ahead log.
    #[error(
        "the texts are purged, but the write-ahead log of {} still holds them: another process holds a read open",
        .path.display()
    )]
    Reader {
        /// The database file.
        path: PathBuf,
    },
    /// The file or its folder cannot be written.
    #[error("the database at {} cannot be written: {what}", .path.display())]
    ReadOnly {
        /// The database file.
        path: PathBuf,
        /// What stands in the way.
        what: String,
    },
    /// No space is left; nothing was written.
    #[error("disk full at {}; nothing was written, and what was there before is safe", .path.display())]
    DiskFull {
        /// The database file.
        path: PathBuf,
    },
    /// The file is damaged or is not one of ours.
    #[error("the database at {} cannot be used: {what}", .path.display())]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A newer version of this program has written the file; nothing was written.
    #[error("the database at {} has schema {found}, and this binary knows up to {known}; nothing was written", .path.display())]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this binary knows.
        known: i64,
    },
    /// The file was replaced or removed while it was open; the write was not acknowledged.
    #[error("the database file at {} was replaced or removed while this process had it open; this write was not kept", .path.display())]
    Replaced {
        /// The database file.
        path: PathBuf,
    },
    /// The file is not there, where a caller needs it to be.
    #[error("there is no database at {}", .path.display())]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The file lies where SQLite cannot share it safely.
    #[error("the database at {} lies on a network file system ({kind}), where several processes cannot share it safely", .path.display())]
    NetworkFileSystem {
        /// The database file.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// The disk or the operating system failed.
    #[error("the database at {} could not be reached: {what}", .path.display())]
    Io {
        /// The database file.
        path: PathBuf,
        /// What the system said.
        what: String,
    },
    /// A fault of this program.
    #[error("something went wrong inside handoff-memory: {0}")]
    Internal(String),
}
