//! One line of an export on its way into the tables: what it vouches for, held against what is there, and written.

use rusqlite::{Connection, OptionalExtension, params};

use super::super::fail::Fail;
use super::super::ledger::{self, ProjectRow, signed};
use super::super::versions::{self, Budget};
use super::super::{purge, rows};
use super::refused;
use crate::domain::handoff::replay::Step;
use crate::domain::ledger::Kind;
use crate::domain::record::Version;
use crate::domain::transfer::EntryLine;
use crate::domain::{Address, Hash, Key, Scope};

/// One line on its way into the tables; its own hashes were checked before.
pub struct Taking<'a> {
    pub conn: &'a Connection,
    pub project: &'a ProjectRow,
    pub line: &'a EntryLine,
    /// The row and hash of the note that came last: one that came with several entries is one text.
    pub last_note: &'a mut Option<(i64, String)>,
}

impl Taking<'_> {
    fn refused(&self, what: impl Into<String>) -> Fail {
        refused(self.line, format!("damaged: {}", what.into()))
    }

    /// Writes what the entry vouches for; says whether a text was purged.
    pub fn write(&mut self, kind: Kind) -> Result<bool, Fail> {
        match kind {
            Kind::Created => {}
            Kind::Remembered => self.version()?,
            Kind::HandedOff => self.packet()?,
            Kind::Outcome => self.outcome()?,
            Kind::Purged => return self.purge(),
            Kind::Accepted | Kind::Resumed | Kind::Released | Kind::Closed | Kind::Expired | Kind::Reopened => {
                self.step()?;
            }
        }
        Ok(false)
    }

    /// Keeps the line's text, or an empty row where it was purged.
    fn keep(&self) -> Result<i64, Fail> {
        let (nonce, body) = match &self.line.text {
            Some(text) => (text.nonce().unwrap_or_default().to_vec(), text.body.as_str()),
            None => (Vec::new(), ""),
        };
        self.conn
            .prepare_cached("INSERT INTO content (nonce, body) VALUES (?1, ?2)")?
            .execute(params![nonce, body])?;
        Ok(self.conn.last_insert_rowid())
    }

    /// Keeps the note of an entry that names one; entries that share a note come one after the other.
    fn note(&mut self) -> Result<Option<(i64, String)>, Fail> {
        let hash = self.line.text_hash();
        if hash.is_empty() {
            return Ok(None);
        }
        if let Some((content, known)) = self.last_note.as_ref()
            && *known == hash
        {
            return Ok(Some((*content, hash)));
        }
        let kept = (self.keep()?, hash);
        *self.last_note = Some(kept.clone());
        Ok(Some(kept))
    }

    fn pinned(&self, scope: &str, key: &str, number: u64) -> Result<Version, Fail> {
        let at = Address {
            scope: Scope::new(scope)?,
            key: Key::new(key)?,
        };
        versions::numbered(self.conn, self.project.id, &at, number, Budget(0))?
            .ok_or_else(|| self.refused(format!("it is about {at} version {number}, which is not there")))
    }

    fn version(&mut self) -> Result<(), Fail> {
        let entry = &self.line.entry;
        let (Some(part), Some(named)) = (&self.line.version, entry.version()) else {
            return Err(self.refused("it comes without its version"));
        };
        let at = Address {
            scope: Scope::new(&named.0)?,
            key: Key::new(&named.1)?,
        };
        let before = versions::current(self.conn, self.project.id, &at, Budget(0))?;
        let (number, prev_hash) = match &before {
            Some(before) => (before.version + 1, before.hash.clone()),
            None => (1, Hash::ZERO.to_string()),
        };
        if named.2 != number || part.prev_hash != prev_hash {
            return Err(self.refused("its version does not follow from the one before it"));
        }
        rows::version(
            self.conn,
            &rows::Version {
                project: self.project.id,
                seq: entry.seq,
                body: &part.body(entry, &self.project.home, &named),
                hash: &entry.digest,
                content: self.keep()?,
                text: self.line.text.as_ref().map(|text| text.body.as_str()),
                before: before.map(|before| before.id),
            },
        )?;
        Ok(())
    }

    fn packet(&mut self) -> Result<(), Fail> {
        let (entry, Some(part)) = (&self.line.entry, &self.line.packet) else {
            return Err(self.refused("it comes without its packet"));
        };
        let before = ledger::checkpoint(self.conn, &self.project.home)?.map(|checkpoint| checkpoint.to_string());
        if before.as_ref() != Some(&part.checkpoint) {
            return Err(self.refused("it does not carry the checkpoint of the ledger before it"));
        }
        let mut pins = Vec::new();
        for (scope, key, number, hash) in &part.refs {
            let pinned = self.pinned(scope, key, *number)?;
            if pinned.hash != *hash {
                return Err(self.refused("it pins a version that has another hash"));
            }
            pins.push(pinned.id);
        }
        let body = part.body(entry, &self.project.home);
        rows::packet(self.conn, self.project.id, entry.seq, &body, self.keep()?, &pins)
    }

    /// One more step in the life of a packet.
    fn step(&mut self) -> Result<(), Fail> {
        let entry = &self.line.entry;
        let found = rows::life(self.conn, self.project.id, &entry.subject).optional()?;
        let mut life = found.ok_or_else(|| self.refused("it is about a packet that is not there"))?;
        let step = Step {
            seq: signed(entry.seq),
            at: entry.at.clone(),
            agent: entry.agent.clone(),
            session: entry.session.clone(),
            kind: entry.kind.clone(),
            detail: entry.detail.clone(),
        };
        life.apply(&step).map_err(|what| self.refused(what))?;
        rows::set_life(self.conn, &entry.subject, &life)?;
        match self.note()? {
            Some((content, _)) => rows::note(self.conn, &entry.subject, entry.seq, content),
            None => Ok(()),
        }
    }

    fn outcome(&mut self) -> Result<(), Fail> {
        let note = self.note()?;
        let (entry, detail) = (&self.line.entry, &self.line.entry.detail);
        let text = |name: &str| detail[name].as_str().unwrap_or_default();
        let version = self.pinned(text("scope"), text("key"), detail["version"].as_u64().unwrap_or(0))?;
        let (before, after) = (version.opinion, version.opinion.after(text("outcome") == "success"));
        let said = |name: &str| detail[name].as_f64();
        if said("before") != Some(before.confidence.get()) || said("after") != Some(after.confidence.get()) {
            return Err(self.refused("its confidence does not follow from the outcomes before it"));
        }
        rows::outcome(
            self.conn,
            &rows::Outcome {
                id: &entry.subject,
                project: self.project.id,
                seq: entry.seq,
                outcome_ref: text("outcome_ref"),
                version: version.id,
                handoff: detail["handoff_id"].as_str(),
                outcome: text("outcome"),
                note: note.as_ref().map(|(content, hash)| (*content, hash.as_str())),
                author: &entry.agent,
                session: entry.session.as_deref(),
                at: &entry.at,
                before,
                after,
            },
        )
    }

    /// A text that was purged there is purged here, too.
    fn purge(&mut self) -> Result<bool, Fail> {
        let entry = &self.line.entry;
        let hash = entry.detail["hash"].as_str().unwrap_or_default();
        let texts = purge::texts_of(self.conn, self.project.id, &entry.subject, hash)?;
        if texts.is_empty() {
            return Err(self.refused("it is about a text that is not there"));
        }
        let mut any = false;
        for content in texts {
            any |= purge::empty(self.conn, content)?;
        }
        Ok(any)
    }
}
