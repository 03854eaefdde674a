//! `record_outcome`: report how acting on what was remembered turned out.

use rmcp::model::Tool;
use schemars::JsonSchema;

use super::answer::{Announced, Answered, Pending, announce};
use super::arguments::Arguments;
use super::handoff::{RefInput, refs};
use crate::app::{App, AppError, Caller};
use crate::domain::OutcomeRef;
use crate::domain::handoff::HandoffId;
use crate::domain::outcome::{NewOutcome, Report};
use crate::wire::{self, make};

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

/// What the tool takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Input {
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

pub fn tool() -> Tool {
    announce::<Input, wire::Recorded>(&Announced {
        name: "record_outcome",
        title: "Record an outcome",
        description: "Report how acting on remembered things turned out, so that confidence follows, and end the packet \
            you worked on. Give refs, handoff_id or both. Call it when the result is known, not before.",
        read_only: false,
        idempotent: true,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, mut arguments: Arguments) -> Result<Answered, AppError> {
    let report = Report::parse(&arguments.required_string("outcome")?)?;
    let outcome_ref = OutcomeRef::new(&arguments.required_string("outcome_ref")?)?;
    let refs = arguments.refs("refs")?.map(refs).transpose()?;
    let id = arguments
        .string("handoff_id")?
        .map(|text| HandoffId::named("handoff_id", &text))
        .transpose()?;
    let note = arguments.string("note")?;
    let ignored = arguments.finish();
    let new = NewOutcome::new(report, outcome_ref, refs, id, note)?;
    let (recorded, warnings) = app.record_outcome(caller, new.clone()).await?;
    Answered::new(&make::recorded(&new, &recorded, [warnings, ignored].concat()))
}
