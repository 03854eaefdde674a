//! Removing stored texts: finding them, emptying their rows under an entry for each thing that refers to them, and taking
//! what is left of them out of the file.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rusqlite::{Connection, OptionalExtension, params};
use serde_json::json;

use super::fail::Fail;
use super::ledger::{Journal, ProjectRow, project};
use super::{connection, listing, packets, search};
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::purge::{Found, Held, Reason, Target, What, holds};
use crate::domain::record::version_subject;
use crate::domain::{Actor, Address, Refusal, limits};

/// How many texts one short read looks through.
const CHUNK: i64 = 512;

/// How soon the log is tried again while another process moves it.
const AGAIN: Duration = Duration::from_millis(20);

/// Where stored texts are referred to. Each part gives project, subject, what, hash and text of one reference.
const REFERENCES: &str = "
    SELECT project_id, json_array(scope, key, version) AS subject, 'value' AS what, value_hash AS hash, content_id
        FROM version
    UNION ALL SELECT project_id, id, 'texts', texts_hash, content_id FROM handoff
    UNION ALL SELECT project_id, id, 'note', note_hash, content_id FROM outcome WHERE content_id IS NOT NULL
    UNION ALL SELECT h.project_id, n.handoff_id, 'note', json_extract(l.detail, '$.note_hash'), n.content_id
        FROM handoff_note n JOIN handoff h ON h.id = n.handoff_id
        JOIN ledger l ON l.project_id = h.project_id AND l.seq = n.seq";

/// The texts that a target names and that are still there, each with everything that refers to it.
pub fn find(conn: &Connection, actor: &Actor, target: &Target) -> Result<Found, Fail> {
    let mut found = Found::default();
    let contents = match target {
        Target::Containing(text) => {
            names(conn, text, &mut found)?;
            containing(conn, text)?
        }
        Target::Record(at, number) => of_record(conn, actor, at, *number)?,
        Target::Packet(id) => {
            let row = project(conn, &actor.home)?.ok_or_else(|| packets::unknown(id))?;
            packets::find(conn, row.id, actor, id)?;
            let sql = "SELECT content_id FROM handoff WHERE id = ?1 UNION SELECT content_id FROM handoff_note
                       WHERE handoff_id = ?1 UNION SELECT content_id FROM outcome WHERE handoff_id = ?1
                       AND content_id IS NOT NULL";
            numbers(conn, sql, params![id.as_str()])?
        }
        Target::Outcome(id) => {
            let missing = || {
                Refusal::not_found(
                    format!("there is no outcome {id} in this project"),
                    "see `log` for its id",
                )
            };
            let row = project(conn, &actor.home)?.ok_or_else(missing)?;
            let content: Option<Option<i64>> = conn
                .prepare_cached("SELECT content_id FROM outcome WHERE project_id = ?1 AND id = ?2")?
                .query_row(params![row.id, id], |row| row.get(0))
                .optional()?;
            content.ok_or_else(missing)?.into_iter().collect()
        }
    };
    found.texts = held(conn, &contents)?;
    Ok(found)
}

fn numbers(conn: &Connection, sql: &str, params: impl rusqlite::Params) -> Result<Vec<i64>, Fail> {
    let mut statement = conn.prepare_cached(sql)?;
    let rows = statement.query_map(params, |row| row.get(0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn of_record(conn: &Connection, actor: &Actor, at: &Address, number: Option<u64>) -> Result<Vec<i64>, Fail> {
    let missing = || {
        let what = match number {
            Some(number) => format!("{at} has no version {number}"),
            None => format!("there is no record {at}"),
        };
        Refusal::not_found(what, "history shows which versions there are")
    };
    let row = project(conn, &actor.home)?.ok_or_else(missing)?;
    let contents = numbers(
        conn,
        "SELECT content_id FROM version WHERE project_id = ?1 AND scope = ?2 AND key = ?3 AND version = coalesce(?4, version)",
        params![
            row.id,
            at.scope.as_str(),
            at.key.as_str(),
            number.map(super::ledger::signed)
        ],
    )?;
    if contents.is_empty() {
        return Err(missing().into());
    }
    Ok(contents)
}

/// Every text of the file that holds `needle`.
fn containing(conn: &Connection, needle: &str) -> Result<Vec<i64>, Fail> {
    let mut contents = Vec::new();
    let mut last = i64::MIN;
    loop {
        let mut statement =
            conn.prepare_cached("SELECT id, body FROM content WHERE id > ?1 AND body <> '' ORDER BY id LIMIT ?2")?;
        let mut rows = statement.query(params![last, CHUNK])?;
        let before = last;
        while let Some(row) = rows.next()? {
            last = row.get(0)?;
            if holds(row.get_ref(1)?.as_str().unwrap_or_default(), needle) {
                contents.push(last);
            }
        }
        if last == before {
            return Ok(contents);
        }
    }
}

/// What refers to these texts, as far as they are still there. A note that several rows share may be kept more than once, where an
/// import took them in at several times: the salted hash tells that it is the same.
fn held(conn: &Connection, contents: &[i64]) -> Result<Vec<Held>, Fail> {
    let homes: BTreeMap<i64, ProjectRow> = listing::rows(conn)?.into_iter().map(|row| (row.id, row)).collect();
    let wanted = serde_json::to_string(contents).unwrap_or_default();
    let sql = format!(
        "SELECT r.project_id, r.subject, r.what, r.hash, r.content_id FROM ({REFERENCES}) r
         JOIN content c ON c.id = r.content_id AND c.body <> ''
         WHERE r.content_id IN (SELECT value FROM json_each(?1))
            OR r.hash IN (SELECT o.hash FROM ({REFERENCES}) o WHERE o.what = 'note'
                          AND o.content_id IN (SELECT value FROM json_each(?1)))
         ORDER BY r.content_id, r.what, r.subject"
    );
    let mut statement = conn.prepare(&sql)?;
    let mut rows = statement.query([wanted])?;
    let mut texts: Vec<Held> = Vec::new();
    while let Some(row) = rows.next()? {
        let Some(home) = homes.get(&row.get(0)?) else { continue };
        let what = match row.get_ref(2)?.as_str().unwrap_or_default() {
            "value" => What::Value,
            "texts" => What::Texts,
            _ => What::Note,
        };
        let subject: String = row.get(1)?;
        let one = Held {
            home: home.home.clone(),
            // SQLite's JSON and ours escape differently: the entry is to name the version as every other one does.
            subject: if what == What::Value {
                renamed(&subject)
            } else {
                subject
            },
            what,
            hash: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
            content: row.get(4)?,
        };
        if !texts.contains(&one) {
            texts.push(one);
        }
    }
    Ok(texts)
}

fn renamed(subject: &str) -> String {
    let parts: Option<(String, String, u64)> = serde_json::from_str(subject).ok();
    let address = parts.and_then(|(scope, key, number)| {
        let (scope, key) = (
            crate::domain::Scope::new(&scope).ok()?,
            crate::domain::Key::new(&key).ok()?,
        );
        Some((Address { scope, key }, number))
    });
    address.map_or_else(|| subject.to_owned(), |(at, number)| version_subject(&at, number))
}

/// Where names stand that are part of hashes: what a row is called, the table, and its columns of plain and of JSON text.
const NAMES: [(&str, &str, &str, &str); 5] = [
    (
        "'project ' || workspace || '/' || name",
        "project",
        "workspace name",
        "",
    ),
    (
        "'record ' || scope || '/' || key",
        "version",
        "scope key author session private_to",
        "tags meta",
    ),
    (
        "'packet ' || id",
        "handoff",
        "from_agent from_session to_agent owner cwd accepted_by accepted_session accepted_owner receiving_cwd outcome_ref",
        "git",
    ),
    ("'outcome ' || id", "outcome", "outcome_ref author session", ""),
    (
        "'ledger entry ' || seq",
        "ledger WHERE kind NOT IN ('created', 'remembered', 'handed_off', 'outcome')",
        "agent session",
        "detail",
    ),
];

/// Names inside hashes that hold `needle`: they stay.
fn names(conn: &Connection, needle: &str, found: &mut Found) -> Result<(), Fail> {
    for (name, table, plain, json) in NAMES {
        let plain = plain
            .split_whitespace()
            .map(|column| format!("instr({column}, ?1) > 0"));
        let json = json.split_whitespace().map(|column| format!("holds({column}, ?1)"));
        let any = plain.chain(json).collect::<Vec<_>>().join(" OR ");
        let sql = format!("SELECT DISTINCT {name} FROM (SELECT * FROM {table}) WHERE {any}");
        let mut statement = conn.prepare(&sql)?;
        let mut rows = statement.query([needle])?;
        while let Some(row) = rows.next()? {
            found.names_total += 1;
            if found.names.len() < limits::ANSWER_LIST {
                found.names.push(row.get(0)?);
            }
        }
    }
    Ok(())
}

/// Empties the texts, each under an entry of its project for everything that refers to it. Gives how many were there.
pub fn purge(conn: &Connection, actor: &Actor, texts: &[Held], why: Reason) -> Result<u64, Fail> {
    let mut emptied = 0;
    let mut done: Vec<i64> = Vec::new();
    for text in texts {
        let there: bool = conn
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM content WHERE id = ?1 AND body <> '')")?
            .query_row([text.content], |row| row.get(0))?;
        // Another process may have been faster.
        if !there && !done.contains(&text.content) {
            continue;
        }
        let mut journal = Journal::open(conn, &text.home, actor.stamp())?;
        journal.append(NewEntry {
            kind: Kind::Purged,
            subject: text.subject.clone(),
            detail: json!({ "hash": text.hash, "what": text.what.as_str(), "why": why.as_str() }),
            digest: None,
        })?;
        if empty(conn, text.content)? {
            emptied += 1;
            done.push(text.content);
        }
    }
    if emptied > 0 {
        search::rebuild(conn)?;
    }
    Ok(emptied)
}

/// Empties a text; says whether there was one.
pub fn empty(conn: &Connection, content: i64) -> Result<bool, Fail> {
    let changed = conn
        .prepare_cached("UPDATE content SET nonce = x'', body = '' WHERE id = ?1 AND body <> ''")?
        .execute([content])?;
    Ok(changed > 0)
}

/// Where the texts of a subject that have this hash are kept, emptied or not.
pub fn texts_of(conn: &Connection, project: i64, subject: &str, hash: &str) -> Result<Vec<i64>, Fail> {
    let parts: Option<(String, String, i64)> = serde_json::from_str(subject).ok();
    match parts {
        Some((scope, key, number)) => numbers(
            conn,
            "SELECT content_id FROM version WHERE project_id = ?1 AND scope = ?2 AND key = ?3 AND version = ?4
                AND value_hash = ?5",
            params![project, scope, key, number, hash],
        ),
        // A note stands under an outcome, under an entry of a packet, or under both.
        None => numbers(
            conn,
            "SELECT content_id FROM handoff WHERE project_id = ?1 AND id = ?2 AND texts_hash = ?3
             UNION SELECT content_id FROM outcome WHERE project_id = ?1 AND id = ?2 AND note_hash = ?3
             UNION SELECT n.content_id FROM handoff_note n JOIN ledger l ON l.project_id = ?1 AND l.seq = n.seq
                WHERE n.handoff_id = ?2 AND json_extract(l.detail, '$.note_hash') = ?3",
            params![project, subject, hash],
        ),
    }
}

/// Takes what is left of emptied texts out of the file: its free pages, and the write-ahead log. Outside a transaction.
/// Says whether the log could be cut; a process that holds a read open stands in the way.
pub fn clean(conn: &Connection) -> Result<bool, Fail> {
    conn.execute_batch("VACUUM")?;
    let started = Instant::now();
    loop {
        let busy: bool = conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0))?;
        if !busy || started.elapsed() >= connection::BUSY {
            return Ok(!busy);
        }
        // SQLite waits for readers, and not for a process that moves the log just now: that one is done in a moment.
        std::thread::sleep(AGAIN);
    }
}
