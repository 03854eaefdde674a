//! Records: appending a version.

use rusqlite::Connection;
use serde_json::json;

use super::fail::Fail;
use super::ledger::{Journal, keep, project};
use super::rows;
use super::versions::{Budget, PREVIEW, current, head_of, visible};
use crate::domain::canonical::canonical;
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::record::{NewVersion, Stored, Version, VersionBody, version_subject};
use crate::domain::{Actor, Agent, Confidence, Hash, Hint, Opinion, Refusal, Session};

/// What became of a write.
#[derive(Debug, Clone)]
pub struct Remembered {
    /// The version that is current now.
    pub version: Version,
    /// Whether it was there before: nothing was written.
    pub unchanged: bool,
    /// The version that was current before this one: number and author.
    pub over: Option<(u64, Agent)>,
}

/// Appends a version, or finds that it is there already.
pub fn remember(conn: &Connection, actor: &Actor, new: &NewVersion) -> Result<Remembered, Fail> {
    // What may be refused is looked at before the project is made, so that a refusal leaves nothing behind.
    let before = match project(conn, &actor.home)? {
        Some(row) => current(conn, row.id, &new.at, Budget::ALL)?,
        None => None,
    };
    if let Some(current) = &before {
        if !visible(current, &actor.agent) && !actor.reach.is_root() {
            return Err(
                Refusal::not_allowed(format!("{} is private to another agent", new.at), "choose another key").into(),
            );
        }
        let repeated = current.author == actor.agent
            && matches!(&current.value, Stored::Whole(text) if *text == new.value)
            && same_tags(&current.tags, new)
            && new.meta.as_ref().map(canonical) == current.meta.as_ref().map(canonical)
            && new.private_to == current.private_to
            && new
                .confidence
                .is_none_or(|c| c == current.base_confidence || c == current.opinion.confidence)
            && new
                .expected_version
                .is_none_or(|n| n == current.version || n + 1 == current.version);
        if repeated {
            return Ok(Remembered {
                version: current.clone(),
                unchanged: true,
                over: None,
            });
        }
    }
    expect(new, before.as_ref())?;

    let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
    let (content_id, value_hash) = keep(conn, new.value.as_str())?;
    let value_hash = value_hash.to_string();
    let number = before.as_ref().map_or(1, |current| current.version + 1);
    let prev_hash = before
        .as_ref()
        .map_or_else(|| Hash::ZERO.to_string(), |current| current.hash.clone());
    let confidence = new.confidence.unwrap_or(Confidence::DEFAULT);
    let body = VersionBody {
        v: 1,
        workspace: actor.home.workspace.as_str(),
        project: actor.home.project.as_str(),
        scope: new.at.scope.as_str(),
        key: new.at.key.as_str(),
        version: number,
        value_hash: &value_hash,
        tags: new.tags.iter().collect(),
        meta: new.meta.as_ref(),
        author: actor.agent.as_str(),
        session: actor.session.as_ref().map(Session::as_str),
        private_to: new.private_to.as_ref().map(Agent::as_str),
        confidence: confidence.get(),
        created_at: &journal.at,
        prev_hash: &prev_hash,
    };
    let hash = body.hash();
    let seq = journal.next_seq();
    let id = rows::version(
        conn,
        &rows::Version {
            project: journal.project.id,
            seq,
            body: &body,
            hash: &hash.to_string(),
            content: content_id,
            text: Some(new.value.as_str()),
            before: before.as_ref().map(|current| current.id),
        },
    )?;
    let subject = version_subject(&new.at, number);
    let version = Version {
        id,
        seq,
        at: new.at.clone(),
        version: number,
        value: Stored::Whole(new.value.clone()),
        tags: new.tags.iter().map(str::to_owned).collect(),
        meta: new.meta.clone(),
        author: actor.agent.clone(),
        session: actor.session.clone(),
        created_at: journal.now,
        private_to: new.private_to.clone(),
        prev_hash: prev_hash.clone(),
        hash: hash.to_string(),
        base_confidence: confidence,
        opinion: Opinion::new(confidence),
        superseded_at: None,
    };
    journal.append(NewEntry {
        kind: Kind::Remembered,
        subject,
        detail: json!({}),
        digest: Some(hash),
    })?;
    let over = before.map(|current| (current.version, current.author));
    Ok(Remembered {
        version,
        unchanged: false,
        over,
    })
}

fn same_tags(tags: &[String], new: &NewVersion) -> bool {
    tags.len() == new.tags.iter().count() && new.tags.iter().all(|tag| tags.iter().any(|known| known == tag))
}

/// Holds the write against the version that its writer counts on.
fn expect(new: &NewVersion, current: Option<&Version>) -> Result<(), Refusal> {
    let Some(expected) = new.expected_version else {
        return Ok(());
    };
    match current {
        None if expected == 0 => Ok(()),
        None => Err(Refusal::conflict(
            format!(
                "{} does not exist, and you expected version {expected}; nothing was written",
                new.at
            ),
            Hint::both(
                "leave out expected_version, or give 0 for a new record",
                "leave out --expected-version, or give 0 for a new record",
            ),
        )),
        Some(current) if current.version == expected => Ok(()),
        Some(current) => Err(Refusal::conflict(
            format!(
                "{} is at version {} by {} ({}), and you expected {}; nothing was written. It holds {}",
                new.at,
                current.version,
                current.author,
                current.created_at,
                if expected == 0 {
                    "no such record".to_owned()
                } else {
                    format!("version {expected}")
                },
                preview_of(&current.value),
            ),
            "recall it, merge, and write again with the version that you read",
        )),
    }
}

fn preview_of(value: &Stored) -> String {
    match value {
        Stored::Whole(text) => {
            let text = text.as_str();
            if text.len() <= PREVIEW {
                text.to_owned()
            } else {
                format!("{}…", head_of(text, PREVIEW))
            }
        }
        Stored::Beginning { preview, .. } => format!("{preview}…"),
        Stored::Purged(_) => "a value that was purged".to_owned(),
        Stored::Corrupt => "a value that is damaged".to_owned(),
        Stored::Redacted => "a value that is not yours to read".to_owned(),
    }
}
