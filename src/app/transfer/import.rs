//! Taking an export in: a first look through all of it, then what holds, in batches.

use std::io::{BufRead, Read as _, Seek, SeekFrom};

use serde_json::json;

use super::CHUNK;
use crate::app::files::Scratch;
use crate::app::{App, AppError, Caller};
use crate::domain::ledger::Checkpoint;
use crate::domain::record::{NewVersion, Stored, Tags, Version};
use crate::domain::transfer::{self, EntryLine, Line, Survey, Taken};
use crate::domain::{Actor, Home, Invalid, Project, Reach, limits};
use crate::store::sqlite::Store;

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
    pub ended: bool,
    /// Whether everything came that its end tells of.
    pub complete: bool,
    /// How many current values were written anew into the project that was named for it.
    pub replayed: u64,
}

/// What a first look through an export found.
struct Look {
    survey: Survey,
    /// How many of its lines hold.
    lines: u64,
    /// Why the next one does not.
    broken: Option<Invalid>,
}

impl App {
    /// Takes an export in, project by project: what is absent here is taken, what goes on is added, and where the ledgers part
    /// the project is left alone. With `replay` the current values of those are written anew into that project of the
    /// caller's workspace. The export is read twice; `progress` is told how many bytes were read of how many.
    ///
    /// # Errors
    /// Names the line that cannot be read, or the entry that does not follow; what came before it was taken.
    pub async fn import(
        &self,
        caller: &Caller,
        mut input: impl BufRead + Seek,
        replay: Option<Project>,
        progress: impl Fn(u64, u64),
    ) -> Result<Imported, AppError> {
        let all = input.seek(SeekFrom::End(0)).map_err(unreadable)?;
        let told = |read: u64| progress(read, all.saturating_mul(2));
        input.rewind().map_err(unreadable)?;
        let look = look(&mut input, told)?;
        input.rewind().map_err(unreadable)?;
        let scratch = replay.as_ref().map(|_| Scratch::new()).transpose()?;
        let aside = scratch.as_ref().map(|scratch| Store::aside(scratch.file("export.db")));
        let mut import = Import {
            store: &self.store,
            aside: aside.as_ref(),
            look: &look,
            done: Imported {
                complete: look.survey.complete,
                ended: look.survey.ended,
                ..Imported::default()
            },
            batch: Vec::new(),
            purged: false,
        };
        let result = import.read(input, |read| told(all + read)).await;
        let (mut done, purged) = (import.done, import.purged);
        if purged {
            self.store.rebuild_index().await?;
            self.store.clean().await?;
        }
        result?;
        if let Some(broken) = look.broken {
            return Err(broken.into());
        }
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

    /// Writes the current values of diverged projects into another one, as root: some may be private to others.
    async fn replay(&self, caller: &Caller, aside: &Store, done: &Imported, into: Home) -> Result<u64, AppError> {
        let actor = |home: &Home| Actor {
            home: home.clone(),
            reach: Reach::Root,
            ..self.actor(caller)
        };
        let mut replayed = 0;
        for project in done.projects.iter().filter(|project| project.diverged_at.is_some()) {
            let Some(checkpoint) = aside.checkpoint(actor(&project.home)).await? else {
                continue;
            };
            let mut after = None;
            loop {
                let heads = aside.heads(project.home.clone(), after, limits::PAGE_MAX).await?;
                for version in &heads {
                    if let Some(new) = anew(version, &checkpoint)? {
                        let remembered = self.store.remember(actor(&into), new).await?;
                        replayed += u64::from(!remembered.unchanged);
                    }
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

fn unreadable(error: std::io::Error) -> AppError {
    {
        let text = error.to_string();
        let what = text.split(" (os error").next().unwrap_or_default().to_lowercase();
        Invalid::new("input", format!("unreadable ({what})"), "an export").into()
    }
}

/// The lines of an export, one by one.
struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    /// How many lines were read, blank ones too.
    number: u64,
    /// How many bytes those were.
    read: u64,
}

impl<R: BufRead> Lines<R> {
    fn of(input: R) -> Self {
        Self {
            input,
            buffer: Vec::new(),
            number: 0,
            read: 0,
        }
    }

    /// The next line that is not blank; none at the end. A line that is none of an export is an error inside.
    fn next(&mut self) -> Result<Option<Result<Line, Invalid>>, AppError> {
        loop {
            self.buffer.clear();
            let most = limits::LINE_BYTES as u64 + 1;
            let mut bounded = (&mut self.input).take(most);
            let count = bounded.read_until(b'\n', &mut self.buffer).map_err(unreadable)?;
            if count == 0 {
                return Ok(None);
            }
            self.number += 1;
            self.read += count as u64;
            if self.buffer.len() > limits::LINE_BYTES {
                let most = format!("at most {} bytes", limits::LINE_BYTES);
                return Ok(Some(Err(Invalid::new("line", "too long", most))));
            }
            let Ok(text) = std::str::from_utf8(&self.buffer) else {
                return Ok(Some(Err(Invalid::new("line", "no UTF-8", "a line of an export"))));
            };
            if !text.trim().is_empty() {
                return Ok(Some(transfer::read(text.trim())));
            }
        }
    }
}

/// Looks through an export until its end, or until a line does not hold.
fn look(input: impl BufRead, progress: impl Fn(u64)) -> Result<Look, AppError> {
    let mut look = Look {
        survey: Survey::default(),
        lines: 0,
        broken: None,
    };
    let mut lines = Lines::of(input);
    while let Some(line) = lines.next()? {
        if let Err(mut broken) = line.and_then(|line| look.survey.line(&line)) {
            broken.field = match broken.field.as_str() {
                "line" => format!("line {}", lines.number),
                "export" => "export".to_owned(),
                field => format!("line {}, {field}", lines.number),
            };
            look.broken = Some(broken);
            look.survey.complete = false;
            break;
        }
        look.lines += 1;
        progress(lines.read);
    }
    if look.lines == 0 && look.broken.is_none() {
        return Err(Invalid::new("input", "empty", "an export by `handoff-memory export`").into());
    }
    Ok(look)
}

/// An import under way.
struct Import<'a> {
    store: &'a Store,
    /// A store that takes everything, where current values are to be written anew.
    aside: Option<&'a Store>,
    look: &'a Look,
    done: Imported,
    batch: Vec<EntryLine>,
    purged: bool,
}

impl Import<'_> {
    /// Takes the lines that hold.
    async fn read(&mut self, input: impl BufRead, progress: impl Fn(u64)) -> Result<(), AppError> {
        let mut lines = Lines::of(input);
        let (mut left, mut size) = (self.look.lines, 0);
        while left > 0 {
            left -= 1;
            let before = lines.read;
            let Some(line) = lines.next()? else { break };
            let Line::Entry(line) = line? else { continue };
            if line.entry.seq == 1 {
                self.flush().await?;
                size = 0;
                self.begin(line.home()?);
            }
            let project = self.look.survey.projects.get(self.done.projects.len().wrapping_sub(1));
            if project.is_some_and(|project| line.entry.seq > project.until()) {
                continue;
            }
            size += usize::try_from(lines.read - before).unwrap_or(BATCH_BYTES);
            self.batch.push(*line);
            if self.batch.len() >= CHUNK || size >= BATCH_BYTES {
                self.flush().await?;
                size = 0;
                progress(lines.read);
            }
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
        let Some(project) = self.done.projects.last_mut().filter(|_| !lines.is_empty()) else {
            return Ok(());
        };
        if let Some(aside) = self.aside {
            aside.take_in(project.home.clone(), lines.clone()).await?;
        }
        if project.diverged_at.is_some() {
            return Ok(());
        }
        match self.store.take_in(project.home.clone(), lines).await? {
            Taken::Followed {
                known,
                added,
                purged,
                refused,
            } => {
                project.known += known;
                project.added += added;
                self.purged |= purged;
                refused.map_or(Ok(()), |refused| Err(refused.into()))
            }
            Taken::Diverged(seq) => {
                project.diverged_at = Some(seq);
                Ok(())
            }
        }
    }
}
