//! Copies, exports, imports, purges, and a look at everything.

use std::path::Path;

use super::{flag, total};
use crate::app::{doctor, transfer};
use crate::domain::purge::Found;
use crate::wire::{BackedUp, Check, Exported, Health, Imported, ImportedProject, PurgedText, PurgedTexts, SeenAgent};

fn texts(checkpoints: &[crate::domain::ledger::Checkpoint]) -> Vec<String> {
    checkpoints.iter().map(ToString::to_string).collect()
}

/// A copy that was made and proved.
pub fn backed_up(done: &transfer::BackedUp) -> BackedUp {
    BackedUp {
        path: done.path.display().to_string(),
        bytes: done.bytes,
        checked: done.checked,
        checkpoints: texts(&done.checkpoints),
    }
}

/// What was exported.
pub fn exported(path: &Path, done: &transfer::Exported) -> Exported {
    Exported {
        path: path.display().to_string(),
        entries: done.entries,
        checkpoints: texts(&done.checkpoints),
    }
}

/// What became of an import; `replaying` when current values were to be written anew.
pub fn imported(done: &transfer::Imported, replaying: bool) -> Imported {
    let projects = done.projects.iter().map(|project| ImportedProject {
        workspace: project.home.workspace.to_string(),
        project: project.home.project.to_string(),
        state: match (project.diverged_at, project.known, project.added) {
            (Some(_), ..) => "diverged",
            (None, 0, _) => "added",
            (None, _, 0) => "unchanged",
            (None, ..) => "extended",
        }
        .to_owned(),
        known: project.known,
        added: project.added,
        diverged_at: project.diverged_at,
        checkpoint: project.checkpoint.as_ref().map(ToString::to_string),
    });
    Imported {
        projects: projects.collect(),
        complete: done.complete,
        replayed: replaying.then_some(done.replayed),
    }
}

/// What was purged, or would be.
pub fn purged_texts(found: &Found, dry_run: bool) -> PurgedTexts {
    let texts = found.texts.iter().map(|text| PurgedText {
        workspace: text.home.workspace.to_string(),
        project: text.home.project.to_string(),
        subject: text.subject.clone(),
        what: text.what.as_str().to_owned(),
    });
    PurgedTexts {
        texts: texts.collect(),
        names: found.names.clone(),
        names_total: total(found.names_total, found.names.len()),
        dry_run: flag(dry_run),
    }
}

/// A look at everything.
pub fn health(health: &doctor::Health) -> Health {
    let checks = health.checks.iter().map(|check| Check {
        name: check.name.to_owned(),
        ok: check.fix.is_none(),
        what: check.what.clone(),
        fix: check.fix.clone(),
    });
    let agents = health.projects.iter().flat_map(|project| {
        project.agents.iter().map(|(agent, at)| SeenAgent {
            workspace: project.home.workspace.to_string(),
            project: project.home.project.to_string(),
            agent: agent.clone(),
            last_at: at.clone(),
        })
    });
    Health {
        ok: health.ok(),
        checks: checks.collect(),
        agents: agents.collect(),
    }
}
