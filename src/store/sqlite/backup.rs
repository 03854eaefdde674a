//! A copy of the file as it is at one moment, and the proof of such a copy.

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::super::StoreError;
use super::fail::{Fail, told};
use super::{functions, schema, verify};
use crate::domain::fault::Report;

/// Copies everything into the empty file at `to`, in one read that neither waits for a writer nor makes one wait. What was
/// purged, and free pages, are not copied.
pub fn copy(conn: &Connection, to: &Path) -> Result<(), Fail> {
    let name = to
        .to_str()
        .ok_or_else(|| Fail::Internal("the backup's path is not Unicode".to_owned()))?;
    // The copy is a write in SQLite's eyes, of another file.
    conn.pragma_update(None, "query_only", false)?;
    conn.execute("VACUUM INTO ?1", [name])?;
    Ok(())
}

/// Proves a copy, wherever it lies: nobody else has it open.
///
/// # Errors
/// When it cannot be read.
pub fn check(path: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<Report, StoreError> {
    let mut check = || -> rusqlite::Result<Report> {
        let conn =
            Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        functions::add(&conn)?;
        if !schema::is_current(&conn)? {
            let mut report = Report::default();
            report.note("schema", "the file", "it has not the schema of the store");
            return Ok(report);
        }
        verify::verify(&conn, &[], progress)
    };
    check().map_err(|error| told(&error, path))
}
