//! Every cell of every table, changed one at a time.

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::{Place, check};

/// The tables that `verify` proves, without those of the search index.
pub fn tables(conn: &Connection) -> Vec<String> {
    let tables: Vec<String> = conn
        .prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'search%' AND name <> 'token' ORDER BY name")
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    assert_eq!(
        tables,
        [
            "content",
            "handoff",
            "handoff_note",
            "handoff_ref",
            "head",
            "ledger",
            "meta",
            "opinion",
            "outcome",
            "project",
            "version"
        ]
    );
    tables
}

/// Every column of every table.
pub fn columns(conn: &Connection) -> Vec<(String, String)> {
    tables(conn)
        .into_iter()
        .flat_map(|table| {
            names(conn, &table, "")
                .into_iter()
                .map(move |column| (table.clone(), column))
        })
        .collect()
}

/// The columns of a table, or those of them for which `clause` holds.
pub fn names(conn: &Connection, table: &str, clause: &str) -> Vec<String> {
    conn.prepare(&format!(
        "SELECT name FROM pragma_table_info('{table}') {clause} ORDER BY cid"
    ))
    .unwrap()
    .query_map([], |row| row.get(0))
    .unwrap()
    .collect::<Result<_, _>>()
    .unwrap()
}

/// What tells a row from all others: the columns, and their values row by row.
pub fn places(conn: &Connection, table: &str) -> (Vec<String>, Vec<Vec<Value>>) {
    let mut key = names(conn, table, "WHERE pk > 0");
    if key.is_empty() {
        key.push("rowid".to_owned());
    }
    let list = key.join(", ");
    let rows = conn
        .prepare(&format!("SELECT {list} FROM {table} ORDER BY {list}"))
        .unwrap()
        .query_map([], |row| (0..key.len()).map(|column| row.get(column)).collect())
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    (key, rows)
}

pub fn is_row(key: &[String]) -> String {
    let terms: Vec<String> = (1..).zip(key).map(|(n, name)| format!("{name} IS ?{n}")).collect();
    terms.join(" AND ")
}

/// What may stand in a cell instead of `now`: plausible values, nothing, and values of other types. `others` are what
/// other rows hold there.
fn instead(column: &str, now: &Value, others: &[Value]) -> Vec<Value> {
    let text = |text: &str| Value::Text(text.to_owned());
    let words: &[&str] = match column {
        "state" => &["open", "accepted", "closed", "expired"],
        "ended_as" => &["success", "failure", "abandoned", "ttl", "cancelled", "superseded"],
        "origin" => &["manual", "automatic"],
        "outcome" => &["success", "failure", "abandoned"],
        "kind" => &[
            "created",
            "remembered",
            "accepted",
            "resumed",
            "released",
            "closed",
            "purged",
            "other",
        ],
        "tags" => &["[]", r#"["rate", "ärger"]"#],
        "meta" => &[
            "{}",
            r#"{"imported_from":"elsewhere", "n":1.5}"#,
            r#"{"imported_from":"elsewhere","n":1.50}"#,
        ],
        "detail" => &["{}", "{ }", "[]", "null"],
        _ => &[],
    };
    let mut all: Vec<Value> = words.iter().map(|word| text(word)).collect();
    match now {
        Value::Text(old) => {
            all.push(text(&turned(old)));
            all.push(text(&format!("{old} ")));
            all.push(text(&old.to_uppercase()));
        }
        Value::Integer(number) => all.extend([number + 1, number - 1, -number, 0].map(Value::Integer)),
        Value::Real(number) => all.extend([number + 0.01, 1.0 - number, -1.0, 1e-9 + number].map(Value::Real)),
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            bytes[0] ^= 1;
            all.push(Value::Blob(bytes));
        }
        Value::Null => {}
    }
    all.extend(
        others
            .iter()
            .find(|other| *other != now && **other != Value::Null)
            .cloned(),
    );
    all.extend([
        Value::Null,
        text(""),
        Value::Integer(i64::MAX),
        Value::Integer(i64::MIN),
        Value::Real(0.5),
        Value::Blob(vec![0xff, 0]),
    ]);
    all
}

/// The text with its last letter or digit turned into another.
pub fn turned(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    if let Some(last) = chars.iter_mut().rfind(|c| c.is_ascii_alphanumeric()) {
        *last = match *last {
            '9' => '8',
            'z' => 'y',
            'Z' => 'Y',
            other => char::from_u32(other as u32 + 1).unwrap(),
        };
    } else {
        chars.push('x');
    }
    chars.into_iter().collect()
}

/// Which of a table's rows are tried for a column: the first that holds something there, the first that does not, and
/// the last. `HANDOFF_MEMORY_EVERY_CELL` tries them all.
fn tried(cells: &[Value]) -> Vec<usize> {
    if std::env::var_os("HANDOFF_MEMORY_EVERY_CELL").is_some() {
        return (0..cells.len()).collect();
    }
    let mut rows = vec![cells.len() - 1];
    rows.extend(cells.iter().position(|cell| *cell == Value::Null));
    rows.extend(cells.iter().position(|cell| *cell != Value::Null));
    rows.sort_unstable();
    rows.dedup();
    rows
}

#[test]
fn the_page_on_the_format_lists_every_column() {
    let page = include_str!("../../../../../docs/format.md");
    let (_, tables) = page.split_once("## Tables\n").unwrap();
    let (tables, _) = tables.split_once("\n## ").unwrap();
    let mut told: Vec<(String, String)> = Vec::new();
    for line in tables.lines().filter_map(|line| line.strip_prefix("- `")) {
        let (table, rest) = line.split_once('(').unwrap();
        let (names, _) = rest.split_once(')').unwrap();
        told.extend(names.split(", ").map(|name| (table.to_owned(), name.to_owned())));
    }
    let mut columns = columns(&Place::copy().loose());
    told.sort();
    columns.sort();
    assert_eq!(told, columns);
}

#[test]
fn a_change_of_any_one_cell_is_found() {
    let place = Place::copy();
    let conn = place.loose();
    let mut changes = 0;
    let mut missed = Vec::new();
    for (table, column) in columns(&conn) {
        let (key, rows) = places(&conn, &table);
        let which = is_row(&key);
        let cells: Vec<Value> = rows
            .iter()
            .map(|row| {
                let sql = format!("SELECT {column} FROM {table} WHERE {which}");
                conn.query_row(&sql, params_from_iter(row), |row| row.get(0)).unwrap()
            })
            .collect();
        for row in tried(&cells) {
            for new in instead(&column, &cells[row], &cells) {
                // Tell the row by its number here, since what is changed may be its key.
                let mut set = rows[row].clone();
                set.push(new.clone());
                let changed = conn.execute_batch("BEGIN").and_then(|()| {
                    conn.execute(
                        &format!("UPDATE {table} SET {column} = ?{} WHERE {which}", set.len()),
                        params_from_iter(&set),
                    )
                });
                // A key that is taken, or a row number that is no number: SQLite itself refuses.
                if changed != Ok(1) {
                    conn.execute_batch("ROLLBACK").unwrap();
                    continue;
                }
                conn.execute_batch("COMMIT").unwrap();
                let now = after(&conn, &table, &column);
                let before = cells.clone();
                let differs = now.len() != before.len() || sorted(&now) != sorted(&before);
                if differs {
                    changes += 1;
                    if check(&place.path()).ok() {
                        missed.push(format!(
                            "{table}.{column} of {:?}: {:?} became {new:?}",
                            rows[row], cells[row]
                        ));
                    }
                }
                restore(&conn, &table, &place);
            }
        }
    }
    assert!(changes > 1_000, "only {changes} changes were tried");
    assert!(
        missed.is_empty(),
        "{} of {changes} missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

fn after(conn: &Connection, table: &str, column: &str) -> Vec<Value> {
    conn.prepare(&format!("SELECT {column} FROM {table}"))
        .unwrap()
        .query_map([], |row| row.get(0))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap()
}

fn sorted(values: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    texts.sort_unstable();
    texts
}

/// Puts a table back as it was.
pub fn restore(conn: &Connection, table: &str, place: &Place) {
    let clean = place.dir.path().join("clean.db");
    if !clean.exists() {
        std::fs::write(&clean, super::written()).unwrap();
        conn.execute("ATTACH ?1 AS clean", [clean.to_str().unwrap()]).unwrap();
    }
    conn.execute_batch(&format!(
        "BEGIN; DELETE FROM main.{table}; INSERT INTO main.{table} SELECT * FROM clean.{table}; COMMIT"
    ))
    .unwrap();
}
