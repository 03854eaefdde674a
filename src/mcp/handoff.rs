//! `handoff`: write a packet for the next session.

use rmcp::model::Tool;
use schemars::JsonSchema;

use super::answer::{Announced, Answered, Pending, announce, size, spare};
use super::arguments::{Arguments, RefArgument};
use crate::app::{App, AppError, Caller};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{HandoffId, NewHandoff, Texts};
use crate::domain::record::{Address, Ref, version_number};
use crate::domain::{Agent, Invalid, Key, Scope, Span, limits};
use crate::wire::{self, make};

/// A record version to start from.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct RefInput {
    /// The record's scope.
    scope: String,
    /// The record's key.
    key: String,
    /// The version. Left out: the current one.
    version: Option<u64>,
}

/// What the tool takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct Input {
    /// One line that says what this is about, up to 200 characters.
    title: String,
    /// What was done and where things stand, up to 16 KiB.
    summary: String,
    /// What to do next, in order.
    next_steps: Option<Vec<String>>,
    /// What is unclear.
    open_questions: Option<Vec<String>>,
    /// Which files were touched.
    files_touched: Option<Vec<String>>,
    /// The record versions to start from. Left out: what this session wrote or read by key.
    refs: Option<Vec<RefInput>>,
    /// The agent it is for. Left out: anyone.
    to_agent: Option<String>,
    /// An open packet of yours that this one replaces.
    supersedes: Option<String>,
    /// How long it waits: 90m, 12h, 7d, or 0 for ever. Left out: the configured time, 14d.
    expires_in: Option<String>,
    /// True: it belongs to everyone, although you act for an owner.
    shared: Option<bool>,
    /// The directory the work is about. Left out: the server's.
    cwd: Option<String>,
}

pub fn tool() -> Tool {
    announce::<Input, wire::HandedOff>(&Announced {
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

async fn run(app: &App, caller: &Caller, mut arguments: Arguments) -> Result<Answered, AppError> {
    let title = arguments.required_string("title")?;
    let summary = arguments.required_string("summary")?;
    let next_steps = arguments.strings("next_steps")?.unwrap_or_default();
    let open_questions = arguments.strings("open_questions")?.unwrap_or_default();
    let files_touched = arguments.strings("files_touched")?.unwrap_or_default();
    let mut new = NewHandoff::new(Texts::new(&title, &summary, next_steps, open_questions, files_touched)?);
    new.refs = arguments.refs("refs")?.map(refs).transpose()?;
    new.to_agent = arguments
        .string("to_agent")?
        .map(|text| Agent::named("to_agent", &text))
        .transpose()?;
    new.supersedes = arguments
        .string("supersedes")?
        .map(|text| HandoffId::named("supersedes", &text))
        .transpose()?;
    new.expires_in = arguments
        .string("expires_in")?
        .map(|text| Span::parse("expires_in", &text))
        .transpose()?;
    new.shared = arguments.boolean("shared")?.unwrap_or(false);
    new.cwd = arguments.string("cwd")?.map(|text| Cwd::new(&text)).transpose()?;
    let ignored = arguments.finish();
    let (handed, warnings) = app.hand_off(caller, new).await?;
    let mut answer = make::handed_off(&handed, &caller.home, [warnings, ignored].concat());
    let over = size(&answer).saturating_sub(limits::ANSWER_BYTES_MAX - 1024);
    spare(answer.refs.iter_mut(), over);
    Answered::new(&answer)
}

/// Checks the refs of a packet or a report.
pub fn refs(arguments: Vec<RefArgument>) -> Result<Vec<Ref>, Invalid> {
    arguments
        .into_iter()
        .enumerate()
        .map(|(index, one)| {
            let place = |field: &str| format!("refs[{index}].{field}");
            Ok(Ref {
                at: Address {
                    scope: Scope::named(&place("scope"), &one.scope)?,
                    key: Key::named(&place("key"), &one.key)?,
                },
                version: one
                    .version
                    .map(|number| version_number(&place("version"), number))
                    .transpose()?,
            })
        })
        .collect()
}
