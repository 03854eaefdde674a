//! The lines of an export: a header, then each project's ledger in order, every entry with what it vouches for, and an end.
//!
//! A ledger entry and what stands beside it are enough to make every row of the file again, so that a project that was
//! imported has the same hashes and the same checkpoint. See `docs/format.md` for the fields.

mod check;
mod survey;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::handoff::Git;
use super::invalid::shown;
use super::ledger::{Entry, EntryBody, Kind, detail};
use super::{Hash, Home, Invalid, Project, Refusal, Time, Workspace};

pub use survey::{Survey, Surveyed};

/// The format that is written; a reader refuses a newer one.
pub const FORMAT: u64 = 1;

/// One line of an export.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Line {
    /// The first one.
    Header(Header),
    /// A ledger entry with what it vouches for.
    Entry(Box<EntryLine>),
    /// The last one.
    End(EndLine),
}

/// What the file is.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// The format: 1.
    pub handoff_memory_export: u64,
    /// The id of the store that was exported.
    pub store: String,
}

/// That nothing is missing at the end.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndLine {
    /// Each project's checkpoint.
    pub end: Vec<String>,
}

/// A ledger entry with what it vouches for.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryLine {
    /// The entry.
    pub entry: EntryPart,
    /// With `remembered`: the rest of the version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<VersionPart>,
    /// With `handed_off`: the rest of the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet: Option<PacketPart>,
    /// The stored text: a version's value, a packet's texts, or the note of any other entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<TextPart>,
    /// True when that text was purged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub purged: bool,
}

/// An entry, field by field as in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntryPart {
    /// The position.
    pub seq: u64,
    /// When.
    pub at: String,
    /// Who acted.
    pub agent: String,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// What kind of thing happened.
    pub kind: String,
    /// What it happened to.
    pub subject: String,
    /// What it set.
    pub detail: Value,
    /// What it vouches for.
    pub digest: String,
    /// Its hash.
    pub hash: String,
}

/// What of a version its entry does not say.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionPart {
    /// The salted hash of its value.
    pub value_hash: String,
    /// Its tags.
    pub tags: Vec<String>,
    /// What another system keeps beside the value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
    /// The only agent that may see it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub private_to: Option<String>,
    /// The confidence that it was written with.
    pub confidence: f64,
    /// The hash of the version before, 64 zeros for the first.
    pub prev_hash: String,
}

/// What of a packet its entry does not say.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PacketPart {
    /// Whom it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<String>,
    /// Whom it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The directory that the work is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// `manual` or `automatic`.
    pub origin: String,
    /// The salted hash of its texts.
    pub texts_hash: String,
    /// The pinned versions in order: scope, key, number and hash of each.
    pub refs: Vec<(String, String, u64, String)>,
    /// The git work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<Git>,
    /// The project's checkpoint just before.
    pub checkpoint: String,
    /// The packet whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<String>,
    /// The packet whose work it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<String>,
}

/// A stored text.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextPart {
    /// The sixteen bytes that salt its hash, in hex.
    pub nonce: String,
    /// The text as it stands in the file.
    pub body: String,
}

impl EntryLine {
    /// The project that a first entry makes.
    ///
    /// # Errors
    /// When its names are none.
    pub fn home(&self) -> Result<Home, Invalid> {
        let name = |field: &str| self.entry.detail[field].as_str().unwrap_or_default();
        Ok(Home {
            workspace: Workspace::new(name("workspace"))?,
            project: Project::new(name("project"))?,
        })
    }

    /// The hash of the text that belongs to it; empty when none does.
    pub fn text_hash(&self) -> String {
        match (&self.version, &self.packet) {
            (Some(version), _) => version.value_hash.clone(),
            (None, Some(packet)) => packet.texts_hash.clone(),
            (None, None) => self.entry.detail["note_hash"].as_str().unwrap_or_default().to_owned(),
        }
    }
}

impl TextPart {
    /// A text with its nonce.
    pub fn new(nonce: &[u8], body: String) -> Self {
        let nonce = nonce.iter().map(|byte| format!("{byte:02x}")).collect();
        Self { nonce, body }
    }

    /// The nonce's bytes; none when they are not sixteen in lowercase hex.
    pub fn nonce(&self) -> Option<[u8; 16]> {
        let digits = self.nonce.as_bytes();
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let mut nonce = [0; 16];
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in nonce.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(nonce)
    }

    /// Whether the text fits a salted hash.
    pub fn fits(&self, hash: &str) -> bool {
        self.nonce()
            .is_some_and(|nonce| Hash::of_text(&nonce, &self.body).to_string() == hash)
    }
}

impl EntryPart {
    /// An entry as it was read.
    pub fn of(entry: Entry) -> Self {
        Self {
            seq: entry.seq,
            at: entry.at,
            agent: entry.agent,
            session: entry.session,
            kind: entry.kind,
            subject: entry.subject,
            detail: serde_json::from_str(&entry.detail).unwrap_or_default(),
            digest: entry.digest,
            hash: entry.hash,
        }
    }

    /// Everything that its hash covers.
    pub fn body(&self) -> EntryBody<'_> {
        EntryBody {
            seq: self.seq,
            at: &self.at,
            agent: &self.agent,
            session: self.session.as_deref(),
            kind: &self.kind,
            subject: &self.subject,
            detail: &self.detail,
            digest: &self.digest,
        }
    }

    /// Its kind, checked: the hash follows from the entry before it, time does not go back, and what vouches for itself does.
    ///
    /// # Errors
    /// Says what does not follow.
    pub fn follows(&self, hash: &str, at: &str) -> Result<Kind, String> {
        if self.body().hash(hash).to_string() != self.hash {
            return Err("its hash does not follow from the entry before it and its own fields".to_owned());
        }
        let kind = Kind::parse(&self.kind).ok_or_else(|| format!("its kind {:?} is unknown", self.kind))?;
        if Time::parse(&self.at).is_none_or(|time| time.to_string() != self.at) || self.at.as_str() < at {
            return Err("its time is unreadable or before that of the entry above it".to_owned());
        }
        if (kind == Kind::Created) != (self.seq == 1) {
            return Err("a project is created by its first entry and by no other".to_owned());
        }
        detail::check(kind, &self.detail)?;
        let detail = super::canonical::canonical(&self.detail);
        let vouches_itself = !matches!(kind, Kind::Remembered | Kind::HandedOff);
        if vouches_itself && Hash::of(&[detail.as_bytes()]).to_string() != self.digest {
            return Err("its digest is not the hash of its detail".to_owned());
        }
        Ok(kind)
    }

    /// Scope, key and number of the version that a `remembered` entry is about.
    pub fn version(&self) -> Option<(String, String, u64)> {
        serde_json::from_str(&self.subject).ok()
    }
}

/// Reads one line.
///
/// # Errors
/// When it is none of an export.
pub fn read(line: &str) -> Result<Line, Invalid> {
    let wrong = |got: String| Invalid::new("line", got, "a line of an export by `handoff-memory export`");
    // Which of the three it is shows in its first field, and an error is to name what is wrong with that one.
    let raw: &RawValue = serde_json::from_str(line).map_err(|_| wrong("no JSON".to_owned()))?;
    let text = raw.get();
    let parsed = if text.starts_with("{\"entry\"") {
        serde_json::from_str(text).map(|line| Line::Entry(Box::new(line)))
    } else if text.starts_with("{\"end\"") {
        serde_json::from_str(text).map(Line::End)
    } else {
        serde_json::from_str(text).map(Line::Header)
    };
    match parsed.map_err(|error| wrong(format!("unreadable, {}", shown(&error.to_string()))))? {
        Line::Header(header) if header.handoff_memory_export > FORMAT => Err(Invalid::new(
            "line",
            format!("of format {}", header.handoff_memory_export),
            format!("a format up to {FORMAT}; upgrade handoff-memory to read it"),
        )),
        line => Ok(line),
    }
}

/// What became of a run of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// So many entries were there before, and so many were added.
    Followed {
        /// Entries that were there.
        known: u64,
        /// Entries that were added.
        added: u64,
        /// Whether texts were purged on the way, so that the file must be cleaned.
        purged: bool,
        /// Why the next one could not be taken.
        refused: Option<Refusal>,
    },
    /// The ledgers part at this position; nothing was written.
    Diverged(u64),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_is_sixteen_bytes_in_lowercase_hex() {
        let text = |nonce: &str| TextPart {
            nonce: nonce.to_owned(),
            body: String::new(),
        };
        let bytes: [u8; 16] = std::array::from_fn(|i| i as u8 * 17);
        assert_eq!(TextPart::new(&bytes, String::new()).nonce(), Some(bytes));
        for wrong in [
            "",
            "00",
            "g0112233445566778899aabbccddeeff",
            "001122334455667788é9aabbccddeef",
        ] {
            assert_eq!(text(wrong).nonce(), None, "{wrong}");
        }
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        for wrong in ["", "[]", "{}", "{\"entry\":{}}", "{\"end\":1}", "not json"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let newer = read(r#"{"handoff_memory_export":2,"store":"x"}"#).unwrap_err();
        assert!(newer.to_string().contains("upgrade"), "{newer}");
        assert!(matches!(read(r#"{"end":[]}"#), Ok(Line::End(_))));
    }
}
