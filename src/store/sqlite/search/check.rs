//! Whether the index holds exactly what the heads say.

use std::collections::HashMap;
use std::hash::BuildHasher as _;

use foldhash::fast::FixedState;
use rusqlite::{Connection, OptionalExtension as _};

use super::heads;

/// The first version at which index and heads disagree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// The version's row id.
    pub version_id: i64,
    /// What is wrong, as a phrase.
    pub what: &'static str,
}

/// About how many terms a record has.
const TERMS: u32 = 32;

/// How many sums stand for the whole index, half a megabyte of them.
const BUCKETS: usize = 1 << 16;

/// How many buckets that do not add up are looked into, one by one.
const SUSPECTS: usize = 16;

/// Compares the index with the heads, term by term and place by place, and names a version that differs.
///
/// It reads the index once in its own order and adds up a hash of each entry, and the heads once and takes the same away, made from
/// their texts: where both hold the same, nothing is left. The versions share a fixed number of sums, so that it takes the same
/// memory for any number of them; only where something is left are those of a few sums told apart by a second reading. The caller
/// holds the read transaction. `step` is called now and then, about twice for each head.
pub fn check(conn: &Connection, mut step: impl FnMut()) -> rusqlite::Result<Option<Mismatch>> {
    let mut sums = vec![0u64; BUCKETS];
    indexed(conn, &mut step, |doc, entry| {
        let sum = &mut sums[bucket(doc)];
        *sum = sum.wrapping_add(entry);
    })?;
    wanted(conn, &mut step, |doc, entry| {
        let sum = &mut sums[bucket(doc)];
        *sum = sum.wrapping_sub(entry);
    })?;
    let suspects: Vec<usize> = sums
        .iter()
        .enumerate()
        .filter(|(_, sum)| **sum != 0)
        .map(|(at, _)| at)
        .collect();
    let found = match suspects.is_empty() {
        true => None,
        false => differing(conn, &suspects[..suspects.len().min(SUSPECTS)])?,
    };
    // FTS5 keeps a row of its own for each entry, without which it cannot take the entry out again.
    let uncounted = conn
        .query_row(
            "SELECT version_id FROM head WHERE NOT EXISTS (SELECT 1 FROM search_docsize WHERE id = version_id)
             UNION ALL
             SELECT id FROM search_docsize WHERE id NOT IN (SELECT version_id FROM head)
             ORDER BY 1 LIMIT 1",
            [],
            |row| row.get(0),
        )
        .optional()?
        .map(|version_id| Mismatch {
            version_id,
            what: "is counted otherwise in the search index than among the current versions",
        });
    Ok([found, uncounted]
        .into_iter()
        .flatten()
        .min_by_key(|fault| fault.version_id))
}

/// The first of the versions in these buckets that differs.
fn differing(conn: &Connection, suspects: &[usize]) -> rusqlite::Result<Option<Mismatch>> {
    let mut sums: HashMap<i64, (u64, u64)> = HashMap::new();
    let is_suspect = |doc| suspects.binary_search(&bucket(doc)).is_ok();
    indexed(conn, &mut || (), |doc, entry| {
        if is_suspect(doc) {
            let sum = &mut sums.entry(doc).or_default().0;
            *sum = sum.wrapping_add(entry);
        }
    })?;
    wanted(conn, &mut || (), |doc, entry| {
        if is_suspect(doc) {
            let sum = &mut sums.entry(doc).or_default().1;
            *sum = sum.wrapping_add(entry);
        }
    })?;
    let differing = sums.into_iter().filter(|(_, (indexed, wanted))| indexed != wanted);
    Ok(differing
        .min_by_key(|(doc, _)| *doc)
        .map(|(version_id, sums)| Mismatch {
            version_id,
            what: match sums {
                (0, _) => "is current and not in the search index",
                (_, 0) => "is in the search index and not current",
                _ => "is indexed under other terms than its text has",
            },
        }))
}

/// Calls `each` with the row and the hash of every entry that the index holds.
fn indexed(conn: &Connection, step: &mut impl FnMut(), mut each: impl FnMut(i64, u64)) -> rusqlite::Result<()> {
    let mut statement = conn.prepare("SELECT term, doc, offset FROM search_terms")?;
    let mut rows = statement.query([])?;
    let mut read = 0u32;
    // The entries of one term come together.
    let (mut last, mut hashed) = (Vec::new(), hash(b""));
    while let Some(row) = rows.next()? {
        read = read.wrapping_add(1);
        if read.is_multiple_of(TERMS) {
            step();
        }
        let term = row.get_ref(0)?.as_bytes()?;
        if term != last {
            hashed = hash(term);
            last.clear();
            last.extend_from_slice(term);
        }
        let doc = row.get(1)?;
        each(doc, entry(hashed, doc, row.get(2)?));
    }
    Ok(())
}

/// Calls `each` with the row and the hash of every entry that the index should hold.
fn wanted(conn: &Connection, step: &mut impl FnMut(), mut each: impl FnMut(i64, u64)) -> rusqlite::Result<()> {
    heads(conn, |doc, record| {
        step();
        for (offset, term) in (0i64..).zip(record.terms().split_ascii_whitespace()) {
            each(doc, entry(hash(term.as_bytes()), doc, offset));
        }
        Ok(())
    })
}

fn bucket(doc: i64) -> usize {
    usize::try_from(doc.rem_euclid(BUCKETS as i64)).unwrap_or(0)
}

fn hash(term: &[u8]) -> u64 {
    FixedState::default().hash_one(term)
}

fn entry(term: u64, doc: i64, offset: i64) -> u64 {
    FixedState::default().hash_one((term, doc, offset))
}
