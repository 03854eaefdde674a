//! How both agents print: numbered sections, aligned labels, wrapped sentences, colour only for a terminal.

use std::env;
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

/// Wide enough for a path, narrow enough for a terminal beside an editor.
const WIDTH: usize = 96;
/// Labels and their gap.
const LABEL: usize = 11;

/// Standard output, as the agents use it.
///
/// Write errors are dropped: a reader that went away (`scout | head`) must not stop an agent halfway through
/// its work.
pub struct Paper {
    colour: bool,
    sections: u32,
}

impl Paper {
    /// Colour needs a terminal, and nobody who objects (<https://no-color.org>).
    pub fn new() -> Self {
        let objection = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            colour: io::stdout().is_terminal() && !objection && !dumb,
            sections: 0,
        }
    }

    /// The first line of a program.
    pub fn title(&self, agent: &str, what: &str) {
        self.put(&format!("{}: {what}", self.style("1;36", &agent.to_uppercase())));
        self.put("");
    }

    /// Starts the next numbered section.
    pub fn section(&mut self, what: &str) {
        self.sections += 1;
        let heading = format!("{}. {what}", self.sections);
        self.put("");
        self.put(&self.style("1", &heading));
    }

    /// One line, never wrapped: tables, and whatever holds a path.
    pub fn line(&self, text: impl Display) {
        self.put(&format!("  {text}"));
    }

    /// A label and its text, wrapped under itself.
    pub fn field(&self, label: &str, text: impl Display) {
        let mut label = label;
        for line in wrap(&text.to_string(), WIDTH - LABEL - 2) {
            self.line(format_args!("{label:<LABEL$}{line}"));
            label = "";
        }
    }

    /// A label and a numbered list, each item wrapped under itself.
    pub fn list(&self, label: &str, items: &[String]) {
        let mut label = label;
        for (item, number) in items.iter().zip(1..) {
            let mut number = format!("{number}.");
            for line in wrap(item, WIDTH - LABEL - 5) {
                self.line(format_args!("{label:<LABEL$}{number:<3}{line}"));
                (label, number) = ("", String::new());
            }
        }
    }

    /// Something that a person watching should not miss.
    pub fn alarm(&self, text: impl Display) {
        self.line(self.style("1;33", &format!("! {text}")));
    }

    /// What the server wanted to say besides its answer.
    pub fn warnings(&self, warnings: &[String]) {
        for warning in warnings {
            self.line(self.style("33", &format!("server warns: {warning}")));
        }
    }

    fn style(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    fn put(&self, line: &str) {
        let _ = writeln!(io::stdout(), "{}", line.trim_end());
    }
}

/// `0.8` as `80%`.
pub fn percent(confidence: f64) -> String {
    format!("{:.0}%", confidence * 100.0)
}

fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}
