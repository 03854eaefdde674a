//! `handoff`: write a packet for the next session.

use rmcp::model::Tool;

use super::answer::{Announced, Answered, Pending, announce, size, spare};
use crate::app::{App, AppError, Caller};
use crate::ask::{Arguments, handoff};
use crate::domain::limits;
use crate::wire::{self, make};

pub fn tool() -> Tool {
    announce::<handoff::Input, wire::HandedOff>(&Announced {
        name: "handoff",
        title: "Hand off",
        description: "Write a packet for the next session before you stop or pass work on: what was done, what is next, \
            what is unclear, and which record versions to start from. Not for reporting status or looking at what waits: \
            use memory_stats or resume with peek. To take a packet back: record_outcome with abandoned.",
        read_only: false,
        idempotent: true,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, arguments: Arguments) -> Result<Answered, AppError> {
    let (new, ignored) = handoff::read(arguments)?;
    let (handed, warnings) = app.hand_off(caller, new).await?;
    let mut answer = make::handed_off(&handed, &caller.home, [warnings, ignored].concat());
    let over = size(&answer).saturating_sub(limits::ANSWER_BYTES_MAX - 1024);
    spare(answer.refs.iter_mut(), over);
    Answered::new(&answer)
}
