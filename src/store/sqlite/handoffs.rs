//! The queue's transitions: each one updates a packet's row and appends the entry that says why, in one transaction.

use rusqlite::{Connection, params};
use serde_json::{Map, Value};

use super::fail::Fail;
use super::ledger::{Journal, project, signed};
use super::versions::stored;
use super::{listing, packets, rows};
use crate::domain::handoff::life::{self, must_be};
use crate::domain::handoff::listing::Ended;
use crate::domain::handoff::seen::Seen;
use crate::domain::handoff::{EndedAs, HandoffId, Packet, State};
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::{Actor, OutcomeRef, Refusal, Session, Span};

/// Tells whether the holder of a session is known to be gone.
pub type Gone<'a> = &'a dyn Fn(&Session) -> bool;

/// Writes down every open packet whose time is over. Part of each write on the queue.
pub fn expire_due(journal: &mut Journal) -> Result<u64, Fail> {
    let due = due(journal)?;
    for id in &due {
        expire(journal, id, EndedAs::Ttl, None, Note::default())?;
    }
    Ok(due.len() as u64)
}

/// Every open packet whose time is over, whoever it belongs to.
fn due(journal: &Journal) -> Result<Vec<HandoffId>, Fail> {
    let mut statement = journal.conn.prepare_cached(
        "SELECT id FROM handoff WHERE project_id = ?1 AND state = 'open' AND expires_at IS NOT NULL
            AND expires_at <= ?2 ORDER BY seq",
    )?;
    let rows = statement.query_map(params![journal.project.id, journal.asked.to_string()], |row| {
        row.get::<_, String>(0)
    })?;
    rows.map(|id| stored(HandoffId::named("handoff_id", &id?))).collect()
}

/// Whether a project has open packets whose time is over.
pub fn any_due(conn: &Connection, actor: &Actor) -> Result<bool, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(false);
    };
    Ok(conn
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM handoff WHERE project_id = ?1 AND state = 'open' AND expires_at IS NOT NULL
                AND expires_at <= ?2)",
        )?
        .query_row(params![row.id, actor.now.to_string()], |row| row.get(0))?)
}

/// What a report says beside its word: the run that it is about, and a text that was kept.
#[derive(Debug, Clone, Copy, Default)]
pub struct Note<'a> {
    /// The run, ticket or commit.
    pub outcome_ref: Option<&'a OutcomeRef>,
    /// The kept text's row and hash.
    pub text: Option<(i64, &'a str)>,
}

impl Note<'_> {
    fn describe(&self, detail: &mut Map<String, Value>) {
        if let Some(outcome_ref) = self.outcome_ref {
            detail.insert("outcome_ref".to_owned(), outcome_ref.as_str().into());
        }
        if let Some((_, hash)) = self.text {
            detail.insert("note_hash".to_owned(), hash.into());
        }
    }
}

pub fn append(
    journal: &mut Journal,
    kind: Kind,
    id: &HandoffId,
    detail: Map<String, Value>,
    note: Note,
) -> Result<u64, Fail> {
    let detail = Value::Object(detail);
    let seq = journal.append(NewEntry {
        kind,
        subject: id.as_str().to_owned(),
        detail,
        digest: None,
    })?;
    if let Some((content, _)) = note.text {
        rows::note(journal.conn, id.as_str(), seq, content)?;
    }
    Ok(seq)
}

/// Ends an open packet without a claimant.
pub fn expire(
    journal: &mut Journal,
    id: &HandoffId,
    ended_as: EndedAs,
    superseded_by: Option<&HandoffId>,
    note: Note,
) -> Result<(), Fail> {
    let mut detail = Map::new();
    detail.insert("ended_as".to_owned(), ended_as.as_str().into());
    if let Some(newer) = superseded_by {
        detail.insert("superseded_by".to_owned(), newer.as_str().into());
    }
    note.describe(&mut detail);
    let seq = append(journal, Kind::Expired, id, detail, note)?;
    let changed = journal
        .conn
        .prepare_cached(
            "UPDATE handoff SET state = 'expired', ended_as = ?2, superseded_by = ?3, outcome_ref = ?4, last_seq = ?5
             WHERE id = ?1 AND state = 'open'",
        )?
        .execute(params![
            id.as_str(),
            ended_as.as_str(),
            superseded_by.map(HandoffId::as_str),
            note.outcome_ref.map(OutcomeRef::as_str),
            signed(seq)
        ])?;
    once(changed, id)
}

/// Gives a claimed packet back to the queue; past its time it gets a new one, `ttl` from now.
pub fn release(journal: &mut Journal, packet: &Packet, ttl: Span, note: Note) -> Result<(), Fail> {
    let expires = match packet.expires_at {
        Some(end) if end <= journal.asked && ttl.is_zero() => Some(None),
        Some(end) if end <= journal.asked => Some(Some(journal.now.plus(ttl).to_string())),
        _ => None,
    };
    let mut detail = Map::new();
    note.describe(&mut detail);
    if let Some(end) = &expires {
        // Null says that it never expires; an absent field, that its time stays as it was.
        detail.insert("expires_at".to_owned(), end.clone().into());
    }
    let seq = append(journal, Kind::Released, &packet.id, detail, note)?;
    let expires = match expires {
        Some(end) => end,
        None => packet.expires_at.map(|end| end.to_string()),
    };
    let changed = journal
        .conn
        .prepare_cached(
            "UPDATE handoff SET state = 'open', accepted_by = NULL, accepted_session = NULL, accepted_owner = NULL,
                accepted_at = NULL, receiving_cwd = NULL, expires_at = ?2, last_seq = ?3
             WHERE id = ?1 AND state = 'accepted' AND last_seq = ?4",
        )?
        .execute(params![
            packet.id.as_str(),
            expires,
            signed(seq),
            signed(packet.last_seq)
        ])?;
    once(changed, &packet.id)
}

/// Ends a claimed packet.
pub fn close(journal: &mut Journal, packet: &Packet, ended_as: EndedAs, note: Note) -> Result<(), Fail> {
    let mut detail = Map::new();
    detail.insert("ended_as".to_owned(), ended_as.as_str().into());
    note.describe(&mut detail);
    let seq = append(journal, Kind::Closed, &packet.id, detail, note)?;
    let changed = journal
        .conn
        .prepare_cached(
            "UPDATE handoff SET state = 'closed', ended_as = ?2, closed_at = ?3, outcome_ref = ?4, last_seq = ?5
             WHERE id = ?1 AND state = 'accepted' AND last_seq = ?6",
        )?
        .execute(params![
            packet.id.as_str(),
            ended_as.as_str(),
            journal.at,
            note.outcome_ref.map(OutcomeRef::as_str),
            signed(seq),
            signed(packet.last_seq)
        ])?;
    once(changed, &packet.id)
}

/// Ends open packets before their time; first of all those whose time is over. Gives all that it ended and that the caller may
/// know of.
pub fn expire_some(conn: &Connection, actor: &Actor, wanted: &Ended) -> Result<Vec<Seen>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return match wanted {
            Ended::Named(ids) if let Some(id) = ids.first() => Err(packets::unknown(id).into()),
            _ => Ok(Vec::new()),
        };
    };
    let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
    let mut ended = due(&journal)?;
    expire_due(&mut journal)?;
    let chosen = match wanted {
        Ended::Due => Vec::new(),
        Ended::Until(until) => listing::open_until(conn, row.id, actor, &until.to_string())?,
        Ended::Named(ids) => {
            for id in ids.iter().filter(|id| !ended.contains(id)) {
                let packet = packets::find(conn, row.id, actor, id)?;
                must_be(State::Open, &packet, packet.state_at(journal.asked))?;
            }
            ids.clone()
        }
    };
    for id in chosen {
        if !ended.contains(&id) {
            expire(&mut journal, &id, EndedAs::Ttl, None, Note::default())?;
            ended.push(id);
        }
    }
    let mut seen = Vec::new();
    for id in ended {
        match packets::find(conn, row.id, actor, &id) {
            Ok(packet) => seen.push(packets::see(conn, &row, actor, packet)?),
            Err(Fail::Refused(_)) => {}
            Err(other) => return Err(other),
        }
    }
    Ok(seen)
}

/// Opens a packet again that its time has ended; it then waits for `ttl` from now.
pub fn reopen(conn: &Connection, actor: &Actor, id: &HandoffId, ttl: Span) -> Result<Seen, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Err(packets::unknown(id).into());
    };
    let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
    expire_due(&mut journal)?;
    let packet = packets::find(conn, row.id, actor, id)?;
    life::reopen(&packet, packet.state_at(journal.asked))?;
    let end = (!ttl.is_zero()).then(|| journal.now.plus(ttl).to_string());
    let mut detail = Map::new();
    detail.insert("expires_at".to_owned(), end.clone().into());
    let seq = append(&mut journal, Kind::Reopened, id, detail, Note::default())?;
    let changed = conn
        .prepare_cached(
            "UPDATE handoff SET state = 'open', ended_as = NULL, superseded_by = NULL, outcome_ref = NULL,
                expires_at = ?2, last_seq = ?3
             WHERE id = ?1 AND state = 'expired' AND last_seq = ?4",
        )?
        .execute(params![id.as_str(), end, signed(seq), signed(packet.last_seq)])?;
    once(changed, id)?;
    let packet = packets::find(conn, row.id, actor, id)?;
    packets::see(conn, &row, actor, packet)
}

/// The state was looked at in the same transaction, so that the row must still be as it was.
pub fn once(changed: usize, id: &HandoffId) -> Result<(), Fail> {
    if changed == 1 {
        Ok(())
    } else {
        Err(Fail::Damaged(format!(
            "handoff {id} is not in the state that it was read in"
        )))
    }
}

/// The packet that `supersedes` names, in a state that allows it.
pub fn superseded(journal: &Journal, actor: &Actor, id: &HandoffId) -> Result<Packet, Fail> {
    let packet = packets::find(journal.conn, journal.project.id, actor, id).map_err(|fail| match fail {
        Fail::Refused(Refusal::NotFound { message, .. }) => {
            Refusal::not_found(message, crate::domain::handoff::life::without_supersedes()).into()
        }
        other => other,
    })?;
    crate::domain::handoff::life::supersede(&packet, &actor.agent, packet.state_at(journal.asked))?;
    Ok(packet)
}
