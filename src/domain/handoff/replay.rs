//! What a packet's ledger entries make of it: the state machine as it is proved, and as an import follows it.

use serde_json::Value;

/// The fields of a packet that its entries set, as they are stored.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Life {
    /// The position of the last entry that set something.
    pub last_seq: i64,
    /// When it expires.
    pub expires_at: Option<String>,
    /// Where it stands.
    pub state: String,
    /// How it ended.
    pub ended_as: Option<String>,
    /// The packet that took its place.
    pub superseded_by: Option<String>,
    /// Who holds or held it.
    pub accepted_by: Option<String>,
    /// In which run.
    pub accepted_session: Option<String>,
    /// For which owner.
    pub accepted_owner: Option<String>,
    /// Since when.
    pub accepted_at: Option<String>,
    /// In which directory.
    pub receiving_cwd: Option<String>,
    /// When it was closed.
    pub closed_at: Option<String>,
    /// The run, ticket or commit with which it ended.
    pub outcome_ref: Option<String>,
}

/// One of a packet's entries.
#[derive(Debug, Clone)]
pub struct Step {
    /// Its position.
    pub seq: i64,
    /// When.
    pub at: String,
    /// Who acted.
    pub agent: String,
    /// In which run.
    pub session: Option<String>,
    /// What kind of thing happened.
    pub kind: String,
    /// What it set.
    pub detail: Value,
}

impl Step {
    /// A field of the detail.
    pub fn set(&self, name: &str) -> Option<String> {
        self.detail[name].as_str().map(str::to_owned)
    }
}

impl Life {
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
    pub fn apply(&mut self, entry: &Step) -> Result<(), String> {
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
    fn lasts(&mut self, entry: &Step) {
        if let Some(end) = entry.detail.get("expires_at") {
            self.expires_at = end.as_str().map(str::to_owned);
        }
    }
}
