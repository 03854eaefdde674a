//! Packets, and the answers of `handoff` and `resume`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::any_json;
use super::records::Purged;

/// How many ledger entries a project has gained since a packet was written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Changes {
    /// Entries that are visible to the caller and not about the packet itself.
    pub total: u64,
    /// How many of them the packet's author made.
    pub by_author: u64,
}

/// A git work tree when a packet was written.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Git {
    /// The branch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit.
    pub commit: String,
    /// Whether there were changes that were not committed.
    pub dirty: bool,
}

/// A handoff packet. In lists it comes without summary and lists of text.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Packet {
    /// Its name.
    pub id: String,
    /// How old it is.
    pub age: String,
    /// What has happened since it was written.
    pub changes_since: Changes,
    /// One line that says what it is about.
    pub title: String,
    /// What was done and where things stand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// What to do next, in order.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_steps: Option<Vec<String>>,
    /// What is unclear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_questions: Option<Vec<String>>,
    /// Which files were touched.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub files_touched: Option<Vec<String>>,
    /// Set when its texts were removed on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged: Option<Purged>,
    /// True when its texts are gone or do not fit their hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<bool>,
    /// True when its texts are not the caller's to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// Who wrote it.
    pub from_agent: String,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_session: Option<String>,
    /// Whom it is for; absent: anyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<String>,
    /// True when no agent of that name was ever seen in the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent_unseen: Option<bool>,
    /// Whom it belongs to; absent: everyone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The directory that the work is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// manual, or automatic when a hook wrote it.
    pub origin: String,
    /// The git work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The project's ledger just before the packet was written.
    pub checkpoint: String,
    /// When it was written.
    pub created_at: String,
    /// When it expires; absent: never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<String>,
    /// open, accepted, closed or expired.
    pub state: String,
    /// success, failure or abandoned when closed; ttl, cancelled or superseded when expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ended_as: Option<String>,
    /// The packet that it took the place of.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The packet that took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_by: Option<String>,
    /// The packet whose work it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
    /// Who holds or held it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_by: Option<String>,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_session: Option<String>,
    /// For which owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_owner: Option<String>,
    /// Since when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accepted_at: Option<String>,
    /// In which directory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiving_cwd: Option<String>,
    /// When it was closed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<String>,
    /// The run, ticket or commit with which it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome_ref: Option<String>,
}

/// A pinned version, resolved.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Ref {
    /// Where the record lives.
    pub scope: String,
    /// Its name there.
    pub key: String,
    /// The version that is pinned.
    pub version: u64,
    /// current, stale (a newer version exists), purged or corrupt.
    pub status: String,
    /// The value of the pinned version, as long as the answer has room for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_json")]
    pub value: Option<Box<RawValue>>,
    /// The length of the value's JSON text in bytes, when it did not fit: recall it by scope, key and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
    /// How sure we are of the pinned version now, 0 to 1.
    pub confidence: f64,
    /// The version that is current now, when the pinned one is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub current: Option<Current>,
}

/// The version that took a pinned one's place.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Current {
    /// Its number.
    pub version: u64,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: String,
    /// Whether it holds the same value as the pinned one.
    pub same_value: bool,
}

/// The answer of `handoff`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct HandedOff {
    /// The packet.
    pub packet: Packet,
    /// What it pins, without values.
    pub refs: Vec<Ref>,
    /// How many packets of this agent are open now.
    pub open_by_you: u64,
    /// True when the same packet was there before and nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What a caller could not take.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Elsewhere {
    /// Open packets that are not for the caller.
    pub others: u64,
    /// Packets that have expired.
    pub expired: u64,
}

/// A packet that the caller's agent holds and has not ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Unfinished {
    /// Its name.
    pub id: String,
    /// Its title.
    pub title: String,
    /// The session that holds it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// How old it is.
    pub age: String,
    /// When its claim was last renewed.
    pub last_activity: String,
}

/// The answer of `resume`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Resumed {
    /// The packet that is the caller's now; absent: nothing for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<Packet>,
    /// Its pinned versions, all of them, with their values as long as there is room. Absent in a list of what waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refs: Option<Vec<Ref>>,
    /// How many of the refs are stale. Absent in a list of what waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stale: Option<u64>,
    /// With `peek`: what a bare resume could take, the first to take first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets: Option<Vec<Packet>>,
    /// How many those are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_total: Option<u64>,
    /// How many packets a bare resume could take now.
    pub waiting: u64,
    /// What there is beside.
    pub elsewhere: Elsewhere,
    /// What the caller's agent holds and has not ended, other than this packet.
    pub unfinished: Vec<Unfinished>,
    /// How many those are, when more than are listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unfinished_total: Option<u64>,
    /// True when the caller's agent held the packet before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub already_yours: Option<bool>,
    /// The session of the same agent that held it before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held_by_session: Option<String>,
    /// Whose lapsed claim was taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_over_from: Option<String>,
    /// True when values were left out to keep the answer short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}
