//! Taking a packet: which one, how it comes into the caller's hands, and looking without taking.

use rusqlite::{Connection, params};
use serde_json::Map;

use super::fail::Fail;
use super::handoffs::{Gone, Note, any_due, append, expire, expire_due, once};
use super::ledger::{self, Journal, ProjectRow, project, signed};
use super::versions::Budget;
use super::{packets, queue};
use crate::domain::handoff::choice::Seeker;
use crate::domain::handoff::life::{Claim, claim_by_id};
use crate::domain::handoff::place::{Relation, same_place};
use crate::domain::handoff::seen::{Handed, Peeked, Resolved, Resumed, Seen};
use crate::domain::handoff::{EndedAs, HandoffId, Origin, Packet, State};
use crate::domain::ledger::{Checkpoint, Kind};
use crate::domain::{Actor, Session};

/// Takes, takes over, moves or re-reads a packet: the next one for the caller, or the one named.
pub fn resume(conn: &Connection, actor: &Actor, id: Option<&HandoffId>, gone: Gone) -> Result<Resumed, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return match id {
            Some(id) => Err(packets::unknown(id).into()),
            None => Ok(Resumed {
                found: None,
                queue: crate::domain::handoff::seen::Queue::default(),
            }),
        };
    };
    let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
    expire_due(&mut journal)?;
    let (chosen, left) = match id {
        Some(id) => {
            let packet = packets::find(conn, row.id, actor, id)?;
            let claim = claim_by_id(&packet, &actor.seeker())?;
            (Some((packet, claim)), None)
        }
        None => choose(conn, &row, actor, gone)?,
    };
    let found = match chosen {
        Some((packet, claim)) => Some(hand(&mut journal, actor, &packet, &claim, gone)?),
        None => None,
    };
    let given = found.as_ref().map(|(seen, ..)| &seen.packet.id);
    // What waits was counted while it was chosen from; taking an automatic packet may have ended others.
    let left = left.filter(|_| {
        found
            .as_ref()
            .is_none_or(|(seen, ..)| seen.packet.origin != Origin::Automatic)
    });
    let waiting = left.map_or_else(|| queue::waiting(conn, row.id, actor), Ok)?;
    let queue = queue::queue(conn, row.id, actor, given, waiting)?;
    Ok(Resumed { found, queue })
}

/// A packet and how it comes to the caller; and how many wait and do not wait for it then, if that is known.
type Chosen = (Option<(Packet, Claim)>, Option<(u64, u64)>);

/// What a bare `resume` takes: what is free, else what is the caller's own and unfinished.
fn choose(conn: &Connection, row: &ProjectRow, actor: &Actor, gone: Gone) -> Result<Chosen, Fail> {
    let (free, others) = queue::takeable(conn, row.id, actor)?;
    let waiting = free.len() as u64;
    if let Some(packet) = free.into_iter().next() {
        let claim = if packet.state == State::Accepted {
            Claim::TakeOver
        } else {
            Claim::Take
        };
        return Ok((Some((packet, claim)), Some((waiting - 1, others))));
    }
    let left = Some((0, others));
    let seeker = actor.seeker();
    let held = queue::held(conn, row.id, actor)?;
    let own = held
        .iter()
        .find(|packet| seeker.is_mine(packet.accepted_session.as_ref()));
    if let Some(packet) = own {
        return Ok((Some((packet.clone(), Claim::Again)), left));
    }
    let orphan = held.iter().find(|packet| holder_gone(packet, &seeker, gone));
    Ok((orphan.map(|packet| (packet.clone(), Claim::Move)), left))
}

fn holder_gone(packet: &Packet, seeker: &Seeker, gone: Gone) -> bool {
    crate::domain::handoff::choice::lapsed(packet, seeker.lease, seeker.now)
        || packet.accepted_session.as_ref().is_some_and(gone)
}

/// Puts the packet into the caller's hands and tells how it came.
fn hand(
    journal: &mut Journal,
    actor: &Actor,
    packet: &Packet,
    claim: &Claim,
    gone: Gone,
) -> Result<(Seen, Vec<Resolved>, Handed), Fail> {
    let seeker = actor.seeker();
    let mut handed = Handed {
        meant_for: packet.to_agent.clone().filter(|to| *to != actor.agent),
        unrelated: seeker.relation(packet) == Relation::Unrelated,
        rolled_back: rolled_back(journal.conn, journal.project.id, packet)?,
        ..Handed::default()
    };
    match claim {
        Claim::Take => accept(journal, actor, packet, None)?,
        Claim::TakeOver => {
            handed.took_over_from = packet.accepted_by.clone();
            accept(journal, actor, packet, Some(packet))?;
        }
        Claim::Again | Claim::Move => {
            handed.already_yours = true;
            if *claim == Claim::Move {
                handed.held_by_session = packet.accepted_session.clone();
                handed.holder_alive = !holder_gone(packet, &seeker, gone);
            }
            take_up(journal, actor, packet)?;
        }
    }
    let fresh = packets::find(journal.conn, journal.project.id, actor, &packet.id)?;
    let refs = packets::resolve(journal.conn, journal.project.id, &packet.id, Budget::ALL)?;
    let seen = packets::see(journal.conn, &journal.project, actor, fresh)?;
    Ok((seen, refs, handed))
}

/// Whether the ledger no longer holds the checkpoint that the packet carries.
fn rolled_back(conn: &Connection, project: i64, packet: &Packet) -> Result<bool, Fail> {
    match Checkpoint::parse(&packet.checkpoint) {
        Ok(checkpoint) => Ok(!ledger::contains(conn, project, &checkpoint)?),
        Err(_) => Ok(true),
    }
}

fn accept(journal: &mut Journal, actor: &Actor, packet: &Packet, from: Option<&Packet>) -> Result<(), Fail> {
    let mut detail = Map::new();
    if let Some(owner) = &actor.owner {
        detail.insert("owner".to_owned(), owner.as_str().into());
    }
    if let Some(cwd) = &actor.cwd {
        detail.insert("cwd".to_owned(), cwd.as_str().into());
    }
    if let Some(holder) = from.and_then(|from| from.accepted_by.as_ref()) {
        detail.insert("took_over_from".to_owned(), holder.as_str().into());
    }
    if let Some(session) = from.and_then(|from| from.accepted_session.as_ref()) {
        detail.insert("took_over_session".to_owned(), session.as_str().into());
    }
    let seq = append(journal, Kind::Accepted, &packet.id, detail, Note::default())?;
    let changed = journal
        .conn
        .prepare_cached(
            "UPDATE handoff SET state = 'accepted', accepted_by = ?2, accepted_session = ?3, accepted_owner = ?4,
                accepted_at = ?5, receiving_cwd = ?6, last_seq = ?7
             WHERE id = ?1 AND state = ?8 AND last_seq = ?9",
        )?
        .execute(params![
            packet.id.as_str(),
            actor.agent.as_str(),
            actor.session.as_ref().map(Session::as_str),
            actor.owner.as_ref().map(|owner| owner.as_str()),
            journal.at,
            actor.cwd.as_ref().map(|cwd| cwd.as_str()),
            signed(seq),
            packet.state.as_str(),
            signed(packet.last_seq)
        ])?;
    once(changed, &packet.id)?;
    sweep(journal, actor, packet)
}

/// Taking an automatic packet in its own directory ends the older automatic ones of that directory and owner.
fn sweep(journal: &mut Journal, actor: &Actor, taken: &Packet) -> Result<(), Fail> {
    let in_place = taken
        .cwd
        .as_ref()
        .zip(actor.cwd.as_ref())
        .is_some_and(|(its, mine)| its.same(mine));
    if taken.origin != Origin::Automatic || !in_place {
        return Ok(());
    }
    for older in queue::open_automatic(journal.conn, journal.project.id, actor)? {
        if older.seq < taken.seq
            && older.owner == taken.owner
            && same_place(older.cwd.as_ref(), taken.cwd.as_ref())
            && older.id != taken.id
        {
            expire(
                journal,
                &older.id,
                EndedAs::Superseded,
                Some(&taken.id),
                Note::default(),
            )?;
        }
    }
    Ok(())
}

/// The same agent goes on, in this session.
fn take_up(journal: &mut Journal, actor: &Actor, packet: &Packet) -> Result<(), Fail> {
    let mut detail = Map::new();
    if let Some(cwd) = &actor.cwd {
        detail.insert("cwd".to_owned(), cwd.as_str().into());
    }
    let seq = append(journal, Kind::Resumed, &packet.id, detail, Note::default())?;
    let changed = journal
        .conn
        .prepare_cached(
            "UPDATE handoff SET accepted_session = ?2, receiving_cwd = coalesce(?3, receiving_cwd), last_seq = ?4
             WHERE id = ?1 AND state = 'accepted' AND last_seq = ?5",
        )?
        .execute(params![
            packet.id.as_str(),
            actor.session.as_ref().map(Session::as_str),
            actor.cwd.as_ref().map(|cwd| cwd.as_str()),
            signed(seq),
            signed(packet.last_seq)
        ])?;
    once(changed, &packet.id)
}

/// Whether a bare `resume` would find anything to take, to take up or to write down; reads only.
pub fn anything(conn: &Connection, actor: &Actor) -> Result<bool, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(false);
    };
    if any_due(conn, actor)? {
        return Ok(true);
    }
    queue::any(conn, row.id, actor)
}

/// What there is for the caller, claiming nothing and writing nothing.
pub fn peek(conn: &Connection, actor: &Actor, id: Option<&HandoffId>, limit: usize) -> Result<Peeked, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return match id {
            Some(id) => Err(packets::unknown(id).into()),
            None => Ok(Peeked {
                one: None,
                packets: Vec::new(),
                queue: crate::domain::handoff::seen::Queue::default(),
            }),
        };
    };
    let waiting = queue::waiting(conn, row.id, actor)?;
    let queue = queue::queue(conn, row.id, actor, None, waiting)?;
    let mut seen = Vec::new();
    let mut one = None;
    match id {
        Some(id) => {
            let packet = packets::find(conn, row.id, actor, id)?;
            let handed = Handed {
                already_yours: actor.seeker().holds(&packet),
                meant_for: packet.to_agent.clone().filter(|to| *to != actor.agent),
                unrelated: actor.seeker().relation(&packet) == Relation::Unrelated,
                rolled_back: rolled_back(conn, row.id, &packet)?,
                ..Handed::default()
            };
            let refs = packets::resolve(conn, row.id, id, Budget::ALL)?;
            one = Some((packets::see(conn, &row, actor, packet)?, refs, handed));
        }
        None => {
            let (free, _) = queue::takeable(conn, row.id, actor)?;
            for packet in free.into_iter().take(limit) {
                seen.push(packets::see(conn, &row, actor, packet)?);
            }
        }
    }
    Ok(Peeked {
        one,
        packets: seen,
        queue,
    })
}

/// Whether `agent` of this caller held the packet before another took it over or it was given back.
pub fn held_before(conn: &Connection, project: i64, actor: &Actor, id: &HandoffId) -> Result<bool, Fail> {
    let entries = ledger::about(conn, project, id.as_str())?;
    Ok(entries.iter().any(|entry| {
        matches!(entry.kind.as_str(), "accepted" | "resumed")
            && crate::domain::name::fold(&entry.agent) == actor.agent.folded()
    }))
}
