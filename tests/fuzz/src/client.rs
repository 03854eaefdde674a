//! A client on the server's lines, with the server in this process: the same code that the program runs between standard
//! input and standard output.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use handoff_memory::app::App;
use handoff_memory::mcp;
use handoff_memory::mcp::lines::ServeError;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::place::config;

/// How long an answer may take. Far above what is right, since other work shares the machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// One session.
pub struct Client {
    to: Sender<Vec<u8>>,
    from: Receiver<Vec<u8>>,
    partial: Vec<u8>,
    serving: JoinHandle<Result<(), ServeError>>,
}

impl Client {
    /// Starts a server on the file at `db`.
    pub fn new(runtime: &Runtime, db: &Path) -> Self {
        let (to, input) = channel();
        let (output, from) = channel();
        let app = Arc::new(App::new(config(db)));
        let (input, output) = (
            Input {
                input,
                rest: Vec::new(),
            },
            Output(output),
        );
        Self {
            to,
            from,
            partial: Vec::new(),
            serving: runtime.spawn(mcp::serve(app, input, output, std::future::pending())),
        }
    }

    /// Opens the session as clients do.
    pub fn open(&mut self) {
        self.send(br#"{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"fuzz","version":"1"}}}"#);
        let answer = self.next();
        assert!(answer["result"].is_object(), "not opened: {answer}");
        self.send(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    }

    /// Sends bytes and a line end.
    pub fn send(&mut self, line: &[u8]) {
        let mut line = line.to_vec();
        line.push(b'\n');
        // A server that has gone is noticed when its answer is missing.
        let _ = self.to.send(line);
    }

    /// The next line that the server wrote, which must be one JSON object of JSON-RPC.
    pub fn next(&mut self) -> Value {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
                let rest = self.partial.split_off(end + 1);
                let line = std::mem::replace(&mut self.partial, rest);
                return message(&line);
            }
            let left = until.saturating_duration_since(Instant::now());
            match self.from.recv_timeout(left) {
                Ok(bytes) => self.partial.extend(bytes),
                Err(error) => panic!("no answer came: {error}"),
            }
        }
    }

    /// Ends the input and gives what else the server writes until it has ended, which it must.
    pub fn end(self, runtime: &Runtime) -> Vec<Value> {
        drop(self.to);
        let ended = runtime.block_on(async { tokio::time::timeout(PATIENCE, self.serving).await });
        ended
            .expect("the server does not end")
            .expect("the server panicked")
            .expect("the session broke off");
        let mut rest = self.partial;
        rest.extend(self.from.iter().flatten());
        rest.split_inclusive(|byte| *byte == b'\n').map(message).collect()
    }
}

fn message(line: &[u8]) -> Value {
    let text = std::str::from_utf8(line).expect("what is written is UTF-8");
    assert!(
        text.ends_with('\n') && !text.trim_end_matches('\n').contains('\r'),
        "no line: {text:?}"
    );
    let message: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(message["jsonrpc"], "2.0", "{text}");
    message
}

struct Input {
    input: Receiver<Vec<u8>>,
    rest: Vec<u8>,
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.rest.is_empty() {
            self.rest = self.input.recv().unwrap_or_default();
        }
        let count = self.rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&self.rest[..count]);
        self.rest.drain(..count);
        Ok(count)
    }
}

struct Output(Sender<Vec<u8>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let sent = self.0.send(bytes.to_vec());
        sent.map(|()| bytes.len()).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
