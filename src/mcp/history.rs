//! `history`: every version of one record.

use rmcp::model::Tool;
use schemars::JsonSchema;

use super::answer::{Announced, Answered, PAGE, Pending, VALUES, announce};
use super::arguments::Arguments;
use crate::app::memory::{Room, page_size};
use crate::app::{App, AppError, Caller};
use crate::domain::record::Stored;
use crate::domain::sought::after;
use crate::domain::{Address, Key, Scope};
use crate::wire::{self, make};

/// What the tool takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Input {
    /// The record's scope.
    scope: String,
    /// The record's key.
    key: String,
    /// How many versions, 1 to 200. Left out: 20.
    limit: Option<u64>,
    /// next_cursor of the answer before, to go on.
    cursor: Option<String>,
}

pub fn tool() -> Tool {
    announce::<Input, wire::History>(&Announced {
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

async fn run(app: &App, caller: &Caller, mut arguments: Arguments) -> Result<Answered, AppError> {
    let scope = Scope::new(&arguments.required_string("scope")?)?;
    let key = Key::new(&arguments.required_string("key")?)?;
    let (limit, warning) = page_size(arguments.count("limit", "a whole number from 1 to 200")?)?;
    let from = arguments
        .string("cursor")?
        .map(|text| after('h', &text))
        .transpose()?
        .unwrap_or(0);
    let mut warnings = arguments.finish();
    warnings.extend(warning);
    let at = Address { scope, key };
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
