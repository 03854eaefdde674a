//! A look at everything that can be wrong with a store and the program around it, each with what to do about it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::upkeep::{LARGE_LOG, Project};
use super::{App, AppError, Door};
use crate::domain::fault::Report;
use crate::store::sqlite::{FileFacts, facts, version};

/// The oldest SQLite that does not lose pages when several processes empty the write-ahead log.
const SQLITE: [u64; 3] = [3, 51, 3];

/// How long another copy of the program may take to tell its version.
const PATIENCE: Duration = Duration::from_secs(2);

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Check {
    /// What it is, in a word.
    pub name: &'static str,
    /// What was found.
    pub what: String,
    /// What to do, when it is not in order.
    pub fix: Option<String>,
}

/// What was found.
#[derive(Debug, Clone)]
pub struct Health {
    /// Everything that was looked at.
    pub checks: Vec<Check>,
    /// The projects of the file, with their agents.
    pub projects: Vec<Project>,
}

impl Health {
    /// Whether everything is in order.
    pub fn ok(&self) -> bool {
        self.checks.iter().all(|check| check.fix.is_none())
    }
}

fn fine(name: &'static str, what: impl Into<String>) -> Check {
    Check {
        name,
        what: what.into(),
        fix: None,
    }
}

fn wrong(name: &'static str, what: impl Into<String>, fix: impl Into<String>) -> Check {
    Check {
        name,
        what: what.into(),
        fix: Some(fix.into()),
    }
}

impl App {
    /// Looks at everything. A missing file is an error, as nothing can be looked at then.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn doctor(&self, progress: impl FnMut(u64, u64) + Send + 'static) -> Result<Health, AppError> {
        let path = &self.config.db;
        let mut checks = vec![fine(
            "database",
            format!("{} (from {})", path.display(), self.config.db_from),
        )];
        checks.extend(
            self.config
                .notices
                .iter()
                .map(|notice| wrong("settings", notice.clone(), "see README, Settings")),
        );
        // What is wrong with the place explains why the file cannot be opened: it is looked at first.
        let place = facts(path);
        checks.extend(of_place(path, &place));
        let report = self.verify(Vec::new(), progress).await?;
        checks.push(of_sqlite(version()));
        // Where the file is damaged these may fail, and what was found so far is worth the more.
        let stats = self.store.stats(self.actor(&self.caller(None, None))).await;
        match stats {
            Ok(stats) => {
                let store = stats.store_id.unwrap_or_default();
                checks.push(fine("schema", format!("{} (store {store})", stats.schema)));
            }
            Err(error) => checks.push(unreadable(error.into())),
        }
        let projects = self.projects().await.unwrap_or_else(|error| {
            checks.push(unreadable(error));
            Vec::new()
        });
        checks.push(of_log(path, self.sizes().1));
        checks.extend(of_report(&report));
        for project in &projects {
            let home = &project.home;
            let name = format!("{}/{}", home.workspace, home.project);
            checks.push(fine("ledger", format!("{name}: {}", project.checkpoint)));
        }
        checks.extend(copies().await);
        Ok(Health { checks, projects })
    }
}

fn unreadable(error: AppError) -> Check {
    wrong("reading", error.to_string(), error.hint(Door::Shell))
}

fn of_place(path: &Path, place: &FileFacts) -> Vec<Check> {
    let mut checks = Vec::new();
    for (file, mode) in &place.modes {
        if mode & 0o077 != 0 {
            checks.push(wrong(
                "modes",
                format!("{} can be read by others (mode {mode:o})", file.display()),
                format!("chmod 600 {}", file.display()),
            ));
        }
    }
    if let Some(mode) = place.folder_mode.filter(|mode| mode & 0o022 != 0 && mode & 0o1000 == 0) {
        let folder = path.parent().unwrap_or(path).display();
        checks.push(wrong(
            "modes",
            format!(
                "{folder} can be written by others (mode {mode:o}), who could put another file in the place of this one"
            ),
            format!("chmod go-w {folder}"),
        ));
    }
    if checks.is_empty() {
        checks.push(fine("modes", "files and folder are their user's"));
    }
    checks.push(match &place.network {
        Some(kind) => wrong("file system", kind.clone(), "set MEMORY_DB to a path on a local disk"),
        None => fine("file system", "local"),
    });
    if place.read_only {
        checks.push(wrong(
            "access",
            "the file or its folder cannot be written by this user",
            format!("make {} and its folder writable", path.display()),
        ));
    }
    if place.full {
        checks.push(wrong("space", "the disk is nearly full", "free some space"));
    }
    checks
}

fn of_sqlite(version: &str) -> Check {
    let numbers: Vec<u64> = version.split('.').filter_map(|part| part.parse().ok()).collect();
    if numbers.as_slice() >= SQLITE.as_slice() {
        fine("SQLite", version)
    } else {
        wrong(
            "SQLite",
            format!("{version}, which can lose pages when several processes write"),
            "build handoff-memory with its bundled SQLite",
        )
    }
}

fn of_log(path: &Path, bytes: u64) -> Check {
    if bytes > LARGE_LOG {
        wrong(
            "log",
            format!(
                "the write-ahead log of {} holds {bytes} bytes: some process keeps a read open",
                path.display()
            ),
            "end the process that keeps it open; the next write then cuts the log",
        )
    } else {
        fine("log", format!("write-ahead log of {bytes} bytes"))
    }
}

fn of_report(report: &Report) -> Vec<Check> {
    if report.ok() {
        return vec![fine(
            "integrity",
            format!(
                "{} rows proved: values, chains, ledger, packets, search index",
                report.checked
            ),
        )];
    }
    // With nothing else amiss, the index can be made anew from the records.
    let index_alone = report
        .faults
        .iter()
        .all(|fault| fault.kind == "search" || fault.place == "the search index");
    let fix = if index_alone {
        "handoff-memory doctor --rebuild-index"
    } else {
        "keep the file as it is for a look, and put a backup in its place: it was damaged or changed by hand"
    };
    let faults = report.faults.iter();
    faults
        .map(|fault| {
            wrong(
                "integrity",
                format!("{}: {}: {}", fault.kind, fault.place, fault.what),
                fix,
            )
        })
        .collect()
}

/// Other copies of this program on PATH: an old one that a client starts makes a new one look as if it did not work.
async fn copies() -> Vec<Check> {
    let me = std::env::current_exe()
        .and_then(|path| path.canonicalize())
        .unwrap_or_default();
    let name = if cfg!(windows) {
        "handoff-memory.exe"
    } else {
        "handoff-memory"
    };
    let ours = env!("CARGO_PKG_VERSION");
    let mut checks = vec![fine("program", format!("{} {ours}", me.display()))];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut seen: Vec<PathBuf> = vec![me];
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        let Ok(found) = folder.join(name).canonicalize() else {
            continue;
        };
        if seen.contains(&found) {
            continue;
        }
        let version = version_of(&found).await;
        seen.push(found.clone());
        checks.push(match version {
            Some(version) if version == ours => {
                fine("program", format!("{} on PATH is the same version", found.display()))
            }
            Some(version) => wrong(
                "program",
                format!("{} on PATH is version {version}, this is {ours}", found.display()),
                "remove one of them, and start the clients that use it again",
            ),
            None => wrong(
                "program",
                format!("{} on PATH did not tell its version", found.display()),
                "remove it, or put this one in its place",
            ),
        });
    }
    checks
}

async fn version_of(program: &Path) -> Option<String> {
    let mut command = tokio::process::Command::new(program);
    command
        .arg("--version")
        .stdin(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await.ok()?.ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().strip_prefix("handoff-memory ").map(str::to_owned)
}
