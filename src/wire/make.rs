//! From domain types to answer shapes.

mod handoffs;
mod queue;
mod searched;
mod tokens;
mod upkeep;
mod workspaces;

pub use handoffs::{handed_off, listed, packet, peeked, reference, resumed};
pub use queue::{entry, expired, queue, reopened, shown, stale};
pub use searched::{searched, sought_one};
pub use tokens::{issued, revoked, token, tokens};
pub use upkeep::{backed_up, exported, health, imported, purged_texts};
pub use workspaces::{ledger, numbers, pinned, projects, workspaces};

use serde_json::value::RawValue;

use super::{
    Compared, Failed, Fault, History, Moved, PacketState, Problem, Purged, Recalled, Record, Recorded, Remembered,
    Stats, StoreInfo, Verified,
};
use crate::app::memory::Written;
use crate::app::upkeep::Overview;
use crate::app::{AppError, Caller, Door};
use crate::domain::fault::Report;
use crate::domain::handoff::seen;
use crate::domain::outcome::NewOutcome;
use crate::domain::record::{self, Stored, Version};
use crate::domain::{JsonText, limits};

/// True where something holds, absent where it does not.
pub fn flag(holds: bool) -> Option<bool> {
    holds.then_some(true)
}

/// A list of warnings, absent when there is nothing to say; at most twenty, the rest counted in the last one.
pub fn warnings(mut all: Vec<String>) -> Option<Vec<String>> {
    if all.len() > limits::ANSWER_LIST {
        let more = all.len() - (limits::ANSWER_LIST - 1);
        all.truncate(limits::ANSWER_LIST - 1);
        all.push(format!("and {more} more warnings"));
    }
    (!all.is_empty()).then_some(all)
}

/// Stored text as JSON, byte for byte.
fn raw(text: &JsonText) -> Option<Box<RawValue>> {
    RawValue::from_string(text.as_str().to_owned()).ok()
}

fn purged(purged: &record::Purged) -> Purged {
    Purged {
        by: purged.by.clone(),
        at: purged.at.clone(),
        why: purged.why.clone(),
    }
}

/// A version with its value, or what stands in its place.
pub fn record(version: &Version) -> Record {
    let mut record = bare_record(version);
    match &version.value {
        Stored::Whole(text) => {
            record.value = raw(text);
            record.corrupt = flag(record.value.is_none());
        }
        Stored::Beginning { preview, bytes } => {
            record.preview = Some(preview.clone());
            record.value_bytes = Some(*bytes);
        }
        Stored::Purged(why) => record.purged = Some(purged(why)),
        Stored::Corrupt => record.corrupt = Some(true),
        Stored::Redacted => record.redacted = Some(true),
    }
    record
}

/// A version without its value.
pub fn bare_record(version: &Version) -> Record {
    Record {
        scope: version.at.scope.as_str().to_owned(),
        key: version.at.key.as_str().to_owned(),
        version: version.version,
        value: None,
        preview: None,
        value_part: None,
        from: None,
        value_bytes: None,
        purged: None,
        corrupt: None,
        redacted: None,
        tags: version.tags.clone(),
        confidence: version.opinion.confidence.get(),
        successes: version.opinion.successes,
        failures: version.opinion.failures,
        author: version.author.as_str().to_owned(),
        session: version.session.as_ref().map(ToString::to_string),
        at: version.created_at.to_string(),
        hash: version.hash.clone(),
        prev_hash: version.prev_hash.clone(),
        current: version.superseded_at.is_none(),
        superseded_at: version.superseded_at.map(|at| at.to_string()),
        meta: version.meta.clone(),
    }
}

/// The answer of `remember`.
pub fn remembered(written: Written, more: Vec<String>) -> Remembered {
    Remembered {
        record: bare_record(&written.remembered.version),
        unchanged: flag(written.remembered.unchanged),
        warnings: warnings([written.warnings, more].concat()),
    }
}

/// The answer of `recall`, before it is fitted to a face.
pub fn recalled(versions: &[Version], total: u64, more: Vec<String>) -> Recalled {
    Recalled {
        records: versions.iter().map(record).collect(),
        total,
        total_capped: None,
        truncated: None,
        next_cursor: None,
        searched: None,
        rest: None,
        warnings: warnings(more),
    }
}

/// The answer of `history`, before it is fitted to a face.
pub fn history(at: &crate::domain::Address, versions: &[Version], total: u64, more: Vec<String>) -> History {
    History {
        scope: at.scope.as_str().to_owned(),
        key: at.key.as_str().to_owned(),
        versions: versions.iter().map(record).collect(),
        total,
        truncated: None,
        next_cursor: None,
        rest: None,
        warnings: warnings(more),
    }
}

/// Two versions of one record, and how the one becomes the other.
pub fn compared(at: &crate::domain::Address, from: &Version, to: &Version, diff: String) -> Compared {
    Compared {
        scope: at.scope.to_string(),
        key: at.key.to_string(),
        from: record(from),
        to: record(to),
        same_value: from.value == to.value,
        diff,
    }
}

/// How many there are, where a list holds fewer.
fn total(all: u64, listed: usize) -> Option<u64> {
    (all > listed as u64).then_some(all)
}

/// The answer of `record_outcome`.
pub fn recorded(new: &NewOutcome, recorded: &seen::Recorded, more: Vec<String>) -> Recorded {
    Recorded {
        outcome_ref: new.outcome_ref.as_ref().map(ToString::to_string),
        outcome: new.report.as_str().to_owned(),
        moved: recorded
            .moved
            .iter()
            .take(limits::ANSWER_LIST)
            .map(|moved| Moved {
                scope: moved.at.scope.to_string(),
                key: moved.at.key.to_string(),
                version: moved.version,
                before: moved.before,
                after: moved.after,
                superseded: flag(moved.superseded),
            })
            .collect(),
        moved_total: total(
            recorded.moved.len() as u64,
            recorded.moved.len().min(limits::ANSWER_LIST),
        ),
        packet: recorded.packet.as_ref().map(|packet| PacketState {
            id: packet.id.to_string(),
            state: packet.state.as_str().to_owned(),
            ended_as: packet.ended_as.map(|end| end.as_str().to_owned()),
        }),
        repeated: flag(recorded.repeated),
        warnings: warnings(more),
    }
}

/// The result of a proof.
pub fn verified(report: &Report) -> Verified {
    Verified {
        ok: report.ok(),
        checked: report.checked,
        faults: report
            .faults
            .iter()
            .map(|fault| Fault {
                kind: fault.kind.clone(),
                place: fault.place.clone(),
                what: fault.what.clone(),
            })
            .collect(),
    }
}

/// The answer of `memory_stats`.
pub fn stats(
    overview: &Overview,
    caller: &Caller,
    agent_from: &str,
    verify: Option<&Report>,
    more: Vec<String>,
) -> Stats {
    let stats = &overview.stats;
    let binary = std::env::current_exe()
        .ok()
        .filter(|_| !caller.guest)
        .map_or_else(|| "(the server's)".to_owned(), |path| path.display().to_string());
    Stats {
        store: StoreInfo {
            path: overview.path.display().to_string(),
            path_from: overview.path_from.to_owned(),
            id: stats.store_id.clone(),
            schema: stats.schema,
            sqlite: stats.sqlite.clone(),
            bytes: overview.bytes,
            wal_bytes: overview.wal_bytes,
            binary,
            version: env!("CARGO_PKG_VERSION").to_owned(),
        },
        agent_from: agent_from.to_owned(),
        numbers: numbers(stats, caller),
        created: overview.created,
        warnings: [overview.warnings.clone(), more].concat(),
        verify: verify.map(verified),
    }
}

/// The answer of anything that failed.
pub fn failed(error: &AppError, door: Door) -> Failed {
    Failed {
        error: Problem {
            code: error.code().to_owned(),
            message: error.message(door),
            hint: error.hint(door),
        },
    }
}
