//! Proving the file: every value, chain, row, entry and index against each other.
//!
//! Rows are walked in short reads of a few hundred each, every one of them a transaction that sees one moment, so that
//! writers go on beside it and nothing pins the write-ahead log for long. Two steps are single reads that take as long as
//! the file is large: SQLite's own check and that of the search index; neither makes a writer wait. Whatever belongs
//! together is written in one transaction, so that a moment never shows a row without its entry. Memory stays the same
//! however large the file is, but for one bit for each stored text.
//!
//! The search index, which is half of the work, is checked by a thread of its own, on a connection of its own, while the
//! rows are walked.

mod ledgers;
mod leftovers;
mod outcomes;
mod packets;
mod rows;
#[cfg(test)]
mod tests;
mod versions;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use self::rows::{Bits, Walk};
use super::{connection, search};
use crate::domain::fault::Report;
use crate::domain::ledger::Checkpoint;

/// How many rows one short read takes.
const CHUNK: usize = 256;

/// A check under way.
struct Check<'a> {
    conn: &'a Connection,
    report: Report,
    /// Which stored texts something refers to.
    texts: Bits,
    progress: &'a mut dyn FnMut(u64, u64),
    /// How far both threads are.
    steps: &'a AtomicU64,
    total: u64,
}

/// How often who waits is told of the search index once the rows are done.
const TOLD: Duration = Duration::from_millis(100);

/// What the check of the search index came to.
type Searched = rusqlite::Result<Option<search::Mismatch>>;

/// Proves the whole file, and that it extends each of the checkpoints. Faults are what is found; that something cannot be
/// read is one, too.
pub fn verify(
    conn: &Connection,
    checkpoints: &[Checkpoint],
    progress: &mut dyn FnMut(u64, u64),
) -> rusqlite::Result<Report> {
    let newest = |table: &str| -> i64 {
        let sql = format!("SELECT coalesce(max(rowid), 0) FROM {table}");
        conn.query_row(&sql, [], |row| row.get(0)).unwrap_or(0)
    };
    let size = |table: &str| u64::try_from(newest(table)).unwrap_or(0);
    // What is there now bounds the walk; what is written meanwhile is the next check's.
    let newest_text = newest("content");
    let entries: i64 = conn
        .query_row(
            "SELECT coalesce(sum(seq), 0) FROM (SELECT max(seq) AS seq FROM ledger GROUP BY project_id)",
            [],
            |row| row.get(0),
        )
        .unwrap_or(0);
    // Only told to whoever waits; a damaged file may hold any number.
    // A version is looked at three times: in its row, and twice in the search index.
    let total = ["version", "version", "version", "handoff", "outcome"]
        .into_iter()
        .fold(u64::try_from(entries).unwrap_or(0), |sum, table| {
            sum.saturating_add(size(table))
        });
    let steps = AtomicU64::new(0);
    let mut check = Check {
        conn,
        report: Report::default(),
        texts: Bits::up_to(newest_text),
        progress,
        steps: &steps,
        total,
    };
    let beside = connection::beside(conn)?;
    thread::scope(|threads| {
        let (done, searched) = mpsc::channel();
        let steps = &steps;
        threads.spawn(move || done.send(check_search(&beside, steps)));
        check.sqlite();
        ledgers::check(&mut check, checkpoints);
        versions::check(&mut check);
        packets::check(&mut check);
        outcomes::check(&mut check);
        leftovers::check(&mut check);
        check.search(&searched);
    });
    (check.progress)(check.total, check.total);
    Ok(check.report)
}

fn check_search(conn: &Connection, steps: &AtomicU64) -> Searched {
    let moment = conn.unchecked_transaction()?;
    search::check(&moment, || {
        steps.fetch_add(1, Ordering::Relaxed);
    })
}

impl<'a> Check<'a> {
    fn note(&mut self, kind: &str, place: impl Into<String>, what: impl Into<String>) {
        self.report.note(kind, place, what);
    }

    /// One more row was checked.
    fn count(&mut self) {
        self.report.checked += 1;
        self.steps.fetch_add(1, Ordering::Relaxed);
        if self.report.checked.is_multiple_of(CHUNK as u64) {
            self.tell();
        }
    }

    /// Tells whoever waits how far it is.
    fn tell(&mut self) {
        (self.progress)(self.steps.load(Ordering::Relaxed).min(self.total), self.total);
    }

    /// That a step could not be finished because SQLite could not read.
    fn unreadable(&mut self, place: &str, error: &rusqlite::Error) {
        tracing::debug!(%error, place, "could not be read");
        self.note("unreadable", place, "the database could not read these rows");
    }

    /// That a walk was given up because the rows do not ascend.
    fn astray(&mut self, place: &str) {
        self.note("unreadable", place, "the rows are not in their order");
    }

    fn sqlite(&mut self) {
        let first: rusqlite::Result<String> = self.conn.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0));
        match first {
            Ok(word) if word == "ok" => {}
            // Its words about the index's own tables mean nothing to anybody else.
            Ok(what) if what.contains("fts5") => {
                self.note("search", "the search index", "SQLite finds it damaged");
            }
            Ok(what) => self.note("sqlite", "the file", what),
            Err(error) => self.unreadable("the file", &error),
        }
    }

    /// Waits for what the check of the search index finds.
    fn search(&mut self, searched: &mpsc::Receiver<Searched>) {
        let found = loop {
            match searched.recv_timeout(TOLD) {
                Ok(found) => break found,
                Err(RecvTimeoutError::Timeout) => self.tell(),
                Err(RecvTimeoutError::Disconnected) => {
                    return self.note("unreadable", "the search index", "its check broke off");
                }
            }
        };
        match found {
            Ok(None) => {}
            Ok(Some(mismatch)) => {
                let place = self.version_place(mismatch.version_id);
                self.note("search", place, mismatch.what);
            }
            Err(error) => self.unreadable("the search index", &error),
        }
    }

    /// A version's row in words of the domain.
    fn version_place(&self, id: i64) -> String {
        self.conn
            .query_row("SELECT scope, key, version FROM version WHERE id = ?1", [id], |row| {
                Ok(format!(
                    "{}/{} version {}",
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, i64>(2)?
                ))
            })
            .unwrap_or_else(|_| format!("version row {id}"))
    }

    /// Walks a table by its row number in short reads.
    fn walk(&mut self, walk: &Walk, mut each: impl FnMut(&mut Check<'a>, &rows::Cells)) {
        let mut next = i64::MIN;
        loop {
            match walk.chunk(self, next, &mut each) {
                // In a damaged file rows may lead back to where the walk has been.
                Ok(Some(last)) if last < next => return self.astray(walk.name),
                // After the largest number that a row can have there is none to go on with.
                Ok(last) => match last.and_then(|last| last.checked_add(1)) {
                    Some(after) => next = after,
                    None => return,
                },
                Err(error) => return self.unreadable(walk.name, &error),
            }
        }
    }
}
