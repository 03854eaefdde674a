//! The spine: each project's entries, their chain, and that each has what it vouches for.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::rows::{Cells, Wrong};
use super::{CHUNK, Check};
use crate::domain::canonical::canonical;
use crate::domain::ledger::{Checkpoint, EntryBody, Kind, project_subject};
use crate::domain::{Hash, Time};

/// A project's row.
struct Project {
    id: i64,
    workspace: String,
    name: String,
    created_at: String,
}

impl Project {
    fn place(&self) -> String {
        format!("project {}/{}", self.workspace, self.name)
    }
}

/// Checks every project, the store's id, and the checkpoints.
pub fn check(check: &mut Check, checkpoints: &[Checkpoint]) {
    let store = store_id(check);
    let projects = match projects(check) {
        Ok(projects) => projects,
        Err(error) => return check.unreadable("projects", &error),
    };
    for (index, project) in projects.iter().enumerate() {
        if let Err(error) = ledger(check, project, store.as_deref().filter(|_| index == 0)) {
            check.unreadable(&project.place(), &error);
        }
    }
    strays(check);
    for checkpoint in checkpoints {
        match extends(check, &projects, checkpoint) {
            Ok(None) => {}
            Ok(Some(what)) => check.note("checkpoint", checkpoint.to_string(), what),
            Err(error) => check.unreadable("the ledger", &error),
        }
    }
}

fn store_id(check: &mut Check) -> Option<String> {
    let read = || -> rusqlite::Result<Vec<Result<String, Wrong>>> {
        let mut statement = check.conn.prepare("SELECT store_id FROM meta LIMIT 3")?;
        let rows = statement.query_map([], |row| Ok(Cells(row).text(0)))?;
        rows.collect()
    };
    match read() {
        Ok(rows) => match <[_; 1]>::try_from(rows) {
            Ok([Ok(id)]) => Some(id),
            Ok([Err(what)]) => {
                check.note("meta", "the store's id", what);
                None
            }
            Err(rows) => {
                check.note(
                    "meta",
                    "the store's id",
                    format!("{} rows where there must be one", rows.len()),
                );
                None
            }
        },
        Err(error) => {
            check.unreadable("the store's id", &error);
            None
        }
    }
}

fn projects(check: &mut Check) -> rusqlite::Result<Vec<Project>> {
    let conn = check.conn;
    let mut statement = conn.prepare("SELECT id, workspace, name, created_at FROM project ORDER BY id")?;
    let mut rows = statement.query([])?;
    let mut projects = Vec::new();
    while let Some(row) = rows.next()? {
        let cells = Cells(row);
        let read = || -> Result<Project, Wrong> {
            Ok(Project {
                id: cells.integer(0)?,
                workspace: cells.text(1)?,
                name: cells.text(2)?,
                created_at: cells.text(3)?,
            })
        };
        match read() {
            Ok(project) => projects.push(project),
            Err(what) => check.note("project", format!("project row {:?}", cells.integer(0)), what),
        }
    }
    Ok(projects)
}

/// Where a walk along a ledger stands.
struct At {
    seq: i64,
    time: String,
    hash: String,
}

fn ledger(check: &mut Check, project: &Project, store: Option<&str>) -> rusqlite::Result<()> {
    let conn = check.conn;
    // The end is fixed first: what is appended meanwhile is the next check's.
    let (start, end): (i64, i64) = conn.query_row(
        "SELECT coalesce(min(seq), 1), coalesce(max(seq), 0) FROM ledger WHERE project_id = ?1",
        [project.id],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if end == 0 {
        check.note("project", project.place(), "it has no ledger");
        return Ok(());
    }
    if start < 1 {
        let place = format!("{} entry {start}", project.place());
        check.note("ledger_gap", place, "it stands before the first entry");
    }
    let mut at = At {
        seq: 0,
        time: String::new(),
        hash: Hash::ZERO.to_string(),
    };
    while at.seq < end {
        let before = at.seq;
        let moment = conn.unchecked_transaction()?;
        let mut statement = moment.prepare_cached(
            "SELECT seq, at, agent, session, kind, subject, detail, digest, hash FROM ledger
             WHERE project_id = ?1 AND seq > ?2 AND seq <= ?3 ORDER BY seq LIMIT ?4",
        )?;
        let mut rows = statement.query(params![project.id, at.seq, end, CHUNK as i64])?;
        while let Some(row) = rows.next()? {
            let seq = row.get(0)?;
            if seq <= at.seq {
                check.astray(&project.place());
                return Ok(());
            }
            let place = || format!("{} entry {seq}", project.place());
            if seq != at.seq + 1 {
                check.note("ledger_gap", place(), format!("it follows entry {}", at.seq));
            }
            match entry(check, project, store, &place, &Cells(row), &at) {
                Ok(next) => at = next,
                Err(what) => {
                    check.note("ledger", place(), what);
                    at.seq = seq;
                }
            }
            check.count();
        }
        if at.seq == before {
            break;
        }
    }
    Ok(())
}

fn entry(
    check: &mut Check,
    project: &Project,
    store: Option<&str>,
    place: &dyn Fn() -> String,
    cells: &Cells,
    before: &At,
) -> Result<At, Wrong> {
    let seq = cells.integer(0)?;
    let (at, agent, session) = (cells.str(1)?, cells.str(2)?, cells.maybe_str(3)?);
    let (kind, subject, detail_text) = (cells.str(4)?, cells.str(5)?, cells.str(6)?);
    let (digest, hash) = (cells.str(7)?, cells.str(8)?);
    let detail: Value = serde_json::from_str(detail_text).map_err(|_| "its detail is not JSON".to_owned())?;
    let body = EntryBody {
        seq: u64::try_from(seq).unwrap_or(0),
        at,
        agent,
        session,
        kind,
        subject,
        detail: &detail,
        digest,
    };
    if body.hash(&before.hash).to_string() != hash {
        check.note(
            "ledger_hash",
            place(),
            "its hash does not follow from the entry before it and its own fields",
        );
    }
    if canonical(&detail) != detail_text {
        check.note("ledger", place(), "its detail is not in canonical form");
    }
    if at < before.time.as_str() || Time::parse(at).is_none_or(|time| time.to_string() != at) {
        check.note(
            "ledger_time",
            place(),
            "its time is unreadable or before that of the entry above it",
        );
    }
    let parsed = Kind::parse(kind).ok_or_else(|| format!("its kind {kind:?} is unknown"))?;
    let vouches_itself = !matches!(parsed, Kind::Remembered | Kind::HandedOff);
    if vouches_itself && Hash::of(&[detail_text.as_bytes()]).to_string() != digest {
        check.note("ledger_digest", place(), "its digest is not the hash of its detail");
    }
    if (parsed == Kind::Created) != (seq == 1) {
        check.note(
            "ledger",
            place(),
            "a project is created by its first entry and by no other",
        );
    }
    if let Err(what) = crate::domain::ledger::detail::check(parsed, &detail) {
        check.note("ledger_detail", place(), what);
    }
    let found = match parsed {
        Kind::Created => created(project, store, subject, &detail, at),
        _ => vouched(check, project, parsed, subject, &detail, seq),
    };
    match found {
        Ok(None) => {}
        Ok(Some((fault, what))) => check.note(fault, place(), what),
        Err(error) => check.unreadable(&place(), &error),
    }
    Ok(At {
        seq,
        time: at.to_owned(),
        hash: hash.to_owned(),
    })
}

type Found = rusqlite::Result<Option<(&'static str, String)>>;

fn created(project: &Project, store: Option<&str>, subject: &str, detail: &Value, at: &str) -> Found {
    let wrong = if subject != project_subject(&project.workspace, &project.name) {
        Some("its subject is not the project's name")
    } else if detail["workspace"] != project.workspace.as_str() || detail["project"] != project.name.as_str() {
        Some("the project's row has other names than its first entry")
    } else if at != project.created_at {
        Some("the project's row has another time than its first entry")
    } else {
        None
    };
    if let Some(wrong) = wrong {
        return Ok(Some(("project", wrong.to_owned())));
    }
    match store {
        Some(store) if detail["store"] != store => Ok(Some((
            "meta",
            "the store's id is not that of its oldest project".to_owned(),
        ))),
        _ => Ok(None),
    }
}

/// Whether what an entry speaks of is there.
fn vouched(check: &Check, project: &Project, kind: Kind, subject: &str, detail: &Value, seq: i64) -> Found {
    let conn = check.conn;
    let there = |sql: &str, id: &str| -> rusqlite::Result<bool> {
        conn.prepare_cached(sql)?
            .query_row(params![project.id, id, seq], |row| row.get(0))
    };
    let missing = |what: &str| Some(("missing_row", format!("{what} {subject} of this entry is not there")));
    match kind {
        Kind::Created => Ok(None),
        Kind::Remembered => {
            let Ok((scope, key, version)) = serde_json::from_str::<(String, String, i64)>(subject) else {
                return Ok(Some(("ledger", "its subject does not name a version".to_owned())));
            };
            let row: Option<i64> = conn
                .prepare_cached(
                    "SELECT seq FROM version WHERE project_id = ?1 AND scope = ?2 AND key = ?3 AND version = ?4",
                )?
                .query_row(params![project.id, scope, key, version], |row| row.get(0))
                .optional()?;
            Ok(match row {
                Some(row) if row == seq => None,
                Some(_) => Some(("version", format!("the version {subject} names another entry"))),
                None => missing("the version"),
            })
        }
        Kind::Outcome => Ok((!there(
            "SELECT EXISTS (SELECT 1 FROM outcome WHERE project_id = ?1 AND id = ?2 AND seq = ?3)",
            subject,
        )?)
        .then(|| missing("the outcome"))
        .flatten()),
        Kind::Purged => purged(check, project, subject, detail),
        _ => Ok((!there(
            "SELECT EXISTS (SELECT 1 FROM handoff WHERE project_id = ?1 AND id = ?2 AND seq <= ?3 AND last_seq >= ?3)",
            subject,
        )?)
        .then(|| missing("the packet"))
        .flatten()),
    }
}

/// A purged text must be gone, and must be the one that the entry names.
fn purged(check: &Check, project: &Project, subject: &str, detail: &Value) -> Found {
    let hash = detail["hash"].as_str().unwrap_or_default();
    let (sql, scope, key, version) = match serde_json::from_str::<(String, String, i64)>(subject) {
        Ok((scope, key, version)) => (
            "SELECT count(*), count(nullif(c.body, '')) FROM version v LEFT JOIN content c ON c.id = v.content_id
             WHERE project_id = ?1 AND scope = ?2 AND key = ?3 AND version = ?4 AND value_hash = ?5",
            scope,
            key,
            version,
        ),
        // A note stands under an outcome, under an entry of a packet, or under both.
        Err(_) => (
            "SELECT count(*), count(nullif(c.body, '')) FROM (
                 SELECT content_id FROM handoff WHERE project_id = ?1 AND id = ?2 AND texts_hash = ?5
                 UNION ALL
                 SELECT content_id FROM outcome WHERE project_id = ?1 AND id = ?2 AND note_hash = ?5
                 UNION ALL
                 SELECT n.content_id FROM handoff_note n JOIN ledger l ON l.project_id = ?1 AND l.seq = n.seq
                 WHERE n.handoff_id = ?2 AND json_extract(l.detail, '$.note_hash') = ?5 AND ?3 = '' AND ?4 = 0
             ) LEFT JOIN content c ON c.id = content_id",
            subject.to_owned(),
            String::new(),
            0,
        ),
    };
    let (named, there): (i64, i64) = check
        .conn
        .prepare_cached(sql)?
        .query_row(params![project.id, scope, key, version, hash], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
    Ok(match (named, there) {
        (0, _) => Some(("purged", format!("{subject} has no text of the hash that was purged"))),
        (_, 0) => None,
        _ => Some(("purged", format!("{subject} was purged and its text is still there"))),
    })
}

/// Entries of projects that are not there.
fn strays(check: &mut Check) {
    let stray: rusqlite::Result<Option<i64>> = check
        .conn
        .query_row(
            // UNION drops what came before, so that an index that leads in a circle is left, too.
            "WITH RECURSIVE known(id) AS (
                 SELECT min(project_id) FROM ledger
                 UNION
                 SELECT (SELECT min(project_id) FROM ledger WHERE project_id > known.id) FROM known
                 WHERE known.id IS NOT NULL)
             SELECT id FROM known WHERE id IS NOT NULL AND id NOT IN (SELECT id FROM project) LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional();
    match stray {
        Ok(None) => {}
        Ok(Some(id)) => check.note("project", format!("ledger of project {id}"), "the project is not there"),
        Err(error) => check.unreadable("the ledger", &error),
    }
}

/// Whether the store holds what a checkpoint pins; otherwise what it has in its place.
fn extends(check: &Check, projects: &[Project], checkpoint: &Checkpoint) -> rusqlite::Result<Option<String>> {
    let same = |project: &&Project| project.workspace == checkpoint.workspace && project.name == checkpoint.project;
    let Some(project) = projects.iter().find(same) else {
        return Ok(Some("the store has no such project".to_owned()));
    };
    let entry = |seq: i64| -> rusqlite::Result<Option<(String, String)>> {
        check
            .conn
            .query_row(
                "SELECT hash, detail FROM ledger WHERE project_id = ?1 AND seq = ?2",
                [project.id, seq],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .optional()
    };
    let store = entry(1)?.and_then(|(_, detail)| serde_json::from_str::<Value>(&detail).ok());
    if store.is_none_or(|detail| detail["store"] != checkpoint.store.as_str()) {
        return Ok(Some("the project was made in another store".to_owned()));
    }
    Ok(match entry(i64::try_from(checkpoint.seq).unwrap_or(i64::MAX))? {
        Some((hash, _)) if hash == checkpoint.hash.to_string() => None,
        Some(_) => Some("the ledger has another entry in its place: the history was rewritten".to_owned()),
        None => Some("the ledger ends before it: the file was rolled back or cut".to_owned()),
    })
}
