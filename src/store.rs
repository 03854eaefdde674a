//! What the store promises: each verb's atomicity, durability and order, whatever keeps the data.
//!
//! Every verb that changes something is one transaction: all of it is there afterwards, or nothing. When it answers
//! `Ok` the change is durable (with `Durability::Full` across a power cut) and every later read of any process sees it.
//! Order is the order of ledger `seq`, never of clocks. A verb that reads sees one consistent moment, waits for no
//! writer and makes none wait.

pub mod error;
pub mod folder;
pub mod sqlite;

pub use error::StoreError;
pub use sqlite::Store;

/// How much a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// Until the disk has it: what was acknowledged survives a power cut.
    Full,
    /// Until the operating system has it: survives the process's death; the last commits may be lost in a power cut.
    Normal,
}
