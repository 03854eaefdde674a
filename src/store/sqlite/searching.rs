//! A page of a search: from what is sought to whole versions.

use rusqlite::Connection;

use super::fail::Fail;
use super::ledger::{head, project, signed};
use super::search::{self, Found, Position, Search};
use super::versions::{Budget, by_id};
use crate::domain::Actor;
use crate::domain::record::Stored;
use crate::domain::sought::{Page, Place, SearchCursor, Sought};

/// Finds one page. Once the values of a page pass `budget` bytes the rest are given by their beginnings; once those
/// would pass `ceiling` bytes the page ends early and its cursor goes on from there.
pub fn page(conn: &Connection, actor: &Actor, sought: &Sought, budget: Budget, ceiling: usize) -> Result<Page, Fail> {
    let Some(row) = project(conn, &actor.home)? else {
        return Ok(Page::default());
    };
    let agent = actor.agent.folded();
    let ceiling_seq = match sought.from {
        Some(cursor) => cursor.ceiling,
        None => head(conn, row.id)?.map_or(0, |(seq, ..)| seq),
    };
    let search = Search {
        project: row.id,
        agent: Some(&agent),
        scope: sought.scope.as_ref().map(|scope| scope.as_str()),
        key: sought.key.as_ref().map(|key| key.as_str()),
        tag: sought.tag.as_ref().map(|tag| tag.as_str()),
        query: sought.query.as_deref(),
        min_confidence: sought.min_confidence.map(|confidence| confidence.get()),
        limit: sought.limit,
        ceiling_seq: sought.from.map(|cursor| signed(cursor.ceiling)),
        position: sought.from.map(|cursor| match cursor.place {
            Place::Ranked(count) => Position::Ranked(count),
            Place::Below(version) => Position::Below(version),
        }),
    };
    let mut found = search::find(conn, &search)?;
    let mut versions = Vec::new();
    let mut left = budget;
    let mut size = 0;
    for id in &found.hits {
        let version = by_id(conn, row.id, *id, left)?
            .ok_or_else(|| Fail::Damaged("the search index names a version that is not there".to_owned()))?;
        if let Stored::Whole(text) = &version.value {
            left.0 = left.0.saturating_sub(text.as_str().len());
        }
        size += version.weight();
        if size > ceiling && !versions.is_empty() {
            break;
        }
        versions.push(version);
    }
    if versions.len() < found.hits.len() {
        // The place after the last one that is given is what a page of just these would end at.
        let shorter: Found = search::find(
            conn,
            &Search {
                limit: versions.len(),
                ..search.clone()
            },
        )?;
        found.next = shorter.next;
    }
    let elsewhere = match search.scope {
        Some(_) if found.total == 0 => search::elsewhere(conn, &search)?,
        _ => Vec::new(),
    };
    let place = |position| match position {
        Position::Ranked(count) => Place::Ranked(count),
        Position::Below(version) => Place::Below(version),
    };
    Ok(Page {
        versions,
        total: found.total as u64,
        total_capped: found.total_capped,
        next: found.next.map(|next| SearchCursor {
            ceiling: ceiling_seq,
            place: place(next),
        }),
        elsewhere: elsewhere
            .into_iter()
            .map(|(scope, count)| (scope, count as u64))
            .collect(),
    })
}
