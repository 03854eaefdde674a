//! Everything that is tested from outside, through the real executable.

mod arguments;
mod cli;
mod cli_memory;
mod cli_output;
mod concurrency;
mod demo;
mod faces;
mod format;
mod handoffs;
mod handoffs_more;
mod harness;
mod kills;
mod masked;
mod outcomes;
mod owners;
mod previews;
mod protocol;
mod schema;
mod search;
mod security;
mod shell;
mod starting;
mod storage;
mod tamper;
mod terminal;
mod tidy;
