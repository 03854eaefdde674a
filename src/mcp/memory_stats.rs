//! `memory_stats`: who and where you are, what there is, and whether it is intact.

use rmcp::model::Tool;
use schemars::JsonSchema;

use super::answer::{Announced, Answered, Pending, announce, shorten};
use crate::app::{App, AppError, Caller};
use crate::ask::Arguments;
use crate::domain::ledger::Checkpoint;
use crate::domain::limits;
use crate::wire::{self, make};

/// What the tool takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Input {
    /// True: prove every hash and chain of the store. Takes longer in a large one.
    verify: Option<bool>,
    /// A checkpoint kept from earlier: prove that the store still extends it.
    checkpoint: Option<String>,
}

pub fn tool() -> Tool {
    announce::<Input, wire::Stats>(&Announced {
        name: "memory_stats",
        title: "Memory stats",
        description: "Who you are here, which file you share, how much it holds, what waits, and a checkpoint. Use it to \
            look around; it claims and changes nothing. With verify it proves that nothing was tampered with.",
        read_only: true,
        idempotent: true,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, mut arguments: Arguments) -> Result<Answered, AppError> {
    let verify = arguments.boolean("verify")?.unwrap_or(false);
    let checkpoint = arguments
        .string("checkpoint")?
        .map(|text| Checkpoint::parse(&text))
        .transpose()?;
    let ignored = arguments.finish();
    let report = if verify || checkpoint.is_some() {
        Some(app.verify_leniently(caller, checkpoint.into_iter().collect()).await?)
    } else {
        None
    };
    let overview = app.overview(caller).await?;
    let mut answer = make::stats(&overview, caller, app.config().agent_from, report.as_ref(), ignored);
    let all = answer
        .numbers
        .waiting_total
        .unwrap_or(answer.numbers.waiting.len() as u64);
    if shorten(&mut answer.numbers.waiting, limits::ANSWER_BYTES / 2) {
        answer.numbers.waiting_total = Some(all);
    }
    Answered::new(&answer)
}
