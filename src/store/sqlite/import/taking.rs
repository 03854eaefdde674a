//! One line of an export: what its entry vouches for, checked and written.

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::Value;

use super::super::fail::Fail;
use super::super::ledger::{self, ProjectRow, signed};
use super::super::rows;
use super::super::versions::{self, Budget};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::replay::Step;
use crate::domain::handoff::{HandoffId, Origin, PacketBody, Texts};
use crate::domain::ledger::Kind;
use crate::domain::outcome::{OutcomeDetail, Report};
use crate::domain::purge::is_outcome_id;
use crate::domain::record::{Tags, VersionBody, version_subject};
use crate::domain::transfer::EntryLine;
use crate::domain::{
    Address, Agent, Confidence, Hash, JsonText, Key, OutcomeRef, Owner, Scope, canonical::canonical, limits,
};

use super::{refused, same};

/// One line on its way into the tables.
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
        let line = self.line;
        let extra = (line.version.is_some(), line.packet.is_some());
        if extra != (kind == Kind::Remembered, kind == Kind::HandedOff) {
            return Err(self.refused("it comes without what it vouches for, or with something else"));
        }
        match kind {
            Kind::Created => {
                if self.line.entry.seq != 1 {
                    return Err(self.refused("its project is there already"));
                }
            }
            Kind::Remembered => self.version()?,
            Kind::HandedOff => self.packet()?,
            Kind::Outcome => self.outcome()?,
            Kind::Purged => return self.purge(),
            Kind::Accepted | Kind::Resumed | Kind::Released | Kind::Closed | Kind::Expired | Kind::Reopened => {
                self.step()?
            }
        }
        Ok(false)
    }

    /// Keeps the line's text, or an empty row where it was purged; it must fit `hash` and pass `check`.
    fn keep(&self, hash: &str, check: impl Fn(&str) -> bool) -> Result<i64, Fail> {
        let insert = |nonce: &[u8], body: &str| -> Result<i64, Fail> {
            self.conn
                .prepare_cached("INSERT INTO content (nonce, body) VALUES (?1, ?2)")?
                .execute(params![nonce, body])?;
            Ok(self.conn.last_insert_rowid())
        };
        match &self.line.text {
            None if self.line.purged => insert(&[], ""),
            None => Err(self.refused("its text is missing")),
            Some(_) if self.line.purged => Err(self.refused("it is purged, and has a text")),
            Some(text) if !text.fits(hash) => Err(self.refused("its text does not fit its hash")),
            Some(text) if !check(&text.body) => Err(self.refused("its text is not one that can be stored")),
            Some(text) => insert(&text.nonce().unwrap_or_default(), &text.body),
        }
    }

    /// Keeps the note of an entry that names one; entries that share a note come one after the other.
    fn note(&mut self) -> Result<Option<(i64, String)>, Fail> {
        let hash = match &self.line.entry.detail["note_hash"] {
            Value::Null => {
                if self.line.text.is_some() || self.line.purged {
                    return Err(self.refused("it has a text that it does not name"));
                }
                return Ok(None);
            }
            Value::String(hash) => hash.clone(),
            _ => return Err(self.refused("its note's hash is none")),
        };
        if let Some((content, known)) = self.last_note.as_ref()
            && *known == hash
        {
            let again = match &self.line.text {
                Some(text) => !self.line.purged && text.fits(&hash),
                None => self.line.purged,
            };
            if !again {
                return Err(self.refused("its note is not the one that it names"));
            }
            return Ok(Some((*content, hash)));
        }
        let is_note = |body: &str| {
            serde_json::from_str::<String>(body)
                .is_ok_and(|text| text.len() <= limits::NOTE_BYTES && JsonText::of(&text).as_str() == body)
        };
        let kept = (self.keep(&hash, is_note)?, hash);
        *self.last_note = Some(kept.clone());
        Ok(Some(kept))
    }

    fn version(&mut self) -> Result<(), Fail> {
        let (entry, Some(part)) = (&self.line.entry, &self.line.version) else {
            return Err(self.refused("its version is missing"));
        };
        let (scope, key, number) = entry
            .version()
            .ok_or_else(|| self.refused("it is not about a version"))?;
        same(self.line, "scope", &scope, Scope::new(&scope), Scope::as_str)?;
        same(self.line, "key", &key, Key::new(&key), Key::as_str)?;
        if let Some(agent) = &part.private_to {
            same(self.line, "reader", agent, Agent::new(agent), Agent::as_str)?;
        }
        let tags = Tags::new(&part.tags)?;
        let sure = Confidence::named("confidence", part.confidence)?;
        if !tags.iter().eq(part.tags.iter().map(String::as_str))
            || part.meta.as_ref().is_some_and(|meta| !meta.is_object())
        {
            return Err(self.refused("it has tags or meta that none can be"));
        }
        let at = Address {
            scope: Scope::new(&scope)?,
            key: Key::new(&key)?,
        };
        let before = versions::current(self.conn, self.project.id, &at, Budget(0))?;
        let expected = before.as_ref().map_or(1, |before| before.version + 1);
        let prev_hash = before
            .as_ref()
            .map_or_else(|| Hash::ZERO.to_string(), |before| before.hash.clone());
        let body = VersionBody {
            v: 1,
            workspace: self.project.home.workspace.as_str(),
            project: self.project.home.project.as_str(),
            scope: &scope,
            key: &key,
            version: number,
            value_hash: &part.value_hash,
            tags: tags.iter().collect(),
            meta: part.meta.as_ref(),
            author: &entry.agent,
            session: entry.session.as_deref(),
            private_to: part.private_to.as_deref(),
            confidence: sure.get(),
            created_at: &entry.at,
            prev_hash: &prev_hash,
        };
        if number != expected
            || version_subject(&at, number) != entry.subject
            || body.hash().to_string() != entry.digest
        {
            return Err(self.refused("its version does not follow from the one before it and its own fields"));
        }
        let is_value = |text: &str| JsonText::value("value", text).is_ok_and(|json| json.as_str() == text);
        let content = self.keep(&part.value_hash, is_value)?;
        rows::version(
            self.conn,
            &rows::Version {
                project: self.project.id,
                seq: entry.seq,
                body: &body,
                hash: &entry.digest,
                content,
                text: self.line.text.as_ref().map(|text| text.body.as_str()),
                before: before.map(|before| before.id),
            },
        )?;
        Ok(())
    }

    fn packet(&mut self) -> Result<(), Fail> {
        let (entry, Some(part)) = (&self.line.entry, &self.line.packet) else {
            return Err(self.refused("its packet is missing"));
        };
        same(
            self.line,
            "packet id",
            &entry.subject,
            HandoffId::named("id", &entry.subject),
            HandoffId::as_str,
        )?;
        if let Some(to) = &part.to_agent {
            same(self.line, "recipient", to, Agent::new(to), Agent::as_str)?;
        }
        if let Some(owner) = &part.owner {
            same(self.line, "owner", owner, Owner::new(owner), Owner::as_str)?;
        }
        if let Some(cwd) = &part.cwd {
            same(self.line, "directory", cwd, Cwd::new(cwd), Cwd::as_str)?;
        }
        for id in part.supersedes.iter().chain(&part.continues) {
            same(self.line, "link", id, HandoffId::named("id", id), HandoffId::as_str)?;
        }
        let before = ledger::checkpoint(self.conn, &self.project.home)?.map(|checkpoint| checkpoint.to_string());
        if before.as_ref() != Some(&part.checkpoint) || Origin::parse(&part.origin).is_none() {
            return Err(self.refused("it has a checkpoint or an origin that is not its own"));
        }
        let distinct: std::collections::HashSet<_> = part.refs.iter().collect();
        if part.refs.len() > limits::REFS || distinct.len() < part.refs.len() {
            return Err(self.refused("it pins too many versions, or one twice"));
        }
        let (mut pins, mut hashes) = (Vec::new(), Vec::new());
        for (scope, key, number) in &part.refs {
            let at = Address {
                scope: Scope::new(scope)?,
                key: Key::new(key)?,
            };
            let pinned = versions::numbered(self.conn, self.project.id, &at, *number, Budget(0))?
                .ok_or_else(|| self.refused(format!("it pins {at} version {number}, which is not there")))?;
            pins.push(pinned.id);
            hashes.push(pinned.hash);
        }
        let body = PacketBody {
            v: 1,
            id: &entry.subject,
            workspace: self.project.home.workspace.as_str(),
            project: self.project.home.project.as_str(),
            from_agent: &entry.agent,
            from_session: entry.session.as_deref(),
            to_agent: part.to_agent.as_deref(),
            owner: part.owner.as_deref(),
            cwd: part.cwd.as_deref(),
            origin: &part.origin,
            texts_hash: &part.texts_hash,
            refs: hashes,
            git: part.git.as_ref(),
            checkpoint: &part.checkpoint,
            created_at: &entry.at,
            expires_at: entry.detail["expires_at"].as_str(),
            supersedes: part.supersedes.as_deref(),
            continues: part.continues.as_deref(),
        };
        if body.hash().to_string() != entry.digest {
            return Err(self.refused("its fields and pins are not those that it vouches for"));
        }
        let are_texts = |body: &str| {
            serde_json::from_str::<Texts>(body)
                .ok()
                .and_then(|t| Texts::new(&t.title, &t.summary, t.next_steps, t.open_questions, t.files_touched).ok())
                .is_some_and(|texts| JsonText::of(&texts).as_str() == body)
        };
        let content = self.keep(&part.texts_hash, are_texts)?;
        rows::packet(self.conn, self.project.id, entry.seq, &body, content, &pins)
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
        same(
            self.line,
            "outcome_ref",
            text("outcome_ref"),
            OutcomeRef::new(text("outcome_ref")),
            OutcomeRef::as_str,
        )?;
        let success = Report::parse(text("outcome")).ok().and_then(Report::moves);
        let (Some(success), Some(number), true) = (success, detail["version"].as_u64(), is_outcome_id(&entry.subject))
        else {
            return Err(self.refused("it is not about an outcome"));
        };
        let at = Address {
            scope: Scope::new(text("scope"))?,
            key: Key::new(text("key"))?,
        };
        let version = versions::numbered(self.conn, self.project.id, &at, number, Budget(0))?
            .ok_or_else(|| self.refused("it is about a version that is not there"))?;
        let (before, after) = (version.opinion, version.opinion.after(success));
        let said = OutcomeDetail {
            outcome_ref: text("outcome_ref"),
            scope: at.scope.as_str(),
            key: at.key.as_str(),
            version: number,
            outcome: if success { "success" } else { "failure" },
            before: before.confidence.get(),
            after: after.confidence.get(),
            handoff_id: detail["handoff_id"].as_str(),
            note_hash: detail["note_hash"].as_str(),
        };
        if canonical(&said) != canonical(detail) {
            return Err(self.refused("it does not follow from the outcomes before it"));
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
        let texts = super::super::purge::texts_of(self.conn, self.project.id, &entry.subject, hash)?;
        if texts.is_empty() {
            return Err(self.refused("it is about a text that is not there"));
        }
        let mut any = false;
        for content in texts {
            any |= super::super::purge::empty(self.conn, content)?;
        }
        Ok(any)
    }
}
