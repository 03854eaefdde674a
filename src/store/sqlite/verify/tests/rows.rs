//! One row more or less in any table, and in the search index.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::cells::{is_row, names, places, restore, tables, turned};
use super::{Place, check};

#[test]
fn a_row_that_was_removed_is_found() {
    let place = Place::copy();
    let conn = place.loose();
    let mut missed = Vec::new();
    for table in tables(&conn) {
        let (key, rows) = places(&conn, &table);
        for row in rows {
            let sql = format!("DELETE FROM {table} WHERE {}", is_row(&key));
            assert_eq!(conn.execute(&sql, params_from_iter(&row)), Ok(1));
            if check(&place.path()).ok() {
                missed.push(format!("{table} {row:?}"));
            }
            restore(&conn, &table, &place);
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

/// Columns that are set to something else in the copy of a row, besides the row's number, so that SQLite takes it.
fn variants(table: &str) -> &'static [&'static [&'static str]] {
    match table {
        "meta" => &[&[]],
        "content" => &[&["id"]],
        "project" => &[&["id", "name"], &["id", "workspace"]],
        "version" => &[
            &["id", "version"],
            &["id", "key"],
            &["id", "scope"],
            &["id", "project_id"],
        ],
        "head" => &[&["project_id"], &["scope"], &["key"]],
        "opinion" => &[&["version_id"]],
        "handoff" => &[&["id", "seq"], &["id", "project_id"]],
        "handoff_ref" => &[&["position"], &["handoff_id"]],
        "handoff_note" => &[&["seq"], &["handoff_id"]],
        "outcome" => &[&["id", "outcome_ref"], &["id", "version_id"], &["id", "project_id"]],
        "ledger" => &[&["seq"], &["project_id"]],
        other => panic!("no variants of {other}"),
    }
}

#[test]
fn a_row_that_was_added_is_found() {
    let place = Place::copy();
    let conn = place.loose();
    let mut missed = Vec::new();
    let mut added = 0;
    for table in tables(&conn) {
        let (key, rows) = places(&conn, &table);
        let all = names(&conn, &table, "");
        for row in rows {
            let sql = format!("SELECT {} FROM {table} WHERE {}", all.join(", "), is_row(&key));
            let cells: Vec<Value> = conn
                .query_row(&sql, params_from_iter(&row), |row| {
                    (0..all.len()).map(|column| row.get(column)).collect()
                })
                .unwrap();
            for variant in variants(&table) {
                // A key of text has one variant, one with a number in it several.
                let numbered = all
                    .iter()
                    .zip(&cells)
                    .any(|(name, cell)| variant.contains(&name.as_str()) && matches!(cell, Value::Integer(_)));
                for number in if numbered { &[1, 0, -1, 1_000][..] } else { &[1] } {
                    let cells: Vec<Value> = all
                        .iter()
                        .zip(&cells)
                        .map(|(name, cell)| match cell {
                            Value::Text(text) if variant.contains(&name.as_str()) => Value::Text(turned(text)),
                            Value::Integer(old) if variant.contains(&name.as_str()) => Value::Integer(match number {
                                1 => old + 1,
                                other => *other,
                            }),
                            other => other.clone(),
                        })
                        .collect();
                    if add(&conn, &table, &cells) {
                        added += 1;
                        if check(&place.path()).ok() {
                            missed.push(format!("{table} {cells:?}"));
                        }
                        restore(&conn, &table, &place);
                    }
                }
            }
        }
    }
    assert!(added > 300, "only {added} rows were added");
    assert!(
        missed.is_empty(),
        "{} of {added} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

/// Whether SQLite took the row: one with a key that is there already it refuses.
fn add(conn: &Connection, table: &str, cells: &[Value]) -> bool {
    let holes: Vec<String> = (1..=cells.len()).map(|n| format!("?{n}")).collect();
    conn.execute(
        &format!("INSERT INTO {table} VALUES ({})", holes.join(", ")),
        params_from_iter(cells),
    )
    .is_ok()
}

#[test]
fn the_search_index_is_held_against_the_current_versions() {
    let indexed = |change: &str| {
        let place = Place::copy();
        let conn = Connection::open(place.path()).unwrap();
        conn.execute_batch(change).unwrap();
        drop(conn);
        check(&place.path())
    };
    for change in [
        "DELETE FROM search WHERE rowid = (SELECT max(version_id) FROM head)",
        "INSERT INTO search(rowid, terms) VALUES (9999, 'word')",
        "INSERT INTO search(rowid, terms) SELECT min(id), 'word' FROM version",
        "INSERT OR REPLACE INTO search(rowid, terms) SELECT max(version_id), 'word' FROM head",
        "INSERT INTO search(search) VALUES ('delete-all')",
        "DELETE FROM search_docsize WHERE id = (SELECT max(version_id) FROM head)",
        "INSERT INTO search_docsize VALUES (9999, x'05', 1)",
    ] {
        let kinds: Vec<_> = indexed(change).faults.into_iter().map(|fault| fault.kind).collect();
        assert_eq!(kinds, ["search"], "{change}");
    }
    for table in ["search_data", "search_docsize", "search_config"] {
        assert!(!indexed(&format!("DELETE FROM {table}")).ok(), "{table}");
    }
}
