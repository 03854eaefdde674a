//! Every version: its value, its hash, the version before it, its entry, its opinion, and whether it is the head.

use rusqlite::{OptionalExtension, params};
use serde_json::Value;

use super::Check;
use super::rows::{Cells, Walk, Wrong};
use crate::domain::canonical::canonical;
use crate::domain::ledger::Kind;
use crate::domain::record::{Address, VersionBody, version_subject};
use crate::domain::{Confidence, Hash, Key, Opinion, Scope};

const WALK: Walk = Walk {
    name: "versions",
    sql: "SELECT v.id, v.project_id, v.seq, v.scope, v.key, v.version, v.content_id, v.value_hash, v.tags, v.meta,
              v.author, v.session, v.base_confidence, v.created_at, v.private_to, v.prev_hash, v.hash,
              p.workspace, p.name, c.nonce, c.body,
              (SELECT b.hash FROM version b WHERE b.project_id = v.project_id AND b.scope = v.scope AND b.key = v.key
                                              AND b.version = v.version - 1),
              EXISTS (SELECT 1 FROM version n WHERE n.project_id = v.project_id AND n.scope = v.scope
                                                AND n.key = v.key AND n.version > v.version),
              (SELECT version_id FROM head h WHERE h.project_id = v.project_id AND h.scope = v.scope AND h.key = v.key),
              l.kind, l.subject, l.digest, l.at, l.agent, l.session,
              o.confidence, o.successes, o.failures
          FROM version v
          LEFT JOIN project p ON p.id = v.project_id
          LEFT JOIN content c ON c.id = v.content_id
          LEFT JOIN ledger l ON l.project_id = v.project_id AND l.seq = v.seq
          LEFT JOIN opinion o ON o.version_id = v.id
          WHERE v.id >= ?1 ORDER BY v.id LIMIT ?2",
};

/// Checks every version.
pub fn check(check: &mut Check) {
    check.walk(&WALK, |check, cells| {
        let id = cells.integer(0).unwrap_or(0);
        if let Err(what) = version(check, id, cells) {
            let place = check.version_place(id);
            check.note("version", place, what);
        }
        check.count();
    });
}

fn version(check: &mut Check, id: i64, cells: &Cells) -> Result<(), Wrong> {
    let (project, scope, key, number) = (cells.integer(1)?, cells.str(3)?, cells.str(4)?, cells.integer(5)?);
    let at = Address {
        scope: Scope::new(scope).map_err(|_| "its scope is no scope".to_owned())?,
        key: Key::new(key).map_err(|_| "its key is no key".to_owned())?,
    };
    let version = u64::try_from(number).map_err(|_| "its number is negative".to_owned())?;
    let place = || format!("{at} version {version}");
    let content = cells.integer(6)?;
    check.texts.put(content);
    let (value_hash, tags_text, meta_text) = (cells.str(7)?, cells.str(8)?, cells.maybe_str(9)?);
    let (author, session) = (cells.str(10)?, cells.maybe_str(11)?);
    let (base, created_at, private_to) = (cells.number(12)?, cells.str(13)?, cells.maybe_str(14)?);
    let (prev_hash, hash) = (cells.str(15)?, cells.str(16)?);
    let (Some(workspace), Some(name)) = (cells.maybe_str(17)?, cells.maybe_str(18)?) else {
        return Err("its project is not there".to_owned());
    };
    let subject = version_subject(&at, version);
    if let Some(what) = text(check, project, &subject, value_hash, cells, 19)? {
        check.note("value", place(), what);
    }
    let tags: Vec<String> = serde_json::from_str(tags_text).map_err(|_| "its tags are no list of texts".to_owned())?;
    let meta: Option<Value> = meta_text
        .map(serde_json::from_str)
        .transpose()
        .map_err(|_| "its meta is no JSON".to_owned())?;
    if meta.as_ref().map(canonical).as_deref() != meta_text {
        check.note("version", place(), "its meta is not in canonical form");
    }
    let body = VersionBody {
        v: 1,
        workspace,
        project: name,
        scope,
        key,
        version,
        value_hash,
        tags: tags.iter().map(String::as_str).collect(),
        meta: meta.as_ref(),
        author,
        session,
        private_to,
        confidence: base,
        created_at,
        prev_hash,
    };
    if body.hash().to_string() != hash {
        check.note("version_hash", place(), "its hash does not follow from its fields");
    }
    if serde_json::to_string(&tags).unwrap_or_default() != tags_text {
        check.note("version", place(), "its tags are not in compact form");
    }
    let before = cells.maybe_str(21)?;
    match before {
        Some(before) if before == prev_hash => {}
        None if version == 1 && prev_hash == Hash::ZERO.to_string() => {}
        None if version > 1 => check.note("version_gap", place(), "the version before it is not there"),
        _ => check.note(
            "version_chain",
            place(),
            "it does not carry the hash of the version before it",
        ),
    }
    let newest = cells.integer(22)? == 0;
    match cells.maybe_integer(23)? {
        None => check.note("head", place(), "the record has no current version"),
        Some(head) if newest && head != id => {
            check.note("head", place(), "it is the newest version and not the current one");
        }
        Some(head) if !newest && head == id => check.note("head", place(), "it is current, and a newer version exists"),
        Some(_) => {}
    }
    let entry = (
        cells.maybe_str(24)?,
        cells.maybe_str(25)?,
        cells.maybe_str(26)?,
        cells.maybe_str(27)?,
        cells.maybe_str(28)?,
    );
    let vouched = entry
        == (
            Some(Kind::Remembered.as_str()),
            Some(&*subject),
            Some(hash),
            Some(created_at),
            Some(author),
        )
        && cells.maybe_str(29)? == session;
    if !vouched {
        check.note("version_entry", place(), "no ledger entry vouches for it");
    }
    opinion(check, id, base, &place, cells)
}

/// What is wrong with a stored text: it must fit its hash, or be empty because it was purged.
pub fn text(
    check: &Check,
    project: i64,
    subject: &str,
    hash: &str,
    cells: &Cells,
    nonce_column: usize,
) -> Result<Option<String>, Wrong> {
    if let Some(found) = cells.text_hash(nonce_column, nonce_column + 1)? {
        return Ok((found.to_string() != hash).then(|| "its text does not fit its hash".to_owned()));
    }
    let purged = is_purged(check, project, subject, hash).map_err(|_| "its entries cannot be read".to_owned())?;
    Ok((!purged).then(|| "its text is empty and no entry says that it was purged".to_owned()))
}

/// Whether an entry says that the text of this hash was removed on purpose.
fn is_purged(check: &Check, project: i64, subject: &str, hash: &str) -> rusqlite::Result<bool> {
    let found: Option<i64> = check
        .conn
        .prepare_cached(
            "SELECT 1 FROM ledger INDEXED BY ledger_subject WHERE project_id = ?1 AND subject = ?2
                AND kind NOT IN ('remembered', 'outcome', 'created') AND kind = 'purged'
                AND json_extract(detail, '$.hash') = ?3 LIMIT 1",
        )?
        .query_row(params![project, subject, hash], |row| row.get(0))
        .optional()?;
    Ok(found.is_some())
}

/// The opinion must be what the outcomes make of the confidence that the version was written with.
fn opinion(check: &mut Check, id: i64, base: f64, place: &dyn Fn() -> String, cells: &Cells) -> Result<(), Wrong> {
    let base = Confidence::named("confidence", base).map_err(|_| "its confidence is not between 0 and 1".to_owned())?;
    if cells
        .0
        .get_ref(30)
        .is_ok_and(|value| value == rusqlite::types::ValueRef::Null)
    {
        check.note("opinion", place(), "it has no opinion");
        return Ok(());
    }
    let (confidence, successes, failures) = (cells.number(30)?, cells.integer(31)?, cells.integer(32)?);
    let conn = check.conn;
    let mut opinion = Opinion::new(base);
    let mut replay = || -> rusqlite::Result<bool> {
        let mut statement = conn.prepare_cached(
            "SELECT outcome, confidence_before, confidence_after FROM outcome WHERE version_id = ?1 ORDER BY seq",
        )?;
        let mut rows = statement.query([id])?;
        let mut steps_fit = true;
        while let Some(row) = rows.next()? {
            let cells = Cells(row);
            let before = opinion.confidence.get();
            opinion = opinion.after(cells.text(0).is_ok_and(|word| word == "success"));
            steps_fit &= cells.number(1) == Ok(before) && cells.number(2) == Ok(opinion.confidence.get());
        }
        Ok(steps_fit)
    };
    match replay() {
        Ok(true) => {}
        Ok(false) => check.note("outcome", place(), "its outcomes do not follow from each other"),
        Err(error) => check.unreadable(&place(), &error),
    }
    let (successes, failures) = (u64::try_from(successes).ok(), u64::try_from(failures).ok());
    if opinion.confidence.get() != confidence
        || Some(opinion.successes) != successes
        || Some(opinion.failures) != failures
    {
        check.note("opinion", place(), "it is not what the outcomes make of it");
    }
    Ok(())
}
