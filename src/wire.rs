//! The answer shapes, once for all faces: made from domain types, the same JSON everywhere.
//!
//! No field is ever null: what is absent is left out. Times are RFC 3339 in UTC with milliseconds.

pub mod make;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// Any JSON value: a schema without a type, which every client takes.
fn any_json(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::default()
}

/// An object with fields that other systems choose.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "properties": {} })
}

/// One version of a record.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Record {
    /// Where the record lives.
    pub scope: String,
    /// Its name there.
    pub key: String,
    /// Which version this is, from 1.
    pub version: u64,
    /// The value, as it was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_json")]
    pub value: Option<Box<RawValue>>,
    /// The beginning of the value's JSON text, in place of a value that is too long for this answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// A slice of the value's JSON text, in place of a value that is too long for one answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_part: Option<String>,
    /// The byte of the value's JSON text at which the slice starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    /// The length of the whole value's JSON text in bytes, where it is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
    /// Set when the value was removed on purpose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub purged: Option<Purged>,
    /// True when the value is gone or does not fit its hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<bool>,
    /// Its tags.
    pub tags: Vec<String>,
    /// How sure we are of it now, 0 to 1.
    pub confidence: f64,
    /// How often acting on it went well.
    pub successes: u64,
    /// How often acting on it went badly.
    pub failures: u64,
    /// Who wrote it.
    pub author: String,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// When it was written.
    pub at: String,
    /// Its hash.
    pub hash: String,
    /// The hash of the version before, 64 zeros for the first.
    pub prev_hash: String,
    /// Whether it is the current version.
    pub current: bool,
    /// When a newer version took its place.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub superseded_at: Option<String>,
    /// What another system keeps beside the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub meta: Option<Value>,
}

/// That a text was removed on purpose.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Purged {
    /// Who removed it.
    pub by: String,
    /// When.
    pub at: String,
    /// Why: secret, personal, mistake or other.
    pub why: String,
}

/// The answer of `remember`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Remembered {
    /// The version that is current now, without its value.
    pub record: Record,
    /// True when it was there before and nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The answer of `recall`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Recalled {
    /// What was found, best first.
    pub records: Vec<Record>,
    /// How many there are in all.
    pub total: u64,
    /// True when there are more than `total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_capped: Option<bool>,
    /// True when something was left out or cut to keep the answer short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Give this as `cursor`, with the same arguments, to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What was searched and where else there is something, when nothing was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searched: Option<String>,
    /// How to read what was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// The answer of `history`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct History {
    /// Where the record lives.
    pub scope: String,
    /// Its name there.
    pub key: String,
    /// Its versions, oldest first.
    pub versions: Vec<Record>,
    /// How many there are in all.
    pub total: u64,
    /// True when something was left out or cut to keep the answer short.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<bool>,
    /// Give this as `cursor`, with the same arguments, to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// How to read what was cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rest: Option<String>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

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
    pub outcome_ref: String,
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
    /// Who you are here.
    pub agent: String,
    /// Where your name comes from: a flag, a variable, or the client.
    pub agent_from: String,
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
    /// True when this process made the file.
    pub created: bool,
    /// What the caller should know.
    pub warnings: Vec<String>,
    /// The result of `verify`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verify: Option<Verified>,
}

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
