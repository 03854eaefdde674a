//! What search costs: size, writes and queries, ours beside the tokenizers that FTS5 brings.
//!
//! `cargo bench --bench tokenizers` runs at 1,000 and 20,000 records; `-- 100000 1000000` names the sizes, `--only ours`
//! the kinds of index, `--pragma automerge=8` sets an FTS5 option. The records come from a fixed seed, so every run
//! and every kind has the same ones. Times are medians and 95th percentiles of one warm process.

use std::time::{Duration, Instant};

use handoff_memory::store::sqlite::search::{self, Indexed, Search};
use rusqlite::Connection;

mod asked;
#[path = "../proof/world.rs"]
mod world;

use asked::{everything, searches};
use world::{Record, World};

/// The part of the schema that search reads, and its place.
const TABLES: &str = "
CREATE TABLE version(id INTEGER PRIMARY KEY, project_id INTEGER, seq INTEGER, scope TEXT, key TEXT, version INTEGER,
    content_id INTEGER, value_hash TEXT, tags TEXT, author TEXT, base_confidence REAL, created_at TEXT,
    private_to TEXT, prev_hash TEXT, hash TEXT, UNIQUE(project_id, scope, key, version));
CREATE TABLE content(id INTEGER PRIMARY KEY, nonce BLOB, body TEXT);
CREATE TABLE head(project_id, scope, key, version_id, PRIMARY KEY(project_id, scope, key)) WITHOUT ROWID;
CREATE TABLE opinion(version_id INTEGER PRIMARY KEY, confidence REAL, successes INTEGER, failures INTEGER);
";

/// A kind of index: its name, its table, and whether the terms are ours.
const KINDS: &[(&str, &str, bool)] = &[
    ("ours", search::CREATE, true),
    (
        "unicode61",
        "CREATE VIRTUAL TABLE search USING fts5(scope, key, tags, body, content='', contentless_delete=1)",
        false,
    ),
    (
        "trigram",
        "CREATE VIRTUAL TABLE search USING fts5(scope, key, tags, body, content='', contentless_delete=1,
         tokenize='trigram')",
        false,
    ),
    (
        "ours, detail=none",
        "CREATE VIRTUAL TABLE search USING fts5(terms, content='', contentless_delete=1, tokenize='ascii', detail=none)",
        true,
    ),
    (
        "ours, characters",
        "CREATE VIRTUAL TABLE search USING fts5(terms, content='', contentless_delete=1, tokenize='ascii')",
        true,
    ),
    ("none", "CREATE TABLE search(terms)", false),
];

fn main() -> rusqlite::Result<()> {
    let (mut sizes, mut only, mut pragmas) = (Vec::new(), None, Vec::new());
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        match &*arg {
            "--only" => only = args.next(),
            "--pragma" => pragmas.extend(args.next()),
            size => sizes.extend(size.parse::<u64>().ok()),
        }
    }
    if sizes.is_empty() {
        sizes = vec![1_000, 20_000];
    }
    for size in sizes {
        for kind in KINDS
            .iter()
            .filter(|kind| only.as_deref().is_none_or(|only| only == kind.0))
        {
            run(size, kind, &pragmas)?;
        }
    }
    Ok(())
}

fn run(size: u64, &(name, create, ours): &(&str, &str, bool), pragmas: &[String]) -> rusqlite::Result<()> {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder for the database");
    let mut conn = Connection::open(folder.path().join("memory.db"))?;
    conn.set_prepared_statement_cache_capacity(64);
    conn.execute_batch("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-65536;")?;
    conn.execute_batch(TABLES)?;
    conn.execute_batch(create)?;
    for pragma in pragmas {
        let (option, value) = pragma.split_once('=').expect("option=value");
        conn.execute(
            "INSERT INTO search(search, rank) VALUES (?1, ?2)",
            (option, value.parse::<i64>().unwrap_or(0)),
        )?;
    }
    let mut world = World::new();
    let start = Instant::now();
    let mut id: i64 = 0;
    while id < size as i64 {
        let batch = conn.transaction()?;
        for _ in 0..1_000.min(size as i64 - id) {
            id += 1;
            write(&batch, id, &world.record(id), name, ours, None)?;
        }
        batch.commit()?;
    }
    let fill = start.elapsed();
    conn.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    let bytes: f64 = conn
        .query_row("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'search%'", [], |row| {
            row.get(0)
        })
        .or_else(|_| pages(&conn, name))?;
    println!("\n## {size} records, {name} {}", pragmas.join(" "));
    println!(
        "fill {:.1} s ({:.1} us a record), index {:.1} MB, {:.0} bytes a record",
        fill.as_secs_f64(),
        fill.as_secs_f64() * 1e6 / size as f64,
        bytes / 1e6,
        bytes / size as f64
    );

    // One durable write each, every other one a new version of an old record.
    let mut durable = Vec::new();
    let mut index = Vec::new();
    for n in 0..2_000u64 {
        id += 1;
        let mut record = world.record(id);
        let mut old = None;
        if n % 2 == 0 {
            (record.scope, record.key, old) = conn.query_row(
                "SELECT h.scope, h.key, h.version_id FROM version v JOIN head h
                 ON h.project_id = 1 AND h.scope = v.scope AND h.key = v.key WHERE v.id = ?1",
                [1 + world.below(size) as i64],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )?;
        }
        let start = Instant::now();
        let one = conn.transaction()?;
        index.push(write(&one, id, &record, name, ours, old)?);
        one.commit()?;
        durable.push(start.elapsed());
    }
    report("durable write", &mut durable);
    report("  of it before the commit: index", &mut index);
    match name {
        "none" => Ok(()),
        "ours" => {
            large_value(&conn, id + 1)?;
            whole_searches(&conn)?;
            raw_searches(&conn, name, ours)?;
            let start = Instant::now();
            let whole = conn.transaction()?;
            search::rebuild(&whole)?;
            whole.commit()?;
            println!("rebuild {:.1} s", start.elapsed().as_secs_f64());
            Ok(())
        }
        _ => raw_searches(&conn, name, ours),
    }
}

/// What one value of a mebibyte costs to index.
fn large_value(conn: &Connection, id: i64) -> rusqlite::Result<()> {
    let mut world = World::new();
    let mut text = String::new();
    while text.len() < 1024 * 1000 {
        text.push_str(&world.record(id).body.replace('"', " "));
    }
    let body = serde_json::json!(text).to_string();
    let mut times = Vec::new();
    for _ in 0..5 {
        let start = Instant::now();
        let record = Indexed {
            project: 2,
            scope: "s",
            key: "k",
            tags: "[]",
            private_to: None,
            body: Some(&body),
        };
        conn.execute_batch("BEGIN IMMEDIATE")?;
        search::unindex(conn, id)?;
        search::index(conn, id, &record)?;
        conn.execute_batch("COMMIT")?;
        times.push(start.elapsed());
    }
    search::unindex(conn, id)?;
    report("a value of 1 MiB, index alone", &mut times);
    Ok(())
}

/// Times the searches as they are answered: filters, totals, ranking.
fn whole_searches(conn: &Connection) -> rusqlite::Result<()> {
    let start = Instant::now();
    let fault = search::check(conn, || {})?;
    println!("check {:.1} s, {fault:?}", start.elapsed().as_secs_f64());
    for (what, search) in searches() {
        let mut times = Vec::new();
        let mut found = search::Found::default();
        for _ in 0..40 {
            let start = Instant::now();
            found = search::find(conn, &search)?;
            times.push(start.elapsed());
        }
        let more = if found.total_capped { "+" } else { "" };
        report(
            &format!("{what}, {} of {}{more}", found.hits.len(), found.total),
            &mut times,
        );
    }
    let mut times = Vec::new();
    for _ in 0..20 {
        let start = Instant::now();
        search::elsewhere(
            conn,
            &Search {
                query: Some("common"),
                scope: Some("none"),
                ..everything()
            },
        )?;
        times.push(start.elapsed());
    }
    report("elsewhere", &mut times);
    Ok(())
}

/// Times what FTS5 itself does with one expression.
fn raw_searches(conn: &Connection, name: &str, ours: bool) -> rusqlite::Result<()> {
    let term = |word: &str| {
        if ours {
            format!("\"1w{word}\"")
        } else {
            format!("\"{word}\"")
        }
    };
    let words = |text: &str| text.split(' ').map(term).collect::<Vec<_>>();
    let phrase = if ours { "1wblue 1wgreen" } else { "blue green" };
    for (what, asked) in [
        ("common word", term("common")),
        ("rare word", term("needle7")),
        ("two words", words("common half").join(" AND ")),
        ("phrase", format!("\"{phrase}\"")),
        (
            "CJK, two characters",
            if name == "ours, characters" {
                "\"1w缓 1w存\"".into()
            } else {
                term("缓存")
            },
        ),
        ("two letters", term("db")),
    ] {
        for (how, sql, runs) in [
            (
                "newest 20",
                "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid DESC LIMIT 20",
                20,
            ),
            (
                "count to 10,000",
                "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT 10001)",
                20,
            ),
            (
                "bm25",
                "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20",
                3,
            ),
        ] {
            let mut times = Vec::new();
            let mut rows = 0;
            for _ in 0..runs {
                let start = Instant::now();
                let mut statement = conn.prepare_cached(sql)?;
                let mut cursor = statement.query([&asked])?;
                rows = 0;
                // A kind that keeps no positions refuses phrases: its row says 0.
                while let Ok(Some(row)) = cursor.next() {
                    rows += if how == "count to 10,000" {
                        row.get::<_, i64>(0)?
                    } else {
                        1
                    };
                }
                times.push(start.elapsed());
            }
            report(&format!("raw: {what}, {how}: {rows}"), &mut times);
        }
    }
    Ok(())
}

/// The size of the index where SQLite has no `dbstat`: what stands in its shadow tables.
fn pages(conn: &Connection, name: &str) -> rusqlite::Result<f64> {
    if name == "none" {
        return Ok(0.0);
    }
    conn.query_row(
        "SELECT (SELECT sum(length(block)) FROM search_data) + (SELECT sum(length(sz) + 8) FROM search_docsize)
              + (SELECT sum(length(term) + 12) FROM search_idx)",
        [],
        |row| row.get(0),
    )
}

/// A pair of Chinese characters as the first of them alone, to compare with an index of single characters. It leaves
/// out the last one of each run, so it flatters that index a little.
fn characters(term: &str) -> String {
    let wide: Vec<char> = term.chars().filter(|c| !c.is_ascii()).collect();
    match wide[..] {
        [first, _] => format!(" 1w{first}"),
        [_] => String::new(),
        _ => format!(" {term}"),
    }
}

/// Writes one record as a `remember` does, and gives the time that went into the index.
fn write(
    conn: &Connection,
    id: i64,
    record: &Record,
    name: &str,
    ours: bool,
    old: Option<i64>,
) -> rusqlite::Result<Duration> {
    let Record {
        scope,
        key,
        tags,
        body,
        private_to,
    } = record;
    let hash = "0".repeat(64);
    conn.prepare_cached("INSERT INTO content VALUES (?1, randomblob(16), ?2)")?
        .execute((id, body))?;
    conn.prepare_cached(
        "INSERT INTO version VALUES (?1, 1, ?1, ?2, ?3, ?1, ?1, ?4, ?5, 'agent', 0.7, '2026-01-01T00:00:00.000Z', ?6,
         ?4, ?4)",
    )?
    .execute((id, scope, key, &hash, tags, private_to))?;
    conn.prepare_cached("INSERT OR REPLACE INTO head VALUES (1, ?1, ?2, ?3)")?
        .execute((scope, key, id))?;
    conn.prepare_cached("INSERT INTO opinion VALUES (?1, ?2, 0, 0)")?
        .execute((id, (id % 10) as f64 / 10.0))?;
    let start = Instant::now();
    if name == "none" {
        return Ok(start.elapsed());
    }
    if let Some(old) = old {
        search::unindex(conn, old)?;
    }
    if ours {
        let private_to = private_to.as_deref();
        let record = Indexed {
            project: 1,
            scope,
            key,
            tags,
            private_to,
            body: Some(body),
        };
        if name == "ours, characters" {
            let line: String = record.terms().split(' ').map(characters).collect();
            conn.prepare_cached("INSERT INTO search(rowid, terms) VALUES (?1, ?2)")?
                .execute((id, line))?;
        } else {
            search::index(conn, id, &record)?;
        }
    } else {
        conn.prepare_cached("INSERT INTO search(rowid, scope, key, tags, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((id, scope, key, tags, body))?;
    }
    Ok(start.elapsed())
}

fn report(what: &str, times: &mut [Duration]) {
    times.sort_unstable();
    let at = |share: f64| {
        times
            .get(((times.len() as f64 - 1.0) * share).round() as usize)
            .map_or(0.0, Duration::as_secs_f64)
    };
    println!("{what}: median {:.3} ms, p95 {:.3} ms", at(0.5) * 1e3, at(0.95) * 1e3);
}
