//! Why the store could not do what it was asked.

use std::path::{Path, PathBuf};

use crate::domain::Refusal;

/// Everything that can go wrong between a use case and its file. The texts are for the caller.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// A rule of the domain said no; nothing was written.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another process held the write lock for too long; nothing was written.
    #[error("the database{} was locked by another process for more than 10 s; nothing was written", at(.path))]
    Busy {
        /// The database file.
        path: PathBuf,
    },
    /// A process holds a read open, so that purged texts still stand in the write-ahead log.
    #[error(
        "the texts are purged, but the write-ahead log of the database{} still holds them: another process holds a read open",
        at(.path)
    )]
    Reader {
        /// The database file.
        path: PathBuf,
    },
    /// Texts were purged, and taking what is left of them out of the file failed.
    #[error("the texts are purged, but what is left of them was not taken out of the file: {0}")]
    Unclean(Box<StoreError>),
    /// The file or its folder cannot be written.
    #[error("the database{} cannot be written: {what}", at(.path))]
    ReadOnly {
        /// The database file.
        path: PathBuf,
        /// What stands in the way.
        what: String,
    },
    /// No space is left; nothing was written.
    #[error("disk full{}; nothing was written, and what was there before is safe", at(.path))]
    DiskFull {
        /// The database file.
        path: PathBuf,
    },
    /// The file is damaged or is not one of ours.
    #[error("the database{} cannot be used: {what}", at(.path))]
    Corrupt {
        /// The database file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A newer version of this program has written the file; nothing was written.
    #[error("the database{} has schema {found}, and this binary knows up to {known}; nothing was written", at(.path))]
    NewerSchema {
        /// The database file.
        path: PathBuf,
        /// Its schema.
        found: i64,
        /// The newest schema that this binary knows.
        known: i64,
    },
    /// The file or its log was replaced or removed while it was open; the write was not acknowledged.
    #[error("the database file{}, or the log beside it, was replaced or removed while this process had it open; this write was \
             not acknowledged", at(.path))]
    Replaced {
        /// The database file.
        path: PathBuf,
    },
    /// The file is not there, where a caller needs it to be.
    #[error("there is no database{}", at(.path))]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The file lies where SQLite cannot share it safely.
    #[error("the database{} lies on a network file system ({kind}), where several processes cannot share it safely", at(.path))]
    NetworkFileSystem {
        /// The database file.
        path: PathBuf,
        /// The file system.
        kind: String,
    },
    /// The disk or the operating system failed.
    #[error("the database{} could not be reached: {what}", at(.path))]
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

/// Where a file is, for a message; nothing when the place is not told.
fn at(path: &Path) -> String {
    if path.as_os_str().is_empty() {
        String::new()
    } else {
        format!(" at {}", path.display())
    }
}

impl StoreError {
    /// The same, without where the file is: for who has no business with the server's disk.
    #[must_use]
    pub fn without_place(mut self) -> Self {
        match &mut self {
            Self::Refused(_) | Self::Internal(_) => {}
            Self::Unclean(cause) => **cause = cause.as_ref().clone().without_place(),
            Self::Busy { path }
            | Self::Reader { path }
            | Self::ReadOnly { path, .. }
            | Self::DiskFull { path }
            | Self::Corrupt { path, .. }
            | Self::NewerSchema { path, .. }
            | Self::Replaced { path }
            | Self::Missing { path }
            | Self::NetworkFileSystem { path, .. }
            | Self::Io { path, .. } => path.clear(),
        }
        self
    }
}
