//! Stores of many versions, filled from a seed: search, the same calls on a small and on a large one, proofs, memory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use handoff_memory::app::Caller;
use handoff_memory::app::memory::Room;
use handoff_memory::domain::handoff::{NewHandoff, Texts};
use handoff_memory::domain::record::{NewVersion, Tags};
use handoff_memory::domain::sought::Sought;
use handoff_memory::domain::{Agent, JsonText, Key, Scope, Span};
use handoff_memory::store::Durability;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::runtime::Runtime;
use tokio::task::JoinSet;

use crate::calls::text;
use crate::stdio::{Server, ours};
use crate::table::{Line, Table, at, median};
use crate::world::World;
use crate::{Fallible, app};

/// How many writes wait together while a store is filled.
const TOGETHER: u64 = 512;

/// How often each call is made.
const ROUNDS: usize = 300;

/// How many versions the deep record has, and how many packets wait.
const DEEP: usize = 10_000;

/// A store of this many records, one version each: the same for the same number.
pub struct Grown {
    pub records: u64,
    pub db: PathBuf,
}

/// Fills a store; says how long it took.
pub fn grow(folder: &Path, records: u64) -> Fallible<Grown> {
    let db = folder.join(format!("{records}.db"));
    let runtime = Runtime::new()?;
    let started = Instant::now();
    runtime.block_on(async {
        let app = Arc::new(app(&db, Durability::Normal)?);
        let mut world = World::new();
        let mut waiting: JoinSet<Result<(), String>> = JoinSet::new();
        for id in 1..=records {
            let record = world.record(i64::try_from(id)?);
            let author = Caller::new(record.private_to.as_deref().unwrap_or("scout"))?;
            let tags: Vec<String> = serde_json::from_str(&record.tags)?;
            let value = JsonText::of(&serde_json::from_str::<Value>(&record.body)?);
            let mut new = NewVersion::new(Scope::new(&record.scope)?, Key::new(&record.key)?, value);
            new.tags = Tags::new(&tags)?;
            new.private_to = record.private_to.as_deref().map(Agent::new).transpose()?;
            let app = Arc::clone(&app);
            waiting.spawn(async move {
                app.remember(&author, new)
                    .await
                    .map(drop)
                    .map_err(|error| error.to_string())
            });
            if id % TOGETHER == 0 || id == records {
                while let Some(done) = waiting.join_next().await {
                    done??;
                }
            }
        }
        app.close().await;
        Fallible::Ok(())
    })?;
    let seconds = started.elapsed().as_secs_f64();
    println!(
        "  filled a store of {records} records in {seconds:.0} s, {:.0} MiB",
        std::fs::metadata(&db)?.len() as f64 / 1_048_576.0
    );
    Ok(Grown { records, db })
}

/// A search: what it stands for, its query, scope and tag.
type Search = (
    &'static str,
    Option<&'static str>,
    Option<&'static str>,
    Option<&'static str>,
);

/// The searches that are timed.
const SEARCHES: [Search; 9] = [
    ("common word", Some("common"), None, None),
    ("rare word", Some("needle7"), None, None),
    ("phrase", Some("blue-green"), None, None),
    ("CJK, two characters", Some("缓存"), None, None),
    ("CJK, four characters", Some("缓存失效"), None, None),
    ("common word in a scope", Some("common"), Some("team3"), None),
    ("common word with a tag", Some("common"), None, Some("tag3")),
    (
        "common word, scope and tag",
        Some("common"),
        Some("team3/repo1"),
        Some("tag3"),
    ),
    ("everything, newest first", None, None, None),
];

/// Whole searches as they are answered, at each size; the floor is the goal at a million, 20 ms.
pub fn search(table: &mut Table, stores: &[Grown]) -> Fallible<()> {
    let runtime = Runtime::new()?;
    let caller = Caller::new("ann")?;
    let mut smallest: Vec<Duration> = Vec::new();
    for store in stores {
        let app = app(&store.db, Durability::Full)?;
        for (number, (what, query, scope, tag)) in SEARCHES.into_iter().enumerate() {
            let sought = Sought {
                query: query.map(str::to_owned),
                scope: scope.map(Scope::new).transpose()?,
                tag: tag
                    .map(|tag| handoff_memory::domain::Tag::named("tag", tag))
                    .transpose()?,
                key: None,
                min_confidence: None,
                limit: 20,
                from: None,
            };
            let room = Room {
                values: 16 * 1024,
                all: 24 * 1024,
            };
            let mut spans = Vec::new();
            let mut total = 0;
            for _ in 0..60 {
                let started = Instant::now();
                total = runtime.block_on(app.search(&caller, sought.clone(), room))?.total;
                spans.push(started.elapsed());
            }
            if smallest.len() == number {
                smallest.push(median(&spans));
            }
            let growth = median(&spans).as_secs_f64() / smallest[number].as_secs_f64();
            let line = Line::spans(
                "search",
                format!("search, {}: {what}, p95; 20 ms", store.records),
                at(&spans, 0.95),
                Duration::from_millis(20),
            );
            let p50 = median(&spans).as_secs_f64() * 1e3;
            let more = json!({ "records": store.records, "found": total, "p50_ms": p50, "growth_of_p50": growth });
            table.add(line.goal(1.0).more(more));
        }
        runtime.block_on(app.close());
    }
    Ok(())
}

/// The addresses of some records, spread over the whole store.
fn some(store: &Grown) -> Fallible<Vec<Value>> {
    let conn = rusqlite::Connection::open(&store.db)?;
    let step = i64::try_from(store.records / ROUNDS as u64)?.max(1);
    let mut statement = conn.prepare("SELECT scope, key FROM version WHERE id % ?1 = 0 AND private_to IS NULL")?;
    let rows = statement.query_map([step], |row| {
        Ok(json!({ "scope": row.get::<_, String>(0)?, "key": row.get::<_, String>(1)? }))
    })?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// The same calls over stdio on the large store and on the small one, turn by turn.
pub fn growth(table: &mut Table, small: &Grown, large: &Grown) -> Fallible<()> {
    let mut servers = Vec::new();
    for store in [large, small] {
        let takes = Server::start(&ours(), &store.db)?;
        servers.push((Server::start(&ours(), &store.db)?, takes));
    }
    let mut spans: [[Vec<Duration>; 2]; 4] = Default::default();
    let addresses = [some(large)?, some(small)?];
    for round in 0..ROUNDS {
        for (which, (server, takes)) in servers.iter_mut().enumerate() {
            let records = [large, small][which].records;
            let some = &addresses[which][round % addresses[which].len()];
            let new = json!({ "scope": "bench/growth", "key": format!("k{round}"), "value": { "text": text(round) } });
            spans[0][which].push(server.timed("remember", &new)?);
            spans[1][which].push(server.timed("recall", some)?);
            spans[2][which].push(server.timed("history", some)?);
            let packet = json!({ "title": format!("packet {round}"), "summary": text(round), "next_steps": ["go on"],
                                 "refs": [some] });
            server.call("handoff", &packet)?;
            let started = Instant::now();
            let taken = takes.call("resume", &json!({}))?;
            spans[3][which].push(started.elapsed());
            let id = taken["handoff"]["id"].as_str().ok_or("nothing was there to take")?;
            let done = json!({ "outcome": "success", "outcome_ref": format!("{records}-{round}"), "handoff_id": id, "refs": [] });
            takes.call("record_outcome", &done)?;
        }
    }
    for (server, takes) in servers {
        server.end()?;
        takes.end()?;
    }
    for (name, [at_large, at_small]) in ["remember", "recall", "history", "resume"].into_iter().zip(&spans) {
        let what = format!("{name} at {} versions; at {}", large.records, small.records);
        table.add(Line::spans("growth", what, median(at_large), median(at_small)).goal(1.5));
    }
    Ok(())
}

/// A record of 10,000 versions and a queue of 10,000 packets, against a record of one version and a queue of one.
pub fn deep(table: &mut Table, folder: &Path) -> Fallible<()> {
    let (deep, flat) = (folder.join("deep.db"), folder.join("flat.db"));
    let runtime = Runtime::new()?;
    runtime.block_on(async {
        for (db, versions, packets) in [(&deep, DEEP, DEEP), (&flat, 1, 1)] {
            let app = app(db, Durability::Normal)?;
            let author = Caller::new("scout")?;
            for version in 0..versions {
                let value = JsonText::of(&json!({ "text": text(version) }));
                app.remember(
                    &author,
                    NewVersion::new(Scope::new("deep")?, Key::new("record")?, value),
                )
                .await?;
            }
            for packet in 0..packets {
                // Each agent's packets of the last minutes are compared with what it writes.
                let author = Caller::new(&format!("agent-{}", packet % 100))?;
                let texts = Texts::new(
                    &format!("packet {packet}"),
                    &text(packet),
                    vec!["go on".to_owned()],
                    vec![],
                    vec![],
                )?;
                let mut new = NewHandoff::new(texts);
                new.refs = Some(Vec::new());
                new.expires_in = Some(Span::from_minutes(0));
                app.hand_off(&author, new).await?;
            }
            app.close().await;
        }
        Fallible::Ok(())
    })?;
    let record = json!({ "scope": "deep", "key": "record" });
    let middle = json!({ "scope": "deep", "key": "record", "version": 1 });
    let calls: [(&str, &str, &Value); 5] = [
        ("recall", "recall", &record),
        ("recall of version 1", "recall", &middle),
        ("history", "history", &record),
        ("resume with peek", "resume", &json!({ "peek": true })),
        ("memory_stats", "memory_stats", &json!({})),
    ];
    let mut servers = [Server::start(&ours(), &deep)?, Server::start(&ours(), &flat)?];
    let mut spans: [[Vec<Duration>; 2]; 5] = Default::default();
    for _ in 0..60 {
        for (which, server) in servers.iter_mut().enumerate() {
            for (number, (_, tool, arguments)) in calls.into_iter().enumerate() {
                spans[number][which].push(server.timed(tool, arguments)?);
            }
        }
    }
    for ((name, ..), [ours, floor]) in calls.into_iter().zip(&spans) {
        let what = format!("{name} among {DEEP} versions and packets; one of each");
        table.add(Line::spans("deep", what, median(ours), median(floor)));
    }
    // Claims, each of the next one; on the flat side there is a new one to take each time.
    let [mut many, mut one] = servers;
    let mut writer = Server::start(&ours(), &flat)?;
    let (mut took, mut took_one) = (Vec::new(), Vec::new());
    one.call("resume", &json!({}))?;
    for round in 0..30 {
        took.push(many.timed("resume", &json!({}))?);
        writer.call(
            "handoff",
            &json!({ "title": format!("next {round}"), "summary": text(round), "next_steps": ["go on"], "refs": [] }),
        )?;
        took_one.push(one.timed("resume", &json!({}))?);
    }
    writer.end()?;
    many.end()?;
    one.end()?;
    let what = format!("resume among {DEEP} waiting packets; one");
    table.add(Line::spans("deep", what, median(&took), median(&took_one)));
    Ok(())
}

/// The proof of a file, as a program, against SHA-256 of the same bytes on one core.
pub fn verify(table: &mut Table, stores: &[Grown]) -> Fallible<()> {
    for store in stores {
        let bytes = std::fs::read(&store.db)?;
        let (mut spent, mut floor, mut peak) = (Vec::new(), Vec::new(), 0.0f64);
        let mut hashed = [0; 32];
        for _ in 0..3 {
            let started = Instant::now();
            peak = peak.max(proved(&store.db)?);
            spent.push(started.elapsed());
            let started = Instant::now();
            hashed = Sha256::digest(&bytes).into();
            floor.push(started.elapsed());
        }
        let (seconds, mib) = (median(&spent).as_secs_f64(), bytes.len() as f64 / 1_048_576.0);
        let what = format!("verify, {} versions, {mib:.0} MiB; SHA-256 of the file", store.records);
        let more = json!({ "versions_per_second": store.records as f64 / seconds, "mib_per_second": mib / seconds,
                           "peak_resident_mib": peak, "first_byte_of_hash": hashed[0] });
        println!(
            "  {:.0} versions/s, {:.0} MiB/s, {peak:.1} MiB resident at most",
            store.records as f64 / seconds,
            mib / seconds
        );
        table.add(
            Line::spans("verify", what, median(&spent), median(&floor))
                .goal(2.5)
                .more(more),
        );
    }
    Ok(())
}

/// Runs a proof; gives the most memory that it was seen to keep.
fn proved(db: &Path) -> Fallible<f64> {
    let mut child = Command::new(ours())
        .args(["verify", "--db"])
        .arg(db)
        .env("RUST_LOG", "off")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    let status = format!("/proc/{}/status", child.id());
    let mut peak = 0.0f64;
    let ended = loop {
        if let Some(ended) = child.try_wait()? {
            break ended;
        }
        if let Ok(told) = std::fs::read_to_string(&status)
            && let Some(kib) = told.lines().find_map(|line| {
                line.strip_prefix("VmHWM:")?
                    .split_whitespace()
                    .next()?
                    .parse::<f64>()
                    .ok()
            })
        {
            peak = peak.max(kib / 1024.0);
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    if ended.success() {
        Ok(peak)
    } else {
        Err("verify found a fault".into())
    }
}

/// Memory of a server on a large store, once it was asked for this and that.
pub fn resident(table: &mut Table, store: &Grown) -> Fallible<()> {
    let mut server = Server::start(&ours(), &store.db)?;
    let addresses = some(store)?;
    for round in 0..200 {
        server.call("recall", &addresses[round % addresses.len()])?;
        server.call("recall", &json!({ "query": format!("common needle{round}") }))?;
        server.call(
            "remember",
            &json!({ "scope": "bench/memory", "key": format!("k{round}"), "value": text(round) }),
        )?;
    }
    server.call("resume", &json!({ "peek": true }))?;
    if let Some(kept) = server.resident() {
        let what = format!("resident with {} records; what it may take", store.records);
        table.add(Line::new("memory", what, kept, 40.0, "MiB").goal(1.0));
    }
    server.end()
}
