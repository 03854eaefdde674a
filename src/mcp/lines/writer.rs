//! Writes finished lines to a byte stream on a thread of its own.
//!
//! A client that does not read its pipe must not hold up the session's loop, and what was sent must be written before
//! the process leaves: the thread ends when every sender is gone and the queue is empty, and tells so.

use std::io::{self, ErrorKind, Write};
use std::thread;
use std::time::Duration;

use tokio::sync::{mpsc, watch};

/// Answers that may wait for the client to read them before the session stops taking requests.
const QUEUE: usize = 64;

/// Bytes that are gathered from the queue for one write.
const BATCH_BYTES: usize = 256 * 1024;

/// How long to wait before a non-blocking stream is tried again.
const RETRY: Duration = Duration::from_millis(1);

/// Tells when the writing thread has ended, with everything written or the stream broken.
#[derive(Debug, Clone)]
pub struct Written(watch::Receiver<()>);

impl Written {
    /// Waits for the writing thread to end, which it does once the transport and every unfinished send are gone.
    pub async fn wait(mut self) {
        while self.0.changed().await.is_ok() {}
    }
}

/// Starts the writing thread; each message in the channel is one line with its line end.
pub(super) fn start(writer: impl Write + Send + 'static) -> io::Result<(mpsc::Sender<Vec<u8>>, Written)> {
    let (sender, lines) = mpsc::channel(QUEUE);
    let (alive, written) = watch::channel(());
    thread::Builder::new().name("mcp-writer".to_owned()).spawn(move || {
        if let Err(error) = write_all(writer, lines) {
            tracing::debug!(%error, "standard output is closed");
        }
        drop(alive);
    })?;
    Ok((sender, Written(written)))
}

fn write_all(mut writer: impl Write, mut lines: mpsc::Receiver<Vec<u8>>) -> io::Result<()> {
    while let Some(mut batch) = lines.blocking_recv() {
        while batch.len() < BATCH_BYTES
            && let Ok(more) = lines.try_recv()
        {
            batch.extend(more);
        }
        write_batch(&mut writer, &batch)?;
    }
    Ok(())
}

fn write_batch(writer: &mut impl Write, mut batch: &[u8]) -> io::Result<()> {
    while !batch.is_empty() {
        match writer.write(batch) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(count) => batch = &batch[count..],
            Err(error) => retry(error)?,
        }
    }
    while let Err(error) = writer.flush() {
        retry(error)?;
    }
    Ok(())
}

/// Some parents hand down a pipe in non-blocking mode, which must not cost an answer.
fn retry(error: io::Error) -> io::Result<()> {
    match error.kind() {
        ErrorKind::Interrupted => Ok(()),
        ErrorKind::WouldBlock => {
            thread::sleep(RETRY);
            Ok(())
        }
        _ => Err(error),
    }
}
