//! The answer of `record_outcome`.

use schemars::JsonSchema;
use serde::Serialize;

/// A version whose confidence was moved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Moved {
    /// Where the record lives.
    pub scope: String,
    /// Its name there.
    pub key: String,
    /// The version that was moved.
    pub version: u64,
    /// The confidence before.
    pub before: f64,
    /// The confidence after.
    pub after: f64,
    /// True when a newer version exists, which was left alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded: Option<bool>,
}

/// Where a packet stands after a report.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PacketState {
    /// Its name.
    pub id: String,
    /// open, accepted, closed or expired.
    pub state: String,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_as: Option<String>,
}

/// The answer of `record_outcome`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Recorded {
    /// The run, ticket or commit that was reported about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_ref: Option<String>,
    /// What was reported.
    pub outcome: String,
    /// The versions whose confidence moved.
    pub moved: Vec<Moved>,
    /// How many those are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_total: Option<u64>,
    /// The packet that was reported about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<PacketState>,
    /// True when all of it was reported before and nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeated: Option<bool>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}
