//! The store on one SQLite file; with its rooms the only code that knows rusqlite.

pub mod schema;
pub mod search;
