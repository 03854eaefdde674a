//! The answers of upkeep: copies, exports, imports, purges, and a look at everything.

use schemars::JsonSchema;
use serde::Serialize;

/// A copy that was made and proved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct BackedUp {
    /// Where it is.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many rows of it were checked.
    pub checked: u64,
    /// How far each project's ledger goes in it.
    pub checkpoints: Vec<String>,
}

/// What was exported.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Exported {
    /// The file.
    pub path: String,
    /// How many ledger entries.
    pub entries: u64,
    /// How far each project's ledger goes.
    pub checkpoints: Vec<String>,
}

/// What became of one project of an import.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ImportedProject {
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// added, extended, unchanged, or diverged.
    pub state: String,
    /// How many ledger entries were there before.
    pub known: u64,
    /// How many were added.
    pub added: u64,
    /// The position at which the ledgers part; nothing of the project was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diverged_at: Option<u64>,
    /// Its checkpoint as it is now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<String>,
}

/// What became of an import.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Imported {
    /// Its projects, in the order of the export.
    pub projects: Vec<ImportedProject>,
    /// Whether the export was there to its end.
    pub complete: bool,
    /// How many current values of diverged projects were written anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replayed: Option<u64>,
}

/// A text that was purged, or would be.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PurgedText {
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// What it belongs to: a version as a JSON array of scope, key and number, a packet's or an outcome's id.
    pub subject: String,
    /// value, texts or note.
    pub what: String,
}

/// What became of a purge.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PurgedTexts {
    /// The texts, one for each thing that refers to one.
    pub texts: Vec<PurgedText>,
    /// Names inside hashes that hold what was looked for and cannot be removed: at most twenty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// How many those are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names_total: Option<u64>,
    /// True when nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// One thing that was looked at.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Check {
    /// What it is, in a word.
    pub name: String,
    /// Whether it is in order.
    pub ok: bool,
    /// What was found.
    pub what: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// An agent that was seen in a project.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SeenAgent {
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// Its name.
    pub agent: String,
    /// When it did something last.
    pub last_at: String,
}

/// A look at everything.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Health {
    /// Whether everything is in order.
    pub ok: bool,
    /// Everything that was looked at.
    pub checks: Vec<Check>,
    /// The agents that were seen, the latest first.
    pub agents: Vec<SeenAgent>,
}

/// Whether a server works.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Healthy {
    /// ok.
    pub status: String,
    /// The program's version.
    pub version: String,
}
