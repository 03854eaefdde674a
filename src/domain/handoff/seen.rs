//! Packets as they are seen: with texts, resolved refs, and what has happened since.

use super::life::Unfinished;
use super::{HandoffId, Packet, Texts};
use crate::domain::record::{Purged, Version};
use crate::domain::{Address, Agent, Session, Time};

/// A packet's texts, or why there are none.
#[derive(Debug, Clone, PartialEq)]
pub enum Letter {
    /// As they were written.
    Whole(Texts),
    /// Removed on purpose.
    Purged(Purged),
    /// Gone, or other than their hash says.
    Corrupt,
    /// Not the caller's to read.
    Redacted,
}

impl Letter {
    /// The title, or a word for why there is none.
    pub fn title(&self) -> &str {
        match self {
            Self::Whole(texts) => &texts.title,
            Self::Purged(_) => "(purged)",
            Self::Corrupt => "(damaged)",
            Self::Redacted => crate::domain::redact::WORD,
        }
    }
}

/// What the project's ledger has gained since a packet was written, as far as the caller may know, without the
/// entries about the packet itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Changes {
    /// How many entries.
    pub total: u64,
    /// How many of them its author made.
    pub by_author: u64,
}

/// A packet with its texts at one instant.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The packet.
    pub packet: Packet,
    /// Its texts.
    pub letter: Letter,
    /// What has happened since.
    pub changes: Changes,
    /// Whether nobody of the recipient's name was ever seen in the project.
    pub unseen_recipient: bool,
    /// The instant.
    pub now: Time,
}

/// A page of packets.
#[derive(Debug, Clone, Default)]
pub struct Listed {
    /// The packets.
    pub seen: Vec<Seen>,
    /// How many there are in all.
    pub total: u64,
    /// Whether some come after these.
    pub more: bool,
}

/// How a pinned version stands now.
#[derive(Debug, Clone)]
pub enum Standing {
    /// It is still the current one.
    Current,
    /// A newer version exists.
    Stale {
        /// Its number.
        version: u64,
        /// Who wrote it.
        author: Agent,
        /// When.
        at: Time,
        /// Whether it holds the same bytes as the pinned one.
        same_value: bool,
    },
}

/// A pinned version, resolved.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// The pinned version itself; its value tells when it was purged or is damaged.
    pub version: Version,
    /// Whether it is still current.
    pub standing: Standing,
}

/// What became of a new packet.
#[derive(Debug, Clone)]
pub struct HandedOff {
    /// The packet.
    pub seen: Seen,
    /// What it pins.
    pub refs: Vec<Resolved>,
    /// How many packets of this agent are open now.
    pub open_by_you: u64,
    /// Whether the same packet was there before: nothing was written.
    pub unchanged: bool,
    /// The recipient, when nobody of that name was ever seen, and the nearest names that were.
    pub unknown_recipient: Option<(Agent, Vec<String>)>,
    /// Records that were to be pinned silently and did not fit.
    pub left_out: Vec<Address>,
}

/// What else there is for a caller who looks for work.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    /// How many packets a bare `resume` could take.
    pub waiting: u64,
    /// How many open ones it may know of but could not take.
    pub others: u64,
    /// How many have expired.
    pub expired: u64,
    /// What this agent holds and has not ended.
    pub unfinished: Vec<Unfinished>,
}

/// How a packet came into the caller's hands.
#[derive(Debug, Clone, Default)]
pub struct Handed {
    /// The caller's agent held it before.
    pub already_yours: bool,
    /// The session of the same agent that held it before.
    pub held_by_session: Option<Session>,
    /// Whether that session was still alive as far as is known.
    pub holder_alive: bool,
    /// Whose lease had lapsed.
    pub took_over_from: Option<Agent>,
    /// Whom it was meant for, when that is not the caller.
    pub meant_for: Option<Agent>,
    /// Whether its directory is another place than the caller's.
    pub unrelated: bool,
    /// Whether the ledger no longer holds the checkpoint that the packet carries.
    pub rolled_back: bool,
}

/// A packet in the caller's hands, or that there is none.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// The packet, its refs and how it came; none: nothing for the caller.
    pub found: Option<(Seen, Vec<Resolved>, Handed)>,
    /// What else there is.
    pub queue: Queue,
}

/// What `resume{peek}` shows: claims nothing.
#[derive(Debug, Clone)]
pub struct Peeked {
    /// One packet that was asked for by its id, with its refs.
    pub one: Option<(Seen, Vec<Resolved>, Handed)>,
    /// What a bare `resume` could take, the first to take first, at most a page.
    pub packets: Vec<Seen>,
    /// What else there is.
    pub queue: Queue,
}

/// What a report did to the packet that it names.
#[derive(Debug, Clone)]
pub struct Touched {
    /// The packet.
    pub id: HandoffId,
    /// Where it stands now.
    pub state: super::State,
    /// How it ended.
    pub ended_as: Option<super::EndedAs>,
    /// Why it was left alone, if it was.
    pub left_alone: Option<String>,
}

/// What became of a report.
#[derive(Debug, Clone)]
pub struct Recorded {
    /// The versions whose opinion moved, or moved the first time that this was reported.
    pub moved: Vec<crate::domain::outcome::Moved>,
    /// The packet.
    pub packet: Option<Touched>,
    /// Whether all of it was reported before: nothing was written.
    pub repeated: bool,
}
