//! What is under way: requests that are being answered, and answers that their readers have not taken yet.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes};
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;

/// How many things are under way, and how many ever began.
#[derive(Debug, Clone, Copy, Default)]
struct Count {
    now: usize,
    ever: u64,
}

/// Counts what is under way.
#[derive(Clone, Default)]
pub struct Work(watch::Sender<Count>);

impl Work {
    /// Counts something until what is given is dropped.
    pub fn begin(&self) -> Begun {
        self.0.send_modify(|count| {
            count.now += 1;
            count.ever += 1;
        });
        Begun(self.clone())
    }

    /// Resolves when nothing is under way, and gives how much ever was.
    pub async fn done(&self) -> u64 {
        let mut counted = self.0.subscribe();
        // It cannot fail: the sender is here.
        counted
            .wait_for(|count| count.now == 0)
            .await
            .map_or(0, |count| count.ever)
    }
}

/// Something that is under way.
pub struct Begun(Work);

impl Drop for Begun {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| count.now -= 1);
    }
}

/// An answer's body, which is under way until it has been taken whole.
pub struct Answer {
    body: Body,
    _begun: Begun,
}

impl Answer {
    /// The body of an answer to a request that was `begun`.
    pub fn new(body: Body, begun: Begun) -> Self {
        Self { body, _begun: begun }
    }
}

impl hyper::body::Body for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A connection. While its reader is slower than we are, what is left of the answer is under way: a body of many megabytes is
/// one frame, which counts as taken before most of it has left.
pub struct Connection {
    stream: TcpStream,
    work: Work,
    waiting: Option<Begun>,
}

impl Connection {
    /// The connection on this stream.
    pub fn new(stream: TcpStream, work: Work) -> Self {
        Self {
            stream,
            work,
            waiting: None,
        }
    }

    fn noted<T>(&mut self, written: Poll<T>) -> Poll<T> {
        match &written {
            Poll::Ready(_) => self.waiting = None,
            Poll::Pending if self.waiting.is_none() => self.waiting = Some(self.work.begin()),
            Poll::Pending => {}
        }
        written
    }
}

impl AsyncRead for Connection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        self.noted(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
