//! FTS5 expressions for a search. Terms are quoted strings, so no text becomes syntax.

use rusqlite::Connection;

use super::Search;
use super::terms::{Filter, WORD};
use crate::domain::query::Clause;

/// Most terms that one beginning stands for.
const BEGINNINGS: usize = 12;

/// Builds the expressions of one search: what is asked for, and always what narrows.
pub(super) struct Expressions {
    project: i64,
    narrow: Vec<String>,
    hidden: String,
}

impl Expressions {
    pub(super) fn new(search: &Search<'_>) -> Self {
        let filters = [
            search.key.map(Filter::Key),
            search.tag.map(Filter::Tag),
            search.scope.map(Filter::Scope),
        ];
        let project = search.project;
        let quoted = |filter: Filter<'_>| format!("\"{}\"", filter.term(project));
        let private = quoted(Filter::Private);
        Self {
            project,
            narrow: filters.into_iter().flatten().map(quoted).collect(),
            hidden: match search.agent {
                Some(agent) => format!("({private} NOT {})", quoted(Filter::PrivateTo(agent))),
                None => private,
            },
        }
    }

    /// `what` within everything that narrows; without either, the whole project.
    pub(super) fn within(&self, what: Option<&str>) -> String {
        // FTS5 advances in the first and seeks in the others; what narrows is mostly the rarer.
        let mut all: Vec<&str> = self.narrow.iter().map(String::as_str).chain(what).collect();
        let any = format!("\"{}\"", Filter::Any.term(self.project));
        if all.is_empty() {
            all.push(&any);
        }
        format!("({}) NOT {}", all.join(" AND "), self.hidden)
    }

    /// The terms side by side.
    pub(super) fn phrase<T: AsRef<str>>(&self, terms: &[T]) -> String {
        let mut out = String::from("\"");
        for term in terms {
            if out.len() > 1 {
                out.push(' ');
            }
            out.push_str(&format!("{}{WORD}{}", self.project, term.as_ref()));
        }
        out.push('"');
        out
    }

    /// The clause, or what is taken in its place.
    pub(super) fn clause(&self, clause: &Clause) -> String {
        let ways: Vec<String> = [&clause.terms]
            .into_iter()
            .chain(&clause.also)
            .map(|terms| self.phrase(terms))
            .collect();
        format!("({})", ways.join(" OR "))
    }

    /// All clauses.
    pub(super) fn all(&self, clauses: &[Clause]) -> String {
        clauses
            .iter()
            .map(|clause| self.clause(clause))
            .collect::<Vec<_>>()
            .join(" AND ")
    }

    /// Leaves out the other forms of words that the index does not hold: most are never written, and every scan would
    /// seek each of them.
    pub(super) fn keep_held(&self, conn: &Connection, clauses: &mut [Clause]) -> rusqlite::Result<()> {
        let mut held = conn.prepare_cached("SELECT 1 FROM search_terms WHERE term = ?1 LIMIT 1")?;
        for clause in clauses {
            let mut kept = Vec::new();
            for terms in std::mem::take(&mut clause.also) {
                let absent = match &terms[..] {
                    [form] => !held.exists([format!("{}{WORD}{form}", self.project)])?,
                    _ => false,
                };
                if !absent {
                    kept.push(terms);
                }
            }
            clause.also = kept;
        }
        Ok(())
    }

    /// Longer words of the index that begin as the clause does.
    ///
    /// An FTS5 prefix query gathers the lists of all of them in memory before the first hit; asking the index for one
    /// term after the other costs a seek each, however long their lists are.
    pub(super) fn longer(&self, conn: &Connection, clause: &Clause) -> rusqlite::Result<Vec<String>> {
        let Some(beginning) = clause.beginning() else {
            return Ok(Vec::new());
        };
        let prefix = format!("{}{WORD}{beginning}", self.project);
        let mut after = conn.prepare_cached("SELECT term FROM search_terms WHERE term >= ?1 LIMIT 1")?;
        let mut found: Vec<String> = Vec::new();
        // The least text above a term: the term with the least character that can follow.
        let mut from = format!("{prefix}\u{1}");
        for _ in 0..BEGINNINGS {
            let mut rows = after.query([&from])?;
            let Some(row) = rows.next()? else { break };
            let term: String = row.get(0)?;
            if !term.starts_with(&prefix) {
                break;
            }
            from = format!("{term}\u{1}");
            let word = term[prefix.len() - beginning.len()..].to_owned();
            if !clause.also.contains(&vec![word.clone()]) {
                found.push(word);
            }
        }
        Ok(found)
    }
}
