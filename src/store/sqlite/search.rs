//! The search index: one FTS5 table over the current versions, written in the transaction of each `remember`.
//!
//! Life of a version: [`index`] adds its terms under its row id; when the record gets its next version [`unindex`]
//! takes it out, which needs the row id alone, so it works when the old value's text was purged. Tombstones hide what
//! was taken out until FTS5 merges its segments; [`rebuild`] is what makes purged text go.
//!
//! Row ids ascend as versions do, so newest first is the order in which FTS5 reads. Everything that narrows a search
//! (project, scope, key, tags, who may see) is a term like the words, since a join per match is what filters cost.

mod check;
mod expression;
mod find;
mod rank;
mod terms;
#[cfg(test)]
mod tests;

use rusqlite::Connection;

pub use check::{Mismatch, check};
pub use find::{elsewhere, find};
pub use terms::Indexed;

/// The table, and the view of its terms that prefixes and `check` read.
///
/// - `content=''`: the texts stand in `content` already. `contentless_delete=1`: see [`unindex`].
/// - `tokenize='ascii'`: terms are made by [`crate::domain::query::split`] and stand here parted by spaces.
/// - `detail=full`, because phrases need positions.
pub const CREATE: &str = "\
CREATE VIRTUAL TABLE search USING fts5(terms, content='', contentless_delete=1, tokenize='ascii');
CREATE VIRTUAL TABLE search_terms USING fts5vocab(search, instance);
";

/// What a caller looks for. Fields that are `None` do not narrow; all others must hold at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Search<'a> {
    /// The project's row id.
    pub project: i64,
    /// Who asks, as agents are compared; a record private to another is absent.
    pub agent: Option<&'a str>,
    /// The scope, or the path above it.
    pub scope: Option<&'a str>,
    /// The key, exact, in any scope.
    pub key: Option<&'a str>,
    /// A tag, exact.
    pub tag: Option<&'a str>,
    /// Free text; blank is none.
    pub query: Option<&'a str>,
    /// The least confidence.
    pub min_confidence: Option<f64>,
    /// Most hits of this call.
    pub limit: usize,
    /// Versions whose ledger entry came after this one are left out.
    pub ceiling_seq: Option<i64>,
    /// Where the previous page ended.
    pub position: Option<Position>,
}

/// Where a page ends and the next one starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Position {
    /// After this many of the ranked hits.
    Ranked(usize),
    /// Past the ranked ones: below this version, newest first.
    Below(i64),
}

/// A page of what was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// Row ids of versions, best first.
    pub hits: Vec<i64>,
    /// How many records the search has in all, over all pages.
    pub total: usize,
    /// Whether there are more than `total`.
    pub total_capped: bool,
    /// Where the next page starts; `None` after the last. A page may hold fewer hits than asked and still have a
    /// next one, when what one call may read was used up.
    pub next: Option<Position>,
}

/// Adds a version to the index. The caller holds the transaction, and has taken the record's last version out.
pub fn index(conn: &Connection, version_id: i64, record: &Indexed<'_>) -> rusqlite::Result<()> {
    conn.prepare_cached("INSERT INTO search(rowid, terms) VALUES (?1, ?2)")?
        .execute((version_id, record.terms()))?;
    Ok(())
}

/// Takes a version out of the index, whatever has become of its text. Taking out one that is not there does nothing.
pub fn unindex(conn: &Connection, version_id: i64) -> rusqlite::Result<()> {
    conn.prepare_cached("DELETE FROM search WHERE rowid = ?1")?
        .execute([version_id])?;
    Ok(())
}

/// Makes the index anew from the heads, as one part of the caller's transaction.
///
/// Nothing of the old index stays in a table. Its pages are free pages then: only `VACUUM` and a truncating
/// checkpoint take the bytes out of the file.
pub fn rebuild(conn: &Connection) -> rusqlite::Result<()> {
    conn.execute("INSERT INTO search(search) VALUES ('delete-all')", [])?;
    heads(conn, |version_id, record| index(conn, version_id, record))?;
    conn.execute("INSERT INTO search(search) VALUES ('optimize')", [])?;
    Ok(())
}

/// Calls `each` with every current version, oldest first.
fn heads(conn: &Connection, mut each: impl FnMut(i64, &Indexed<'_>) -> rusqlite::Result<()>) -> rusqlite::Result<()> {
    let mut statement = conn.prepare(
        "SELECT v.id, v.project_id, v.scope, v.key, v.tags, v.private_to, c.body
         FROM version v LEFT JOIN content c ON c.id = v.content_id
         WHERE EXISTS (SELECT 1 FROM head h WHERE h.project_id = v.project_id AND h.scope = v.scope
                       AND h.key = v.key AND h.version_id = v.id)
         ORDER BY v.id",
    )?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let text = |column| row.get_ref(column).map(|value| value.as_str_or_null().ok().flatten());
        let private_to = text(5)?.map(crate::domain::name::fold);
        each(
            row.get(0)?,
            &Indexed {
                project: row.get(1)?,
                scope: text(2)?.unwrap_or_default(),
                key: text(3)?.unwrap_or_default(),
                tags: text(4)?.unwrap_or_default(),
                private_to: private_to.as_deref(),
                // A text that was purged is empty.
                body: text(6)?.filter(|body| !body.is_empty()),
            },
        )?;
    }
    Ok(())
}
