//! Work to take up, or to look at.

use schemars::JsonSchema;

use super::Arguments;
use crate::domain::Invalid;
use crate::domain::handoff::HandoffId;
use crate::domain::handoff::place::Cwd;

/// What taking up work takes.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Input {
    /// This packet. Left out: the next one that waits for you.
    handoff_id: Option<String>,
    /// True: only look, claim nothing.
    peek: Option<bool>,
    /// The directory you work in. Left out: the server's.
    cwd: Option<String>,
}

/// What is to be taken up.
#[derive(Debug)]
pub struct Resume {
    /// This packet; none: the next one that waits.
    pub id: Option<HandoffId>,
    /// Only look.
    pub peek: bool,
    /// The directory that the caller works in.
    pub cwd: Option<Cwd>,
}

/// Reads it, with what there is to say about the arguments.
///
/// # Errors
/// Names the argument that cannot be taken.
pub fn read(mut arguments: Arguments) -> Result<(Resume, Vec<String>), Invalid> {
    let id = arguments
        .string("handoff_id")?
        .map(|text| HandoffId::named("handoff_id", &text))
        .transpose()
        .map_err(|invalid| Invalid {
            expected: format!("{}; leave it out for the next one that waits for you", invalid.expected),
            ..invalid
        })?;
    let peek = arguments.boolean("peek")?.unwrap_or(false);
    let cwd = arguments.string("cwd")?.map(|text| Cwd::new(&text)).transpose()?;
    Ok((Resume { id, peek, cwd }, arguments.finish()))
}
