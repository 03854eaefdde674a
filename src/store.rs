//! What the store promises, in words of the domain.

pub mod sqlite;
