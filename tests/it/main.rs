//! Everything that is tested from outside, through the real executable.

mod arguments;
mod concurrency;
mod demo;
mod format;
mod handoffs;
mod handoffs_more;
mod harness;
mod kills;
mod outcomes;
mod owners;
mod previews;
mod protocol;
mod reference;
mod schema;
mod search;
mod security;
mod starting;
mod storage;
mod tamper;
mod tidy;
