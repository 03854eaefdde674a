//! What a record and a packet promise to those who use them at once, as the design says it.

use super::checker::Object;

/// A record: its current version, and which write made it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Record {
    pub version: u64,
    pub value: u64,
}

#[derive(Debug, Clone)]
pub enum OnRecord {
    /// `remember`; each write has a value of its own.
    Write {
        value: u64,
        expected: Option<u64>,
    },
    Read,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FromRecord {
    Wrote(u64),
    /// A conflict that names the version that is current.
    Conflict(u64),
    Is {
        version: u64,
        value: u64,
    },
    Absent,
}

impl Object for Record {
    type Call = OnRecord;
    type Answer = FromRecord;

    fn after(&self, call: &OnRecord, answer: Option<&FromRecord>) -> Option<Self> {
        let (next, said) = match *call {
            OnRecord::Read if self.version == 0 => (self.clone(), FromRecord::Absent),
            OnRecord::Read => {
                let Self { version, value } = *self;
                (self.clone(), FromRecord::Is { version, value })
            }
            OnRecord::Write { expected, .. } if expected.is_some_and(|n| n != self.version) => {
                (self.clone(), FromRecord::Conflict(self.version))
            }
            OnRecord::Write { value, .. } => {
                let version = self.version + 1;
                (Self { version, value }, FromRecord::Wrote(version))
            }
        };
        answer.is_none_or(|answer| *answer == said).then_some(next)
    }
}

/// Where a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Stands {
    #[default]
    Open,
    /// Held by this client.
    Held(usize),
    Closed,
}

/// A packet: where it stands, and which clients held it at any time.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Packet {
    pub stands: Stands,
    pub held_once: u64,
}

#[derive(Debug, Clone)]
pub enum OnPacket {
    /// `resume`, bare or by id.
    Claim(usize),
    /// `record_outcome` with `released`.
    Release(usize),
    /// `record_outcome` with `success`.
    Close(usize),
    Look,
}

#[derive(Debug, Clone, PartialEq)]
pub enum FromPacket {
    /// The claimant's now.
    Taken,
    /// The claimant's, as it was before.
    Again,
    /// In another's hands, or ended.
    Conflict,
    /// The report did what it says, and left the packet so.
    Did(Stands),
    /// The report left the packet alone, which stands so and is in nobody's hands.
    LeftAlone(Stands),
    /// The report left the packet alone, which is in other hands.
    LeftToAnother,
    NotAllowed,
    Is(Stands),
}

impl Object for Packet {
    type Call = OnPacket;
    type Answer = FromPacket;

    fn after(&self, call: &OnPacket, answer: Option<&FromPacket>) -> Option<Self> {
        let stay = |said| (self.clone(), said);
        let to = |stands| Self {
            stands,
            held_once: self.held_once,
        };
        let report = |who: usize, end: Stands| match self.stands {
            Stands::Held(holder) if holder == who => (to(end), FromPacket::Did(end)),
            Stands::Closed => stay(FromPacket::LeftAlone(Stands::Closed)),
            _ if self.held_once >> who & 1 == 0 => stay(FromPacket::NotAllowed),
            Stands::Held(_) => stay(FromPacket::LeftToAnother),
            Stands::Open => stay(FromPacket::LeftAlone(Stands::Open)),
        };
        let (next, said) = match (*call).clone() {
            OnPacket::Look => stay(FromPacket::Is(self.stands)),
            OnPacket::Claim(who) => match self.stands {
                Stands::Open => {
                    let held_once = self.held_once | 1 << who;
                    let stands = Stands::Held(who);
                    (Self { stands, held_once }, FromPacket::Taken)
                }
                Stands::Held(holder) if holder == who => stay(FromPacket::Again),
                _ => stay(FromPacket::Conflict),
            },
            OnPacket::Release(who) => report(who, Stands::Open),
            OnPacket::Close(who) => report(who, Stands::Closed),
        };
        answer.is_none_or(|answer| *answer == said).then_some(next)
    }
}
