//! The tables, their triggers, and how an older file is brought up to date.

use rusqlite::Connection;

/// The schema that this binary writes, kept in `PRAGMA user_version`.
pub const VERSION: i64 = 2;

/// Marks our files (`hmem` in ASCII), kept in `PRAGMA application_id`.
pub const APPLICATION_ID: i64 = 0x686d_656d;

const TABLES: &str = "
CREATE TABLE meta (
    store_id TEXT NOT NULL
);
CREATE TABLE project (
    id         INTEGER PRIMARY KEY,
    workspace  TEXT NOT NULL,
    name       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (workspace, name)
);
CREATE TABLE content (
    id    INTEGER PRIMARY KEY,
    nonce BLOB NOT NULL,
    body  TEXT NOT NULL
);
CREATE TABLE version (
    id              INTEGER PRIMARY KEY,
    project_id      INTEGER NOT NULL,
    seq             INTEGER NOT NULL,
    scope           TEXT NOT NULL,
    key             TEXT NOT NULL,
    version         INTEGER NOT NULL,
    content_id      INTEGER NOT NULL,
    value_hash      TEXT NOT NULL,
    tags            TEXT NOT NULL,
    meta            TEXT,
    author          TEXT NOT NULL,
    session         TEXT,
    base_confidence REAL NOT NULL,
    created_at      TEXT NOT NULL,
    private_to      TEXT,
    prev_hash       TEXT NOT NULL,
    hash            TEXT NOT NULL,
    UNIQUE (project_id, scope, key, version)
);
CREATE TABLE head (
    project_id INTEGER NOT NULL,
    scope      TEXT NOT NULL,
    key        TEXT NOT NULL,
    version_id INTEGER NOT NULL,
    PRIMARY KEY (project_id, scope, key)
) WITHOUT ROWID;
CREATE TABLE opinion (
    version_id INTEGER PRIMARY KEY,
    confidence REAL NOT NULL,
    successes  INTEGER NOT NULL,
    failures   INTEGER NOT NULL
);
CREATE TABLE handoff (
    id               TEXT PRIMARY KEY,
    project_id       INTEGER NOT NULL,
    seq              INTEGER NOT NULL,
    last_seq         INTEGER NOT NULL,
    from_agent       TEXT NOT NULL,
    from_session     TEXT,
    to_agent         TEXT,
    owner            TEXT,
    cwd              TEXT,
    origin           TEXT NOT NULL,
    content_id       INTEGER NOT NULL,
    texts_hash       TEXT NOT NULL,
    git              TEXT,
    checkpoint       TEXT NOT NULL,
    created_at       TEXT NOT NULL,
    expires_at       TEXT,
    state            TEXT NOT NULL,
    ended_as         TEXT,
    supersedes       TEXT,
    superseded_by    TEXT,
    continues        TEXT,
    accepted_by      TEXT,
    accepted_session TEXT,
    accepted_owner   TEXT,
    accepted_at      TEXT,
    receiving_cwd    TEXT,
    closed_at        TEXT,
    outcome_ref      TEXT,
    UNIQUE (project_id, seq)
);
CREATE INDEX handoff_state ON handoff (project_id, state, seq);
CREATE INDEX handoff_change ON handoff (project_id, last_seq);
CREATE INDEX handoff_due ON handoff (project_id, expires_at) WHERE state = 'open' AND expires_at IS NOT NULL;
CREATE INDEX handoff_author ON handoff (project_id, from_agent) WHERE state = 'open';
CREATE INDEX handoff_session ON handoff (project_id, accepted_session, seq) WHERE accepted_session IS NOT NULL;
CREATE TABLE handoff_ref (
    handoff_id TEXT NOT NULL,
    position   INTEGER NOT NULL,
    version_id INTEGER NOT NULL,
    PRIMARY KEY (handoff_id, position)
) WITHOUT ROWID;
CREATE TABLE handoff_note (
    handoff_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    content_id INTEGER NOT NULL,
    PRIMARY KEY (handoff_id, seq)
) WITHOUT ROWID;
CREATE TABLE outcome (
    id                TEXT PRIMARY KEY,
    project_id        INTEGER NOT NULL,
    seq               INTEGER NOT NULL,
    outcome_ref       TEXT NOT NULL,
    version_id        INTEGER NOT NULL,
    handoff_id        TEXT,
    outcome           TEXT NOT NULL,
    content_id        INTEGER,
    note_hash         TEXT,
    author            TEXT NOT NULL,
    session           TEXT,
    created_at        TEXT NOT NULL,
    confidence_before REAL NOT NULL,
    confidence_after  REAL NOT NULL,
    UNIQUE (project_id, outcome_ref, version_id)
);
CREATE INDEX outcome_version ON outcome (version_id, seq);
CREATE TABLE ledger (
    project_id INTEGER NOT NULL,
    seq        INTEGER NOT NULL,
    at         TEXT NOT NULL,
    agent      TEXT NOT NULL,
    session    TEXT,
    kind       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    detail     TEXT NOT NULL,
    digest     TEXT NOT NULL,
    hash       TEXT NOT NULL,
    PRIMARY KEY (project_id, seq)
) WITHOUT ROWID;
CREATE INDEX ledger_agent ON ledger (project_id, agent, session, seq);
CREATE INDEX ledger_subject ON ledger (project_id, subject, seq)
    WHERE kind NOT IN ('remembered', 'outcome', 'created');
";

/// What version 2 added: the tokens of those who come in over HTTP, and a way to the reports on packets.
const SECOND: &str = "
CREATE INDEX outcome_packet ON outcome (project_id, seq) WHERE handoff_id IS NOT NULL;
CREATE TABLE token (
    id         TEXT PRIMARY KEY,
    hash       TEXT NOT NULL,
    role       TEXT NOT NULL,
    owner      TEXT,
    agent      TEXT,
    created_at TEXT NOT NULL,
    expires_at TEXT,
    revoked_at TEXT
) WITHOUT ROWID;
";

/// Refuses every change of what was written, but that a purge empties a stored text: its row stays, so that its number is
/// never given to another one. An INSERT on an existing key is refused too: with `OR REPLACE` it would
/// delete the old row without firing a DELETE trigger. A `NEW.id` that SQLite has yet to choose reads as -1.
const TRIGGERS: &str = "
CREATE TRIGGER version_insert BEFORE INSERT ON version
    WHEN EXISTS (SELECT 1 FROM version WHERE id = NEW.id)
      OR EXISTS (SELECT 1 FROM version WHERE project_id = NEW.project_id AND scope = NEW.scope AND key = NEW.key
                                         AND version = NEW.version)
    BEGIN SELECT RAISE(ABORT, 'a version is never replaced'); END;
CREATE TRIGGER version_update BEFORE UPDATE ON version
    BEGIN SELECT RAISE(ABORT, 'a version is never changed'); END;
CREATE TRIGGER version_delete BEFORE DELETE ON version
    BEGIN SELECT RAISE(ABORT, 'a version is never removed'); END;
CREATE TRIGGER ledger_insert BEFORE INSERT ON ledger
    WHEN EXISTS (SELECT 1 FROM ledger WHERE project_id = NEW.project_id AND seq = NEW.seq)
    BEGIN SELECT RAISE(ABORT, 'a ledger entry is never replaced'); END;
CREATE TRIGGER ledger_update BEFORE UPDATE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a ledger entry is never changed'); END;
CREATE TRIGGER ledger_delete BEFORE DELETE ON ledger
    BEGIN SELECT RAISE(ABORT, 'a ledger entry is never removed'); END;
CREATE TRIGGER content_insert BEFORE INSERT ON content
    WHEN EXISTS (SELECT 1 FROM content WHERE id = NEW.id)
    BEGIN SELECT RAISE(ABORT, 'a stored text is never replaced'); END;
CREATE TRIGGER content_update BEFORE UPDATE ON content
    WHEN NEW.id <> OLD.id OR length(NEW.nonce) <> 0 OR NEW.body <> ''
    BEGIN SELECT RAISE(ABORT, 'a stored text is never changed, only emptied'); END;
CREATE TRIGGER content_delete BEFORE DELETE ON content
    BEGIN SELECT RAISE(ABORT, 'a stored text is never removed, only emptied'); END;
";

/// Makes the tables of an empty database, inside the caller's transaction.
///
/// # Errors
/// When SQLite refuses.
pub fn create(conn: &Connection, store_id: &str) -> rusqlite::Result<()> {
    conn.execute_batch(TABLES)?;
    conn.execute_batch(SECOND)?;
    conn.execute_batch(super::search::CREATE)?;
    conn.execute_batch(TRIGGERS)?;
    conn.execute("INSERT INTO meta (store_id) VALUES (?1)", [store_id])?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    conn.pragma_update(None, "user_version", VERSION)
}

/// Brings the tables of an older file up to date, inside the caller's transaction, in which its version was read.
///
/// # Errors
/// When SQLite refuses.
pub fn migrate(conn: &Connection, from: i64) -> rusqlite::Result<()> {
    if from < 2 {
        conn.execute_batch(SECOND)?;
    }
    conn.pragma_update(None, "user_version", VERSION)
}

/// What a database file is to us, read in one go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nature {
    /// Nothing in it yet.
    Empty,
    /// Ours, of this schema.
    Ours(i64),
    /// A database of something else.
    Foreign,
}

/// Whether the schema is the one that this binary writes: all that most transactions need to know.
///
/// # Errors
/// When the file cannot be read.
pub fn is_current(conn: &Connection) -> rusqlite::Result<bool> {
    let version: i64 = conn
        .prepare_cached("PRAGMA user_version")?
        .query_row([], |row| row.get(0))?;
    Ok(version == VERSION)
}

/// Looks at what the file is.
///
/// # Errors
/// When it is no database, or cannot be read.
pub fn nature(conn: &Connection) -> rusqlite::Result<Nature> {
    // The tables are counted first. Without a transaction these are three moments, and another process may be making the
    // tables between them: once there are some, their numbers are there, too.
    let tables: i64 = conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    let version: i64 = conn.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    let application: i64 = conn.query_row("PRAGMA application_id", [], |row| row.get(0))?;
    Ok(match (tables, version) {
        (0, _) => Nature::Empty,
        // A file whose schema is newer than ours may have changed anything but its number.
        (_, 1..) if application == APPLICATION_ID => Nature::Ours(version),
        _ => Nature::Foreign,
    })
}
