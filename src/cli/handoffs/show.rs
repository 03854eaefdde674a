//! Packets, refs, claims and reports in words for people.

use crate::cli::print::{
    FAINT, FAULT, GOOD, HEADING, WARNING, address, counted, name, of_state, quoted, styled, value, visible,
};
use crate::wire;

/// From whom and to whom a packet goes.
pub fn route(packet: &wire::Packet) -> String {
    let to = packet.to_agent.as_deref().map_or("anyone".to_owned(), name);
    let unseen = if packet.to_agent_unseen.is_some() {
        " (never seen)"
    } else {
        ""
    };
    format!("{} → {to}{unseen}", name(&packet.from_agent))
}

/// A packet on one line.
pub fn line(packet: &wire::Packet) -> String {
    format!("{}  {}  {}  {}", packet.id, route(packet), packet.state, packet.title)
}

/// What a packet says of itself, and its texts.
fn packet(packet: &wire::Packet) -> Vec<String> {
    let state = match &packet.ended_as {
        Some(end) => format!("{} ({end})", packet.state),
        None => packet.state.clone(),
    };
    // How old it is comes first: a reader judges everything else by it.
    let mut lines = vec![format!(
        "{}  {} old  {}",
        styled(HEADING, &packet.id),
        packet.age,
        styled(of_state(&packet.state), &state)
    )];
    let mut fact = |name: &str, text: Option<String>| {
        if let Some(text) = text {
            lines.push(format!("  {:<10} {}", name, visible(&text)));
        }
    };
    let in_session = |session: &Option<String>| {
        session
            .as_ref()
            .map_or_else(String::new, |session| format!(" (session {})", name(session)))
    };
    fact("title", Some(packet.title.clone()));
    let from = format!("{}{}", name(&packet.from_agent), in_session(&packet.from_session));
    let unseen = if packet.to_agent_unseen.is_some() {
        " (no agent of that name was seen here)"
    } else {
        ""
    };
    fact("from", Some(from));
    fact(
        "to",
        Some(packet.to_agent.as_deref().map_or("anyone".to_owned(), name) + unseen),
    );
    fact("owner", packet.owner.as_deref().map(name));
    fact(
        "project",
        Some(format!("{}/{}", name(&packet.workspace), name(&packet.project))),
    );
    fact("directory", packet.cwd.as_deref().map(name));
    fact(
        "git",
        packet.git.as_ref().map(|git| {
            let branch = git.branch.as_deref().unwrap_or("no branch");
            let dirty = if git.dirty {
                ", with changes that were not committed"
            } else {
                ""
            };
            format!("{branch} at {}{dirty}", git.commit.get(..12).unwrap_or(&git.commit))
        }),
    );
    fact("origin", (packet.origin != "manual").then(|| packet.origin.clone()));
    fact("written", Some(packet.created_at.clone()));
    fact(
        "expires",
        Some(packet.expires_at.as_deref().unwrap_or("never").to_owned()),
    );
    fact("since then", {
        let changes = &packet.changes_since;
        let total = counted(changes.total, "ledger entry");
        Some(format!("{total}, {} of its author", changes.by_author))
    });
    fact("held by", {
        packet.accepted_by.as_ref().map(|agent| {
            let since = packet
                .accepted_at
                .as_ref()
                .map_or_else(String::new, |at| format!(" since {at}"));
            format!("{}{}{since}", name(agent), in_session(&packet.accepted_session))
        })
    });
    fact("closed", packet.closed_at.clone());
    fact("outcome of", packet.outcome_ref.as_deref().map(name));
    fact("continues", packet.continues.clone());
    fact("supersedes", packet.supersedes.clone());
    fact("now see", packet.superseded_by.clone());
    if let Some(purged) = &packet.purged {
        let text = format!(
            "its texts were purged by {} at {}: {}",
            purged.by, purged.at, purged.why
        );
        lines.push(styled(WARNING, &visible(&text)));
    }
    if packet.corrupt.is_some() {
        lines.push(styled(FAULT, "its texts are damaged: run `handoff-memory verify`"));
    }
    if let Some(summary) = &packet.summary {
        lines.push(styled(HEADING, "Summary"));
        lines.extend(quoted(summary, "  "));
    }
    for (name, list) in [
        ("Next steps", &packet.next_steps),
        ("Open questions", &packet.open_questions),
        ("Files", &packet.files_touched),
    ] {
        let Some(list) = list.as_ref().filter(|list| !list.is_empty()) else {
            continue;
        };
        lines.push(styled(HEADING, name));
        for (index, text) in list.iter().enumerate() {
            lines.extend(quoted(text, &format!("  {:>2} ", index + 1)));
        }
    }
    lines
}

/// Pinned versions, stale ones marked.
pub fn of_refs(refs: &[wire::Ref]) -> Vec<String> {
    let mut lines = Vec::new();
    for one in refs {
        let style = match one.status.as_str() {
            "current" => GOOD,
            "stale" | "purged" => WARNING,
            _ => FAULT,
        };
        let now = one.current.as_ref().map_or_else(String::new, |now| {
            let same = if now.same_value { ", with the same value" } else { "" };
            format!("  now v{} by {} at {}{same}", now.version, name(&now.author), now.at)
        });
        lines.push(format!(
            "  {} {}",
            styled(style, &format!("{:<8}", one.status)),
            visible(&format!(
                "{}  v{}  confidence {}{now}",
                address(&one.scope, &one.key),
                one.version,
                one.confidence
            ))
        ));
        if let Some(json) = &one.value {
            lines.extend(quoted(&value(json.get()), "             "));
        }
    }
    lines
}

fn refs_section(refs: &[wire::Ref], stale: u64) -> Vec<String> {
    if refs.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![styled(
        HEADING,
        &format!("Pinned: {}, {stale} stale", counted(refs.len() as u64, "version")),
    )];
    lines.extend(of_refs(refs));
    lines
}

/// A ledger entry on one line.
pub fn entry(entry: &wire::Entry) -> String {
    let (Some(kind), Some(agent)) = (&entry.kind, &entry.agent) else {
        return styled(FAINT, &format!("{:>6}  {}  (another owner's)", entry.seq, entry.at));
    };
    let subject = entry.subject.as_deref().unwrap_or_default();
    let subject = match serde_json::from_str::<(String, String, u64)>(subject) {
        Ok((scope, key, version)) => format!("{} v{version}", address(&scope, &key)),
        Err(_) => subject.to_owned(),
    };
    let detail = entry.detail.as_ref().map_or("", |detail| detail.get());
    let detail = if detail == "{}" {
        String::new()
    } else {
        format!("  {detail}")
    };
    let session = entry
        .session
        .as_ref()
        .map_or_else(String::new, |session| format!(" ({})", name(session)));
    let head = format!("{:>6}  {}  {kind:<10}", entry.seq, entry.at);
    format!(
        "{head}  {}{}",
        visible(&format!("{subject}  by {}{session}", name(agent))),
        styled(FAINT, &visible(&detail))
    )
}

/// One packet with everything that is known of it.
pub fn whole(shown: &wire::Shown) -> Vec<String> {
    let mut lines = packet(&shown.packet);
    lines.extend(refs_section(&shown.refs, shown.stale));
    lines.push(styled(HEADING, "Ledger"));
    for one in &shown.entries {
        lines.push(entry(one));
        if let Some(note) = &one.note {
            lines.extend(quoted(note, "          "));
        }
    }
    lines
}

/// A packet that is the caller's now, or that there is none.
pub fn taken(answer: &wire::Resumed) -> Vec<String> {
    let Some(found) = &answer.packet else {
        return if answer.packets.is_some() {
            Vec::new()
        } else {
            vec!["nothing waits for you".to_owned()]
        };
    };
    let mut lines = Vec::new();
    if answer.already_yours.is_some() {
        lines.push(styled(WARNING, "this packet was yours already"));
    }
    if let Some(from) = &answer.took_over_from {
        let text = format!("taken over from {}, whose claim had lapsed", name(from));
        lines.push(styled(WARNING, &visible(&text)));
    }
    lines.extend(packet(found));
    lines.extend(refs_section(
        answer.refs.as_deref().unwrap_or_default(),
        answer.stale.unwrap_or(0),
    ));
    lines
}

/// What else there is.
pub fn queue(answer: &wire::Resumed) -> Vec<String> {
    let mut lines = Vec::new();
    for one in &answer.unfinished {
        let session = one
            .session
            .as_ref()
            .map_or_else(String::new, |session| format!(" in session {session}"));
        lines.push(visible(&format!(
            "unfinished: {}  {} old{session}, last active {}  {}",
            one.id, one.age, one.last_activity, one.title
        )));
    }
    if !answer.unfinished.is_empty() {
        lines.push(styled(FAINT, "`handoffs accept ID` takes one up again"));
    }
    lines.push(styled(
        FAINT,
        &format!(
            "{} for you; {} for others, {} expired",
            counted(answer.waiting, "packet"),
            answer.elsewhere.others,
            answer.elsewhere.expired
        )
        .replace(" for you", " waiting for you"),
    ));
    lines
}

/// What a report did.
pub fn recorded(answer: &wire::Recorded, left_alone: bool) -> Vec<String> {
    if left_alone && answer.moved.is_empty() {
        return vec!["nothing was recorded".to_owned()];
    }
    let mut lines = Vec::new();
    let again = if answer.repeated.is_some() {
        " (reported before)"
    } else {
        ""
    };
    let run = answer
        .outcome_ref
        .as_ref()
        .map_or_else(String::new, |run| format!(" of {}", name(run)));
    lines.push(visible(&format!("recorded: {}{run}{again}", answer.outcome)));
    for moved in &answer.moved {
        lines.push(visible(&format!(
            "  {} v{}: confidence {} → {}",
            address(&moved.scope, &moved.key),
            moved.version,
            moved.before,
            moved.after
        )));
    }
    if let Some(packet) = &answer.packet {
        let end = packet
            .ended_as
            .as_ref()
            .map_or_else(String::new, |end| format!(" ({end})"));
        lines.push(format!("  {} is {}{end}", packet.id, packet.state));
    }
    lines
}
