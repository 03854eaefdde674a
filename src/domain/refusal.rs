//! Why the rules say no to a request that was understood.

use super::Invalid;

/// What to do about a refusal: in the words of the tools, and at a shell where those would be other ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hint {
    tools: String,
    shell: Option<String>,
}

impl<T: Into<String>> From<T> for Hint {
    fn from(words: T) -> Self {
        Self {
            tools: words.into(),
            shell: None,
        }
    }
}

impl Hint {
    /// Words for a caller of the tools or of REST, and others for a person at a shell.
    pub fn both(tools: impl Into<String>, shell: impl Into<String>) -> Self {
        Self {
            tools: tools.into(),
            shell: Some(shell.into()),
        }
    }

    /// The words for a caller of the tools or of REST, who may have no shell.
    pub fn for_tools(&self) -> &str {
        &self.tools
    }

    /// The words for a person at a shell.
    pub fn for_shell(&self) -> &str {
        self.shell.as_deref().unwrap_or(&self.tools)
    }
}

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
        hint: Hint,
    },
    /// The state is not what the caller took it for.
    #[error("{message}")]
    Conflict {
        /// What the state is.
        message: String,
        /// What to do.
        hint: Hint,
    },
    /// The caller may not do this.
    #[error("{message}")]
    NotAllowed {
        /// Who may.
        message: String,
        /// What to do.
        hint: Hint,
    },
}

impl Refusal {
    /// A refusal because something is not there.
    pub fn not_found(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::NotFound {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A refusal because the state is another one.
    pub fn conflict(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::Conflict {
            message: message.into(),
            hint: hint.into(),
        }
    }

    /// A refusal because somebody else may and the caller may not.
    pub fn not_allowed(message: impl Into<String>, hint: impl Into<Hint>) -> Self {
        Self::NotAllowed {
            message: message.into(),
            hint: hint.into(),
        }
    }
}
