//! `history`: every version of one record.

use rmcp::model::Tool;

use super::answer::{Announced, Answered, PAGE, Pending, VALUES, announce};
use crate::app::memory::Room;
use crate::app::{App, AppError, Caller};
use crate::ask::Arguments;
use crate::ask::history::{self, History};
use crate::domain::record::Stored;
use crate::wire::{self, make};

pub fn tool() -> Tool {
    announce::<history::Input, wire::History>(&Announced {
        name: "history",
        title: "History",
        description: "Every version of one record, oldest first: who wrote what when, and how sure we were. For the \
            current value alone, use recall.",
        read_only: true,
        idempotent: true,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, arguments: Arguments) -> Result<Answered, AppError> {
    let (History { at, from, limit }, warnings) = history::read(arguments)?;
    let room = Room {
        values: VALUES,
        all: PAGE,
    };
    let (mut versions, total) = app.history(caller, &at, from, limit, room).await?;
    let read = versions.len();
    let mut size = 0;
    let fitting = versions.iter().take_while(|version| {
        size += version.weight();
        size <= PAGE
    });
    let kept = fitting.count().max(1).min(read);
    versions.truncate(kept);
    let mut answer = make::history(&at, &versions, total, warnings);
    let cut = versions
        .iter()
        .any(|version| matches!(version.value, Stored::Beginning { .. }));
    let last = versions.last().map_or(from, |version| version.version);
    let more = kept < read || (read == limit && last < total);
    answer.next_cursor = more.then(|| format!("h{last}"));
    answer.truncated = make::flag(cut || kept < read);
    if cut {
        answer.rest = Some("recall with scope, key and version gives a value that was cut here in whole".to_owned());
    }
    Answered::new(&answer)
}
