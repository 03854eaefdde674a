//! Workspaces, projects and what waits in them; pages of a ledger.

use schemars::JsonSchema;
use serde::Serialize;

use super::queue::Entry;
use super::stats::Counts;

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
