//! Reading a project as the lines of an export.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::Value;

use super::fail::Fail;
use super::ledger::{self, number, project, signed};
use crate::domain::Home;
use crate::domain::ledger::Entry;
use crate::domain::transfer::{EntryLine, EntryPart, PacketPart, TextPart, VersionPart};

/// The lines of the project's entries after position `after`, at most `limit`.
pub fn lines(conn: &Connection, home: &Home, after: u64, limit: usize) -> Result<Vec<EntryLine>, Fail> {
    let Some(row) = project(conn, home)? else {
        return Ok(Vec::new());
    };
    let mut lines = Vec::new();
    for entry in ledger::after(conn, row.id, after, limit)? {
        lines.push(line(conn, row.id, entry)?);
    }
    Ok(lines)
}

fn line(conn: &Connection, project: i64, entry: Entry) -> Result<EntryLine, Fail> {
    let part = EntryPart::of(entry);
    let mut line = EntryLine {
        entry: part,
        version: None,
        packet: None,
        text: None,
        purged: false,
    };
    let missing = |line: &EntryLine| {
        Fail::Damaged(format!(
            "entry {} speaks of {}, which is not there",
            line.entry.seq, line.entry.subject
        ))
    };
    let content = match line.entry.kind.as_str() {
        "remembered" => {
            let (content, version) = version(conn, project, line.entry.seq)?.ok_or_else(|| missing(&line))?;
            line.version = Some(version);
            Some(content)
        }
        "handed_off" => {
            let (content, packet) = packet(conn, project, &line.entry.subject)?.ok_or_else(|| missing(&line))?;
            line.packet = Some(packet);
            Some(content)
        }
        _ if line.entry.detail.get("note_hash").is_some_and(Value::is_string) => {
            Some(note(conn, project, &line.entry)?.ok_or_else(|| missing(&line))?)
        }
        _ => None,
    };
    if let Some(content) = content {
        let (nonce, body): (Vec<u8>, String) = conn
            .prepare_cached("SELECT nonce, body FROM content WHERE id = ?1")?
            .query_row([content], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?
            .ok_or_else(|| Fail::Damaged(format!("entry {} has lost its text", line.entry.seq)))?;
        if nonce.is_empty() && body.is_empty() {
            line.purged = true;
        } else {
            line.text = Some(TextPart::new(&nonce, body));
        }
    }
    Ok(line)
}

fn version(conn: &Connection, project: i64, seq: u64) -> Result<Option<(i64, VersionPart)>, Fail> {
    // The entry's subject names the version, and the unique index on the four columns finds it.
    let found = conn
        .prepare_cached(
            "SELECT v.content_id, v.value_hash, v.tags, v.meta, v.private_to, v.base_confidence,
                v.prev_hash
             FROM ledger l JOIN version v ON v.project_id = l.project_id AND v.scope = json_extract(l.subject, '$[0]')
                AND v.key = json_extract(l.subject, '$[1]') AND v.version = json_extract(l.subject, '$[2]')
             WHERE l.project_id = ?1 AND l.seq = ?2",
        )?
        .query_row(params![project, signed(seq)], |row| {
            let part = VersionPart {
                value_hash: row.get(1)?,
                tags: Vec::new(),
                meta: None,
                private_to: row.get(4)?,
                confidence: row.get(5)?,
                prev_hash: row.get(6)?,
            };
            Ok((
                row.get(0)?,
                part,
                row.get::<_, String>(2)?,
                row.get::<_, Option<String>>(3)?,
            ))
        })
        .optional()?;
    let Some((content, mut part, tags, meta)) = found else {
        return Ok(None);
    };
    let unreadable = |_| {
        Fail::Damaged(format!(
            "the version of entry {seq} has tags or meta that cannot be read"
        ))
    };
    part.tags = serde_json::from_str(&tags).map_err(unreadable)?;
    part.meta = meta
        .map(|meta| serde_json::from_str(&meta))
        .transpose()
        .map_err(unreadable)?;
    Ok(Some((content, part)))
}

fn packet(conn: &Connection, project: i64, id: &str) -> Result<Option<(i64, PacketPart)>, Fail> {
    let read = |row: &Row| -> rusqlite::Result<(i64, PacketPart, Option<String>)> {
        let part = PacketPart {
            to_agent: row.get(1)?,
            owner: row.get(2)?,
            cwd: row.get(3)?,
            origin: row.get(4)?,
            texts_hash: row.get(5)?,
            refs: Vec::new(),
            git: None,
            checkpoint: row.get(7)?,
            supersedes: row.get(8)?,
            continues: row.get(9)?,
        };
        Ok((row.get(0)?, part, row.get(6)?))
    };
    let found = conn
        .prepare_cached(
            "SELECT content_id, to_agent, owner, cwd, origin, texts_hash, git, checkpoint, supersedes, continues
             FROM handoff WHERE project_id = ?1 AND id = ?2",
        )?
        .query_row(params![project, id], read)
        .optional()?;
    let Some((content, mut part, git)) = found else {
        return Ok(None);
    };
    part.git = git
        .map(|git| serde_json::from_str(&git))
        .transpose()
        .map_err(|_| Fail::Damaged(format!("handoff {id} has no readable git state")))?;
    let mut statement = conn.prepare_cached(
        "SELECT v.scope, v.key, v.version, v.hash FROM handoff_ref r JOIN version v ON v.id = r.version_id
         WHERE r.handoff_id = ?1 ORDER BY r.position",
    )?;
    let refs = statement.query_map([id], |row| Ok((row.get(0)?, row.get(1)?, number(row, 2)?, row.get(3)?)))?;
    part.refs = refs.collect::<rusqlite::Result<_>>()?;
    Ok(Some((content, part)))
}

/// Where the note of an outcome's or a packet's entry is kept.
fn note(conn: &Connection, project: i64, entry: &EntryPart) -> Result<Option<i64>, Fail> {
    let sql = if entry.kind == "outcome" {
        "SELECT content_id FROM outcome WHERE project_id = ?1 AND id = ?2 AND seq = ?3"
    } else {
        "SELECT content_id FROM handoff_note WHERE ?1 = ?1 AND handoff_id = ?2 AND seq = ?3"
    };
    let found: Option<Option<i64>> = conn
        .prepare_cached(sql)?
        .query_row(params![project, entry.subject, signed(entry.seq)], |row| row.get(0))
        .optional()?;
    Ok(found.flatten())
}
