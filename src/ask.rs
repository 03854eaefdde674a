//! What callers ask for: arguments in the words of the tools, read leniently into domain types, once for every face that
//! takes them as JSON.
//!
//! Each kind of question has the shape that its schema is made of, and `read`, which takes the arguments apart and gives a
//! warning for each that nobody asked for.

pub mod acting;
pub mod arguments;
pub mod ending;
pub mod handoff;
pub mod history;
pub mod ledger;
pub mod outcome;
pub mod queue;
pub mod recall;
pub mod remember;
pub mod resume;
pub mod surrogates;

pub use arguments::Arguments;
