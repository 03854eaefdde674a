//! The SQLite backend.

pub mod search;
