//! The answers that both agents read, and how they print a packet.

use serde::{Deserialize, Serialize};

use crate::paper::{Paper, percent};

/// The answer of `remember`.
#[derive(Deserialize)]
pub struct Remembered {
    pub record: Written,
    #[serde(default)]
    pub warnings: Vec<String>,
}

/// A record that was just written: without its value, which the writer has.
#[derive(Clone, Deserialize)]
pub struct Written {
    #[serde(flatten)]
    pub pin: Pin,
    pub confidence: f64,
}

/// One exact version of a record, in answers and in arguments: it stays the same whatever happens to the record.
#[derive(Clone, Deserialize, Serialize)]
pub struct Pin {
    pub scope: String,
    pub key: String,
    pub version: u64,
}

/// The answer of `handoff`.
#[derive(Deserialize)]
pub struct HandedOver {
    packet: Packet,
    refs: Vec<Pin>,
    #[serde(default)]
    warnings: Vec<String>,
}

/// A packet, as far as these agents look into one.
#[derive(Deserialize)]
pub struct Packet {
    pub id: String,
    pub from_agent: String,
    to_agent: Option<String>,
    state: String,
    continues: Option<String>,
    title: String,
    summary: String,
    #[serde(default)]
    next_steps: Vec<String>,
    #[serde(default)]
    pub open_questions: Vec<String>,
    #[serde(default)]
    files_touched: Vec<String>,
}

impl Pin {
    /// `scope/key`.
    pub fn name(&self) -> String {
        format!("{}/{}", self.scope, self.key)
    }
}

impl Written {
    /// One column each: name, version, confidence.
    pub fn columns(&self) -> String {
        format!(
            "{:<32} v{}  {}",
            self.pin.name(),
            self.pin.version,
            percent(self.confidence)
        )
    }
}

impl HandedOver {
    /// Prints the packet as the server has it now.
    pub fn show(&self, paper: &Paper) {
        self.packet.show(paper);
        let labels = std::iter::once("pinned").chain(std::iter::repeat(""));
        for (pin, label) in self.refs.iter().zip(labels) {
            paper.line(format_args!("{label:<11}{:<32} v{}", pin.name(), pin.version));
        }
        paper.warnings(&self.warnings);
    }
}

impl Packet {
    /// Prints what a reader needs before anything else.
    pub fn show(&self, paper: &Paper) {
        let to = self.to_agent.as_deref().unwrap_or("anyone");
        paper.field(
            "packet",
            format_args!("{}, {}, from {} to {to}", self.id, self.state, self.from_agent),
        );
        if let Some(before) = &self.continues {
            paper.field("continues", before);
        }
        paper.field("title", &self.title);
        paper.field("summary", &self.summary);
        paper.list("next", &self.next_steps);
        paper.list("open", &self.open_questions);
        for file in &self.files_touched {
            paper.line(format_args!("file       {file}"));
        }
    }
}
