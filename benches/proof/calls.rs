//! Single calls: in the process against the bare rows, over stdio against a ping and a bare row, and the start.

use std::path::Path;
use std::time::{Duration, Instant};

use handoff_memory::app::Caller;
use handoff_memory::domain::record::NewVersion;
use handoff_memory::domain::{JsonText, Key, Scope};
use handoff_memory::store::Durability;
use handoff_memory::store::sqlite::search::Indexed;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::json;

use crate::stdio::{Server, bare, ours};
use crate::table::{Line, Table, median};
use crate::{Fallible, app};

const ROUNDS: usize = 1_500;
const STARTS: usize = 60;

/// A text of about 200 bytes that differs from round to round.
pub fn text(round: usize) -> String {
    format!(
        "Listing {round} asks for a price monitor over {} shops, paid by the hour at {} USD; the client has hired {} \
         people before, answers within a day, and wants a weekly report with every change.",
        round % 97,
        40 + round % 60,
        round % 13
    )
}

/// `remember` in this process against a transaction that writes the same rows and index terms, and nothing else.
pub fn in_process(table: &mut Table, folder: &Path) -> Fallible<()> {
    for (durability, name, goal) in [(Durability::Full, "full", 1.25), (Durability::Normal, "normal", 1.6)] {
        let caller = Caller::new("bench")?;
        let new = |round: usize| -> Fallible<NewVersion> {
            let value = JsonText::of(&json!({ "text": text(round) }));
            Ok(NewVersion::new(
                Scope::new("listing/boards")?,
                Key::new(&format!("{round}/summary"))?,
                value,
            ))
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let ours = app(&folder.join(format!("ours-{name}.db")), durability)?;
        // The floor writes into a file of the same schema, made by the same code.
        let bare = folder.join(format!("floor-{name}.db"));
        let made = app(&bare, durability)?;
        runtime.block_on(async {
            ours.remember(&caller, new(ROUNDS + 1)?).await?;
            made.remember(&caller, new(ROUNDS + 1)?).await?;
            made.close().await;
            Fallible::Ok(())
        })?;
        let mut floor = Floor::open(&bare, name)?;
        let (mut spent, mut rows) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let version = new(round)?;
            let started = Instant::now();
            runtime.block_on(ours.remember(&caller, version))?;
            spent.push(started.elapsed());
            rows.push(floor.write(round)?);
        }
        runtime.block_on(ours.close());
        let what = format!("remember in the process, {name}; the same rows and terms");
        table.add(Line::spans("in-process", what, median(&spent), median(&rows)).goal(goal));
    }
    Ok(())
}

/// A connection that writes what `remember` writes, with every value known before.
struct Floor {
    conn: Connection,
}

impl Floor {
    fn open(path: &Path, durability: &str) -> Fallible<Self> {
        let conn = Connection::open(path)?;
        conn.pragma_update(None, "synchronous", durability)?;
        conn.pragma_update(None, "journal_size_limit", 4 * 1024 * 1024)?;
        conn.set_prepared_statement_cache_capacity(32);
        Ok(Self { conn })
    }

    fn write(&mut self, round: usize) -> Fallible<Duration> {
        let body = json!({ "text": text(round) }).to_string();
        let (scope, key) = ("listing/boards", format!("{round}/summary"));
        let terms = Indexed {
            project: 1,
            scope,
            key: &key,
            tags: "[]",
            private_to: None,
            body: Some(&body),
        }
        .terms();
        let hash = "0123456789abcdef".repeat(4);
        let subject = json!([scope, key, 1]).to_string();
        let at = "2026-12-01T08:30:00.120Z";
        let id = round as i64 + 2;
        let started = Instant::now();
        let tx = self.conn.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.prepare_cached("INSERT INTO content (nonce, body) VALUES (?1, ?2)")?
            .execute(params![[7u8; 16], body])?;
        tx.prepare_cached(
            "INSERT INTO version (project_id, seq, scope, key, version, content_id, value_hash, tags, author,
                 base_confidence, created_at, prev_hash, hash) VALUES (1, ?1, ?2, ?3, 1, ?1, ?4, '[]', 'bench', 0.7, ?5, ?4, ?4)",
        )?
        .execute(params![id, scope, key, hash, at])?;
        tx.prepare_cached(
            "INSERT INTO ledger (project_id, seq, at, agent, kind, subject, detail, digest, hash)
             VALUES (1, ?1, ?2, 'bench', 'remembered', ?3, '{}', ?4, ?4)",
        )?
        .execute(params![id + 1, at, subject, hash])?;
        tx.prepare_cached("INSERT INTO head (project_id, scope, key, version_id) VALUES (1, ?1, ?2, ?3)")?
            .execute(params![scope, key, id])?;
        tx.prepare_cached("INSERT INTO opinion (version_id, confidence, successes, failures) VALUES (?1, 0.7, 0, 0)")?
            .execute([id])?;
        tx.prepare_cached("INSERT INTO search (rowid, terms) VALUES (?1, ?2)")?
            .execute(params![id, terms])?;
        tx.commit()?;
        Ok(started.elapsed())
    }
}

/// `remember` over stdio, less an empty round trip, against a durable transaction of one row; `recall` against the ping of a
/// bare rmcp server.
pub fn over_stdio(table: &mut Table, folder: &Path) -> Fallible<()> {
    let mut server = Server::start(&ours(), &folder.join("stdio.db"))?;
    let mut bare = Server::start(&bare()?, &folder.join("none.db"))?;
    let conn = Connection::open(folder.join("row.db"))?;
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")?;
    let (mut writes, mut pings, mut bare_pings, mut rows, mut reads) = (vec![], vec![], vec![], vec![], vec![]);
    for round in 0..ROUNDS {
        let key = format!("{round}/summary");
        let value = json!({ "text": text(round) });
        writes.push(server.timed(
            "remember",
            &json!({ "scope": "listing/boards", "key": key, "value": value }),
        )?);
        pings.push(server.ping()?);
        reads.push(server.timed("recall", &json!({ "scope": "listing/boards", "key": key }))?);
        bare_pings.push(bare.ping()?);
        let started = Instant::now();
        conn.prepare_cached("INSERT INTO t (body) VALUES (?1)")?
            .execute([text(round)])?;
        rows.push(started.elapsed());
    }
    server.end()?;
    bare.end()?;
    let write = median(&writes).saturating_sub(median(&pings));
    table.add(
        Line::spans(
            "stdio",
            "remember over stdio less a ping; one durable row",
            write,
            median(&rows),
        )
        .goal(2.0),
    );
    table.add(
        Line::spans(
            "stdio",
            "recall by key over stdio; a ping of a bare rmcp server",
            median(&reads),
            median(&bare_pings),
        )
        .goal(1.3),
    );
    table.add(Line::spans(
        "stdio",
        "our ping; that of a bare rmcp server",
        median(&pings),
        median(&bare_pings),
    ));
    Ok(())
}

/// From the start of the process to the answer of `initialize`.
pub fn starting(table: &mut Table, folder: &Path) -> Fallible<()> {
    let (ours, bare) = (ours(), bare()?);
    let db = folder.join("start.db");
    let start = |program: &Path| -> Fallible<Duration> {
        let started = Instant::now();
        let server = Server::start(program, &db)?;
        let spent = started.elapsed();
        server.end()?;
        Ok(spent)
    };
    let (mut spent, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        spent.push(start(&ours)?);
        floor.push(start(&bare)?);
    }
    let what = "start to the answer of initialize; a bare rmcp server";
    table.add(Line::spans("start", what, median(&spent), median(&floor)).goal(1.3));
    Ok(())
}

/// How much memory a server keeps, against what it may.
pub fn resident(table: &mut Table, folder: &Path) -> Fallible<()> {
    let mut server = Server::start(&ours(), &folder.join("memory.db"))?;
    let idle = server.resident();
    for round in 0..2_000 {
        server.call(
            "remember",
            &json!({ "scope": "s", "key": round.to_string(), "value": text(round) }),
        )?;
    }
    let written = server.resident();
    server.end()?;
    if let (Some(idle), Some(written)) = (idle, written) {
        table.add(
            Line::new(
                "memory",
                "resident after initialize; what it may take",
                idle,
                12.0,
                "MiB",
            )
            .goal(1.0),
        );
        table.add(
            Line::new(
                "memory",
                "resident after 2,000 writes; what it may take",
                written,
                16.0,
                "MiB",
            )
            .goal(1.0),
        );
    }
    let size = |path: &Path| -> Fallible<f64> { Ok(std::fs::metadata(path)?.len() as f64 / 1_048_576.0) };
    table.add(Line::new(
        "memory",
        "size of the program; of a bare rmcp server",
        size(&ours())?,
        size(&bare()?)?,
        "MiB",
    ));
    Ok(())
}
