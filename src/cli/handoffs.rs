//! `handoff`, `resume`, `record_outcome`, and the queue: `handoffs create | list | show | accept | release | cancel |
//! expire | reopen`.

pub mod draft;
mod show;

pub use show::{entry, line};

use clap::{Args, Subcommand, ValueEnum};

use self::draft::Draft;
use super::Face;
use super::output::{Done, Ran, confirmed, is_attended, say, warn};
use super::print::{FAINT, counted, of_state, styled, table, visible};
use super::refs::refs;
use crate::app::memory::page_size;
use crate::domain::handoff::listing::{Ended, Listing};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::seen::Seen;
use crate::domain::handoff::{HandoffId, State};
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::sought::after;
use crate::domain::{Invalid, OutcomeRef, Span};
use crate::wire::{self, make};

/// What can be done with the queue.
#[derive(Debug, Subcommand)]
pub enum Handoffs {
    /// Write a packet: from flags, a file, JSON on standard input, or in your editor
    Create(Box<Draft>),
    /// List packets; open ones unless told otherwise
    List(List),
    /// Show one packet with its pinned versions and its ledger entries; claims nothing
    Show(Show),
    /// Take a packet: this one, or the next that waits for you
    Accept(Accept),
    /// Give a claimed packet back to the queue
    Release(End),
    /// Take an open packet back
    Cancel(End),
    /// End open packets before their time; without arguments: write down those whose time is over
    ///
    /// What is ended can be opened again by `handoffs reopen`.
    Expire(Expire),
    /// Open a packet again that its time has ended
    Reopen(Reopen),
}

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
    /// Only packets in this state; may be given more than once [default: open]
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
    #[arg(long, allow_negative_numbers = true)]
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

/// What `handoffs accept` takes.
#[derive(Debug, Args)]
pub struct Accept {
    /// The packet's id [default: the next one that waits for you]
    id: Option<String>,
    /// The directory you work in [default: this one]
    #[arg(long)]
    cwd: Option<String>,
}

/// What `handoffs release` and `handoffs cancel` take.
#[derive(Debug, Args)]
pub struct End {
    /// The packet's id
    id: String,
    /// The run, ticket or commit that this is about
    #[arg(long, alias = "outcome_ref")]
    outcome_ref: Option<String>,
    /// What else there is to say, up to 16 KiB
    #[arg(long)]
    note: Option<String>,
    /// Whoever holds it, wrote it or owns it
    #[arg(long)]
    force: bool,
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

/// What `resume` takes.
#[derive(Debug, Args)]
pub struct Resume {
    /// This packet [default: the next one that waits for you]
    #[arg(long, alias = "handoff_id", value_name = "ID")]
    handoff_id: Option<String>,
    /// Only look, claim nothing
    #[arg(long)]
    peek: bool,
    /// The directory you work in [default: this one]
    #[arg(long)]
    cwd: Option<String>,
}

/// What `record_outcome` takes.
#[derive(Debug, Args)]
pub struct RecordOutcome {
    /// success, failure, abandoned or released
    #[arg(long)]
    outcome: String,
    /// The run, ticket or commit that this is about
    #[arg(long, alias = "outcome_ref")]
    outcome_ref: String,
    /// A version you acted on: SCOPE:KEY@VERSION or JSON; may be given more than once [default: those the packet pins]
    #[arg(long, alias = "ref", value_name = "REF")]
    refs: Vec<String>,
    /// The packet you worked on
    #[arg(long, alias = "handoff_id", value_name = "ID")]
    handoff_id: Option<String>,
    /// What else there is to say, up to 16 KiB
    #[arg(long)]
    note: Option<String>,
}

/// Runs one of them.
pub async fn run(face: &mut Face, command: Handoffs) -> Ran {
    match command {
        Handoffs::Create(args) => create(face, *args).await,
        Handoffs::List(args) => list(face, args).await,
        Handoffs::Show(args) => one(face, args).await,
        Handoffs::Accept(args) => take(face, args.id, false, args.cwd).await,
        Handoffs::Release(args) => end(face, args, NewOutcome::release).await,
        Handoffs::Cancel(args) => end(face, args, NewOutcome::cancel).await,
        Handoffs::Expire(args) => expire(face, args).await,
        Handoffs::Reopen(args) => reopen(face, args).await,
    }
}

fn id(text: &str) -> Result<HandoffId, Invalid> {
    HandoffId::named("handoff_id", text)
}

/// Takes the caller for one who sees what `owners` says.
fn seeing(face: &mut Face, owners: Owners) {
    match owners {
        Owners::Own => {}
        Owners::Shared => face.caller.owner = None,
        Owners::Any => face.caller.root = true,
    }
}

/// Writes a packet.
pub async fn create(face: &mut Face, args: Draft) -> Ran {
    let Some(new) = draft::packet(args)? else {
        say("handoff-memory: the draft was left as it was; nothing was written");
        return Ok(Done::Refused);
    };
    let (handed, warnings) = face.app.hand_off(&face.caller, new).await?;
    let answer = make::handed_off(&handed, &face.caller.home, warnings);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let what = if answer.unchanged.is_some() {
        "already there"
    } else {
        "written"
    };
    face.out
        .line(format!("{what}: {}", visible(&show::line(&answer.packet))))?;
    for one in show::of_refs(&answer.refs) {
        face.out.line(one)?;
    }
    let open = counted(answer.open_by_you, "open packet");
    face.out.line(styled(
        FAINT,
        &format!("{open} by {} in all", visible(face.caller.agent.as_str())),
    ))?;
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

async fn list(face: &mut Face, args: List) -> Ran {
    let (limit, warning) = page_size(args.limit)?;
    seeing(face, args.owners);
    let states = match (args.all, args.state.is_empty()) {
        (true, _) => Vec::new(),
        (false, true) => vec![State::Open],
        (false, false) => args.state.iter().filter_map(|word| State::parse(word)).collect(),
    };
    let wanted = Listing {
        states,
        mine: args.mine,
        until: None,
        newest_first: args.newest,
        after: args.cursor.map(|text| after('q', &text)).transpose()?,
        limit,
    };
    let (seen, total) = face.app.handoffs(&face.caller, wanted).await?;
    let answer = make::queue(&seen, total, &face.caller.home, limit, warning.into_iter().collect());
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    lines(face, &answer.packets)?;
    if answer.packets.is_empty() {
        face.out.line("no packets")?;
    } else if let Some(next) = &answer.next_cursor {
        let shown = answer.packets.len();
        face.out.line(styled(
            FAINT,
            &format!("{shown} of {total}; go on with --cursor {next}"),
        ))?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

/// A table of packets.
fn lines(face: &mut Face, packets: &[wire::Packet]) -> Result<(), super::output::CliError> {
    if packets.is_empty() {
        return Ok(());
    }
    let rows = packets.iter().map(|packet| {
        let state = match &packet.ended_as {
            Some(end) => format!("{}, {end}", packet.state),
            None => packet.state.clone(),
        };
        let cells = vec![
            packet.id.clone(),
            packet.age.clone(),
            show::route(packet),
            state,
            packet.title.clone(),
        ];
        (cells, of_state(&packet.state))
    });
    let width = face.out.width();
    for line in table(&["ID", "AGE", "FROM → TO", "STATE", "TITLE"], rows.collect(), width) {
        face.out.line(line)?;
    }
    Ok(())
}

async fn one(face: &mut Face, args: Show) -> Ran {
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

/// Takes a packet, or looks at what there is.
pub async fn resume(face: &mut Face, args: Resume) -> Ran {
    take(face, args.handoff_id, args.peek, args.cwd).await
}

async fn take(face: &mut Face, wanted: Option<String>, peek: bool, cwd: Option<String>) -> Ran {
    let wanted = wanted.map(|text| id(&text)).transpose()?;
    if let Some(cwd) = cwd {
        face.caller.cwd = Some(Cwd::new(&cwd)?);
    }
    let answer = if peek {
        let (peeked, warnings) = face.app.peek(&face.caller, wanted).await?;
        make::peeked(&peeked, &face.caller.home, warnings)
    } else {
        let (resumed, warnings) = face.app.resume(&face.caller, wanted).await?;
        make::resumed(&resumed, &face.caller.home, warnings)
    };
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for line in show::taken(&answer) {
        face.out.line(line)?;
    }
    if let Some(packets) = &answer.packets {
        lines(face, packets)?;
    }
    for line in show::queue(&answer) {
        face.out.line(line)?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

async fn end(
    face: &mut Face,
    args: End,
    make: fn(HandoffId, Option<OutcomeRef>, Option<String>) -> Result<NewOutcome, Invalid>,
) -> Ran {
    let run = args.outcome_ref.map(|text| OutcomeRef::new(&text)).transpose()?;
    face.caller.root |= args.force;
    report(face, make(id(&args.id)?, run, args.note)?).await
}

/// Reports what came of it.
pub async fn record_outcome(face: &mut Face, args: RecordOutcome) -> Ran {
    let new = NewOutcome::new(
        Report::parse(&args.outcome)?,
        OutcomeRef::new(&args.outcome_ref)?,
        refs(&args.refs)?,
        args.handoff_id.map(|text| id(&text)).transpose()?,
        args.note,
    )?;
    report(face, new).await
}

async fn report(face: &mut Face, new: NewOutcome) -> Ran {
    let (recorded, warnings) = face.app.record_outcome(&face.caller, new.clone()).await?;
    let answer = make::recorded(&new, &recorded, warnings);
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for line in show::recorded(&answer) {
        face.out.line(line)?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

async fn expire(face: &mut Face, args: Expire) -> Ran {
    face.caller.root = true;
    let wanted = match (&args.older_than, args.ids.is_empty()) {
        (Some(span), _) => {
            let age = Span::parse("older_than", span)?;
            Ended::Until(face.app.ago(age))
        }
        (None, true) => Ended::Due,
        (None, false) => Ended::Named(args.ids.iter().map(|text| id(text)).collect::<Result<_, _>>()?),
    };
    if let Ended::Until(until) = wanted {
        let ask = !args.yes && !args.dry_run && is_attended();
        if args.dry_run || ask {
            let (seen, total) = would_end(face, until).await?;
            if args.dry_run && face.out.is_json() {
                let answer = make::expired(&seen, total, &face.caller.home, true);
                face.out.document(&answer)?;
                return Ok(Done::Well);
            }
            let answer = make::expired(&seen, total, &face.caller.home, true);
            if !face.out.is_json() {
                lines(face, &answer.packets)?;
            }
            let what = counted(total, "open packet");
            if args.dry_run || total == 0 {
                face.out.line(format!("{what} would be ended; nothing was written"))?;
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
async fn would_end(face: &Face, until: crate::domain::Time) -> Result<(Vec<Seen>, u64), super::output::CliError> {
    let wanted = Listing {
        until: Some(until),
        ..Listing::open(crate::domain::limits::PAGE_MAX)
    };
    Ok(face.app.handoffs(&face.caller, wanted).await?)
}

async fn reopen(face: &mut Face, args: Reopen) -> Ran {
    let wait = args
        .expires_in
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
