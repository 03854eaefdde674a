//! Cuts a byte stream into lines on a thread of its own.
//!
//! Standard input has no portable asynchronous form, and a runtime waits at its end for the blocking threads that it
//! lent out. A detached thread that sits in `read` keeps nobody from leaving.

use std::io::{self, ErrorKind, Read};
use std::thread;
use std::time::Duration;

use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::id::IdFinder;

/// Lines that are read ahead of the session; with the longest lines this is what a client can make us hold.
const READ_AHEAD: usize = 4;

/// How long to wait before a non-blocking stream is tried again.
const RETRY: Duration = Duration::from_millis(5);

/// One line of the stream, without its line end.
#[derive(Debug)]
pub(super) enum Line {
    /// The bytes of a line within the limit.
    Text(Vec<u8>),
    /// A line over the limit was skipped to its end; its id, where it could be read on the way.
    TooLong(Option<Box<RawValue>>),
}

/// Starts the reading thread; the channel ends with the stream, or with its first error.
pub(super) fn start(reader: impl Read + Send + 'static, limit: usize) -> io::Result<mpsc::Receiver<Line>> {
    let (sender, lines) = mpsc::channel(READ_AHEAD);
    thread::Builder::new()
        .name("mcp-reader".to_owned())
        .spawn(move || read_all(reader, Cutter::new(limit), &sender))?;
    Ok(lines)
}

fn read_all(mut reader: impl Read, mut cutter: Cutter, lines: &mpsc::Sender<Line>) {
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            // Some parents hand down a pipe in non-blocking mode, which a plain read has to live with.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                thread::sleep(RETRY);
                continue;
            }
            Err(error) => {
                tracing::warn!(%error, "standard input cannot be read any further");
                break;
            }
        };
        for line in cutter.cut(&buffer[..read]) {
            if lines.blocking_send(line).is_err() {
                return;
            }
        }
    }
    // A last line without its end is judged like any other: whole it is served, torn it is answered as broken.
    if let Some(line) = cutter.rest() {
        let _ = lines.blocking_send(line);
    }
}

/// Collects bytes into lines and never holds more than one limit's worth of them.
#[derive(Debug)]
struct Cutter {
    limit: usize,
    line: Vec<u8>,
    skipping: Option<IdFinder>,
}

impl Cutter {
    fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            skipping: None,
        }
    }

    /// Takes `bytes` and gives the lines that they complete.
    fn cut(&mut self, bytes: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.extend(&rest[..end]);
            lines.extend(self.take());
            rest = &rest[end + 1..];
        }
        self.extend(rest);
        lines
    }

    /// The last line, when the stream ended inside one.
    fn rest(&mut self) -> Option<Line> {
        if self.skipping.is_none() && self.line.is_empty() {
            return None;
        }
        self.take()
    }

    fn extend(&mut self, bytes: &[u8]) {
        if let Some(finder) = &mut self.skipping {
            finder.feed(bytes);
        } else if self.line.len() + bytes.len() > self.limit {
            let mut finder = IdFinder::new();
            finder.feed(&std::mem::take(&mut self.line));
            finder.feed(bytes);
            self.skipping = Some(finder);
        } else {
            self.line.extend_from_slice(bytes);
        }
    }

    fn take(&mut self) -> Option<Line> {
        Some(match self.skipping.take() {
            Some(finder) => Line::TooLong(finder.finish()),
            None => Line::Text(std::mem::take(&mut self.line)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Cutter, Line};

    fn cut(limit: usize, pieces: &[&str]) -> Vec<String> {
        let mut cutter = Cutter::new(limit);
        let mut lines: Vec<Line> = pieces.iter().flat_map(|piece| cutter.cut(piece.as_bytes())).collect();
        lines.extend(cutter.rest());
        lines
            .into_iter()
            .map(|line| match line {
                Line::Text(text) => String::from_utf8(text).expect("text"),
                Line::TooLong(id) => format!("too long, id {}", id.map_or("unknown".into(), |id| id.to_string())),
            })
            .collect()
    }

    #[test]
    fn lines_are_cut_wherever_the_pieces_end() {
        assert_eq!(cut(10, &["a\nb", "c\n\nd"]), ["a", "bc", "", "d"]);
        assert_eq!(cut(10, &[]), [""; 0]);
    }

    #[test]
    fn a_long_line_is_skipped_and_the_next_one_is_whole() {
        assert_eq!(
            cut(4, &["1234\n12345\n", "12", "34\n"]),
            ["1234", "too long, id unknown", "1234"]
        );
        let pieces = ["{\"x\":\"aaaaaaaaaaaa", "aaaaaaaaaaaaaaaaa\",\"id\"", ":42}\nnext"];
        assert_eq!(cut(10, &pieces), ["too long, id 42", "next"]);
    }

    #[test]
    fn a_long_line_cut_off_by_the_end_is_still_told() {
        assert_eq!(cut(4, &["12345"]), ["too long, id unknown"]);
    }
}
