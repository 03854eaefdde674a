//! The words of the design as types: validated values, hashes, confidence, the packet's state machine, search terms.
//!
//! Nothing here does I/O, reads a clock or draws a random number: those come in as arguments.

pub mod invalid;
pub mod limits;
pub mod query;

pub use invalid::Invalid;
