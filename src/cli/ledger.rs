//! `log`, `verify` and `checkpoint`: the ledger, and the proof of the file.

use std::time::Duration;

use clap::Args;

use super::Face;
use super::handoffs::entry;
use super::output::{CliError, Done, Ran};
use super::print::{FAULT, GOOD, counted, styled, visible};
use super::progress::Progress;
use super::words::given;
use crate::domain::Reach;
use crate::domain::ledger::Checkpoint;
use crate::domain::since::Since;
use crate::wire::make;

/// How often `--follow` looks for new entries.
const LOOK: Duration = Duration::from_millis(250);

/// How many entries one read takes.
const CHUNK: usize = 500;

/// How many entries are shown when nobody says.
const LAST: u64 = 50;

/// What `log` takes.
#[derive(Debug, Args)]
pub struct Log {
    /// Only entries after this position (0: all), or from this instant on: RFC 3339, or a date; without an offset UTC [default:
    /// the newest 50]
    #[arg(long, value_name = "SEQ|TIME", allow_hyphen_values = true)]
    since: Option<String>,
    /// Go on with what is written from now on
    #[arg(long, short = 'f')]
    follow: bool,
    /// See what belongs to any owner, and what is private to any agent
    #[arg(long)]
    root: bool,
}

/// What `verify` takes.
#[derive(Debug, Args)]
pub struct Verify {
    /// Prove too that the store extends this checkpoint; may be given more than once
    #[arg(long = "checkpoint", value_name = "CHECKPOINT")]
    checkpoints: Vec<String>,
}

/// What `checkpoint` takes.
#[derive(Debug, Args)]
pub struct Print {
    /// One for each project of the file, a line each
    #[arg(long)]
    all: bool,
}

/// Prints the ledger, newest last.
pub async fn log(face: &mut Face, args: Log) -> Ran {
    if args.root {
        face.caller.reach = Reach::Root;
    }
    let since = given(args.since).map(|text| Since::parse("since", &text)).transpose()?;
    let mut from = match since {
        Some(since) => face.app.position(&face.caller, since).await?,
        None => face.app.last_entry(&face.caller).await?.saturating_sub(LAST),
    };
    loop {
        let entries = face.app.entries(&face.caller, from, CHUNK).await?;
        for told in &entries {
            if face.out.is_closed() {
                return Ok(Done::Well);
            }
            let one = make::entry(told);
            if face.out.is_json() {
                face.out.document(&one)?;
            } else {
                let line = entry(&one);
                // One line each, as in a table: what was cut off, `handoffs show` and `--json` have.
                match face.out.width() {
                    Some(width) => face.out.line(console::truncate_str(&line, usize::from(width), "…"))?,
                    None => face.out.line(line)?,
                }
            }
            from = told.seq();
        }
        if entries.len() < CHUNK {
            face.out.flush()?;
            if !args.follow || face.out.is_closed() {
                return Ok(Done::Well);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Proves the whole file.
pub async fn verify(face: &mut Face, args: Verify) -> Ran {
    let checkpoints = args
        .checkpoints
        .iter()
        .map(|text| Checkpoint::parse(text))
        .collect::<Result<Vec<_>, _>>()?;
    let compared = match checkpoints.len() {
        0 => String::new(),
        count => format!(", and it extends {}", counted(count as u64, "checkpoint")),
    };
    let progress = Progress::of("verifying");
    let bar = progress.clone();
    let report = face.app.verify(checkpoints, move |done, all| bar.at(done, all)).await?;
    progress.end();
    let db = face.app.config().db.display().to_string();
    if face.out.is_json() {
        face.out.document(&make::verified(&report))?;
    } else if report.ok() {
        let line = format!(
            "intact: {} checked in {}{compared}",
            counted(report.checked, "row"),
            visible(&db)
        );
        face.out.line(styled(GOOD, &line))?;
    } else {
        for fault in &report.faults {
            let line = format!("{}: {}: {}", fault.kind, visible(&fault.place), visible(&fault.what));
            face.out.line(styled(FAULT, &line))?;
        }
        let kinds = counted(report.faults.len() as u64, "kind");
        face.out.line(format!("{kinds} of fault in {}", visible(&db)))?;
    }
    Ok(if report.ok() { Done::Well } else { Done::Refused })
}

/// Prints the checkpoint of the project, or of each.
pub async fn checkpoint(face: &mut Face, args: Print) -> Ran {
    if !args.all {
        let checkpoint = face.app.checkpoint(&face.caller).await?.to_string();
        if !face.out.took(&serde_json::json!({ "checkpoint": checkpoint }))? {
            face.out.line(checkpoint)?;
        }
        return Ok(Done::Well);
    }
    let projects = face.app.projects().await?;
    if projects.is_empty() {
        return Err(CliError::App(face.app.missing()));
    }
    let all: Vec<String> = projects.iter().map(|project| project.checkpoint.to_string()).collect();
    if face.out.took(&serde_json::json!({ "checkpoints": all }))? {
        return Ok(Done::Well);
    }
    for checkpoint in all {
        face.out.line(checkpoint)?;
    }
    Ok(Done::Well)
}
