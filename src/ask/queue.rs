//! Packets to list.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::Invalid;
use crate::domain::handoff::State;
use crate::domain::handoff::listing::Listing;
use crate::domain::invalid::shown;
use crate::domain::sought::{after, page_size};

/// Where a packet stands.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum StateInput {
    Open,
    Accepted,
    Closed,
    Expired,
    All,
}

/// Which come first.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum OrderInput {
    Oldest,
    Newest,
}

/// What listing packets takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// Only packets in this state; may be repeated. Left out: open, accepted and closed ones.
    state: Option<Vec<StateInput>>,
    /// True: only what the caller's agent wrote, is to get, or holds.
    mine: Option<bool>,
    /// Which come first. Left out: the oldest.
    order: Option<OrderInput>,
    /// How many packets, 1 to 200. Left out: 20.
    limit: Option<u64>,
    /// next_cursor of the answer before, to go on with the same filters.
    cursor: Option<String>,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(Listing, Vec<String>), Invalid> {
    let words = arguments.strings("state")?.unwrap_or_default();
    let states = match words.as_slice() {
        [] => vec![State::Open, State::Accepted, State::Closed],
        words if words.iter().any(|word| word.trim() == "all") => Vec::new(),
        words => words
            .iter()
            .map(|word| {
                State::parse(word.trim())
                    .ok_or_else(|| Invalid::new("state", shown(word), "open, accepted, closed, expired or all"))
            })
            .collect::<Result<_, _>>()?,
    };
    let mine = arguments.boolean("mine")?.unwrap_or(false);
    let newest_first = match arguments.string("order")?.as_deref().map(str::trim) {
        None | Some("oldest") => false,
        Some("newest") => true,
        Some(other) => return Err(Invalid::new("order", shown(other), "oldest or newest")),
    };
    let (limit, warning) = page_size(arguments.count("limit", "a whole number from 1 to 200")?)?;
    let after = arguments.string("cursor")?.map(|text| after('q', &text)).transpose()?;
    let mut warnings = arguments.finish();
    warnings.extend(warning);
    let listing = Listing {
        states,
        lapsed: false,
        mine,
        until: None,
        newest_first,
        after,
        limit,
    };
    Ok((listing, warnings))
}
