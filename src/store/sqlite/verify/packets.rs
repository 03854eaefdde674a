//! Every packet: its texts, its hash, its pins and notes, and its row against the replay of its entries.

use rusqlite::params;

use super::Check;
use super::rows::{Cells, Walk, Wrong};
use super::versions::text;
use crate::domain::handoff::replay::{Life, Step};
use crate::domain::handoff::{Git, PacketBody};
use crate::domain::ledger::Checkpoint;
use crate::domain::{Hash, JsonText};

const WALK: Walk = Walk {
    name: "packets",
    sql: "SELECT h.rowid, h.id, h.project_id, h.seq, h.last_seq, h.from_agent, h.from_session, h.to_agent, h.owner,
              h.cwd, h.origin, h.content_id, h.texts_hash, h.git, h.checkpoint, h.created_at, h.expires_at, h.state,
              h.ended_as, h.supersedes, h.superseded_by, h.continues, h.accepted_by, h.accepted_session,
              h.accepted_owner, h.accepted_at, h.receiving_cwd, h.closed_at, h.outcome_ref,
              p.workspace, p.name, c.nonce, c.body
          FROM handoff h
          LEFT JOIN project p ON p.id = h.project_id
          LEFT JOIN content c ON c.id = h.content_id
          WHERE h.rowid >= ?1 ORDER BY h.rowid LIMIT ?2",
};

/// Checks every packet.
pub fn check(check: &mut Check) {
    check.walk(&WALK, |check, cells| {
        let place = format!(
            "handoff {}",
            cells.text(1).unwrap_or_else(|_| "without an id".to_owned())
        );
        if let Err(what) = packet(check, cells, &place) {
            check.note("handoff", place, what);
        }
        check.count();
    });
}

fn packet(check: &mut Check, cells: &Cells, place: &str) -> Result<(), Wrong> {
    let (id, project, seq) = (cells.text(1)?, cells.integer(2)?, cells.integer(3)?);
    check.texts.put(cells.integer(11)?);
    let texts_hash = cells.text(12)?;
    if let Some(what) = text(check, project, &id, &texts_hash, cells, 31)? {
        check.note("handoff_texts", place, what);
    }
    let entries = entries(check, project, &id)?;
    let Some(((first, digest), later)) = entries.split_first() else {
        return Err("no ledger entry vouches for it".to_owned());
    };
    if first.kind != "handed_off" || first.seq != seq {
        return Err("its first ledger entry is not that of its writing".to_owned());
    }
    let git_text = cells.maybe(13)?;
    let git: Option<Git> = git_text
        .as_deref()
        .map(serde_json::from_str)
        .transpose()
        .map_err(|_| "its git state is unreadable".to_owned())?;
    if git.as_ref().map(|git| JsonText::of(git).into_string()) != git_text {
        return Err("its git state is not in compact form".to_owned());
    }
    let (Some(workspace), Some(name)) = (cells.maybe(29)?, cells.maybe(30)?) else {
        return Err("its project is not there".to_owned());
    };
    let (from_agent, from_session, created_at) = (cells.text(5)?, cells.maybe(6)?, cells.text(15)?);
    let stored = Life {
        last_seq: cells.integer(4)?,
        expires_at: cells.maybe(16)?,
        state: cells.text(17)?,
        ended_as: cells.maybe(18)?,
        superseded_by: cells.maybe(20)?,
        accepted_by: cells.maybe(22)?,
        accepted_session: cells.maybe(23)?,
        accepted_owner: cells.maybe(24)?,
        accepted_at: cells.maybe(25)?,
        receiving_cwd: cells.maybe(26)?,
        closed_at: cells.maybe(27)?,
        outcome_ref: cells.maybe(28)?,
    };
    // Its end may have moved since; the first one stands in the entry of its writing.
    let first_end = first.set("expires_at");
    let refs = pins(check, project, &id)?;
    let (to_agent, owner, cwd, origin) = (cells.maybe(7)?, cells.maybe(8)?, cells.maybe(9)?, cells.text(10)?);
    let (checkpoint, supersedes, continues) = (cells.text(14)?, cells.maybe(19)?, cells.maybe(21)?);
    let body = PacketBody {
        v: 1,
        id: &id,
        workspace: &workspace,
        project: &name,
        from_agent: &from_agent,
        from_session: from_session.as_deref(),
        to_agent: to_agent.as_deref(),
        owner: owner.as_deref(),
        cwd: cwd.as_deref(),
        origin: &origin,
        texts_hash: &texts_hash,
        refs,
        git: git.as_ref(),
        checkpoint: &checkpoint,
        created_at: &created_at,
        expires_at: first_end.as_deref(),
        supersedes: supersedes.as_deref(),
        continues: continues.as_deref(),
    };
    if body.hash().to_string() != *digest {
        check.note(
            "handoff_hash",
            place,
            "its fields and pins are not those that its ledger entry vouches for",
        );
    }
    if checkpoint_before(check, project, &workspace, &name, seq)? != checkpoint {
        check.note(
            "handoff_checkpoint",
            place,
            "it does not carry the checkpoint of the ledger just before it",
        );
    }
    if first.at != created_at || first.agent != from_agent || first.session != from_session {
        check.note("handoff", place, "writer or time are not those of its ledger entry");
    }
    let mut replayed = Life::written(seq, first_end);
    for (entry, _) in later {
        replayed.apply(entry)?;
    }
    if replayed != stored {
        check.note(
            "handoff_state",
            place,
            format!("it is {} and not what its entries make of it", stored.state),
        );
    }
    notes(check, project, &id, &entries, place)
}

fn entries(check: &Check, project: i64, id: &str) -> Result<Vec<(Step, String)>, Wrong> {
    let unreadable = |_| "its entries cannot be read".to_owned();
    let conn = check.conn;
    let mut statement = conn
        .prepare_cached(
            "SELECT seq, at, agent, session, kind, detail, digest FROM ledger INDEXED BY ledger_subject
             WHERE project_id = ?1 AND subject = ?2 AND kind NOT IN ('remembered', 'outcome', 'created') ORDER BY seq",
        )
        .map_err(unreadable)?;
    let mut rows = statement.query(params![project, id]).map_err(unreadable)?;
    let mut entries = Vec::new();
    while let Some(row) = rows.next().map_err(unreadable)? {
        let cells = Cells(row);
        let step = Step {
            seq: cells.integer(0)?,
            at: cells.text(1)?,
            agent: cells.text(2)?,
            session: cells.maybe(3)?,
            kind: cells.text(4)?,
            detail: serde_json::from_str(&cells.text(5)?).map_err(|_| "an entry's detail is not JSON".to_owned())?,
        };
        entries.push((step, cells.text(6)?));
    }
    Ok(entries)
}

/// The checkpoint of everything up to the entry before `seq`, made anew from the ledger.
fn checkpoint_before(check: &Check, project: i64, workspace: &str, name: &str, seq: i64) -> Result<String, Wrong> {
    let read = || -> rusqlite::Result<(String, String)> {
        check
            .conn
            .prepare_cached(
                "SELECT json_extract(born.detail, '$.store'), last.hash FROM ledger born, ledger last
                 WHERE born.project_id = ?1 AND born.seq = 1 AND last.project_id = ?1 AND last.seq = ?2 - 1",
            )?
            .query_row(params![project, seq], |row| Ok((row.get(0)?, row.get(1)?)))
    };
    let (store, hash) = read().map_err(|_| "the entries before its own cannot be read".to_owned())?;
    let checkpoint = Checkpoint {
        store,
        workspace: workspace.to_owned(),
        project: name.to_owned(),
        seq: u64::try_from(seq.saturating_sub(1)).unwrap_or(0),
        hash: Hash::parse(&hash).unwrap_or(Hash::ZERO),
    };
    Ok(checkpoint.to_string())
}

/// The hashes of the pinned versions, in order.
fn pins(check: &Check, project: i64, id: &str) -> Result<Vec<String>, Wrong> {
    let unreadable = |_| "its pins cannot be read".to_owned();
    let conn = check.conn;
    let mut statement = conn
        .prepare_cached(
            "SELECT r.position, v.hash, v.project_id FROM handoff_ref r LEFT JOIN version v ON v.id = r.version_id
             WHERE r.handoff_id = ?1 ORDER BY r.position",
        )
        .map_err(unreadable)?;
    let mut rows = statement.query([id]).map_err(unreadable)?;
    let mut hashes = Vec::new();
    while let Some(row) = rows.next().map_err(unreadable)? {
        let cells = Cells(row);
        if cells.integer(0)? != hashes.len() as i64 {
            return Err(format!("its pins have a gap at position {}", hashes.len()));
        }
        if cells.maybe_integer(2)? != Some(project) {
            return Err(format!(
                "its pin at position {} names no version of its project",
                hashes.len()
            ));
        }
        hashes.push(cells.text(1)?);
    }
    Ok(hashes)
}

/// Each note stands under the entry that names its hash, and each such entry has its note.
fn notes(check: &mut Check, project: i64, id: &str, entries: &[(Step, String)], place: &str) -> Result<(), Wrong> {
    let unreadable = |_| "its notes cannot be read".to_owned();
    let conn = check.conn;
    let mut statement = conn
        .prepare_cached(
            "SELECT n.seq, n.content_id, c.nonce, c.body FROM handoff_note n LEFT JOIN content c ON c.id = n.content_id
             WHERE n.handoff_id = ?1 ORDER BY n.seq",
        )
        .map_err(unreadable)?;
    let mut rows = statement.query([id]).map_err(unreadable)?;
    let mut wanted = entries
        .iter()
        .filter_map(|(entry, _)| entry.set("note_hash").map(|hash| (entry.seq, hash)));
    while let Some(row) = rows.next().map_err(unreadable)? {
        let cells = Cells(row);
        check.texts.put(cells.integer(1)?);
        let hash = match wanted.next() {
            Some((seq, hash)) if cells.integer(0)? == seq => hash,
            _ => return Err("its notes are not those that its entries name".to_owned()),
        };
        if let Some(what) = text(check, project, id, &hash, &cells, 2)? {
            check.note("handoff_note", place, format!("a note: {what}"));
        }
    }
    match wanted.next() {
        Some(_) => Err("a note that its entries name is not there".to_owned()),
        None => Ok(()),
    }
}
