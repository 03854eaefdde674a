//! Reading a ledger as one caller may see it.

use rusqlite::{Connection, Row, ToSql, params};
use serde_json::Value;

use super::fail::Fail;
use super::ledger::{self, ProjectRow, number, project, signed};
use super::packets;
use super::versions::{Budget, value};
use crate::domain::handoff::HandoffId;
use crate::domain::ledger::{Entry, Told};
use crate::domain::record::Stored;
use crate::domain::{Actor, Time, limits};

const COLUMNS: &str = "l.seq, l.at, l.agent, l.session, l.kind, l.subject, l.detail, l.digest, l.hash";

/// Whether an entry of `l` is about something that the caller of `?2` and `?3` (as in [`packets::SIGHT`]), `?4` (agent, folded)
/// and `?7` (root) may not know of: a packet of another owner, or a version that is private to another agent.
fn hidden() -> String {
    let packet = |id: &str| {
        format!(
            "EXISTS (SELECT 1 FROM handoff h WHERE h.id = {id} AND NOT coalesce({}, FALSE))",
            packets::SIGHT
        )
    };
    let private = "v.private_to IS NOT NULL AND fold(v.private_to) <> ?4";
    format!(
        "CASE WHEN ?7 THEN 0
              WHEN l.kind IN ('outcome', 'purged') AND substr(l.subject, 1, 2) = 'o_'
                  THEN EXISTS (SELECT 1 FROM outcome o JOIN version v ON v.id = o.version_id
                               WHERE o.id = l.subject AND {private})
                       OR {of_outcome}
              WHEN l.kind IN ('remembered', 'purged') AND substr(l.subject, 1, 1) = '['
                  THEN EXISTS (SELECT 1 FROM version v WHERE v.project_id = l.project_id
                               AND v.scope = json_extract(l.subject, '$[0]') AND v.key = json_extract(l.subject, '$[1]')
                               AND v.version = json_extract(l.subject, '$[2]') AND {private})
              ELSE {subject} OR {newer} END",
        of_outcome = packet("(SELECT handoff_id FROM outcome WHERE id = l.subject)"),
        subject = packet("l.subject"),
        newer = packet("json_extract(l.detail, '$.superseded_by')"),
    )
}

fn told(row: &Row) -> rusqlite::Result<Told> {
    if row.get(9)? {
        return Ok(Told::Redacted {
            seq: number(row, 0)?,
            at: row.get(1)?,
            hash: row.get(8)?,
        });
    }
    Ok(Told::Whole(ledger::entry(row)?, None))
}

/// The entries of the caller's project after position `after`, oldest first, at most `limit`.
pub fn after(conn: &Connection, actor: &Actor, after: u64, limit: usize) -> Result<Vec<Told>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(Vec::new());
    };
    select(
        conn,
        actor,
        row.id,
        "WHERE l.project_id = ?1 AND l.seq > ?5 ORDER BY l.seq",
        &signed(after),
        limit,
    )
}

/// The entries of a project that fit `which`, a condition on `?5` and an order, as the caller may see them.
fn select(
    conn: &Connection,
    actor: &Actor,
    project: i64,
    which: &str,
    value: &dyn ToSql,
    limit: usize,
) -> Result<Vec<Told>, Fail> {
    let hidden = hidden();
    let sql = format!("SELECT {COLUMNS}, {hidden} FROM ledger l {which} LIMIT ?6");
    let (all, owner) = packets::sight(actor);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let root = actor.reach.is_root();
    let params = params![project, all, owner, actor.agent.folded(), value, limit, root];
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params, told)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The names of every agent that did something in the project of which the caller may know.
pub fn agents(conn: &Connection, project: i64, actor: &Actor) -> Result<Vec<String>, Fail> {
    let mut names = ledger::agents(conn, project)?;
    let hidden = hidden();
    let mut seen = conn.prepare_cached(&format!(
        "SELECT EXISTS (SELECT 1 FROM ledger l WHERE l.project_id = ?1 AND l.agent = ?5 AND NOT {hidden} LIMIT ?6)"
    ))?;
    let (all, owner) = packets::sight(actor);
    let (folded, root) = (actor.agent.folded(), actor.reach.is_root());
    let mut failed = None;
    names.retain(|name| {
        let params = params![project, all, owner, folded, name, 1, root];
        seen.query_row(params, |row| row.get(0)).unwrap_or_else(|error| {
            failed = Some(error);
            false
        })
    });
    failed.map_or(Ok(names), |error| Err(error.into()))
}

/// The position of the last entry of the caller's project; 0 before anything was written.
pub fn last(conn: &Connection, actor: &Actor) -> Result<u64, Fail> {
    match project(conn, &actor.home)? {
        Some(row) => Ok(ledger::head(conn, row.id)?.map_or(0, |(seq, ..)| seq)),
        None => Ok(0),
    }
}

/// The position of the last entry of the caller's project that was written before an instant.
pub fn before(conn: &Connection, actor: &Actor, at: Time) -> Result<u64, Fail> {
    match project(conn, &actor.home)? {
        Some(row) => ledger::before(conn, row.id, &at.to_string()),
        None => Ok(0),
    }
}

/// The entries about one packet, oldest first, each with its note. The newest that fit when there are very many.
pub fn of_packet(conn: &Connection, actor: &Actor, id: &HandoffId) -> Result<Vec<Told>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Err(packets::unknown(id).into());
    };
    // Not found is the same whether it never was or is not the caller's to know.
    packets::find(conn, row.id, actor, id)?;
    // The planner has no numbers to choose a partial index by.
    let which = "INDEXED BY ledger_subject WHERE l.project_id = ?1 AND l.subject = ?5 AND l.kind NOT IN ('remembered', 'outcome', 'created') ORDER BY l.seq DESC";
    let mut entries = select(conn, actor, row.id, which, &id.as_str(), limits::PAGE_MAX)?;
    entries.reverse();
    for entry in &mut entries {
        if let Told::Whole(entry, kept) = entry {
            *kept = note(conn, &row, entry)?;
        }
    }
    Ok(entries)
}

/// The note that came with an entry of a packet.
fn note(conn: &Connection, project: &ProjectRow, entry: &Entry) -> Result<Option<String>, Fail> {
    let detail: Value = serde_json::from_str(&entry.detail).unwrap_or_default();
    let Some(hash) = detail["note_hash"].as_str() else {
        return Ok(None);
    };
    let content: i64 = conn
        .prepare_cached("SELECT content_id FROM handoff_note WHERE handoff_id = ?1 AND seq = ?2")?
        .query_row(params![entry.subject, signed(entry.seq)], |row| row.get(0))?;
    let text = value(
        conn,
        project.id,
        content,
        hash,
        &entry.subject,
        &mut Budget::ALL.clone(),
    )?;
    Ok(match text {
        Stored::Whole(text) => serde_json::from_str(text.as_str()).ok(),
        Stored::Purged(purged) => Some(format!("(purged: {})", purged.why)),
        Stored::Redacted => None,
        Stored::Beginning { .. } | Stored::Corrupt => Some("(damaged)".to_owned()),
    })
}
