//! Removing a stored text on purpose: which ones, and why.

use super::handoff::HandoffId;
use super::invalid::shown;
use super::{Address, Home, Invalid};

/// Why a text is removed; it stands in the ledger for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A credential.
    Secret,
    /// Something about a person.
    Personal,
    /// It should never have been written.
    Mistake,
    /// Something else.
    Other,
}

impl Reason {
    const ALL: [Reason; 4] = [Self::Secret, Self::Personal, Self::Mistake, Self::Other];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "secret",
            Self::Personal => "personal",
            Self::Mistake => "mistake",
            Self::Other => "other",
        }
    }

    /// Reads the word, in whatever case.
    ///
    /// # Errors
    /// When it is none of the four.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        Self::ALL
            .into_iter()
            .find(|reason| reason.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| Invalid::new("why", shown(text), "secret, personal, mistake or other"))
    }
}

/// Which texts are to be removed.
#[derive(Debug, Clone)]
pub enum Target {
    /// The value of one version of a record, or of all of them.
    Record(Address, Option<u64>),
    /// A packet's texts, and every note on it.
    Packet(HandoffId),
    /// The note of an outcome.
    Outcome(String),
    /// Every text of the whole file that holds this.
    Containing(String),
}

impl Target {
    /// Texts that hold `text`, which must not be blank.
    ///
    /// # Errors
    /// When it is.
    pub fn containing(text: &str) -> Result<Self, Invalid> {
        if text.trim().is_empty() {
            return Err(Invalid::new("containing", "blank", "the text to look for"));
        }
        Ok(Self::Containing(text.to_owned()))
    }

    /// The note of an outcome, by its id: `o_` and 16 lowercase hex digits.
    ///
    /// # Errors
    /// When it has another form.
    pub fn outcome(id: &str) -> Result<Self, Invalid> {
        if is_outcome_id(id.trim()) {
            Ok(Self::Outcome(id.trim().to_owned()))
        } else {
            Err(Invalid::new(
                "outcome",
                shown(id),
                "an id such as o_0123456789abcdef, as `log` shows it",
            ))
        }
    }
}

/// Whether this is an outcome's id.
pub fn is_outcome_id(id: &str) -> bool {
    id.strip_prefix("o_").is_some_and(|digits| {
        digits.len() == 16 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Which kind of text it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// A version's value.
    Value,
    /// A packet's title, summary and lists.
    Texts,
    /// What was said beside an outcome or the end of a packet.
    Note,
}

impl What {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Texts => "texts",
            Self::Note => "note",
        }
    }
}

/// A stored text under one of the things that refer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// The project.
    pub home: Home,
    /// What it belongs to: a version's subject, a packet's id, an outcome's id.
    pub subject: String,
    /// Which kind of text it is.
    pub what: What,
    /// Its salted hash.
    pub hash: String,
    /// Where it is kept; only means something in this file.
    pub content: i64,
}

/// What a search for texts to remove found.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The texts, one for each thing that refers to one.
    pub texts: Vec<Held>,
    /// Names inside hashes that hold the text that was looked for; they cannot be removed. At most twenty.
    pub names: Vec<String>,
    /// How many of those there are.
    pub names_total: u64,
}

/// Whether a stored JSON text holds `needle`: as it stands, or in one of its strings once they are read.
pub fn holds(body: &str, needle: &str) -> bool {
    body.contains(needle)
        || (body.contains('\\') && serde_json::from_str(body).is_ok_and(|value| any_string(&value, needle)))
}

fn any_string(value: &serde_json::Value, needle: &str) -> bool {
    match value {
        serde_json::Value::String(text) => text.contains(needle),
        serde_json::Value::Array(items) => items.iter().any(|item| any_string(item, needle)),
        serde_json::Value::Object(fields) => {
            let mut fields = fields.iter();
            fields.any(|(name, field)| name.contains(needle) || any_string(field, needle))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_found_however_it_is_escaped() {
        let body = r#"{"a":["line\none \"quoted\""],"k\tey":7}"#;
        for needle in ["line\none", "\"quoted\"", "k\tey", "\"a\"", "7"] {
            assert!(holds(body, needle), "{needle}");
        }
        assert!(!holds(body, "absent"));
        assert!(Target::containing(" \n").is_err());
    }
}
