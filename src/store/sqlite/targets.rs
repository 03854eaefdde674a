//! Which versions a report is about, and which of them its run has counted at before.

use rusqlite::{Connection, OptionalExtension, params};

use super::fail::Fail;
use super::ledger::number;
use super::packets;
use super::versions::{self, Budget};
use super::writing::target;
use crate::domain::handoff::{Packet, State};
use crate::domain::outcome::NewOutcome;
use crate::domain::record::Version;
use crate::domain::{Actor, Hint, OutcomeRef, Refusal};

/// A version that a report is about, with the first answer when this run already counted there.
pub struct Target {
    /// The version.
    pub version: Version,
    /// What was recorded, when this run counted there before.
    pub counted: Option<Counted>,
}

/// What was recorded when the run first counted at a version.
pub struct Counted {
    /// `success` or `failure`.
    pub outcome: String,
    /// The confidence before.
    pub before: f64,
    /// The confidence after.
    pub after: f64,
}

/// The versions that a report is about. `late`: the packet is left alone, so that its pins are moved only by one who
/// held it when it was taken over.
pub fn targets(
    conn: &Connection,
    project: i64,
    actor: &Actor,
    new: &NewOutcome,
    packet: Option<&Packet>,
    late: bool,
) -> Result<Vec<Target>, Fail> {
    let Some(success) = new.report.moves() else {
        return Ok(Vec::new());
    };
    let mut targets: Vec<Target> = Vec::new();
    match (&new.refs, packet) {
        (Some(refs), _) => {
            for one in refs {
                let target = match (one.version, counted_at(conn, project, new, &one.at)?) {
                    // A ref without a version that this run already counted, at any version, is a repeat.
                    (None, Some(version)) => {
                        let known = versions::numbered(conn, project, &one.at, version, Budget(0))?;
                        known.ok_or_else(|| Fail::Damaged(format!("{} has lost version {version}", one.at)))?
                    }
                    _ => target(conn, Some(project), actor, one)?,
                };
                if targets.iter().all(|known| known.version.id != target.id) {
                    targets.push(Target {
                        counted: counted(conn, project, new, target.id)?,
                        version: target,
                    });
                }
            }
            for target in &targets {
                if let Some(known) = &target.counted
                    && known.outcome != new.report.as_str()
                {
                    let word = if success { "success" } else { "failure" };
                    return Err(Refusal::conflict(
                        format!(
                            "{} was already reported as {} for {} version {}; nothing of this call was recorded",
                            run(new).unwrap_or_default(),
                            known.outcome,
                            target.version.at,
                            target.version.version
                        ),
                        Hint::both(
                            format!("report a {word} under another outcome_ref"),
                            format!("report a {word} under another --outcome-ref"),
                        ),
                    )
                    .into());
                }
            }
        }
        (None, Some(packet)) if !late || packet.state == State::Accepted => {
            for pin in packets::resolve(conn, project, &packet.id, Budget(0))? {
                if targets.iter().all(|known| known.version.id != pin.version.id) {
                    targets.push(Target {
                        counted: counted(conn, project, new, pin.version.id)?,
                        version: pin.version,
                    });
                }
            }
        }
        _ => {}
    }
    Ok(targets)
}

/// The run that is reported on.
fn run(new: &NewOutcome) -> Option<&str> {
    new.outcome_ref.as_ref().map(OutcomeRef::as_str)
}

/// The version of a record at which this run counted already.
fn counted_at(
    conn: &Connection,
    project: i64,
    new: &NewOutcome,
    at: &crate::domain::Address,
) -> Result<Option<u64>, Fail> {
    Ok(conn
        .prepare_cached(
            "SELECT v.version FROM outcome o JOIN version v ON v.id = o.version_id
             WHERE o.project_id = ?1 AND o.outcome_ref = ?2 AND v.scope = ?3 AND v.key = ?4
             ORDER BY o.seq DESC LIMIT 1",
        )?
        .query_row(params![project, run(new), at.scope.as_str(), at.key.as_str()], |row| {
            number(row, 0)
        })
        .optional()?)
}

fn counted(conn: &Connection, project: i64, new: &NewOutcome, version: i64) -> Result<Option<Counted>, Fail> {
    Ok(conn
        .prepare_cached(
            "SELECT outcome, confidence_before, confidence_after FROM outcome
             WHERE project_id = ?1 AND outcome_ref = ?2 AND version_id = ?3",
        )?
        .query_row(params![project, run(new), version], |row| {
            Ok(Counted {
                outcome: row.get(0)?,
                before: row.get(1)?,
                after: row.get(2)?,
            })
        })
        .optional()?)
}
