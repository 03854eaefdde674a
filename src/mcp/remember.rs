//! `remember`: append a version of a record.

use rmcp::model::Tool;

use super::answer::{Announced, Answered, Pending, announce};
use crate::app::{App, AppError, Caller};
use crate::ask::{Arguments, remember};
use crate::wire::{self, make};

pub fn tool() -> Tool {
    announce::<remember::Input, wire::Remembered>(&Announced {
        name: "remember",
        title: "Remember",
        description: "Write down something other agents or later sessions should know, under scope and key. Each write \
            appends a version; nothing is overwritten. To tell how acting on it went, use record_outcome instead.",
        read_only: false,
        idempotent: true,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, arguments: Arguments) -> Result<Answered, AppError> {
    let (new, ignored) = remember::read(arguments)?;
    let written = app.remember(caller, new).await?;
    Answered::new(&make::remembered(written, ignored))
}
