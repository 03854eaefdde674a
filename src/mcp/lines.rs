//! JSON-RPC lines over a byte reader and a byte writer, as an rmcp transport that leaves nothing unanswered.
//!
//! A line that is no message is answered with an error and the next one is read. What rmcp would drop in silence, or
//! leave the process for, does not reach it; tool arguments pass it as the text that came.

mod envelope;
mod guard;
mod id;
mod reader;
mod session;
mod writer;

#[cfg(test)]
mod tests;

use std::fmt;
use std::io::{self, Read, Write};
use std::time::Duration;

use rmcp::model::{ClientJsonRpcMessage, ErrorCode, JsonRpcMessage};
use rmcp::service::{ServerInitializeError, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

pub(super) use self::envelope::{Refusal, Verdict, judge};
use self::guard::Guarded;
pub(super) use self::guard::caught;
use self::reader::Line;
use self::session::Session;
use crate::domain::limits::LINE_BYTES;

pub use self::writer::Written;

/// How long calls under way may take to finish once the session has to end.
/// The whole process ends within two seconds, closing the store included.
const GRACE: Duration = Duration::from_millis(1_500);

/// The text of a tool call's `arguments`, found in the request's extensions. Absent when the client sent none.
#[derive(Clone)]
pub struct RawArguments(pub Box<RawValue>);

impl fmt::Debug for RawArguments {
    /// Shows the size alone: what agents store has no place in a log.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RawArguments({} bytes)", self.0.get().len())
    }
}

/// Why a session could not be carried through. That the client left at any time is no error.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The operating system gave no thread to read or write with.
    #[error("no thread for standard input and output")]
    Threads(#[source] io::Error),
    /// The handshake failed on our side.
    #[error("the session could not be opened")]
    Open(#[source] Box<ServerInitializeError>),
    /// rmcp's loop broke.
    #[error("the session broke off")]
    Loop(#[source] tokio::task::JoinError),
}

/// Serves one session: until `reader` ends, or until `shutdown` resolves.
///
/// At the end of input, and after `shutdown`, no further message is taken; calls under way are given a second and a half to
/// finish and to have their answers written. The end of input before any request is an
/// end like any other.
///
/// # Errors
///
/// See [`ServeError`].
pub async fn serve(
    handler: impl ServerHandler,
    reader: impl Read + Send + 'static,
    writer: impl Write + Send + 'static,
    shutdown: impl Future<Output = ()>,
) -> Result<(), ServeError> {
    let transport = LineTransport::new(reader, writer).map_err(ServeError::Threads)?;
    let stopper = transport.stopper();
    let written = transport.written();
    let mut ended = transport.ended.subscribe();
    let session = async {
        let outcome = run(handler, transport).await;
        // Refusals may be on their way even where rmcp gave the transport up without closing it.
        written.wait().await;
        outcome
    };
    tokio::pin!(session);
    tokio::select! {
        // The way to be told to end is there before the first answer goes out.
        biased;
        () = shutdown => stopper.stop(),
        outcome = &mut session => return outcome,
        _ = ended.wait_for(|ended| *ended) => {}
    }
    tokio::time::timeout(GRACE, session).await.unwrap_or_else(|_| {
        tracing::warn!("leaving although calls are under way");
        Ok(())
    })
}

async fn run(handler: impl ServerHandler, transport: LineTransport) -> Result<(), ServeError> {
    match Guarded(handler).serve(transport).await {
        Ok(running) => running.waiting().await.map(drop).map_err(ServeError::Loop),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::TransportError { .. }) => Ok(()),
        Err(error) => Err(ServeError::Open(Box::new(error))),
    }
}

/// Ends a transport's input from outside.
#[derive(Debug, Clone)]
pub struct Stopper(watch::Sender<bool>);

impl Stopper {
    /// No further message is taken; what was taken is still answered.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }
}

/// One JSON-RPC message a line, at most [`LINE_BYTES`] long, in both directions.
///
/// Reading and writing happen on two detached threads, so neither a silent client nor one that does not read its
/// answers holds up the runtime. While answers wait to be read, or very many requests are under way, no further line is
/// taken.
#[derive(Debug)]
pub struct LineTransport {
    lines: mpsc::Receiver<Line>,
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    written: Written,
    stop: watch::Sender<bool>,
    ended: watch::Sender<bool>,
    session: Session,
}

impl LineTransport {
    /// Starts reading and writing.
    ///
    /// # Errors
    ///
    /// When a thread cannot be started.
    pub fn new(reader: impl Read + Send + 'static, writer: impl Write + Send + 'static) -> io::Result<Self> {
        let (outgoing, written) = writer::start(writer)?;
        Ok(Self {
            lines: reader::start(reader, LINE_BYTES)?,
            outgoing: Some(outgoing),
            written,
            stop: watch::Sender::new(false),
            ended: watch::Sender::new(false),
            session: Session::new(),
        })
    }

    /// A handle that ends the input.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Tells when everything sent was written, once the transport is closed or dropped.
    pub fn written(&self) -> Written {
        self.written.clone()
    }
}

impl Transport<RoleServer> for LineTransport {
    type Error = io::Error;

    /// Queues a message. It is turned into bytes and, while there is room, queued before this returns, so messages keep
    /// the order in which they are sent; the future waits for room.
    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.session.sent(&message);
        let outgoing = self.outgoing.clone();
        let full: Result<Option<Vec<u8>>, io::Error> = match &outgoing {
            None => Err(io::ErrorKind::BrokenPipe.into()),
            Some(outgoing) => match outgoing.try_send(line(&message)) {
                Ok(()) => Ok(None),
                Err(mpsc::error::TrySendError::Full(line)) => Ok(Some(line)),
                Err(mpsc::error::TrySendError::Closed(_)) => Err(io::ErrorKind::BrokenPipe.into()),
            },
        };
        async move {
            match (full?, outgoing) {
                (Some(line), Some(outgoing)) => outgoing.send(line).await.map_err(|_| io::ErrorKind::BrokenPipe.into()),
                _ => Ok(()),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let message = self.next().await;
        if message.is_none() {
            self.ended.send_replace(true);
        }
        message
    }

    /// Takes no further line and waits until everything sent was written. A client that does not read its answers holds
    /// this up, so a caller that is in a hurry limits the time.
    async fn close(&mut self) -> Result<(), Self::Error> {
        self.lines.close();
        self.outgoing = None;
        self.written.clone().wait().await;
        Ok(())
    }
}

impl LineTransport {
    /// The next message for rmcp, or none at the end. Safe to drop at any await: a line is taken out of the channel only
    /// where it is judged and answered without another await.
    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        self.session.asked_for_more();
        let mut stopped = self.stop.subscribe();
        let outgoing = self.outgoing.as_ref()?;
        loop {
            let permit = tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => return None,
                permit = outgoing.reserve() => permit.ok()?,
            };
            let line = tokio::select! {
                biased;
                _ = stopped.wait_for(|stop| *stop) => return None,
                () = outgoing.closed() => return None,
                line = self.lines.recv(), if self.session.has_room() => line?,
            };
            let verdict = match line {
                Line::Text(line) => envelope::judge(&line),
                Line::TooLong(id) => {
                    let why = format!("the line is over {LINE_BYTES} bytes long");
                    Verdict::Refuse(Refusal::new(id, ErrorCode::INVALID_REQUEST, why))
                }
            };
            let verdict = match verdict {
                Verdict::Deliver(message) => match self.session.admit(*message) {
                    Ok(message) => return Some(message),
                    Err(verdict) => verdict,
                },
                verdict => verdict,
            };
            if let Verdict::Refuse(refusal) = verdict {
                permit.send(refusal.into_line());
            }
        }
    }
}

/// The line that carries `message`. One that cannot be written as JSON still answers its request.
fn line(message: &TxJsonRpcMessage<RoleServer>) -> Vec<u8> {
    match serde_json::to_vec(message) {
        Ok(mut line) => {
            line.push(b'\n');
            line
        }
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            let id = match message {
                JsonRpcMessage::Response(response) => serde_json::value::to_raw_value(&response.id).ok(),
                _ => None,
            };
            Refusal::new(id, ErrorCode::INTERNAL_ERROR, "the answer could not be written").into_line()
        }
    }
}
