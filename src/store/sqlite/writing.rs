//! Writing a packet: what it pins, what it continues, what it takes the place of.

use rusqlite::{Connection, params};
use serde_json::json;

use super::entries;
use super::fail::Fail;
use super::handoffs::{Note, expire, expire_due, superseded};
use super::ledger::{self, Journal, keep, project, signed};
use super::rows;
use super::versions::{self, Budget, visible};
use super::{packets, queue};
use crate::domain::handoff::place::same_place;
use crate::domain::handoff::seen::HandedOff;
use crate::domain::handoff::{EndedAs, HandoffId, NewHandoff, Origin, Packet, PacketBody, State};
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::name::nearest;
use crate::domain::record::{Version, distinct_refs};
use crate::domain::{Actor, Address, Agent, Invalid, JsonText, Owner, Reach, Ref, Refusal, Session, Span, limits};

/// How long an identical packet is answered instead of a second one.
const SAME: Span = Span::from_minutes(10);

/// Writes a packet. `touched` is what the writer's session touched, each at the newest version, the oldest touch
/// first; it is pinned when the packet names no refs. `ttl` is how long a packet waits when it does not say.
pub fn hand_off(
    conn: &Connection,
    actor: &Actor,
    new: &NewHandoff,
    touched: &[(Address, u64)],
    ttl: Span,
) -> Result<HandedOff, Fail> {
    if actor.reach == Reach::Owned && (new.shared || actor.owner.is_none()) {
        return Err(Refusal::not_allowed(
            "this server keeps every packet for its owner alone, so that a shared one would be nobody's",
            "write it without `shared`, with a token that has an owner",
        )
        .into());
    }
    let texts = JsonText::of(&new.texts);
    let owner = actor.owner.clone().filter(|_| !new.shared);
    let before = project(conn, &actor.home)?;
    let project_id = before.as_ref().map(|row| row.id);
    let (pins, mut left_out) = match &new.refs {
        Some(refs) => (given(conn, project_id, actor, new, refs)?, Vec::new()),
        None => derived(conn, project_id, actor, touched)?,
    };
    left_out.extend(fit(new, &texts, pins.as_slice(), new.refs.is_none())?);
    let pins: Vec<Version> = pins.into_iter().filter(|pin| !left_out.contains(&pin.at)).collect();

    let asked = Asked {
        new,
        texts: &texts,
        owner: owner.as_ref(),
        pins: &pins,
        wait: new.expires_in.unwrap_or(ttl),
    };
    if let Some(row) = &before
        && let Some(same) = identical(conn, row.id, actor, &asked)?
    {
        let refs = packets::resolve(conn, row.id, &same.id, Budget(0))?;
        let open_by_you = queue::open_by(conn, row.id, actor)?;
        let seen = packets::see(conn, row, actor, same)?;
        return Ok(HandedOff {
            seen,
            refs,
            open_by_you,
            unchanged: true,
            unknown_recipient: None,
            left_out: Vec::new(),
        });
    }

    let mut journal = Journal::open(conn, &actor.home, actor.stamp())?;
    expire_due(&mut journal)?;
    let project_id = journal.project.id;
    let old = new
        .supersedes
        .as_ref()
        .map(|id| superseded(&journal, actor, id))
        .transpose()?;
    let unknown_recipient = unknown_recipient(conn, project_id, new, actor)?;
    let continues = continued(conn, project_id, actor, new)?;
    let id = HandoffId::from_random(super::connection::random()?);
    let checkpoint = journal.checkpoint()?.to_string();
    let wait = new.expires_in.unwrap_or(ttl);
    let expires_at = (!wait.is_zero()).then(|| journal.now.plus(wait).to_string());
    let (content, texts_hash) = keep(conn, texts.as_str())?;
    let texts_hash = texts_hash.to_string();
    let body = PacketBody {
        v: 1,
        id: id.as_str(),
        workspace: actor.home.workspace.as_str(),
        project: actor.home.project.as_str(),
        from_agent: actor.agent.as_str(),
        from_session: actor.session.as_ref().map(Session::as_str),
        to_agent: new.to_agent.as_ref().map(Agent::as_str),
        owner: owner.as_ref().map(Owner::as_str),
        cwd: new.cwd.as_ref().map(|cwd| cwd.as_str()),
        origin: new.origin.as_str(),
        texts_hash: &texts_hash,
        refs: pins.iter().map(|pin| pin.hash.clone()).collect(),
        git: new.git.as_ref(),
        checkpoint: &checkpoint,
        created_at: &journal.at,
        expires_at: expires_at.as_deref(),
        supersedes: old.as_ref().map(|old| old.id.as_str()),
        continues: continues.as_ref().map(HandoffId::as_str),
    };
    let digest = body.hash();
    let seq = journal.next_seq();
    let rows_pinned: Vec<i64> = pins.iter().map(|pin| pin.id).collect();
    rows::packet(conn, project_id, seq, &body, content, &rows_pinned)?;
    journal.append(NewEntry {
        kind: Kind::HandedOff,
        subject: id.as_str().to_owned(),
        // Its end may be moved later: the first one is kept here, for its hash to be proved again.
        detail: expires_at
            .as_ref()
            .map_or_else(|| json!({}), |end| json!({ "expires_at": end })),
        digest: Some(digest),
    })?;
    let mut ended: Vec<HandoffId> = old.into_iter().map(|old| old.id).collect();
    if new.origin == Origin::Automatic && actor.session.is_some() {
        for older in queue::open_automatic(conn, project_id, actor)? {
            if older.id != id && older.from_session == actor.session && !ended.contains(&older.id) {
                ended.push(older.id);
            }
        }
    }
    for older in &ended {
        expire(&mut journal, older, EndedAs::Superseded, Some(&id), Note::default())?;
    }
    let packet = packets::find(conn, project_id, &rooted(actor), &id)?;
    Ok(HandedOff {
        refs: packets::resolve(conn, project_id, &id, Budget(0))?,
        open_by_you: queue::open_by(conn, project_id, actor)?,
        seen: packets::see(conn, &journal.project, actor, packet)?,
        unchanged: false,
        unknown_recipient,
        left_out,
    })
}

/// The writer reads its own packet back, whoever it belongs to.
fn rooted(actor: &Actor) -> Actor {
    Actor {
        reach: Reach::Root,
        ..actor.clone()
    }
}

/// Resolves the refs that the writer gave.
fn given(
    conn: &Connection,
    project: Option<i64>,
    actor: &Actor,
    new: &NewHandoff,
    refs: &[Ref],
) -> Result<Vec<Version>, Fail> {
    let mut pins: Vec<Version> = Vec::new();
    for one in distinct_refs(refs.to_vec())? {
        let version = target(conn, project, actor, &one)?;
        // A private version may be pinned only for the agent that may see it.
        let theirs = version.private_to.is_some() && new.to_agent != version.private_to;
        if theirs {
            return Err(Refusal::not_allowed(
                format!(
                    "{} is private to {}",
                    one.at,
                    version.private_to.map_or(String::new(), |a| a.to_string())
                ),
                "pin it only in a packet for that agent",
            )
            .into());
        }
        if pins.iter().all(|pin| pin.id != version.id) {
            pins.push(version);
        }
    }
    Ok(pins)
}

/// The version that a ref names, if the caller may see it.
pub fn target(conn: &Connection, project: Option<i64>, actor: &Actor, one: &Ref) -> Result<Version, Fail> {
    let found = match (project, one.version) {
        (None, _) => None,
        (Some(project), Some(version)) => versions::numbered(conn, project, &one.at, version, Budget(0))?,
        (Some(project), None) => versions::current(conn, project, &one.at, Budget(0))?,
    };
    found.filter(|version| visible(version, &actor.agent)).ok_or_else(|| {
        let what = match one.version {
            Some(version) => format!("{} has no version {version}", one.at),
            None => format!("there is no record {}", one.at),
        };
        Refusal::not_found(
            what,
            "recall it to see what there is; remember it before you name it in refs",
        )
        .into()
    })
}

/// What the writer's session touched, newest 256, in the order of the touches; the rest is named.
fn derived(
    conn: &Connection,
    project: Option<i64>,
    actor: &Actor,
    touched: &[(Address, u64)],
) -> Result<(Vec<Version>, Vec<Address>), Fail> {
    let Some(project) = project else {
        return Ok((Vec::new(), Vec::new()));
    };
    let mut all: Vec<(Address, u64)> = versions::written_by(conn, actor)?;
    all.retain(|(at, _)| touched.iter().all(|(known, _)| known != at));
    all.extend(touched.iter().cloned());
    let mut pins = Vec::new();
    for (at, version) in all {
        if let Some(found) = versions::numbered(conn, project, &at, version, Budget(0))?
            && found.private_to.is_none()
        {
            pins.push(found);
        }
    }
    let over = pins.len().saturating_sub(limits::REFS);
    let left_out = pins.drain(..over).map(|pin| pin.at).collect();
    Ok((pins, left_out))
}

/// Keeps a packet under its limit: silent pins give way, the oldest first; what was given is refused.
fn fit(new: &NewHandoff, texts: &JsonText, pins: &[Version], silent: bool) -> Result<Vec<Address>, Fail> {
    let others = [
        new.to_agent.as_ref().map_or(0, |agent| agent.as_str().len()),
        new.cwd.as_ref().map_or(0, |cwd| cwd.as_str().len()),
    ];
    // The rest of a packet's fields, names and all, is bounded by this much.
    let mut size = texts.as_str().len() + others.iter().sum::<usize>() + 2_048;
    let mut left_out = Vec::new();
    for pin in pins.iter().rev() {
        let bytes = JsonText::of(&(pin.at.scope.as_str(), pin.at.key.as_str()))
            .as_str()
            .len()
            + 96;
        if size + bytes <= limits::PACKET_BYTES {
            size += bytes;
        } else if silent {
            left_out.push(pin.at.clone());
        } else {
            size += bytes;
        }
    }
    if size > limits::PACKET_BYTES {
        return Err(Invalid::new(
            "summary",
            format!("part of a packet of about {size} bytes"),
            format!(
                "a packet with its refs of at most {} bytes; remember long texts and pin them",
                limits::PACKET_BYTES
            ),
        )
        .into());
    }
    Ok(left_out)
}

/// A packet as it is about to be written.
struct Asked<'a> {
    new: &'a NewHandoff,
    texts: &'a JsonText,
    owner: Option<&'a Owner>,
    pins: &'a [Version],
    /// How long it is to wait; zero: for ever.
    wait: Span,
}

/// The same packet, written by the same agent minutes ago and not ended yet.
fn identical(conn: &Connection, project: i64, actor: &Actor, asked: &Asked) -> Result<Option<Packet>, Fail> {
    let Asked {
        new,
        texts,
        owner,
        pins,
        wait,
    } = *asked;
    let since = crate::domain::Time::from_millis(actor.now.millis() - SAME.millis()).to_string();
    let ids: Vec<String> = {
        let mut statement = conn.prepare_cached(
            "SELECT h.id FROM handoff h JOIN content c ON c.id = h.content_id
             WHERE h.project_id = ?1 AND h.state IN ('open', 'accepted') AND h.seq > ?5 AND h.created_at >= ?2
                AND fold(h.from_agent) = ?3 AND c.body = ?4 ORDER BY h.seq DESC",
        )?;
        let from = signed(ledger::before(conn, project, &since)?);
        let params = params![project, since, actor.agent.folded(), texts.as_str(), from];
        let rows = statement.query_map(params, |row| row.get(0))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    for id in ids {
        let id = versions::stored(HandoffId::named("handoff_id", &id))?;
        let packet = packets::find(conn, project, &rooted(actor), &id)?;
        let same_end = match packet.expires_at {
            Some(end) => !wait.is_zero() && end == packet.created_at.plus(wait),
            None => wait.is_zero(),
        };
        let pinned: Vec<i64> = packets::resolve(conn, project, &id, Budget(0))?
            .iter()
            .map(|r| r.version.id)
            .collect();
        let wanted: Vec<i64> = pins.iter().map(|pin| pin.id).collect();
        let same_refs = pinned == wanted || (new.refs.is_none() && wanted.is_empty());
        if packet.state_at(actor.now) != State::Expired
            && packet.to_agent == new.to_agent
            && packet.owner.as_ref() == owner
            && packet.origin == new.origin
            && packet.supersedes == new.supersedes
            && same_place(packet.cwd.as_ref(), new.cwd.as_ref())
            && same_end
            && same_refs
        {
            return Ok(Some(packet));
        }
    }
    Ok(None)
}

/// The packet whose work the writer's session took up in the same directory last.
fn continued(conn: &Connection, project: i64, actor: &Actor, new: &NewHandoff) -> Result<Option<HandoffId>, Fail> {
    let Some(session) = &actor.session else { return Ok(None) };
    let mut statement = conn.prepare_cached(
        "SELECT id FROM handoff WHERE project_id = ?1 AND accepted_session = ?2 ORDER BY accepted_at DESC, seq DESC",
    )?;
    let ids: Vec<String> = statement
        .query_map(params![project, session.as_str()], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for id in ids {
        let packet = packets::find(
            conn,
            project,
            &rooted(actor),
            &versions::stored(HandoffId::named("id", &id))?,
        )?;
        if packet.accepted_by.as_ref() == Some(&actor.agent)
            && packet.visible_to(&actor.sight())
            && same_place(packet.receiving_cwd.as_ref(), new.cwd.as_ref())
        {
            return Ok(Some(packet.id));
        }
    }
    Ok(None)
}

/// The recipient, when nobody of that name ever did anything here that the caller may know of, with the nearest names that did.
fn unknown_recipient(
    conn: &Connection,
    project: i64,
    new: &NewHandoff,
    actor: &Actor,
) -> Result<Option<(Agent, Vec<String>)>, Fail> {
    let Some(to) = new.to_agent.as_ref().filter(|to| **to != actor.agent) else {
        return Ok(None);
    };
    let known = entries::agents(conn, project, actor)?;
    let folded = to.folded();
    if known.iter().any(|name| crate::domain::name::fold(name) == folded) {
        return Ok(None);
    }
    Ok(Some((
        to.clone(),
        nearest(to.as_str(), known.iter().map(String::as_str)),
    )))
}
