//! What a store holds, counted.

use rusqlite::{Connection, params};

use super::fail::Fail;
use super::ledger::{self, number, project};
use super::listing::{self, Counts};
use super::{packets, queue};
use crate::domain::handoff::seen::Seen;
use crate::domain::{Actor, limits};

/// One name and how many current records it stands for.
pub type Tally = (String, u64);

/// The numbers of a project and its file.
#[derive(Debug, Clone)]
pub struct Stats {
    /// The store's id, absent while there is no file.
    pub store_id: Option<String>,
    /// The file's schema.
    pub schema: i64,
    /// SQLite's own version.
    pub sqlite: String,
    /// How many records.
    pub records: u64,
    /// How many versions.
    pub versions: u64,
    /// The average confidence of the current versions, absent without any.
    pub average_confidence: Option<f64>,
    /// Current records by author, most first: at most 20, and how many authors there are.
    pub by_agent: (Vec<Tally>, u64),
    /// Current records by scope, most first: at most 20, and how many scopes there are.
    pub by_scope: (Vec<Tally>, u64),
    /// Packets by state.
    pub handoffs: Counts,
    /// What a bare `resume` of the caller could take, at most 20, and how many.
    pub waiting: (Vec<Seen>, u64),
    /// The ledger's checkpoint.
    pub checkpoint: Option<String>,
}

/// Counts.
pub fn stats(conn: &Connection, actor: &Actor) -> Result<Stats, Fail> {
    let store_id = ledger::store_id(conn).ok().filter(|id| !id.is_empty());
    let sqlite = rusqlite::version().to_owned();
    let mut stats = Stats {
        store_id,
        schema: conn.query_row("PRAGMA user_version", [], |row| row.get(0))?,
        sqlite,
        records: 0,
        versions: 0,
        average_confidence: None,
        by_agent: (Vec::new(), 0),
        by_scope: (Vec::new(), 0),
        handoffs: Counts::default(),
        waiting: (Vec::new(), 0),
        checkpoint: None,
    };
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(stats);
    };
    let mine = actor.agent.folded();
    const VISIBLE: &str = "(v.private_to IS NULL OR fold(v.private_to) = ?2)";
    let (records, average) = conn
        .prepare_cached(&format!(
            "SELECT count(*), avg(o.confidence) FROM head h JOIN version v ON v.id = h.version_id
                LEFT JOIN opinion o ON o.version_id = v.id WHERE h.project_id = ?1 AND {VISIBLE}"
        ))?
        .query_row(params![row.id, mine], |row| Ok((number(row, 0)?, row.get(1)?)))?;
    stats.records = records;
    stats.average_confidence = average;
    stats.versions = conn
        .prepare_cached(&format!(
            "SELECT count(*) FROM version v WHERE v.project_id = ?1 AND {VISIBLE}"
        ))?
        .query_row(params![row.id, mine], |row| number(row, 0))?;
    // `same` is what makes two names one: an agent may have gone by its name in capitals. Rows are counted by the name itself
    // first, so that only names are folded.
    let tally = |column: &str, same: &str| -> Result<(Vec<Tally>, u64), Fail> {
        let mut statement = conn.prepare_cached(&format!(
            "SELECT min(name), sum(n) AS n, count(*) OVER () FROM (
                SELECT {column} AS name, count(*) AS n FROM head h JOIN version v ON v.id = h.version_id
                WHERE h.project_id = ?1 AND {VISIBLE} GROUP BY {column})
             GROUP BY {same} ORDER BY n DESC, min(name) LIMIT ?3"
        ))?;
        let rows = statement.query_map(params![row.id, mine, limits::ANSWER_LIST as i64], |row| {
            Ok(((row.get(0)?, number(row, 1)?), number(row, 2)?))
        })?;
        let (mut names, mut total) = (Vec::new(), 0);
        for row in rows {
            let (name, all) = row?;
            names.push(name);
            total = all;
        }
        Ok((names, total))
    };
    stats.by_agent = tally("v.author", "fold(name)")?;
    stats.by_scope = tally("h.scope", "name")?;
    stats.handoffs = listing::counts(conn, row.id, actor)?;
    let (free, _) = queue::takeable(conn, row.id, actor)?;
    stats.waiting.1 = free.len() as u64;
    for packet in free.into_iter().take(limits::ANSWER_LIST) {
        stats.waiting.0.push(packets::see(conn, &row, actor, packet)?);
    }
    stats.checkpoint = ledger::checkpoint(conn, &actor.home)?.map(|checkpoint| checkpoint.to_string());
    Ok(stats)
}
