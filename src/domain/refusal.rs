//! Why the rules say no to a request that was understood.

use super::Invalid;

/// A refusal by a rule of the domain, in words for the caller: what happened and was expected, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// An argument cannot be taken.
    #[error(transparent)]
    Invalid(#[from] Invalid),
    /// What was named does not exist for this caller.
    #[error("{message}")]
    NotFound {
        /// What was looked for.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The state is not what the caller took it for.
    #[error("{message}")]
    Conflict {
        /// What the state is.
        message: String,
        /// What to do.
        hint: String,
    },
    /// The caller may not do this.
    #[error("{message}")]
    NotAllowed {
        /// Who may.
        message: String,
        /// What to do.
        hint: String,
    },
}

impl Refusal {
    /// A refusal because something is not there.
    pub fn not_found(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::NotFound {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A refusal because the state is another one.
    pub fn conflict(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Conflict {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A refusal because somebody else may and the caller may not.
    pub fn not_allowed(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::NotAllowed {
            message: message.into(),
            hint: hint.into(),
        }
    }
}
