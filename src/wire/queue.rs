//! The queue and the ledger as people and dashboards look at them.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

use super::any_object;
use super::handoffs::{Packet, Ref};

/// A page of packets.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Listed {
    /// The packets, without summary and lists of text.
    pub packets: Vec<Packet>,
    /// How many there are in all.
    pub total: u64,
    /// Give this as `cursor`, with the same filters, to go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// A ledger entry.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Entry {
    /// Its position.
    pub seq: u64,
    /// When it was written.
    pub at: String,
    /// Who acted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What kind of thing happened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What it happened to: a packet's or an outcome's id, or the JSON array of a version's scope, key and number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// What it set.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_object")]
    pub detail: Option<Box<RawValue>>,
    /// What it vouches for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Its hash.
    pub hash: String,
    /// What its writer said beside it; only where one packet is shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// True when it is about something that is not the caller's to know, or not to read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

/// One packet with everything that is known of it.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Shown {
    /// The packet.
    pub packet: Packet,
    /// Its pinned versions, with their values.
    pub refs: Vec<Ref>,
    /// How many of them are stale.
    pub stale: u64,
    /// The ledger entries about it, oldest first; the newest 200 when there are more.
    pub entries: Vec<Entry>,
    /// What the caller should know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
}

/// What became of open packets that were to be ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Expired {
    /// The packets that were ended, or that would be.
    pub packets: Vec<Packet>,
    /// How many those are.
    pub total: u64,
    /// True when nothing was written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,
}

/// A packet that was opened again.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Reopened {
    /// The packet, without summary and lists of text.
    pub packet: Packet,
}
