//! Taking an export in, line by line.

use std::io::BufRead;

use serde_json::json;

use super::CHUNK;
use crate::app::files::Scratch;
use crate::app::{App, AppError, Caller};
use crate::domain::ledger::Checkpoint;
use crate::domain::record::{NewVersion, Stored, Tags, Version};
use crate::domain::transfer::{self, EndLine, EntryLine, Line, Taken};
use crate::domain::{Actor, Home, Invalid, Project, limits};
use crate::store::Durability;
use crate::store::sqlite::{Store, home_of};

/// How many bytes of lines are gathered before they are written.
const BATCH_BYTES: usize = 4 * 1024 * 1024;

/// What became of one project of an import.
#[derive(Debug, Clone)]
pub struct ImportedProject {
    /// Its names.
    pub home: Home,
    /// How many of its entries were there before.
    pub known: u64,
    /// How many were added.
    pub added: u64,
    /// The position at which the ledgers part, where they do.
    pub diverged_at: Option<u64>,
    /// Its checkpoint as it is now.
    pub checkpoint: Option<Checkpoint>,
}

/// What became of an import.
#[derive(Debug, Clone, Default)]
pub struct Imported {
    /// Its projects in their order.
    pub projects: Vec<ImportedProject>,
    /// Whether the export was there to its end.
    pub complete: bool,
    /// How many current values were written anew into the project that was named for it.
    pub replayed: u64,
}

impl App {
    /// Takes an export in, project by project: what is absent here is taken, what goes on is added, and where the ledgers part
    /// the project is left alone. With `replay` the current values of those are written anew into that project of the
    /// caller's workspace. `progress` is told how many bytes were read.
    ///
    /// # Errors
    /// Names the line that cannot be read, or the entry that does not follow; what came before it stays.
    pub async fn import(
        &self,
        caller: &Caller,
        input: impl BufRead,
        replay: Option<Project>,
        progress: impl Fn(u64),
    ) -> Result<Imported, AppError> {
        let scratch = replay.as_ref().map(|_| Scratch::new()).transpose()?;
        let aside = scratch
            .as_ref()
            .map(|scratch| Store::new(scratch.file("export.db"), Durability::Normal));
        let mut import = Import {
            stores: [Some(&self.store), aside.as_ref()],
            done: Imported::default(),
            batch: Vec::new(),
            purged: false,
        };
        let result = import.read(input, progress).await;
        let purged = import.purged;
        let mut done = import.done;
        if purged {
            self.store.rebuild_index().await?;
            self.store.clean().await?;
        }
        result?;
        for project in &mut done.projects {
            let actor = Actor {
                home: project.home.clone(),
                ..self.actor(caller)
            };
            project.checkpoint = self.store.checkpoint(actor).await?;
        }
        if let (Some(aside), Some(project)) = (&aside, replay) {
            let home = Home {
                workspace: caller.home.workspace.clone(),
                project,
            };
            done.replayed = self.replay(caller, aside, &done, home).await?;
            aside.close().await;
        }
        Ok(done)
    }

    /// Writes the current values of diverged projects into another one.
    async fn replay(&self, caller: &Caller, aside: &Store, done: &Imported, into: Home) -> Result<u64, AppError> {
        let mut replayed = 0;
        for project in done.projects.iter().filter(|project| project.diverged_at.is_some()) {
            let actor = Actor {
                home: project.home.clone(),
                ..self.actor(caller)
            };
            let Some(checkpoint) = aside.checkpoint(actor).await? else {
                continue;
            };
            let mut after = None;
            loop {
                let heads = aside
                    .heads(project.home.clone(), after.clone(), limits::PAGE_MAX)
                    .await?;
                for version in &heads {
                    let Some(new) = anew(version, &checkpoint)? else {
                        continue;
                    };
                    let actor = Actor {
                        home: into.clone(),
                        ..self.actor(caller)
                    };
                    replayed += u64::from(!self.store.remember(actor, new).await?.unchanged);
                }
                let Some(last) = heads.last() else { break };
                after = Some(last.at.clone());
            }
        }
        Ok(replayed)
    }
}

/// A version of another store as a new one here that says where it is from; none where its value is gone.
fn anew(version: &Version, from: &Checkpoint) -> Result<Option<NewVersion>, Invalid> {
    let Stored::Whole(text) = &version.value else {
        return Ok(None);
    };
    let mut meta = version.meta.clone().unwrap_or_else(|| json!({}));
    meta["imported_from"] = json!({
        "store": from.store,
        "workspace": from.workspace,
        "project": from.project,
        "version": version.version,
        "hash": version.hash,
        "author": version.author.as_str(),
        "at": version.created_at.to_string(),
    });
    let mut new = NewVersion::new(version.at.scope.clone(), version.at.key.clone(), text.clone());
    new.tags = Tags::new(&version.tags)?;
    new.confidence = Some(version.opinion.confidence);
    new.private_to.clone_from(&version.private_to);
    new.meta = Some(meta);
    Ok(Some(new))
}

/// An import under way.
struct Import<'a> {
    /// The store, and the one aside that takes everything where current values are to be written anew.
    stores: [Option<&'a Store>; 2],
    done: Imported,
    batch: Vec<EntryLine>,
    purged: bool,
}

impl Import<'_> {
    async fn read(&mut self, mut input: impl BufRead, progress: impl Fn(u64)) -> Result<(), AppError> {
        let (mut number, mut read, mut size) = (0u64, 0u64, 0usize);
        let mut line = Vec::new();
        loop {
            line.clear();
            let most = limits::LINE_BYTES as u64 + 1;
            let count = std::io::Read::take(&mut input, most)
                .read_until(b'\n', &mut line)
                .map_err(|error| Invalid::new("input", format!("unreadable ({error})"), "an export"))?;
            if count == 0 {
                break;
            }
            number += 1;
            read += count as u64;
            let named = |mut invalid: Invalid| {
                invalid.field = format!("line {number}");
                invalid
            };
            if line.len() > limits::LINE_BYTES {
                let most = format!("at most {} bytes", limits::LINE_BYTES);
                return Err(named(Invalid::new("line", "too long", most)).into());
            }
            let text = std::str::from_utf8(&line)
                .map_err(|_| named(Invalid::new("line", "no UTF-8", "a line of an export")))?
                .trim();
            if text.is_empty() {
                continue;
            }
            let parsed = transfer::read(text).map_err(named)?;
            let place = || {
                named(Invalid::new(
                    "line",
                    "out of its place",
                    "a header, entries, and an end",
                ))
            };
            match parsed {
                Line::Header(_) if number > 1 => return Err(place().into()),
                Line::Entry(_) | Line::End(_) if number == 1 || self.done.complete => return Err(place().into()),
                Line::Header(_) => {}
                Line::Entry(entry) => {
                    let begins = entry.entry.seq == 1;
                    if begins || self.batch.len() >= CHUNK || size >= BATCH_BYTES {
                        self.flush().await?;
                        size = 0;
                    }
                    if begins {
                        let home = home_of(&entry).map_err(named)?;
                        self.begin(home);
                    }
                    size += count;
                    self.batch.push(*entry);
                }
                Line::End(end) => {
                    self.flush().await?;
                    self.end(&end)?;
                }
            }
            progress(read);
        }
        self.flush().await
    }

    fn begin(&mut self, home: Home) {
        self.done.projects.push(ImportedProject {
            home,
            known: 0,
            added: 0,
            diverged_at: None,
            checkpoint: None,
        });
    }

    /// Writes what was gathered.
    async fn flush(&mut self) -> Result<(), AppError> {
        let lines = std::mem::take(&mut self.batch);
        let Some(first) = lines.first() else { return Ok(()) };
        let Some(project) = self.done.projects.last_mut() else {
            let what = format!("begins with entry {}", first.entry.seq);
            return Err(Invalid::new("export", what, "the first entry of each project first").into());
        };
        if let Some(aside) = self.stores[1] {
            aside.take_in(project.home.clone(), lines.clone()).await?;
        }
        let (Some(store), None) = (self.stores[0], project.diverged_at) else {
            return Ok(());
        };
        match store.take_in(project.home.clone(), lines).await? {
            Taken::Followed { known, added, purged } => {
                project.known += known;
                project.added += added;
                self.purged |= purged;
            }
            Taken::Diverged(seq) => project.diverged_at = Some(seq),
        }
        Ok(())
    }

    /// Holds what came against what the export says it has.
    fn end(&mut self, end: &EndLine) -> Result<(), AppError> {
        let ends = transfer::ends(end)?;
        let reached = |end: &Checkpoint| {
            self.done.projects.iter().any(|project| {
                project.home.workspace.as_str() == end.workspace
                    && project.home.project.as_str() == end.project
                    && (project.diverged_at.is_some() || project.known + project.added == end.seq)
            })
        };
        self.done.complete = ends.len() == self.done.projects.len() && ends.iter().all(reached);
        Ok(())
    }
}
