//! Moving a store: a copy, an export, an import.

mod import;

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::files::Fresh;
use super::{App, AppError};
use crate::domain::ledger::Checkpoint;
use crate::domain::transfer::{EndLine, FORMAT, Header, Line};
use crate::domain::{Home, Invalid};
use crate::store::sqlite::Store;
use crate::store::{Durability, StoreError};

pub use import::{Imported, ImportedProject};

/// How many entries one read of an export takes, and one transaction of an import.
const CHUNK: usize = 500;

/// A copy that was made and proved.
#[derive(Debug, Clone)]
pub struct BackedUp {
    /// Where it is.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// How many rows of it were checked.
    pub checked: u64,
    /// How far each project's ledger goes in it.
    pub checkpoints: Vec<Checkpoint>,
}

/// What was exported.
#[derive(Debug, Clone, Default)]
pub struct Exported {
    /// How many entries.
    pub entries: u64,
    /// How far each project's ledger goes.
    pub checkpoints: Vec<Checkpoint>,
}

/// Only the copy is written: a disk that is full, or cannot be written, is its disk.
fn of_target(error: StoreError, to: &Path) -> AppError {
    let (what, full) = match &error {
        StoreError::DiskFull { .. } => ("its disk is full", true),
        StoreError::ReadOnly { .. } => ("its disk cannot be written", false),
        _ => return error.into(),
    };
    AppError::File {
        path: to.to_owned(),
        what: what.to_owned(),
        full,
    }
}

impl App {
    /// Copies the file as it is at one moment, under whatever is being written, proves the copy, and only then gives it its
    /// name. `progress` is told what is being done, and how much of how much.
    ///
    /// # Errors
    /// When the place cannot be written, or the copy is not intact.
    pub async fn backup(
        &self,
        to: &Path,
        replace: bool,
        progress: impl Fn(&'static str, u64, u64) + Clone + Send + 'static,
    ) -> Result<BackedUp, AppError> {
        self.apart(to)?;
        // What keeps the store itself from being read is found here, and not blamed on the copy's disk.
        self.store.projects().await?;
        let (fresh, file) = Fresh::at(to, replace)?;
        drop(file);
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        let (all, _) = self.sizes();
        let copying = self.store.copy(fresh.part().to_owned());
        tokio::pin!(copying);
        loop {
            tokio::select! {
                copied = &mut copying => break copied.map_err(|error| of_target(error, to))?,
                () = tokio::time::sleep(Duration::from_millis(100)) => progress("copying", size(fresh.part()).min(all), all),
            }
        }
        let told = progress.clone();
        let report = Store::verify_copy(fresh.part(), move |done, all| told("verifying", done, all)).await?;
        if let Some(fault) = report.faults.first() {
            return Err(StoreError::Corrupt {
                path: self.store.path().to_owned(),
                what: format!(
                    "its copy is not intact ({}: {}), and was not kept",
                    fault.place, fault.what
                ),
            }
            .into());
        }
        let copy = Store::new(fresh.part(), Durability::Normal);
        let projects = copy.projects().await?;
        copy.close().await;
        let bytes = size(fresh.part());
        fresh.publish()?;
        Ok(BackedUp {
            path: to.to_owned(),
            bytes,
            checked: report.checked,
            checkpoints: projects.into_iter().map(|project| project.checkpoint).collect(),
        })
    }

    /// Refuses a file to write that is one of the store's own.
    ///
    /// # Errors
    /// When it is.
    pub fn apart(&self, to: &Path) -> Result<(), AppError> {
        // The file itself may not be there yet; its folder is, or nothing can be written there.
        let real = |path: &Path| {
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize().unwrap_or_default();
            path.canonicalize()
                .unwrap_or_else(|_| folder.join(path.file_name().unwrap_or_default()))
        };
        let own = ["", "-wal", "-shm", "-journal"].into_iter().any(|ending| {
            let mut name = self.store.path().as_os_str().to_owned();
            name.push(ending);
            real(Path::new(&name)) == real(to)
        });
        if own {
            let got = format!("{}, which belongs to the database", to.display());
            return Err(Invalid::new("file", got, "another path").into());
        }
        Ok(())
    }

    /// Gives everything, or one project, as the lines of an export, in short reads.
    ///
    /// # Errors
    /// [`StoreError::Missing`] when there is nothing; whatever `line` fails with.
    pub async fn export<E: From<AppError>>(
        &self,
        only: Option<&Home>,
        mut line: impl FnMut(&str) -> Result<(), E>,
        progress: impl Fn(u64, u64),
    ) -> Result<Exported, E> {
        let mut projects = self.projects().await?;
        self.require()?;
        projects.retain(|project| only.is_none_or(|home| *home == project.home));
        let Some(first) = projects.first() else {
            return Err(only.map_or_else(|| self.missing(), |home| self.no_project(home)).into());
        };
        let text =
            |one: &Line| serde_json::to_string(one).map_err(|_| AppError::internal("a line could not be written"));
        let header = Header {
            handoff_memory_export: FORMAT,
            store: first.checkpoint.store.clone(),
        };
        line(&text(&Line::Header(header))?)?;
        let all: u64 = projects.iter().map(|project| project.checkpoint.seq).sum();
        let mut done = Exported::default();
        for project in &projects {
            let mut last = project.checkpoint.clone();
            last.seq = 0;
            // What is written meanwhile joins at the end: a text that was purged while this runs has its entry there.
            loop {
                let lines = self
                    .store
                    .lines(project.home.clone(), last.seq, CHUNK)
                    .await
                    .map_err(AppError::from)?;
                for one in &lines {
                    line(&text(&Line::Entry(Box::new(one.clone())))?)?;
                    last.seq = one.entry.seq;
                    done.entries += 1;
                }
                if let Some(newest) = lines.last() {
                    last.hash = crate::domain::Hash::parse(&newest.entry.hash).unwrap_or(last.hash);
                }
                progress(done.entries, all.max(done.entries));
                if lines.len() < CHUNK {
                    break;
                }
            }
            done.checkpoints.push(last);
        }
        let end = done.checkpoints.iter().map(ToString::to_string).collect();
        line(&text(&Line::End(EndLine { end }))?)?;
        Ok(done)
    }
}
