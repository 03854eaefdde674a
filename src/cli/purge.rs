//! `purge`: remove stored texts on purpose.

use clap::Args;

use super::Face;
use super::output::{CliError, Done, Ran, confirmed, is_attended, say, text_of};
use super::print::{FAINT, WARNING, address, counted, styled, visible};
use crate::domain::handoff::HandoffId;
use crate::domain::purge::{Found, Reason, Target};
use crate::domain::record::version_number;
use crate::domain::{Address, Invalid, Key, Reach, Scope};
use crate::wire::{self, make};

/// What `purge` takes.
#[derive(Debug, Args)]
pub struct Purge {
    /// A record's scope; with --key, and --version or --all-versions
    #[arg(long, requires = "key")]
    scope: Option<String>,
    /// A record's key
    #[arg(long, requires = "scope")]
    key: Option<String>,
    /// This version of the record
    #[arg(long, requires = "key")]
    version: Option<u64>,
    /// Every version of the record
    #[arg(long, requires = "key", conflicts_with = "version")]
    all_versions: bool,
    /// A packet's texts, and every note on it
    #[arg(long, value_name = "ID", conflicts_with_all = ["scope", "outcome", "containing"])]
    handoff: Option<String>,
    /// The note of an outcome
    #[arg(long, value_name = "ID", conflicts_with_all = ["scope", "containing"])]
    outcome: Option<String>,
    /// Every value, packet and note of the whole file that holds this text; `-`: from standard input, so that it does not
    /// stand in your shell's history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with = "scope")]
    containing: Option<String>,
    /// Why: secret, personal, mistake or other; it stands in the ledger
    #[arg(long, value_name = "REASON", required_unless_present_any = ["dry_run", "finish"])]
    why: Option<String>,
    /// Only show what would be purged
    #[arg(long)]
    dry_run: bool,
    /// Only take what is left of earlier purges out of the file, after a reader stood in the way
    #[arg(long, conflicts_with_all = ["scope", "handoff", "outcome", "containing", "why", "dry_run"])]
    finish: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
}

impl Purge {
    fn target(&self) -> Result<Target, CliError> {
        if let Some(text) = &self.containing {
            let text = if text == "-" {
                text_of("-")?.trim_end_matches(['\n', '\r']).to_owned()
            } else {
                text.clone()
            };
            return Ok(Target::containing(&text)?);
        }
        if let Some(id) = &self.handoff {
            return Ok(Target::Packet(HandoffId::named("handoff", id)?));
        }
        if let Some(id) = &self.outcome {
            return Ok(Target::outcome(id)?);
        }
        let (Some(scope), Some(key)) = (&self.scope, &self.key) else {
            let expected = "--scope and --key, --handoff, --outcome or --containing";
            return Err(Invalid::new("arguments", "without anything to purge", expected).into());
        };
        let at = Address {
            scope: Scope::new(scope)?,
            key: Key::new(key)?,
        };
        match (self.version, self.all_versions) {
            (Some(number), _) => Ok(Target::Record(at, Some(version_number("version", number)?))),
            (None, true) => Ok(Target::Record(at, None)),
            (None, false) => Err(Invalid::new("version", "missing", "--version NUMBER, or --all-versions").into()),
        }
    }
}

/// Takes what is left of earlier purges out of the file.
async fn finish(face: &mut Face, answer: &wire::PurgedTexts) -> Ran {
    face.app.clean().await?;
    if !face.out.took(answer)? {
        face.out
            .line("nothing was purged; nothing is left of what was purged before")?;
    }
    Ok(Done::Well)
}

/// Removes texts.
pub async fn purge(face: &mut Face, args: Purge) -> Ran {
    face.caller.reach = Reach::Root;
    // A secret is not gone because it was looked for in the wrong place.
    face.app.require()?;
    if args.finish {
        return finish(face, &make::purged_texts(&Found::default(), false)).await;
    }
    let why = args.why.as_deref().map(Reason::parse).transpose()?;
    let found = face.app.purgeable(&face.caller, args.target()?).await?;
    let answer = make::purged_texts(&found, args.dry_run || found.texts.is_empty());
    if !face.out.is_json() {
        for line in lines(&answer) {
            face.out.line(line)?;
        }
    }
    if args.dry_run {
        if !face.out.took(&answer)? {
            face.out.line("nothing was purged")?;
        }
        return Ok(Done::Well);
    }
    if found.texts.is_empty() {
        // It may have been emptied by a purge that was killed before it had cleaned the file.
        return finish(face, &answer).await;
    }
    let what = counted(found.texts.len() as u64, "text");
    if !args.yes {
        if !is_attended() {
            return Err(Invalid::new("yes", "missing", "--yes, as there is nobody to ask").into());
        }
        face.out.flush()?;
        if !confirmed(&format!("Purge {what} for ever?")) {
            say("nothing was purged");
            return Ok(Done::Refused);
        }
    }
    let why = why.ok_or_else(|| Invalid::new("why", "missing", "secret, personal, mistake or other"))?;
    face.app.purge(&face.caller, found.texts, why).await?;
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    face.out.line(format!("{what} purged; the chains still verify"))?;
    say("handoff-memory: backups and exports that were made before still hold it; they are yours to delete");
    Ok(Done::Well)
}

fn lines(answer: &wire::PurgedTexts) -> Vec<String> {
    let mut lines = Vec::new();
    for text in &answer.texts {
        let subject = match serde_json::from_str::<(String, String, u64)>(&text.subject) {
            Ok((scope, key, version)) => format!("{} version {version}", address(&scope, &key)),
            Err(_) => text.subject.clone(),
        };
        let line = format!("{:<6} of {subject} in {}/{}", text.what, text.workspace, text.project);
        lines.push(visible(&line));
    }
    for name in &answer.names {
        let line = format!("stays: {name} has it in a name, which is part of a hash");
        lines.push(styled(WARNING, &visible(&line)));
    }
    if let Some(total) = answer.names_total {
        lines.push(styled(FAINT, &format!("{total} such names in all")));
    }
    lines
}
