//! What the store promises.

pub mod sqlite;
