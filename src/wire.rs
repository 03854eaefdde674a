//! The answer shapes, once for all faces: made from domain types, the same JSON everywhere.
//!
//! No field is ever null: what is absent is left out. Times are RFC 3339 in UTC with milliseconds.

pub mod make;
pub mod schema;

mod compared;
mod failed;
mod handoffs;
mod outcomes;
mod queue;
mod records;
mod stats;
mod tokens;
mod upkeep;
mod workspaces;

pub use compared::Compared;
pub use failed::{Failed, Problem};
pub use handoffs::{Changes, Current, Elsewhere, Git, HandedOff, Packet, Ref, Resumed, Unfinished};
pub use outcomes::{Moved, PacketState, Recorded};
pub use queue::{Entry, Expired, Listed, Reopened, Shown};
pub use records::{History, Purged, Recalled, Record, Remembered};
pub use stats::{Counts, Fault, Numbers, Stats, StoreInfo, Tally, Verified};
pub use tokens::{Issued, Revoked, Token, Tokens};
pub use upkeep::{
    BackedUp, Check, Exported, Health, Healthy, Imported, ImportedProject, PurgedText, PurgedTexts, SeenAgent,
};
pub use workspaces::{Ledger, Pinned, Project, Projects, Workspace, Workspaces};

/// Any JSON value: a schema without a type, which every client takes.
fn any_json(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::Schema::default()
}

/// An object with fields that other systems choose.
fn any_object(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "object", "properties": {} })
}
