//! Records to read.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::sought::{Filters, Wanted, page_size};
use crate::domain::{Confidence, Invalid, Key, Scope, Tag};

/// What reading records takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// With key: the record's scope. Alone or with query or tag: search in this scope and below.
    scope: Option<String>,
    /// The record's name; without scope: in any scope.
    key: Option<String>,
    /// With scope and key: this version instead of the current one.
    version: Option<u64>,
    /// Free text to search for. Any text is valid; there is no query syntax.
    query: Option<String>,
    /// Only records with exactly this tag.
    tag: Option<String>,
    /// Only records at least this sure, 0 to 1.
    min_confidence: Option<f64>,
    /// How many records, 1 to 200. Left out: 20.
    limit: Option<u64>,
    /// next_cursor of the answer before, to go on with the same arguments.
    cursor: Option<String>,
}

/// One record, or a page of a search.
#[derive(Debug)]
pub struct Recall {
    /// Which.
    pub wanted: Wanted,
    /// Where the answer before ended, not yet read: what it means depends on what is wanted.
    pub cursor: Option<String>,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(Recall, Vec<String>), Invalid> {
    let scope = arguments.string("scope")?.map(|text| Scope::new(&text)).transpose()?;
    let key = arguments.string("key")?.map(|text| Key::new(&text)).transpose()?;
    let version = arguments.integer("version", "a version number from 1")?;
    let query = arguments.string("query")?;
    let tag = arguments
        .string("tag")?
        .map(|text| Tag::named("tag", &text))
        .transpose()?;
    let least = arguments.number("min_confidence", "a number from 0 to 1")?;
    let min_confidence = least
        .map(|number| Confidence::named("min_confidence", number))
        .transpose()?;
    let (limit, warning) = page_size(arguments.count("limit", "a whole number from 1 to 200")?)?;
    let cursor = arguments.string("cursor")?;
    arguments.require_any(&["scope", "key", "query", "tag", "min_confidence"])?;
    let mut warnings = arguments.finish();
    warnings.extend(warning);

    let filters = Filters {
        scope,
        key,
        version: version.map(at_least_one).transpose()?,
        query,
        tag,
        min_confidence,
    };
    let wanted = filters.wanted(limit)?;
    Ok((Recall { wanted, cursor }, warnings))
}

fn at_least_one(number: i64) -> Result<u64, Invalid> {
    u64::try_from(number)
        .ok()
        .filter(|number| *number > 0)
        .ok_or_else(|| Invalid::new("version", number.to_string(), "a version number from 1"))
}
