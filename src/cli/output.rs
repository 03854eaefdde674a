//! Where the command line writes: one document or lines on standard output, everything else on standard error, and the
//! exit code that stands for what happened.

use std::io::{self, BufRead as _, IsTerminal as _, Write};
use std::process::ExitCode;

use anstream::AutoStream;
use serde::Serialize;

use super::print::visible;
use crate::app::AppError;
use crate::app::Door;
use crate::domain::Invalid;
use crate::wire::{Failed, Problem, make};

/// The exit codes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// It was done; an empty answer is done, too.
    Well,
    /// A fault was found, or a rule said no.
    Refused,
    /// It could not run.
    Failed,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        Self::from(match done {
            Done::Well => 0,
            Done::Refused => 1,
            Done::Failed => 2,
        })
    }
}

/// Why a command did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The use case failed.
    #[error(transparent)]
    App(#[from] AppError),
    /// Standard output could not be written.
    #[error("the output could not be written: {}", plain(.0))]
    Output(io::Error),
    /// A file or the standard input could not be read, or a file not be written.
    #[error("{0}")]
    File(String),
}

impl From<Invalid> for CliError {
    fn from(invalid: Invalid) -> Self {
        Self::App(invalid.into())
    }
}

/// The outcome of a command.
pub type Ran = Result<Done, CliError>;

/// Standard output.
pub struct Out {
    to: AutoStream<io::Stdout>,
    json: bool,
    closed: bool,
}

impl Out {
    /// Standard output; colours are kept for a terminal alone, and not where NO_COLOR is set.
    pub fn new(json: bool) -> Self {
        Self {
            to: AutoStream::auto(io::stdout()),
            json,
            closed: false,
        }
    }

    /// Whether a program reads it.
    pub fn is_json(&self) -> bool {
        self.json
    }

    /// How many columns there are to write in; none where nobody looks.
    pub fn width(&self) -> Option<u16> {
        console::Term::stdout().size_checked().map(|(_, columns)| columns)
    }

    /// Writes one line of ours, in which stored text was made visible.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), CliError> {
        match self.width().filter(|_| !self.json) {
            Some(width) => {
                let lines = super::print::folded(text.as_ref(), width);
                self.write(&(lines.join("\n") + "\n"))
            }
            None => self.write(&format!("{}\n", text.as_ref())),
        }
    }

    /// Writes one JSON document on one line.
    pub fn document(&mut self, answer: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string(answer).map_err(|_| AppError::internal("an answer could not be written"))?;
        self.line(escaped(&text))
    }

    /// Writes the answer as one JSON document, if a program reads it; says whether it did.
    pub fn took(&mut self, answer: &impl Serialize) -> Result<bool, CliError> {
        if self.json {
            self.document(answer)?;
        }
        Ok(self.json)
    }

    /// Writes text as it is.
    pub fn write(&mut self, text: &str) -> Result<(), CliError> {
        if self.closed {
            return Ok(());
        }
        let written = self.to.write_all(text.as_bytes());
        self.heard(written)
    }

    /// Makes sure that all of it went out.
    pub fn flush(&mut self) -> Result<(), CliError> {
        let flushed = self.to.flush();
        self.heard(flushed)
    }

    /// Whoever read the output has seen enough once the pipe is closed: what is still to be found out is, and its exit code told.
    fn heard(&mut self, written: io::Result<()>) -> Result<(), CliError> {
        match written {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => other.map_err(CliError::Output),
        }
    }

    /// Whether nobody reads on. Looks at the pipe, so that one who only waits for more is noticed to have gone.
    pub fn is_closed(&mut self) -> bool {
        self.closed |= hung_up();
        self.closed
    }
}

#[cfg(unix)]
fn hung_up() -> bool {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let stdout = io::stdout();
    let mut fds = [PollFd::new(&stdout, PollFlags::empty())];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    poll(&mut fds, Some(&now)).is_ok() && fds[0].revents().intersects(PollFlags::ERR | PollFlags::HUP)
}

#[cfg(not(unix))]
fn hung_up() -> bool {
    false
}

/// JSON text in which characters that a terminal obeys, or that nobody sees, are escaped: the same document.
fn escaped(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        // In compact JSON such a character stands inside a string only.
        if super::print::is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Writes a line on standard error; that nobody listens is no error.
pub fn say(text: impl AsRef<str>) {
    let _ = writeln!(AutoStream::auto(io::stderr()), "{}", text.as_ref());
}

/// Tells the warnings of an answer to a person.
pub fn warn(warnings: Option<&Vec<String>>) {
    for warning in warnings.into_iter().flatten() {
        say(format!("warning: {}", visible(warning)));
    }
}

/// Tells why a command failed, and gives the exit code.
pub fn told(ran: Ran, json: bool) -> Done {
    let error = match ran {
        Ok(done) => return done,
        Err(error) => error,
    };
    match &error {
        // Whoever read the output has seen enough.
        CliError::Output(cause) if cause.kind() == io::ErrorKind::BrokenPipe => return Done::Well,
        error if json => say(escaped(&serde_json::to_string(&failed(error)).unwrap_or_default())),
        CliError::App(error) => say(format!(
            "handoff-memory: {}\n  {}",
            visible(&error.to_string()),
            visible(&error.hint(Door::Shell))
        )),
        CliError::Output(_) | CliError::File(_) => say(format!("handoff-memory: {}", visible(&error.to_string()))),
    }
    match &error {
        CliError::App(error) if error.is_refusal() => Done::Refused,
        _ => Done::Failed,
    }
}

/// An error as a document: for programs, to whom each face says the same.
fn failed(error: &CliError) -> Failed {
    let code = match error {
        CliError::App(error) => return make::failed(error, Door::Tools),
        CliError::File(_) => "invalid_argument",
        CliError::Output(cause) if cause.kind() == io::ErrorKind::StorageFull => "disk_full",
        CliError::Output(_) => "internal",
    };
    Failed {
        error: Problem {
            code: code.to_owned(),
            message: error.to_string(),
            hint: "correct it and call again".to_owned(),
        },
    }
}

/// Tells what is wrong with the arguments, or what was asked about the program itself, and gives the exit code.
pub fn of_arguments(error: &clap::Error, json: bool) -> ExitCode {
    if json && error.use_stderr() {
        let text = error.to_string();
        // What is wrong stands before the usage; a list of subcommands is no error's words.
        let said = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.starts_with("Usage:"));
        let said: Vec<&str> = said.filter(|line| !line.is_empty()).collect();
        let message = match error.kind() {
            clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a subcommand is missing".to_owned(),
            _ => said.join(" ").trim_start_matches("error: ").to_owned(),
        };
        let failed = Failed {
            error: Problem {
                code: "invalid_argument".to_owned(),
                message,
                hint: "see `handoff-memory --help`, and `--help` behind the subcommand".to_owned(),
            },
        };
        say(escaped(&serde_json::to_string(&failed).unwrap_or_default()));
    } else {
        let _ = error.print();
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Whether a person sits before standard input.
pub fn is_attended() -> bool {
    io::stdin().is_terminal()
}

/// Asks a person; anything but yes is no.
pub fn confirmed(question: &str) -> bool {
    let _ = write!(io::stderr(), "{question} [y/N] ");
    let _ = io::stderr().flush();
    let mut answer = String::new();
    let read = io::stdin().lock().read_line(&mut answer);
    read.is_ok() && matches!(answer.trim().to_lowercase().as_str(), "y" | "yes")
}

/// The text of a file, or of standard input when it is named `-`.
pub fn text_of(file: &str) -> Result<String, CliError> {
    let read = if file == "-" {
        if is_attended() {
            say("reading standard input; end it with Ctrl-D on a line of its own");
        }
        io::read_to_string(io::stdin())
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| CliError::File(format!("{} could not be read: {}", named(file), plain(&error))))
}

/// How a file is called in a message.
pub fn named(file: &str) -> String {
    if file == "-" {
        "standard input".to_owned()
    } else {
        file.to_owned()
    }
}

/// What the system said, without its number.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x03_escaped_json_is_the_same_document() {
        let value = serde_json::json!({"a": "\u{202e}evil\u{9b}31m\u{e0041}", "b": "Größe ✓ 👩‍💻"});
        let text = escaped(&value.to_string());
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
        assert!(!text.chars().any(super::super::print::is_hidden), "{text}");
        assert!(text.contains("Größe ✓ 👩‍💻"));
    }
}
