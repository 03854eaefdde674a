//! Every outcome against its ledger entry and the version that it moved.

use super::Check;
use super::rows::{Cells, Walk, Wrong};
use super::versions::text;
use crate::domain::canonical::canonical;
use crate::domain::outcome::OutcomeDetail;

const WALK: Walk = Walk {
    name: "outcomes",
    sql: "SELECT o.rowid, o.id, o.project_id, o.outcome_ref, o.handoff_id, o.outcome, o.content_id, o.note_hash,
              o.author, o.session, o.created_at, o.confidence_before, o.confidence_after,
              v.scope, v.key, v.version, v.project_id,
              l.kind, l.subject, l.detail, l.at, l.agent, l.session, c.nonce, c.body
          FROM outcome o
          LEFT JOIN version v ON v.id = o.version_id
          LEFT JOIN ledger l ON l.project_id = o.project_id AND l.seq = o.seq
          LEFT JOIN content c ON c.id = o.content_id
          WHERE o.rowid >= ?1 ORDER BY o.rowid LIMIT ?2",
};

/// Checks every outcome.
pub fn check(check: &mut Check) {
    check.walk(&WALK, |check, cells| {
        let place = format!(
            "outcome {}",
            cells.text(1).unwrap_or_else(|_| "without an id".to_owned())
        );
        if let Err(what) = outcome(check, cells) {
            check.note("outcome", place, what);
        }
        check.count();
    });
}

fn outcome(check: &mut Check, cells: &Cells) -> Result<(), Wrong> {
    let (id, project) = (cells.text(1)?, cells.integer(2)?);
    if cells.maybe_integer(16)? != Some(project) {
        return Err("it names no version of its project".to_owned());
    }
    let entry = (cells.maybe(17)?, cells.maybe(18)?);
    if entry != (Some("outcome".to_owned()), Some(id.clone())) {
        return Err("no ledger entry vouches for it".to_owned());
    }
    if cells.maybe(20)? != Some(cells.text(10)?)
        || cells.maybe(21)? != Some(cells.text(8)?)
        || cells.maybe(22)? != cells.maybe(9)?
    {
        return Err("time, author or session are not those of its ledger entry".to_owned());
    }
    let (run, scope, key, word) = (cells.text(3)?, cells.text(13)?, cells.text(14)?, cells.text(5)?);
    let (handoff, note_hash) = (cells.maybe(4)?, cells.maybe(7)?);
    let detail = OutcomeDetail {
        outcome_ref: &run,
        scope: &scope,
        key: &key,
        version: u64::try_from(cells.integer(15)?).unwrap_or(0),
        outcome: &word,
        before: cells.number(11)?,
        after: cells.number(12)?,
        handoff_id: handoff.as_deref(),
        note_hash: note_hash.as_deref(),
    };
    if canonical(&detail) != cells.text(19)? {
        return Err("its fields are not those of its ledger entry".to_owned());
    }
    let Some(hash) = note_hash else {
        return match cells.maybe_integer(6)? {
            None => Ok(()),
            Some(_) => Err("it has a note that its ledger entry does not name".to_owned()),
        };
    };
    let content = cells
        .maybe_integer(6)?
        .ok_or("the note that its ledger entry names is not there")?;
    check.texts.put(content);
    match text(check, project, &id, &hash, cells, 23)? {
        None => Ok(()),
        Some(what) => Err(format!("its note: {what}")),
    }
}
