//! The thread that writes, and the connections that read.

mod piece;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Transaction};
use tokio::sync::{Semaphore, oneshot};

use self::piece::Work;
pub use self::writer::Commit;
use self::writer::{Job, Writer, may_heal};
use super::super::{Durability, StoreError};
use super::connection;
use super::fail::{Fail, told};
use super::opened::Opened;
use super::place::{self, Files};

/// How many reads run at once, each on a connection of its own that is kept open. More would wait for the processor anyway.
const READERS: usize = 8;

/// What the handle of a store shares with its thread.
pub struct Worker {
    shared: Arc<Shared>,
    jobs: Mutex<Option<Thread>>,
}

pub struct Shared {
    path: PathBuf,
    durability: Durability,
    /// Whether it is nobody's to know that the file was made: it is gone again soon.
    aside: bool,
    created: AtomicBool,
    opened: AtomicBool,
    /// Reading connections that rest.
    readers: Mutex<Vec<Opened>>,
    /// The files that the writing connection has open.
    writes_on: Mutex<Option<Files>>,
    /// How many more reads may run at once.
    reading: Semaphore,
    /// Who wants to know of commits.
    watch: OnceLock<Box<dyn Fn(Commit) + Send + Sync>>,
}

struct Thread {
    jobs: mpsc::Sender<Job>,
    handle: std::thread::JoinHandle<()>,
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
            writes_on: Mutex::new(None),
            reading: Semaphore::new(READERS),
            watch: OnceLock::new(),
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

    /// Runs `work` in one durable transaction: all of it or nothing. Calls are run in the order in which they come; those
    /// that wait together share one transaction, and `work` is run once more should that one fail for another's sake.
    pub async fn write<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Transaction) -> Result<T, Fail> + Send + 'static,
    {
        let (reply, answer) = oneshot::channel();
        let job = Job::Write(Box::new(Work::new(work, reply)));
        self.sender()?.send(job).map_err(|_| stopped())?;
        answer.await.map_err(|_| stopped())?
    }

    /// Calls `watch` after each commit.
    pub fn watch(&self, watch: impl Fn(Commit) + Send + Sync + 'static) {
        let _ = self.shared.watch.set(Box::new(watch));
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
        let job = Job::Alone(Box::new(move |writer| {
            let path = writer.shared.path.clone();
            let result = match &writer.opened {
                Some(opened) => work(&opened.conn).map_err(|fail| fail.told(&path)),
                None => Err(StoreError::Replaced { path }),
            };
            let _ = reply.send(result);
        }));
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
        let _turn = self.shared.reading.acquire().await.map_err(|_| stopped())?;
        tokio::task::spawn_blocking(move || worker.reading(work))
            .await
            .unwrap_or_else(|_| Err(StoreError::Internal("a read ended in a panic".to_owned())))
    }

    /// Runs `work` as [`Worker::read`] does, and right here where it can be: for what is found by its key, in less time than
    /// another thread takes to wake up. Whatever would have to wait is left to another thread all the same, so `work` may be run
    /// twice.
    pub async fn glance<T, F>(self: &Arc<Self>, mut work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnMut(&Connection) -> Result<T, Fail> + Send + 'static,
    {
        match self.at_once(&mut work) {
            Some(result) => result,
            None => self.read(work).await,
        }
    }

    /// Runs `work` on a connection that rests; nothing when there is none, or when it would have to wait.
    fn at_once<T>(&self, work: impl FnMut(&Connection) -> Result<T, Fail>) -> Option<Result<T, StoreError>> {
        let opened = self.shared.rested().pop()?;
        if !opened.still_there() || opened.conn.busy_timeout(Duration::ZERO).is_err() {
            return None;
        }
        let result = self.on(&opened, work);
        let patient = opened.conn.busy_timeout(connection::BUSY);
        let waits = matches!(result, Err(StoreError::Busy { .. }));
        if patient.is_ok() {
            self.rest(opened, result.as_ref().is_err_and(may_heal));
        }
        (!waits).then_some(result)
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
        let opened = match pooled {
            Some(opened) if opened.still_there() => Some(opened),
            stale => {
                if stale.is_some() || self.shared.writes_elsewhere() {
                    drop(stale);
                    self.let_go();
                }
                connection::reader(path)?
            }
        };
        let Some(opened) = opened else {
            let nothing = connection::nothing().map_err(|error| told(&error, path))?;
            return work(&nothing).map_err(|fail| fail.told(path));
        };
        self.shared.opened.store(true, Ordering::Relaxed);
        let result = self.on(&opened, work);
        self.rest(opened, result.as_ref().is_err_and(may_heal));
        result
    }

    /// Runs `work` on one consistent moment that a connection sees.
    fn on<T>(&self, opened: &Opened, work: impl FnOnce(&Connection) -> Result<T, Fail>) -> Result<T, StoreError> {
        let (conn, path) = (&opened.conn, &self.shared.path);
        // Kept statements, as parsing these two each time would take a sixth of a short read.
        let run = |sql: &str| conn.prepare_cached(sql)?.execute([]);
        run("BEGIN").map_err(|error| told(&error, path))?;
        let result = connection::recheck(conn, path).and_then(|()| work(conn).map_err(|fail| fail.told(path)));
        run("COMMIT").map_err(|error| told(&error, path))?;
        result
    }

    /// Keeps a reading connection for the next read, unless it holds its moment still; where one is `broken`, so may the others be.
    fn rest(&self, opened: Opened, broken: bool) {
        let mut readers = self.shared.rested();
        if broken {
            readers.clear();
        } else if readers.len() < READERS && opened.conn.is_autocommit() {
            readers.push(opened);
        }
    }

    /// Closes what is open on files that have gone: SQLite shares within a process what it knows of a log.
    fn let_go(&self) {
        self.shared.rested().clear();
        if !self.shared.writes_elsewhere() {
            return;
        }
        let (done, waits) = mpsc::channel();
        let job = Job::Alone(Box::new(move |writer| {
            writer.let_go();
            let _ = done.send(());
        }));
        if let Ok(jobs) = self.sender()
            && jobs.send(job).is_ok()
        {
            let _ = waits.recv();
        }
    }

    fn sender(&self) -> Result<mpsc::Sender<Job>, StoreError> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = jobs.as_ref() {
            return Ok(thread.jobs.clone());
        }
        let (sender, receiver) = mpsc::channel();
        let writer = Writer::new(Arc::clone(&self.shared));
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
    /// Whether the writing connection has other files open than those that are there now.
    fn writes_elsewhere(&self) -> bool {
        let on = *self.writes_on.lock().unwrap_or_else(PoisonError::into_inner);
        on.is_some_and(|files| place::files(&self.path).ok() != Some(files))
    }

    fn rested(&self) -> MutexGuard<'_, Vec<Opened>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn stopped() -> StoreError {
    StoreError::Internal("the store was closed while it was asked to write".to_owned())
}
