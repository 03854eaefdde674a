//! The MCP face: seven tools over JSON-RPC lines on standard input and output.

pub mod arguments;
pub mod lines;
pub mod schema;
