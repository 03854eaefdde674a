//! Workspaces, projects and what waits in them; pages of a ledger.

use schemars::JsonSchema;
use serde::Serialize;

use super::handoffs::Packet;
use super::queue::Entry;
use super::stats::{Counts, Tally};

/// A workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Workspace {
    /// Its name.
    pub workspace: String,
    /// How many projects it has.
    pub projects: u64,
    /// How many open packets of them the caller may know of.
    pub pending_handoff_count: u64,
    /// When one of them was written to last.
    pub last_activity: String,
}

/// Every workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Workspaces {
    /// By name.
    pub workspaces: Vec<Workspace>,
}

/// A project, and what waits in it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Project {
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// How many open packets the caller may know of.
    pub pending_handoff_count: u64,
    /// The packets that the caller may know of, by state.
    pub handoffs: Counts,
    /// How many entries its ledger has.
    pub entries: u64,
    /// When it was written to last.
    pub last_activity: String,
}

/// Every project of a workspace.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Projects {
    /// By name.
    pub projects: Vec<Project>,
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

/// A page of a ledger.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Ledger {
    /// The entries, oldest first.
    pub entries: Vec<Entry>,
    /// The position of the ledger's last entry; 0 before anything was written.
    pub last: u64,
    /// Give this as `since` to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_since: Option<u64>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A checkpoint.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Pinned {
    /// One string that pins the project's whole ledger.
    pub checkpoint: String,
}
