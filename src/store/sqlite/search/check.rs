//! Whether the index holds exactly what the heads say.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

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

/// Compares the index with the heads, term by term and place by place, and names the first version that differs.
///
/// It reads the index once in its own order, adding up a hash of each entry per version, and the heads once, adding
/// up the same from their texts: linear, with 24 bytes a head held meanwhile. The caller holds the read transaction. `step` is
/// called now and then, about twice for each head.
pub fn check(conn: &Connection, mut step: impl FnMut()) -> rusqlite::Result<Option<Mismatch>> {
    let mut sums: HashMap<i64, u64> = HashMap::new();
    let mut statement = conn.prepare("SELECT term, doc, offset FROM search_terms")?;
    let mut rows = statement.query([])?;
    let mut read = 0u32;
    while let Some(row) = rows.next()? {
        read = read.wrapping_add(1);
        if read.is_multiple_of(TERMS) {
            step();
        }
        let term = row.get_ref(0)?.as_bytes()?;
        let sum = sums.entry(row.get(1)?).or_default();
        *sum = sum.wrapping_add(entry(term, row.get(2)?));
    }
    let mut found: Option<Mismatch> = None;
    heads(conn, |version_id, record| {
        step();
        let mut expected = 0u64;
        for (offset, term) in (0i64..).zip(record.terms().split_ascii_whitespace()) {
            expected = expected.wrapping_add(entry(term.as_bytes(), offset));
        }
        let what = match sums.remove(&version_id) {
            Some(sum) if sum == expected => return Ok(()),
            Some(_) => "is indexed under other terms than its text has",
            None => "is current and not in the search index",
        };
        found.get_or_insert(Mismatch { version_id, what });
        Ok(())
    })?;
    let stray = sums.into_keys().min().map(|version_id| Mismatch {
        version_id,
        what: "is in the search index and not current",
    });
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
    Ok([found, stray, uncounted]
        .into_iter()
        .flatten()
        .min_by_key(|fault| fault.version_id))
}

fn entry(term: &[u8], offset: i64) -> u64 {
    let mut hasher = DefaultHasher::new();
    (term, offset).hash(&mut hasher);
    hasher.finish()
}
