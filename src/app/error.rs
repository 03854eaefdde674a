//! What a use case can fail with: a stable code, a message and a hint for the caller.

use crate::domain::{Invalid, Refusal};
use crate::store::StoreError;

/// Everything that a face has to tell.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppError {
    /// The store could not do it, or a rule said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Another file than the store's could not be written.
    #[error("{} could not be written: {what}", .path.display())]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        what: String,
        /// Whether its disk is full.
        full: bool,
    },
}

impl From<Invalid> for AppError {
    fn from(invalid: Invalid) -> Self {
        Self::Store(StoreError::Refused(Refusal::Invalid(invalid)))
    }
}

impl From<Refusal> for AppError {
    fn from(refusal: Refusal) -> Self {
        Self::Store(StoreError::Refused(refusal))
    }
}

impl AppError {
    /// A fault of this program.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::Store(StoreError::Internal(what.into()))
    }

    /// The stable code, one of those of the documentation.
    pub fn code(&self) -> &'static str {
        let error = match self {
            Self::Store(error) => error,
            Self::File { full: true, .. } => return "disk_full",
            Self::File { .. } => return "read_only",
        };
        match error {
            StoreError::Refused(Refusal::Invalid(_)) => "invalid_argument",
            StoreError::Refused(Refusal::NotFound { .. }) | StoreError::Missing { .. } => "not_found",
            StoreError::Refused(Refusal::Conflict { .. }) | StoreError::Replaced { .. } => "conflict",
            StoreError::Refused(Refusal::NotAllowed { .. }) => "not_allowed",
            StoreError::Busy { .. } | StoreError::Reader { .. } => "busy",
            StoreError::ReadOnly { .. } | StoreError::NetworkFileSystem { .. } => "read_only",
            StoreError::DiskFull { .. } => "disk_full",
            StoreError::Corrupt { .. } | StoreError::Io { .. } => "corrupt",
            StoreError::NewerSchema { .. } => "newer_schema",
            StoreError::Internal(_) => "internal",
        }
    }

    /// Whether a rule said no to something that was understood and could be looked at.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Store(StoreError::Refused(
                Refusal::NotFound { .. } | Refusal::Conflict { .. } | Refusal::NotAllowed { .. }
            ))
        )
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        let error = match self {
            Self::Store(error) => error,
            Self::File { full: true, .. } => return "free some space and call again".to_owned(),
            Self::File { .. } => return "check the path and its permissions, then call again".to_owned(),
        };
        match error {
            StoreError::Refused(Refusal::Invalid(_)) => "correct the argument and call again",
            StoreError::Refused(
                Refusal::NotFound { hint, .. } | Refusal::Conflict { hint, .. } | Refusal::NotAllowed { hint, .. },
            ) => hint,
            StoreError::Missing { .. } => "check MEMORY_DB; the first write makes the file",
            StoreError::Replaced { .. } => {
                "call again to go on with the file that is there now; if it was removed by mistake, put it back first"
            }
            StoreError::Busy { .. } => "call again; if it stays so, end the process that holds a transaction open",
            StoreError::Reader { .. } => "end that process, then run `handoff-memory purge --finish`",
            StoreError::ReadOnly { .. } => {
                "make the file and its folder writable for this user, or set MEMORY_DB elsewhere"
            }
            StoreError::NetworkFileSystem { .. } => "set MEMORY_DB to a path on a local disk",
            StoreError::DiskFull { .. } => "free some space and call again; no restart is needed",
            StoreError::Corrupt { what, .. } if what.starts_with("it is ") => {
                "check MEMORY_DB and --db: they name a file that is none of this program's"
            }
            StoreError::Corrupt { .. } => {
                "nothing was changed; run `handoff-memory verify`, and put a backup in its place if it confirms damage"
            }
            StoreError::Io { .. } => "check the path, its permissions and the disk, then call again",
            StoreError::NewerSchema { .. } => "upgrade handoff-memory, or set MEMORY_DB to another file",
            StoreError::Internal(_) => "call again; if it stays so, please report it with what you called",
        }
        .to_owned()
    }
}
