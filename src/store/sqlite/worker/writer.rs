//! The thread that writes: one transaction after the other, each for as many callers as wait.

use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::{Transaction, TransactionBehavior};

use super::Shared;
use super::piece::{Piece, together};
use crate::store::StoreError;
use crate::store::sqlite::connection;
use crate::store::sqlite::fail::told;
use crate::store::sqlite::opened::Opened;

/// How long the writer rests before it empties the write-ahead log.
const IDLE: Duration = Duration::from_secs(2);

/// How many writes may share a transaction.
const TOGETHER: usize = 256;

/// How long a transaction goes on to take in writes that wait, so that the first of them and other processes need not wait
/// for long.
const LONG: Duration = Duration::from_millis(50);

/// What the writing thread is asked for.
pub enum Job {
    /// A write, which may share its transaction.
    Write(Box<dyn Piece>),
    /// Something that SQLite does by itself.
    Alone(Box<dyn FnOnce(&mut Writer) + Send>),
}

/// A transaction that was committed.
#[derive(Debug, Clone, Copy)]
pub struct Commit {
    /// How many callers' writes it held.
    pub writes: usize,
    /// How long it took, waiting for the lock and the disk included.
    pub took: Duration,
}

/// The state of the writing thread.
pub struct Writer {
    pub shared: Arc<Shared>,
    pub opened: Option<Opened>,
    /// Whether files were let go of, and no write has said so yet.
    lost: bool,
}

/// Whether a failure lies in how the file was opened: what is open is closed then, since SQLite keeps what it found (a
/// shared memory that could only be read) for as long as any connection of this process lives.
pub fn may_heal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt { .. } | StoreError::Io { .. } | StoreError::Replaced { .. } | StoreError::ReadOnly { .. }
    )
}

impl Writer {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self {
            shared,
            opened: None,
            lost: false,
        }
    }

    pub fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        let mut rested = true;
        let mut waiting = VecDeque::new();
        loop {
            // Once the log was emptied there is nothing to wake up for.
            let next = match waiting.pop_front() {
                Some(job) => Ok(job),
                None if rested => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
                None => jobs.recv_timeout(IDLE),
            };
            match next {
                Ok(Job::Write(piece)) => {
                    waiting.extend(jobs.try_iter());
                    self.serve(piece, &mut waiting);
                    rested = false;
                }
                Ok(Job::Alone(job)) => {
                    job(&mut self);
                    rested = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.empty_log();
                    rested = true;
                }
                Err(RecvTimeoutError::Disconnected) => return self.close(),
            }
        }
    }

    /// Commits a write together with those that wait behind it, and answers each.
    fn serve(&mut self, first: Box<dyn Piece>, waiting: &mut VecDeque<Job>) {
        let mut pieces = vec![first];
        while pieces.len() < TOGETHER
            && let Some(job) = waiting.pop_front_if(|job| matches!(job, Job::Write(_)))
        {
            if let Job::Write(piece) = job {
                pieces.push(piece);
            }
        }
        while !pieces.is_empty() {
            let shared = Arc::clone(&self.shared);
            let done = self.transact(&mut pieces, |tx, pieces| {
                if let [one] = pieces {
                    return Ok(one.run(tx, &shared.path).map(|()| 1));
                }
                let started = Instant::now();
                let mut done = 0;
                while done < pieces.len() && (done == 0 || started.elapsed() < LONG) {
                    let next = (done + 8).min(pieces.len());
                    if !together(tx, &mut pieces[done..next], &shared.path)? {
                        return Ok(Ok(0));
                    }
                    done = next;
                }
                Ok(Ok(done))
            });
            match done {
                // The whole transaction was lost for the sake of one piece: so each gets one of its own.
                Ok(0) => {
                    for mut piece in pieces.drain(..) {
                        let mut alone = [piece];
                        let done =
                            self.transact(&mut alone, |tx, pieces| Ok(pieces[0].run(tx, &shared.path).map(|()| 1)));
                        [piece] = alone;
                        piece.answer(done.map(drop));
                    }
                }
                Ok(done) => pieces.drain(..done).for_each(|piece| piece.answer(Ok(()))),
                Err(error) => pieces.drain(..).for_each(|piece| piece.answer(Err(error.clone()))),
            }
        }
    }

    /// Runs `work` in a transaction and commits it, if it went well; gives how many pieces it holds then.
    fn transact(
        &mut self,
        pieces: &mut [Box<dyn Piece>],
        work: impl FnOnce(&Transaction, &mut [Box<dyn Piece>]) -> rusqlite::Result<Result<usize, StoreError>>,
    ) -> Result<usize, StoreError> {
        let started = Instant::now();
        let done = self.commit(pieces, work);
        if done.as_ref().is_err_and(may_heal) {
            self.close();
            self.shared.rested().clear();
        }
        tracing::trace!(path = %self.shared.path.display(), ok = done.is_ok(), "wrote");
        if let (Ok(writes @ 1..), Some(watch)) = (&done, self.shared.watch.get()) {
            watch(Commit {
                writes: *writes,
                took: started.elapsed(),
            });
        }
        done
    }

    fn commit(
        &mut self,
        pieces: &mut [Box<dyn Piece>],
        work: impl FnOnce(&Transaction, &mut [Box<dyn Piece>]) -> rusqlite::Result<Result<usize, StoreError>>,
    ) -> Result<usize, StoreError> {
        let shared = Arc::clone(&self.shared);
        let path = &shared.path;
        let opened = self.open()?;
        let tx = opened
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| told(&error, path))?;
        connection::recheck(&tx, path)?;
        let done = work(&tx, pieces).map_err(|error| told(&error, path))??;
        if done == 0 {
            return Ok(0);
        }
        tx.commit().map_err(|error| told(&error, path))?;
        // The file may have gone between the look and the commit: then nobody will find what was written.
        if opened.still_there() {
            Ok(done)
        } else {
            Err(StoreError::Replaced { path: path.clone() })
        }
    }

    /// The connection that writes, on the file that is there now.
    fn open(&mut self) -> Result<&mut Opened, StoreError> {
        self.let_go();
        let shared = &self.shared;
        let path = &shared.path;
        if std::mem::take(&mut self.lost) {
            return Err(StoreError::Replaced { path: path.clone() });
        }
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => {
                // A connection that could only read keeps the whole process from writing, as they share what they know
                // of the log; so none of them outlives an opening.
                shared.rested().clear();
                let opened = connection::writer(path, shared.durability)?;
                if opened.created {
                    if !shared.aside {
                        tracing::warn!(path = %path.display(), "created a new database");
                    }
                    shared.created.store(true, Ordering::Relaxed);
                }
                shared.opened.store(true, Ordering::Relaxed);
                opened
            }
        };
        self.writes_on(Some(&opened));
        Ok(self.opened.insert(opened))
    }

    /// Closes the file if it is no longer the one that is there; the next write says so.
    pub fn let_go(&mut self) {
        if self.opened.as_ref().is_some_and(|opened| !opened.still_there()) {
            self.close();
            self.lost = true;
        }
    }

    fn close(&mut self) {
        self.opened = None;
        self.writes_on(None);
    }

    fn writes_on(&self, opened: Option<&Opened>) {
        let mut on = self.shared.writes_on.lock().unwrap_or_else(PoisonError::into_inner);
        *on = opened.map(Opened::files);
    }

    /// Moves what the log holds into the file and cuts it, unless somebody reads or writes just now.
    fn empty_log(&self) {
        if let Some(opened) = self.opened.as_ref().filter(|opened| opened.still_there()) {
            let conn = &opened.conn;
            let _ = conn.busy_timeout(Duration::ZERO);
            let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = conn.busy_timeout(connection::BUSY);
        }
    }
}
