//! Rows that nothing else speaks of: texts, heads, opinions, pins and notes without what they belong to.

use rusqlite::params;
use rusqlite::types::Value;

use super::rows::Walk;
use super::{CHUNK, Check};

const TEXTS: Walk = Walk {
    name: "stored texts",
    sql: "SELECT id FROM content WHERE id >= ?1 ORDER BY id LIMIT ?2",
};

const OPINIONS: Walk = Walk {
    name: "opinions",
    sql: "SELECT version_id, EXISTS (SELECT 1 FROM version v WHERE v.id = version_id) FROM opinion
          WHERE version_id >= ?1 ORDER BY version_id LIMIT ?2",
};

/// Checks what is left over.
pub fn check(check: &mut Check) {
    check.walk(&TEXTS, |check, cells| {
        let id = cells.integer(0).unwrap_or(0);
        if !check.texts.has(id) {
            check.note("content", format!("stored text {id}"), "nothing refers to it");
        }
    });
    check.walk(&OPINIONS, |check, cells| {
        if cells.integer(1) == Ok(0) {
            let id = cells.integer(0).unwrap_or(0);
            check.note(
                "opinion",
                format!("opinion of version row {id}"),
                "the version is not there",
            );
        }
    });
    if let Err(error) = heads(check) {
        check.unreadable("current versions", &error);
    }
    for (kind, table) in [("handoff_ref", "handoff_ref"), ("handoff_note", "handoff_note")] {
        if let Err(error) = orphans(check, kind, table) {
            check.unreadable(table, &error);
        }
    }
}

/// Each head names a version of its own record; that it is the newest is seen from the version's side.
fn heads(check: &mut Check) -> rusqlite::Result<()> {
    let conn = check.conn;
    let mut last: Option<(Value, Value, Value)> = None;
    // No row takes less than four bytes: a walk over more of them than fit goes round in a damaged file.
    let mut left: i64 = conn.query_row(
        "SELECT page_count * page_size / 4 FROM pragma_page_count, pragma_page_size",
        [],
        |row| row.get(0),
    )?;
    loop {
        let moment = conn.unchecked_transaction()?;
        // Two queries, since one with an alternative would walk the table from its start for each chunk.
        let after = if last.is_some() {
            "WHERE (h.project_id, h.scope, h.key) > (?1, ?2, ?3)"
        } else {
            ""
        };
        let mut statement = moment.prepare_cached(&format!(
            "SELECT h.project_id, h.scope, h.key,
                 EXISTS (SELECT 1 FROM version v WHERE v.id = h.version_id AND v.project_id = h.project_id
                                                   AND v.scope = h.scope AND v.key = h.key)
             FROM head h {after} ORDER BY h.project_id, h.scope, h.key LIMIT {CHUNK}"
        ))?;
        let mut rows = match &last {
            Some((project, scope, key)) => statement.query(params![project, scope, key])?,
            None => statement.query([])?,
        };
        let mut next = None;
        while let Some(row) = rows.next()? {
            let key: (Value, Value, Value) = (row.get(0)?, row.get(1)?, row.get(2)?);
            if !row.get::<_, bool>(3)? {
                let place = format!("{}/{}", shown(&key.1), shown(&key.2));
                check.note(
                    "head",
                    place,
                    "the current version of this record is not one of its versions",
                );
            }
            next = Some(key);
            left -= 1;
        }
        if left < 0 {
            check.astray("current versions");
            return Ok(());
        }
        drop(rows);
        if next.is_none() {
            return Ok(());
        }
        last = next;
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        other => format!("{other:?}"),
    }
}

/// Pins and notes of packets that are not there.
fn orphans(check: &mut Check, kind: &str, table: &str) -> rusqlite::Result<()> {
    let conn = check.conn;
    let mut statement = conn.prepare(&format!(
        "SELECT handoff_id FROM {table} t WHERE NOT EXISTS (SELECT 1 FROM handoff h WHERE h.id = t.handoff_id) LIMIT 1"
    ))?;
    let mut rows = statement.query([])?;
    if let Some(row) = rows.next()? {
        let id = shown(&row.get(0)?);
        check.note(kind, format!("handoff {id}"), "the packet is not there");
    }
    Ok(())
}
