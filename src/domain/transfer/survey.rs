//! A first look through an export, before anything of it is taken: how far its chains hold, and what is missing at its end.

use std::collections::{HashMap, HashSet};

use super::{EndLine, EntryLine, Line};
use crate::domain::ledger::{Checkpoint, Kind};
use crate::domain::{Hash, Home, Invalid};

/// What a first look has seen so far.
#[derive(Debug, Default)]
pub struct Survey {
    /// The projects in their order.
    pub projects: Vec<Surveyed>,
    /// Whether the header was seen.
    begun: bool,
    /// Whether the end was seen, and everything that it tells of.
    pub complete: bool,
    /// Whether the end was seen.
    pub ended: bool,
}

/// One project of an export.
#[derive(Debug)]
pub struct Surveyed {
    /// Its names.
    pub home: Home,
    /// How many of its entries follow one from the other.
    pub last: u64,
    /// The hash of the last of them.
    pub hash: String,
    at: String,
    store: String,
    /// The texts that are said to be purged: position of the line, subject, hash.
    emptied: Vec<(u64, String, String)>,
    /// The texts that an entry says were purged: subject, hash.
    purges: HashSet<(String, String)>,
    /// Its versions, each as the beginnings of two digests: of its subject, and its own.
    versions: HashMap<u64, u64>,
}

impl Surveyed {
    /// How many of its entries can be taken so that the store is in order after them: a text that is said to be purged needs the
    /// entry that says so.
    pub fn until(&self) -> u64 {
        self.unpaired().map_or(self.last, |seq| seq - 1)
    }

    /// Whether a version follows the one before it, and a packet pins versions that came.
    fn links(&mut self, line: &EntryLine) -> Result<(), String> {
        let known = |scope: &str, key: &str, number: u64, hash: &str| {
            let subject = digest(&format!("{number} {} {scope}{key}", scope.len()));
            self.versions.get(&subject) == Some(&beginning(hash))
        };
        if let Some(packet) = &line.packet {
            let mut refs = packet.refs.iter();
            if !refs.all(|(scope, key, number, hash)| known(scope, key, *number, hash)) {
                return Err("it pins a version that did not come before it".to_owned());
            }
        }
        if let (Some(version), Some((scope, key, number))) = (&line.version, line.entry.version()) {
            let follows = match number {
                0 => false,
                1 => version.prev_hash == Hash::ZERO.to_string(),
                _ => known(&scope, &key, number - 1, &version.prev_hash),
            };
            if !follows {
                return Err("its version does not follow from the one before it".to_owned());
            }
            let subject = digest(&format!("{number} {} {scope}{key}", scope.len()));
            self.versions.insert(subject, beginning(&line.entry.digest));
        }
        Ok(())
    }

    /// The first entry whose text is said to be purged where no entry says so.
    pub fn unpaired(&self) -> Option<u64> {
        let paired = |subject: &String, hash: &String| self.purges.contains(&(subject.clone(), hash.clone()));
        let mut emptied = self.emptied.iter();
        emptied
            .find(|(_, subject, hash)| !paired(subject, hash))
            .map(|(seq, ..)| *seq)
    }
}

/// The first eight bytes of a text's digest: enough to notice what was changed by accident, and small enough to keep for each version.
fn digest(text: &str) -> u64 {
    beginning(&Hash::of(&[text.as_bytes()]).to_string())
}

fn beginning(hash: &str) -> u64 {
    hash.get(..16)
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .unwrap_or(0)
}

impl Survey {
    /// Looks at one more line.
    ///
    /// # Errors
    /// Says why it cannot stand there; what came before it holds.
    pub fn line(&mut self, line: &Line) -> Result<(), Invalid> {
        let misplaced = |what: &str| {
            let got = format!("out of its place: {what}");
            Invalid::new("line", got, "a header, each project's entries in order, and an end")
        };
        match line {
            Line::Header(_) if !self.begun => {
                self.begun = true;
                Ok(())
            }
            _ if !self.begun => Err(misplaced("no header")),
            _ if self.ended => Err(misplaced("after the end")),
            Line::Header(_) => Err(misplaced("a second header")),
            Line::Entry(entry) => self.entry(entry),
            Line::End(end) => {
                self.ended = true;
                for project in &self.projects {
                    if let Some(seq) = project.unpaired() {
                        let home = &project.home;
                        let got = format!(
                            "without the entry that says why the text of entry {seq} in {}/{} was purged",
                            home.workspace, home.project
                        );
                        return Err(Invalid::new("export", got, "an export that nobody changed"));
                    }
                }
                self.complete = self.is_whole(end)?;
                Ok(())
            }
        }
    }

    fn entry(&mut self, line: &EntryLine) -> Result<(), Invalid> {
        let entry = &line.entry;
        let wrong = |what: String| Invalid::new(format!("entry {}", entry.seq), what, "an export that nobody changed");
        if entry.seq == 1 {
            let home = line.home().map_err(|invalid| wrong(format!("damaged: {invalid}")))?;
            if self.projects.iter().any(|project| project.home == home) {
                return Err(wrong(format!(
                    "a second beginning of project {}/{}",
                    home.workspace, home.project
                )));
            }
            let kind = entry
                .follows(&Hash::ZERO.to_string(), "")
                .map_err(|what| wrong(format!("damaged: {what}")))?;
            line.check(kind, &home)
                .map_err(|what| wrong(format!("damaged: {what}")))?;
            self.projects.push(Surveyed {
                home,
                last: 1,
                hash: entry.hash.clone(),
                at: entry.at.clone(),
                store: entry.detail["store"].as_str().unwrap_or_default().to_owned(),
                emptied: Vec::new(),
                purges: HashSet::new(),
                versions: HashMap::new(),
            });
            return Ok(());
        }
        let Some(project) = self.projects.last_mut() else {
            return Err(wrong("out of order: no project begins before it".to_owned()));
        };
        if entry.seq != project.last + 1 {
            return Err(wrong(format!("out of order: it stands behind entry {}", project.last)));
        }
        let kind = entry
            .follows(&project.hash, &project.at)
            .map_err(|what| wrong(format!("damaged: {what}")))?;
        line.check(kind, &project.home)
            .and_then(|()| project.links(line))
            .map_err(|what| wrong(format!("damaged: {what}")))?;
        if line.purged {
            project
                .emptied
                .push((entry.seq, entry.subject.clone(), line.text_hash()));
        }
        if kind == Kind::Purged {
            let hash = entry.detail["hash"].as_str().unwrap_or_default().to_owned();
            project.purges.insert((entry.subject.clone(), hash));
        }
        project.last = entry.seq;
        project.hash.clone_from(&entry.hash);
        project.at.clone_from(&entry.at);
        Ok(())
    }

    /// Whether what came is what the end tells of, each project once and to its last entry.
    fn is_whole(&self, end: &EndLine) -> Result<bool, Invalid> {
        let mut ends = end
            .end
            .iter()
            .map(|text| Checkpoint::parse(text))
            .collect::<Result<Vec<_>, _>>()?;
        let whole = self.projects.iter().all(|project| {
            let found = ends.iter().position(|end| {
                end.workspace == project.home.workspace.as_str()
                    && end.project == project.home.project.as_str()
                    && end.store == project.store
                    && end.seq == project.last
                    && end.hash.to_string() == project.hash
            });
            found.map(|at| ends.swap_remove(at)).is_some()
        });
        Ok(whole && ends.is_empty())
    }
}
