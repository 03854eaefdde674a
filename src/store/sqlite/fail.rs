//! Failures inside a transaction, and their translation into what a caller is told.

use std::path::Path;

use rusqlite::ErrorCode;

use super::super::StoreError;
use crate::domain::{Invalid, Refusal};

/// Why a transaction did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum Fail {
    /// SQLite said no.
    #[error("database")]
    Sql(#[from] rusqlite::Error),
    /// A rule of the domain said no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// A row does not hold what it must; the text names the row in words of the domain.
    #[error("{0}")]
    Damaged(String),
    /// The system's random numbers failed.
    #[error("{0}")]
    Internal(String),
}

impl From<Invalid> for Fail {
    fn from(invalid: Invalid) -> Self {
        Self::Refused(invalid.into())
    }
}

impl From<getrandom::Error> for Fail {
    fn from(_: getrandom::Error) -> Self {
        Self::Internal("the system gave no random numbers".to_owned())
    }
}

impl Fail {
    /// What the caller of the store at `path` is told.
    pub fn told(self, path: &Path) -> StoreError {
        match self {
            Self::Sql(error) => told(&error, path),
            Self::Refused(refusal) => StoreError::Refused(refusal),
            Self::Damaged(what) => StoreError::Corrupt {
                path: path.to_owned(),
                what,
            },
            Self::Internal(what) => StoreError::Internal(what),
        }
    }
}

/// Translates what SQLite said. Its own words stay in the log: they may hold SQL.
pub fn told(error: &rusqlite::Error, path: &Path) -> StoreError {
    tracing::debug!(%error, "SQLite refused");
    let path = path.to_owned();
    let Some(code) = error.sqlite_error_code() else {
        // What is left is a column of another type than we write, or text that is no UTF-8.
        return StoreError::Corrupt {
            path,
            what: "a row does not hold what it must; run `handoff-memory verify`".to_owned(),
        };
    };
    match code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => StoreError::Busy { path },
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreError::ReadOnly {
            path,
            what: "the file or its folder is read-only".to_owned(),
        },
        ErrorCode::DiskFull => StoreError::DiskFull { path },
        ErrorCode::DatabaseCorrupt => StoreError::Corrupt {
            path,
            what: "the file is damaged".to_owned(),
        },
        ErrorCode::NotADatabase => StoreError::Corrupt {
            path,
            what: "it is not a database".to_owned(),
        },
        // A WAL database cannot even be read where the files beside it cannot be made.
        ErrorCode::CannotOpen if super::place::is_read_only(&path) => StoreError::ReadOnly {
            path,
            what: "this user may not write the file or its folder, and even to be read it needs files beside it"
                .to_owned(),
        },
        ErrorCode::CannotOpen => StoreError::Io {
            path,
            what: "it cannot be opened".to_owned(),
        },
        ErrorCode::FileLockingProtocolFailed => StoreError::Io {
            path,
            what: "its file system does not lock files as SQLite needs it".to_owned(),
        },
        ErrorCode::SystemIoFailure => {
            if super::place::is_full(&path) {
                StoreError::DiskFull { path }
            } else {
                StoreError::Io {
                    path,
                    what: "the system reported an I/O error".to_owned(),
                }
            }
        }
        _ => StoreError::Internal(format!("the database answered with {code:?}")),
    }
}
