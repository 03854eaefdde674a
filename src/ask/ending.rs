//! What is asked of one packet that its address names: to take it, to give it back, to end it.

use schemars::JsonSchema;

use super::Arguments;
use super::handoff::{RefInput, refs};
use crate::domain::handoff::HandoffId;
use crate::domain::handoff::place::Cwd;
use crate::domain::invalid::shown;
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::{Invalid, OutcomeRef};

/// What taking a packet takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct AcceptInput {
    /// The directory that it works in.
    cwd: Option<String>,
}

/// What looking at what waits takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct PeekInput {
    /// This packet. Left out: all that waits.
    handoff_id: Option<String>,
    /// The directory that the caller works in.
    cwd: Option<String>,
}

/// What giving a packet back, and taking one back, take.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// The run, ticket or commit that this is about.
    outcome_ref: Option<String>,
    /// What else there is to say, up to 16 KiB.
    note: Option<String>,
}

/// How a packet's work went.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum EndInput {
    Success,
    Failure,
    Abandoned,
}

/// What ending a claimed packet takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct CloseInput {
    /// success or failure of acting on the refs; abandoned: the work is given up.
    outcome: EndInput,
    /// The run, ticket or commit that this is about. Counts once for each version.
    outcome_ref: String,
    /// The record versions that were acted on. Left out: those that the packet pins.
    refs: Option<Vec<RefInput>>,
    /// What else there is to say, up to 16 KiB.
    note: Option<String>,
}

/// Reads where the one who takes a packet works, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn accept(mut arguments: Arguments) -> Result<(Option<Cwd>, Vec<String>), Invalid> {
    let cwd = arguments.string("cwd")?.map(|text| Cwd::new(&text)).transpose()?;
    Ok((cwd, arguments.finish()))
}

/// Reads what is said beside giving a packet back, or taking one back.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn end(
    mut arguments: Arguments,
    id: HandoffId,
    make: fn(HandoffId, Option<OutcomeRef>, Option<String>) -> Result<NewOutcome, Invalid>,
) -> Result<(NewOutcome, Vec<String>), Invalid> {
    let run = arguments
        .string("outcome_ref")?
        .map(|text| OutcomeRef::new(&text))
        .transpose()?;
    let note = arguments.string("note")?;
    Ok((make(id, run, note)?, arguments.finish()))
}

/// Reads the report that ends a claimed packet.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn close(mut arguments: Arguments, id: HandoffId) -> Result<(NewOutcome, Vec<String>), Invalid> {
    let word = arguments.required_string("outcome")?;
    let report = Report::parse(&word)
        .ok()
        .filter(|report| *report != Report::Released)
        .ok_or_else(|| Invalid::new("outcome", shown(&word), "success, failure or abandoned"))?;
    let outcome_ref = OutcomeRef::new(&arguments.required_string("outcome_ref")?)?;
    let refs = arguments.refs("refs")?.map(refs).transpose()?;
    let note = arguments.string("note")?;
    let new = NewOutcome::new(report, outcome_ref, refs, Some(id), note)?;
    Ok((new, arguments.finish()))
}
