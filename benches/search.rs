//! What search costs: size, writes and queries, ours beside the tokenizers that FTS5 brings.
//!
//! `cargo bench --bench search` runs at 1,000 and 20,000 records; `-- 100000 1000000` names the sizes, `--only ours`
//! the kinds of index, `--pragma automerge=8` sets an FTS5 option. The records come from a fixed seed, so every run
//! and every kind has the same ones. Times are medians and 95th percentiles of one warm process.

use std::time::{Duration, Instant};

use handoff_memory::store::sqlite::search::{self, Indexed, Search};
use rusqlite::Connection;

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
    if name == "none" {
        return Ok(());
    }
    if name == "ours" {
        let start = Instant::now();
        let fault = search::check(&conn)?;
        println!("check {:.1} s, {fault:?}", start.elapsed().as_secs_f64());
        for (what, search) in searches() {
            let mut times = Vec::new();
            let mut found = search::Found::default();
            for _ in 0..40 {
                let start = Instant::now();
                found = search::find(&conn, &search)?;
                times.push(start.elapsed());
            }
            report(
                &format!(
                    "{what}, {} of {}{}",
                    found.hits.len(),
                    found.total,
                    if found.total_capped { "+" } else { "" }
                ),
                &mut times,
            );
        }
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            search::elsewhere(
                &conn,
                &Search {
                    query: Some("common"),
                    scope: Some("none"),
                    ..everything()
                },
            )?;
            times.push(start.elapsed());
        }
        report("elsewhere", &mut times);
    } else {
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
            ("CJK, two characters", term("缓存")),
            ("two letters", term("db")),
        ] {
            for (how, sql) in [
                (
                    "newest 20",
                    "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rowid DESC LIMIT 20",
                ),
                (
                    "count to 10,000",
                    "SELECT count(*) FROM (SELECT 1 FROM search WHERE search MATCH ?1 LIMIT 10001)",
                ),
                (
                    "bm25",
                    "SELECT rowid FROM search WHERE search MATCH ?1 ORDER BY rank LIMIT 20",
                ),
            ] {
                let mut times = Vec::new();
                let mut rows = 0;
                for _ in 0..if how == "bm25" { 3 } else { 20 } {
                    let start = Instant::now();
                    let mut statement = conn.prepare_cached(sql)?;
                    let mut cursor = match statement.query([&asked]) {
                        Ok(cursor) => cursor,
                        Err(_) => break,
                    };
                    rows = 0;
                    while let Ok(Some(row)) = cursor.next() {
                        rows += if how == "count to 10,000" {
                            row.get::<_, i64>(0)?
                        } else {
                            1
                        };
                    }
                    times.push(start.elapsed());
                }
                report(&format!("{what}, {how}: {rows}"), &mut times);
            }
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
        search::index(
            conn,
            id,
            &Indexed {
                project: 1,
                scope,
                key,
                tags,
                private_to,
                body: Some(body),
            },
        )?;
    } else {
        conn.prepare_cached("INSERT INTO search(rowid, scope, key, tags, body) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute((id, scope, key, tags, body))?;
    }
    Ok(start.elapsed())
}

fn everything() -> Search<'static> {
    Search {
        project: 1,
        agent: Some("ann"),
        limit: 20,
        ..Search::default()
    }
}

/// The searches that are timed.
fn searches() -> Vec<(&'static str, Search<'static>)> {
    let query = |query| Search {
        query: Some(query),
        ..everything()
    };
    vec![
        ("common word", query("common")),
        ("half the records", query("half")),
        ("rare word", query("needle7")),
        ("no match", query("zzzz")),
        ("two common words", query("common half")),
        ("common and rare", query("common needle7")),
        ("two words that never meet", query("half other")),
        ("phrase", query("blue-green")),
        ("phrase of rare neighbours", query("half-common")),
        ("CJK, two characters", query("缓存")),
        ("CJK, four characters", query("缓存失效")),
        ("CJK, one character", query("缓")),
        ("two letters", query("db")),
        (
            "a sentence",
            query("what did we decide about the common needle7 in the half of all records"),
        ),
        ("a path", query("src/module7/file_42.rs")),
        ("form of a word", query("monitoring")),
        (
            "32 words",
            query(
                "common half other blue green db monitor needle1 needle2 needle3 needle4 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 \
             w12 w13 w14 w15 w16 w17 w18 w19 w20 w21",
            ),
        ),
        (
            "common word in a scope",
            Search {
                scope: Some("team3"),
                ..query("common")
            },
        ),
        (
            "common word in a deep scope",
            Search {
                scope: Some("team3/repo1/area2"),
                ..query("common")
            },
        ),
        (
            "common word with a tag",
            Search {
                tag: Some("tag3"),
                ..query("common")
            },
        ),
        (
            "common word, scope and tag",
            Search {
                scope: Some("team3/repo1"),
                tag: Some("tag3"),
                ..query("common")
            },
        ),
        (
            "rare word in a scope",
            Search {
                scope: Some("team3"),
                ..query("needle7")
            },
        ),
        (
            "CJK in a scope",
            Search {
                scope: Some("team3"),
                ..query("缓存")
            },
        ),
        (
            "a scope",
            Search {
                scope: Some("team3"),
                ..everything()
            },
        ),
        (
            "a tag",
            Search {
                tag: Some("tag3"),
                ..everything()
            },
        ),
        ("everything", everything()),
        (
            "common word, confidence 0.9",
            Search {
                min_confidence: Some(0.9),
                ..query("common")
            },
        ),
        (
            "common word, confidence 2",
            Search {
                min_confidence: Some(2.0),
                ..query("common")
            },
        ),
        ("punctuation", query("=>")),
    ]
}

struct Record {
    scope: String,
    key: String,
    tags: String,
    body: String,
    private_to: Option<String>,
}

/// Makes records: words by Zipf's law, paths, identifiers, one in ten with Chinese.
struct World {
    state: u64,
}

impl World {
    fn new() -> Self {
        Self {
            state: 0x9e37_79b9_7f4a_7c15,
        }
    }

    /// A number below `end` (xorshift64).
    fn below(&mut self, end: u64) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) % end
    }

    /// A number below `end`, small ones far likelier.
    fn zipf(&mut self, end: u64) -> u64 {
        let unit = self.below(1 << 30) as f64 / (1u64 << 30) as f64;
        ((end as f64).powf(unit) - 1.0) as u64
    }

    fn record(&mut self, id: i64) -> Record {
        let scope = format!("team{}/repo{}/area{}", self.below(20), self.below(10), self.below(10));
        let tags: Vec<String> = (0..self.below(4)).map(|_| format!("tag{}", self.zipf(200))).collect();
        let mut text = String::from("common ");
        text.push_str(if self.below(2) == 0 { "half " } else { "other " });
        for _ in 0..15 + self.below(30) {
            text.push_str(&format!("w{} ", self.zipf(50_000)));
        }
        if self.below(20) == 0 {
            text.push_str("the blue green db we monitor ");
        }
        if self.below(10) == 0 {
            const CHINESE: [&str; 6] = [
                "缓存失效的原因",
                "用户身份验证",
                "已经修复",
                "数据库迁移",
                "重新部署",
                "测试环境",
            ];
            for _ in 0..3 {
                text.push_str(CHINESE[self.below(6) as usize]);
            }
        }
        // About ten records each, whatever the size.
        text.push_str(&format!(" needle{}", id / 10));
        let file = format!("src/module{}/file_{}.rs", self.below(50), self.below(400));
        let symbol = format!("getValue{}", self.zipf(5_000));
        Record {
            scope,
            key: format!("note-{id}"),
            tags: serde_json::to_string(&tags).expect("tags"),
            body: serde_json::json!({"text": text, "file": file, "symbol": symbol, "line": id % 500}).to_string(),
            private_to: (self.below(50) == 0).then(|| "bob".to_owned()),
        }
    }
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
