//! The `handoff-memory` program.

fn main() {}
