//! Reports on how acting on what was remembered turned out.

use serde::Serialize;

use super::handoff::{HandoffId, State};
use super::invalid::shown;
use super::{Invalid, OutcomeRef, Ref, limits};

/// What is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// It went well: confidence rises, a packet closes.
    Success,
    /// It went badly: confidence falls, a packet closes.
    Failure,
    /// The work was given up: a packet closes or is cancelled, confidence stays.
    Abandoned,
    /// The packet is given back to the queue, confidence stays.
    Released,
}

impl Report {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Failure => "failure",
            Self::Abandoned => "abandoned",
            Self::Released => "released",
        }
    }

    /// Reads the word, in whatever case.
    ///
    /// # Errors
    /// When it is none of the four.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        [Self::Success, Self::Failure, Self::Abandoned, Self::Released]
            .into_iter()
            .find(|report| report.as_str().eq_ignore_ascii_case(text.trim()))
            .ok_or_else(|| Invalid::new("outcome", shown(text), "success, failure, abandoned or released"))
    }

    /// Whether it moves confidence, and which way.
    pub fn moves(self) -> Option<bool> {
        match self {
            Self::Success => Some(true),
            Self::Failure => Some(false),
            Self::Abandoned | Self::Released => None,
        }
    }
}

/// A report to record, checked.
#[derive(Debug, Clone)]
pub struct NewOutcome {
    /// What happened.
    pub report: Report,
    /// The run, ticket or commit that it is about; a report that moves confidence always has one.
    pub outcome_ref: Option<OutcomeRef>,
    /// The versions that were acted on; absent: the packet's pinned ones.
    pub refs: Option<Vec<Ref>>,
    /// The packet that was worked on.
    pub handoff_id: Option<HandoffId>,
    /// What else there is to say, at most 16 KiB.
    pub note: Option<String>,
    /// The state that the packet must be in, where any other is a conflict.
    pub only: Option<State>,
}

impl NewOutcome {
    /// Checks that the report is about something, and its note's length.
    ///
    /// # Errors
    /// When neither refs nor a packet are named, when a report about a packet names none, or the note is too long.
    pub fn new(
        report: Report,
        outcome_ref: OutcomeRef,
        refs: Option<Vec<Ref>>,
        handoff_id: Option<HandoffId>,
        note: Option<String>,
    ) -> Result<Self, Invalid> {
        let refs = refs
            .filter(|refs| !refs.is_empty())
            .map(super::record::distinct_refs)
            .transpose()?;
        if refs.is_none() && handoff_id.is_none() {
            return Err(Invalid::new(
                "refs",
                "missing, and `handoff_id` too",
                "at least one of the two",
            ));
        }
        if handoff_id.is_none() && report.moves().is_none() {
            return Err(Invalid::new(
                "handoff_id",
                "missing",
                format!(
                    "the packet that is {}; only success and failure go without one",
                    report.as_str()
                ),
            ));
        }
        Ok(Self {
            report,
            outcome_ref: Some(outcome_ref),
            refs,
            handoff_id,
            note: noted(note)?,
            only: None,
        })
    }

    /// Gives a claimed packet back to the queue; when nobody holds it that is a conflict.
    ///
    /// # Errors
    /// When the note is too long.
    pub fn release(id: HandoffId, outcome_ref: Option<OutcomeRef>, note: Option<String>) -> Result<Self, Invalid> {
        Self::ending(Report::Released, State::Accepted, id, outcome_ref, note)
    }

    /// Takes an open packet back; when it is not open any more that is a conflict.
    ///
    /// # Errors
    /// When the note is too long.
    pub fn cancel(id: HandoffId, outcome_ref: Option<OutcomeRef>, note: Option<String>) -> Result<Self, Invalid> {
        Self::ending(Report::Abandoned, State::Open, id, outcome_ref, note)
    }

    fn ending(
        report: Report,
        only: State,
        id: HandoffId,
        outcome_ref: Option<OutcomeRef>,
        note: Option<String>,
    ) -> Result<Self, Invalid> {
        Ok(Self {
            report,
            outcome_ref,
            refs: None,
            handoff_id: Some(id),
            note: noted(note)?,
            only: Some(only),
        })
    }
}

/// A note within its limit; a blank one is none.
fn noted(note: Option<String>) -> Result<Option<String>, Invalid> {
    match note {
        Some(note) if note.len() > limits::NOTE_BYTES => Err(Invalid::new(
            "note",
            format!("{} bytes", note.len()),
            format!("at most {} bytes", limits::NOTE_BYTES),
        )),
        note => Ok(note.filter(|note| !note.trim().is_empty())),
    }
}

/// What the ledger entry of an outcome says: all of the outcome's row but who, when and which packet's note.
#[derive(Debug, Serialize)]
pub struct OutcomeDetail<'a> {
    /// The run that it is about.
    pub outcome_ref: &'a str,
    /// The version that it moved.
    pub scope: &'a str,
    /// The version that it moved.
    pub key: &'a str,
    /// The version that it moved.
    pub version: u64,
    /// `success` or `failure`.
    pub outcome: &'a str,
    /// The confidence before.
    pub before: f64,
    /// The confidence after.
    pub after: f64,
    /// The packet that was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handoff_id: Option<&'a str>,
    /// The salted hash of its note.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note_hash: Option<&'a str>,
}

/// A report on a version of a record, as it is read back.
#[derive(Debug, Clone, PartialEq)]
pub struct Reported {
    /// The version.
    pub version: u64,
    /// success or failure.
    pub outcome: String,
    /// The run, ticket or commit.
    pub outcome_ref: String,
    /// Who reported.
    pub author: String,
    /// When, RFC 3339 in UTC with milliseconds.
    pub at: String,
    /// The version's confidence before.
    pub before: f64,
    /// The version's confidence after.
    pub after: f64,
    /// The packet that it was about.
    pub packet: Option<String>,
}

/// A version whose opinion was moved by a report.
#[derive(Debug, Clone, PartialEq)]
pub struct Moved {
    /// Which record.
    pub at: super::Address,
    /// Which version of it.
    pub version: u64,
    /// The confidence before.
    pub before: f64,
    /// The confidence after.
    pub after: f64,
    /// Whether a newer version exists, which was left alone.
    pub superseded: bool,
}
