//! A server over pipes, asked as a client asks it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::Fallible;

/// The program under test.
pub fn ours() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_handoff-memory"))
}

/// A bare rmcp server without a store, built if need be.
pub fn bare() -> Fallible<PathBuf> {
    // Cargo builds examples beside the benches: target/<profile>/deps/proof-… and target/<profile>/examples/bare.
    let here = std::env::current_exe()?;
    let profile = here.ancestors().nth(2).ok_or("no target folder")?;
    let bare = profile
        .join("examples")
        .join(format!("bare{}", std::env::consts::EXE_SUFFIX));
    let built = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args(["build", "--quiet", "--release", "--example", "bare"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .status()?;
    if !built.success() || !bare.exists() {
        return Err(format!("{} could not be built", bare.display()).into());
    }
    Ok(bare)
}

/// One server and the pipes to it.
pub struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
}

impl Server {
    pub fn start(program: &Path, db: &Path) -> Fallible<Self> {
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
        let mut server = Self {
            child,
            input,
            output,
            id: 0,
        };
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {},
                             "clientInfo": { "name": "bench", "version": "1" } });
        server.request("initialize", &params)?;
        server
            .input
            .write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n")?;
        Ok(server)
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Fallible<Value> {
        self.id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.id, "method": method, "params": params });
        self.input.write_all(format!("{message}\n").as_bytes())?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        Ok(serde_json::from_str(&line)?)
    }

    pub fn call(&mut self, tool: &str, arguments: &Value) -> Fallible<Value> {
        let mut answer = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }))?;
        if answer["result"]["isError"] == json!(true) || answer.get("error").is_some() {
            return Err(format!("{tool} failed: {answer}").into());
        }
        Ok(answer["result"]["structuredContent"].take())
    }

    /// How long a call takes.
    pub fn timed(&mut self, tool: &str, arguments: &Value) -> Fallible<Duration> {
        let started = Instant::now();
        self.call(tool, arguments)?;
        Ok(started.elapsed())
    }

    pub fn ping(&mut self) -> Fallible<Duration> {
        let started = Instant::now();
        self.request("ping", &json!({}))?;
        Ok(started.elapsed())
    }

    /// The memory that it keeps now, in MiB, by the system's own count.
    pub fn resident(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
        let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib / 1024.0)
    }

    pub fn end(mut self) -> Fallible<()> {
        drop(self.input);
        self.child.wait()?;
        Ok(())
    }
}
