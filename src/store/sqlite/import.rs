//! Taking the lines of an export in: each entry is checked against the one before it and against what it vouches for, as
//! `verify` would, and then written with its rows.

mod taking;

use rusqlite::{Connection, OptionalExtension, params};

use super::fail::Fail;
use super::ledger::{self, ProjectRow, project, signed};
use super::rows;
use crate::domain::ledger::project_subject;
use crate::domain::transfer::{EntryLine, Taken};
use crate::domain::{Agent, Hash, Home, Invalid, Project, Refusal, Session, Workspace, canonical::canonical};

use taking::Taking;

/// Takes a run of consecutive lines of one project in: all of them, or nothing.
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
            known += 1;
            continue;
        }
        if entry.seq != seq + 1 {
            return Err(refused(line, format!("it follows entry {seq}")));
        }
        let kind = entry.follows(&hash, &at).map_err(|what| refused(line, what))?;
        names(line)?;
        let here = match &row {
            Some(row) => row.clone(),
            None => {
                let made = make(conn, home, line)?;
                row = Some(made.clone());
                made
            }
        };
        let mut taking = Taking {
            conn,
            project: &here,
            line,
            last_note: &mut last_note,
        };
        purged |= taking.write(kind).map_err(|fail| twice(line, fail))?;
        let detail = canonical(&entry.detail);
        rows::entry(conn, here.id, &entry.body(), &detail, &entry.hash)?;
        (seq, at, hash) = (entry.seq, entry.at.clone(), entry.hash.clone());
        added += 1;
    }
    Ok(Taken::Followed { known, added, purged })
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

/// What is there twice is refused by the tables themselves.
fn twice(line: &EntryLine, fail: Fail) -> Fail {
    match &fail {
        Fail::Sql(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) => {
            refused(line, "about something that is there already")
        }
        _ => fail,
    }
}

/// A name that must be as it would have been when it was written.
fn same<T>(
    line: &EntryLine,
    field: &str,
    text: &str,
    made: Result<T, Invalid>,
    back: impl Fn(&T) -> &str,
) -> Result<(), Fail> {
    match made {
        Ok(name) if back(&name) == text => Ok(()),
        _ => Err(refused(line, format!("with a {field} that none can be"))),
    }
}

/// Who acted, and in which run.
fn names(line: &EntryLine) -> Result<(), Fail> {
    let entry = &line.entry;
    same(line, "agent", &entry.agent, Agent::new(&entry.agent), Agent::as_str)?;
    if let Some(session) = &entry.session {
        same(line, "session", session, Session::new(session), Session::as_str)?;
    }
    Ok(())
}

/// Makes the project as its first entry says. The first project of a file gives it its store id.
fn make(conn: &Connection, home: &Home, line: &EntryLine) -> Result<ProjectRow, Fail> {
    let entry = &line.entry;
    let (workspace, name) = (home.workspace.as_str(), home.project.as_str());
    let store = entry.detail["store"].as_str().unwrap_or_default();
    let hex = store.len() == 32 && store.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let said = serde_json::json!({ "store": store, "workspace": workspace, "project": name });
    if !hex || canonical(&said) != canonical(&entry.detail) || entry.subject != project_subject(workspace, name) {
        return Err(refused(line, "not about the making of its project"));
    }
    let first: bool = conn.query_row("SELECT NOT EXISTS (SELECT 1 FROM project)", [], |row| row.get(0))?;
    if first {
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

/// The home that a project's first line names.
pub fn home_of(line: &EntryLine) -> Result<Home, Invalid> {
    let name = |field: &str| line.entry.detail[field].as_str().unwrap_or_default().to_owned();
    Ok(Home {
        workspace: Workspace::new(&name("workspace"))?,
        project: Project::new(&name("project"))?,
    })
}
