//! A report on how acting on something went.

use schemars::JsonSchema;

use super::Arguments;
use super::handoff::{RefInput, refs};
use crate::domain::handoff::HandoffId;
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::{Invalid, OutcomeRef};

/// What happened.
#[derive(JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(dead_code, reason = "only its schema is used")]
enum OutcomeInput {
    Success,
    Failure,
    Abandoned,
    Released,
}

/// What a report takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// success or failure of acting on the refs; abandoned: the packet's work is given up, or an own open packet taken
    /// back; released: the packet goes back to the queue.
    outcome: OutcomeInput,
    /// The run, ticket or commit that this is about. Counts once for each version.
    outcome_ref: String,
    /// The record versions you acted on. Left out: those that the packet pins.
    refs: Option<Vec<RefInput>>,
    /// The packet you worked on; it is closed, cancelled or released by this.
    handoff_id: Option<String>,
    /// What else there is to say, up to 16 KiB.
    note: Option<String>,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(NewOutcome, Vec<String>), Invalid> {
    let report = Report::parse(&arguments.required_string("outcome")?)?;
    let outcome_ref = OutcomeRef::new(&arguments.required_string("outcome_ref")?)?;
    let refs = arguments.refs("refs")?.map(refs).transpose()?;
    let id = arguments
        .string("handoff_id")?
        .map(|text| HandoffId::named("handoff_id", &text))
        .transpose()?;
    let note = arguments.string("note")?;
    Ok((
        NewOutcome::new(report, outcome_ref, refs, id, note)?,
        arguments.finish(),
    ))
}
