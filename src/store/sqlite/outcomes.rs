//! Recording outcomes: opinions move, each version once per run, and the packet that was worked on ends.

use rusqlite::Connection;
use serde_json::Value;

use super::fail::Fail;
use super::handoffs::{self, Note, expire_due};
use super::ledger::{self, Journal, keep, project};
use super::packets;
use super::rows;
use super::targets::{Target, targets};
use super::versions::{self, Budget};
use crate::domain::handoff::life::{Ending, Reporter, ending, must_be};
use crate::domain::handoff::seen::{Recorded, Touched};
use crate::domain::handoff::{EndedAs, HandoffId, Packet, State};
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::outcome::{Moved, NewOutcome, OutcomeDetail, Report, Reported};
use crate::domain::record::Version;
use crate::domain::redact::WORD;
use crate::domain::{Actor, Address, Hint, Opinion, OutcomeRef, Refusal, Session, Span};

/// Records a report: every part of it, or nothing.
pub fn record(conn: &Connection, actor: &Actor, new: &NewOutcome, ttl: Span, force: bool) -> Result<Recorded, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Err(nothing_here(new).into());
    };
    let packet = new
        .handoff_id
        .as_ref()
        .map(|id| packets::find(conn, row.id, actor, id))
        .transpose()?;
    if let Some(packet) = &packet
        && let Some(recorded) = repeated(conn, row.id, actor, new, packet)?
    {
        return Ok(recorded);
    }
    let end = match &packet {
        Some(packet) => {
            if let Some(wanted) = new.only {
                must_be(wanted, packet, packet.state_at(actor.now))?;
            }
            let reporter = Reporter {
                agent: actor.agent.clone(),
                owner: actor.owner.clone(),
                session: actor.session.clone(),
                held_before: super::taking::held_before(conn, row.id, actor, &packet.id)?,
                force,
            };
            let end = ending(packet, packet.state_at(actor.now), &reporter, new.report)?;
            match (&end, new.only) {
                // Whoever asked for just this is to know that it was not done.
                (Ending::LeaveAlone(why), Some(_)) => {
                    let look = format!("`handoffs show {}` tells where it stands", packet.id);
                    return Err(Refusal::conflict(why.clone(), Hint::both("peek to see where it stands", look)).into());
                }
                _ => Some(end),
            }
        }
        None => None,
    };
    let late = matches!(end, Some(Ending::LeaveAlone(_)));
    let targets = targets(conn, row.id, actor, new, packet.as_ref(), late)?;
    let fresh = targets.iter().any(|target| target.counted.is_none());
    let ends = matches!(end, Some(Ending::Close(_) | Ending::Release | Ending::Cancel));
    let moved = if fresh || ends {
        let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
        // The packet was read before: its own time must not end it between the reading and the report.
        let note = match &new.note {
            Some(text) => Some(keep(conn, &serde_json::to_string(text).unwrap_or_default())?),
            None => None,
        };
        let note = note.map(|(row, hash)| (row, hash.to_string()));
        let mut moved = Vec::new();
        for target in targets {
            moved.push(count(&mut journal, actor, new, target, note.as_ref())?);
        }
        let text = note.as_ref().map(|(row, hash)| (*row, hash.as_str()));
        let note_of_packet = Note {
            outcome_ref: new.outcome_ref.as_ref(),
            text,
        };
        if let (Some(packet), Some(end)) = (&packet, &end) {
            match end {
                Ending::Close(ended_as) => handoffs::close(&mut journal, packet, *ended_as, note_of_packet)?,
                Ending::Release => handoffs::release(&mut journal, packet, ttl, note_of_packet)?,
                Ending::Cancel => {
                    handoffs::expire(&mut journal, &packet.id, EndedAs::Cancelled, None, note_of_packet)?;
                }
                Ending::LeaveAlone(_) => {}
            }
        }
        expire_due(&mut journal)?;
        moved
    } else {
        targets
            .iter()
            .map(|target| answer(conn, row.id, target))
            .collect::<Result<_, _>>()?
    };
    let touched = match (&packet, end) {
        (Some(packet), Some(end)) => {
            let now = packets::find(conn, row.id, actor, &packet.id)?;
            let left_alone = match end {
                Ending::LeaveAlone(why) => Some(why),
                _ => None,
            };
            Some(Touched {
                id: now.id.clone(),
                state: now.state_at(actor.now),
                ended_as: now.ended_as_at(actor.now),
                left_alone,
            })
        }
        _ => None,
    };
    Ok(Recorded {
        repeated: !fresh && !ends && !moved.is_empty(),
        moved,
        packet: touched,
    })
}

fn nothing_here(new: &NewOutcome) -> Refusal {
    match (&new.handoff_id, &new.refs) {
        (Some(id), _) => packets::unknown(id),
        (None, Some(refs)) => Refusal::not_found(
            format!(
                "there is no record {}",
                refs.first().map_or(String::new(), |one| one.at.to_string())
            ),
            "recall it to see what there is",
        ),
        (None, None) => Refusal::not_found("nothing was remembered here yet", "remember something first"),
    }
}

/// The first answer, when this very report on the packet was recorded before by the same agent.
fn repeated(
    conn: &Connection,
    project: i64,
    actor: &Actor,
    new: &NewOutcome,
    packet: &Packet,
) -> Result<Option<Recorded>, Fail> {
    let kind = match (packet.state_at(actor.now), new.report) {
        (State::Closed, _) => "closed",
        (State::Expired, Report::Abandoned) => "expired",
        (State::Open, Report::Released) => "released",
        _ => return Ok(None),
    };
    let entries = ledger::about(conn, project, packet.id.as_str())?;
    let Some(last) = entries.iter().rfind(|entry| entry.kind == kind) else {
        return Ok(None);
    };
    let detail: Value = serde_json::from_str(&last.detail).unwrap_or_default();
    let same_word = match new.report {
        Report::Released => true,
        Report::Abandoned => matches!(detail["ended_as"].as_str(), Some("abandoned" | "cancelled")),
        report => detail["ended_as"].as_str() == Some(report.as_str()),
    };
    let same = same_word
        && detail["outcome_ref"].as_str() == new.outcome_ref.as_ref().map(OutcomeRef::as_str)
        && crate::domain::name::fold(&last.agent) == actor.agent.folded();
    if !same {
        return Ok(None);
    }
    let targets = match new.report.moves() {
        Some(_) => targets(conn, project, actor, new, Some(packet), false)?,
        None => Vec::new(),
    };
    // A repeat that names more than the first report did is not only a repeat.
    if targets.iter().any(|target| target.counted.is_none()) {
        return Ok(None);
    }
    let moved = targets
        .iter()
        .map(|target| answer(conn, project, target))
        .collect::<Result<_, _>>()?;
    let touched = Touched {
        id: packet.id.clone(),
        state: packet.state_at(actor.now),
        ended_as: packet.ended_as_at(actor.now),
        left_alone: None,
    };
    Ok(Some(Recorded {
        moved,
        packet: Some(touched),
        repeated: true,
    }))
}

/// The answer for a version that was counted before.
fn answer(conn: &Connection, project: i64, target: &Target) -> Result<Moved, Fail> {
    let (before, after) = target
        .counted
        .as_ref()
        .map_or((0.0, 0.0), |known| (known.before, known.after));
    Ok(Moved {
        at: target.version.at.clone(),
        version: target.version.version,
        before,
        after,
        superseded: superseded(conn, project, &target.version)?,
    })
}

fn superseded(conn: &Connection, project: i64, version: &Version) -> Result<bool, Fail> {
    let current = versions::current(conn, project, &version.at, Budget(0))?;
    Ok(current.is_some_and(|current| current.version != version.version))
}

/// Moves one version's opinion, unless this run counted there before.
fn count(
    journal: &mut Journal,
    actor: &Actor,
    new: &NewOutcome,
    target: Target,
    note: Option<&(i64, String)>,
) -> Result<Moved, Fail> {
    let conn = journal.conn;
    if target.counted.is_some() {
        return answer(conn, journal.project.id, &target);
    }
    let version = &target.version;
    let before: Opinion = version.opinion;
    let after = before.after(new.report == Report::Success);
    let id = format!("o_{:016x}", u64::from_be_bytes(super::connection::random()?));
    let run = new.outcome_ref.as_ref().map_or("", OutcomeRef::as_str);
    let handoff = new.handoff_id.as_ref().map(HandoffId::as_str);
    let detail = OutcomeDetail {
        outcome_ref: run,
        scope: version.at.scope.as_str(),
        key: version.at.key.as_str(),
        version: version.version,
        outcome: new.report.as_str(),
        before: before.confidence.get(),
        after: after.confidence.get(),
        handoff_id: handoff,
        note_hash: note.map(|(_, hash)| hash.as_str()),
    };
    let entry = NewEntry {
        kind: Kind::Outcome,
        subject: id.clone(),
        detail: serde_json::to_value(&detail).unwrap_or_default(),
        digest: None,
    };
    let seq = journal.append(entry)?;
    rows::outcome(
        conn,
        &rows::Outcome {
            id: &id,
            project: journal.project.id,
            seq,
            outcome_ref: run,
            version: version.id,
            handoff,
            outcome: new.report.as_str(),
            note: note.map(|(row, hash)| (*row, hash.as_str())),
            author: actor.agent.as_str(),
            session: actor.session.as_ref().map(Session::as_str),
            at: &journal.at,
            before,
            after,
        },
    )?;
    Ok(Moved {
        at: version.at.clone(),
        version: version.version,
        before: before.confidence.get(),
        after: after.confidence.get(),
        superseded: superseded(conn, journal.project.id, version)?,
    })
}

/// Refuses, by a read alone, a report on what is not there: reporting makes no file.
pub fn known(conn: &Connection, actor: &Actor, new: &NewOutcome) -> Result<(), Fail> {
    match project(conn, &actor.home)? {
        Some(_) => Ok(()),
        None => Err(nothing_here(new).into()),
    }
}

/// The reports on any version of a record that the caller may see, oldest first; the newest that fit when there are very many.
pub fn of_record(conn: &Connection, actor: &Actor, at: &Address, limit: usize) -> Result<Vec<Reported>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(Vec::new());
    };
    let (all, owner) = packets::sight(actor);
    // A report on another owner's packet has moved what everybody sees; who reported and why is that owner's.
    let known = format!(
        "(SELECT id FROM handoff WHERE id = o.handoff_id AND {})",
        packets::SIGHT
    );
    let told = |column: &str| {
        format!("CASE WHEN o.handoff_id IS NULL OR {known} IS NOT NULL THEN o.{column} ELSE '{WORD}' END")
    };
    let sql = format!(
        "SELECT v.version, o.outcome, {}, {}, o.created_at, o.confidence_before, o.confidence_after, {known}
         FROM version v JOIN outcome o ON o.version_id = v.id
         WHERE v.project_id = ?1 AND v.scope = ?4 AND v.key = ?5 AND (v.private_to IS NULL OR fold(v.private_to) = ?6)
         ORDER BY o.seq DESC LIMIT ?7",
        told("outcome_ref"),
        told("author")
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(
        rusqlite::params![
            row.id,
            all,
            owner,
            at.scope.as_str(),
            at.key.as_str(),
            actor.agent.folded(),
            limit
        ],
        |row| {
            Ok(Reported {
                version: ledger::number(row, 0)?,
                outcome: row.get(1)?,
                outcome_ref: row.get(2)?,
                author: row.get(3)?,
                at: row.get(4)?,
                before: row.get(5)?,
                after: row.get(6)?,
                packet: row.get(7)?,
            })
        },
    )?;
    let mut reported: Vec<Reported> = rows.collect::<rusqlite::Result<_>>()?;
    reported.reverse();
    Ok(reported)
}
