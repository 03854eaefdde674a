//! The handoff packet: its texts, its states, and what may happen to it.

pub mod choice;
pub mod life;
pub mod listing;
pub mod place;
pub mod replay;
pub mod seen;

use serde::{Deserialize, Serialize};

use super::invalid::shown;
use super::{Agent, Hash, Invalid, OutcomeRef, Owner, Ref, Session, Time, limits};
use place::Cwd;

/// A packet's name: `h_` and 16 lowercase hex digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HandoffId(String);

impl HandoffId {
    /// Makes an id from eight random bytes.
    pub fn from_random(bytes: [u8; 8]) -> Self {
        Self(format!("h_{:016x}", u64::from_be_bytes(bytes)))
    }

    /// Reads an id that a caller gives.
    ///
    /// # Errors
    /// When it has another form.
    pub fn named(field: &str, text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let digits = text.strip_prefix("h_").unwrap_or_default();
        if digits.len() == 16 && digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
            Ok(Self(text.to_owned()))
        } else {
            Err(Invalid::new(
                field,
                format!("{}, and there is no such handoff", shown(text)),
                "an id such as h_0123456789abcdef",
            ))
        }
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for HandoffId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a person or agent wrote a packet, or a hook did at the end of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// Written on purpose.
    Manual,
    /// Written by a hook.
    Automatic,
}

/// Where a packet stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Waiting to be taken.
    Open,
    /// Taken by an agent.
    Accepted,
    /// Ended by its claimant.
    Closed,
    /// Ended without a claimant.
    Expired,
}

/// How a packet ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EndedAs {
    /// Closed: the work went well.
    Success,
    /// Closed: the work went badly.
    Failure,
    /// Closed: the work was given up.
    Abandoned,
    /// Expired: its time was over.
    Ttl,
    /// Expired: its author took it back.
    Cancelled,
    /// Expired: a newer packet took its place.
    Superseded,
}

macro_rules! words {
    ($type:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        impl $type {
            /// The word for it, the same in the store and on every face.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// What the word stands for.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)+ _ => None }
            }
        }
    };
}

words!(Origin { Manual = "manual", Automatic = "automatic" });
words!(State { Open = "open", Accepted = "accepted", Closed = "closed", Expired = "expired" });
words!(EndedAs {
    Success = "success", Failure = "failure", Abandoned = "abandoned",
    Ttl = "ttl", Cancelled = "cancelled", Superseded = "superseded",
});

/// The state of a git work tree when a packet was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Git {
    /// The branch, absent when none is checked out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The commit, in hex.
    pub commit: String,
    /// Whether there were changes that were not committed.
    pub dirty: bool,
}

/// A packet's texts, kept together as one stored text so that they can be purged together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Texts {
    /// One line that says what it is about.
    pub title: String,
    /// What was done and where things stand.
    pub summary: String,
    /// What to do next, in order.
    pub next_steps: Vec<String>,
    /// What is unclear.
    pub open_questions: Vec<String>,
    /// Which files were touched.
    pub files_touched: Vec<String>,
}

impl Texts {
    /// Checks the texts: title up to 200 characters and not blank, summary up to 16 KiB and not blank, lists of at most 64
    /// entries of at most 2 KiB. Entries that are blank are dropped.
    ///
    /// # Errors
    /// Names the first field that is over its limit.
    pub fn new(
        title: &str,
        summary: &str,
        next_steps: Vec<String>,
        open_questions: Vec<String>,
        files_touched: Vec<String>,
    ) -> Result<Self, Invalid> {
        let title = title.trim();
        if title.is_empty() {
            return Err(Invalid::new("title", "blank", "one line that says what this is about"));
        }
        if title.chars().count() > limits::TITLE_CHARS {
            return Err(Invalid::new(
                "title",
                format!("{} characters", title.chars().count()),
                format!("at most {} characters", limits::TITLE_CHARS),
            ));
        }
        if summary.trim().is_empty() {
            return Err(Invalid::new("summary", "blank", "what was done and where things stand"));
        }
        if summary.len() > limits::SUMMARY_BYTES {
            return Err(Invalid::new(
                "summary",
                format!("{} bytes", summary.len()),
                format!("at most {} bytes", limits::SUMMARY_BYTES),
            ));
        }
        Ok(Self {
            title: title.to_owned(),
            summary: summary.to_owned(),
            next_steps: list("next_steps", next_steps)?,
            open_questions: list("open_questions", open_questions)?,
            files_touched: list("files_touched", files_touched)?,
        })
    }
}

fn list(field: &str, entries: Vec<String>) -> Result<Vec<String>, Invalid> {
    let entries: Vec<String> = entries.into_iter().filter(|entry| !entry.trim().is_empty()).collect();
    if entries.len() > limits::LIST_ENTRIES {
        return Err(Invalid::new(
            field,
            format!("{} entries", entries.len()),
            format!("at most {}", limits::LIST_ENTRIES),
        ));
    }
    for (index, entry) in entries.iter().enumerate() {
        if entry.len() > limits::LIST_ENTRY_BYTES {
            return Err(Invalid::new(
                format!("{field}[{index}]"),
                format!("{} bytes", entry.len()),
                format!("at most {} bytes", limits::LIST_ENTRY_BYTES),
            ));
        }
    }
    Ok(entries)
}

/// A packet to write, checked.
#[derive(Debug, Clone)]
pub struct NewHandoff {
    /// Its texts.
    pub texts: Texts,
    /// The versions to start from; absent: what the writer's session touched.
    pub refs: Option<Vec<Ref>>,
    /// Whom it is for; absent: anyone.
    pub to_agent: Option<Agent>,
    /// An open packet of the same author that this one takes the place of.
    pub supersedes: Option<HandoffId>,
    /// When it expires; absent: the configured time after it was written; zero: never.
    pub expires_in: Option<super::Span>,
    /// Whether it belongs to nobody although its writer acts for an owner.
    pub shared: bool,
    /// The directory that the work is about.
    pub cwd: Option<Cwd>,
    /// Who wrote it: a person or agent, or a hook.
    pub origin: Origin,
    /// The git work tree of that directory.
    pub git: Option<Git>,
}

impl NewHandoff {
    /// A packet with its texts and nothing else said.
    pub fn new(texts: Texts) -> Self {
        Self {
            texts,
            refs: None,
            to_agent: None,
            supersedes: None,
            expires_in: None,
            shared: false,
            cwd: None,
            origin: Origin::Manual,
            git: None,
        }
    }
}

/// A packet as it is read back, but for its texts and refs.
#[derive(Debug, Clone)]
pub struct Packet {
    /// Its name.
    pub id: HandoffId,
    /// The `seq` of its `handed_off` entry.
    pub seq: u64,
    /// The `seq` of its last entry.
    pub last_seq: u64,
    /// Who wrote it.
    pub from_agent: Agent,
    /// In which run.
    pub from_session: Option<Session>,
    /// Whom it is for; absent: anyone.
    pub to_agent: Option<Agent>,
    /// Whom it belongs to; absent: everyone.
    pub owner: Option<Owner>,
    /// The directory that the work is about.
    pub cwd: Option<Cwd>,
    /// Who wrote it: a person or agent, or a hook.
    pub origin: Origin,
    /// The git work tree of that directory.
    pub git: Option<Git>,
    /// The project's checkpoint just before it was written.
    pub checkpoint: String,
    /// When it was written.
    pub created_at: Time,
    /// When it expires; absent: never.
    pub expires_at: Option<Time>,
    /// Where it stands in the store; see [`Packet::state_at`] for where it stands now.
    pub state: State,
    /// How it ended.
    pub ended_as: Option<EndedAs>,
    /// The packet whose place its writer said it takes.
    pub supersedes: Option<HandoffId>,
    /// The packet that took its place.
    pub superseded_by: Option<HandoffId>,
    /// The packet whose work it goes on with.
    pub continues: Option<HandoffId>,
    /// Who holds or held it.
    pub accepted_by: Option<Agent>,
    /// In which run.
    pub accepted_session: Option<Session>,
    /// For which owner.
    pub accepted_owner: Option<Owner>,
    /// Since when.
    pub accepted_at: Option<Time>,
    /// In which directory.
    pub receiving_cwd: Option<Cwd>,
    /// When it was closed.
    pub closed_at: Option<Time>,
    /// The run, ticket or commit with which it was closed.
    pub outcome_ref: Option<OutcomeRef>,
    /// When its claim was last renewed: the claim itself, or a later entry of the claiming session.
    pub last_activity: Option<Time>,
}

impl Packet {
    /// Where the packet stands at `now`: an open one past its time is expired, whether or not a row says so yet.
    pub fn state_at(&self, now: Time) -> State {
        match self.expires_at {
            Some(end) if self.state == State::Open && end <= now => State::Expired,
            _ => self.state,
        }
    }

    /// How it has ended at `now`: by its time, where that is over and no row says so yet.
    pub fn ended_as_at(&self, now: Time) -> Option<EndedAs> {
        let ran_out = self.state_at(now) == State::Expired;
        self.ended_as.or(ran_out.then_some(EndedAs::Ttl))
    }

    /// Whether `owner` may know of it; `all` is root.
    pub fn visible_to(&self, sight: &Sight) -> bool {
        match sight {
            Sight::All => true,
            Sight::OwnOrShared(me) => self.owner.is_none() || self.owner == *me,
            Sight::Own(me) => self.owner.is_some() && self.owner == *me,
        }
    }
}

/// Which packets a caller may know of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// Those of this owner and the shared ones; without an owner the shared ones alone.
    OwnOrShared(Option<Owner>),
    /// Those of this owner alone.
    Own(Option<Owner>),
    /// All of them: root, and who only observes.
    All,
}

/// Everything of a packet that its hash covers: what is fixed when it is written, texts replaced by their hash.
#[derive(Debug, Serialize)]
pub struct PacketBody<'a> {
    /// The project's checkpoint just before.
    pub checkpoint: &'a str,
    /// The packet whose work it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continues: Option<&'a str>,
    /// When, RFC 3339 in UTC with milliseconds.
    pub created_at: &'a str,
    /// The directory that the work is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<&'a str>,
    /// When it expires, as it was first set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<&'a str>,
    /// Who wrote it.
    pub from_agent: &'a str,
    /// In which run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from_session: Option<&'a str>,
    /// The git work tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git: Option<&'a Git>,
    /// Its name.
    pub id: &'a str,
    /// `manual` or `automatic`.
    pub origin: &'a str,
    /// Whom it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<&'a str>,
    /// The inner home.
    pub project: &'a str,
    /// The hashes of the pinned versions, in order.
    pub refs: Vec<String>,
    /// The packet whose place it takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub supersedes: Option<&'a str>,
    /// `H(nonce || texts)`.
    pub texts_hash: &'a str,
    /// Whom it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_agent: Option<&'a str>,
    /// The format of this body: 1.
    pub v: u8,
    /// The outer home.
    pub workspace: &'a str,
}

impl PacketBody<'_> {
    /// The packet's hash.
    pub fn hash(&self) -> Hash {
        Hash::of_body(self)
    }
}
