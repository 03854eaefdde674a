//! `doctor`: a look at everything that can be wrong.

use clap::Args;

use super::Face;
use super::output::{Done, Ran};
use super::print::{FAINT, FAULT, GOOD, HEADING, styled, visible};
use super::progress::Progress;
use crate::wire::make;

/// What `doctor` takes.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Make the search index anew from the current versions first
    #[arg(long)]
    rebuild_index: bool,
}

/// Looks at everything.
pub async fn doctor(face: &mut Face, args: Doctor) -> Ran {
    if args.rebuild_index {
        face.app.require()?;
        face.app.rebuild_index().await?;
    }
    let progress = Progress::of("looking");
    let bar = progress.clone();
    let health = face.app.doctor(move |done, all| bar.at(done, all)).await?;
    progress.end();
    let answer = make::health(&health);
    if face.out.is_json() {
        face.out.document(&answer)?;
    } else {
        for check in &answer.checks {
            let (style, word) = if check.ok { (GOOD, "ok") } else { (FAULT, "!!") };
            let name = styled(HEADING, &format!("{:<11}", check.name));
            face.out
                .line(format!("{} {name} {}", styled(style, word), visible(&check.what)))?;
            if let Some(fix) = &check.fix {
                face.out.line(format!("               → {}", visible(fix)))?;
            }
        }
        for agent in &answer.agents {
            let line = format!(
                "   agent       {} in {}/{}, last at {}",
                agent.agent, agent.workspace, agent.project, agent.last_at
            );
            face.out.line(styled(FAINT, &visible(&line)))?;
        }
        let wrong = answer.checks.iter().filter(|check| !check.ok).count();
        face.out.line(match wrong {
            0 => styled(GOOD, "everything is in order"),
            wrong => styled(FAULT, &format!("{wrong} to look at")),
        })?;
    }
    Ok(if answer.ok { Done::Well } else { Done::Refused })
}
