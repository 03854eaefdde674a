//! `export --markdown`: the current records and the packets, for reading.

use super::Face;
use super::output::CliError;
use super::print::{value, visible};
use crate::app::Caller;
use crate::domain::handoff::listing::Listing;
use crate::domain::{Home, Reach, limits};
use crate::wire::{self, make};

/// Writes each project as Markdown, line by line.
pub async fn write(
    face: &Face,
    only: Option<&Home>,
    mut line: impl FnMut(&str) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut projects = face.app.projects().await?;
    projects.retain(|project| only.is_none_or(|home| *home == project.home));
    if projects.is_empty() {
        face.app.require()?;
        let missing = only.map_or_else(|| face.app.missing(), |home| face.app.no_project(home));
        return Err(CliError::App(missing));
    }
    for project in projects {
        let home = project.home;
        line(&format!("# {}", plain(&format!("{}/{}", home.workspace, home.project))))?;
        line("")?;
        line(&format!("Checkpoint: `{}`", project.checkpoint))?;
        records(face, &home, &mut line).await?;
        packets(face, &home, &mut line).await?;
    }
    Ok(())
}

async fn records(
    face: &Face,
    home: &Home,
    line: &mut impl FnMut(&str) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let mut after = None;
    let mut scope = None;
    loop {
        let heads = face.app.heads(home, after, limits::PAGE_MAX).await?;
        for version in &heads {
            let record = make::record(version);
            if scope.as_ref() != Some(&record.scope) {
                line("")?;
                line(&format!("## {}", plain(&record.scope)))?;
                scope = Some(record.scope.clone());
            }
            line("")?;
            line(&format!("### {}", plain(&record.key)))?;
            line("")?;
            let tags = if record.tags.is_empty() {
                String::new()
            } else {
                format!(
                    ", tags {}",
                    record.tags.iter().map(|tag| plain(tag)).collect::<Vec<_>>().join(", ")
                )
            };
            line(&format!(
                "Version {} by {} at {}, confidence {}{tags}",
                record.version,
                plain(&record.author),
                record.at,
                record.confidence
            ))?;
            line("")?;
            match (&record.value, &record.purged) {
                (Some(json), _) => fenced(&value(json.get()), line)?,
                (None, Some(purged)) => line(&format!("(purged: {})", purged.why))?,
                (None, None) => line("(damaged)")?,
            }
        }
        let Some(last) = heads.last() else { return Ok(()) };
        after = Some(last.at.clone());
    }
}

async fn packets(
    face: &Face,
    home: &Home,
    line: &mut impl FnMut(&str) -> Result<(), CliError>,
) -> Result<(), CliError> {
    let caller = Caller {
        home: home.clone(),
        reach: Reach::Root,
        ..face.caller.clone()
    };
    let mut after = None;
    loop {
        let wanted = Listing {
            states: Vec::new(),
            after,
            ..Listing::open(limits::PAGE_MAX)
        };
        let page = face.app.handoffs(&caller, wanted).await?;
        for one in &page.seen {
            if after.is_none() {
                line("")?;
                line("## Packets")?;
            }
            after = Some(one.packet.seq);
            packet(&make::packet(one, home), line)?;
            let shown = face.app.show(&caller, one.packet.id.clone()).await?;
            pins(&make::shown(&shown.seen, &shown.refs, &[], home, Vec::new()).refs, line)?;
        }
        if !page.more {
            return Ok(());
        }
    }
}

fn packet(packet: &wire::Packet, line: &mut impl FnMut(&str) -> Result<(), CliError>) -> Result<(), CliError> {
    line("")?;
    line(&format!("### {}", plain(&packet.title)))?;
    line("")?;
    let end = packet
        .ended_as
        .as_ref()
        .map_or_else(String::new, |end| format!(" ({end})"));
    line(&format!(
        "`{}`, {}{end}, from {} to {}, written {}",
        packet.id,
        packet.state,
        plain(&packet.from_agent),
        plain(packet.to_agent.as_deref().unwrap_or("anyone")),
        packet.created_at
    ))?;
    if let Some(summary) = &packet.summary {
        line("")?;
        fenced(summary, line)?;
    }
    for (name, list) in [
        ("Next steps", &packet.next_steps),
        ("Open questions", &packet.open_questions),
        ("Files", &packet.files_touched),
    ] {
        let Some(list) = list.as_ref().filter(|list| !list.is_empty()) else {
            continue;
        };
        line("")?;
        line(&format!("{name}:"))?;
        line("")?;
        for entry in list {
            line(&format!("- {}", plain(entry)))?;
        }
    }
    Ok(())
}

/// What a packet pins.
fn pins(refs: &[wire::Ref], line: &mut impl FnMut(&str) -> Result<(), CliError>) -> Result<(), CliError> {
    if refs.is_empty() {
        return Ok(());
    }
    line("")?;
    line("Pinned:")?;
    line("")?;
    for one in refs {
        line(&format!(
            "- {} version {}, {}",
            plain(&format!("{}:{}", one.scope, one.key)),
            one.version,
            one.status
        ))?;
    }
    Ok(())
}

/// Stored text on one line of prose: what Markdown and HTML would take for theirs is escaped.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for c in visible(text).chars() {
        if "\\`*_{}[]<>()#+-!|&~".contains(c) && !(c == '-' || c == '_' || c == '(' || c == ')') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// Stored text as it is, in a fence that it cannot close.
fn fenced(text: &str, line: &mut impl FnMut(&str) -> Result<(), CliError>) -> Result<(), CliError> {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    line(&format!("{fence}text"))?;
    for one in text.split('\n') {
        line(&visible(one.trim_end_matches('\r')))?;
    }
    line(&fence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fence_is_longer_than_any_inside() {
        let mut lines = Vec::new();
        fenced("a\n````\nb", &mut |text| {
            lines.push(text.to_owned());
            Ok(())
        })
        .unwrap();
        assert_eq!(lines, ["`````text", "a", "````", "b", "`````"]);
        assert_eq!(plain("<b># x\u{202e}"), "\\<b\\>\\# x\\\\u\\{202e\\}");
    }
}
