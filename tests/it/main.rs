//! Everything that is tested from outside, through the real executable.

mod arguments;
mod concurrency;
mod demo;
mod format;
mod handoffs;
mod handoffs_more;
mod harness;
mod outcomes;
mod owners;
mod previews;
mod protocol;
mod schema;
mod search;
mod security;
mod storage;
mod tamper;
mod tidy;
