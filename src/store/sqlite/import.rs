//! Taking the lines of an export in: each entry is checked against the one before it and against what it vouches for, as
//! `verify` would, and then written with its rows.

mod taking;

use rusqlite::{Connection, OptionalExtension, params};

use super::fail::Fail;
use super::ledger::{self, ProjectRow, project, signed};
use super::rows;
use crate::domain::ledger::Kind;
use crate::domain::transfer::{EntryLine, Taken};
use crate::domain::{Hash, Home, Invalid, Refusal, canonical::canonical};

use taking::Taking;

/// Takes a run of consecutive lines of one project in, up to the first that cannot be taken.
pub fn take(conn: &Connection, home: &Home, lines: &[EntryLine]) -> Result<Taken, Fail> {
    let (mut known, mut added, mut purged) = (0, 0, false);
    let mut row = project(conn, home)?;
    let (mut seq, mut at, mut hash) = match &row {
        Some(row) => ledger::head(conn, row.id)?
            .ok_or_else(|| Fail::Damaged(format!("the ledger of project {} is empty", home.project)))?,
        None => (0, String::new(), Hash::ZERO.to_string()),
    };
    let mut last_note = None;
    for line in lines {
        let entry = &line.entry;
        if entry.seq <= seq {
            let here: Option<String> = match &row {
                Some(row) => conn
                    .prepare_cached("SELECT hash FROM ledger WHERE project_id = ?1 AND seq = ?2")?
                    .query_row(params![row.id, signed(entry.seq)], |row| row.get(0))
                    .optional()?,
                None => None,
            };
            if here.as_deref() != Some(entry.hash.as_str()) {
                return Ok(Taken::Diverged(entry.seq));
            }
            // One that was killed here may not have come to clean the file.
            purged |= entry.kind == Kind::Purged.as_str();
            known += 1;
            continue;
        }
        // What cannot be taken leaves nothing of itself, and everything before it stays.
        conn.prepare_cached("SAVEPOINT line")?.execute([])?;
        match one(conn, home, row.as_ref(), line, (seq, &hash, &at), &mut last_note) {
            Ok((here, emptied)) => {
                purged |= emptied;
                row = Some(here);
            }
            Err(Fail::Refused(refused)) => {
                conn.prepare_cached("ROLLBACK TO line")?.execute([])?;
                conn.prepare_cached("RELEASE line")?.execute([])?;
                let refused = Some(refused);
                return Ok(Taken::Followed {
                    known,
                    added,
                    purged,
                    refused,
                });
            }
            Err(other) => return Err(other),
        }
        conn.prepare_cached("RELEASE line")?.execute([])?;
        (seq, at, hash) = (entry.seq, entry.at.clone(), entry.hash.clone());
        added += 1;
    }
    let refused = None;
    Ok(Taken::Followed {
        known,
        added,
        purged,
        refused,
    })
}

/// Takes one line in behind the entry of this position, hash and time; gives the project and whether a text was purged.
fn one(
    conn: &Connection,
    home: &Home,
    row: Option<&ProjectRow>,
    line: &EntryLine,
    (seq, hash, at): (u64, &str, &str),
    last_note: &mut Option<(i64, String)>,
) -> Result<(ProjectRow, bool), Fail> {
    let entry = &line.entry;
    if entry.seq != seq + 1 {
        return Err(refused(line, format!("out of order: it stands behind entry {seq}")));
    }
    let kind = entry
        .follows(hash, at)
        .map_err(|what| refused(line, format!("damaged: {what}")))?;
    line.check(kind, home)
        .map_err(|what| refused(line, format!("damaged: {what}")))?;
    let project = match row {
        Some(row) => row.clone(),
        None => make(conn, home, line)?,
    };
    let mut taking = Taking {
        conn,
        project: &project,
        line,
        last_note,
    };
    let purged = taking.write(kind).map_err(|fail| placed(line, fail))?;
    let detail = canonical(&entry.detail);
    rows::entry(conn, project.id, &entry.body(), &detail, &entry.hash)?;
    Ok((project, purged))
}

/// That a line cannot be taken, and why.
fn refused(line: &EntryLine, what: impl Into<String>) -> Fail {
    let invalid = Invalid::new(
        format!("entry {} of the export", line.entry.seq),
        what,
        "an export that nobody changed",
    );
    Refusal::Invalid(invalid).into()
}

/// What is there twice is refused by the tables themselves, and a name by its constructor: each is told with its place.
fn placed(line: &EntryLine, fail: Fail) -> Fail {
    match &fail {
        Fail::Sql(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            refused(line, "about something that is there already")
        }
        Fail::Refused(Refusal::Invalid(invalid)) if !invalid.field.starts_with("entry ") => {
            refused(line, format!("damaged: {invalid}"))
        }
        _ => fail,
    }
}

/// Makes the project as its first entry says. The first project of a file gives it its store id.
fn make(conn: &Connection, home: &Home, line: &EntryLine) -> Result<ProjectRow, Fail> {
    let entry = &line.entry;
    let (workspace, name) = (home.workspace.as_str(), home.project.as_str());
    let first: bool = conn.query_row("SELECT NOT EXISTS (SELECT 1 FROM project)", [], |row| row.get(0))?;
    if first {
        let store = entry.detail["store"].as_str().unwrap_or_default();
        conn.execute("UPDATE meta SET store_id = ?1", [store])?;
    }
    conn.execute(
        "INSERT INTO project (workspace, name, created_at) VALUES (?1, ?2, ?3)",
        params![workspace, name, entry.at],
    )?;
    Ok(ProjectRow {
        id: conn.last_insert_rowid(),
        home: home.clone(),
    })
}
