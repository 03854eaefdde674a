//! The order of the best matches, from cheap facts.
//!
//! `bm25()` reads the whole list of every word for its statistics. What is used in its place is bounded by the number
//! of matches that are ranked: where a word stands (read from the version's row), whether the words stand side by
//! side and as they were asked (one more search over the same stretch of row ids), and how rare a word is (guessed
//! from how far down its newest matches reach).

use std::collections::{HashMap, HashSet};

use super::expression::Expressions;
use super::find::{Finder, RANKED, Scan};
use super::terms::each_text;
use crate::domain::query::{Clause, Piece, split};

/// How many clauses are also asked for by their beginning.
const BEGUN: usize = 8;
/// How many of the newest matches of an atom are ranked at least.
const LEAST: usize = 25;

/// One part of a query that a record may have without the others.
pub(super) struct Atom {
    expression: String,
    ways: Vec<Vec<String>>,
    /// What it is worth beside a whole clause.
    share: f64,
    /// Whether other atoms find all that this one finds: the words of a phrase do.
    covered: bool,
}

/// The atoms of a query: each clause; the words of a phrase; longer words with the same beginning. Words that say
/// little are left out where others remain.
pub(super) fn atoms(finder: &Finder<'_>, clauses: &[Clause]) -> rusqlite::Result<Vec<Atom>> {
    let expressions = &finder.expressions;
    let mut atoms: Vec<Atom> = Vec::new();
    let mut add = |expression: String, ways: Vec<Vec<String>>, share, covered| {
        if !atoms.iter().any(|atom| atom.expression == expression) {
            atoms.push(Atom {
                expression,
                ways,
                share,
                covered,
            });
        }
    };
    let telling: Vec<&Clause> = clauses.iter().filter(|clause| !clause.is_small()).collect();
    let kept = if telling.is_empty() {
        clauses.iter().collect()
    } else {
        telling
    };
    for clause in &kept {
        let ways = [&clause.terms].into_iter().chain(&clause.also).cloned().collect();
        add(expressions.clause(clause), ways, 1.0, clause.terms.len() > 1);
    }
    for (number, clause) in kept.iter().enumerate() {
        let longer = if number < BEGUN {
            expressions.longer(finder.conn, clause)?
        } else {
            Vec::new()
        };
        if !longer.is_empty() {
            let ways: Vec<Vec<String>> = longer.into_iter().map(|word| vec![word]).collect();
            add(any_of(expressions, &ways), ways, 0.4, false);
        }
        if clause.terms.len() > 1 {
            for term in &clause.terms {
                let ways = vec![vec![term.clone()]];
                add(
                    any_of(expressions, &ways),
                    ways,
                    if clause.dense { 0.3 } else { 0.5 },
                    false,
                );
            }
        }
    }
    Ok(atoms)
}

fn any_of(expressions: &Expressions, ways: &[Vec<String>]) -> String {
    let ways: Vec<String> = ways.iter().map(|terms| expressions.phrase(terms)).collect();
    format!("({})", ways.join(" OR "))
}

/// The expression for any of the atoms.
pub(super) fn either(atoms: &[Atom]) -> String {
    let kept = atoms.iter().filter(|atom| !atom.covered);
    let expressions: Vec<&str> = kept.map(|atom| atom.expression.as_str()).collect();
    format!("({})", expressions.join(" OR "))
}

/// Ranks the matches of one search.
pub(super) struct Ranking<'a> {
    finder: &'a Finder<'a>,
    clauses: &'a [Clause],
}

impl<'a> Ranking<'a> {
    pub(super) fn new(finder: &'a Finder<'a>, clauses: &'a [Clause]) -> Self {
        Self { finder, clauses }
    }

    /// Orders matches of all clauses, given newest first.
    pub(super) fn all(&self, ids: &[i64]) -> rusqlite::Result<Vec<i64>> {
        let (&[newest, ..], &[.., oldest]) = (ids, ids) else {
            return Ok(Vec::new());
        };
        let expressions = &self.finder.expressions;
        let among = |expression: String| -> rusqlite::Result<HashSet<i64>> {
            let found = self
                .finder
                .scan(&expressions.within(Some(&expression)), newest, oldest, RANKED)?;
            Ok(found.ids.into_iter().collect())
        };
        let (mut adjacent, mut exact) = (HashSet::new(), HashSet::new());
        if ids.len() > 1 {
            if self.clauses.len() > 1 && self.clauses.iter().all(|clause| !clause.dense) {
                let terms: Vec<&String> = self.clauses.iter().flat_map(|clause| &clause.terms).collect();
                adjacent = among(expressions.phrase(&terms))?;
            }
            if self.clauses.iter().any(|clause| !clause.also.is_empty()) {
                let phrases: Vec<String> = self
                    .clauses
                    .iter()
                    .map(|clause| expressions.phrase(&clause.terms))
                    .collect();
                exact = among(phrases.join(" AND "))?;
            }
        }
        self.order(ids.iter().copied(), |id, names| {
            let places: f64 = self
                .clauses
                .iter()
                .map(|clause| {
                    let also = clause
                        .also
                        .iter()
                        .map(|terms| names.place(terms) * 0.7)
                        .fold(0.0, f64::max);
                    names.place(&clause.terms).max(also).max(1.0)
                })
                .sum();
            let count = self.clauses.len() as f64;
            places + if adjacent.contains(&id) { count } else { 0.0 } + if exact.contains(&id) { 0.5 } else { 0.0 }
        })
    }

    /// The best of the newest matches of each atom, ordered. Each atom brings its own, so that a common word does not
    /// crowd out the matches of a rare one. `all` are the matches of all clauses.
    pub(super) fn any(&self, atoms: &[Atom], all: &Scan) -> rusqlite::Result<Vec<i64>> {
        let (finder, expressions) = (self.finder, &self.finder.expressions);
        let each = (RANKED / atoms.len()).max(LEAST);
        let mut pool: HashMap<i64, Vec<usize>> = HashMap::new();
        let mut reach = Vec::new();
        for (number, atom) in atoms.iter().enumerate() {
            let found = if number == 0 && self.clauses.len() == 1 {
                // The whole of the only clause was looked for already, and a phrase of common words costs most.
                all.clone()
            } else {
                finder.scan(&expressions.within(Some(&atom.expression)), finder.top, 0, each)?
            };
            for id in &found.ids {
                pool.entry(*id).or_default().push(number);
            }
            reach.push(found);
        }
        // Whether a record of a rare atom also has a common one is beyond the newest matches of the common one.
        let rare: Vec<&str> = atoms
            .iter()
            .zip(&reach)
            .filter(|(_, scan)| scan.ended)
            .map(|(atom, _)| &*atom.expression)
            .collect();
        let newest = reach
            .iter()
            .filter_map(|scan| scan.ids.first())
            .max()
            .copied()
            .unwrap_or(1) as f64;
        let mut worth = Vec::new();
        for (number, (atom, scan)) in atoms.iter().zip(&reach).enumerate() {
            let mut count = scan.ids.len() as f64;
            if let (false, Some(&oldest)) = (scan.ended, scan.ids.last()) {
                count *= newest / (newest - oldest as f64 + 1.0);
                if atom.share == 1.0 && !rare.is_empty() {
                    let both = format!("{} AND ({})", atom.expression, rare.join(" OR "));
                    for id in finder
                        .scan(&expressions.within(Some(&both)), finder.top, 0, RANKED)?
                        .ids
                    {
                        pool.entry(id).and_modify(|atoms| {
                            if !atoms.contains(&number) {
                                atoms.push(number);
                            }
                        });
                    }
                }
            }
            worth.push(atom.share * (1.0 + newest / count.max(1.0)).ln());
        }
        self.order(pool.keys().copied(), |id, names| {
            let has = pool.get(&id).into_iter().flatten();
            has.map(|&number| {
                let place = atoms[number]
                    .ways
                    .iter()
                    .map(|terms| names.place(terms))
                    .fold(1.0, f64::max);
                worth[number] * (1.0 + place / 4.0)
            })
            .sum()
        })
    }

    /// Orders by `score`, then confidence, then recency.
    fn order(&self, ids: impl Iterator<Item = i64>, score: impl Fn(i64, &Names) -> f64) -> rusqlite::Result<Vec<i64>> {
        let mut statement = self.finder.conn.prepare_cached(
            "SELECT v.scope, v.key, v.tags, coalesce(o.confidence, v.base_confidence)
             FROM version v LEFT JOIN opinion o ON o.version_id = v.id WHERE v.id = ?1",
        )?;
        let mut names = Names::default();
        let mut ranked: Vec<(i64, f64, i64)> = Vec::new();
        for id in ids {
            let mut rows = statement.query([id])?;
            let Some(row) = rows.next()? else { continue };
            names.read(
                row.get_ref(0)?.as_str()?,
                row.get_ref(1)?.as_str()?,
                row.get_ref(2)?.as_str()?,
            );
            // Rounded, so that a difference nobody would see does not hide confidence.
            ranked.push(((score(id, &names) * 100.0).round() as i64, row.get(3)?, id));
        }
        ranked.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2)));
        Ok(ranked.into_iter().map(|(_, _, id)| id).collect())
    }
}

/// What a record is called, as terms.
#[derive(Default)]
struct Names {
    scope: Name,
    key: Name,
    tags: Vec<Name>,
}

impl Names {
    fn read(&mut self, scope: &str, key: &str, tags: &str) {
        self.scope = Name::of(scope);
        self.key = Name::of(key);
        self.tags.clear();
        each_text(tags, |tag| self.tags.push(Name::of(tag)));
    }

    /// What it is worth that `terms` stand here: most as the whole key, nothing in no name.
    fn place(&self, terms: &[String]) -> f64 {
        if self.key.terms == terms {
            5.0
        } else if self.key.holds(terms) || self.tags.iter().any(|tag| tag.terms == terms) {
            3.0
        } else if self.tags.iter().any(|tag| tag.holds(terms)) || self.scope.holds(terms) {
            2.0
        } else {
            0.0
        }
    }
}

/// One name: its terms in order, and the parts of its words of mixed case.
#[derive(Default)]
struct Name {
    terms: Vec<String>,
    parts: Vec<String>,
}

impl Name {
    fn of(text: &str) -> Self {
        let mut name = Self::default();
        split(text, &mut |piece| match piece {
            Piece::Term(term) | Piece::Pair(term) => name.terms.push(term.to_owned()),
            Piece::Parts(parts) => name.parts.extend_from_slice(parts),
            Piece::Single(_) | Piece::End => {}
        });
        name
    }

    fn holds(&self, terms: &[String]) -> bool {
        [&self.terms, &self.parts]
            .into_iter()
            .any(|all| all.windows(terms.len()).any(|window| window == terms))
    }
}
