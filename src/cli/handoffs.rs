//! `handoff`, `resume`, `record_outcome`, and the queue: `handoffs create | list | show | accept | release | cancel |
//! expire | reopen`.

pub mod draft;
mod queue;
mod show;

pub use show::{entry, line};

use clap::{Args, Subcommand};

use self::draft::Draft;
use super::Face;
use super::output::{Done, Ran, say, warn};
use super::print::{FAINT, counted, name, of_state, styled, table, visible};
use super::refs::refs;
use super::words::{directory, given};
use crate::domain::handoff::HandoffId;
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::{Invalid, OutcomeRef, Owner, Reach};
use crate::wire::{self, make};

/// What can be done with the queue.
#[derive(Debug, Subcommand)]
pub enum Handoffs {
    /// Write a packet: from flags, a file, JSON on standard input, or in your editor
    Create(Box<Draft>),
    /// List packets; open ones unless told otherwise
    List(queue::List),
    /// Show one packet with its pinned versions and its ledger entries; claims nothing
    Show(queue::Show),
    /// Take a packet: this one, or the next that waits for you
    Accept(Accept),
    /// Give a claimed packet back to the queue
    Release(End),
    /// Take an open packet back
    Cancel(End),
    /// End open packets before their time; without arguments: write down those whose time is over
    ///
    /// What is ended can be opened again by `handoffs reopen`.
    Expire(queue::Expire),
    /// Open a packet again that its time has ended
    Reopen(queue::Reopen),
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
    #[arg(long, alias = "outcome_ref", allow_hyphen_values = true)]
    outcome_ref: Option<String>,
    /// What else there is to say, up to 16 KiB
    #[arg(long, allow_hyphen_values = true)]
    note: Option<String>,
    /// Whoever holds it, wrote it or owns it
    #[arg(long)]
    force: bool,
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
    #[arg(long, alias = "outcome_ref", allow_hyphen_values = true)]
    outcome_ref: String,
    /// A version you acted on: SCOPE:KEY@VERSION or JSON; may be given more than once [default: those the packet pins]
    #[arg(long, alias = "ref", value_name = "REF")]
    refs: Vec<String>,
    /// The packet you worked on
    #[arg(long, alias = "handoff_id", value_name = "ID")]
    handoff_id: Option<String>,
    /// What else there is to say, up to 16 KiB
    #[arg(long, allow_hyphen_values = true)]
    note: Option<String>,
}

/// Runs one of them.
pub async fn run(face: &mut Face, command: Handoffs) -> Ran {
    match command {
        Handoffs::Create(args) => create(face, *args).await,
        Handoffs::List(args) => queue::list(face, args).await,
        Handoffs::Show(args) => queue::one(face, args).await,
        Handoffs::Accept(args) => take(face, args.id, false, args.cwd).await,
        Handoffs::Release(args) => end(face, args, NewOutcome::release).await,
        Handoffs::Cancel(args) => end(face, args, NewOutcome::cancel).await,
        Handoffs::Expire(args) => queue::expire(face, args).await,
        Handoffs::Reopen(args) => queue::reopen(face, args).await,
    }
}

fn id(text: &str) -> Result<HandoffId, Invalid> {
    HandoffId::named("handoff_id", text)
}

/// Writes a packet.
pub async fn create(face: &mut Face, args: Draft) -> Ran {
    let Some((new, draft)) = draft::packet(args)? else {
        say("handoff-memory: the draft was left as it was; nothing was written");
        return Ok(Done::Refused);
    };
    let (handed, warnings) = match face.app.hand_off(&face.caller, new).await {
        Ok(handed) => handed,
        Err(error) => {
            if let Some(draft) = &draft {
                say(format!("handoff-memory: {}", draft.kept()));
            }
            return Err(error.into());
        }
    };
    if let Some(draft) = draft {
        draft.written();
    }
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

/// A table of packets.
fn lines(face: &mut Face, packets: &[wire::Packet]) -> Result<(), super::output::CliError> {
    if packets.is_empty() {
        return Ok(());
    }
    // Whose a packet is matters where it is not the caller's own.
    let own = face.caller.owner.as_ref().map(Owner::as_str);
    let owned = packets
        .iter()
        .any(|packet| packet.owner.as_deref().is_some_and(|owner| Some(owner) != own));
    let rows = packets.iter().map(|packet| {
        let state = match &packet.ended_as {
            Some(end) => format!("{}, {end}", packet.state),
            None => packet.state.clone(),
        };
        let mut cells = vec![packet.id.clone(), packet.age.clone()];
        if owned {
            cells.push(packet.owner.as_deref().map_or_else(String::new, name));
        }
        cells.extend([show::route(packet), state, packet.title.clone()]);
        (cells, of_state(&packet.state))
    });
    let mut header = vec![".ID", ".AGE"];
    if owned {
        header.push(":OWNER");
    }
    header.extend([":FROM → TO", ".STATE", "TITLE"]);
    let width = face.out.width();
    for line in table(&header, rows.collect(), width) {
        face.out.line(line)?;
    }
    Ok(())
}

/// Takes a packet, or looks at what there is.
pub async fn resume(face: &mut Face, args: Resume) -> Ran {
    take(face, args.handoff_id, args.peek, args.cwd).await
}

async fn take(face: &mut Face, wanted: Option<String>, peek: bool, cwd: Option<String>) -> Ran {
    let wanted = given(wanted).map(|text| id(&text)).transpose()?;
    if let Some(cwd) = given(cwd) {
        face.caller.cwd = Some(directory(&cwd)?);
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
    let run = given(args.outcome_ref).map(|text| OutcomeRef::new(&text)).transpose()?;
    if args.force {
        face.caller.reach = Reach::Root;
    }
    report(face, make(id(&args.id)?, run, args.note)?).await
}

/// Reports what came of it.
pub async fn record_outcome(face: &mut Face, args: RecordOutcome) -> Ran {
    let new = NewOutcome::new(
        Report::parse(&args.outcome)?,
        OutcomeRef::new(&args.outcome_ref)?,
        refs(&args.refs)?,
        given(args.handoff_id).map(|text| id(&text)).transpose()?,
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
    let left_alone = recorded
        .packet
        .as_ref()
        .is_some_and(|packet| packet.left_alone.is_some());
    for line in show::recorded(&answer, left_alone) {
        face.out.line(line)?;
    }
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}
