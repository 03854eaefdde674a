//! The thread that writes, and the connections that read.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use tokio::sync::oneshot;

use super::super::{Durability, StoreError};
use super::connection::{self, Opened};
use super::fail::{Fail, told};

/// How long the writer rests before it empties the write-ahead log.
const IDLE: Duration = Duration::from_secs(2);

/// How many reading connections are kept open.
const READERS: usize = 4;

type Job = Box<dyn FnOnce(&mut Writer) + Send>;

/// What the handle of a store shares with its thread.
pub struct Worker {
    shared: Arc<Shared>,
    jobs: Mutex<Option<Thread>>,
}

struct Shared {
    path: PathBuf,
    durability: Durability,
    /// Whether it is nobody's to know that the file was made: it is gone again soon.
    aside: bool,
    created: AtomicBool,
    opened: AtomicBool,
    /// Reading connections that rest.
    readers: Mutex<Vec<Opened>>,
}

struct Thread {
    jobs: mpsc::Sender<Job>,
    handle: std::thread::JoinHandle<()>,
}

/// The state of the writing thread.
struct Writer {
    shared: Arc<Shared>,
    opened: Option<Opened>,
}

impl Worker {
    pub fn new(path: PathBuf, durability: Durability, aside: bool) -> Self {
        let shared = Shared {
            path,
            durability,
            aside,
            created: AtomicBool::new(false),
            opened: AtomicBool::new(false),
            readers: Mutex::new(Vec::new()),
        };
        Self {
            shared: Arc::new(shared),
            jobs: Mutex::new(None),
        }
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    pub fn created(&self) -> bool {
        self.shared.created.load(Ordering::Relaxed)
    }

    pub fn is_open(&self) -> bool {
        self.shared.opened.load(Ordering::Relaxed)
    }

    /// Runs `work` in one durable transaction: all of it or nothing. Calls are run in the order in which they come.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Transaction) -> Result<T, Fail> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |writer| {
            let path = writer.shared.path.clone();
            // A panic in one call is that call's error; dropping the transaction has rolled it back.
            let result = catch_unwind(AssertUnwindSafe(|| writer.transact(work))).unwrap_or_else(|_| {
                Err(StoreError::Internal(
                    "a write ended in a panic; nothing was kept".to_owned(),
                ))
            });
            if result.as_ref().is_err_and(may_heal) {
                writer.opened = None;
                writer.shared.rested().clear();
            }
            tracing::trace!(path = %path.display(), ok = result.is_ok(), "wrote");
            // The caller may have gone; what was committed stays.
            let _ = reply.send(result);
        });
        self.sender()?.send(job).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Runs `work` in its turn on the writing connection, outside a transaction: for what SQLite does by itself.
    pub async fn alone<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fail> + Send + 'static,
    {
        // A transaction that does nothing opens the file and makes sure that it may be written.
        self.write(|_| Ok(())).await?;
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move |writer| {
            let path = writer.shared.path.clone();
            let result = match &writer.opened {
                Some(opened) => work(&opened.conn).map_err(|fail| fail.told(&path)),
                None => Err(StoreError::Replaced { path }),
            };
            let _ = reply.send(result);
        });
        self.sender()?.send(job).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Runs `work` on one consistent moment of the file, beside any writer.
    pub async fn read<T, F>(self: &Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fail> + Send + 'static,
    {
        let worker = Arc::clone(self);
        tokio::task::spawn_blocking(move || worker.reading(work))
            .await
            .unwrap_or_else(|_| Err(StoreError::Internal("a read ended in a panic".to_owned())))
    }

    /// Runs `work`, which makes its own short reads, on a connection of its own that is not inside a transaction.
    /// A file that is missing or empty is an error here.
    pub async fn survey<T, F>(self: &Arc<Self>, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fail> + Send + 'static,
    {
        let worker = Arc::clone(self);
        let run = move || {
            let path = &worker.shared.path;
            let opened = connection::reader(path)?.ok_or_else(|| StoreError::Missing { path: path.clone() })?;
            work(&opened.conn).map_err(|fail| fail.told(path))
        };
        tokio::task::spawn_blocking(run)
            .await
            .unwrap_or_else(|_| Err(StoreError::Internal("a read ended in a panic".to_owned())))
    }

    fn reading<T>(&self, work: impl FnOnce(&Connection) -> Result<T, Fail>) -> Result<T, StoreError> {
        let path = &self.shared.path;
        let pooled = self.shared.rested().pop();
        let opened = match pooled.filter(|opened| opened.still_there(path)) {
            Some(opened) => Some(opened),
            None => connection::reader(path)?,
        };
        let Some(opened) = opened else {
            let nothing = connection::nothing().map_err(|error| told(&error, path))?;
            return work(&nothing).map_err(|fail| fail.told(path));
        };
        self.shared.opened.store(true, Ordering::Relaxed);
        let moment = opened
            .conn
            .unchecked_transaction()
            .map_err(|error| told(&error, path))?;
        let result = connection::recheck(&moment, path).and_then(|()| work(&moment).map_err(|fail| fail.told(path)));
        drop(moment);
        let mut readers = self.shared.rested();
        if result.as_ref().is_err_and(may_heal) {
            readers.clear();
        } else if readers.len() < READERS {
            readers.push(opened);
        }
        result
    }

    fn sender(&self) -> Result<mpsc::Sender<Job>, StoreError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = jobs.as_ref() {
            return Ok(thread.jobs.clone());
        }
        let (sender, receiver) = mpsc::channel();
        let writer = Writer {
            shared: Arc::clone(&self.shared),
            opened: None,
        };
        let handle = std::thread::Builder::new()
            .name("store-writer".to_owned())
            .spawn(move || writer.run(&receiver))
            .map_err(|_| StoreError::Internal("the system gave no thread to write with".to_owned()))?;
        *jobs = Some(Thread {
            jobs: sender.clone(),
            handle,
        });
        Ok(sender)
    }

    /// Ends the thread after the jobs that are in its queue, and closes every connection.
    pub async fn close(&self) {
        let thread = self.jobs.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.shared.rested().clear();
        if let Some(thread) = thread {
            drop(thread.jobs);
            let _ = tokio::task::spawn_blocking(move || thread.handle.join()).await;
        }
        self.shared.opened.store(false, Ordering::Relaxed);
    }
}

impl Shared {
    fn rested(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a failure lies in how the file was opened: what is open is closed then, since SQLite keeps what it found (a
/// shared memory that could only be read) for as long as any connection of this process lives.
fn may_heal(error: &StoreError) -> bool {
    matches!(
        error,
        StoreError::Corrupt { .. } | StoreError::Io { .. } | StoreError::Replaced { .. } | StoreError::ReadOnly { .. }
    )
}

fn stopped() -> StoreError {
    StoreError::Internal("the store was closed while it was asked to write".to_owned())
}

impl Writer {
    fn run(mut self, jobs: &mpsc::Receiver<Job>) {
        let mut rested = true;
        loop {
            // Once the log was emptied there is nothing to wake up for.
            let next = if rested {
                jobs.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                jobs.recv_timeout(IDLE)
            };
            match next {
                Ok(job) => {
                    job(&mut self);
                    rested = false;
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.empty_log();
                    rested = true;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn transact<T>(&mut self, work: impl FnOnce(&Transaction) -> Result<T, Fail>) -> Result<T, StoreError> {
        let shared = Arc::clone(&self.shared);
        let path = &shared.path;
        if self.opened.as_ref().is_some_and(|opened| !opened.still_there(path)) {
            self.opened = None;
            return Err(StoreError::Replaced { path: path.clone() });
        }
        let opened = match &mut self.opened {
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
                self.opened.insert(opened)
            }
        };
        let tx = opened
            .conn
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(|error| told(&error, path))?;
        connection::recheck(&tx, path)?;
        let value = work(&tx).map_err(|fail| fail.told(path))?;
        tx.commit().map_err(|error| told(&error, path))?;
        // The file may have gone between the look and the commit: then nobody will find what was written.
        if opened.still_there(path) {
            Ok(value)
        } else {
            Err(StoreError::Replaced { path: path.clone() })
        }
    }

    /// Moves what the log holds into the file and cuts it, unless somebody reads or writes just now.
    fn empty_log(&self) {
        if let Some(opened) = &self.opened {
            let conn = &opened.conn;
            let _ = conn.busy_timeout(Duration::ZERO);
            let _ = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let _ = conn.busy_timeout(connection::BUSY);
        }
    }
}
