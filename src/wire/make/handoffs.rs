//! Packets, refs and the queue.

use super::{flag, purged, raw, total, warnings};
use crate::domain::handoff::seen::{self, Letter, Queue, Resolved, Seen, Standing};
use crate::domain::record::Stored;
use crate::domain::{Home, limits};
use crate::wire::{Changes, Current, Elsewhere, Git, HandedOff, Packet, Ref, Resumed, Unfinished};

/// A packet as it stands in lists: without summary and lists of text.
pub fn listed(seen: &Seen, home: &Home) -> Packet {
    let packet = &seen.packet;
    let text = |name: Option<&crate::domain::handoff::HandoffId>| name.map(ToString::to_string);
    let (letter_purged, letter_corrupt) = match &seen.letter {
        Letter::Whole(_) | Letter::Redacted => (None, false),
        Letter::Purged(why) => (Some(purged(why)), false),
        Letter::Corrupt => (None, true),
    };
    let state = packet.state_at(seen.now);
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
        redacted: flag(seen.letter == Letter::Redacted),
        workspace: home.workspace.to_string(),
        project: home.project.to_string(),
        from_agent: packet.from_agent.to_string(),
        from_session: packet.from_session.as_ref().map(ToString::to_string),
        to_agent: packet.to_agent.as_ref().map(ToString::to_string),
        to_agent_unseen: flag(seen.unseen_recipient),
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
        ended_as: packet.ended_as_at(seen.now).map(|end| end.as_str().to_owned()),
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
        Stored::Redacted => (None, None, None),
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

fn in_hands(answer: &mut Resumed, found: &(Seen, Vec<Resolved>, seen::Handed), home: &Home) {
    let (seen, refs, handed) = found;
    answer.packet = Some(packet(seen, home));
    answer.refs = Some(refs.iter().map(|one| reference(one, true)).collect());
    answer.stale = Some(super::stale(refs));
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
