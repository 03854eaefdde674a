//! What kind of JSON a text is, by its first byte, and how to name it to a caller.

use serde_json::value::RawValue;

use crate::domain::invalid::shown;

/// The kind of a JSON value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    Null,
    Boolean,
    Number,
    Text,
    List,
    Object,
    /// No JSON at all.
    Other,
}

impl Shape {
    /// The kind that `json` is if it is JSON; the first byte tells.
    pub(super) fn of(json: &str) -> Self {
        match json.as_bytes().first() {
            Some(b'n') => Self::Null,
            Some(b't' | b'f') => Self::Boolean,
            Some(b'-' | b'0'..=b'9') => Self::Number,
            Some(b'"') => Self::Text,
            Some(b'[') => Self::List,
            Some(b'{') => Self::Object,
            _ => Self::Other,
        }
    }

    /// What came, for an error: a scalar as it was sent, the rest by its kind.
    pub(super) fn phrase(self, json: &str) -> String {
        match self {
            Self::Text => {
                serde_json::from_str::<String>(json).map_or_else(|_| "no Unicode text".to_owned(), |s| shown(&s))
            }
            Self::List => "a list".to_owned(),
            Self::Object => "an object".to_owned(),
            Self::Null | Self::Boolean | Self::Number if json.len() <= 40 => json.to_owned(),
            Self::Number => "a very long number".to_owned(),
            Self::Null | Self::Boolean | Self::Other => shown(json),
        }
    }
}

/// The entries of a JSON list.
pub(super) fn list(json: &str) -> Option<Vec<Box<RawValue>>> {
    (Shape::of(json.trim()) == Shape::List)
        .then(|| serde_json::from_str(json).ok())
        .flatten()
}

/// Whether a text is meant as a JSON list: it is one, or it starts like one of strings or objects and must have been
/// cut. `[wip] tidy up` is a text.
pub(super) fn starts_a_list(text: &str) -> bool {
    let inside = text.trim_start().strip_prefix('[').map(str::trim_start);
    list(text).is_some() || inside.is_some_and(|inside| inside.starts_with(['"', '{']))
}

/// Whether a text is a JSON object.
pub(super) fn is_object(json: &str) -> bool {
    Shape::of(json.trim()) == Shape::Object && serde_json::from_str::<&RawValue>(json).is_ok()
}
