//! What a reader looks for among the current versions, and where a page of it goes on.

use std::fmt;

use super::invalid::shown;
use super::record::Version;
use super::{Confidence, Invalid, Key, Scope, Tag};

/// A search: every filter that is set must hold.
#[derive(Debug, Clone, Default)]
pub struct Sought {
    /// The scope, or a path above it; whole segments.
    pub scope: Option<Scope>,
    /// The key, exact, in any scope.
    pub key: Option<Key>,
    /// A tag, exact.
    pub tag: Option<Tag>,
    /// Free text.
    pub query: Option<String>,
    /// The least confidence.
    pub min_confidence: Option<Confidence>,
    /// Most records of one page.
    pub limit: usize,
    /// Where the page before ended.
    pub from: Option<SearchCursor>,
}

/// Where a search goes on: nothing that was written after the first page joins it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SearchCursor {
    /// The ledger's position when the first page was read.
    pub ceiling: u64,
    /// The place in the order of what was found.
    pub place: Place,
}

/// A place in the order of what was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// After this many of the ranked ones.
    Ranked(usize),
    /// Past the ranked ones, below this row, newest first.
    Below(i64),
}

impl fmt::Display for SearchCursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Ranked(count) => write!(f, "s{}.r{count}", self.ceiling),
            Place::Below(row) => write!(f, "s{}.b{row}", self.ceiling),
        }
    }
}

impl SearchCursor {
    /// Reads what [`Display`](fmt::Display) writes.
    ///
    /// # Errors
    /// When it has another form.
    pub fn parse(text: &str) -> Result<Self, Invalid> {
        let read = || {
            let (ceiling, place) = text.trim().strip_prefix('s')?.split_once('.')?;
            let ceiling = ceiling.parse().ok()?;
            let place = match place.split_at_checked(1)? {
                ("r", count) => Place::Ranked(count.parse().ok()?),
                ("b", row) => Place::Below(row.parse().ok()?),
                _ => return None,
            };
            Some(Self { ceiling, place })
        };
        read().ok_or_else(|| {
            Invalid::new(
                "cursor",
                shown(text),
                "the next_cursor of an answer to the same question, unchanged",
            )
        })
    }
}

/// A page of what was found.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The versions, best first.
    pub versions: Vec<Version>,
    /// How many there are in all.
    pub total: u64,
    /// Whether there are more than `total`.
    pub total_capped: bool,
    /// Where the next page starts.
    pub next: Option<SearchCursor>,
    /// When nothing was found in the scope: other scopes that have what was looked for, with counts, most first.
    pub elsewhere: Vec<(String, u64)>,
}
