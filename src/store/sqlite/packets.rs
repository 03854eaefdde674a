//! Packets: reading them back.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fail::Fail;
use super::ledger::{ProjectRow, head, number, signed};
use super::versions::{self, Budget, stored, value};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::seen::{Changes, Letter, Resolved, Seen, Standing};
use crate::domain::handoff::{EndedAs, Git, HandoffId, Origin, Packet, Sight, State};
use crate::domain::record::{Stored, Version};
use crate::domain::{Actor, Agent, Hint, OutcomeRef, Owner, Refusal, Session, Time};

/// The columns of a packet, as [`packet`] reads them.
pub const COLUMNS: &str = "id, seq, last_seq, from_agent, from_session, to_agent, owner, cwd, origin, git, checkpoint,
    created_at, expires_at, state, ended_as, supersedes, superseded_by, continues, accepted_by, accepted_session,
    accepted_owner, accepted_at, receiving_cwd, closed_at, outcome_ref";

/// The owner filter as SQL on `?2` (2: any, 1: own or shared, 0: own) and `?3` (the caller's owner): another owner's packet
/// is not there.
pub const SIGHT: &str = "(?2 = 2 OR (?2 = 1 AND owner IS NULL) OR owner = ?3)";

/// What [`SIGHT`] is asked with.
pub fn sight(actor: &Actor) -> (i64, Option<String>) {
    let named = |owner: Option<Owner>| owner.map(|owner| owner.as_str().to_owned());
    match actor.sight() {
        Sight::All => (2, None),
        Sight::OwnOrShared(owner) => (1, named(owner)),
        Sight::Own(owner) => (0, named(owner)),
    }
}

/// The packet of this id, unless it is another owner's.
///
/// Not found is a refusal, the same whether it never was or is not the caller's to know.
pub fn find(conn: &Connection, project: i64, actor: &Actor, id: &HandoffId) -> Result<Packet, Fail> {
    let (all, owner) = sight(actor);
    let sql = format!("SELECT {COLUMNS} FROM handoff WHERE project_id = ?1 AND {SIGHT} AND id = ?4");
    let raw = conn
        .prepare_cached(&sql)?
        .query_row(params![project, all, owner, id.as_str()], |row| Ok(packet(row)))
        .optional()?;
    match raw {
        Some(packet) => visible_links(conn, project, actor, active(conn, project, packet?)?),
        None => Err(unknown(id).into()),
    }
}

/// The packet without links to packets that are not the caller's to know.
fn visible_links(conn: &Connection, project: i64, actor: &Actor, mut packet: Packet) -> Result<Packet, Fail> {
    let (all, owner) = sight(actor);
    let sql = format!("SELECT EXISTS (SELECT 1 FROM handoff WHERE project_id = ?1 AND {SIGHT} AND id = ?4)");
    for link in [&mut packet.supersedes, &mut packet.superseded_by, &mut packet.continues] {
        if let Some(id) = link.as_ref() {
            let known: bool = conn
                .prepare_cached(&sql)?
                .query_row(params![project, all, owner, id.as_str()], |row| row.get(0))?;
            if !known {
                *link = None;
            }
        }
    }
    Ok(packet)
}

/// That there is no such packet.
pub fn unknown(id: &HandoffId) -> Refusal {
    Refusal::not_found(
        format!("there is no handoff {id} in this project"),
        Hint::both(
            "peek shows what waits for you",
            "`handoff-memory handoffs list --all` shows what there is",
        ),
    )
}

/// The packet with its texts and what has happened since.
pub fn see(conn: &Connection, project: &ProjectRow, actor: &Actor, packet: Packet) -> Result<Seen, Fail> {
    let packet = visible_links(conn, project.id, actor, packet)?;
    let letter = letter(conn, project.id, &packet.id)?;
    let changes = changes(conn, project.id, actor, &packet)?;
    Ok(Seen {
        unseen_recipient: unseen(conn, project.id, actor, &packet)?,
        packet,
        letter,
        changes,
        now: actor.now,
    })
}

/// Whether nobody of the recipient's name ever did anything in the project that the caller may know of.
fn unseen(conn: &Connection, project: i64, actor: &Actor, packet: &Packet) -> Result<bool, Fail> {
    let Some(to) = &packet.to_agent else { return Ok(false) };
    let folded = to.folded();
    let mut known = super::entries::agents(conn, project, actor)?;
    known.retain(|name| crate::domain::name::fold(name) == folded);
    Ok(known.is_empty())
}

/// A packet's texts.
pub fn letter(conn: &Connection, project: i64, id: &HandoffId) -> Result<Letter, Fail> {
    let (content, hash): (i64, String) = conn
        .prepare_cached("SELECT content_id, texts_hash FROM handoff WHERE id = ?1")?
        .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(
        match value(conn, project, content, &hash, id.as_str(), &mut Budget(usize::MAX))? {
            Stored::Whole(text) => serde_json::from_str(text.as_str()).map_or(Letter::Corrupt, Letter::Whole),
            Stored::Purged(purged) => Letter::Purged(purged),
            Stored::Redacted => Letter::Redacted,
            Stored::Beginning { .. } | Stored::Corrupt => Letter::Corrupt,
        },
    )
}

/// Counting one by one is cheaper than walking an agent's whole index up to this many entries.
const FEW: u64 = 4_000;

fn changes(conn: &Connection, project: i64, actor: &Actor, packet: &Packet) -> Result<Changes, Fail> {
    let Some((last, ..)) = head(conn, project)? else {
        return Ok(Changes::default());
    };
    let total = last.saturating_sub(packet.seq);
    let by_author = if total <= FEW {
        "SELECT count(*) FROM ledger WHERE project_id = ?1 AND seq > ?2 AND fold(agent) = fold(?3)"
    } else {
        "SELECT count(*) FROM ledger INDEXED BY ledger_agent WHERE project_id = ?1 AND seq > ?2
            AND agent IN (SELECT value FROM json_each(?3))"
    };
    let since = signed(packet.seq);
    let author = if total <= FEW {
        packet.from_agent.as_str().to_owned()
    } else {
        super::ledger::names_of(conn, project, &packet.from_agent)?
    };
    let by_author = conn
        .prepare_cached(by_author)?
        .query_row(params![project, since, author], |row| number(row, 0))?;
    // Entries about this packet, about packets that are not the caller's to know, reports on those, and that another packet was
    // superseded by one of them are taken out again.
    let (all, owner) = sight(actor);
    let mut sql = format!(
        "SELECT l.agent FROM handoff h JOIN ledger l INDEXED BY ledger_subject ON l.project_id = h.project_id AND l.subject = h.id
            AND l.seq > ?4 AND l.kind NOT IN ('remembered', 'outcome', 'created')
         WHERE h.project_id = ?1 AND h.last_seq > ?4 AND (h.id = ?5 OR NOT coalesce({SIGHT}, FALSE))
         UNION ALL
         SELECT o.author FROM outcome o JOIN handoff h ON h.id = o.handoff_id
         WHERE o.project_id = ?1 AND o.seq > ?4 AND o.handoff_id IS NOT NULL AND NOT coalesce({SIGHT}, FALSE)
         UNION ALL
         SELECT l.agent FROM handoff h JOIN ledger l ON l.project_id = h.project_id AND l.seq = h.last_seq
         WHERE h.project_id = ?1 AND h.last_seq > ?4 AND h.id <> ?5 AND h.superseded_by IS NOT NULL AND {SIGHT}
            AND EXISTS (SELECT 1 FROM handoff n WHERE n.id = h.superseded_by AND NOT coalesce({SIGHT}, FALSE))"
    );
    if total <= FEW {
        // A text that is purged leaves its packet's row as it was, so that only the entries themselves tell.
        sql += &format!(
            " UNION ALL
             SELECT l.agent FROM ledger l WHERE l.project_id = ?1 AND l.seq > ?4 AND l.kind = 'purged' AND (
                EXISTS (SELECT 1 FROM handoff h WHERE h.id = l.subject AND h.last_seq <= ?4 AND (h.id = ?5 OR NOT coalesce({SIGHT}, FALSE)))
                OR EXISTS (SELECT 1 FROM outcome o JOIN handoff h ON h.id = o.handoff_id WHERE o.id = l.subject AND NOT coalesce({SIGHT}, FALSE)))"
        );
    }
    let mut hidden = conn.prepare_cached(&sql)?;
    let rows = hidden.query_map(params![project, all, owner, since, packet.id.as_str()], |row| {
        row.get::<_, String>(0)
    })?;
    let (mut taken, mut taken_by_author) = (0, 0);
    for agent in rows {
        taken += 1;
        taken_by_author += u64::from(stored(Agent::new(&agent?))? == packet.from_agent);
    }
    Ok(Changes {
        total: total.saturating_sub(taken),
        by_author: by_author.saturating_sub(taken_by_author),
    })
}

/// What a packet pins, in order, each held against the current version.
pub fn resolve(conn: &Connection, project: i64, id: &HandoffId, budget: Budget) -> Result<Vec<Resolved>, Fail> {
    let mut statement =
        conn.prepare_cached("SELECT version_id FROM handoff_ref WHERE handoff_id = ?1 ORDER BY position")?;
    let ids: Vec<i64> = statement
        .query_map([id.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut refs = Vec::new();
    let mut left = budget;
    for id in ids {
        let version = versions::by_id(conn, project, id, left)?
            .ok_or_else(|| Fail::Damaged("a packet pins a version that is not there".to_owned()))?;
        if let Stored::Whole(text) = &version.value {
            left.0 = left.0.saturating_sub(text.as_str().len());
        }
        refs.push(Resolved {
            standing: standing(conn, project, &version)?,
            version,
        });
    }
    Ok(refs)
}

fn standing(conn: &Connection, project: i64, pinned: &Version) -> Result<Standing, Fail> {
    let Some(now) = versions::current(conn, project, &pinned.at, Budget(0))? else {
        return Ok(Standing::Current);
    };
    if now.version == pinned.version {
        return Ok(Standing::Current);
    }
    // Hashes are salted, so that only the bytes themselves tell whether two values are the same.
    let same_value = conn
        .prepare_cached(
            "SELECT a.body = b.body FROM content a, content b
             WHERE a.id = (SELECT content_id FROM version WHERE id = ?1)
               AND b.id = (SELECT content_id FROM version WHERE id = ?2)",
        )?
        .query_row([pinned.id, now.id], |row| row.get(0))
        .optional()?
        .unwrap_or(false);
    Ok(Standing::Stale {
        version: now.version,
        author: now.author,
        at: now.created_at,
        same_value,
    })
}

/// The packet with the time at which its claim was last renewed: its own last entry, or any later one of the session
/// that holds it.
pub fn active(conn: &Connection, project: i64, mut packet: Packet) -> Result<Packet, Fail> {
    if packet.state != State::Accepted {
        return Ok(packet);
    }
    let own: Option<String> = conn
        .prepare_cached("SELECT at FROM ledger WHERE project_id = ?1 AND seq = ?2")?
        .query_row(params![project, signed(packet.last_seq)], |row| row.get(0))
        .optional()?;
    let mut last = own;
    if let (Some(agent), Some(session)) = (&packet.accepted_by, &packet.accepted_session) {
        let mut newest = conn.prepare_cached(
            "SELECT at FROM ledger WHERE project_id = ?1 AND agent = ?2 AND session = ?3 ORDER BY seq DESC LIMIT 1",
        )?;
        // Whoever goes by its name in capitals is the same agent, and renews its claim.
        for name in super::ledger::spellings(conn, project, agent)? {
            let at = newest
                .query_row(params![project, name, session.as_str()], |row| row.get(0))
                .optional()?;
            last = last.max(at);
        }
    }
    packet.last_activity = last.and_then(|at| Time::parse(&at));
    Ok(packet)
}

/// The packet in a row.
pub fn packet(row: &Row) -> Result<Packet, Fail> {
    let text = |column: usize| -> rusqlite::Result<Option<String>> { row.get(column) };
    let must = |column: usize| -> rusqlite::Result<String> { row.get(column) };
    let id = must(0)?;
    let damaged = |what: &str| Fail::Damaged(format!("handoff {id} has no readable {what}"));
    let agent = |column: usize| text(column)?.map(|name| stored(Agent::new(&name))).transpose();
    let session = |column: usize| text(column)?.map(|name| stored(Session::new(&name))).transpose();
    let owner = |column: usize| text(column)?.map(|name| stored(Owner::new(&name))).transpose();
    let cwd = |column: usize| text(column)?.map(|path| stored(Cwd::new(&path))).transpose();
    let handoff = |column: usize| {
        text(column)?
            .map(|id| stored(HandoffId::named("handoff_id", &id)))
            .transpose()
    };
    let time = |column: usize| {
        text(column)?
            .map(|at| Time::parse(&at).ok_or_else(|| damaged("time")))
            .transpose()
    };
    Ok(Packet {
        id: stored(HandoffId::named("handoff_id", &id))?,
        seq: number(row, 1)?,
        last_seq: number(row, 2)?,
        from_agent: stored(Agent::new(&must(3)?))?,
        from_session: session(4)?,
        to_agent: agent(5)?,
        owner: owner(6)?,
        cwd: cwd(7)?,
        origin: Origin::parse(&must(8)?).ok_or_else(|| damaged("origin"))?,
        git: text(9)?
            .map(|git| serde_json::from_str::<Git>(&git))
            .transpose()
            .map_err(|_| damaged("git state"))?,
        checkpoint: must(10)?,
        created_at: time(11)?.ok_or_else(|| damaged("time"))?,
        expires_at: time(12)?,
        state: State::parse(&must(13)?).ok_or_else(|| damaged("state"))?,
        ended_as: text(14)?
            .map(|word| EndedAs::parse(&word).ok_or_else(|| damaged("end")))
            .transpose()?,
        supersedes: handoff(15)?,
        superseded_by: handoff(16)?,
        continues: handoff(17)?,
        accepted_by: agent(18)?,
        accepted_session: session(19)?,
        accepted_owner: owner(20)?,
        accepted_at: time(21)?,
        receiving_cwd: cwd(22)?,
        closed_at: time(23)?,
        outcome_ref: text(24)?.map(|name| stored(OutcomeRef::new(&name))).transpose()?,
        last_activity: None,
    })
}
