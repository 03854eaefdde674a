//! The queue of packets as one caller sees it.

use rusqlite::{Connection, params};

use super::fail::Fail;
use super::ledger::number;
use super::packets::{COLUMNS, SIGHT, active, letter, packet, sight};
use crate::domain::Actor;
use crate::domain::handoff::choice::{Seeker, lapsed};
use crate::domain::handoff::life::Unfinished;
use crate::domain::handoff::seen::Queue;
use crate::domain::handoff::{HandoffId, Origin, Packet, State};

/// Every packet of a stored state that the caller may know of, oldest first.
fn in_state(conn: &Connection, project: i64, actor: &Actor, state: State) -> Result<Vec<Packet>, Fail> {
    let mut packets = Vec::new();
    each_in_state(conn, project, actor, state, |packet| {
        packets.push(packet);
        Ok(true)
    })?;
    Ok(packets)
}

/// Calls `each` with them, for as long as it says that it wants more.
fn each_in_state(
    conn: &Connection,
    project: i64,
    actor: &Actor,
    state: State,
    mut each: impl FnMut(Packet) -> Result<bool, Fail>,
) -> Result<(), Fail> {
    let (all, owner) = sight(actor);
    let sql = format!("SELECT {COLUMNS} FROM handoff WHERE project_id = ?1 AND {SIGHT} AND state = ?4 ORDER BY seq");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut rows = statement.query(params![project, all, owner, state.as_str()])?;
    while let Some(row) = rows.next()? {
        if !each(packet(row)?)? {
            break;
        }
    }
    Ok(())
}

/// Whether there is anything that a bare `resume` could take, or that the caller holds.
pub fn any(conn: &Connection, project: i64, actor: &Actor) -> Result<bool, Fail> {
    let seeker = actor.seeker();
    let mut found = false;
    each_in_state(conn, project, actor, State::Open, |packet| {
        found = seeker.could_take(&packet);
        Ok(!found)
    })?;
    if !found {
        each_in_state(conn, project, actor, State::Accepted, |packet| {
            found = seeker.holds(&packet) || can_take_over(conn, project, actor, &packet)?;
            Ok(!found)
        })?;
    }
    Ok(found)
}

/// Whether the claim on a packet has lapsed, so that the caller could take it over.
fn can_take_over(conn: &Connection, project: i64, actor: &Actor, packet: &Packet) -> Result<bool, Fail> {
    let seeker = actor.seeker();
    // The claim's own age is looked at first: the look into the ledger is only for those that may have lapsed.
    Ok(lapsed(packet, seeker.lease, actor.now) && seeker.could_take(&active(conn, project, packet.clone())?))
}

/// What a bare `resume` could take, the first to take first, and how many open packets it could not.
pub fn takeable(conn: &Connection, project: i64, actor: &Actor) -> Result<(Vec<Packet>, u64), Fail> {
    let seeker = actor.seeker();
    let open: Vec<Packet> = in_state(conn, project, actor, State::Open)?
        .into_iter()
        .filter(|packet| packet.state_at(actor.now) == State::Open)
        .collect();
    let all = open.len();
    let mut free: Vec<Packet> = open.into_iter().filter(|packet| seeker.could_take(packet)).collect();
    let others = all - free.len();
    for packet in in_state(conn, project, actor, State::Accepted)? {
        if can_take_over(conn, project, actor, &packet)? {
            free.push(active(conn, project, packet)?);
        }
    }
    seeker.sort(&mut free);
    Ok((free, others as u64))
}

/// The open packets that hooks wrote, oldest first.
pub fn open_automatic(conn: &Connection, project: i64, actor: &Actor) -> Result<Vec<Packet>, Fail> {
    let open = in_state(conn, project, actor, State::Open)?;
    Ok(open
        .into_iter()
        .filter(|packet| packet.origin == Origin::Automatic)
        .collect())
}

/// How many packets of this agent are open now.
pub fn open_by(conn: &Connection, project: i64, actor: &Actor) -> Result<u64, Fail> {
    let (all, owner) = sight(actor);
    let names = super::ledger::names_of(conn, project, &actor.agent)?;
    let sql = format!(
        "SELECT count(*) FROM handoff WHERE project_id = ?1 AND {SIGHT} AND state = 'open'
            AND from_agent IN (SELECT value FROM json_each(?4)) AND (expires_at IS NULL OR expires_at > ?5)"
    );
    Ok(conn
        .prepare_cached(&sql)?
        .query_row(params![project, all, owner, names, actor.now.to_string()], |row| {
            number(row, 0)
        })?)
}

/// What this agent holds and has not ended, the newest claim first.
pub fn held(conn: &Connection, project: i64, actor: &Actor) -> Result<Vec<Packet>, Fail> {
    let seeker: Seeker = actor.seeker();
    let mut held = Vec::new();
    for packet in in_state(conn, project, actor, State::Accepted)? {
        if seeker.holds(&packet) {
            held.push(active(conn, project, packet)?);
        }
    }
    held.sort_by_key(|packet| std::cmp::Reverse((packet.accepted_at, packet.seq)));
    Ok(held)
}

/// How many packets wait for the caller, and how many open ones do not.
pub fn waiting(conn: &Connection, project: i64, actor: &Actor) -> Result<(u64, u64), Fail> {
    let (free, others) = takeable(conn, project, actor)?;
    Ok((free.len() as u64, others))
}

/// The queue as the caller sees it, with what is known to wait; the packet that it is being given is not among the unfinished.
pub fn queue(
    conn: &Connection,
    project: i64,
    actor: &Actor,
    given: Option<&HandoffId>,
    (waiting, others): (u64, u64),
) -> Result<Queue, Fail> {
    let mut unfinished = Vec::new();
    for packet in held(conn, project, actor)? {
        if given != Some(&packet.id) {
            unfinished.push(Unfinished {
                title: letter(conn, project, &packet.id)?.title().to_owned(),
                session: packet.accepted_session.clone(),
                age: actor.now.since(packet.created_at),
                last_activity: packet.last_activity.unwrap_or(packet.created_at),
                id: packet.id,
            });
        }
    }
    let counts = super::listing::counts(conn, project, actor)?;
    Ok(Queue {
        waiting,
        others,
        expired: counts.expired,
        unfinished,
    })
}
