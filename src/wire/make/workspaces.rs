//! Workspaces, projects and pages of a ledger.

use std::collections::BTreeMap;

use super::{entry, listed, total, warnings};
use crate::app::Caller;
use crate::app::upkeep::{Stats, Waiting};
use crate::domain::ledger::{Checkpoint, Told};
use crate::wire::{Counts, Ledger, Numbers, Pinned, Project, Projects, Tally, Workspace, Workspaces};

fn counts(waiting: &Waiting) -> Counts {
    Counts {
        open: waiting.handoffs.open,
        accepted: waiting.handoffs.accepted,
        closed: waiting.handoffs.closed,
        expired: waiting.handoffs.expired,
    }
}

/// Every workspace, by name.
pub fn workspaces(all: &[Waiting]) -> Workspaces {
    let mut named: BTreeMap<&str, Workspace> = BTreeMap::new();
    for one in all {
        let name = one.home.workspace.as_str();
        let workspace = named.entry(name).or_insert_with(|| Workspace {
            workspace: name.to_owned(),
            projects: 0,
            pending_handoff_count: 0,
            last_activity: String::new(),
        });
        workspace.projects += 1;
        workspace.pending_handoff_count += one.handoffs.open;
        if one.last_at > workspace.last_activity {
            one.last_at.clone_into(&mut workspace.last_activity);
        }
    }
    Workspaces {
        workspaces: named.into_values().collect(),
    }
}

/// Projects, by name.
pub fn projects(all: &[Waiting]) -> Projects {
    let mut projects: Vec<Project> = all
        .iter()
        .map(|one| Project {
            workspace: one.home.workspace.to_string(),
            project: one.home.project.to_string(),
            pending_handoff_count: one.handoffs.open,
            handoffs: counts(one),
            entries: one.entries,
            last_activity: one.last_at.clone(),
        })
        .collect();
    projects.sort_by(|a, b| (&a.workspace, &a.project).cmp(&(&b.workspace, &b.project)));
    Projects { projects }
}

/// The numbers of a project.
pub fn numbers(stats: &Stats, caller: &Caller) -> Numbers {
    let tally = |names: &[(String, u64)]| -> Vec<Tally> {
        let one = |(name, records): &(String, u64)| Tally {
            name: name.clone(),
            records: *records,
        };
        names.iter().map(one).collect()
    };
    Numbers {
        agent: caller.agent.to_string(),
        owner: caller.owner.as_ref().map(ToString::to_string),
        session: caller.session.as_ref().map(ToString::to_string),
        workspace: caller.home.workspace.to_string(),
        project: caller.home.project.to_string(),
        records: stats.records,
        versions: stats.versions,
        average_confidence: stats.average_confidence,
        by_agent: tally(&stats.by_agent.0),
        by_agent_total: total(stats.by_agent.1, stats.by_agent.0.len()),
        by_scope: tally(&stats.by_scope.0),
        by_scope_total: total(stats.by_scope.1, stats.by_scope.0.len()),
        handoffs: Counts {
            open: stats.handoffs.open,
            accepted: stats.handoffs.accepted,
            closed: stats.handoffs.closed,
            expired: stats.handoffs.expired,
        },
        waiting: stats.waiting.0.iter().map(|seen| listed(seen, &caller.home)).collect(),
        waiting_total: total(stats.waiting.1, stats.waiting.0.len()),
        checkpoint: stats.checkpoint.clone(),
    }
}

/// A page of a ledger whose last entry stands at `last`.
pub fn ledger(entries: &[Told], last: u64, more: Vec<String>) -> Ledger {
    let read = entries.last().map(Told::seq);
    Ledger {
        entries: entries.iter().map(entry).collect(),
        last,
        next_since: read.filter(|read| *read < last),
        warnings: warnings(more),
    }
}

/// A checkpoint.
pub fn pinned(checkpoint: &Checkpoint) -> Pinned {
    Pinned {
        checkpoint: checkpoint.to_string(),
    }
}
