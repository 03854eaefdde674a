//! The ledger: the append-only, hash-chained list of everything that happened in a project, and its checkpoints.

pub mod detail;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::name::{percent_decoded, percent_encoded};
use super::{Agent, Hash, Invalid, Session, Time};

/// What kind of thing happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// The project came into being; always its first entry.
    Created,
    /// A version was written.
    Remembered,
    /// A packet was written.
    HandedOff,
    /// A packet was claimed, or taken over after its lease had lapsed.
    Accepted,
    /// A claimed packet was taken up again by its agent.
    Resumed,
    /// A claimed packet was given back.
    Released,
    /// A claimed packet came to its end.
    Closed,
    /// An open packet ended without being claimed: by its time, by its author, or by a newer one.
    Expired,
    /// A packet that its time had ended was opened again.
    Reopened,
    /// An outcome moved the opinion of a version.
    Outcome,
    /// A stored text was removed on purpose.
    Purged,
}

impl Kind {
    const ALL: [(Kind, &'static str); 11] = [
        (Kind::Created, "created"),
        (Kind::Remembered, "remembered"),
        (Kind::HandedOff, "handed_off"),
        (Kind::Accepted, "accepted"),
        (Kind::Resumed, "resumed"),
        (Kind::Released, "released"),
        (Kind::Closed, "closed"),
        (Kind::Expired, "expired"),
        (Kind::Reopened, "reopened"),
        (Kind::Outcome, "outcome"),
        (Kind::Purged, "purged"),
    ];

    /// The kind's name in the ledger.
    pub fn as_str(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// The kind of this name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(kind, _)| *kind)
    }
}

/// What is about to be appended.
#[derive(Debug, Clone)]
pub struct NewEntry {
    /// What kind of thing happened.
    pub kind: Kind,
    /// What it happened to: a version's subject, a packet's id, an outcome's id, or the project.
    pub subject: String,
    /// What later fields it set, as a JSON object without free text.
    pub detail: Value,
    /// The version's or the packet's hash; absent: the hash of `detail`.
    pub digest: Option<Hash>,
}

/// Who does something, and when: the part of an entry that is the same for all entries of one call.
#[derive(Debug, Clone)]
pub struct Stamp {
    /// The instant.
    pub at: Time,
    /// Who acts.
    pub agent: Agent,
    /// In which run.
    pub session: Option<Session>,
}

/// Everything of an entry that its hash covers, in the order of its canonical form.
#[derive(Debug, Serialize)]
pub struct EntryBody<'a> {
    /// Who acted.
    pub agent: &'a str,
    /// When, RFC 3339 in UTC with milliseconds; never before the entry above.
    pub at: &'a str,
    /// What it set.
    #[serde(serialize_with = "super::canonical::nested")]
    pub detail: &'a Value,
    /// What it vouches for.
    pub digest: &'a str,
    /// What kind of thing happened.
    pub kind: &'a str,
    /// The position, from 1 without gaps.
    #[serde(serialize_with = "super::canonical::whole")]
    pub seq: u64,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// What it happened to.
    pub subject: &'a str,
}

impl EntryBody<'_> {
    /// The entry's hash: `H(previous hash in hex || canonical body)`.
    pub fn hash(&self, previous: &str) -> Hash {
        Hash::of(&[previous.as_bytes(), super::canonical::ordered(self).as_bytes()])
    }
}

/// One entry as it is read back.
#[derive(Debug, Clone)]
pub struct Entry {
    /// The position.
    pub seq: u64,
    /// When.
    pub at: String,
    /// Who acted.
    pub agent: String,
    /// In which run.
    pub session: Option<String>,
    /// What kind of thing happened.
    pub kind: String,
    /// What it happened to.
    pub subject: String,
    /// What it set, as canonical JSON text.
    pub detail: String,
    /// What it vouches for.
    pub digest: String,
    /// Its hash.
    pub hash: String,
}

/// An entry as one caller may see it.
#[derive(Debug, Clone)]
pub enum Told {
    /// Whole, with the note that came with it, where it was asked for and is there.
    Whole(Entry, Option<String>),
    /// Without what it set: its caller may see that something happened, and to what.
    Outlined(Entry),
    /// It is about something that is not the caller's to know: only its place in the chain is shown.
    Redacted {
        /// The position.
        seq: u64,
        /// When.
        at: String,
        /// Its hash.
        hash: String,
    },
}

impl Told {
    /// Its position.
    pub fn seq(&self) -> u64 {
        match self {
            Self::Whole(entry, _) | Self::Outlined(entry) => entry.seq,
            Self::Redacted { seq, .. } => *seq,
        }
    }
}

/// One string that pins a project's whole ledger: `hm1:<store>:<workspace>:<project>:<seq>:<hash>`, the names
/// percent-encoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// The store id of the project's `created` entry.
    pub store: String,
    /// The outer home.
    pub workspace: String,
    /// The inner home.
    pub project: String,
    /// The position that is pinned.
    pub seq: u64,
    /// The hash of the entry there.
    pub hash: Hash,
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "hm1:{}:{}:{}:{}:{}",
            percent_encoded(&self.store),
            percent_encoded(&self.workspace),
            percent_encoded(&self.project),
            self.seq,
            self.hash
        )
    }
}

impl Checkpoint {
    /// Reads what [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    /// When the text has another form.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::read(text.trim()).ok_or_else(|| {
            Invalid::new(
                "checkpoint",
                super::invalid::shown(text),
                "hm1:<store>:<workspace>:<project>:<seq>:<hash>, as `checkpoint` gives it",
            )
        })
    }

    fn read(text: &str) -> Option<Self> {
        let mut parts = text.split(':');
        if parts.next()? != "hm1" {
            return None;
        }
        let mut name = || parts.next().and_then(percent_decoded).filter(|name| !name.is_empty());
        let (store, workspace, project) = (name()?, name()?, name()?);
        let seq = parts.next()?.parse().ok().filter(|seq| *seq > 0)?;
        let hash = Hash::parse(parts.next()?)?;
        parts.next().is_none().then_some(Self {
            store,
            workspace,
            project,
            seq,
            hash,
        })
    }
}

/// How the subject of a `created` entry names a project.
pub fn project_subject(workspace: &str, project: &str) -> String {
    format!("{}/{}", percent_encoded(workspace), percent_encoded(project))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn checkpoints_are_read_back(store in "\\PC{1,20}", workspace in "\\PC{1,20}", project in "\\PC{1,20}", seq in 1..u64::MAX) {
            let point = Checkpoint { store, workspace, project, seq, hash: Hash::of(&[b"x"]) };
            prop_assert_eq!(Checkpoint::parse(&point.to_string()).unwrap(), point);
        }

        #[test]
        fn any_other_text_is_refused(text in "\\PC{0,80}") {
            prop_assert!(Checkpoint::parse(&text).is_err());
        }
    }

    /// The hashes of a ledger whose entries have these agents, subjects and details.
    fn chain(entries: &[(String, String, i64)]) -> Vec<String> {
        let mut hashes = vec![Hash::ZERO.to_string()];
        for (place, (agent, subject, number)) in entries.iter().enumerate() {
            let detail = serde_json::json!({ "n": number });
            let body = EntryBody {
                seq: place as u64 + 1,
                at: "2026-12-01T08:30:00.120Z",
                agent,
                session: None,
                kind: "remembered",
                subject,
                detail: &detail,
                digest: "d",
            };
            let hash = body.hash(&hashes[place]).to_string();
            hashes.push(hash);
        }
        hashes
    }

    proptest! {
        #[test]
        fn every_change_changes_all_that_follows(
            entries in proptest::collection::vec(("[a-z]{1,8}", "\\PC{1,12}", any::<i64>()), 1..12),
            place in any::<proptest::sample::Index>(),
            field in 0..3,
        ) {
            let place = place.index(entries.len());
            let mut changed = entries.clone();
            match field {
                0 => changed[place].0.push('x'),
                1 => changed[place].1.push('x'),
                _ => changed[place].2 = changed[place].2.wrapping_add(1 << 54),
            }
            let (before, after) = (chain(&entries), chain(&changed));
            prop_assert_eq!(&before[..=place], &after[..=place]);
            prop_assert!(before[place + 1..].iter().zip(&after[place + 1..]).all(|(a, b)| a != b));
        }
    }

    #[test]
    fn kinds_go_to_text_and_back() {
        for (kind, name) in Kind::ALL {
            assert_eq!(kind.as_str(), name);
            assert_eq!(Kind::parse(name), Some(kind));
        }
    }
}
