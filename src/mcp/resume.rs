//! `resume`: take the packet that waits, with its pinned versions resolved.

use rmcp::model::Tool;

use super::answer::{Announced, Answered, Pending, announce, shorten, size, spare};
use crate::app::{App, AppError, Caller};
use crate::ask::Arguments;
use crate::ask::resume::{self, Resume};
use crate::domain::limits;
use crate::wire::{self, make};

pub fn tool() -> Tool {
    announce::<resume::Input, wire::Resumed>(&Announced {
        name: "resume",
        title: "Resume",
        description: "Take up the work that waits for you: claims one packet and gives its texts and the exact record \
            versions it pins, with a mark on each that has moved on since. Call it at the start of a session. With peek \
            it only shows what waits. Finish a claimed packet with record_outcome.",
        read_only: false,
        idempotent: false,
    })
}

pub fn call<'a>(app: &'a App, caller: &'a Caller, arguments: Arguments) -> Pending<'a> {
    Box::pin(run(app, caller, arguments))
}

async fn run(app: &App, caller: &Caller, arguments: Arguments) -> Result<Answered, AppError> {
    let (Resume { id, peek, cwd }, ignored) = resume::read(arguments)?;
    let caller = Caller {
        cwd: cwd.or_else(|| caller.cwd.clone()),
        ..caller.clone()
    };
    let mut answer = if peek {
        let (peeked, warnings) = app.peek(&caller, id).await?;
        make::peeked(&peeked, &caller.home, [warnings, ignored].concat())
    } else {
        let (resumed, warnings) = app.resume(&caller, id).await?;
        make::resumed(&resumed, &caller.home, [warnings, ignored].concat())
    };
    fit(&mut answer);
    Answered::new(&answer)
}

/// Leaves out values, the last ones first to go, until the answer is as short as it should be, and what else must go for it
/// to stay under the ceiling. The packet itself and the list of its refs are always whole.
fn fit(answer: &mut wire::Resumed) {
    let values: Vec<usize> = answer
        .refs
        .iter()
        .flatten()
        .map(|one| one.value.as_ref().map_or(0, |value| value.get().len()))
        .collect();
    let others = size(answer) - values.iter().sum::<usize>();
    let mut room = (limits::ANSWER_BYTES - 512).saturating_sub(others);
    for (one, bytes) in answer.refs.iter_mut().flatten().zip(values) {
        if one.value.is_none() || bytes <= room {
            room -= bytes;
        } else {
            one.value = None;
            one.value_bytes = Some(bytes as u64);
            answer.truncated = Some(true);
        }
    }
    if let Some(packets) = &mut answer.packets {
        let all = answer.packets_total.unwrap_or(packets.len() as u64);
        if shorten(packets, limits::ANSWER_BYTES * 3 / 4) {
            answer.packets_total = Some(all);
            answer.truncated = Some(true);
        }
    }
    let ceiling = limits::ANSWER_BYTES_MAX - 1024;
    let all = answer.unfinished_total.unwrap_or(answer.unfinished.len() as u64);
    if size(answer) > ceiling && shorten(&mut answer.unfinished, 2 * 1024) {
        answer.unfinished_total = Some(all);
        answer.truncated = Some(true);
    }
    let over = size(answer).saturating_sub(ceiling);
    if spare(answer.refs.iter_mut().flatten(), over) {
        answer.truncated = Some(true);
    }
}
