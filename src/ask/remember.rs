//! A version to append.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::record::{NewVersion, Tags};
use crate::domain::{Confidence, Invalid, JsonText, Key, Scope};
use crate::wire::schema::any_json;

/// What appending a version takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// Where the record lives: a path such as app/auth. Up to 512 bytes.
    scope: String,
    /// The record's name in that scope. Up to 512 bytes.
    key: String,
    /// What to remember: any JSON, up to 1 MiB. Kept exactly as sent.
    #[schemars(schema_with = "any_json")]
    value: serde_json::Value,
    /// Up to 32 labels of 64 bytes. Left out: no tags.
    tags: Option<Vec<String>>,
    /// How sure you are, 0 to 1. Left out: 0.7.
    confidence: Option<f64>,
    /// Write only if this is the current version; 0: only if the record does not exist.
    expected_version: Option<u64>,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(NewVersion, Vec<String>), Invalid> {
    let scope = Scope::new(&arguments.required_string("scope")?)?;
    let key = Key::new(&arguments.required_string("key")?)?;
    let value = JsonText::value("value", arguments.required_raw("value")?.get())?;
    let mut new = NewVersion::new(scope, key, value);
    new.tags = Tags::new(&arguments.strings("tags")?.unwrap_or_default())?;
    let confidence = arguments.number("confidence", "a number from 0 to 1")?;
    new.confidence = confidence
        .map(|number| Confidence::named("confidence", number))
        .transpose()?;
    let expected = arguments.integer("expected_version", "a version number, or 0 for a new record")?;
    new.expected_version = expected.map(not_negative).transpose()?;
    Ok((new, arguments.finish()))
}

fn not_negative(number: i64) -> Result<u64, Invalid> {
    u64::try_from(number).map_err(|_| {
        Invalid::new(
            "expected_version",
            number.to_string(),
            "a version number, or 0 for a new record",
        )
    })
}
