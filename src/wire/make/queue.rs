//! Lists of packets, one packet whole, and ledger entries.

use serde_json::value::RawValue;

use super::{flag, listed, packet, reference, warnings};
use crate::domain::Home;
use crate::domain::handoff::seen::{self, Resolved, Seen, Standing};
use crate::domain::ledger::Told;
use crate::wire::{Entry, Expired, Listed, Reopened, Shown};

/// A page of packets.
pub fn queue(page: &seen::Listed, home: &Home, more: Vec<String>) -> Listed {
    let last = page.seen.last().filter(|_| page.more);
    Listed {
        packets: page.seen.iter().map(|seen| listed(seen, home)).collect(),
        total: page.total,
        next_cursor: last.map(|seen| format!("q{}", seen.packet.seq)),
        warnings: warnings(more),
    }
}

/// One packet with its refs and entries.
pub fn shown(seen: &Seen, refs: &[Resolved], entries: &[Told], home: &Home, more: Vec<String>) -> Shown {
    Shown {
        packet: packet(seen, home),
        refs: refs.iter().map(|one| reference(one, true)).collect(),
        stale: stale(refs),
        entries: entries.iter().map(entry).collect(),
        warnings: warnings(more),
    }
}

/// How many of the refs are stale.
pub fn stale(refs: &[Resolved]) -> u64 {
    let stale = |one: &&Resolved| matches!(one.standing, Standing::Stale { .. });
    refs.iter().filter(stale).count() as u64
}

/// A ledger entry.
pub fn entry(told: &Told) -> Entry {
    let blank = |seq: u64, at: &str, hash: &str| Entry {
        seq,
        at: at.to_owned(),
        agent: None,
        session: None,
        kind: None,
        subject: None,
        detail: None,
        digest: None,
        hash: hash.to_owned(),
        note: None,
        redacted: None,
    };
    match told {
        Told::Redacted { seq, at, hash } => Entry {
            redacted: Some(true),
            ..blank(*seq, at, hash)
        },
        Told::Outlined(entry) => Entry {
            agent: Some(entry.agent.clone()),
            session: entry.session.clone(),
            kind: Some(entry.kind.clone()),
            subject: Some(entry.subject.clone()),
            digest: Some(entry.digest.clone()),
            redacted: Some(true),
            ..blank(entry.seq, &entry.at, &entry.hash)
        },
        Told::Whole(entry, note) => Entry {
            agent: Some(entry.agent.clone()),
            session: entry.session.clone(),
            kind: Some(entry.kind.clone()),
            subject: Some(entry.subject.clone()),
            detail: RawValue::from_string(entry.detail.clone()).ok(),
            digest: Some(entry.digest.clone()),
            note: note.clone(),
            ..blank(entry.seq, &entry.at, &entry.hash)
        },
    }
}

/// The packets that were ended, or that would be.
pub fn expired(seen: &[Seen], total: u64, home: &Home, dry_run: bool) -> Expired {
    Expired {
        packets: seen.iter().map(|seen| listed(seen, home)).collect(),
        total,
        dry_run: flag(dry_run),
    }
}

/// A packet that was opened again.
pub fn reopened(seen: &Seen, home: &Home) -> Reopened {
    Reopened {
        packet: listed(seen, home),
    }
}
