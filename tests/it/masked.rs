//! Two runs made comparable: what differs from run to run (ids, hashes, nonces, times, ages, the place) is masked, where
//! equal things get equal numbers, so that links between rows and answers stay to be compared.

use std::collections::HashMap;

use rusqlite::types::ValueRef;
use serde_json::{Map, Value, json};

use crate::harness::Place;

/// Every table, and the order in which its rows do not depend on what is masked.
const TABLES: [(&str, &str); 12] = [
    ("meta", "rowid"),
    ("project", "id"),
    ("ledger", "project_id, seq"),
    ("version", "id"),
    ("content", "id"),
    ("head", "project_id, scope, key"),
    ("opinion", "version_id"),
    ("handoff", "project_id, seq"),
    (
        "handoff_ref",
        "(SELECT seq FROM handoff WHERE id = handoff_id), position",
    ),
    ("handoff_note", "seq"),
    ("outcome", "project_id, seq"),
    ("search", "rowid"),
];

/// The masks of one run.
pub struct Masks {
    place: String,
    numbers: HashMap<String, usize>,
}

impl Masks {
    pub fn of(place: &Place) -> Self {
        let path = place.path().canonicalize().expect("the place is there");
        Self {
            place: path.to_str().expect("UTF-8").to_owned(),
            numbers: HashMap::new(),
        }
    }

    /// A text without what differs from run to run.
    pub fn text(&mut self, text: &str) -> String {
        let text = text.replace(&self.place, "<place>");
        let mut out = String::new();
        let mut rest = text.as_str();
        while let Some(first) = rest.chars().next() {
            let word = rest
                .split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default();
            let taken = if is_time(rest) {
                out.push_str("<time>");
                TIME.len()
            } else if is_random(word) {
                let next = self.numbers.len() + 1;
                let number = *self.numbers.entry(word.to_owned()).or_insert(next);
                out.push_str(&format!("<{number}>"));
                word.len()
            } else {
                let taken = word.len().max(first.len_utf8());
                out.push_str(&rest[..taken]);
                taken
            };
            rest = &rest[taken..];
        }
        out
    }

    /// An answer without what differs from run to run.
    pub fn json(&mut self, answer: &Value) -> Value {
        match answer {
            Value::String(text) => json!(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.json(item)).collect(),
            Value::Object(fields) => {
                let mut masked = Map::new();
                for (name, field) in fields {
                    let field = match name.as_str() {
                        // What a process is, and how long it took to get here.
                        "age" | "bytes" | "wal_bytes" | "created" => json!(format!("<{name}>")),
                        _ => self.json(field),
                    };
                    masked.insert(name.clone(), field);
                }
                Value::Object(masked)
            }
            other => other.clone(),
        }
    }

    /// All rows of all tables of a place, a line each.
    pub fn rows(&mut self, place: &Place) -> Vec<String> {
        let sql = place.sql();
        let mut known: Vec<String> = TABLES.iter().map(|(name, _)| (*name).to_owned()).collect();
        known.sort();
        assert_eq!(tables(&sql), known, "a table that nobody compares");
        let mut rows = Vec::new();
        for (table, order) in TABLES {
            let mut statement = sql
                .prepare(&format!("SELECT * FROM {table} ORDER BY {order}"))
                .unwrap_or_else(|e| panic!("{table}: {e}"));
            let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
            let mut found = statement.query([]).expect("rows");
            while let Some(row) = found.next().expect("a row") {
                let mut line = table.to_owned();
                for (index, name) in names.iter().enumerate() {
                    let cell = match row.get_ref(index).expect("a cell") {
                        ValueRef::Null => "NULL".to_owned(),
                        ValueRef::Integer(number) => number.to_string(),
                        ValueRef::Real(number) => format!("{number:?}"),
                        ValueRef::Text(text) => format!("{:?}", String::from_utf8_lossy(text)),
                        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
                    };
                    line.push_str(&format!(" {name}={}", self.text(&cell)));
                }
                rows.push(line);
            }
        }
        rows
    }
}

/// The tables of a file, without those that SQLite and its search keep for themselves, and without the tokens, which only
/// one face asks for.
fn tables(sql: &rusqlite::Connection) -> Vec<String> {
    let mut statement = sql
        .prepare(
            "SELECT name FROM sqlite_schema WHERE type = 'table'
                AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'search\\_%' ESCAPE '\\' AND name <> 'token' ORDER BY name",
        )
        .expect("the schema");
    let names = statement.query_map([], |row| row.get(0)).expect("the schema");
    names.collect::<rusqlite::Result<_>>().expect("names")
}

/// The form of a time.
const TIME: &str = "0000-00-00T00:00:00.000Z";

fn is_time(text: &str) -> bool {
    text.len() >= TIME.len()
        && text.bytes().zip(TIME.bytes()).all(|(byte, form)| match form {
            b'0' => byte.is_ascii_digit(),
            form => byte == form,
        })
}

/// Whether a word is what nobody writes by hand: the digits of an id, a hash or a nonce.
fn is_random(word: &str) -> bool {
    word.len() >= 16
        && word.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        && word.bytes().any(|b| b != b'0')
}

#[test]
fn masks_keep_what_is_linked_and_hide_what_is_not() {
    let place = Place::new();
    let mut masks = Masks::of(&place);
    let (one, two) = ("0123456789abcdef", "fedcba9876543210");
    let told = format!(
        "h_{one} of h_{two}, h_{one} at 2026-12-01T04:15:05.782Z in 3 parts — {}",
        place.path().display()
    );
    assert_eq!(
        masks.text(&told),
        "h_<1> of h_<2>, h_<1> at <time> in 3 parts — <place>"
    );
    assert_eq!(
        masks.text(&"0".repeat(64)),
        "0".repeat(64),
        "the hash before the first one is always the same"
    );
    assert_eq!(
        masks.json(&json!({"age": "3 s", "id": format!("h_{two}"), "count": 3})),
        json!({"age": "<age>", "id": "h_<2>", "count": 3})
    );
}
