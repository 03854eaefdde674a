//! What a reader looks for among the current versions, and where a page of it goes on.

use std::fmt;

use super::invalid::shown;
use super::record::Version;
use super::{Address, Confidence, Invalid, Key, Scope, Tag, limits};

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

/// The filters of a read, as a caller gives them.
#[derive(Debug, Clone, Default)]
pub struct Filters {
    /// With a key alone: the record's scope; else the scope to search in.
    pub scope: Option<Scope>,
    /// The key.
    pub key: Option<Key>,
    /// A version of the one record that scope and key name.
    pub version: Option<u64>,
    /// Free text.
    pub query: Option<String>,
    /// A tag, exact.
    pub tag: Option<Tag>,
    /// The least confidence.
    pub min_confidence: Option<Confidence>,
}

/// What a read is about.
#[derive(Debug, Clone)]
pub enum Wanted {
    /// One record: its current version, unless a number is given.
    One(Address, Option<u64>),
    /// A search over the current versions, from its first page on.
    Some(Box<Sought>),
}

impl Filters {
    /// Whether one record is meant or a search: scope and key name a record, and any further filter makes it a search.
    ///
    /// # Errors
    /// When no filter is set, or a version is named for a search.
    pub fn wanted(self, limit: usize) -> Result<Wanted, Invalid> {
        let narrowed = self.query.is_some() || self.tag.is_some() || self.min_confidence.is_some();
        match (self.scope, self.key) {
            (None, None) if !narrowed => Err(Invalid::new(
                "recall",
                "without a filter",
                "at least one of scope, key, query, tag, min_confidence",
            )),
            (Some(scope), Some(key)) if !narrowed => Ok(Wanted::One(Address { scope, key }, self.version)),
            _ if self.version.is_some() => Err(Invalid::new(
                "version",
                "given for a search",
                "scope and key beside it, and no other filter",
            )),
            (scope, key) => Ok(Wanted::Some(Box::new(Sought {
                scope,
                key,
                tag: self.tag,
                query: self.query,
                min_confidence: self.min_confidence,
                limit,
                from: None,
            }))),
        }
    }
}

/// Reads the cursor of a list that is ordered by number: a letter, and the number after which the next page starts.
///
/// # Errors
/// When it has another form.
pub fn after(letter: char, text: &str) -> Result<u64, Invalid> {
    text.trim()
        .strip_prefix(letter)
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| unknown_cursor(text))
}

/// That a cursor is none of ours.
pub fn unknown_cursor(text: &str) -> Invalid {
    Invalid::new(
        "cursor",
        shown(text),
        "the next_cursor of an answer to the same question, unchanged",
    )
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
        read().ok_or_else(|| unknown_cursor(text))
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

/// The number of records of a page, as a caller asks for it: more than 200 is taken as 200, with a warning.
///
/// # Errors
/// When it is less than 1.
pub fn page_size(limit: Option<i64>) -> Result<(usize, Option<String>), Invalid> {
    match limit {
        None => Ok((limits::PAGE_DEFAULT, None)),
        Some(number) if number < 1 => Err(Invalid::new(
            "limit",
            number.to_string(),
            format!("a whole number from 1 to {}", limits::PAGE_MAX),
        )),
        Some(number) => match usize::try_from(number) {
            Ok(number) if number <= limits::PAGE_MAX => Ok((number, None)),
            _ => {
                // What is beyond 64 bits comes as the largest of them, which need not be what was sent.
                let sent = if number == i64::MAX {
                    format!("limit {number} or more")
                } else {
                    format!("limit {number}")
                };
                Ok((
                    limits::PAGE_MAX,
                    Some(format!("{sent} was taken as {}", limits::PAGE_MAX)),
                ))
            }
        },
    }
}
