//! What an entry vouches for, held against its own line: everything that can be proved without the store.

use serde_json::{Value, json};

use super::{EntryLine, EntryPart, PacketPart, VersionPart};
use crate::domain::canonical::canonical;
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{HandoffId, Origin, PacketBody, Texts};
use crate::domain::ledger::{Kind, project_subject};
use crate::domain::outcome::{OutcomeDetail, Report};
use crate::domain::purge::is_outcome_id;
use crate::domain::record::{Tags, VersionBody, version_subject};
use crate::domain::{
    Address, Agent, Confidence, Hash, Home, Invalid, JsonText, Key, OutcomeRef, Owner, Scope, Session, limits,
};

/// A name that must be as its constructor would have made it.
fn same<T>(field: &str, text: &str, made: Result<T, Invalid>, back: impl Fn(&T) -> &str) -> Result<(), String> {
    match made {
        Ok(name) if back(&name) == text => Ok(()),
        _ => Err(format!("it has a {field} that none can be")),
    }
}

fn agent(field: &str, text: &str) -> Result<(), String> {
    same(field, text, Agent::new(text), Agent::as_str)
}

fn packet_id(field: &str, text: &str) -> Result<(), String> {
    same(field, text, HandoffId::named("id", text), HandoffId::as_str)
}

fn address(scope: &str, key: &str) -> Result<Address, String> {
    same("scope", scope, Scope::new(scope), Scope::as_str)?;
    same("key", key, Key::new(key), Key::as_str)?;
    let said = |invalid: Invalid| invalid.to_string();
    Ok(Address {
        scope: Scope::new(scope).map_err(said)?,
        key: Key::new(key).map_err(said)?,
    })
}

impl EntryLine {
    /// Checks that the line holds what an entry of this kind vouches for, in a form that it can have had, and that every hash that
    /// stands in it fits.
    ///
    /// # Errors
    /// Says what does not.
    pub fn check(&self, kind: Kind, home: &Home) -> Result<(), String> {
        let entry = &self.entry;
        agent("agent", &entry.agent)?;
        if let Some(session) = &entry.session {
            same("session", session, Session::new(session), Session::as_str)?;
        }
        match (kind, &self.version, &self.packet) {
            (Kind::Remembered, Some(version), None) => version.check(entry, home)?,
            (Kind::HandedOff, None, Some(packet)) => packet.check(entry, home)?,
            (Kind::Remembered | Kind::HandedOff, ..) => return Err("it comes without what it vouches for".to_owned()),
            (_, None, None) => {}
            _ => return Err("it comes with what another kind of entry vouches for".to_owned()),
        }
        match kind {
            Kind::Created => created(entry, home)?,
            Kind::Outcome => outcome(entry)?,
            Kind::Accepted | Kind::Resumed | Kind::Released | Kind::Closed | Kind::Expired | Kind::Reopened => {
                packet_id("packet id", &entry.subject)?;
            }
            Kind::Remembered | Kind::HandedOff | Kind::Purged => {}
        }
        self.text_fits(kind)
    }

    /// The stored text must fit the hash that names it, and be one that can be stored.
    fn text_fits(&self, kind: Kind) -> Result<(), String> {
        let hash = self.text_hash();
        match (&self.text, self.purged) {
            (None, false) if hash.is_empty() => Ok(()),
            (None, true) if !hash.is_empty() => Ok(()),
            (None, _) if hash.is_empty() => Err("it has no text that could be purged".to_owned()),
            (None, _) => Err("its text is missing".to_owned()),
            (Some(_), true) => Err("it is purged, and has a text".to_owned()),
            (Some(_), _) if hash.is_empty() => Err("it has a text that it does not name".to_owned()),
            (Some(text), _) if !text.fits(&hash) => Err("its text does not fit its hash".to_owned()),
            (Some(text), _) if !is_stored_text(kind, &text.body) => {
                Err("its text is not one that can be stored".to_owned())
            }
            (Some(_), _) => Ok(()),
        }
    }
}

/// Whether a text is what an entry of this kind can keep.
fn is_stored_text(kind: Kind, body: &str) -> bool {
    match kind {
        Kind::Remembered => JsonText::value("value", body).is_ok_and(|json| json.as_str() == body),
        Kind::HandedOff => serde_json::from_str::<Texts>(body)
            .ok()
            .and_then(|t| Texts::new(&t.title, &t.summary, t.next_steps, t.open_questions, t.files_touched).ok())
            .is_some_and(|texts| JsonText::of(&texts).as_str() == body),
        _ => serde_json::from_str::<String>(body)
            .is_ok_and(|note| note.len() <= limits::NOTE_BYTES && JsonText::of(&note).as_str() == body),
    }
}

fn created(entry: &EntryPart, home: &Home) -> Result<(), String> {
    let (workspace, name) = (home.workspace.as_str(), home.project.as_str());
    let store = entry.detail["store"].as_str().unwrap_or_default();
    let hex = store.len() == 32 && store.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let said = json!({ "store": store, "workspace": workspace, "project": name });
    if hex && canonical(&said) == canonical(&entry.detail) && entry.subject == project_subject(workspace, name) {
        Ok(())
    } else {
        Err("it is not about the making of its project".to_owned())
    }
}

fn outcome(entry: &EntryPart) -> Result<(), String> {
    let detail = &entry.detail;
    let text = |name: &str| detail[name].as_str().unwrap_or_default();
    let number = |name: &str| detail[name].as_f64().unwrap_or(f64::NAN);
    let run = text("outcome_ref");
    same("outcome_ref", run, OutcomeRef::new(run), OutcomeRef::as_str)?;
    let at = address(text("scope"), text("key"))?;
    let moves = Report::parse(text("outcome"))
        .ok()
        .filter(|report| report.moves().is_some());
    for name in ["before", "after"] {
        Confidence::named(name, number(name)).map_err(|invalid| invalid.to_string())?;
    }
    if let Some(id) = detail["handoff_id"].as_str() {
        packet_id("handoff_id", id)?;
    }
    if let Value::String(hash) = &detail["note_hash"] {
        Hash::parse(hash).ok_or_else(|| "its note's hash is none".to_owned())?;
    }
    let said = OutcomeDetail {
        outcome_ref: run,
        scope: at.scope.as_str(),
        key: at.key.as_str(),
        version: detail["version"].as_u64().unwrap_or(0),
        outcome: moves.map_or("", Report::as_str),
        before: number("before"),
        after: number("after"),
        handoff_id: detail["handoff_id"].as_str(),
        note_hash: detail["note_hash"].as_str(),
    };
    if is_outcome_id(&entry.subject) && canonical(&said) == canonical(detail) {
        Ok(())
    } else {
        Err("it is not about an outcome".to_owned())
    }
}

impl VersionPart {
    /// The body whose hash the entry vouches for; the entry's subject names the version.
    pub fn body<'a>(
        &'a self,
        entry: &'a EntryPart,
        home: &'a Home,
        named: &'a (String, String, u64),
    ) -> VersionBody<'a> {
        VersionBody {
            v: 1,
            workspace: home.workspace.as_str(),
            project: home.project.as_str(),
            scope: &named.0,
            key: &named.1,
            version: named.2,
            value_hash: &self.value_hash,
            tags: self.tags.iter().map(String::as_str).collect(),
            meta: self.meta.as_ref(),
            author: &entry.agent,
            session: entry.session.as_deref(),
            private_to: self.private_to.as_deref(),
            confidence: self.confidence,
            created_at: &entry.at,
            prev_hash: &self.prev_hash,
        }
    }

    fn check(&self, entry: &EntryPart, home: &Home) -> Result<(), String> {
        let named = entry.version().ok_or_else(|| "it is not about a version".to_owned())?;
        let at = address(&named.0, &named.1)?;
        if let Some(reader) = &self.private_to {
            agent("reader", reader)?;
        }
        let tags = Tags::new(&self.tags).map_err(|invalid| invalid.to_string())?;
        Confidence::named("confidence", self.confidence).map_err(|invalid| invalid.to_string())?;
        let objects = self.meta.as_ref().is_none_or(Value::is_object);
        if !objects || !tags.iter().eq(self.tags.iter().map(String::as_str)) {
            return Err("it has tags or meta that none can be".to_owned());
        }
        if version_subject(&at, named.2) != entry.subject
            || self.body(entry, home, &named).hash().to_string() != entry.digest
        {
            return Err("its version's fields are not those that it vouches for".to_owned());
        }
        Ok(())
    }
}

impl PacketPart {
    /// The body whose hash the entry vouches for.
    pub fn body<'a>(&'a self, entry: &'a EntryPart, home: &'a Home) -> PacketBody<'a> {
        PacketBody {
            v: 1,
            id: &entry.subject,
            workspace: home.workspace.as_str(),
            project: home.project.as_str(),
            from_agent: &entry.agent,
            from_session: entry.session.as_deref(),
            to_agent: self.to_agent.as_deref(),
            owner: self.owner.as_deref(),
            cwd: self.cwd.as_deref(),
            origin: &self.origin,
            texts_hash: &self.texts_hash,
            refs: self.refs.iter().map(|(_, _, _, hash)| hash.clone()).collect(),
            git: self.git.as_ref(),
            checkpoint: &self.checkpoint,
            created_at: &entry.at,
            expires_at: entry.detail["expires_at"].as_str(),
            supersedes: self.supersedes.as_deref(),
            continues: self.continues.as_deref(),
        }
    }

    fn check(&self, entry: &EntryPart, home: &Home) -> Result<(), String> {
        packet_id("packet id", &entry.subject)?;
        if let Some(to) = &self.to_agent {
            agent("recipient", to)?;
        }
        if let Some(owner) = &self.owner {
            same("owner", owner, Owner::new(owner), Owner::as_str)?;
        }
        if let Some(cwd) = &self.cwd {
            same("directory", cwd, Cwd::new(cwd), Cwd::as_str)?;
        }
        for id in self.supersedes.iter().chain(&self.continues) {
            packet_id("link", id)?;
        }
        let mut pinned = std::collections::HashSet::new();
        for (scope, key, number, _) in &self.refs {
            address(scope, key)?;
            if !pinned.insert((scope, key, number)) || pinned.len() > limits::REFS {
                return Err("it pins too many versions, or one twice".to_owned());
            }
        }
        if Origin::parse(&self.origin).is_none() || self.body(entry, home).hash().to_string() != entry.digest {
            return Err("its packet's fields and pins are not those that it vouches for".to_owned());
        }
        Ok(())
    }
}
