//! Everything that is tested from outside, through the real executable.

mod arguments;
mod backups;
mod concurrency;
mod demo;
mod everything;
mod format;
mod handoffs;
mod handoffs_more;
mod harness;
mod kills;
mod moving;
mod moving_files;
mod moving_forged;
mod moving_large;
mod moving_tampered;
mod outcomes;
mod owners;
mod previews;
mod protocol;
mod schema;
mod search;
mod security;
mod starting;
mod storage;
mod tamper;
mod tidy;
