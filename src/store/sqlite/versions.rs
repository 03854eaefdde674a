//! Versions: reading them back, with their values and opinions.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::fail::Fail;
use super::ledger::{number, project, signed};
use crate::domain::record::{Purged, Stored, Version, version_subject};
use crate::domain::{Actor, Address, Agent, Confidence, Hash, Home, Invalid, Key, Opinion, Scope, Session, Time};

/// The columns of a version with its opinion and the time of the version after it, as `version` reads them.
const COLUMNS: &str = "v.id, v.seq, v.scope, v.key, v.version, v.content_id, v.value_hash, v.tags, v.meta, v.author,
    v.session, v.base_confidence, v.created_at, v.private_to, v.prev_hash, v.hash,
    o.confidence, o.successes, o.failures,
    (SELECT n.created_at FROM version n WHERE n.project_id = v.project_id AND n.scope = v.scope AND n.key = v.key
                                          AND n.version = v.version + 1)";

const FROM: &str = "FROM version v LEFT JOIN opinion o ON o.version_id = v.id";

/// How many bytes of value text one read may give, and what is left of them.
#[derive(Debug, Clone, Copy)]
pub struct Budget(pub usize);

impl Budget {
    /// As much as there is.
    pub const ALL: Budget = Budget(usize::MAX);
}

/// How much of a text a preview shows, in bytes.
pub const PREVIEW: usize = 240;

/// The beginning of `text`, at most `bytes` long, cut between characters.
pub fn head_of(text: &str, bytes: usize) -> &str {
    let mut end = bytes.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Whether `agent` may see this version.
pub fn visible(version: &Version, agent: &Agent) -> bool {
    version.private_to.as_ref().is_none_or(|only| only == agent)
}

/// The current version of a record, whoever may see it.
pub fn current(conn: &Connection, project: i64, at: &Address, budget: Budget) -> Result<Option<Version>, Fail> {
    let sql = format!(
        "SELECT {COLUMNS} FROM head h JOIN version v ON v.id = h.version_id LEFT JOIN opinion o ON o.version_id = v.id
         WHERE h.project_id = ?1 AND h.scope = ?2 AND h.key = ?3"
    );
    one(
        conn,
        project,
        &sql,
        params![project, at.scope.as_str(), at.key.as_str()],
        budget,
    )
}

/// A numbered version of a record, whoever may see it.
pub fn numbered(
    conn: &Connection,
    project: i64,
    at: &Address,
    version: u64,
    budget: Budget,
) -> Result<Option<Version>, Fail> {
    let sql =
        format!("SELECT {COLUMNS} {FROM} WHERE v.project_id = ?1 AND v.scope = ?2 AND v.key = ?3 AND v.version = ?4");
    one(
        conn,
        project,
        &sql,
        params![project, at.scope.as_str(), at.key.as_str(), signed(version)],
        budget,
    )
}

/// The version in a row, whoever may see it.
pub fn by_id(conn: &Connection, project: i64, id: i64, budget: Budget) -> Result<Option<Version>, Fail> {
    let sql = format!("SELECT {COLUMNS} {FROM} WHERE v.id = ?1");
    one(conn, project, &sql, params![id], budget)
}

fn one(
    conn: &Connection,
    project: i64,
    sql: &str,
    params: impl rusqlite::Params,
    mut budget: Budget,
) -> Result<Option<Version>, Fail> {
    let row = conn.prepare_cached(sql)?.query_row(params, Raw::read).optional()?;
    row.map(|raw| raw.finish(conn, project, &mut budget)).transpose()
}

/// A record's versions after number `after`, oldest first, at most `limit`, and how many there are in all.
pub fn history(
    conn: &Connection,
    actor: &Actor,
    at: &Address,
    after: u64,
    limit: usize,
    mut budget: Budget,
) -> Result<(Vec<Version>, u64), Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok((Vec::new(), 0));
    };
    let Some(current) = current(conn, row.id, at, Budget(0))? else {
        return Ok((Vec::new(), 0));
    };
    if !visible(&current, &actor.agent) {
        return Ok((Vec::new(), 0));
    }
    let mine = actor.agent.folded();
    let key = params![row.id, at.scope.as_str(), at.key.as_str(), mine];
    let total = conn
        .prepare_cached(
            "SELECT count(*) FROM version WHERE project_id = ?1 AND scope = ?2 AND key = ?3
                AND (private_to IS NULL OR fold(private_to) = ?4)",
        )?
        .query_row(key, |row| number(row, 0))?;
    let sql = format!(
        "SELECT {COLUMNS} {FROM} WHERE v.project_id = ?1 AND v.scope = ?2 AND v.key = ?3
            AND (v.private_to IS NULL OR fold(v.private_to) = ?4) AND v.version > ?5 ORDER BY v.version LIMIT ?6"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(
        params![row.id, at.scope.as_str(), at.key.as_str(), mine, signed(after), limit],
        Raw::read,
    )?;
    let mut versions = Vec::new();
    for raw in rows {
        versions.push(raw?.finish(conn, row.id, &mut budget)?);
    }
    Ok((versions, total))
}

/// The current versions after an address, by scope and key, at most `limit`, whoever may see them.
pub fn heads(conn: &Connection, home: &Home, after: Option<&Address>, limit: usize) -> Result<Vec<Version>, Fail> {
    let Some(row) = project(conn, home)? else {
        return Ok(Vec::new());
    };
    let (scope, key) = after.map_or(("", ""), |at| (at.scope.as_str(), at.key.as_str()));
    let sql = format!(
        "SELECT {COLUMNS} FROM head h JOIN version v ON v.id = h.version_id LEFT JOIN opinion o ON o.version_id = v.id
         WHERE h.project_id = ?1 AND (h.scope, h.key) > (?2, ?3) ORDER BY h.scope, h.key LIMIT ?4"
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let rows = statement.query_map(params![row.id, scope, key, limit], Raw::read)?;
    let mut versions = Vec::new();
    for raw in rows {
        versions.push(raw?.finish(conn, row.id, &mut Budget::ALL.clone())?);
    }
    Ok(versions)
}

/// What this session wrote, or (without a session) what this agent wrote since its last packet: the newest version of
/// each record, the oldest write first.
pub fn written_by(conn: &Connection, actor: &Actor) -> Result<Vec<(Address, u64)>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(Vec::new());
    };
    let sql = match &actor.session {
        Some(_) => {
            "SELECT subject FROM ledger WHERE project_id = ?1 AND agent IN (SELECT value FROM json_each(?2))
                AND session = ?3 AND kind = 'remembered' ORDER BY seq"
        }
        None => {
            "SELECT subject FROM ledger WHERE project_id = ?1 AND agent IN (SELECT value FROM json_each(?2))
                AND kind = 'remembered' AND ?3 IS NULL AND seq > coalesce(
                    (SELECT max(seq) FROM handoff WHERE project_id = ?1
                        AND from_agent IN (SELECT value FROM json_each(?2))), 0)
             ORDER BY seq"
        }
    };
    let names = super::ledger::names_of(conn, row.id, &actor.agent)?;
    let session = actor.session.as_ref().map(Session::as_str);
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params![row.id, names, session], |row| row.get::<_, String>(0))?;
    let mut newest: Vec<(Address, u64)> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for subject in rows {
        let subject = subject?;
        let (scope, key, version): (String, String, u64) = serde_json::from_str(&subject)
            .map_err(|_| Fail::Damaged(format!("the ledger entry of {subject} does not name a version")))?;
        let at = Address {
            scope: stored(Scope::new(&scope))?,
            key: stored(Key::new(&key))?,
        };
        match places.get(&at) {
            Some(&place) => newest[place] = (at, version),
            None => {
                places.insert(at.clone(), newest.len());
                newest.push((at, version));
            }
        }
    }
    Ok(newest)
}

/// A name that was checked when it was written.
pub fn stored<T>(name: Result<T, Invalid>) -> Result<T, Fail> {
    name.map_err(|invalid| Fail::Damaged(format!("a stored name cannot be read: {invalid}")))
}

/// A version's row, before its value is fetched.
struct Raw {
    version: RawVersion,
    content_id: i64,
    value_hash: String,
}

type RawVersion = (
    i64,
    u64,
    String,
    String,
    u64,
    String,
    Option<String>,
    String,
    Option<String>,
    RawRest,
);
type RawRest = (
    f64,
    String,
    Option<String>,
    String,
    String,
    Option<f64>,
    Option<i64>,
    Option<i64>,
    Option<String>,
);

impl Raw {
    fn read(row: &Row) -> rusqlite::Result<Self> {
        let rest = (
            row.get(11)?,
            row.get(12)?,
            row.get(13)?,
            row.get(14)?,
            row.get(15)?,
            row.get(16)?,
            row.get(17)?,
            row.get(18)?,
            row.get(19)?,
        );
        let version = (
            row.get(0)?,
            number(row, 1)?,
            row.get(2)?,
            row.get(3)?,
            number(row, 4)?,
            row.get(7)?,
            row.get(8)?,
            row.get(9)?,
            row.get(10)?,
            rest,
        );
        Ok(Self {
            version,
            content_id: row.get(5)?,
            value_hash: row.get(6)?,
        })
    }

    fn finish(self, conn: &Connection, project: i64, budget: &mut Budget) -> Result<Version, Fail> {
        let (id, seq, scope, key, version, tags, meta, author, session, rest) = self.version;
        let (base, created_at, private_to, prev_hash, hash, confidence, successes, failures, superseded) = rest;
        let at = Address {
            scope: stored(Scope::new(&scope))?,
            key: stored(Key::new(&key))?,
        };
        let place = format!("{at} version {version}");
        let damaged = |what: &str| Fail::Damaged(format!("{place} has {what}"));
        let base_confidence = stored(Confidence::named("confidence", base))?;
        let count = |n: Option<i64>| u64::try_from(n.unwrap_or(0)).unwrap_or(0);
        Ok(Version {
            id,
            seq,
            value: value(
                conn,
                project,
                self.content_id,
                &self.value_hash,
                &version_subject(&at, version),
                budget,
            )?,
            at,
            version,
            tags: serde_json::from_str(&tags).map_err(|_| damaged("tags that cannot be read"))?,
            meta: meta
                .map(|meta| serde_json::from_str(&meta))
                .transpose()
                .map_err(|_| damaged("meta that cannot be read"))?,
            author: stored(Agent::new(&author))?,
            session: session.map(|session| stored(Session::new(&session))).transpose()?,
            created_at: Time::parse(&created_at).ok_or_else(|| damaged("no readable time"))?,
            private_to: private_to.map(|agent| stored(Agent::new(&agent))).transpose()?,
            prev_hash,
            hash,
            base_confidence,
            opinion: Opinion {
                confidence: stored(Confidence::named("confidence", confidence.unwrap_or(base)))?,
                successes: count(successes),
                failures: count(failures),
            },
            superseded_at: superseded.and_then(|at| Time::parse(&at)),
        })
    }
}

/// A stored text, checked against its hash, or why there is none.
pub fn value(
    conn: &Connection,
    project: i64,
    content_id: i64,
    hash: &str,
    subject: &str,
    budget: &mut Budget,
) -> Result<Stored, Fail> {
    let found: Option<(Vec<u8>, String)> = conn
        .prepare_cached("SELECT nonce, body FROM content WHERE id = ?1")?
        .query_row([content_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((nonce, body)) = found else {
        return Ok(Stored::Corrupt);
    };
    if nonce.is_empty() && body.is_empty() {
        return Ok(purged(conn, project, subject)?.map_or(Stored::Corrupt, Stored::Purged));
    }
    if Hash::of_text(&nonce, &body).to_string() != hash {
        return Ok(Stored::Corrupt);
    }
    if body.len() <= budget.0 {
        budget.0 -= body.len();
        return Ok(Stored::Whole(crate::domain::JsonText::stored(body)));
    }
    // What is over the budget must not starve what comes after it of a preview.
    Ok(Stored::Beginning {
        preview: head_of(&body, PREVIEW).to_owned(),
        bytes: body.len() as u64,
    })
}

fn purged(conn: &Connection, project: i64, subject: &str) -> Result<Option<Purged>, Fail> {
    let entry = super::ledger::about(conn, project, subject)?
        .into_iter()
        .rfind(|entry| entry.kind == "purged");
    Ok(entry.map(|entry| {
        let detail: serde_json::Value = serde_json::from_str(&entry.detail).unwrap_or_default();
        Purged {
            by: entry.agent,
            at: entry.at,
            why: detail["why"].as_str().unwrap_or("other").to_owned(),
        }
    }))
}

/// One version of a record, the current one unless a number is given; none when the caller may not see it.
pub fn one_of(
    conn: &Connection,
    actor: &Actor,
    at: &Address,
    version: Option<u64>,
    budget: Budget,
) -> Result<Option<Version>, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(None);
    };
    // A record whose current version is private to another is not there at all, old versions included.
    let Some(now) = current(conn, row.id, at, budget)?.filter(|now| visible(now, &actor.agent)) else {
        return Ok(None);
    };
    match version {
        Some(number) if number != now.version => {
            Ok(numbered(conn, row.id, at, number, budget)?.filter(|old| visible(old, &actor.agent)))
        }
        _ => Ok(Some(now)),
    }
}
