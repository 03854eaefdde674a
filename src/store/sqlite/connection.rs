//! Opening the file: modes, pragmas, the schema, and a look at what the file is.

use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::super::{Durability, StoreError};
use super::fail::told;
use super::opened::Opened;
use super::place;
use super::schema::{self, Nature};

/// How long a writer waits for another process's transaction.
pub const BUSY: Duration = Duration::from_secs(10);

/// Opens the file for writing, making it and its tables where they are missing.
///
/// # Errors
/// When the place cannot be written or the file is not ours.
pub fn writer(path: &Path, durability: Durability) -> Result<Opened, StoreError> {
    place::local(path)?;
    let made = place::create(path)?;
    let mut conn = open(path)?;
    let nature = schema::nature(&conn).map_err(|error| told(&error, path))?;
    check(nature, path)?;
    if nature == Nature::Empty {
        // Before the tables, so that whoever finds them need not ask: nothing is acknowledged on a file that a power cut
        // takes away as a whole.
        place::settle(path)?;
    }
    wal(&conn, path)?;
    let synchronous = match durability {
        Durability::Full => "FULL",
        Durability::Normal => "NORMAL",
    };
    let setup = |conn: &Connection| -> rusqlite::Result<()> {
        conn.pragma_update(None, "synchronous", synchronous)?;
        conn.pragma_update(None, "journal_size_limit", 4 * 1024 * 1024)?;
        if cfg!(target_os = "macos") {
            conn.pragma_update(None, "fullfsync", true)?;
            conn.pragma_update(None, "checkpoint_fullfsync", true)?;
        }
        Ok(())
    };
    setup(&conn).map_err(|error| told(&error, path))?;
    let tables = tables(&mut conn, path)?;
    Opened::new(conn, path, made || tables)
}

/// Opens the file for reading; none when it is missing or holds nothing yet.
///
/// # Errors
/// When the file cannot be read or is not ours.
pub fn reader(path: &Path) -> Result<Option<Opened>, StoreError> {
    match std::fs::metadata(path) {
        Ok(meta) if meta.len() == 0 => return Ok(None),
        Ok(_) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(StoreError::Io {
                path: path.to_owned(),
                what: place::plain(&error),
            });
        }
    }
    place::local(path)?;
    let conn = open(path)?;
    let nature = schema::nature(&conn).map_err(|error| told(&error, path))?;
    check(nature, path)?;
    if nature == Nature::Empty {
        return Ok(None);
    }
    conn.pragma_update(None, "query_only", true)
        .map_err(|error| told(&error, path))?;
    Opened::new(conn, path, false).map(Some)
}

/// One more connection to the file that `conn` reads, for reading.
///
/// # Errors
/// When the file cannot be opened once more.
pub fn beside(conn: &Connection) -> rusqlite::Result<Connection> {
    let path = conn.path().unwrap_or_default();
    // A copy that is proved may not be written, even by SQLite.
    let flags = match conn.is_readonly("main")? {
        true => OpenFlags::SQLITE_OPEN_READ_ONLY,
        false => OpenFlags::SQLITE_OPEN_READ_WRITE,
    };
    let beside = connected(Path::new(path), flags)?;
    beside.pragma_update(None, "query_only", true)?;
    Ok(beside)
}

/// An empty store in memory, which answers for a file that is not there.
///
/// # Errors
/// When memory runs out.
pub fn nothing() -> rusqlite::Result<Connection> {
    let conn = Connection::open_in_memory()?;
    schema::create(&conn, "")?;
    super::functions::add(&conn)?;
    Ok(conn)
}

/// Refuses what is not ours or newer than we are. Asked again in each transaction: another process may have brought
/// the file up to date since.
///
/// # Errors
/// When the file is not one that this binary may touch.
pub fn check(nature: Nature, path: &Path) -> Result<(), StoreError> {
    match nature {
        Nature::Ours(found) if found > schema::VERSION => Err(StoreError::NewerSchema {
            path: path.to_owned(),
            found,
            known: schema::VERSION,
        }),
        Nature::Ours(_) | Nature::Empty => Ok(()),
        Nature::Foreign => Err(StoreError::Corrupt {
            path: path.to_owned(),
            what: "it is a database of another program".to_owned(),
        }),
    }
}

/// Makes sure, inside a transaction, that the file is still one that this binary may touch.
///
/// # Errors
/// When another process has brought it to a newer schema since it was opened.
pub fn recheck(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    if schema::is_current(conn).map_err(|error| told(&error, path))? {
        return Ok(());
    }
    check(schema::nature(conn).map_err(|error| told(&error, path))?, path)
}

fn open(path: &Path) -> Result<Connection, StoreError> {
    // SQLite is given no leave to create: only `place::create` does, with the right mode.
    connected(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(|error| match std::fs::metadata(path) {
        Ok(_) => told(&error, path),
        Err(io) => StoreError::Io {
            path: path.to_owned(),
            what: place::plain(&io),
        },
    })
}

/// Switches to write-ahead logging and makes sure that it took. The switch answers "busy" at once, whatever the
/// timeout says, while another process makes it: so it is tried again for as long as a writer would wait.
fn wal(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let started = Instant::now();
    loop {
        match conn.query_row("PRAGMA journal_mode = WAL", [], |row| row.get::<_, String>(0)) {
            Ok(mode) if mode.eq_ignore_ascii_case("wal") => return Ok(()),
            Ok(mode) => {
                return Err(StoreError::Io {
                    path: path.to_owned(),
                    what: format!(
                        "its file system gave the journal mode {mode} where write-ahead logging is needed; keep the \
                         database on a local disk"
                    ),
                });
            }
            Err(error) => {
                let busy = matches!(
                    error.sqlite_error_code(),
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
                );
                if !busy || started.elapsed() > BUSY {
                    return Err(told(&error, path));
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }
}

fn connected(path: &Path, flags: OpenFlags) -> rusqlite::Result<Connection> {
    let conn = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    conn.busy_timeout(BUSY)?;
    conn.set_prepared_statement_cache_capacity(96);
    // Otherwise SQLite looks at what is bound while it plans, and plans a kept statement anew at each call.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    super::functions::add(&conn)?;
    Ok(conn)
}

/// Makes the tables, or brings them up to date, unless another process was faster; the schema is read inside the transaction
/// that changes it.
fn tables(conn: &mut Connection, path: &Path) -> Result<bool, StoreError> {
    let work = |conn: &mut Connection| -> rusqlite::Result<(Nature, bool)> {
        let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let nature = schema::nature(&tx)?;
        if let Nature::Ours(older @ ..schema::VERSION) = nature {
            schema::migrate(&tx, older)?;
            tx.commit()?;
            return Ok((Nature::Ours(schema::VERSION), false));
        }
        if nature != Nature::Empty {
            return Ok((nature, false));
        }
        let id: [u8; 16] = random().map_err(|_| rusqlite::Error::InvalidQuery)?;
        schema::create(&tx, &id.iter().map(|byte| format!("{byte:02x}")).collect::<String>())?;
        tx.commit()?;
        Ok((Nature::Ours(schema::VERSION), true))
    };
    let (nature, made) = work(conn).map_err(|error| told(&error, path))?;
    check(nature, path)?;
    Ok(made)
}

/// Random bytes from the system.
///
/// # Errors
/// When the system has none.
pub fn random<const N: usize>() -> Result<[u8; N], getrandom::Error> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}
