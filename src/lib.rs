//! One shared, versioned memory for several AI agents, and the handoff that carries work across sessions.
//!
//! Data walks one way: a face parses words, [`app`] runs one use case, [`domain`] decides purely,
//! [`store`] keeps it in one transaction, and the answer walks back out through [`wire`].

pub mod app;
pub mod cli;
pub mod config;
pub mod domain;
pub mod mcp;
pub mod store;
pub mod wire;
