//! The answer of `memory_stats`, and the result of a proof.

use schemars::JsonSchema;
use serde::Serialize;

use super::handoffs::Packet;

/// The store and the program that serves it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct StoreInfo {
    /// The database file.
    pub path: String,
    /// Where that path comes from: a flag, a variable or the default.
    pub path_from: String,
    /// The store's id; absent while there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The schema of the file.
    pub schema: i64,
    /// SQLite's version.
    pub sqlite: String,
    /// The file's size in bytes.
    pub bytes: u64,
    /// The size of its write-ahead log in bytes.
    pub wal_bytes: u64,
    /// The program that answers.
    pub binary: String,
    /// Its version.
    pub version: String,
}

/// A name and a number of current records.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Tally {
    /// The name.
    pub name: String,
    /// How many current records.
    pub records: u64,
}

/// Packets by state.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Counts {
    /// Waiting.
    pub open: u64,
    /// Claimed.
    pub accepted: u64,
    /// Ended by their claimant.
    pub closed: u64,
    /// Ended without one.
    pub expired: u64,
}

/// The result of a proof.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Verified {
    /// Whether nothing was found.
    pub ok: bool,
    /// How many rows were checked.
    pub checked: u64,
    /// The first fault of each kind.
    pub faults: Vec<Fault>,
}

/// One thing that is not as the store's own history says.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Fault {
    /// A short stable word for its kind.
    pub kind: String,
    /// The project and row.
    #[serde(rename = "where")]
    pub place: String,
    /// What was found and what was expected.
    pub what: String,
}

/// The answer of `memory_stats`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Stats {
    /// The store and the program that serves it.
    pub store: StoreInfo,
    /// Where your name comes from: a flag, a variable, or the client.
    pub agent_from: String,
    /// The project's numbers.
    #[serde(flatten)]
    pub numbers: Numbers,
    /// True when this process made the file.
    pub created: bool,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// The result of `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verified>,
}

/// The numbers of a project, without what is the server's own.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Numbers {
    /// Who you are here.
    pub agent: String,
    /// For whom you act.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Your run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// How many records.
    pub records: u64,
    /// How many versions.
    pub versions: u64,
    /// The average confidence of the current versions; absent without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average_confidence: Option<f64>,
    /// Current records by author, most first.
    pub by_agent: Vec<Tally>,
    /// How many authors there are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_agent_total: Option<u64>,
    /// Current records by scope, most first.
    pub by_scope: Vec<Tally>,
    /// How many scopes there are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_scope_total: Option<u64>,
    /// Packets by state.
    pub handoffs: Counts,
    /// What a bare resume could take, the first to take first.
    pub waiting: Vec<Packet>,
    /// How many those are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_total: Option<u64>,
    /// One string that pins the project's whole ledger; absent before anything was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}
