//! The words of the design as types: validated values, hashes, confidence, the packet's state machine, search terms.
//!
//! Nothing here does I/O, reads a clock or draws a random number: those come in as arguments.

pub mod actor;
pub mod canonical;
pub mod confidence;
pub mod fault;
pub mod handoff;
pub mod invalid;
pub mod json;
pub mod ledger;
pub mod legible;
pub mod limits;
pub mod name;
pub mod outcome;
pub mod purge;
pub mod query;
pub mod record;
pub mod redact;
pub mod refusal;
pub mod since;
pub mod sought;
pub mod time;
pub mod token;
pub mod transfer;
#[cfg(test)]
mod vectors;

pub use actor::{Actor, Home, Reach};
pub use canonical::Hash;
pub use confidence::{Confidence, Opinion};
pub use invalid::Invalid;
pub use json::JsonText;
pub use name::{Agent, Key, OutcomeRef, Owner, Project, Scope, Session, Tag, Workspace};
pub use record::{Address, Ref};
pub use refusal::{Hint, Refusal};
pub use time::{Span, Time};
