//! Whole sessions over pipes, with a handler that says what arrived.

mod refusals;
mod sessions;

use std::io::{BufRead, BufReader, PipeWriter, Write, pipe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use super::{RawArguments, ServeError, serve};

/// How long a test waits for what must come. Nothing is expected to take long.
const PATIENCE: Duration = Duration::from_secs(20);

/// Answers a call of `echo` with the text of its arguments; `panic` panics, `slow` takes its time, `hang` all of it.
struct Echo;

impl ServerHandler for Echo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match request.name.as_ref() {
            "echo" => {}
            "panic" => panic!("as told"),
            "slow" => tokio::time::sleep(Duration::from_millis(300)).await,
            "hang" => std::future::pending().await,
            _ => return Err(ErrorData::invalid_params("unknown tool", None)),
        }
        assert!(request.arguments.is_none(), "rmcp parsed the arguments");
        let raw = context.extensions.get::<RawArguments>();
        let text = raw.map_or("nothing".to_owned(), |raw| raw.0.get().to_owned());
        let meta = context
            .meta
            .get_progress_token()
            .map(|token| format!(" token {token:?}"))
            .unwrap_or_default();
        Ok(CallToolResult::success(vec![ContentBlock::text(text + &meta)]).into())
    }
}

/// The client's side of a session that runs on a thread of its own.
struct Client {
    to: Option<PipeWriter>,
    from: Receiver<String>,
    stop: Option<oneshot::Sender<()>>,
    server: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    fn start() -> Self {
        let (from, server_writes) = pipe().expect("a pipe");
        let (lines, received) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(from).lines() {
                let _ = lines.send(line.expect("UTF-8"));
            }
        });
        Self::with(server_writes, received)
    }

    fn with(server_writes: PipeWriter, from: Receiver<String>) -> Self {
        let (server_reads, to) = pipe().expect("a pipe");
        let (stop, stopped) = oneshot::channel::<()>();
        let server = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build();
            let runtime = runtime.expect("a runtime");
            let shutdown = async move {
                if stopped.await.is_err() {
                    std::future::pending().await
                }
            };
            let outcome = runtime.block_on(serve(Echo, server_reads, server_writes, shutdown));
            runtime.shutdown_background();
            outcome
        });
        Self {
            to: Some(to),
            from,
            stop: Some(stop),
            server,
        }
    }

    /// A session after its handshake.
    fn opened() -> Self {
        let mut client = Self::start();
        client.line(&initialize(json!("2025-06-18")));
        assert_eq!(client.answer()["result"]["protocolVersion"], "2025-06-18");
        client.line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        client
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.to
            .as_mut()
            .expect("input is open")
            .write_all(bytes)
            .expect("the server reads");
    }

    fn line(&mut self, line: &str) {
        self.bytes(format!("{line}\n").as_bytes());
    }

    fn answer(&self) -> Value {
        let line = self.from.recv_timeout(PATIENCE).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("one JSON document a line");
        assert_eq!(answer["jsonrpc"], "2.0");
        answer
    }

    /// Sends a line and expects this error for this id.
    fn refused(&mut self, line: &[u8], id: Value, code: i64) {
        self.bytes(line);
        self.bytes(b"\n");
        let answer = self.answer();
        let shown = String::from_utf8_lossy(&line[..line.len().min(200)]);
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{shown}: {answer}"
        );
    }

    /// Shows that the session goes on.
    fn alive(&mut self) {
        self.line(r#"{"jsonrpc":"2.0","id":"alive","method":"tools/list"}"#);
        let answer = self.answer();
        assert_eq!(answer["id"], "alive");
        assert!(answer["result"]["tools"].is_array(), "{answer}");
    }

    /// Closes the input and gives what still comes, and how the session ended.
    fn end(mut self) -> (Vec<Value>, Result<(), ServeError>) {
        drop(self.to.take());
        self.rest()
    }

    fn rest(self) -> (Vec<Value>, Result<(), ServeError>) {
        let mut answers = Vec::new();
        loop {
            match self.from.recv_timeout(PATIENCE) {
                Ok(line) => answers.push(serde_json::from_str(&line).expect("JSON")),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("the session does not end"),
            }
        }
        (answers, self.server.join().expect("no panic"))
    }
}

fn initialize(version: Value) -> String {
    let mut request = json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }});
    if version == Value::Null {
        request["params"]
            .as_object_mut()
            .expect("an object")
            .remove("protocolVersion");
    }
    request.to_string()
}

fn call(id: u64, tool: &str, arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}}}}}"#
    )
}

fn text(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text in {answer}"))
}
