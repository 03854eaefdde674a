//! `memory_stats`: who and where one is, what there is, and what waits.

use clap::Args;

use super::Face;
use super::handoffs::line;
use super::output::{Done, Ran, say};
use super::print::{FAINT, FAULT, GOOD, HEADING, bytes, counted, styled, visible};
use crate::domain::ledger::Checkpoint;
use crate::wire::{self, make};

/// What `memory_stats` takes.
#[derive(Debug, Args)]
pub struct MemoryStats {
    /// Prove every hash and chain of the store
    #[arg(long)]
    verify: bool,
    /// A checkpoint kept from earlier: prove that the store still extends it
    #[arg(long)]
    checkpoint: Option<String>,
}

/// Tells the numbers.
pub async fn memory_stats(face: &mut Face, args: MemoryStats) -> Ran {
    let checkpoint = args.checkpoint.map(|text| Checkpoint::parse(&text)).transpose()?;
    let report = if args.verify || checkpoint.is_some() {
        Some(
            face.app
                .verify_leniently(&face.caller, checkpoint.into_iter().collect())
                .await?,
        )
    } else {
        None
    };
    let overview = face.app.overview(&face.caller).await?;
    let from = match face.app.config().agent_from {
        // A call of the command line has no client that could give itself a name.
        "client" => "default",
        from => from,
    };
    let answer = make::stats(&overview, &face.caller, from, report.as_ref(), Vec::new());
    if face.out.is_json() {
        face.out.document(&answer)?;
    } else {
        for line in lines(&answer) {
            face.out.line(line)?;
        }
        for warning in &answer.warnings {
            say(format!("warning: {}", visible(warning)));
        }
    }
    Ok(match &report {
        Some(report) if !report.ok() => Done::Refused,
        _ => Done::Well,
    })
}

fn lines(answer: &wire::Stats) -> Vec<String> {
    let store = &answer.store;
    let mut lines = Vec::new();
    let mut fact = |name: &str, text: String| {
        lines.push(format!(
            "{} {}",
            styled(HEADING, &format!("{name:<11}")),
            visible(&text)
        ))
    };
    fact("database", format!("{} (from {})", store.path, store.path_from));
    fact(
        "",
        format!(
            "{}, write-ahead log {}, schema {}, SQLite {}",
            bytes(store.bytes),
            bytes(store.wal_bytes),
            store.schema,
            store.sqlite
        ),
    );
    fact("program", format!("{} {}", store.binary, store.version));
    fact(
        "agent",
        format!("{} (from {})", answer.numbers.agent, answer.agent_from),
    );
    if let Some(session) = &answer.numbers.session {
        fact("session", session.clone());
    }
    fact(
        "project",
        format!("{}/{}", answer.numbers.workspace, answer.numbers.project),
    );
    let average = answer
        .numbers
        .average_confidence
        .map_or_else(String::new, |sure| format!(", confidence {sure:.2} on average"));
    fact(
        "records",
        format!(
            "{} in {}{average}",
            counted(answer.numbers.records, "record"),
            counted(answer.numbers.versions, "version")
        ),
    );
    let tally = |names: &[wire::Tally]| {
        let names: Vec<String> = names
            .iter()
            .take(8)
            .map(|one| format!("{} ({})", one.name, one.records))
            .collect();
        names.join(", ")
    };
    if !answer.numbers.by_agent.is_empty() {
        fact("by agent", tally(&answer.numbers.by_agent));
        fact("by scope", tally(&answer.numbers.by_scope));
    }
    let counts = &answer.numbers.handoffs;
    fact(
        "packets",
        format!(
            "{} open, {} accepted, {} closed, {} expired",
            counts.open, counts.accepted, counts.closed, counts.expired
        ),
    );
    if let Some(checkpoint) = &answer.numbers.checkpoint {
        fact("checkpoint", checkpoint.clone());
    }
    if let Some(verify) = &answer.verify {
        for fault in &verify.faults {
            let text = format!("{}: {}: {}", fault.kind, fault.place, fault.what);
            lines.push(styled(FAULT, &visible(&text)));
        }
        if verify.ok {
            lines.push(styled(GOOD, &format!("intact: {} rows checked", verify.checked)));
        }
    }
    for packet in &answer.numbers.waiting {
        lines.push(visible(&format!("waiting     {}, {} old", line(packet), packet.age)));
    }
    if let Some(total) = answer.numbers.waiting_total {
        let more = total.saturating_sub(answer.numbers.waiting.len() as u64);
        lines.push(format!(
            "waiting     and {more} more; `resume --peek` shows what comes first"
        ));
    }
    if answer.numbers.waiting.is_empty() {
        lines.push(styled(FAINT, "nothing waits for this agent"));
    }
    lines
}
