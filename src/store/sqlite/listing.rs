//! Lists of packets, and of projects.

use rusqlite::{Connection, params};

use super::fail::Fail;
use super::ledger::{self, ProjectRow, number, project, signed};
use super::packets;
use super::versions::stored;
use crate::domain::handoff::listing::Listing;
use crate::domain::handoff::seen::Listed;
use crate::domain::handoff::{HandoffId, State};
use crate::domain::ledger::Checkpoint;
use crate::domain::{Actor, Home, Project, Workspace};

/// Whether the claim on an accepted packet has lapsed, as the domain sees it: nothing happened since `?8`, as
/// [`lapsed_by`] gives it.
const LAPSED: &str = "(state = 'accepted' AND coalesce(
    nullif(max(coalesce((SELECT at FROM ledger l WHERE l.project_id = handoff.project_id AND l.seq = handoff.last_seq), ''),
               coalesce((SELECT at FROM ledger l WHERE l.project_id = handoff.project_id AND l.agent = handoff.accepted_by
                         AND l.session = handoff.accepted_session ORDER BY l.seq DESC LIMIT 1), '')), ''),
    accepted_at) <= ?8)";

/// The instant since which something must have happened to a claim that holds; none where claims hold for ever.
fn lapsed_by(actor: &Actor) -> Option<String> {
    (!actor.lease.is_zero()).then(|| actor.now.minus(actor.lease).to_string())
}

/// One page of packets.
pub fn packets(conn: &Connection, actor: &Actor, wanted: &Listing) -> Result<Listed, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(Listed::default());
    };
    let (all, owner) = packets::sight(actor);
    let states = serde_json::to_string(&wanted.states.iter().map(|state| state.as_str()).collect::<Vec<_>>())
        .unwrap_or_default();
    let filter = format!(
        "project_id = ?1 AND {sight}
            AND (?5 = '[]' OR (CASE WHEN state = 'open' AND expires_at <= ?4 THEN 'expired' ELSE state END)
                              IN (SELECT value FROM json_each(?5)) OR {lapsed})
            AND (?6 IS NULL OR fold(from_agent) = ?6 OR fold(to_agent) = ?6 OR fold(accepted_by) = ?6)
            AND (?7 IS NULL OR created_at <= ?7)",
        sight = packets::SIGHT,
        lapsed = LAPSED,
    );
    let lapsed = lapsed_by(actor).filter(|_| wanted.lapsed);
    let mine = wanted.mine.then(|| actor.agent.folded());
    let until = wanted.until.map(|until| until.to_string());
    let now = actor.now.to_string();
    let total = conn
        .prepare_cached(&format!("SELECT count(*) FROM handoff WHERE {filter}"))?
        .query_row(params![row.id, all, owner, now, states, mine, until, lapsed], |row| {
            number(row, 0)
        })?;
    let (order, beyond) = if wanted.newest_first {
        ("DESC", "<")
    } else {
        ("ASC", ">")
    };
    // One more than is given shows whether there are more.
    let mut ids: Vec<String> = conn
        .prepare_cached(&format!(
            "SELECT id FROM handoff WHERE {filter} AND (?9 IS NULL OR seq {beyond} ?9) ORDER BY seq {order} LIMIT ?10"
        ))?
        .query_map(
            params![
                row.id,
                all,
                owner,
                now,
                states,
                mine,
                until,
                lapsed,
                wanted.after.map(signed),
                i64::try_from(wanted.limit.saturating_add(1)).unwrap_or(i64::MAX)
            ],
            |row| row.get(0),
        )?
        .collect::<rusqlite::Result<_>>()?;
    let more = ids.len() > wanted.limit;
    ids.truncate(wanted.limit);
    let mut seen = Vec::new();
    for id in ids {
        let packet = packets::find(conn, row.id, actor, &stored(HandoffId::named("handoff_id", &id))?)?;
        seen.push(packets::see(conn, &row, actor, packet)?);
    }
    Ok(Listed { seen, total, more })
}

/// The ids of the open packets that were written at `until` or before, oldest first.
pub fn open_until(conn: &Connection, project: i64, actor: &Actor, until: &str) -> Result<Vec<HandoffId>, Fail> {
    let (all, owner) = packets::sight(actor);
    let sql = format!(
        "SELECT id FROM handoff WHERE project_id = ?1 AND {} AND state = '{}' AND created_at <= ?4 ORDER BY seq",
        packets::SIGHT,
        State::Open.as_str()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![project, all, owner, until], |row| row.get::<_, String>(0))?;
    rows.map(|id| stored(HandoffId::named("handoff_id", &id?))).collect()
}

/// How many packets of each state the caller may know of, expired ones by predicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Waiting.
    pub open: u64,
    /// Claimed.
    pub accepted: u64,
    /// Ended by their claimant.
    pub closed: u64,
    /// Ended without one.
    pub expired: u64,
}

/// Counts the packets by state.
pub fn counts(conn: &Connection, project: i64, actor: &Actor) -> Result<Counts, Fail> {
    let (all, owner) = packets::sight(actor);
    let sql = format!(
        "SELECT CASE WHEN state = 'open' AND expires_at <= ?4 THEN 'expired' ELSE state END AS now, count(*)
         FROM handoff WHERE project_id = ?1 AND {} GROUP BY now",
        packets::SIGHT
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let rows = statement.query_map(params![project, all, owner, actor.now.to_string()], |row| {
        Ok((row.get::<_, String>(0)?, number(row, 1)?))
    })?;
    let mut counts = Counts::default();
    for row in rows {
        let (state, count) = row?;
        match State::parse(&state) {
            Some(State::Open) => counts.open = count,
            Some(State::Accepted) => counts.accepted = count,
            Some(State::Closed) => counts.closed = count,
            Some(State::Expired) => counts.expired = count,
            None => {}
        }
    }
    Ok(counts)
}

/// A project of the file.
#[derive(Debug, Clone)]
pub struct Overview {
    /// Its names.
    pub home: Home,
    /// Its ledger as it is now.
    pub checkpoint: Checkpoint,
    /// When it was written to last.
    pub last_at: String,
    /// Its agents, each with the time of its last entry, the latest first.
    pub agents: Vec<(String, String)>,
}

/// Every project of the file, the oldest first.
pub fn projects(conn: &Connection) -> Result<Vec<Overview>, Fail> {
    let mut overviews = Vec::new();
    for row in rows(conn)? {
        let checkpoint = ledger::checkpoint(conn, &row.home)?
            .ok_or_else(|| Fail::Damaged(format!("the ledger of project {} is empty", row.home.project)))?;
        let last_at = ledger::head(conn, row.id)?.map_or_else(String::new, |(_, at, _)| at);
        let mut agents = Vec::new();
        for agent in ledger::agents(conn, row.id)? {
            let at: String = conn
                .prepare_cached("SELECT max(at) FROM ledger WHERE project_id = ?1 AND agent = ?2")?
                .query_row(params![row.id, agent], |row| row.get(0))?;
            agents.push((agent, at));
        }
        agents.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        overviews.push(Overview {
            home: row.home,
            checkpoint,
            last_at,
            agents,
        });
    }
    Ok(overviews)
}

/// What waits in a project, as one caller may know it.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Its names.
    pub home: Home,
    /// Its packets by state.
    pub handoffs: Counts,
    /// How many entries its ledger has.
    pub entries: u64,
    /// When it was written to last.
    pub last_at: String,
}

/// What waits in each project, the oldest project first.
pub fn waiting(conn: &Connection, actor: &Actor) -> Result<Vec<Waiting>, Fail> {
    let mut all = Vec::new();
    for row in rows(conn)? {
        let (entries, last_at) = ledger::head(conn, row.id)?.map_or((0, String::new()), |(seq, at, _)| (seq, at));
        all.push(Waiting {
            handoffs: counts(conn, row.id, actor)?,
            home: row.home,
            entries,
            last_at,
        });
    }
    Ok(all)
}

/// The rows of every project, the oldest first.
pub fn rows(conn: &Connection) -> Result<Vec<ProjectRow>, Fail> {
    let mut statement = conn.prepare_cached("SELECT id, workspace, name FROM project ORDER BY id")?;
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?))
    })?;
    let mut projects = Vec::new();
    for found in rows {
        let (id, workspace, name) = found?;
        projects.push(ProjectRow {
            id,
            home: Home {
                workspace: stored(Workspace::new(&workspace))?,
                project: stored(Project::new(&name))?,
            },
        });
    }
    Ok(projects)
}
