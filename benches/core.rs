//! What the core costs against floors taken in the same run: a bare transaction, an empty round trip, a bare server.
//!
//! `cargo bench --bench core` builds everything and prints one table. Each pair is timed in turn, A B A B, so that a
//! machine that slows down slows both; medians are compared, never single times.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use handoff_memory::app::{App, Caller};
use handoff_memory::config::Config;
use handoff_memory::domain::record::NewVersion;
use handoff_memory::domain::{JsonText, Key, Scope};
use handoff_memory::store::sqlite::search::Indexed;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::{Value, json};

const ROUNDS: usize = 1_500;
const STARTS: usize = 40;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    println!("{:<58} {:>10} {:>10} {:>7}", "what", "ours", "floor", "ratio");
    for durability in ["full", "normal"] {
        in_process(&folder.path().join(durability), durability)?;
    }
    over_stdio(folder.path())?;
    starting(folder.path())?;
    resident(folder.path())
}

fn row(what: &str, ours: Duration, floor: Duration) {
    let ratio = ours.as_secs_f64() / floor.as_secs_f64();
    println!("{what:<58} {:>10} {:>10} {ratio:>7.2}", shown(ours), shown(floor));
}

fn shown(span: Duration) -> String {
    format!("{:.3} ms", span.as_secs_f64() * 1_000.0)
}

fn median(mut spans: Vec<Duration>) -> Duration {
    spans.sort();
    spans[spans.len() / 2]
}

/// A text of about 200 bytes that differs from round to round.
fn text(round: usize) -> String {
    format!(
        "Listing {round} asks for a price monitor over {} shops, paid by the hour at {} USD; the client has hired {} \
         people before, answers within a day, and wants a weekly report with every change.",
        round % 97,
        40 + round % 60,
        round % 13
    )
}

/// `remember` in this process against a transaction that writes the same rows and index terms, and nothing else.
fn in_process(folder: &Path, durability: &str) -> Fallible<()> {
    std::fs::create_dir_all(folder)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let durable = match durability {
        "full" => handoff_memory::store::Durability::Full,
        _ => handoff_memory::store::Durability::Normal,
    };
    let open = |name: &str| -> Fallible<App> {
        Ok(App::new(Config {
            durability: durable,
            ..Config::at(folder.join(name))?
        }))
    };
    let caller = Caller::new("bench")?;
    let new = |round: usize| -> Fallible<NewVersion> {
        let value = JsonText::of(&json!({ "text": text(round) }));
        Ok(NewVersion::new(
            Scope::new("listing/boards")?,
            Key::new(&format!("{round}/summary"))?,
            value,
        ))
    };
    let ours = open("ours.db")?;
    // The floor writes into a file of the same schema, made by the same code.
    let made = open("floor.db")?;
    runtime.block_on(async {
        ours.remember(&caller, new(ROUNDS + 1)?).await?;
        made.remember(&caller, new(ROUNDS + 1)?).await?;
        made.close().await;
        Fallible::Ok(())
    })?;
    let mut floor = Floor::open(&folder.join("floor.db"), durability)?;
    let (mut spent, mut bare) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let version = new(round)?;
        let started = Instant::now();
        runtime.block_on(ours.remember(&caller, version))?;
        spent.push(started.elapsed());
        bare.push(floor.write(round)?);
    }
    row(
        &format!("remember in the process, {durability}, to the same rows"),
        median(spent),
        median(bare),
    );
    runtime.block_on(ours.close());
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

/// One server over pipes.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    fn start(program: &Path, db: &Path) -> Fallible<Self> {
        let mut child = Command::new(program)
            .env("MEMORY_DB", db)
            .env("AGENT_ID", "bench")
            .env("RUST_LOG", "off")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let input = child.stdin.take().ok_or("no input")?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        Ok(Self {
            child,
            input,
            output,
            id: 0,
        })
    }

    fn request(&mut self, method: &str, params: &Value) -> Fallible<Value> {
        self.id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.input.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    fn initialize(&mut self) -> Fallible<()> {
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                             "clientInfo": { "name": "bench", "version": "1" } });
        self.request("initialize", &params)?;
        self.input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(())
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Fallible<()> {
        let answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        if answer["result"]["isError"] == json!(true) || answer.get("error").is_some() {
            return Err(format!("{tool} failed: {answer}").into());
        }
        Ok(())
    }

    fn end(mut self) -> Fallible<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}

/// `remember` over stdio, less an empty round trip, against a durable transaction of one row; `recall` against a ping.
fn over_stdio(folder: &Path) -> Fallible<()> {
    let mut server = Server::start(
        Path::new(env!("CARGO_BIN_EXE_handoff-memory")),
        &folder.join("stdio.db"),
    )?;
    server.initialize()?;
    let conn = Connection::open(folder.join("row.db"))?;
    conn.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    conn.execute_batch("PRAGMA synchronous = FULL; CREATE TABLE t (id INTEGER PRIMARY KEY, body TEXT)")?;
    let (mut writes, mut pings, mut rows, mut reads) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let key = format!("{round}/summary");
        let arguments = json!({ "scope": "listing/boards", "key": key, "value": { "text": text(round) } });
        let mut timed = |spans: &mut Vec<Duration>, work: &mut dyn FnMut(&mut Server) -> Fallible<()>| {
            let started = Instant::now();
            work(&mut server)?;
            spans.push(started.elapsed());
            Fallible::Ok(())
        };
        timed(&mut writes, &mut |server| server.call("remember", &arguments))?;
        timed(&mut pings, &mut |server| server.request("ping", &json!({})).map(drop))?;
        timed(&mut reads, &mut |server| {
            server.call("recall", &json!({ "scope": "listing/boards", "key": key }))
        })?;
        timed(&mut rows, &mut |_| {
            conn.prepare_cached("INSERT INTO t (body) VALUES (?1)")?
                .execute([text(round)])?;
            Ok(())
        })?;
    }
    server.end()?;
    let (write, ping, read) = (median(writes), median(pings), median(reads));
    row(
        "remember over stdio less a ping, to one durable row",
        write.saturating_sub(ping),
        median(rows),
    );
    row("recall by key over stdio, to a ping", read, ping);
    Ok(())
}

fn bare_server() -> Fallible<PathBuf> {
    // Cargo builds examples beside the benches: target/<profile>/deps/core-… and target/<profile>/examples/bare.
    let here = std::env::current_exe()?;
    let profile = here.ancestors().nth(2).ok_or("no target folder")?;
    let bare = profile
        .join("examples")
        .join(format!("bare{}", std::env::consts::EXE_SUFFIX));
    if !bare.exists() {
        return Err(format!("{} is missing: cargo build --release --example bare", bare.display()).into());
    }
    Ok(bare)
}

/// From the start of the process to the answer of `initialize`.
fn starting(folder: &Path) -> Fallible<()> {
    let bare = bare_server()?;
    let ours = PathBuf::from(env!("CARGO_BIN_EXE_handoff-memory"));
    let db = folder.join("stdio.db");
    let start = |program: &Path| -> Fallible<Duration> {
        let started = Instant::now();
        let mut server = Server::start(program, &db)?;
        server.initialize()?;
        let spent = started.elapsed();
        server.end()?;
        Ok(spent)
    };
    let (mut spent, mut floor) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        spent.push(start(&ours)?);
        floor.push(start(&bare)?);
    }
    row(
        "start to the answer of initialize, to a bare rmcp server",
        median(spent),
        median(floor),
    );
    Ok(())
}

/// How much memory the server keeps, from the system's own count.
fn resident(folder: &Path) -> Fallible<()> {
    let mut server = Server::start(
        Path::new(env!("CARGO_BIN_EXE_handoff-memory")),
        &folder.join("memory.db"),
    )?;
    server.initialize()?;
    let status = format!("/proc/{}/status", server.child.id());
    let kept = || -> Option<f64> {
        let status = std::fs::read_to_string(&status).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        line.split_whitespace()
            .nth(1)?
            .parse::<f64>()
            .ok()
            .map(|kib| kib / 1_024.0)
    };
    let idle = kept();
    for round in 0..2_000 {
        let arguments = json!({ "scope": "s", "key": round.to_string(), "value": text(round) });
        server.call("remember", &arguments)?;
    }
    let written = kept();
    server.end()?;
    let size = std::fs::metadata(env!("CARGO_BIN_EXE_handoff-memory"))?.len();
    if let (Some(idle), Some(written)) = (idle, written) {
        println!("resident: {idle:.1} MiB after initialize, {written:.1} MiB after 2,000 writes");
    }
    println!("the binary: {:.1} MiB", size as f64 / 1_048_576.0);
    Ok(())
}
