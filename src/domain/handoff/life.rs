//! What may happen to a packet: the transitions of its state machine, decided purely.

use super::choice::{Seeker, lapsed};
use super::{EndedAs, HandoffId, Packet, State};
use crate::domain::outcome::Report;
use crate::domain::{Agent, Hint, Owner, Refusal, Session, Time};

/// How a packet comes into a caller's hands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It was free.
    Take,
    /// Its holder's lease had lapsed.
    TakeOver,
    /// This session holds it already.
    Again,
    /// Another session of the same agent held it.
    Move,
}

/// Decides on `resume{handoff_id}`: `to_agent` and order play no part.
///
/// # Errors
/// A conflict when somebody else holds it or it has ended.
pub fn claim_by_id(packet: &Packet, seeker: &Seeker) -> Result<Claim, Refusal> {
    let id = &packet.id;
    match packet.state_at(seeker.now) {
        State::Open => Ok(Claim::Take),
        State::Accepted if seeker.holds(packet) => Ok(if seeker.is_mine(packet.accepted_session.as_ref()) {
            Claim::Again
        } else {
            Claim::Move
        }),
        State::Accepted if lapsed(packet, seeker.lease, seeker.now) => Ok(Claim::TakeOver),
        State::Accepted => Err(Refusal::conflict(
            format!("{id} is held by {}", holder(packet)),
            next_one(),
        )),
        State::Closed => Err(Refusal::conflict(
            format!("{id} was closed as {} by {}", ended(packet), closer(packet)),
            next_one(),
        )),
        State::Expired => Err(Refusal::conflict(
            match &packet.superseded_by {
                Some(newer) => format!("{id} has been superseded by {newer}"),
                None if packet.ended_as == Some(EndedAs::Cancelled) => format!("{id} was cancelled"),
                None => match packet.expires_at.filter(|end| *end <= seeker.now) {
                    Some(end) => format!("{id} expired at {end}"),
                    None => format!("{id} was ended before its time"),
                },
            },
            match packet.ended_as {
                Some(EndedAs::Superseded) => Hint::both("resume the newer one", "`handoffs accept` the newer one"),
                Some(EndedAs::Cancelled) => "ask its author for a new packet".into(),
                _ => Hint::both(
                    "ask its author for a new packet, or a person to reopen this one",
                    format!("`handoffs reopen {id}` opens it again; else ask its author for a new packet"),
                ),
            },
        )),
    }
}

/// How to get another packet than one that cannot be had.
fn next_one() -> Hint {
    Hint::both(
        "resume without handoff_id takes the next packet that waits for you",
        "`handoffs accept` without an id takes the next packet that waits for you",
    )
}

/// What to do when a packet cannot take the place of another one.
pub fn without_supersedes() -> Hint {
    Hint::both(
        "write the packet without `supersedes`",
        "write the packet without --supersedes",
    )
}

/// Who holds a packet, and since when, for a message.
pub fn holder(packet: &Packet) -> String {
    timed(packet, "since", packet.accepted_at)
}

/// Who closed a packet, and when.
fn closer(packet: &Packet) -> String {
    timed(packet, "at", packet.closed_at)
}

fn timed(packet: &Packet, word: &str, at: Option<Time>) -> String {
    let mut text = packet.accepted_by.as_ref().map_or("nobody", Agent::as_str).to_owned();
    if let Some(session) = &packet.accepted_session {
        text += &format!(" (session {session})");
    }
    if let Some(at) = at {
        text += &format!(" {word} {at}");
    }
    text
}

/// How a packet that has ended did so: without a word of it, by its time.
fn ended(packet: &Packet) -> &'static str {
    packet.ended_as.map_or("ttl", EndedAs::as_str)
}

/// What a report does to the packet that it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The packet is closed.
    Close(EndedAs),
    /// The packet goes back to the queue.
    Release,
    /// The packet is taken back by its author.
    Cancel,
    /// The packet is left alone, for the reason given; refs that were named still move.
    LeaveAlone(String),
}

/// Who reports, for deciding what the report may do.
#[derive(Debug, Clone)]
pub struct Reporter {
    /// Who.
    pub agent: Agent,
    /// For which owner.
    pub owner: Option<Owner>,
    /// In which run.
    pub session: Option<Session>,
    /// Whether this agent held the packet once and another took it over since.
    pub held_before: bool,
    /// Whether the caller acts as root and may end whatever it names.
    pub force: bool,
}

impl Reporter {
    /// Whether this caller wrote the packet: the author's agent, or its owner.
    fn is_author(&self, packet: &Packet) -> bool {
        packet.from_agent == self.agent || (packet.owner.is_some() && packet.owner == self.owner)
    }
}

/// Refuses what is to happen to a packet in one state alone while it is in another.
///
/// # Errors
/// A conflict that says where the packet stands.
pub fn must_be(wanted: State, packet: &Packet, state: State) -> Result<(), Refusal> {
    let id = &packet.id;
    if state == wanted {
        return Ok(());
    }
    let (what, hint) = match state {
        State::Open => (
            format!("{id} is open: nobody holds it"),
            "accept it first, or cancel it",
        ),
        State::Accepted => (
            format!("{id} is held by {}", holder(packet)),
            "only an open packet can be cancelled or expired; its holder releases or closes it",
        ),
        State::Closed => (
            format!("{id} was closed as {} by {}", ended(packet), closer(packet)),
            "what has ended stays ended; write a new packet",
        ),
        State::Expired => (
            format!("{id} has expired ({})", ended(packet)),
            "one that its time has ended can be reopened; otherwise write a new packet",
        ),
    };
    Err(Refusal::conflict(what, hint))
}

/// Decides whether a packet may be opened again: only one that its time has ended.
///
/// # Errors
/// A conflict that says where the packet stands.
pub fn reopen(packet: &Packet, state: State) -> Result<(), Refusal> {
    must_be(State::Expired, packet, state)?;
    match packet.ended_as {
        None | Some(EndedAs::Ttl) => Ok(()),
        Some(other) => Err(Refusal::conflict(
            format!("{} was {}", packet.id, other.as_str()),
            "only a packet that its time has ended can be reopened; write a new packet",
        )),
    }
}

/// Decides what a report does to the packet, given where it stands at `seeker.now`.
///
/// # Errors
/// When the packet is another agent's to end, or must be taken first.
pub fn ending(packet: &Packet, state: State, reporter: &Reporter, report: Report) -> Result<Ending, Refusal> {
    let id = &packet.id;
    match state {
        State::Accepted if packet.accepted_by.as_ref() == Some(&reporter.agent) || reporter.force => Ok(match report {
            Report::Success => Ending::Close(EndedAs::Success),
            Report::Failure => Ending::Close(EndedAs::Failure),
            Report::Abandoned => Ending::Close(EndedAs::Abandoned),
            Report::Released => Ending::Release,
        }),
        State::Accepted if reporter.held_before => Ok(Ending::LeaveAlone(format!(
            "{id} was taken over by {}; it was left alone",
            timed(packet, "at", packet.accepted_at)
        ))),
        State::Accepted => Err(Refusal::not_allowed(
            format!("{id} is held by {}, and only its holder ends it", holder(packet)),
            Hint::both(
                "leave out handoff_id to report on refs alone; a person can end it for its holder",
                "leave it out to report on --refs alone; `handoffs release` and `handoffs cancel` have --force",
            ),
        )),
        State::Open if report == Report::Abandoned && (reporter.is_author(packet) || reporter.force) => {
            Ok(Ending::Cancel)
        }
        State::Open if reporter.held_before => Ok(Ending::LeaveAlone(format!(
            "{id} was released before and is open; it was left alone"
        ))),
        State::Open if report == Report::Abandoned => Err(Refusal::not_allowed(
            format!(
                "{id} was written by {}, and only its author's agent or its owner takes it back",
                packet.from_agent
            ),
            Hint::both(
                "resume it to end it as its holder",
                format!("`handoffs cancel {id} --force` takes it back all the same"),
            ),
        )),
        State::Open => Err(Refusal::not_allowed(
            format!("{id} is open: nobody has taken it yet"),
            Hint::both(
                "resume it first, or leave out handoff_id to report on refs alone",
                format!("`handoffs accept {id}` first, or leave it out to report on --refs alone"),
            ),
        )),
        State::Closed => Ok(Ending::LeaveAlone(format!(
            "{id} was already closed as {} by {}; it was left alone",
            ended(packet),
            closer(packet)
        ))),
        State::Expired => Ok(Ending::LeaveAlone(format!(
            "{id} has expired ({}); it was left alone",
            ended(packet)
        ))),
    }
}

/// Decides whether a new packet of `author` may take the place of `packet`.
///
/// # Errors
/// When it is another author's, or is not open any more.
pub fn supersede(packet: &Packet, author: &Agent, state: State) -> Result<(), Refusal> {
    let id = &packet.id;
    if packet.from_agent != *author {
        return Err(Refusal::not_allowed(
            format!(
                "{id} was written by {}; an agent supersedes only its own packets",
                packet.from_agent
            ),
            without_supersedes(),
        ));
    }
    match state {
        State::Open => Ok(()),
        State::Accepted => Err(Refusal::conflict(
            format!("{id} is held by {} and can no longer be superseded", holder(packet)),
            without_supersedes(),
        )),
        State::Closed | State::Expired => Err(Refusal::conflict(
            format!("{id} has ended ({}) and can no longer be superseded", ended(packet)),
            without_supersedes(),
        )),
    }
}

/// A packet that this agent holds and has not ended.
#[derive(Debug, Clone)]
pub struct Unfinished {
    /// Its name.
    pub id: HandoffId,
    /// Its title.
    pub title: String,
    /// The session that holds it.
    pub session: Option<Session>,
    /// How old it is.
    pub age: crate::domain::Span,
    /// When its claim was last renewed.
    pub last_activity: crate::domain::Time,
}
