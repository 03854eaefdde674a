//! Which packet a bare `resume` takes.

use std::cmp::Reverse;

use super::place::{Cwd, Relation, relation};
use super::{Origin, Packet, State};
use crate::domain::{Agent, Session, Span, Time};

/// Who looks for work, when, and under which lease.
#[derive(Debug, Clone)]
pub struct Seeker {
    /// Who.
    pub agent: Agent,
    /// In which run; none equals no other.
    pub session: Option<Session>,
    /// Where.
    pub cwd: Option<Cwd>,
    /// When.
    pub now: Time,
    /// How long a claim holds without activity; zero: for ever.
    pub lease: Span,
}

/// Whether the claim on an accepted packet has lapsed at `now`.
pub fn lapsed(packet: &Packet, lease: Span, now: Time) -> bool {
    packet.state == State::Accepted
        && !lease.is_zero()
        && packet
            .last_activity
            .or(packet.accepted_at)
            .is_none_or(|last| last.plus(lease) <= now)
}

impl Seeker {
    /// Whether a bare `resume` could take this packet now.
    pub fn could_take(&self, packet: &Packet) -> bool {
        let free = match packet.state_at(self.now) {
            State::Open => true,
            // What this agent holds itself is not waiting for it: it is unfinished.
            State::Accepted => !self.holds(packet) && lapsed(packet, self.lease, self.now),
            State::Closed | State::Expired => false,
        };
        free && !self.is_mine(packet.from_session.as_ref())
            && packet.to_agent.as_ref().is_none_or(|to| *to == self.agent)
    }

    /// Whether this agent holds the packet, in whatever session.
    pub fn holds(&self, packet: &Packet) -> bool {
        packet.state == State::Accepted && packet.accepted_by.as_ref() == Some(&self.agent)
    }

    /// Whether `session` is this very session.
    pub fn is_mine(&self, session: Option<&Session>) -> bool {
        self.session.is_some() && self.session.as_ref() == session
    }

    /// How the packet's directory is related to this seeker's.
    pub fn relation(&self, packet: &Packet) -> Relation {
        relation(packet.cwd.as_ref(), self.cwd.as_ref())
    }

    /// Sorts what could be taken, the first to take first.
    pub fn sort(&self, packets: &mut [Packet]) {
        packets.sort_by_cached_key(|packet| self.rank(packet));
    }

    fn rank(&self, packet: &Packet) -> impl Ord + use<> {
        let automatic = packet.origin == Origin::Automatic;
        let age = if automatic {
            (None, Some(Reverse(packet.seq)))
        } else {
            (Some(packet.seq), None)
        };
        (automatic, packet.to_agent.is_none(), self.relation(packet), age)
    }
}
