//! A packet to write.

use schemars::JsonSchema;

use super::arguments::{Arguments, RefArgument};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{HandoffId, NewHandoff, Texts};
use crate::domain::record::{Address, Ref, version_number};
use crate::domain::{Agent, Invalid, Key, Scope, Span};

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

/// What writing a packet takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
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

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(NewHandoff, Vec<String>), Invalid> {
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
    Ok((new, arguments.finish()))
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
