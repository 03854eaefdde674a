//! The answer of `diff`.

use schemars::JsonSchema;
use serde::Serialize;

use super::records::Record;

/// Two versions of one record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Compared {
    /// Where the record lives.
    pub scope: String,
    /// Its name there.
    pub key: String,
    /// The version that was started from.
    pub from: Record,
    /// The version that was compared with it.
    pub to: Record,
    /// Whether both hold the same bytes.
    pub same_value: bool,
    /// How the one becomes the other: a unified diff of the values, which are indented first.
    pub diff: String,
}
