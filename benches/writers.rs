//! Many writers at once over HTTP: what durability costs when those that arrive together share a commit.
//!
//! `cargo bench --bench writers` serves two stores, one with `MEMORY_DURABILITY=full` and one with `normal`, and lets the same
//! number of clients write to each in turn, A B A B. It prints each rate, how long the slowest of a hundred writes took, and
//! how many writes a commit held.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use serde_json::Value;

const ROUNDS: usize = 5;
const PHASE: Duration = Duration::from_secs(3);

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Fallible<()> {
    let folder = tempfile::tempdir()?;
    println!(
        "{:<10} {:<8} {:>10} {:>9} {:>9} {:>9} {:>14}",
        "writers", "store", "writes/s", "p50", "p99", "slowest", "writes/commit"
    );
    for writers in [1, 8, 64] {
        let full = Server::start(&folder.path().join(format!("full-{writers}.db")), "full")?;
        let normal = Server::start(&folder.path().join(format!("normal-{writers}.db")), "normal")?;
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
        let rates = [row(writers, "full", &runs[0]), row(writers, "normal", &runs[1])];
        println!("{writers:<10} full / normal = {:.2}", rates[0] / rates[1]);
        println!("           {}", full.batches()?);
    }
    Ok(())
}

/// What one phase came to.
struct Run {
    spans: Vec<Duration>,
    seconds: f64,
    commits: f64,
}

/// Prints the median phase of a store; gives its rate.
fn row(writers: usize, store: &str, runs: &[Run]) -> f64 {
    let mut rates: Vec<f64> = runs.iter().map(|run| run.spans.len() as f64 / run.seconds).collect();
    rates.sort_by(f64::total_cmp);
    let mut spans: Vec<Duration> = runs.iter().flat_map(|run| run.spans.iter().copied()).collect();
    spans.sort();
    let at = |share: f64| spans[((spans.len() - 1) as f64 * share) as usize].as_secs_f64() * 1_000.0;
    let commits: f64 = runs.iter().map(|run| run.commits).sum();
    let rate = rates[rates.len() / 2];
    println!(
        "{writers:<10} {store:<8} {rate:>10.0} {:>6.1} ms {:>6.1} ms {:>6.1} ms {:>14.1}",
        at(0.5),
        at(0.99),
        at(1.0),
        spans.len() as f64 / commits
    );
    rate
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
