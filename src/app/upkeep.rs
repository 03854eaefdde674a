//! Numbers, proofs and what is due.

use std::path::PathBuf;

use super::{App, AppError, Caller};
use crate::domain::fault::Report;
use crate::domain::ledger::{Checkpoint, Told};
use crate::domain::record::Version;
use crate::domain::since::Since;
use crate::domain::{Address, Home};
use crate::store::StoreError;
pub use crate::store::sqlite::Stats;
pub use crate::store::sqlite::{Overview as Project, Waiting};

/// A write-ahead log of this size is worth a word: somebody holds a read open.
pub const LARGE_LOG: u64 = 64 * 1024 * 1024;

/// The numbers of a project and what there is to say about its store.
#[derive(Debug, Clone)]
pub struct Overview {
    /// The numbers.
    pub stats: Stats,
    /// The database file.
    pub path: PathBuf,
    /// Where its path comes from.
    pub path_from: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// The size of its write-ahead log in bytes.
    pub wal_bytes: u64,
    /// Whether this process made it.
    pub created: bool,
    /// What the user should know.
    pub warnings: Vec<String>,
}

impl App {
    /// The numbers of the caller's project and of the store.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn overview(&self, caller: &Caller) -> Result<Overview, AppError> {
        let mut stats = self.store.stats(self.actor(caller)).await?;
        stats.waiting.0 = caller.reads(stats.waiting.0);
        let (bytes, wal_bytes) = self.store.sizes();
        // A guest has no settings to mend, and no business with where the file lies.
        let mut warnings = if caller.guest {
            Vec::new()
        } else {
            self.config.notices.clone()
        };
        if wal_bytes > LARGE_LOG && !caller.guest {
            warnings.push(format!(
                "the write-ahead log holds {wal_bytes} bytes: some process keeps a read open on {}",
                self.store.path().display()
            ));
        }
        if self.config.agent.is_none() && !caller.guest {
            warnings.push(format!(
                "AGENT_ID is not set, so that this agent goes by {}; set it in the client's config entry",
                caller.agent
            ));
        }
        Ok(Overview {
            stats,
            path: if caller.guest {
                PathBuf::from("(the server's)")
            } else {
                self.store.path().to_owned()
            },
            path_from: if caller.guest { "server" } else { self.config.db_from },
            bytes,
            wal_bytes,
            created: self.store.created(),
            warnings,
        })
    }

    /// Proves the whole file and that it extends each checkpoint. A missing or empty file is
    /// [`StoreError::Missing`].
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn verify(
        &self,
        checkpoints: Vec<Checkpoint>,
        progress: impl FnMut(u64, u64) + Send + 'static,
    ) -> Result<Report, AppError> {
        let _turn = self.proving.lock().await;
        Ok(self.store.verify(checkpoints, progress).await?)
    }

    /// Whether a proof is under way in this process.
    pub fn is_proving(&self) -> bool {
        self.proving.try_lock().is_err()
    }

    /// Proves the file, where one that is missing or empty is in order as long as no checkpoint says otherwise. A guest is told
    /// the kinds of faults alone.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn verify_leniently(&self, caller: &Caller, checkpoints: Vec<Checkpoint>) -> Result<Report, AppError> {
        let mut report = self.proved(checkpoints).await?;
        if caller.guest {
            report.veil();
        }
        Ok(report)
    }

    async fn proved(&self, checkpoints: Vec<Checkpoint>) -> Result<Report, AppError> {
        let pinned = checkpoints.first().map(ToString::to_string);
        match self.verify(checkpoints, |_, _| {}).await {
            Err(AppError::Store(StoreError::Missing { path })) => {
                let mut report = Report::default();
                if let Some(pinned) = pinned {
                    report.note("checkpoint", pinned, format!("there is nothing at {}", path.display()));
                }
                Ok(report)
            }
            other => other,
        }
    }

    /// That a project is not there.
    pub fn no_project(&self, home: &Home) -> AppError {
        AppError::NoProject {
            home: home.clone(),
            path: Some(self.store.path().to_owned()),
        }
    }

    /// The checkpoint of the caller's project.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is no store, not found when there is no such project in it.
    pub async fn checkpoint(&self, caller: &Caller) -> Result<Checkpoint, AppError> {
        self.require()?;
        let found = self.store.checkpoint(self.actor(caller)).await?;
        found.ok_or_else(|| self.no_project(&caller.home))
    }

    /// How many bytes the database and its write-ahead log take.
    pub fn sizes(&self) -> (u64, u64) {
        self.store.sizes()
    }

    /// That there is nothing where the database should be.
    pub fn missing(&self) -> AppError {
        let path = self.store.path().to_owned();
        StoreError::Missing { path }.into()
    }

    /// Makes sure that there is a store, for what would make one otherwise.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when nothing was ever written there.
    pub fn require(&self) -> Result<(), AppError> {
        let (bytes, _) = self.store.sizes();
        if bytes == 0 { Err(self.missing()) } else { Ok(()) }
    }

    /// The current versions of a project after an address, by scope and key, whoever may see them.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn heads(&self, home: &Home, after: Option<Address>, limit: usize) -> Result<Vec<Version>, AppError> {
        Ok(self.store.heads(home.clone(), after, limit).await?)
    }

    /// What waits in each project of the file, as far as the caller may know, the oldest project first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn waiting(&self, caller: &Caller) -> Result<Vec<Waiting>, AppError> {
        Ok(self.store.waiting(self.actor(caller)).await?)
    }

    /// Every project of the file, the oldest first.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn projects(&self) -> Result<Vec<Project>, AppError> {
        Ok(self.store.projects().await?)
    }

    /// The entries of the caller's ledger after a position, oldest first, as far as the caller may see them.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn entries(&self, caller: &Caller, after: u64, limit: usize) -> Result<Vec<Told>, AppError> {
        Ok(caller.reads(self.store.entries(self.actor(caller), after, limit).await?))
    }

    /// The position after which a reader begins.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn position(&self, caller: &Caller, since: Since) -> Result<u64, AppError> {
        match since {
            Since::Position(seq) => Ok(seq),
            Since::Instant(at) => Ok(self.store.before(self.actor(caller), at).await?),
        }
    }

    /// The position of the last entry of the caller's ledger; 0 before anything was written.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn last_entry(&self, caller: &Caller) -> Result<u64, AppError> {
        Ok(self.store.last_entry(self.actor(caller)).await?)
    }

    /// Writes down what is due in every project, if the store is open anyway: packets whose time is over.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub async fn tick_all(&self) -> Result<u64, AppError> {
        if !self.store.is_open() {
            return Ok(0);
        }
        let mut caller = self.caller(None, None);
        let mut ended = 0;
        for project in self.store.waiting(self.actor(&caller)).await? {
            caller.home = project.home;
            ended += self.tick(&caller).await?;
        }
        Ok(ended)
    }

    /// Writes down what is due, if the store is open anyway: packets whose time is over.
    ///
    /// # Errors
    /// Whatever keeps the store from being written.
    pub async fn tick(&self, caller: &Caller) -> Result<u64, AppError> {
        if !self.store.is_open() {
            return Ok(0);
        }
        Ok(self.store.expire_due(self.actor(caller)).await?)
    }
}
