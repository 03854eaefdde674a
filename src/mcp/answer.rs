//! Answers: the same compact JSON as structured content and as text, cut to what a client shows a model.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::app::{AppError, Door};
use crate::domain::limits;
use crate::wire::{self, make, schema};

/// What a tool call comes to.
pub type Pending<'a> = Pin<Box<dyn Future<Output = Result<Answered, AppError>> + Send + 'a>>;

/// One answer as compact JSON text.
pub struct Answered(String);

impl Answered {
    /// The answer of a call that went well.
    ///
    /// # Errors
    /// When the answer cannot be written, which is a fault of this program.
    pub fn new(answer: &impl Serialize) -> Result<Self, AppError> {
        serde_json::to_string(answer)
            .map(Self)
            .map_err(|_| AppError::internal("an answer could not be written"))
    }

    /// The result that carries it, in both forms: clients show one or the other.
    pub fn into_result(self) -> CallToolResult {
        let structured: Value = serde_json::from_str(&self.0).unwrap_or_default();
        let mut result = CallToolResult::success(vec![ContentBlock::text(self.0)]);
        result.structured_content = Some(structured);
        result
    }

    /// The result of a call that failed. It has no structured content, which some clients would hold against the
    /// tool's output schema.
    pub fn failed(error: &AppError, door: Door) -> CallToolResult {
        let text = serde_json::to_string(&make::failed(error, door)).unwrap_or_default();
        CallToolResult::error(vec![ContentBlock::text(text)])
    }
}

/// How a tool is announced.
pub struct Announced {
    /// Its name.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    /// When to use it and when not.
    pub description: &'static str,
    /// Whether it changes nothing.
    pub read_only: bool,
    /// Whether calling it again with the same arguments changes nothing more.
    pub idempotent: bool,
}

/// A tool whose arguments are described by `I` and whose answers by `O`.
pub fn announce<I: JsonSchema, O: JsonSchema>(announced: &Announced) -> Tool {
    let input: Arc<JsonObject> = schema::portable_input::<I>();
    let hints = ToolAnnotations::with_title(announced.title)
        .read_only(announced.read_only)
        .destructive(false)
        .idempotent(announced.idempotent)
        .open_world(false);
    Tool::new(announced.name, announced.description, input)
        .with_title(announced.title)
        .with_raw_output_schema(schema::portable::<O>())
        .with_annotations(hints)
}

/// How many bytes something takes as compact JSON.
pub fn size(answer: &impl Serialize) -> usize {
    serde_json::to_string(answer).map_or(0, |text| text.len())
}

/// Drops entries from the end of a list until it takes at most `room` bytes, keeping at least one; says whether any went.
pub fn shorten<T: Serialize>(list: &mut Vec<T>, room: usize) -> bool {
    let mut taken = 0;
    let fitting = list.iter().take_while(|entry| {
        taken += size(entry) + 1;
        taken <= room
    });
    let kept = fitting.count().max(1);
    let shorter = kept < list.len();
    list.truncate(kept);
    shorter
}

/// Leaves out which version took a pinned one's place, the last ones first to go, until `over` bytes are spared; says whether
/// any went. That a newer one exists is still said by the status, and which one it is can be asked for.
pub fn spare<'a>(refs: impl DoubleEndedIterator<Item = &'a mut wire::Ref>, mut over: usize) -> bool {
    let mut any = false;
    for one in refs.rev().filter(|one| one.current.is_some()) {
        if over == 0 {
            break;
        }
        over = over.saturating_sub(size(&one.current));
        one.current = None;
        any = true;
    }
    any
}

/// What an answer may take of values before it starts to cut, in bytes: with everything else in it, it stays under
/// [`limits::ANSWER_BYTES`].
pub const VALUES: usize = limits::ANSWER_BYTES * 5 / 8;

/// What the entries of one page may take, in bytes.
pub const PAGE: usize = limits::ANSWER_BYTES - 2 * 1024;

/// The longest part of `text` from byte `from` that takes at most `room` bytes as a JSON string, cut between characters.
pub fn part(text: &str, from: usize, room: usize) -> &str {
    let rest = text.get(from..).unwrap_or_default();
    let mut size = 2;
    for (at, c) in rest.char_indices() {
        size += match c {
            '"' | '\\' | '\n' | '\r' | '\t' | '\u{8}' | '\u{c}' => 2,
            c if c < ' ' => 6,
            c => c.len_utf8(),
        };
        if size > room {
            return &rest[..at];
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn u03_parts_fit_and_add_up(text in ".{0,200}", room in 12usize..80) {
            let mut from = 0;
            let mut whole = String::new();
            while from < text.len() {
                let piece = part(&text, from, room);
                prop_assert!(!piece.is_empty());
                prop_assert!(serde_json::to_string(piece).unwrap().len() <= room);
                whole.push_str(piece);
                from += piece.len();
            }
            prop_assert_eq!(whole, text);
        }
    }

    #[test]
    fn a_place_inside_a_character_gives_nothing() {
        assert_eq!(part("é", 1, 100), "");
        assert_eq!(part("abc", 99, 100), "");
    }
}
