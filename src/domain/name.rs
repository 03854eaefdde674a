//! Names: scopes, keys, tags, agents, sessions, owners, workspaces, projects and run references.
//!
//! Every name is trimmed and in Unicode NFC, holds no control character, and has a bounded length in bytes of UTF-8.
//! A value of one of these types is always valid; there is no other way to make one than [`new`](Scope::new).

use std::fmt;

use unicode_normalization::UnicodeNormalization;

use super::invalid::shown;
use super::{Invalid, limits};

/// Trims and composes (NFC) `text`, then checks it against `limit` bytes and for control characters.
fn normalised(field: &str, text: &str, limit: usize) -> Result<String, Invalid> {
    let name: String = text.trim().nfc().collect();
    if name.is_empty() {
        return Err(Invalid::new(field, "empty", "a name that is not blank"));
    }
    if name.len() > limit {
        return Err(Invalid::new(
            field,
            format!("{} bytes", name.len()),
            format!("at most {limit} bytes"),
        ));
    }
    if name.chars().any(char::is_control) {
        return Err(Invalid::new(field, shown(&name), "text without control characters"));
    }
    Ok(name)
}

macro_rules! name {
    ($(#[$doc:meta])* $type:ident, $field:literal, $limit:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $type(String);

        impl $type {
            /// Normalises and checks `text`.
            ///
            /// # Errors
            /// When it is blank, too long, or holds a control character.
            pub fn new(text: &str) -> Result<Self, Invalid> {
                Self::named($field, text)
            }

            /// Like [`new`](Self::new), for an argument that is called `field`.
            ///
            /// # Errors
            /// When it is blank, too long, or holds a control character.
            pub fn named(field: &str, text: &str) -> Result<Self, Invalid> {
                normalised(field, text, $limit).map(Self)
            }

            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name!(
    /// Where a record lives: path segments separated by `/`, compared exactly. At most 512 bytes.
    Scope, "scope", limits::NAME_BYTES
);
name!(
    /// A record's name inside its scope, compared exactly. At most 512 bytes.
    Key, "key", limits::NAME_BYTES
);
name!(
    /// A label on a version, compared exactly. At most 64 bytes.
    Tag, "tags", limits::TAG_BYTES
);
name!(
    /// One run of an agent: a process, a client session. At most 256 bytes.
    Session, "session", limits::SHORT_NAME_BYTES
);
name!(
    /// The person that an agent acts for, compared exactly. At most 256 bytes.
    Owner, "owner", limits::SHORT_NAME_BYTES
);
name!(
    /// The outer of a record's two homes. At most 256 bytes.
    Workspace, "workspace", limits::SHORT_NAME_BYTES
);
name!(
    /// The inner of a record's two homes. At most 256 bytes.
    Project, "project", limits::SHORT_NAME_BYTES
);
name!(
    /// The run, ticket or commit that an outcome is about. At most 256 bytes.
    OutcomeRef, "outcome_ref", limits::SHORT_NAME_BYTES
);

/// Who acts. Kept as it was written, compared without regard to case. At most 256 bytes.
#[derive(Debug, Clone)]
pub struct Agent(String);

impl Agent {
    /// Normalises and checks `text`.
    ///
    /// # Errors
    /// When it is blank, too long, or holds a control character.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        Self::named("agent", text)
    }

    /// Like [`new`](Self::new), for an argument that is called `field`.
    ///
    /// # Errors
    /// When it is blank, too long, or holds a control character.
    pub fn named(field: &str, text: &str) -> Result<Self, Invalid> {
        normalised(field, text, limits::SHORT_NAME_BYTES).map(Self)
    }

    /// The name as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The form in which two agents are the same.
    pub fn folded(&self) -> String {
        fold(&self.0)
    }
}

impl PartialEq for Agent {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.folded() == other.folded()
    }
}

impl Eq for Agent {}

impl fmt::Display for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Folds an agent's name so that names which differ in case alone become equal.
pub fn fold(name: &str) -> String {
    name.to_lowercase().nfc().collect()
}

/// The names nearest to `name`, at most three, nearest first; those that resemble it too little are left out.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let wanted = fold(name);
    let mut scored: Vec<(f64, &str)> = known
        .into_iter()
        .map(|other| (strsim::jaro_winkler(&wanted, &fold(other)), other))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(b.1)));
    scored.into_iter().take(3).map(|(_, other)| other.to_owned()).collect()
}

/// Percent-encodes every byte that is not an ASCII letter, digit or one of `-._~` (RFC 3986, unreserved).
pub fn percent_encoded(text: &str) -> String {
    use fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

/// Undoes [`percent_encoded`]; `None` when an escape is broken or the bytes are no UTF-8.
pub fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let hex = [rest.next()?, rest.next()?];
            // The standard reading of numbers would take a sign, too.
            let hex = std::str::from_utf8(&hex).ok().filter(|hex| !hex.starts_with('+'))?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_trimmed_and_composed() {
        assert_eq!(Scope::new("  cafe\u{301} ").unwrap().as_str(), "café");
        assert_eq!(Scope::new(" \t ").unwrap_err().got, "empty");
        assert!(Key::new("a\u{7}b").is_err());
        assert!(Key::new(&"k".repeat(512)).is_ok());
        assert_eq!(Key::new(&"k".repeat(513)).unwrap_err().got, "513 bytes");
    }

    #[test]
    fn agents_compare_without_case() {
        assert_eq!(Agent::new(" Reviewer ").unwrap(), Agent::new("reviewer").unwrap());
        assert_eq!(Agent::new("ÉCOLE").unwrap(), Agent::new("e\u{301}cole").unwrap());
        assert_ne!(Agent::new("a").unwrap(), Agent::new("b").unwrap());
    }

    #[test]
    fn the_nearest_names_come_first() {
        assert_eq!(nearest("Revewer", ["scout", "reviewer", "codex"]), ["reviewer"]);
        assert!(nearest("zzz", ["scout"]).is_empty());
    }

    #[test]
    fn percent_encoding_goes_both_ways() {
        assert_eq!(percent_encoded("a b:ü"), "a%20b%3A%C3%BC");
        assert_eq!(percent_decoded("a%20b%3A%C3%BC").unwrap(), "a b:ü");
        assert_eq!(percent_decoded("%zz"), None);
        assert_eq!(percent_decoded("%4"), None);
        assert_eq!(percent_decoded("%+1"), None);
    }
}
