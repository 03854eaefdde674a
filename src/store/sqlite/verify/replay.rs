//! What a packet's entries make of its row.

use serde_json::Value;

use super::rows::{Cells, Wrong};

/// The columns of a packet that its entries set.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Row {
    pub last_seq: i64,
    pub expires_at: Option<String>,
    pub state: String,
    pub ended_as: Option<String>,
    pub superseded_by: Option<String>,
    pub accepted_by: Option<String>,
    pub accepted_session: Option<String>,
    pub accepted_owner: Option<String>,
    pub accepted_at: Option<String>,
    pub receiving_cwd: Option<String>,
    pub closed_at: Option<String>,
    pub outcome_ref: Option<String>,
}

/// One of the packet's entries.
pub struct Entry {
    pub seq: i64,
    pub at: String,
    pub agent: String,
    pub session: Option<String>,
    pub kind: String,
    pub detail: Value,
    pub digest: String,
}

impl Entry {
    /// Reads the columns seq, at, agent, session, kind, detail and digest.
    pub fn read(cells: &Cells) -> Result<Self, Wrong> {
        Ok(Self {
            seq: cells.integer(0)?,
            at: cells.text(1)?,
            agent: cells.text(2)?,
            session: cells.maybe(3)?,
            kind: cells.text(4)?,
            detail: serde_json::from_str(&cells.text(5)?).map_err(|_| "an entry's detail is not JSON".to_owned())?,
            digest: cells.text(6)?,
        })
    }

    /// A field of the detail.
    pub fn set(&self, name: &str) -> Option<String> {
        self.detail[name].as_str().map(str::to_owned)
    }
}

impl Row {
    /// The row as it is written, given when it was first to expire.
    pub fn written(seq: i64, expires_at: Option<String>) -> Self {
        Self {
            last_seq: seq,
            expires_at,
            state: "open".to_owned(),
            ..Self::default()
        }
    }

    /// What one more entry makes of it.
    ///
    /// # Errors
    /// When the entry cannot follow in this state.
    pub fn apply(&mut self, entry: &Entry) -> Result<(), Wrong> {
        let from = self.state.clone();
        let may = |allowed: &[&str]| {
            if allowed.contains(&from.as_str()) {
                Ok(())
            } else {
                Err(format!(
                    "entry {} ({}) cannot follow while it is {from}",
                    entry.seq, entry.kind
                ))
            }
        };
        match entry.kind.as_str() {
            "accepted" => {
                may(&["open", "accepted"])?;
                self.state = "accepted".to_owned();
                self.accepted_by = Some(entry.agent.clone());
                self.accepted_session.clone_from(&entry.session);
                self.accepted_owner = entry.set("owner");
                self.accepted_at = Some(entry.at.clone());
                self.receiving_cwd = entry.set("cwd");
            }
            "resumed" => {
                may(&["accepted"])?;
                self.accepted_session.clone_from(&entry.session);
                self.receiving_cwd = entry.set("cwd").or(self.receiving_cwd.take());
            }
            "released" => {
                may(&["accepted"])?;
                self.state = "open".to_owned();
                self.accepted_by = None;
                self.accepted_session = None;
                self.accepted_owner = None;
                self.accepted_at = None;
                self.receiving_cwd = None;
                self.lasts(entry);
            }
            "closed" => {
                may(&["accepted"])?;
                self.state = "closed".to_owned();
                self.ended_as = entry.set("ended_as");
                self.closed_at = Some(entry.at.clone());
                self.outcome_ref = entry.set("outcome_ref");
            }
            "expired" => {
                may(&["open"])?;
                self.state = "expired".to_owned();
                self.ended_as = entry.set("ended_as");
                self.superseded_by = entry.set("superseded_by");
                self.outcome_ref = entry.set("outcome_ref");
            }
            "reopened" => {
                may(&["expired"])?;
                self.state = "open".to_owned();
                self.ended_as = None;
                self.superseded_by = None;
                self.outcome_ref = None;
                self.lasts(entry);
            }
            // A purge removes a text and changes nothing of the packet's life.
            "purged" => return Ok(()),
            _ => {
                return Err(format!(
                    "entry {} ({}) does not belong to a packet",
                    entry.seq, entry.kind
                ));
            }
        }
        self.last_seq = entry.seq;
        Ok(())
    }

    /// A new end, when the entry sets one: null says that there is none any more.
    fn lasts(&mut self, entry: &Entry) {
        if let Some(end) = entry.detail.get("expires_at") {
            self.expires_at = end.as_str().map(str::to_owned);
        }
    }
}
