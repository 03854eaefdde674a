//! What a record is indexed under, as the line of terms that FTS5 stores.
//!
//! Every term starts with the project's number and a letter for its kind: a search never reads another project's
//! lists, and needs no term for its own project beside the words.

use std::collections::BTreeSet;

use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use sha2::{Digest, Sha256};

use crate::domain::query::{Piece, split};

/// What the index needs of a current version.
#[derive(Debug, Clone, Copy)]
pub struct Indexed<'a> {
    /// The project's row id.
    pub project: i64,
    /// The record's scope.
    pub scope: &'a str,
    /// The record's key.
    pub key: &'a str,
    /// The tags, as the JSON array that is stored.
    pub tags: &'a str,
    /// The only agent that may see it, as agents are compared.
    pub private_to: Option<&'a str>,
    /// The value's JSON text; `None` once it was purged.
    pub body: Option<&'a str>,
}

/// The kinds of term that narrow a search; words have [`WORD`].
#[derive(Clone, Copy)]
pub(super) enum Filter<'a> {
    /// Every record of the project.
    Any,
    /// A scope and all below it.
    Scope(&'a str),
    Key(&'a str),
    Tag(&'a str),
    /// Every record that is private to somebody.
    Private,
    PrivateTo(&'a str),
}

/// The letter of words.
pub(super) const WORD: char = 'w';
/// The letter of the term that keeps phrases from running from one text into the next.
const BORDER: char = 'x';

impl Filter<'_> {
    /// The term. Names of any length and content become 80 bits of their hash: two names that agree in them are not
    /// met by chance, and no name is cut or folded.
    pub(super) fn term(self, project: i64) -> String {
        let (letter, name) = match self {
            Self::Any => return format!("{project}a"),
            Self::Private => return format!("{project}p"),
            Self::Scope(name) => ('s', name),
            Self::Key(name) => ('k', name),
            Self::Tag(name) => ('t', name),
            Self::PrivateTo(name) => ('v', name),
        };
        let mut term = format!("{project}{letter}");
        for byte in &Sha256::digest(name)[..10] {
            term.push(char::from(b"0123456789abcdef"[usize::from(byte >> 4)]));
            term.push(char::from(b"0123456789abcdef"[usize::from(byte & 15)]));
        }
        term
    }
}

/// The scopes that a search for finds `scope`: itself and each path above it.
fn paths(scope: &str) -> impl Iterator<Item = &str> {
    scope
        .match_indices('/')
        .map(|(at, _)| &scope[..at])
        .filter(|path| !path.is_empty())
        .chain([scope])
}

impl Indexed<'_> {
    /// The line of terms: the value's words, what narrows, the words of scope, key and tags; then, each beside no
    /// other, the parts of words of mixed case and the single characters.
    pub fn terms(&self) -> String {
        let mut line = Line::new(self.project, self.body.map_or(0, str::len));
        if let Some(body) = self.body {
            each_text(body, |text| line.text(text));
        }
        line.filter(Filter::Any);
        paths(self.scope).for_each(|path| line.filter(Filter::Scope(path)));
        line.filter(Filter::Key(self.key));
        each_text(self.tags, |tag| line.filter(Filter::Tag(tag)));
        if let Some(agent) = self.private_to {
            line.filter(Filter::Private);
            line.filter(Filter::PrivateTo(agent));
        }
        line.text(self.scope);
        line.text(self.key);
        each_text(self.tags, |tag| line.text(tag));
        line.finish()
    }
}

/// The line in the making.
struct Line {
    project: i64,
    prefix: String,
    out: String,
    parts: String,
    singles: BTreeSet<char>,
}

impl Line {
    fn new(project: i64, body: usize) -> Self {
        Self {
            project,
            prefix: format!(" {project}{WORD}"),
            out: String::with_capacity(512 + body * 3 / 2),
            parts: String::new(),
            singles: BTreeSet::new(),
        }
    }

    fn filter(&mut self, filter: Filter<'_>) {
        self.out.push(' ');
        self.out.push_str(&filter.term(self.project));
    }

    fn text(&mut self, text: &str) {
        let Self {
            prefix,
            out,
            parts,
            singles,
            project,
        } = self;
        split(text, &mut |piece| match piece {
            Piece::Term(term) | Piece::Pair(term) => {
                out.push_str(prefix);
                out.push_str(term);
            }
            Piece::Parts(of) => {
                parts.push_str(&format!(" {project}{BORDER}"));
                for part in of {
                    parts.push_str(prefix);
                    parts.push_str(part);
                }
            }
            Piece::Single(c) => {
                singles.insert(c);
            }
            Piece::End => {}
        });
    }

    fn finish(self) -> String {
        let Self {
            prefix,
            mut out,
            parts,
            singles,
            ..
        } = self;
        out.push_str(&parts);
        for single in singles {
            out.push_str(&prefix);
            out.push(single);
        }
        out
    }
}

/// Calls `each` with every text of a JSON document: strings as they read, keys of objects, numbers.
///
/// A document that does not parse gives what stands before the fault: `verify` reports it, and an index that refused
/// it would keep `rebuild` from mending the rest.
pub(super) fn each_text(json: &str, each: impl FnMut(&str)) {
    let mut reader = serde_json::Deserializer::from_str(json);
    let _ = Texts(&mut { each }).deserialize(&mut reader);
}

/// Reads a document without keeping it: a value may be a mebibyte.
struct Texts<'a, F>(&'a mut F);

impl<'de, F: FnMut(&str)> DeserializeSeed<'de> for Texts<'_, F> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, F: FnMut(&str)> Visitor<'de> for Texts<'_, F> {
    type Value = ();

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("any JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        (self.0)(text);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        (self.0)(&number.to_string());
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        (self.0)(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        // Written as JSON is, so that `1.0` keeps its point.
        (self.0)(&serde_json::Value::from(number).to_string());
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Texts(&mut *self.0))?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_key_seed(Texts(&mut *self.0))?.is_some() {
            entries.next_value_seed(Texts(&mut *self.0))?;
        }
        Ok(())
    }
}
