//! Refs as words of a command line, and as JSON.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::domain::invalid::shown;
use crate::domain::record::version_number;
use crate::domain::{Address, Invalid, Key, Ref, Scope};

/// A ref in JSON: an object, or a text as `--refs` takes it.
#[derive(Debug)]
pub struct RefInput {
    scope: String,
    key: String,
    version: Option<u64>,
}

impl<'de> Deserialize<'de> for RefInput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Either)
    }
}

/// Reads either form.
struct Either;

impl<'de> Visitor<'de> for Either {
    type Value = RefInput;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SCOPE:KEY, SCOPE:KEY@VERSION, or an object with scope, key and version")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<RefInput, E> {
        short(text.trim()).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<RefInput, A::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Whole {
            scope: String,
            key: String,
            version: Option<u64>,
        }
        let Whole { scope, key, version } = Whole::deserialize(MapAccessDeserializer::new(map))?;
        Ok(RefInput { scope, key, version })
    }
}

impl RefInput {
    /// The ref, checked; `field` names its place.
    ///
    /// # Errors
    /// Names the part that cannot be taken.
    pub fn checked(self, field: &str) -> Result<Ref, Invalid> {
        Ok(Ref {
            at: Address {
                scope: Scope::named(&format!("{field}.scope"), &self.scope)?,
                key: Key::named(&format!("{field}.key"), &self.key)?,
            },
            version: self
                .version
                .map(|number| version_number(&format!("{field}.version"), number))
                .transpose()?,
        })
    }
}

/// Reads `--refs`, which may be repeated: `SCOPE:KEY`, `SCOPE:KEY@VERSION`, or JSON (an object, or an array of them). None
/// when it is not given.
///
/// # Errors
/// Names the word that cannot be read.
pub fn refs(words: &[String]) -> Result<Option<Vec<Ref>>, Invalid> {
    if words.is_empty() {
        return Ok(None);
    }
    let mut refs = Vec::new();
    for word in words {
        let word = word.trim();
        let unreadable = || {
            Invalid::new(
                "refs",
                shown(word),
                "SCOPE:KEY, SCOPE:KEY@VERSION, or JSON such as {\"scope\":\"a\",\"key\":\"b\",\"version\":1}",
            )
        };
        let inputs: Vec<RefInput> = if word.starts_with('[') {
            serde_json::from_str(word).map_err(|_| unreadable())?
        } else if word.starts_with('{') {
            vec![serde_json::from_str(word).map_err(|_| unreadable())?]
        } else {
            vec![short(word).ok_or_else(unreadable)?]
        };
        for input in inputs {
            let field = format!("refs[{}]", refs.len());
            refs.push(input.checked(&field)?);
        }
    }
    Ok(Some(refs))
}

/// `SCOPE:KEY` or `SCOPE:KEY@VERSION`; a scope that holds a colon needs JSON.
pub fn short(word: &str) -> Option<RefInput> {
    let (scope, rest) = word.split_once(':')?;
    let (key, version) = match rest.rsplit_once('@') {
        Some((key, digits)) if !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()) => {
            (key, Some(digits.parse().ok()?))
        }
        _ => (rest, None),
    };
    Some(RefInput {
        scope: scope.to_owned(),
        key: key.to_owned(),
        version,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(word: &str) -> Result<Vec<(String, Option<u64>)>, Invalid> {
        let refs = refs(&[word.to_owned()])?.unwrap_or_default();
        Ok(refs.into_iter().map(|one| (one.at.to_string(), one.version)).collect())
    }

    #[test]
    fn refs_are_read_in_each_form() {
        assert_eq!(read("a/b:c/d").unwrap(), [("a/b/c/d".to_owned(), None)]);
        assert_eq!(read("a:me@home@3").unwrap(), [("a/me@home".to_owned(), Some(3))]);
        assert_eq!(read("a:me@home").unwrap(), [("a/me@home".to_owned(), None)]);
        assert_eq!(
            read(r#"[{"scope":"x:y","key":"k","version":2}]"#).unwrap(),
            [("x:y/k".to_owned(), Some(2))]
        );
        assert_eq!(
            read(r#"["a:k", " a:k@2 ", {"scope":"a","key":"k"}]"#).unwrap(),
            [
                ("a/k".to_owned(), None),
                ("a/k".to_owned(), Some(2)),
                ("a/k".to_owned(), None)
            ]
        );
        for wrong in [
            r#"["a"]"#,
            "a",
            ":k",
            "a:",
            "a:k@0",
            "{}",
            r#"{"scope":"a","key":"b","v":1}"#,
            "[1]",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(refs(&[]).unwrap().is_none());
    }
}
