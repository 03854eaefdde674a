//! Projects and their ledgers: finding them, and appending what happened.

use rusqlite::{Connection, OptionalExtension, Row, params};
use serde_json::{Value, json};

use super::fail::Fail;
use super::rows;
use crate::domain::canonical::canonical;
use crate::domain::ledger::{Checkpoint, Entry, EntryBody, Kind, NewEntry, Stamp, project_subject};
use crate::domain::{Agent, Hash, Home, Time};

/// A project's row.
#[derive(Debug, Clone)]
pub struct ProjectRow {
    /// Its number in this file.
    pub id: i64,
    /// Its names.
    pub home: Home,
}

/// The project of these names, if anything was ever written there.
pub fn project(conn: &Connection, home: &Home) -> Result<Option<ProjectRow>, Fail> {
    let id = conn
        .prepare_cached("SELECT id FROM project WHERE workspace = ?1 AND name = ?2")?
        .query_row(params![home.workspace.as_str(), home.project.as_str()], |row| {
            row.get(0)
        })
        .optional()?;
    Ok(id.map(|id| ProjectRow { id, home: home.clone() }))
}

/// The last entry of a project's ledger: position, time and hash.
pub fn head(conn: &Connection, project: i64) -> Result<Option<(u64, String, String)>, Fail> {
    let found = conn
        .prepare_cached("SELECT seq, at, hash FROM ledger WHERE project_id = ?1 ORDER BY seq DESC LIMIT 1")?
        .query_row([project], |row| Ok((number(row, 0)?, row.get(1)?, row.get(2)?)))
        .optional()?;
    Ok(found)
}

/// The id of the store: of this file, and of every project that was made in it.
pub fn store_id(conn: &Connection) -> Result<String, Fail> {
    Ok(conn.query_row("SELECT store_id FROM meta LIMIT 1", [], |row| row.get(0))?)
}

/// The store id in a project's first entry: an imported project keeps the one that it was made with.
fn birth_store(conn: &Connection, project: i64) -> Result<String, Fail> {
    let detail: String = conn
        .prepare_cached("SELECT detail FROM ledger WHERE project_id = ?1 AND seq = 1")?
        .query_row([project], |row| row.get(0))
        .optional()?
        .ok_or_else(|| Fail::Damaged("a project's ledger has no first entry".to_owned()))?;
    let detail: Value = serde_json::from_str(&detail).unwrap_or_default();
    detail["store"]
        .as_str()
        .map(str::to_owned)
        .ok_or_else(|| Fail::Damaged("a project's first ledger entry names no store".to_owned()))
}

/// The checkpoint of a project's whole ledger as it is now; none before anything was written.
pub fn checkpoint(conn: &Connection, home: &Home) -> Result<Option<Checkpoint>, Fail> {
    let Some(row) = project(conn, home)? else {
        return Ok(None);
    };
    let Some((seq, _, hash)) = head(conn, row.id)? else {
        return Ok(None);
    };
    checkpoint_at(conn, &row, seq, &hash).map(Some)
}

fn checkpoint_at(conn: &Connection, row: &ProjectRow, seq: u64, hash: &str) -> Result<Checkpoint, Fail> {
    Ok(Checkpoint {
        store: birth_store(conn, row.id)?,
        workspace: row.home.workspace.as_str().to_owned(),
        project: row.home.project.as_str().to_owned(),
        seq,
        hash: parsed_hash(hash)?,
    })
}

/// Whether the ledger of `row` still contains the entry that `checkpoint` pins.
pub fn contains(conn: &Connection, project: i64, checkpoint: &Checkpoint) -> Result<bool, Fail> {
    let hash: Option<String> = conn
        .prepare_cached("SELECT hash FROM ledger WHERE project_id = ?1 AND seq = ?2")?
        .query_row(params![project, signed(checkpoint.seq)], |row| row.get(0))
        .optional()?;
    Ok(hash == Some(checkpoint.hash.to_string()) && birth_store(conn, project)? == checkpoint.store)
}

/// A project's entries after position `after`, oldest first, at most `limit`.
pub fn after(conn: &Connection, project: i64, after: u64, limit: usize) -> Result<Vec<Entry>, Fail> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, agent, session, kind, subject, detail, digest, hash FROM ledger
         WHERE project_id = ?1 AND seq > ?2 ORDER BY seq LIMIT ?3",
    )?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![project, signed(after), limit], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The entries about one packet, or about a purge, oldest first.
pub fn about(conn: &Connection, project: i64, subject: &str) -> Result<Vec<Entry>, Fail> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, at, agent, session, kind, subject, detail, digest, hash
         FROM ledger INDEXED BY ledger_subject
         WHERE project_id = ?1 AND subject = ?2 AND kind NOT IN ('remembered', 'outcome', 'created') ORDER BY seq",
    )?;
    let rows = statement.query_map(params![project, subject], entry)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// An entry from its columns: seq, at, agent, session, kind, subject, detail, digest, hash.
pub fn entry(row: &Row) -> rusqlite::Result<Entry> {
    Ok(Entry {
        seq: number(row, 0)?,
        at: row.get(1)?,
        agent: row.get(2)?,
        session: row.get(3)?,
        kind: row.get(4)?,
        subject: row.get(5)?,
        detail: row.get(6)?,
        digest: row.get(7)?,
        hash: row.get(8)?,
    })
}

/// The names of every agent that ever did something in the project, found by skipping through the index.
pub fn agents(conn: &Connection, project: i64) -> Result<Vec<String>, Fail> {
    let mut statement = conn.prepare_cached(
        "WITH RECURSIVE known(agent) AS (
             SELECT min(agent) FROM ledger WHERE project_id = ?1
             UNION ALL
             SELECT (SELECT min(agent) FROM ledger WHERE project_id = ?1 AND agent > known.agent)
             FROM known WHERE known.agent IS NOT NULL)
         SELECT agent FROM known WHERE agent IS NOT NULL",
    )?;
    let rows = statement.query_map([project], |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The names under which an agent did something in the project: the same agent may have gone by its name in capitals.
pub fn spellings(conn: &Connection, project: i64, agent: &Agent) -> Result<Vec<String>, Fail> {
    let folded = agent.folded();
    let mut names = agents(conn, project)?;
    names.retain(|name| crate::domain::name::fold(name) == folded);
    Ok(names)
}

/// The same as a JSON array.
pub fn names_of(conn: &Connection, project: i64, agent: &Agent) -> Result<String, Fail> {
    Ok(serde_json::to_string(&spellings(conn, project, agent)?).unwrap_or_default())
}

/// The position of the last entry that was written before the instant `at`; 0 when there is none. Times never go back along a
/// ledger, so that it is found by halving.
pub fn before(conn: &Connection, project: i64, at: &str) -> Result<u64, Fail> {
    let (mut low, mut high) = (0, head(conn, project)?.map_or(0, |(seq, ..)| seq));
    let mut statement = conn.prepare_cached("SELECT at < ?3 FROM ledger WHERE project_id = ?1 AND seq = ?2")?;
    while low < high {
        let middle = low + (high - low).div_ceil(2);
        let earlier: Option<bool> = statement
            .query_row(params![project, signed(middle), at], |row| row.get(0))
            .optional()?;
        if earlier.unwrap_or(true) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    Ok(low)
}

/// The one way to write: a project's ledger, open at its end, inside a transaction.
pub struct Journal<'c> {
    /// The transaction's connection.
    pub conn: &'c Connection,
    /// The project.
    pub project: ProjectRow,
    /// The instant of this call by its own clock: by it is judged what is over. An entry of a clock that is ahead must not end
    /// what others wait for.
    pub asked: Time,
    /// The instant of what is written, never before the last entry's.
    pub now: Time,
    /// The same instant as it is stored.
    pub at: String,
    stamp: Stamp,
    seq: u64,
    hash: String,
}

impl<'c> Journal<'c> {
    /// Opens the project's ledger, making the project when this is its first entry.
    pub fn open(conn: &'c Connection, home: &Home, stamp: Stamp) -> Result<Self, Fail> {
        let at = stamp.at.to_string();
        if let Some(row) = project(conn, home)? {
            let (seq, last, hash) = head(conn, row.id)?
                .ok_or_else(|| Fail::Damaged(format!("the ledger of project {} is empty", home.project)))?;
            // A clock that went back does not take the ledger's order with it.
            let (now, at) = match Time::parse(&last) {
                Some(last_at) if last_at > stamp.at => (last_at, last),
                _ => (stamp.at, at),
            };
            return Ok(Self {
                conn,
                project: row,
                asked: stamp.at,
                now,
                at,
                stamp,
                seq,
                hash,
            });
        }
        conn.execute(
            "INSERT INTO project (workspace, name, created_at) VALUES (?1, ?2, ?3)",
            params![home.workspace.as_str(), home.project.as_str(), at],
        )?;
        let row = ProjectRow {
            id: conn.last_insert_rowid(),
            home: home.clone(),
        };
        let (workspace, name) = (home.workspace.as_str(), home.project.as_str());
        let created = NewEntry {
            kind: Kind::Created,
            subject: project_subject(workspace, name),
            detail: json!({ "store": store_id(conn)?, "workspace": workspace, "project": name }),
            digest: None,
        };
        let now = stamp.at;
        let mut journal = Self {
            conn,
            project: row,
            asked: now,
            now,
            at,
            stamp,
            seq: 0,
            hash: Hash::ZERO.to_string(),
        };
        journal.append(created)?;
        Ok(journal)
    }

    /// The position that the next entry will have.
    pub fn next_seq(&self) -> u64 {
        self.seq + 1
    }

    /// Appends one entry and tells its position.
    pub fn append(&mut self, new: NewEntry) -> Result<u64, Fail> {
        let detail = canonical(&new.detail);
        let digest = new.digest.unwrap_or_else(|| Hash::of(&[detail.as_bytes()])).to_string();
        let seq = self.next_seq();
        let body = EntryBody {
            seq,
            at: &self.at,
            agent: self.stamp.agent.as_str(),
            session: self.stamp.session.as_ref().map(|session| session.as_str()),
            kind: new.kind.as_str(),
            subject: &new.subject,
            detail: &new.detail,
            digest: &digest,
        };
        let hash = body.hash(&self.hash).to_string();
        rows::entry(self.conn, self.project.id, &body, &detail, &hash)?;
        self.seq = seq;
        self.hash = hash;
        Ok(seq)
    }

    /// The checkpoint of everything up to the last entry.
    pub fn checkpoint(&self) -> Result<Checkpoint, Fail> {
        checkpoint_at(self.conn, &self.project, self.seq, &self.hash)
    }
}

/// Keeps a text with a nonce of its own; gives the row's number and the salted hash.
pub fn keep(conn: &Connection, body: &str) -> Result<(i64, Hash), Fail> {
    let nonce: [u8; 16] = super::connection::random()?;
    conn.prepare_cached("INSERT INTO content (nonce, body) VALUES (?1, ?2)")?
        .execute(params![nonce, body])?;
    Ok((conn.last_insert_rowid(), Hash::of_text(&nonce, body)))
}

/// A stored hash.
pub fn parsed_hash(text: &str) -> Result<Hash, Fail> {
    Hash::parse(text).ok_or_else(|| Fail::Damaged("a stored hash is not 64 hex digits".to_owned()))
}

/// A count or position as SQLite keeps it.
pub fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A column that holds a count or position.
pub fn number(row: &Row, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column)
        .map(|number| u64::try_from(number).unwrap_or(0))
}
