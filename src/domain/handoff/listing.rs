//! What a caller wants to see of the queue.

use super::State;
use crate::domain::Time;

/// Which packets to list, of those that the caller may know of.
#[derive(Debug, Clone)]
pub struct Listing {
    /// Where they stand now; an open one past its time counts as expired. Empty: anywhere.
    pub states: Vec<State>,
    /// Those too that are accepted, and whose claim has lapsed: they wait again.
    pub lapsed: bool,
    /// Only what the caller's agent wrote, is to get, or holds.
    pub mine: bool,
    /// Only what was written at this instant or before.
    pub until: Option<Time>,
    /// The newest first; else the oldest.
    pub newest_first: bool,
    /// The place after which the page starts: the `seq` of the last packet of the page before.
    pub after: Option<u64>,
    /// Most packets of one page.
    pub limit: usize,
}

impl Listing {
    /// Every open packet, the oldest first.
    pub fn open(limit: usize) -> Self {
        Self {
            states: vec![State::Open],
            lapsed: false,
            mine: false,
            until: None,
            newest_first: false,
            after: None,
            limit,
        }
    }
}

/// Which open packets to end before their time.
#[derive(Debug, Clone)]
pub enum Ended {
    /// Those whose time is over anyway, and no others.
    Due,
    /// These, each of which must be open.
    Named(Vec<super::HandoffId>),
    /// Those that were written at this instant or before.
    Until(Time),
}
