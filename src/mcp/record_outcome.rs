//! `record_outcome`: report how acting on what was remembered turned out.

use rmcp::model::Tool;

use super::answer::{Announced, Answered, Pending, announce};
use crate::app::{App, AppError, Caller};
use crate::ask::{Arguments, outcome};
use crate::wire::{self, make};

pub fn tool() -> Tool {
    announce::<outcome::Input, wire::Recorded>(&Announced {
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

async fn run(app: &App, caller: &Caller, arguments: Arguments) -> Result<Answered, AppError> {
    let (new, ignored) = outcome::read(arguments)?;
    let (recorded, warnings) = app.record_outcome(caller, new.clone()).await?;
    Answered::new(&make::recorded(&new, &recorded, [warnings, ignored].concat()))
}
