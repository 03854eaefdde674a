//! A part of the ledger to read, and what a proof is held against.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::Invalid;
use crate::domain::ledger::Checkpoint;
use crate::domain::since::Since;
use crate::domain::sought::page_size;

/// What reading a ledger takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// Only entries after this position, or from this instant on: RFC 3339, or a date; without an offset UTC. Left out: from the
    /// first one on; of a stream: only what comes.
    since: Option<String>,
    /// How many entries, 1 to 200. Left out: 20. A stream has no end.
    limit: Option<u64>,
}

/// What a proof takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct ProofInput {
    /// Prove too that the store extends this checkpoint; may be repeated.
    checkpoint: Option<Vec<String>>,
}

/// A part of a ledger.
#[derive(Debug)]
pub struct Part {
    /// From where on.
    pub since: Option<Since>,
    /// How many at most.
    pub limit: usize,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(Part, Vec<String>), Invalid> {
    let since = arguments.string("since")?;
    let since = since.map(|text| Since::parse("since", &text)).transpose()?;
    let (limit, warning) = page_size(arguments.count("limit", "a whole number from 1 to 200")?)?;
    let mut warnings = arguments.finish();
    warnings.extend(warning);
    Ok((Part { since, limit }, warnings))
}

/// Reads the checkpoints that a proof is held against.
///
/// # Errors
/// When one of them is none.
pub fn proof(mut arguments: Arguments) -> Result<Vec<Checkpoint>, Invalid> {
    let texts = arguments.strings("checkpoint")?.unwrap_or_default();
    texts.iter().map(|text| Checkpoint::parse(text)).collect()
}
