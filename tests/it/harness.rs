//! Drives the real executable as a client would: over pipes, with a cleared environment and a deadline on everything.
//!
//! A [`Place`] is one temporary folder with a database path, a home and a working directory. A [`Server`] is one
//! running process on it. Nothing here waits without a deadline, so a hang fails a test and never the run. Every line
//! that a server prints is checked to be one JSON-RPC message, so each test also proves that stdout carries the
//! protocol and nothing else.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long any one answer may take before the test fails. Far above what is promised: a loaded machine is no fault.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How long a server may take to end after its stdin ended or a SIGTERM came.
pub const ENDS_WITHIN: Duration = Duration::from_secs(2);
/// The executable under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_handoff-memory");
/// What the harness says it is in `clientInfo`.
pub const CLIENT: &str = "it-client";
/// The newest protocol revision that begins with `initialize`.
pub const LEGACY: &str = "2025-11-25";
/// The protocol revision that has no `initialize`.
pub const MODERN: &str = "2026-07-28";

/// Whether the long form of a test is wished for: `LONG_TESTS=1`.
pub fn is_long() -> bool {
    std::env::var_os("LONG_TESTS").is_some_and(|wish| wish == "1")
}

/// One temporary folder: `memory.db` (not created), `home`, `data` and the working directory `work`.
pub struct Place {
    dir: TempDir,
}

impl Place {
    pub fn new() -> Self {
        let dir = TempDir::with_prefix("handoff-memory-it-").expect("a temporary folder");
        for folder in ["home", "data", "work"] {
            std::fs::create_dir(dir.path().join(folder)).expect("a folder in the temporary folder");
        }
        Self { dir }
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn home(&self) -> PathBuf {
        self.path().join("home")
    }

    pub fn work(&self) -> PathBuf {
        self.path().join("work")
    }

    /// Where a process keeps what is its user's, unless a test says otherwise.
    pub fn data(&self) -> PathBuf {
        self.path().join("data")
    }

    /// The database that every server here uses unless a test says otherwise.
    pub fn db(&self) -> PathBuf {
        self.path().join("memory.db")
    }

    /// A process to be started, with `MEMORY_DB` set and no agent named.
    pub fn start(&self) -> Start {
        let env = [
            ("HOME", self.home()),
            ("XDG_DATA_HOME", self.data()),
            ("MEMORY_DB", self.db()),
        ];
        Start {
            env: env.map(|(k, v)| (OsString::from(k), v.into_os_string())).into(),
            args: Vec::new(),
            cwd: self.work(),
            wrapper: Vec::new(),
        }
    }

    /// A running, initialized server for the agent `name`.
    pub fn agent(&self, name: &str) -> Server {
        self.start().agent(name).serve()
    }

    /// Runs one subcommand to its end.
    pub fn run(&self, args: &[&str]) -> Ran {
        self.start().args(args).run()
    }

    /// Opens the database with plain SQL, as a stranger's tool would. Foreign keys are off, so that rows can be
    /// damaged one at a time.
    pub fn sql(&self) -> rusqlite::Connection {
        open_sql(&self.db())
    }

    /// One number that a query gives.
    pub fn count(&self, query: &str) -> i64 {
        self.sql()
            .query_row(query, [], |row| row.get(0))
            .unwrap_or_else(|e| panic!("{query}: {e}"))
    }

    /// Asserts that `verify` finds the store intact, and gives what it printed.
    #[track_caller]
    pub fn verify_clean(&self) -> String {
        let ran = self.run(&["verify"]);
        assert_eq!(ran.code, Some(0), "verify of an intact store: {ran:?}");
        ran.stdout
    }
}

/// Opens any database file with plain SQL.
pub fn open_sql(path: &Path) -> rusqlite::Connection {
    let sql = rusqlite::Connection::open(path).expect("the database opens");
    sql.busy_timeout(Duration::from_secs(10)).expect("a busy timeout");
    sql.pragma_update(None, "foreign_keys", false)
        .expect("foreign keys off");
    sql
}

/// What one finished subcommand left.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// A process about to be started. The environment holds only what is set here.
#[derive(Clone)]
pub struct Start {
    env: Vec<(OsString, OsString)>,
    args: Vec<OsString>,
    cwd: PathBuf,
    wrapper: Vec<OsString>,
}

impl Start {
    pub fn agent(self, name: &str) -> Self {
        self.env("AGENT_ID", name)
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.env.retain(|(k, _)| k != name);
        self.env.push((name.into(), value.into()));
        self
    }

    pub fn without(mut self, name: &str) -> Self {
        self.env.retain(|(k, _)| k != name);
        self
    }

    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub fn args(mut self, args: &[&str]) -> Self {
        self.args.extend(args.iter().map(OsString::from));
        self
    }

    pub fn cwd(mut self, path: impl Into<PathBuf>) -> Self {
        self.cwd = path.into();
        self
    }

    /// Starts the executable through another program that replaces itself with it (`sh -c 'exec "$@"' sh`).
    pub fn through(mut self, wrapper: &[&str]) -> Self {
        self.wrapper = wrapper.iter().map(OsString::from).collect();
        self
    }

    /// The process as it will be started; its three streams are the caller's to set.
    pub fn command(&self) -> Command {
        let mut words = self.wrapper.clone();
        words.push(BINARY.into());
        words.extend(self.args.iter().cloned());
        let mut command = Command::new(&words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .envs(self.env.iter().cloned())
            .current_dir(&self.cwd);
        command
    }

    /// Starts a server and says nothing to it yet.
    pub fn spawn(&self) -> Server {
        let mut command = self.command();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Server::over(command.spawn().expect("the executable starts"))
    }

    /// Starts a server and initializes it.
    pub fn serve(&self) -> Server {
        let mut server = self.spawn();
        server.initialize(LEGACY);
        server
    }

    /// Runs to the end with nothing on stdin.
    pub fn run(&self) -> Ran {
        self.run_over(Stdio::null(), PATIENCE)
    }

    /// Runs to the end with these bytes on stdin.
    pub fn run_fed(&self, bytes: &[u8]) -> Ran {
        let mut file = tempfile::tempfile().expect("a temporary file");
        file.write_all(bytes).expect("it is written");
        file.rewind().expect("from its start");
        self.run_over(file.into(), PATIENCE)
    }

    /// Runs to the end with this stdin, and fails after `patience`.
    pub fn run_over(&self, stdin: Stdio, patience: Duration) -> Ran {
        let mut command = self.command();
        command.stdin(stdin).stdout(Stdio::piped()).stderr(Stdio::piped());
        finished(command, patience)
    }
}

/// Runs a process with piped output to its end.
pub fn finished(mut command: Command, patience: Duration) -> Ran {
    let mut child = command.spawn().expect("the executable starts");
    drop(command);
    let stdout = drain(child.stdout.take().expect("stdout"));
    let stderr = drain(child.stderr.take().expect("stderr"));
    let status = wait(&mut child, patience).unwrap_or_else(|| {
        let _ = child.kill();
        panic!("it did not end within {patience:?}")
    });
    Ran {
        code: status.code(),
        stdout: stdout.join().expect("stdout was read"),
        stderr: stderr.join().expect("stderr was read"),
    }
}

/// Reads to the end on a thread of its own.
pub fn drain(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits for the end of a process; none when it does not come in time.
pub fn wait(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        if let Some(status) = child.try_wait().expect("the child can be waited for") {
            return Some(status);
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A refused call, as the client sees it.
#[derive(Debug, Clone)]
pub struct Refusal {
    pub code: String,
    pub message: String,
    pub hint: String,
}

impl Refusal {
    /// Message and hint together: what a model reads.
    pub fn text(&self) -> String {
        format!("{} {}", self.message, self.hint)
    }

    /// Asserts that it shows nothing of how the program is made.
    #[track_caller]
    pub fn hides_the_inside(&self) {
        for inside in [
            "SELECT ",
            "INSERT ",
            "fts5",
            "rusqlite",
            ".rs:",
            "src/",
            "no such column",
            "panicked",
        ] {
            assert!(
                !self.text().contains(inside),
                "a refusal shows the inside ({inside}): {self:?}"
            );
        }
    }
}

/// One running server and the client's end of its pipes.
pub struct Server {
    child: Child,
    stdin: Option<Sender<Vec<u8>>>,
    lines: Receiver<Vec<u8>>,
    stderr: Arc<Mutex<String>>,
    replies: HashMap<u64, Value>,
    next_id: u64,
    modern: bool,
}

impl Server {
    /// A server over a process whose standard input and output are pipes; what it says on standard error is heard where
    /// that is a pipe, too.
    pub fn over(mut child: Child) -> Self {
        let mut pipe = child.stdin.take().expect("stdin");
        let (stdin, outgoing) = channel::<Vec<u8>>();
        // A thread of its own writes, so that a server that stops reading cannot hang a test.
        std::thread::spawn(move || {
            for bytes in outgoing {
                if pipe.write_all(&bytes).and_then(|()| pipe.flush()).is_err() {
                    break;
                }
            }
        });
        let mut reader = BufReader::new(child.stdout.take().expect("stdout"));
        let (incoming, lines) = channel();
        std::thread::spawn(move || {
            loop {
                let mut line = Vec::new();
                match reader.read_until(b'\n', &mut line) {
                    Ok(n) if n > 0 && incoming.send(line).is_ok() => {}
                    _ => break,
                }
            }
        });
        let stderr = Arc::new(Mutex::new(String::new()));
        if let Some(mut errors) = child.stderr.take() {
            let heard = Arc::clone(&stderr);
            std::thread::spawn(move || {
                let mut chunk = [0; 4096];
                while let Ok(n @ 1..) = errors.read(&mut chunk) {
                    heard
                        .lock()
                        .expect("stderr")
                        .push_str(&String::from_utf8_lossy(&chunk[..n]));
                }
            });
        }
        Self {
            child,
            stdin: Some(stdin),
            lines,
            stderr,
            replies: HashMap::new(),
            next_id: 0,
            modern: false,
        }
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// From now on each request carries what revision 2026-07-28 asks for, and no `initialize` is needed.
    pub fn speak_modern(&mut self) {
        self.modern = true;
    }

    /// From now on requests are those of the older revisions, as at the start.
    pub fn speak_legacy(&mut self) {
        self.modern = false;
    }

    /// The handshake of the older revisions; gives the `initialize` result.
    #[track_caller]
    pub fn initialize(&mut self, version: &str) -> Value {
        let result = self.result(
            "initialize",
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": CLIENT, "version": "1"}}),
        );
        self.notify("notifications/initialized", json!({}));
        result
    }

    /// Sends bytes as they are; a line end is the caller's to add.
    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        if let Some(stdin) = &self.stdin {
            let _ = stdin.send(bytes.as_ref().to_vec());
        }
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        self.raw(format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "method": method, "params": params})
        ));
    }

    /// Sends a request without waiting; the number is for [`Server::reply`].
    pub fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        let id = self.next_id;
        if self.modern {
            params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
            params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        }
        self.raw(format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})
        ));
        id
    }

    /// Sends a tool call without waiting.
    pub fn send_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.send("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The next message, whatever it is; fails after [`PATIENCE`].
    #[track_caller]
    pub fn message(&mut self) -> Value {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => message_of(&line),
            Err(RecvTimeoutError::Timeout) => panic!("no message within {PATIENCE:?}; stderr: {}", self.stderr()),
            Err(RecvTimeoutError::Disconnected) => panic!("stdout ended; stderr: {}", self.stderr()),
        }
    }

    /// The reply with this number, in whatever order replies come.
    #[track_caller]
    pub fn reply(&mut self, id: u64) -> Value {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return reply;
            }
            let message = self.message();
            if let Some(id) = message["id"].as_u64() {
                let twice = self.replies.insert(id, message);
                assert!(twice.is_none(), "request {id} was answered twice");
            }
        }
    }

    /// Like [`Server::reply`], but `None` when the process ended before it answered.
    pub fn reply_or_end(&mut self, id: u64) -> Option<Value> {
        loop {
            if let Some(reply) = self.replies.remove(&id) {
                return Some(reply);
            }
            match self.lines.recv_timeout(PATIENCE) {
                // A line cut off by SIGKILL was never an answer.
                Ok(line) if !line.ends_with(b"\n") => return None,
                Ok(line) => {
                    let message = message_of(&line);
                    if let Some(id) = message["id"].as_u64() {
                        self.replies.insert(id, message);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) => panic!("no message within {PATIENCE:?}"),
            }
        }
    }

    /// Sends a request and gives the whole reply.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params);
        self.reply(id)
    }

    /// Sends a request that must succeed and gives its `result`.
    #[track_caller]
    pub fn result(&mut self, method: &str, params: Value) -> Value {
        let reply = self.request(method, params);
        assert!(reply["result"].is_object(), "{method} failed: {reply}");
        reply["result"].clone()
    }

    /// Sends a request that must be answered by a JSON-RPC error and gives its code.
    #[track_caller]
    pub fn protocol_error(&mut self, method: &str, params: Value) -> i64 {
        let reply = self.request(method, params);
        error_code(&reply)
    }

    /// Calls a tool that must succeed, checks the answer's form, and gives `structuredContent`.
    #[track_caller]
    pub fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let id = self.send_call(tool, arguments);
        self.answer(id)
    }

    /// The answer to a call sent earlier, which must be a success.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        answer_of(&self.reply(id)).unwrap_or_else(|refusal| panic!("refused: {refusal:?}"))
    }

    /// Calls a tool that must be refused with this code.
    #[track_caller]
    pub fn refuse(&mut self, tool: &str, arguments: Value, code: &str) -> Refusal {
        match self.attempt(tool, arguments.clone()) {
            Ok(answer) => panic!("{tool} {arguments} should be {code}, and was answered {answer}"),
            Err(refusal) => {
                assert_eq!(refusal.code, code, "{tool} {arguments}: {refusal:?}");
                refusal
            }
        }
    }

    /// Calls a tool that may succeed or be refused.
    #[track_caller]
    pub fn attempt(&mut self, tool: &str, arguments: Value) -> Result<Value, Refusal> {
        let id = self.send_call(tool, arguments);
        answer_of(&self.reply(id))
    }

    /// `remember`, giving the record.
    #[track_caller]
    pub fn remember(&mut self, scope: &str, key: &str, value: Value) -> Value {
        self.call("remember", json!({"scope": scope, "key": key, "value": value}))["record"].clone()
    }

    /// `recall` of one exact record that must be there.
    #[track_caller]
    pub fn read(&mut self, scope: &str, key: &str) -> Value {
        let answer = self.call("recall", json!({"scope": scope, "key": key}));
        assert_eq!(answer["total"], 1, "{scope}/{key}: {answer}");
        answer["records"][0].clone()
    }

    /// `scope/key` of each record that a `recall` finds, in the answer's order.
    #[track_caller]
    pub fn found(&mut self, arguments: Value) -> Vec<String> {
        names(&self.call("recall", arguments)["records"])
    }

    /// `handoff`, giving the whole answer.
    #[track_caller]
    pub fn hand_off(&mut self, title: &str, mut more: Value) -> Value {
        more["title"] = json!(title);
        if more.get("summary").is_none() {
            more["summary"] = json!(format!("summary of {title}"));
        }
        self.call("handoff", more)
    }

    pub fn stats(&mut self) -> Value {
        self.call("memory_stats", json!({}))
    }

    /// What the process has written to stderr so far.
    pub fn stderr(&self) -> String {
        self.stderr.lock().expect("stderr").clone()
    }

    /// Waits until stderr holds `text`.
    #[track_caller]
    pub fn hear(&self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        while !self.stderr().contains(text) {
            assert!(
                Instant::now() < deadline,
                "stderr never said {text:?}: {}",
                self.stderr()
            );
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).expect("the process can be signalled");
    }

    /// SIGKILL, and waits until the process is gone.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = wait(&mut self.child, PATIENCE).expect("a killed process ends");
    }

    /// Closes stdin.
    pub fn end_input(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin and waits for the end; gives the exit code, none after a signal.
    pub fn left(mut self) -> Option<i32> {
        self.end_input();
        wait(&mut self.child, PATIENCE).expect("it ends with its input").code()
    }

    /// Closes stdin and asserts exit 0 within [`ENDS_WITHIN`]; gives the messages that were still on the way.
    #[track_caller]
    pub fn finish(mut self) -> Vec<Value> {
        self.end_input();
        self.ended()
    }

    /// Closes stdin and waits for exit 0, however long a loaded machine takes.
    #[track_caller]
    pub fn end(mut self) {
        self.end_input();
        let status = wait(&mut self.child, PATIENCE).expect("it ends with its input");
        assert_eq!(status.code(), Some(0), "stderr: {}", self.stderr());
    }

    /// Asserts exit 0 within [`ENDS_WITHIN`] from now; gives the messages that were still on the way.
    #[track_caller]
    pub fn ended(&mut self) -> Vec<Value> {
        let status = wait(&mut self.child, ENDS_WITHIN)
            .unwrap_or_else(|| panic!("still running after {ENDS_WITHIN:?}; stderr: {}", self.stderr()));
        assert_eq!(status.code(), Some(0), "stderr: {}", self.stderr());
        self.lines.iter().map(|line| message_of(&line)).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads one line of stdout, which must be one JSON-RPC 2.0 message.
#[track_caller]
fn message_of(line: &[u8]) -> Value {
    let text = str::from_utf8(line).unwrap_or_else(|_| panic!("not UTF-8 on stdout: {line:?}"));
    assert!(text.ends_with('\n'), "an unfinished line on stdout: {text:?}");
    let message: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("not JSON on stdout ({e}): {text:?}"));
    assert_eq!(message["jsonrpc"], "2.0", "not JSON-RPC on stdout: {text:?}");
    message
}

/// The code of a reply that must be a JSON-RPC error.
#[track_caller]
pub fn error_code(reply: &Value) -> i64 {
    reply["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no protocol error: {reply}"))
}

/// Takes a `tools/call` reply apart and checks what holds for every answer: text and structured content are the same
/// JSON, nothing but a stored value is null, no answer passes its ceiling, and no refusal shows the inside.
#[track_caller]
pub fn answer_of(reply: &Value) -> Result<Value, Refusal> {
    let result = &reply["result"];
    assert!(result.is_object(), "no tool result: {reply}");
    let text = result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text content: {reply}"));
    assert_eq!(
        result["content"].as_array().map(Vec::len),
        Some(1),
        "more than one content block: {reply}"
    );
    let told: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("the text is not JSON ({e}): {text}"));
    if let Some(structured) = result.get("structuredContent") {
        assert_eq!(structured, &told, "text and structuredContent differ");
    }
    if result["isError"] == true {
        let refusal = told["error"]
            .as_object()
            .unwrap_or_else(|| panic!("isError without `error`: {told}"));
        let word = |name: &str| {
            refusal
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_else(|| panic!("no `{name}` in {told}"))
                .to_owned()
        };
        let refusal = Refusal {
            code: word("code"),
            message: word("message"),
            hint: refusal
                .get("hint")
                .map_or_else(String::new, |hint| hint.as_str().expect("a hint is text").to_owned()),
        };
        refusal.hides_the_inside();
        return Err(refusal);
    }
    assert!(
        result.get("structuredContent").is_some(),
        "a success without structuredContent: {reply}"
    );
    assert!(text.len() <= 64 * 1024, "an answer of {} bytes", text.len());
    assert_eq!(text, told.to_string(), "the text is not compact JSON");
    no_null(&told, "");
    Ok(told)
}

/// Asserts that nothing of an answer is null but what is stored so: a value, or the detail of a ledger entry.
#[track_caller]
pub fn no_null(answer: &Value, path: &str) {
    match answer {
        Value::Null => panic!("`{path}` is null; absent means absent"),
        Value::Array(items) => items.iter().for_each(|item| no_null(item, path)),
        Value::Object(fields) => {
            // What stands inside these is stored data, and may be anything.
            let ours = |name: &String| !["value", "meta", "detail"].contains(&name.as_str());
            for (name, field) in fields.iter().filter(|(name, _)| ours(name)) {
                no_null(field, &format!("{path}.{name}"));
            }
        }
        _ => {}
    }
}

/// `scope/key` of each record or ref in a list.
pub fn names(records: &Value) -> Vec<String> {
    let records = records.as_array().expect("a list of records");
    let name = |r: &Value| {
        format!(
            "{}/{}",
            r["scope"].as_str().unwrap_or("?"),
            r["key"].as_str().unwrap_or("?")
        )
    };
    records.iter().map(name).collect()
}

/// Whether any warning of an answer holds all of these words, whatever their case.
pub fn warned(answer: &Value, words: &[&str]) -> bool {
    let holds = |warning: &Value| {
        let warning = warning.as_str().unwrap_or_default().to_lowercase();
        words.iter().all(|word| warning.contains(&word.to_lowercase()))
    };
    answer["warnings"]
        .as_array()
        .is_some_and(|warnings| warnings.iter().any(holds))
}

/// Asserts that a warning holds all of these words.
#[track_caller]
pub fn assert_warned(answer: &Value, words: &[&str]) {
    assert!(warned(answer, words), "no warning with {words:?} in {answer}");
}
