//! A record's versions to read.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::sought::{after, page_size};
use crate::domain::{Address, Invalid, Key, Scope};

/// What reading a history takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// The record's scope.
    scope: String,
    /// The record's key.
    key: String,
    /// How many versions, 1 to 200. Left out: 20.
    limit: Option<u64>,
    /// next_cursor of the answer before, to go on.
    cursor: Option<String>,
}

/// A page of one record's versions.
#[derive(Debug)]
pub struct History {
    /// The record.
    pub at: Address,
    /// Only versions after this number.
    pub from: u64,
    /// How many at most.
    pub limit: usize,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(History, Vec<String>), Invalid> {
    let scope = Scope::new(&arguments.required_string("scope")?)?;
    let key = Key::new(&arguments.required_string("key")?)?;
    let (limit, warning) = page_size(arguments.count("limit", "a whole number from 1 to 200")?)?;
    let from = arguments
        .string("cursor")?
        .map(|text| after('h', &text))
        .transpose()?
        .unwrap_or(0);
    let mut warnings = arguments.finish();
    warnings.extend(warning);
    let at = Address { scope, key };
    Ok((History { at, from, limit }, warnings))
}
