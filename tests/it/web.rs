//! The server over HTTP, and those who ask it: real sockets, a real client.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::harness::{MODERN, PATIENCE, Place, Refusal, Start, answer_of, drain, no_null, wait};
use crate::shell::Shell;

/// A running server.
pub struct Web {
    child: Option<Child>,
    stderr: Option<std::thread::JoinHandle<String>>,
    /// Its address, without a slash at the end.
    pub url: String,
}

impl Web {
    /// Serves a place on a free port, with these arguments more.
    pub fn of(place: &Place, args: &[&str]) -> Self {
        Self::started(place.start().env("RUST_LOG", "off"), args)
    }

    /// Serves with these settings on a free port.
    pub fn started(start: Start, args: &[&str]) -> Self {
        Self::try_started(start, args).unwrap_or_else(|said| panic!("it does not serve: {said}"))
    }

    /// The same, or what it said on standard error when it ended instead.
    pub fn try_started(start: Start, args: &[&str]) -> Result<Self, String> {
        let mut words = vec!["serve", "--json"];
        if !args.contains(&"--listen") {
            words.extend(["--listen", "127.0.0.1:0"]);
        }
        words.extend(args);
        let mut command = start.args(&words).command();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the executable starts");
        let stderr = drain(child.stderr.take().expect("stderr"));
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().expect("stdout"));
        stdout.read_line(&mut line).expect("stdout is read");
        let Ok(told) = serde_json::from_str::<Value>(&line) else {
            let _ = child.kill();
            let _ = child.wait();
            return Err(format!("{line}{}", stderr.join().unwrap_or_default()));
        };
        Ok(Self {
            child: Some(child),
            stderr: Some(stderr),
            url: told["url"].as_str().expect("an address").to_owned(),
        })
    }

    pub fn pid(&self) -> Pid {
        Pid::from_child(self.child.as_ref().expect("it runs"))
    }

    /// Somebody who shows no token.
    pub fn anyone(&self) -> Client {
        Client::at(&self.url)
    }

    /// Somebody who shows this token.
    pub fn with(&self, token: &str) -> Client {
        self.anyone().header("Authorization", &format!("Bearer {token}"))
    }

    /// Asks it to end, and gives its exit code and what it said on standard error.
    #[track_caller]
    pub fn stop(self) -> (Option<i32>, String) {
        self.ask_to_end();
        self.ended()
    }

    /// Asks it to end.
    pub fn ask_to_end(&self) {
        kill_process(self.pid(), Signal::TERM).expect("it runs");
    }

    /// Whether it ends within this time.
    pub fn ends_within(&mut self, time: Duration) -> bool {
        wait(self.child.as_mut().expect("it runs"), time).is_some()
    }

    /// Waits for its end, and gives its exit code and what it said on standard error.
    #[track_caller]
    pub fn ended(mut self) -> (Option<i32>, String) {
        let mut child = self.child.take().expect("it runs");
        let status = wait(&mut child, PATIENCE).expect("it ends when it is asked to");
        let stderr = self.stderr.take().expect("once").join().expect("stderr was read");
        (status.code(), stderr)
    }

    /// Ends it as a power switch does.
    pub fn kill(mut self) {
        let mut child = self.child.take().expect("it runs");
        child.kill().expect("it runs");
        child.wait().expect("it ends");
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(PATIENCE))
        .max_redirects(0)
        .proxy(None)
        .build()
        .new_agent()
}

/// Somebody who asks.
#[derive(Clone)]
pub struct Client {
    pub url: String,
    /// The project that short paths are below.
    pub home: String,
    headers: Vec<(String, String)>,
    agent: ureq::Agent,
}

/// An answer as it came.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The body as JSON, in which no field is null.
    #[track_caller]
    pub fn json(&self) -> Value {
        let answer = serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        no_null(&answer, "");
        answer
    }

    /// The code of an error of MCP, whose id may be null.
    #[track_caller]
    pub fn json_rpc_error(&self) -> Value {
        let answer: Value = serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {self:?}"));
        answer["error"]["code"].clone()
    }

    /// What an answer that must have this status refuses.
    #[track_caller]
    pub fn refused(&self, status: u16) -> Refusal {
        assert_eq!(self.status, status, "{self:?}");
        let error = &self.json()["error"];
        let text = |name: &str| {
            error[name]
                .as_str()
                .unwrap_or_else(|| panic!("no {name}: {self:?}"))
                .to_owned()
        };
        let refusal = Refusal {
            code: text("code"),
            message: text("message"),
            hint: text("hint"),
        };
        refusal.hides_the_inside();
        tells_no_place(status, &refusal);
        refusal
    }
}

/// Asserts that a refusal names nothing that is for whoever runs the server alone. Who has no token yet is told how one is made.
#[track_caller]
pub fn tells_no_place(status: u16, refusal: &Refusal) {
    let text = refusal.text();
    for own in [
        "memory.db",
        "MEMORY_",
        "--db",
        "--force",
        "`handoffs ",
        "`handoff-memory",
    ] {
        let made = status == 401 && text.contains("`handoff-memory token create`");
        assert!(made || !text.contains(own), "a refusal names {own}: {refusal:?}");
    }
}

impl Client {
    /// Somebody who shows no token to the server at this address.
    pub fn at(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            home: "/workspaces/default/projects/default".to_owned(),
            headers: Vec::new(),
            agent: agent(),
        }
    }

    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn session(self, name: &str) -> Self {
        self.header("X-Session-Id", name)
    }

    /// The same in another project.
    pub fn in_project(mut self, workspace: &str, project: &str) -> Self {
        self.home = format!("/workspaces/{workspace}/projects/{project}");
        self
    }

    fn path(&self, path: &str) -> String {
        // A path with two slashes is the server's, any other one the project's.
        match path.strip_prefix("//") {
            Some(whole) => format!("{}/{whole}", self.url),
            None => format!("{}{}{path}", self.url, self.home),
        }
    }

    /// Sends a request; a path that starts with two slashes is not below the project.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, body: Option<&str>) -> Answer {
        self.try_ask(method, path, body)
            .unwrap_or_else(|e| panic!("{method} {path}: {e}"))
    }

    /// Sends a request that may get no answer.
    pub fn try_ask(&self, method: &str, path: &str, body: Option<&str>) -> Result<Answer, ureq::Error> {
        self.send(method, path, body.map(str::as_bytes))
    }

    /// Sends a request whose body may be no text; it may get no answer.
    pub fn send(&self, method: &str, path: &str, body: Option<&[u8]>) -> Result<Answer, ureq::Error> {
        let mut request = ureq::http::Request::builder().method(method).uri(self.path(path));
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let named = self
            .headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("content-type"));
        let mut answer = match body {
            Some(body) => {
                if !named {
                    request = request.header("Content-Type", "application/json");
                }
                self.agent.run(request.body(body).expect("a request"))?
            }
            None => self.agent.run(request.body(()).expect("a request"))?,
        };
        let headers = answer.headers().iter();
        let headers = headers.map(|(name, value)| (name.to_string(), value.to_str().unwrap_or_default().to_owned()));
        Ok(Answer {
            status: answer.status().as_u16(),
            headers: headers.collect(),
            body: answer
                .body_mut()
                .with_config()
                .limit(64 * 1024 * 1024)
                .read_to_string()?,
        })
    }

    /// A GET that must be answered with 200.
    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let answer = self.ask("GET", path, None);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> Answer {
        self.ask("POST", path, Some(&body.to_string()))
    }

    /// A POST that must be answered with 200 or 201.
    #[track_caller]
    pub fn posted(&self, path: &str, body: Value) -> Value {
        let answer = self.post(path, &body);
        assert!([200, 201].contains(&answer.status), "{path} {body}: {answer:?}");
        answer.json()
    }

    /// A new packet's id.
    #[track_caller]
    pub fn hand_off(&self, title: &str) -> String {
        let body = json!({"title": title, "summary": "where things stand", "next_steps": ["go on"]});
        self.posted("/handoffs", body)["packet"]["id"]
            .as_str()
            .expect("an id")
            .to_owned()
    }

    /// Calls a tool over MCP, as a client of 2026 does.
    #[track_caller]
    pub fn call_tool(&self, tool: &str, arguments: Value) -> Result<Value, Refusal> {
        let answer = answer_of(&self.mcp("tools/call", Some(tool), json!({"name": tool, "arguments": arguments})));
        if let Err(refusal) = &answer {
            tells_no_place(200, refusal);
        }
        answer
    }

    /// One MCP request of 2026, and its reply.
    #[track_caller]
    pub fn mcp(&self, method: &str, name: Option<&str>, mut params: Value) -> Value {
        params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(MODERN);
        params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let mut client = self
            .clone()
            .header("Accept", "application/json, text/event-stream")
            .header("Mcp-Protocol-Version", MODERN)
            .header("Mcp-Method", method);
        if let Some(name) = name {
            client = client.header("Mcp-Name", name);
        }
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = client.ask("POST", "//mcp", Some(&body.to_string()));
        let events = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
        let text = events.map(str::trim).find(|data| !data.is_empty());
        let text = text.unwrap_or(&answer.body);
        serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {answer:?}"))
    }

    /// A stream of events, from its first one on.
    pub fn stream(&self, path: &str) -> Events {
        self.try_stream(path).expect("a stream")
    }

    /// A stream of events from a server that may not be there.
    pub fn try_stream(&self, path: &str) -> Result<Events, ureq::Error> {
        let mut request = ureq::http::Request::builder()
            .method("GET")
            .uri(self.path(path))
            .header("Accept", "text/event-stream");
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let answer = self.agent.run(request.body(()).expect("a request"))?;
        assert_eq!(answer.status(), 200);
        Ok(Events {
            lines: BufReader::new(Box::new(answer.into_body().into_reader())),
        })
    }
}

/// The events of a stream.
pub struct Events {
    lines: BufReader<Box<dyn std::io::Read + Send>>,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    pub id: String,
    pub data: Value,
}

impl Iterator for Events {
    type Item = Event;

    /// The next event; none when the stream has ended.
    fn next(&mut self) -> Option<Event> {
        let (mut id, mut data) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            if self.lines.read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim_end();
            if let Some(rest) = line.strip_prefix("id:") {
                rest.trim_start().clone_into(&mut id);
            } else if let Some(rest) = line.strip_prefix("data:") {
                data.push_str(rest.trim_start());
            } else if line.is_empty() && !data.is_empty() {
                let data = serde_json::from_str(&data).unwrap_or(Value::String(data));
                return Some(Event { id, data });
            }
        }
    }
}

/// A new token of a place, made at the command line.
#[track_caller]
pub fn token(place: &Place, args: &[&str]) -> String {
    let shell = Shell::of(place, "admin");
    let made = shell.json(&[&["token", "create"], args].concat());
    made["secret"].as_str().expect("a token").to_owned()
}

/// The id that stands in a token.
pub fn id_of(token: &str) -> &str {
    token.split('_').nth(1).expect("a token")
}

/// Waits until `holds`, looking now and then.
#[track_caller]
pub fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = std::time::Instant::now() + PATIENCE;
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
