//! What a use case can fail with: a stable code, a message and a hint for the caller.

use std::path::PathBuf;

use crate::domain::{Home, Invalid, Refusal};
use crate::store::StoreError;

/// Through which door an error goes out: who stands there may do other things about it, and may know more or less.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Door {
    /// The tools, on standard output of a process of the caller's own.
    Tools,
    /// A person at a shell.
    Shell,
    /// HTTP: the place of the file, its settings and the command line are those of whoever runs the server.
    Http,
}

/// Everything that a face has to tell.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AppError {
    /// The store could not do it, or a rule said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Nothing was ever written to a project.
    #[error(
        "nothing was ever written to project {}/{}{}", .home.workspace, .home.project,
        .path.as_ref().map(|path| format!(" in {}", path.display())).unwrap_or_default()
    )]
    NoProject {
        /// The project.
        home: Home,
        /// The database file, where it is told.
        path: Option<PathBuf>,
    },
    /// Another file than the store's could not be written.
    #[error("{} could not be written: {what}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
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
            Self::Store(StoreError::Unclean(cause)) => cause.as_ref(),
            Self::Store(error) => error,
            Self::NoProject { .. } => return "not_found",
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
            StoreError::Internal(_) | StoreError::Unclean(_) => "internal",
        }
    }

    /// Whether a rule said no to something that was understood and could be looked at.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::NoProject { .. }
                | Self::Store(StoreError::Refused(
                    Refusal::NotFound { .. } | Refusal::Conflict { .. } | Refusal::NotAllowed { .. }
                ))
        )
    }

    /// What happened, in words for who stands at this door.
    pub fn message(&self, door: Door) -> String {
        match (door, self) {
            (Door::Http, Self::Store(error)) => error.clone().without_place().to_string(),
            (Door::Http, Self::NoProject { home, .. }) => {
                let (home, path) = (home.clone(), None);
                Self::NoProject { home, path }.to_string()
            }
            _ => self.to_string(),
        }
    }

    /// What to do about it, in words for who stands at this door.
    pub fn hint(&self, door: Door) -> String {
        let error = match self {
            Self::Store(error) => error,
            Self::NoProject { .. } if door == Door::Http => {
                return "check the names; GET /workspaces lists them".to_owned();
            }
            Self::NoProject { .. } => {
                return "check the names; `handoff-memory checkpoint --all` shows every project".to_owned();
            }
            Self::File { full: true, .. } => return "free some space and call again".to_owned(),
            Self::File { .. } => return "check the path and its permissions, then call again".to_owned(),
        };
        match (error, door) {
            (StoreError::Refused(Refusal::Invalid(_)), _) => "correct the argument and call again",
            (
                StoreError::Refused(
                    Refusal::NotFound { hint, .. } | Refusal::Conflict { hint, .. } | Refusal::NotAllowed { hint, .. },
                ),
                Door::Shell,
            ) => hint.for_shell(),
            (
                StoreError::Refused(
                    Refusal::NotFound { hint, .. } | Refusal::Conflict { hint, .. } | Refusal::NotAllowed { hint, .. },
                ),
                _,
            ) => hint.for_tools(),
            (StoreError::Internal(_), _) => "call again; if it stays so, please report it with what you called",
            (StoreError::Missing { .. }, Door::Http) => "nothing was written yet; the first write makes it",
            (StoreError::Replaced { .. }, Door::Http) => "call again to go on with the file that is there now",
            (StoreError::Busy { .. }, Door::Http) => "call again; if it stays so, tell whoever runs the server",
            (StoreError::DiskFull { .. }, Door::Http) => {
                "tell whoever runs the server to free some space; no restart is needed"
            }
            (StoreError::ReadOnly { .. }, Door::Http) => {
                "tell whoever runs the server to make its file and folder writable; no restart is needed"
            }
            (StoreError::NewerSchema { .. }, Door::Http) => "tell whoever runs the server to upgrade it",
            (_, Door::Http) => "tell whoever runs the server, whose log says more; nothing was acknowledged",
            (StoreError::Missing { .. }, _) => "check MEMORY_DB and --db; the first write makes the file",
            (StoreError::Replaced { .. }, _) => {
                "call again to go on with the file that is there now; if it was removed by mistake, put it back first"
            }
            (StoreError::Busy { .. }, _) => "call again; if it stays so, end the process that holds a transaction open",
            (StoreError::Reader { .. }, _) => "end that process, then run `handoff-memory purge --finish`",
            (StoreError::Unclean(cause), _) => {
                let first = Self::Store((**cause).clone()).hint(door);
                return format!("{first}; `handoff-memory purge --finish` goes on from there");
            }
            (StoreError::ReadOnly { .. }, _) => {
                "make the file and its folder writable for this user, or copy the file to where it is and set MEMORY_DB to that"
            }
            (StoreError::NetworkFileSystem { .. }, _) => "set MEMORY_DB to a path on a local disk",
            (StoreError::DiskFull { .. }, _) => "free some space and call again; no restart is needed",
            (StoreError::Corrupt { what, .. }, _) if what.starts_with("it is ") => {
                "check MEMORY_DB and --db: they name a file that is none of this program's"
            }
            (StoreError::Corrupt { .. }, _) => {
                "nothing was changed; run `handoff-memory verify`, and put a backup in its place if it confirms damage"
            }
            (StoreError::Io { .. }, _) => "check the path, its permissions and the disk, then call again",
            (StoreError::NewerSchema { .. }, _) => "upgrade handoff-memory, or set MEMORY_DB to another file",
        }
        .to_owned()
    }
}
