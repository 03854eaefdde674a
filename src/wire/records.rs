//! Versions, and the answers of `remember`, `recall` and `history`.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{any_json, any_object};

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
    /// True when its value is not the caller's to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
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
