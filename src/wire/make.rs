//! From domain types to answer shapes.

use serde_json::value::RawValue;

use super::{
    Changes, Counts, Current, Elsewhere, Failed, Fault, Git, HandedOff, History, Moved, Packet, PacketState, Problem,
    Purged, Recalled, Record, Recorded, Ref, Remembered, Resumed, Stats, StoreInfo, Tally, Unfinished, Verified,
};
use crate::app::memory::Written;
use crate::app::upkeep::Overview;
use crate::app::{AppError, Caller};
use crate::domain::fault::Report;
use crate::domain::handoff::seen::{self, Letter, Queue, Resolved, Seen, Standing};
use crate::domain::outcome::NewOutcome;
use crate::domain::record::{self, Stored, Version};
use crate::domain::{Home, JsonText, limits};

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

/// A packet as it stands in lists: without summary and lists of text.
pub fn listed(seen: &Seen, home: &Home) -> Packet {
    let packet = &seen.packet;
    let text = |name: Option<&crate::domain::handoff::HandoffId>| name.map(ToString::to_string);
    let (letter_purged, letter_corrupt) = match &seen.letter {
        Letter::Whole(_) => (None, false),
        Letter::Purged(why) => (Some(purged(why)), false),
        Letter::Corrupt => (None, true),
    };
    let state = packet.state_at(seen.now);
    let ran_out = state != packet.state;
    Packet {
        id: packet.id.to_string(),
        age: seen.now.since(packet.created_at).to_string(),
        changes_since: Changes {
            total: seen.changes.total,
            by_author: seen.changes.by_author,
        },
        title: seen.letter.title().to_owned(),
        summary: None,
        next_steps: None,
        open_questions: None,
        files_touched: None,
        purged: letter_purged,
        corrupt: flag(letter_corrupt),
        workspace: home.workspace.to_string(),
        project: home.project.to_string(),
        from_agent: packet.from_agent.to_string(),
        from_session: packet.from_session.as_ref().map(ToString::to_string),
        to_agent: packet.to_agent.as_ref().map(ToString::to_string),
        owner: packet.owner.as_ref().map(ToString::to_string),
        cwd: packet.cwd.as_ref().map(ToString::to_string),
        origin: packet.origin.as_str().to_owned(),
        git: packet.git.as_ref().map(|git| Git {
            branch: git.branch.clone(),
            commit: git.commit.clone(),
            dirty: git.dirty,
        }),
        checkpoint: packet.checkpoint.clone(),
        created_at: packet.created_at.to_string(),
        expires_at: packet.expires_at.map(|at| at.to_string()),
        state: state.as_str().to_owned(),
        ended_as: match packet.ended_as {
            Some(end) => Some(end.as_str().to_owned()),
            None => ran_out.then(|| crate::domain::handoff::EndedAs::Ttl.as_str().to_owned()),
        },
        supersedes: text(packet.supersedes.as_ref()),
        superseded_by: text(packet.superseded_by.as_ref()),
        continues: text(packet.continues.as_ref()),
        accepted_by: packet.accepted_by.as_ref().map(ToString::to_string),
        accepted_session: packet.accepted_session.as_ref().map(ToString::to_string),
        accepted_owner: packet.accepted_owner.as_ref().map(ToString::to_string),
        accepted_at: packet.accepted_at.map(|at| at.to_string()),
        receiving_cwd: packet.receiving_cwd.as_ref().map(ToString::to_string),
        closed_at: packet.closed_at.map(|at| at.to_string()),
        outcome_ref: packet.outcome_ref.as_ref().map(ToString::to_string),
    }
}

/// A packet with all its texts.
pub fn packet(seen: &Seen, home: &Home) -> Packet {
    let mut packet = listed(seen, home);
    if let Letter::Whole(texts) = &seen.letter {
        packet.summary = Some(texts.summary.clone());
        packet.next_steps = Some(texts.next_steps.clone());
        packet.open_questions = Some(texts.open_questions.clone());
        packet.files_touched = Some(texts.files_touched.clone());
    }
    packet
}

/// A resolved ref; its value only when asked for.
pub fn reference(resolved: &Resolved, with_value: bool) -> Ref {
    let version = &resolved.version;
    let (value, bytes, broken) = match &version.value {
        Stored::Whole(text) => match raw(text).filter(|_| with_value) {
            Some(value) => (Some(value), None, None),
            None => (None, Some(text.as_str().len() as u64), None),
        },
        Stored::Beginning { bytes, .. } => (None, Some(*bytes), None),
        Stored::Purged(_) => (None, None, Some("purged")),
        Stored::Corrupt => (None, None, Some("corrupt")),
    };
    let (standing, current) = match &resolved.standing {
        Standing::Current => ("current", None),
        Standing::Stale {
            version,
            author,
            at,
            same_value,
        } => (
            "stale",
            Some(Current {
                version: *version,
                author: author.to_string(),
                at: at.to_string(),
                same_value: *same_value,
            }),
        ),
    };
    Ref {
        scope: version.at.scope.to_string(),
        key: version.at.key.to_string(),
        version: version.version,
        status: broken.unwrap_or(standing).to_owned(),
        value,
        value_bytes: bytes.filter(|_| with_value || broken.is_some()),
        confidence: version.opinion.confidence.get(),
        current,
    }
}

/// The answer of `handoff`.
pub fn handed_off(handed: &seen::HandedOff, home: &Home, more: Vec<String>) -> HandedOff {
    HandedOff {
        packet: packet(&handed.seen, home),
        refs: handed.refs.iter().map(|one| reference(one, false)).collect(),
        open_by_you: handed.open_by_you,
        unchanged: flag(handed.unchanged),
        warnings: warnings(more),
    }
}

fn with_queue(queue: &Queue, more: Vec<String>) -> Resumed {
    let unfinished: Vec<Unfinished> = queue
        .unfinished
        .iter()
        .take(limits::ANSWER_LIST)
        .map(|one| Unfinished {
            id: one.id.to_string(),
            title: one.title.clone(),
            session: one.session.as_ref().map(ToString::to_string),
            age: one.age.to_string(),
            last_activity: one.last_activity.to_string(),
        })
        .collect();
    Resumed {
        packet: None,
        refs: None,
        stale: None,
        packets: None,
        packets_total: None,
        waiting: queue.waiting,
        elsewhere: Elsewhere {
            others: queue.others,
            expired: queue.expired,
        },
        unfinished_total: total(queue.unfinished.len() as u64, unfinished.len()),
        unfinished,
        already_yours: None,
        held_by_session: None,
        took_over_from: None,
        truncated: None,
        warnings: warnings(more),
    }
}

/// How many there are, where a list holds fewer.
fn total(all: u64, listed: usize) -> Option<u64> {
    (all > listed as u64).then_some(all)
}

fn in_hands(answer: &mut Resumed, found: &(Seen, Vec<Resolved>, seen::Handed), home: &Home) {
    let (seen, refs, handed) = found;
    answer.packet = Some(packet(seen, home));
    answer.refs = Some(refs.iter().map(|one| reference(one, true)).collect());
    let stale = refs
        .iter()
        .filter(|one| matches!(one.standing, Standing::Stale { .. }))
        .count();
    answer.stale = Some(stale as u64);
    answer.already_yours = flag(handed.already_yours);
    answer.held_by_session = handed.held_by_session.as_ref().map(ToString::to_string);
    answer.took_over_from = handed.took_over_from.as_ref().map(ToString::to_string);
}

/// The answer of `resume`, with every value; a face with less room cuts it.
pub fn resumed(resumed: &seen::Resumed, home: &Home, more: Vec<String>) -> Resumed {
    let mut answer = with_queue(&resumed.queue, more);
    match &resumed.found {
        Some(found) => in_hands(&mut answer, found, home),
        None => {
            answer.refs = Some(Vec::new());
            answer.stale = Some(0);
        }
    }
    answer
}

/// The answer of `resume` with `peek`.
pub fn peeked(peeked: &seen::Peeked, home: &Home, more: Vec<String>) -> Resumed {
    let mut answer = with_queue(&peeked.queue, more);
    match &peeked.one {
        Some(found) => in_hands(&mut answer, found, home),
        None => {
            let packets: Vec<Packet> = peeked.packets.iter().map(|seen| listed(seen, home)).collect();
            answer.packets_total = total(peeked.queue.waiting, packets.len());
            answer.packets = Some(packets);
        }
    }
    answer
}

/// The answer of `record_outcome`.
pub fn recorded(new: &NewOutcome, recorded: &seen::Recorded, more: Vec<String>) -> Recorded {
    Recorded {
        outcome_ref: new.outcome_ref.to_string(),
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
    let tally = |names: &[(String, u64)]| -> Vec<Tally> {
        names
            .iter()
            .map(|(name, records)| Tally {
                name: name.clone(),
                records: *records,
            })
            .collect()
    };
    let binary = std::env::current_exe()
        .map(|path| path.display().to_string())
        .unwrap_or_default();
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
        agent: caller.agent.to_string(),
        agent_from: agent_from.to_owned(),
        session: caller.session.as_ref().map(ToString::to_string),
        workspace: caller.home.workspace.to_string(),
        project: caller.home.project.to_string(),
        records: stats.records,
        versions: stats.versions,
        average_confidence: stats.average_confidence,
        by_agent: tally(&stats.by_agent.0),
        by_agent_total: total(stats.by_agent.1, stats.by_agent.0.len()),
        by_scope: tally(&stats.by_scope.0),
        by_scope_total: total(stats.by_scope.1, stats.by_scope.0.len()),
        handoffs: Counts {
            open: stats.handoffs.open,
            accepted: stats.handoffs.accepted,
            closed: stats.handoffs.closed,
            expired: stats.handoffs.expired,
        },
        waiting: stats.waiting.0.iter().map(|seen| listed(seen, &caller.home)).collect(),
        waiting_total: total(stats.waiting.1, stats.waiting.0.len()),
        checkpoint: stats.checkpoint.clone(),
        created: overview.created,
        warnings: [overview.warnings.clone(), more].concat(),
        verify: verify.map(verified),
    }
}

/// The answer of anything that failed.
pub fn failed(error: &AppError) -> Failed {
    Failed {
        error: Problem {
            code: error.code().to_owned(),
            message: error.to_string(),
            hint: error.hint(),
        },
    }
}
