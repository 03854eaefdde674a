//! The answer of anything that failed.

use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Problem {
    /// invalid_argument, not_found, conflict, not_allowed, busy, read_only, disk_full, corrupt, newer_schema or internal.
    pub code: String,
    /// What happened and was expected.
    pub message: String,
    /// What to do.
    pub hint: String,
}

/// The answer of anything that failed.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Failed {
    /// What went wrong.
    pub error: Problem,
}
