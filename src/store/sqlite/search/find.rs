//! Running a search: which records match, in which order, page by page, with bounded work.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, OptionalExtension};

use super::expression::Expressions;
use super::rank::{self, Ranking};
use super::terms::each_text;
use super::{Found, Position, Search};
use crate::domain::query::{Clause, Query};

/// How many of the newest matches are ranked.
pub(super) const RANKED: usize = 1_000;
/// Up to how many matches are counted.
const COUNTED: usize = 10_000;
/// How many matches are tested at most where a test cannot be a term (confidence, literal text).
const TESTED: usize = 20_000;
/// How much text is read at most in search of a literal.
const LITERAL_BYTES: usize = 8 * 1024 * 1024;
/// With fewer matches of all words than this, matches of any word join.
const ENOUGH: usize = 20;
/// How many other scopes are told.
const ELSEWHERE: usize = 5;

/// Finds one page of what `search` asks for, all filters applied.
///
/// Records with all words come first; when those are under 20, records with any join. The best of the newest 1,000
/// matches come first (relevance, then confidence, then recency), the rest follows newest first. Without words:
/// newest first. The total is exact up to 10,000. Confidence and literals are tested on at most 20,000 matches per
/// pass; what was not reached is told by `total_capped` and `next`.
///
/// The caller holds one read transaction around it. While nothing is written, pages neither repeat nor skip.
pub fn find(conn: &Connection, search: &Search<'_>) -> rusqlite::Result<Found> {
    let query = search.query.and_then(Query::read);
    let mut finder = Finder {
        conn,
        search,
        expressions: Expressions::new(search),
        top: i64::MAX,
        literal: None,
    };
    if let Some(seq) = search.ceiling_seq {
        match finder.newest_at(seq)? {
            Some(top) => finder.top = top,
            None => return Ok(Found::default()),
        }
    }
    match query {
        Some(Query::Clauses(mut clauses)) => {
            finder.expressions.keep_held(conn, &mut clauses)?;
            finder.ranked(&clauses)
        }
        Some(Query::Literal(text)) => {
            finder.literal = Some(text);
            finder.newest_first()
        }
        None => finder.newest_first(),
    }
}

/// The scopes in which the same search without its scope has matches, most first, with their counts among the newest
/// 1,000 matches.
pub fn elsewhere(conn: &Connection, search: &Search<'_>) -> rusqlite::Result<Vec<(String, usize)>> {
    let wider = Search {
        scope: None,
        limit: RANKED,
        position: None,
        ..search.clone()
    };
    let mut scope_of = conn.prepare_cached("SELECT scope FROM version WHERE id = ?1")?;
    let mut counts: HashMap<String, usize> = HashMap::new();
    for id in find(conn, &wider)?.hits {
        let scope: Option<String> = scope_of.query_row([id], |row| row.get(0)).optional()?;
        if let Some(scope) = scope {
            *counts.entry(scope).or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    counts.truncate(ELSEWHERE);
    Ok(counts)
}

/// What one pass over matches gave.
#[derive(Clone)]
pub(super) struct Scan {
    /// Newest first.
    pub(super) ids: Vec<i64>,
    /// Whether no match is left below.
    pub(super) ended: bool,
    /// The last match that was looked at.
    last: i64,
}

/// One search at work.
pub(super) struct Finder<'a> {
    pub(super) conn: &'a Connection,
    pub(super) search: &'a Search<'a>,
    pub(super) expressions: Expressions,
    /// The newest version that counts.
    pub(super) top: i64,
    literal: Option<String>,
}

impl Finder<'_> {
    /// The newest match of the filters that the ledger held at `seq`. Row ids ascend with `seq` inside a project, so
    /// only what was written since is looked at.
    fn newest_at(&self, seq: i64) -> rusqlite::Result<Option<i64>> {
        self.conn
            .prepare_cached(
                "SELECT s.rowid FROM search s CROSS JOIN version v ON v.id = s.rowid
                 WHERE s.terms MATCH ?1 AND v.seq <= ?2 ORDER BY s.rowid DESC LIMIT 1",
            )?
            .query_row((self.expressions.within(None), seq), |row| row.get(0))
            .optional()
    }

    /// Up to `want` matches of `expression`, newest first, from `from` down to `to`, that pass the tests.
    pub(super) fn scan(&self, expression: &str, from: i64, to: i64, want: usize) -> rusqlite::Result<Scan> {
        let mut statement = self.conn.prepare_cached(
            "SELECT rowid FROM search WHERE search MATCH ?1 AND rowid BETWEEN ?2 AND ?3 ORDER BY rowid DESC",
        )?;
        let mut rows = statement.query((expression, to, from))?;
        let mut tests = Tests::new(self)?;
        let mut found = Scan {
            ids: Vec::new(),
            ended: false,
            last: from,
        };
        while let Some(row) = rows.next()? {
            if found.ids.len() == want || tests.spent() {
                return Ok(found);
            }
            found.last = row.get(0)?;
            if tests.pass(found.last)? {
                found.ids.push(found.last);
            }
        }
        found.ended = true;
        Ok(found)
    }

    /// All matches of the filters and the literal, newest first.
    fn newest_first(&self) -> rusqlite::Result<Found> {
        let expression = self.expressions.within(None);
        let counted = self.scan(&expression, self.top, 0, COUNTED + 1)?;
        let mut found = counts(&counted);
        let start = match self.search.position {
            Some(Position::Below(id)) => id - 1,
            _ => self.top,
        };
        self.fill(&mut found, &expression, start, &HashSet::new())?;
        Ok(found)
    }

    /// Adds the matches from `from` down until the page is full, and says where the next page starts.
    fn fill(&self, found: &mut Found, expression: &str, from: i64, but: &HashSet<i64>) -> rusqlite::Result<()> {
        let want = self.search.limit.saturating_sub(found.hits.len());
        // What was ranked already may stand in the way, each at most once; one more than is wanted tells whether there is
        // another page.
        let asked = want + but.len() + 1;
        let rest = self.scan(expression, from, 0, asked)?;
        // What one call may read was used up: the next page goes on below what was looked at.
        let spent = !rest.ended && rest.ids.len() < asked;
        let mut last = from.saturating_add(1);
        let mut more = false;
        for id in rest.ids {
            if !but.contains(&id) {
                if found.hits.len() == self.search.limit {
                    more = true;
                    break;
                }
                found.hits.push(id);
            }
            last = id;
        }
        if spent && !more {
            (last, more) = (rest.last, true);
        }
        found.next = more.then_some(Position::Below(last));
        Ok(())
    }

    /// Matches of all clauses, then of any where those are too few.
    fn ranked(&self, clauses: &[Clause]) -> rusqlite::Result<Found> {
        let all = self.expressions.within(Some(&self.expressions.all(clauses)));
        let matches = self.scan(&all, self.top, 0, COUNTED + 1)?;
        let mut found = counts(&matches);
        let newest = &matches.ids[..matches.ids.len().min(RANKED)];
        let ranking = Ranking::new(self, clauses);
        let mut order = ranking.all(newest)?;
        // Below here the rest goes on, newest first.
        let mut rest = (all, newest.last().map_or(matches.last, |id| id - 1), HashSet::new());
        let mut more = matches.ids.len() > RANKED || !matches.ended;
        if newest.len() < RANKED && !matches.ended {
            rest.1 = matches.last - 1;
        }
        if matches.ids.len() < ENOUGH && matches.ended {
            let atoms = rank::atoms(self, clauses)?;
            if !atoms.is_empty() {
                let any = self.expressions.within(Some(&rank::either(&atoms)));
                let known: HashSet<i64> = order.iter().copied().collect();
                order.extend(
                    ranking
                        .any(&atoms, &matches)?
                        .into_iter()
                        .filter(|id| !known.contains(id)),
                );
                let counted = self.scan(&any, self.top, 0, COUNTED + 1)?;
                found = counts(&counted);
                more = counted.ids.len() > order.len() || !counted.ended;
                rest = (any, self.top, order.iter().copied().collect());
            }
        }
        let (expression, mut from, but) = rest;
        match self.search.position {
            Some(Position::Below(id)) => from = id - 1,
            position => {
                let start = match position {
                    Some(Position::Ranked(start)) => start.min(order.len()),
                    _ => 0,
                };
                let end = (start + self.search.limit).min(order.len());
                found.hits.extend(&order[start..end]);
                if end < order.len() || (more && found.hits.len() == self.search.limit) {
                    found.next = Some(Position::Ranked(end));
                    return Ok(found);
                }
            }
        }
        if more {
            self.fill(&mut found, &expression, from, &but)?;
        }
        Ok(found)
    }
}

/// An empty page with its totals.
fn counts(counted: &Scan) -> Found {
    let total = counted.ids.len().min(COUNTED);
    Found {
        total,
        total_capped: !counted.ended || counted.ids.len() > total,
        ..Found::default()
    }
}

/// The tests that no term stands for, with what they may still read.
struct Tests<'a> {
    min_confidence: Option<f64>,
    literal: Option<&'a str>,
    opinion: rusqlite::CachedStatement<'a>,
    texts: rusqlite::CachedStatement<'a>,
    left: usize,
    bytes: usize,
}

impl<'a> Tests<'a> {
    fn new(finder: &'a Finder<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            min_confidence: finder.search.min_confidence,
            literal: finder.literal.as_deref(),
            opinion: finder
                .conn
                .prepare_cached("SELECT confidence FROM opinion WHERE version_id = ?1")?,
            texts: finder.conn.prepare_cached(
                "SELECT v.scope, v.key, v.tags, c.body FROM version v LEFT JOIN content c ON c.id = v.content_id
                 WHERE v.id = ?1",
            )?,
            left: TESTED,
            bytes: LITERAL_BYTES,
        })
    }

    fn spent(&self) -> bool {
        self.left == 0 || self.bytes == 0
    }

    fn pass(&mut self, id: i64) -> rusqlite::Result<bool> {
        if self.min_confidence.is_none() && self.literal.is_none() {
            return Ok(true);
        }
        self.left -= 1;
        if let Some(least) = self.min_confidence {
            let confidence: Option<f64> = self.opinion.query_row([id], |row| row.get(0)).optional()?;
            if confidence.is_none_or(|confidence| confidence < least) {
                return Ok(false);
            }
        }
        let Some(literal) = self.literal else { return Ok(true) };
        let mut rows = self.texts.query([id])?;
        let Some(row) = rows.next()? else { return Ok(false) };
        let mut holds = false;
        for column in 0..4 {
            let Some(text) = row.get_ref(column)?.as_str_or_null().ok().flatten() else {
                continue;
            };
            self.bytes = self.bytes.saturating_sub(text.len());
            match column {
                0 | 1 => holds |= text.contains(literal),
                _ => each_text(text, |text| holds |= text.contains(literal)),
            }
        }
        Ok(holds)
    }
}
