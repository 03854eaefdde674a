//! The rows that ledger entries vouch for: each is written in this one place, by a use case or by an import.

use rusqlite::{Connection, params};

use super::fail::Fail;
use super::ledger::signed;
use super::search;
use crate::domain::handoff::replay::Life;
use crate::domain::handoff::{Git, PacketBody};
use crate::domain::ledger::EntryBody;
use crate::domain::record::VersionBody;
use crate::domain::{JsonText, Opinion, canonical::canonical, name};

/// Writes an entry; `detail` is its canonical text.
pub fn entry(conn: &Connection, project: i64, body: &EntryBody, detail: &str, hash: &str) -> Result<(), Fail> {
    conn.prepare_cached(
        "INSERT INTO ledger (project_id, seq, at, agent, session, kind, subject, detail, digest, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
    )?
    .execute(params![
        project,
        signed(body.seq),
        body.at,
        body.agent,
        body.session,
        body.kind,
        body.subject,
        detail,
        body.digest,
        hash
    ])?;
    Ok(())
}

/// A version to write.
pub struct Version<'a> {
    /// The project's row.
    pub project: i64,
    /// The position of its entry.
    pub seq: u64,
    /// Everything that its hash covers.
    pub body: &'a VersionBody<'a>,
    /// Its hash.
    pub hash: &'a str,
    /// Where its text is kept.
    pub content: i64,
    /// Its text, where there is one.
    pub text: Option<&'a str>,
    /// The row of the version that was current before.
    pub before: Option<i64>,
}

/// Writes a version: its row, its place as the current one, its opinion and its index terms. Gives the row's number.
pub fn version(conn: &Connection, new: &Version) -> Result<i64, Fail> {
    let body = new.body;
    let tags = serde_json::to_string(&body.tags).unwrap_or_default();
    conn.prepare_cached(
        "INSERT INTO version (project_id, seq, scope, key, version, content_id, value_hash, tags, meta, author, session,
                              base_confidence, created_at, private_to, prev_hash, hash)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
    )?
    .execute(params![
        new.project,
        signed(new.seq),
        body.scope,
        body.key,
        signed(body.version),
        new.content,
        body.value_hash,
        tags,
        body.meta.map(canonical),
        body.author,
        body.session,
        body.confidence,
        body.created_at,
        body.private_to,
        body.prev_hash,
        new.hash
    ])?;
    let id = conn.last_insert_rowid();
    conn.prepare_cached(
        "INSERT INTO head (project_id, scope, key, version_id) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (project_id, scope, key) DO UPDATE SET version_id = excluded.version_id",
    )?
    .execute(params![new.project, body.scope, body.key, id])?;
    conn.prepare_cached("INSERT INTO opinion (version_id, confidence, successes, failures) VALUES (?1, ?2, 0, 0)")?
        .execute(params![id, body.confidence])?;
    if let Some(before) = new.before {
        search::unindex(conn, before)?;
    }
    let private_to = body.private_to.map(name::fold);
    let indexed = search::Indexed {
        project: new.project,
        scope: body.scope,
        key: body.key,
        tags: &tags,
        private_to: private_to.as_deref(),
        body: new.text,
    };
    search::index(conn, id, &indexed)?;
    Ok(id)
}

/// Writes an open packet with its pins, the rows of the pinned versions in order.
pub fn packet(
    conn: &Connection,
    project: i64,
    seq: u64,
    body: &PacketBody,
    content: i64,
    pins: &[i64],
) -> Result<(), Fail> {
    conn.prepare_cached(
        "INSERT INTO handoff (id, project_id, seq, last_seq, from_agent, from_session, to_agent, owner, cwd, origin,
             content_id, texts_hash, git, checkpoint, created_at, expires_at, state, supersedes, continues)
         VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, 'open', ?16, ?17)",
    )?
    .execute(params![
        body.id,
        project,
        signed(seq),
        body.from_agent,
        body.from_session,
        body.to_agent,
        body.owner,
        body.cwd,
        body.origin,
        content,
        body.texts_hash,
        body.git.map(|git: &Git| JsonText::of(git).into_string()),
        body.checkpoint,
        body.created_at,
        body.expires_at,
        body.supersedes,
        body.continues
    ])?;
    for (position, pin) in pins.iter().enumerate() {
        conn.prepare_cached("INSERT INTO handoff_ref (handoff_id, position, version_id) VALUES (?1, ?2, ?3)")?
            .execute(params![body.id, position as i64, pin])?;
    }
    Ok(())
}

/// The life of a packet as its row holds it.
pub fn life(conn: &Connection, project: i64, id: &str) -> rusqlite::Result<Life> {
    conn.prepare_cached(
        "SELECT last_seq, expires_at, state, ended_as, superseded_by, accepted_by, accepted_session, accepted_owner,
             accepted_at, receiving_cwd, closed_at, outcome_ref FROM handoff WHERE project_id = ?1 AND id = ?2",
    )?
    .query_row(params![project, id], |row| {
        Ok(Life {
            last_seq: row.get(0)?,
            expires_at: row.get(1)?,
            state: row.get(2)?,
            ended_as: row.get(3)?,
            superseded_by: row.get(4)?,
            accepted_by: row.get(5)?,
            accepted_session: row.get(6)?,
            accepted_owner: row.get(7)?,
            accepted_at: row.get(8)?,
            receiving_cwd: row.get(9)?,
            closed_at: row.get(10)?,
            outcome_ref: row.get(11)?,
        })
    })
}

/// Sets the life of a packet to what its entries make of it.
pub fn set_life(conn: &Connection, id: &str, life: &Life) -> Result<(), Fail> {
    conn.prepare_cached(
        "UPDATE handoff SET last_seq = ?2, expires_at = ?3, state = ?4, ended_as = ?5, superseded_by = ?6,
             accepted_by = ?7, accepted_session = ?8, accepted_owner = ?9, accepted_at = ?10, receiving_cwd = ?11,
             closed_at = ?12, outcome_ref = ?13 WHERE id = ?1",
    )?
    .execute(params![
        id,
        life.last_seq,
        life.expires_at,
        life.state,
        life.ended_as,
        life.superseded_by,
        life.accepted_by,
        life.accepted_session,
        life.accepted_owner,
        life.accepted_at,
        life.receiving_cwd,
        life.closed_at,
        life.outcome_ref
    ])?;
    Ok(())
}

/// Keeps the note of a packet's entry.
pub fn note(conn: &Connection, packet: &str, seq: u64, content: i64) -> Result<(), Fail> {
    conn.prepare_cached("INSERT INTO handoff_note (handoff_id, seq, content_id) VALUES (?1, ?2, ?3)")?
        .execute(params![packet, signed(seq), content])?;
    Ok(())
}

/// An outcome to write.
pub struct Outcome<'a> {
    /// Its id.
    pub id: &'a str,
    /// The project's row.
    pub project: i64,
    /// The position of its entry.
    pub seq: u64,
    /// The run that it is about.
    pub outcome_ref: &'a str,
    /// The row of the version that it moves.
    pub version: i64,
    /// The packet that was worked on.
    pub handoff: Option<&'a str>,
    /// `success` or `failure`.
    pub outcome: &'a str,
    /// Where its note is kept, and the note's hash.
    pub note: Option<(i64, &'a str)>,
    /// Who reported.
    pub author: &'a str,
    /// In which run.
    pub session: Option<&'a str>,
    /// When.
    pub at: &'a str,
    /// The opinion of the version before.
    pub before: Opinion,
    /// The opinion of the version after.
    pub after: Opinion,
}

/// Writes an outcome, and moves the opinion of its version.
pub fn outcome(conn: &Connection, new: &Outcome) -> Result<(), Fail> {
    conn.prepare_cached(
        "INSERT INTO outcome (id, project_id, seq, outcome_ref, version_id, handoff_id, outcome, content_id, note_hash,
             author, session, created_at, confidence_before, confidence_after)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
    )?
    .execute(params![
        new.id,
        new.project,
        signed(new.seq),
        new.outcome_ref,
        new.version,
        new.handoff,
        new.outcome,
        new.note.map(|(content, _)| content),
        new.note.map(|(_, hash)| hash),
        new.author,
        new.session,
        new.at,
        new.before.confidence.get(),
        new.after.confidence.get()
    ])?;
    let changed = conn
        .prepare_cached("UPDATE opinion SET confidence = ?2, successes = ?3, failures = ?4 WHERE version_id = ?1")?
        .execute(params![
            new.version,
            new.after.confidence.get(),
            signed(new.after.successes),
            signed(new.after.failures)
        ])?;
    if changed == 1 {
        Ok(())
    } else {
        Err(Fail::Damaged("a version has no opinion".to_owned()))
    }
}
