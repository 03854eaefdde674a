//! Records and their versions: what is remembered, by whom, and the hash that binds each version to the one before.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Agent, Confidence, Hash, Invalid, Key, Opinion, Scope, Session, Tag, Time, limits};

/// A record's address: scope and key.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    /// Where it lives.
    pub scope: Scope,
    /// Its name there.
    pub key: Key,
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.scope, self.key)
    }
}

/// A pinned version, or (without a version) whatever is current when it is resolved.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Ref {
    /// Which record.
    pub at: Address,
    /// Which version of it, from 1.
    pub version: Option<u64>,
}

/// The tags of a version: each once, in the order in which they were given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags(Vec<Tag>);

impl Tags {
    /// Checks and collapses `texts`: at most 32 different tags of at most 64 bytes.
    ///
    /// # Errors
    /// When one is no tag or there are too many.
    pub fn new(texts: &[String]) -> Result<Self, Invalid> {
        let mut tags: Vec<Tag> = Vec::new();
        for (index, text) in texts.iter().enumerate() {
            let tag = Tag::named(&format!("tags[{index}]"), text)?;
            if !tags.contains(&tag) {
                tags.push(tag);
            }
        }
        if tags.len() > limits::TAGS {
            return Err(Invalid::new(
                "tags",
                format!("{} tags", tags.len()),
                format!("at most {}", limits::TAGS),
            ));
        }
        Ok(Self(tags))
    }

    /// The tags.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(Tag::as_str)
    }

    /// The tags as they are stored: a compact JSON array of strings.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.iter().collect::<Vec<_>>()).unwrap_or_default()
    }

    /// Whether both hold the same tags, in whatever order.
    pub fn same(&self, other: &Self) -> bool {
        self.0.len() == other.0.len() && self.0.iter().all(|tag| other.0.contains(tag))
    }
}

/// Everything of a version that its hash covers, in the order of its canonical form.
#[derive(Debug, Clone, Serialize)]
pub struct VersionBody<'a> {
    /// Who wrote it.
    pub author: &'a str,
    /// The confidence that it was written with.
    #[serde(serialize_with = "super::canonical::number")]
    pub confidence: f64,
    /// When, RFC 3339 in UTC with milliseconds.
    pub created_at: &'a str,
    /// Its name there.
    pub key: &'a str,
    /// What another system keeps beside the value.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "super::canonical::nested")]
    pub meta: Option<&'a Value>,
    /// The hash of the version before, 64 zeros for the first.
    pub prev_hash: &'a str,
    /// The only agent that may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_to: Option<&'a str>,
    /// The inner home.
    pub project: &'a str,
    /// Where the record lives.
    pub scope: &'a str,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<&'a str>,
    /// The tags, in the order in which they were given.
    pub tags: Vec<&'a str>,
    /// The format of this body: 1.
    pub v: u8,
    /// `H(nonce || value)`.
    pub value_hash: &'a str,
    /// Which version, from 1 without gaps.
    #[serde(serialize_with = "super::canonical::whole")]
    pub version: u64,
    /// The outer home.
    pub workspace: &'a str,
}

impl VersionBody<'_> {
    /// The version's hash.
    pub fn hash(&self) -> Hash {
        Hash::of_body(self)
    }
}

/// A new version to write, checked.
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// Which record.
    pub at: Address,
    /// The value.
    pub value: super::JsonText,
    /// Its tags.
    pub tags: Tags,
    /// The writer's confidence, 0.7 when silent.
    pub confidence: Option<Confidence>,
    /// The current version that the writer counts on, 0 for "must not exist".
    pub expected_version: Option<u64>,
    /// The only agent that shall see it.
    pub private_to: Option<Agent>,
    /// What another system keeps beside the value: a JSON object.
    pub meta: Option<Value>,
}

impl NewVersion {
    /// A version with a value and nothing else said.
    pub fn new(scope: Scope, key: Key, value: super::JsonText) -> Self {
        Self {
            at: Address { scope, key },
            value,
            tags: Tags::default(),
            confidence: None,
            expected_version: None,
            private_to: None,
            meta: None,
        }
    }
}

/// What stands in the place of a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Stored {
    /// The whole text, as it was written.
    Whole(super::JsonText),
    /// The beginning of a text that was too long for the reader's budget, and the length of the whole in bytes.
    Beginning {
        /// The first characters of the JSON text.
        preview: String,
        /// The whole text's length in bytes.
        bytes: u64,
    },
    /// The text was removed on purpose.
    Purged(Purged),
    /// The text is gone or does not fit its hash, without a reason on record.
    Corrupt,
    /// The text is not the caller's to read.
    Redacted,
}

/// That a text was removed on purpose.
#[derive(Debug, Clone, PartialEq)]
pub struct Purged {
    /// Who removed it.
    pub by: String,
    /// When.
    pub at: String,
    /// Why: `secret`, `personal`, `mistake` or `other`.
    pub why: String,
}

/// One version as it is read back.
#[derive(Debug, Clone)]
pub struct Version {
    /// The row's number in this file, ascending with time; never shown.
    pub id: i64,
    /// The `seq` of its ledger entry.
    pub seq: u64,
    /// Which record.
    pub at: Address,
    /// Which version of it.
    pub version: u64,
    /// Its value, or why there is none.
    pub value: Stored,
    /// Its tags.
    pub tags: Vec<String>,
    /// What another system keeps beside the value.
    pub meta: Option<Value>,
    /// Who wrote it.
    pub author: Agent,
    /// In which run.
    pub session: Option<Session>,
    /// When.
    pub created_at: Time,
    /// The only agent that may see it.
    pub private_to: Option<Agent>,
    /// The hash of the version before.
    pub prev_hash: String,
    /// Its hash.
    pub hash: String,
    /// The confidence that it was written with.
    pub base_confidence: Confidence,
    /// Its confidence and counts now.
    pub opinion: Opinion,
    /// When a newer version took its place; absent while it is current.
    pub superseded_at: Option<Time>,
}

impl Version {
    /// About how many bytes it takes in an answer.
    pub fn weight(&self) -> usize {
        let value = match &self.value {
            Stored::Whole(text) => text.as_str().len(),
            // A preview is a JSON string of JSON text: each quote in it is escaped.
            Stored::Beginning { preview, .. } => preview.len() * 2,
            Stored::Purged(_) | Stored::Corrupt | Stored::Redacted => 128,
        };
        let tags: usize = self.tags.iter().map(|tag| tag.len() + 3).sum();
        let meta = self.meta.as_ref().map_or(0, |meta| meta.to_string().len());
        value + tags + meta + self.at.scope.as_str().len() + self.at.key.as_str().len() + 420
    }
}

/// How the subject of a ledger entry names a version: a compact JSON array of scope, key and number.
pub fn version_subject(at: &Address, version: u64) -> String {
    serde_json::to_string(&(at.scope.as_str(), at.key.as_str(), version)).unwrap_or_default()
}

/// Collapses refs that name the same thing, keeping the first of each.
///
/// # Errors
/// When more than 256 remain.
pub fn distinct_refs(refs: Vec<Ref>) -> Result<Vec<Ref>, Invalid> {
    let mut seen = BTreeMap::new();
    let mut kept = Vec::new();
    for one in refs {
        if seen.insert((one.at.clone(), one.version), ()).is_none() {
            kept.push(one);
        }
    }
    if kept.len() > limits::REFS {
        return Err(Invalid::new(
            "refs",
            format!("{} refs", kept.len()),
            format!("at most {}", limits::REFS),
        ));
    }
    Ok(kept)
}

/// Reads a version number as a caller gives it.
///
/// # Errors
/// When it is 0.
pub fn version_number(field: &str, number: u64) -> Result<u64, Invalid> {
    if number == 0 {
        return Err(Invalid::new(field, "0", "a version number from 1"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_collapsed_and_counted() {
        let list = |n: usize| (0..n).map(|i| format!("t{i}")).collect::<Vec<_>>();
        assert!(Tags::new(&list(32)).is_ok());
        assert_eq!(Tags::new(&list(33)).unwrap_err().field, "tags");
        assert_eq!(
            Tags::new(&[" a ".into(), "a".into(), "b".into()]).unwrap().to_json(),
            r#"["a","b"]"#
        );
        assert_eq!(Tags::new(&["ok".into(), " ".into()]).unwrap_err().field, "tags[1]");
    }

    #[test]
    fn a_subject_cannot_be_forged_by_a_slash_or_a_quote() {
        let subject = |scope, key| {
            version_subject(
                &Address {
                    scope: Scope::new(scope).unwrap(),
                    key: Key::new(key).unwrap(),
                },
                1,
            )
        };
        assert_ne!(subject("a/b", "c"), subject("a", "b/c"));
        assert_eq!(subject("a\"", "b"), r#"["a\"","b",1]"#);
    }
}
