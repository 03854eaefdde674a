//! `handoffs list | show | expire | reopen`: looking at the queue, and its upkeep.

use clap::{Args, ValueEnum};

use super::{id, lines, show};
use crate::cli::Face;
use crate::cli::output::{CliError, Done, Ran, confirmed, is_attended, say, warn};
use crate::cli::print::{FAINT, counted, styled, visible};
use crate::cli::words::{count, given};
use crate::domain::handoff::State;
use crate::domain::handoff::listing::{Ended, Listing};
use crate::domain::handoff::seen::Listed;
use crate::domain::sought::{after, page_size};
use crate::domain::{Invalid, Reach, Span, Time, limits};
use crate::wire::make;

/// Whose packets are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Owners {
    /// Those of MEMORY_OWNER and the shared ones
    Own,
    /// The shared ones alone
    Shared,
    /// All of them
    Any,
}

/// What `handoffs list` takes.
#[derive(Debug, Args)]
pub struct List {
    /// Only packets in this state; may be given more than once [default: open, and accepted ones whose claim has lapsed]
    #[arg(long, value_parser = ["open", "accepted", "closed", "expired"], conflicts_with = "all")]
    state: Vec<String>,
    /// Packets in every state
    #[arg(long)]
    all: bool,
    /// Only what this agent wrote, is to get, or holds
    #[arg(long)]
    mine: bool,
    /// Whose packets
    #[arg(long, value_enum, default_value = "own")]
    owners: Owners,
    /// The newest first; else the oldest
    #[arg(long)]
    newest: bool,
    /// How many, 1 to 200 [default: 20]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    limit: Option<i64>,
    /// next_cursor of the answer before, to go on with the same filters
    #[arg(long)]
    cursor: Option<String>,
}

/// What `handoffs show` takes.
#[derive(Debug, Args)]
pub struct Show {
    /// The packet's id
    id: String,
    /// Whose packets
    #[arg(long, value_enum, default_value = "own")]
    owners: Owners,
}

/// What `handoffs expire` takes.
#[derive(Debug, Args)]
pub struct Expire {
    /// These packets, each of which must be open
    ids: Vec<String>,
    /// Every open packet that was written this long ago or longer: 90m, 12h, 7d
    #[arg(long, value_name = "SPAN", conflicts_with = "ids")]
    older_than: Option<String>,
    /// Only show what would be ended
    #[arg(long, requires = "older_than")]
    dry_run: bool,
    /// Do not ask
    #[arg(long, short = 'y')]
    yes: bool,
}

/// What `handoffs reopen` takes.
#[derive(Debug, Args)]
pub struct Reopen {
    /// The packet's id
    id: String,
    /// How long it waits from now; 0: for ever [default: as long as a new one]
    #[arg(long, alias = "expires_in", value_name = "SPAN")]
    expires_in: Option<String>,
}

/// Takes the caller for one who sees what `owners` says.
fn seeing(face: &mut Face, owners: Owners) {
    match owners {
        Owners::Own => {}
        Owners::Shared => face.caller.owner = None,
        Owners::Any => face.caller.reach = Reach::Root,
    }
}

/// Lists packets.
pub async fn list(face: &mut Face, args: List) -> Ran {
    let (limit, warning) = page_size(args.limit)?;
    seeing(face, args.owners);
    let states = match (args.all, args.state.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec![State::Open],
        (false, false) => args.state.iter().filter_map(|word| State::parse(word)).collect(),
    };
    let wanted = Listing {
        states,
        // Who does not say asks what waits, and that waits again.
        lapsed: !args.all && args.state.is_empty(),
        mine: args.mine,
        until: None,
        newest_first: args.newest,
        after: given(args.cursor).map(|text| after('q', &text)).transpose()?,
        limit,
    };
    let waits = wanted.lapsed;
    let page = face.app.handoffs(&face.caller, wanted).await?;
    let mut answer = make::queue(&page, &face.caller.home, warning.into_iter().collect());
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for packet in answer
        .packets
        .iter_mut()
        .filter(|packet| waits && packet.state == "accepted")
    {
        packet.state.push_str(", lapsed");
    }
    lines(face, &answer.packets)?;
    if answer.packets.is_empty() {
        face.out.line("no packets")?;
    } else if let Some(next) = &answer.next_cursor {
        let shown = answer.packets.len();
        face.out.line(styled(
            FAINT,
            &format!("{shown} of {}; go on with --cursor {next}", answer.total),
        ))?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

/// Shows one packet.
pub async fn one(face: &mut Face, args: Show) -> Ran {
    seeing(face, args.owners);
    let shown = face.app.show(&face.caller, id(&args.id)?).await?;
    let answer = make::shown(
        &shown.seen,
        &shown.refs,
        &shown.entries,
        &face.caller.home,
        shown.warnings,
    );
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for line in show::whole(&answer) {
        face.out.line(line)?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

/// Ends open packets before their time.
pub async fn expire(face: &mut Face, args: Expire) -> Ran {
    face.caller.reach = Reach::Root;
    let wanted = match (&args.older_than, args.ids.is_empty()) {
        (Some(span), _) => {
            let age = Span::parse("older_than", span).map_err(|invalid| Invalid {
                expected: "a span such as 90m, 12h or 7d; 0 for every open packet".to_owned(),
                ..invalid
            })?;
            Ended::Until(face.app.ago(age))
        }
        (None, true) => Ended::Due,
        (None, false) => Ended::Named(args.ids.iter().map(|text| id(text)).collect::<Result<_, _>>()?),
    };
    if let Ended::Until(until) = wanted {
        let ask = !args.yes && !args.dry_run && is_attended();
        if args.dry_run || ask {
            let page = would_end(face, until).await?;
            let total = page.total;
            let answer = make::expired(&page.seen, total, &face.caller.home, true);
            let what = counted(total, "open packet");
            if !face.out.is_json() {
                lines(face, &answer.packets)?;
            }
            if args.dry_run || total == 0 {
                if !face.out.took(&answer)? {
                    face.out.line(format!("{what} would be ended; nothing was written"))?;
                }
                return Ok(Done::Well);
            }
            face.out.flush()?;
            if !confirmed(&format!("End {what}?")) {
                say("nothing was written");
                return Ok(Done::Refused);
            }
        }
    }
    let ended = face.app.expire(&face.caller, wanted).await?;
    let answer = make::expired(&ended, ended.len() as u64, &face.caller.home, false);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    lines(face, &answer.packets)?;
    face.out.line(format!("{} ended", counted(answer.total, "packet")))?;
    Ok(Done::Well)
}

/// The open packets that were written at `until` or before: at most a page of them, and how many there are.
async fn would_end(face: &Face, until: Time) -> Result<Listed, CliError> {
    let wanted = Listing {
        until: Some(until),
        ..Listing::open(limits::PAGE_MAX)
    };
    Ok(face.app.handoffs(&face.caller, wanted).await?)
}

/// Opens a packet again.
pub async fn reopen(face: &mut Face, args: Reopen) -> Ran {
    let wait = given(args.expires_in)
        .map(|text| Span::parse("expires_in", &text))
        .transpose()?;
    let seen = face.app.reopen(&face.caller, id(&args.id)?, wait).await?;
    let answer = make::reopened(&seen, &face.caller.home);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let until = answer.packet.expires_at.as_deref().unwrap_or("for ever");
    let line = format!("open again until {until}: {}", show::line(&answer.packet));
    face.out.line(visible(&line))?;
    Ok(Done::Well)
}
