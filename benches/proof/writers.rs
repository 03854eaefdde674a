//! Many writers at once over HTTP: what durability costs when those that arrive together share a commit.
//!
//! Two stores are served, one durable and one with `MEMORY_DURABILITY=normal`, and the same number of clients writes to each in
//! turn, A B A B. Beside the ratio it tells each rate, how long the slowest of a hundred writes took, and how many writes a commit
//! held.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Fallible;
use crate::table::{Line, Table, at};

const ROUNDS: usize = 5;
const PHASE: Duration = Duration::from_secs(3);

/// The rate of so many durable writers; the floor is what 0.7 of the rate with `normal` would take.
pub fn writers(table: &mut Table, folder: &Path) -> Fallible<()> {
    for writers in [1, 8, 64] {
        let full = Server::start(&folder.join(format!("full-{writers}.db")), "full")?;
        let normal = Server::start(&folder.join(format!("normal-{writers}.db")), "normal")?;
        let mut runs: [Vec<Run>; 2] = [Vec::new(), Vec::new()];
        for round in 0..=ROUNDS {
            for (index, server) in [&full, &normal].into_iter().enumerate() {
                let run = server.phase(writers, round)?;
                // The first round warms both up.
                if round > 0 {
                    runs[index].push(run);
                }
            }
        }
        let [durable, normal] = [Rate::of(&runs[0]), Rate::of(&runs[1])];
        println!(
            "  durable: {}\n  normal:  {}\n  {}",
            durable.told(),
            normal.told(),
            full.batches()?
        );
        // A write's share of the time, so that more is worse here as everywhere.
        let line = Line::new(
            "writers",
            format!("{writers} writers over HTTP, time a durable write; a normal one"),
            1e3 / durable.rate,
            1e3 / normal.rate,
            "ms",
        );
        let more = json!({ "durable": durable.json(), "normal": normal.json(), "durable_rate_to_normal": durable.rate / normal.rate });
        let line = line.more(more);
        // 0.7 of the rate is 1.43 of the time.
        table.add(if writers == 64 { line.goal(1.0 / 0.7) } else { line });
    }
    Ok(())
}

/// What one phase came to.
struct Run {
    spans: Vec<Duration>,
    seconds: f64,
    commits: f64,
}

/// What several phases of one store came to.
struct Rate {
    rate: f64,
    p50: f64,
    p99: f64,
    slowest: f64,
    batch: f64,
}

impl Rate {
    fn of(runs: &[Run]) -> Self {
        let mut rates: Vec<f64> = runs.iter().map(|run| run.spans.len() as f64 / run.seconds).collect();
        rates.sort_by(f64::total_cmp);
        let spans: Vec<Duration> = runs.iter().flat_map(|run| run.spans.iter().copied()).collect();
        let ms = |share: f64| at(&spans, share).as_secs_f64() * 1e3;
        Self {
            rate: rates[rates.len() / 2],
            p50: ms(0.5),
            p99: ms(0.99),
            slowest: ms(1.0),
            batch: spans.len() as f64 / runs.iter().map(|run| run.commits).sum::<f64>(),
        }
    }

    fn told(&self) -> String {
        format!(
            "{:.0} writes/s, p50 {:.1} ms, p99 {:.1} ms, slowest {:.1} ms, {:.1} writes a commit",
            self.rate, self.p50, self.p99, self.slowest, self.batch
        )
    }

    fn json(&self) -> Value {
        json!({ "writes_per_second": self.rate, "p50_ms": self.p50, "p99_ms": self.p99, "slowest_ms": self.slowest,
                "writes_a_commit": self.batch })
    }
}

struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(db: &Path, durability: &str) -> Fallible<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_handoff-memory"))
            .args(["serve", "--json", "--listen", "127.0.0.1:0"])
            .env("MEMORY_DB", db)
            .env("MEMORY_DURABILITY", durability)
            .env("RUST_LOG", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let told: Value = serde_json::from_str(&line)?;
        let url = told["url"].as_str().ok_or("no address")?;
        let address = url.trim_start_matches("http://").to_owned();
        Ok(Self { child, address })
    }

    /// Lets so many clients write for a while.
    fn phase(&self, writers: usize, round: usize) -> Fallible<Run> {
        let before = self.metric("handoff_memory_commit_writes_count")?;
        let over = Arc::new(AtomicBool::new(false));
        let together = Arc::new(Barrier::new(writers + 1));
        let threads: Vec<_> = (0..writers)
            .map(|writer| {
                let (address, over, together) = (self.address.clone(), Arc::clone(&over), Arc::clone(&together));
                std::thread::spawn(move || {
                    let mut client = Client::open(&address).expect("a connection");
                    together.wait();
                    let mut spans = Vec::new();
                    while !over.load(Ordering::Relaxed) {
                        let started = Instant::now();
                        client.remember(round, writer, spans.len()).expect("a write");
                        spans.push(started.elapsed());
                    }
                    spans
                })
            })
            .collect();
        together.wait();
        let started = Instant::now();
        std::thread::sleep(PHASE);
        over.store(true, Ordering::Relaxed);
        let mut spans = Vec::new();
        for thread in threads {
            spans.extend(thread.join().map_err(|_| "a client broke off")?);
        }
        let seconds = started.elapsed().as_secs_f64();
        let commits = self.metric("handoff_memory_commit_writes_count")? - before;
        Ok(Run {
            spans,
            seconds,
            commits,
        })
    }

    fn metrics(&self) -> Fallible<String> {
        let mut client = Client::open(&self.address)?;
        client.ask("GET /metrics HTTP/1.1\r\n", "")
    }

    fn metric(&self, name: &str) -> Fallible<f64> {
        let text = self.metrics()?;
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        Ok(line.unwrap_or("0").trim().parse()?)
    }

    /// How many commits held how many writes.
    fn batches(&self) -> Fallible<String> {
        let text = self.metrics()?;
        let mut below = 0.0;
        let mut told = Vec::new();
        for line in text.lines() {
            let Some((bound, count)) = line
                .strip_prefix("handoff_memory_commit_writes_bucket{le=\"")
                .and_then(|rest| rest.split_once("\"} "))
            else {
                continue;
            };
            let count: f64 = count.trim().parse()?;
            if count > below {
                told.push(format!("{} of up to {bound}", count - below));
            }
            below = count;
        }
        Ok(format!("durable commits: {}", told.join(", ")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection that is kept open.
struct Client {
    stream: BufReader<TcpStream>,
    address: String,
}

impl Client {
    fn open(address: &str) -> Fallible<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self {
            stream: BufReader::new(stream),
            address: address.to_owned(),
        })
    }

    fn remember(&mut self, round: usize, writer: usize, number: usize) -> Fallible<()> {
        let body = format!(
            r#"{{"scope":"bench/{writer}","key":"{round}-{number}","value":"Listing {number} asks for a price monitor over {} shops, paid by the hour; the client answers within a day, and wants a weekly report."}}"#,
            number % 97
        );
        let line = "POST /workspaces/default/projects/default/records HTTP/1.1\r\nContent-Type: application/json\r\n";
        self.ask(line, &body).map(drop)
    }

    /// Sends a request and reads its answer's body.
    fn ask(&mut self, line: &str, body: &str) -> Fallible<String> {
        let request = format!(
            "{line}Host: {}\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        let mut length = 0;
        let mut status = String::new();
        self.stream.read_line(&mut status)?;
        loop {
            let mut header = String::new();
            self.stream.read_line(&mut header)?;
            let header = header.trim().to_ascii_lowercase();
            if header.is_empty() {
                break;
            }
            if let Some(value) = header.strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut answer = vec![0; length];
        self.stream.read_exact(&mut answer)?;
        let answer = String::from_utf8(answer)?;
        if status.contains(" 20") {
            Ok(answer)
        } else {
            Err(format!("{status}{answer}").into())
        }
    }
}
