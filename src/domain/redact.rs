//! What is left of an answer for a caller who may see that something is there, and not what it says.

use super::handoff::life::Unfinished;
use super::handoff::seen::{Handed, Letter, Listed, Peeked, Resolved, Seen};
use super::ledger::Told;
use super::outcome::Reported;
use super::record::{Stored, Version};
use super::sought::Page;

/// The word in the place of a title that is not to be read.
pub const WORD: &str = "(redacted)";

/// Something that can be left without its texts.
pub trait Redact {
    /// Takes the texts out, for good.
    fn redact(&mut self);
}

impl<T: Redact> Redact for Vec<T> {
    fn redact(&mut self) {
        self.iter_mut().for_each(Redact::redact);
    }
}

impl<T: Redact> Redact for Option<T> {
    fn redact(&mut self) {
        if let Some(inner) = self {
            inner.redact();
        }
    }
}

impl Redact for Version {
    /// Its value, its tags and what stands beside them.
    fn redact(&mut self) {
        self.value = Stored::Redacted;
        self.tags.clear();
        self.meta = None;
    }
}

impl Redact for Reported {
    /// The run that it is about.
    fn redact(&mut self) {
        WORD.clone_into(&mut self.outcome_ref);
    }
}

impl Redact for Page {
    fn redact(&mut self) {
        self.versions.redact();
    }
}

impl Redact for Resolved {
    fn redact(&mut self) {
        self.version.redact();
    }
}

impl Redact for Seen {
    /// Its texts, its directories, its git state and the run that it ended with.
    fn redact(&mut self) {
        self.letter = Letter::Redacted;
        self.packet.cwd = None;
        self.packet.receiving_cwd = None;
        self.packet.git = None;
        self.packet.outcome_ref = None;
    }
}

impl Redact for Listed {
    fn redact(&mut self) {
        self.seen.redact();
    }
}

impl Redact for Unfinished {
    fn redact(&mut self) {
        WORD.clone_into(&mut self.title);
    }
}

impl Redact for (Seen, Vec<Resolved>, Handed) {
    fn redact(&mut self) {
        self.0.redact();
        self.1.redact();
    }
}

impl Redact for Peeked {
    fn redact(&mut self) {
        self.one.redact();
        self.packets.redact();
        self.queue.unfinished.redact();
    }
}

impl Redact for Told {
    /// What it set, and the note beside it.
    fn redact(&mut self) {
        if let Self::Whole(entry, _) = self {
            *self = Self::Outlined(entry.clone());
        }
    }
}
