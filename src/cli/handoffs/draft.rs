//! A packet to write: from flags, from a file (JSON, or Markdown under headings), from standard input, or from an editor.

mod editor;

use clap::Args;
use serde::Deserialize;

use self::editor::Kept;

use crate::cli::output::{CliError, is_attended, named, text_of};
use crate::cli::refs::{RefInput, refs, short};
use crate::cli::words::{directory, given};
use crate::domain::handoff::{HandoffId, NewHandoff, Texts};
use crate::domain::invalid::shown;
use crate::domain::{Agent, Invalid, Span};

/// What `handoff` and `handoffs create` take. A flag goes before what the file says.
#[derive(Debug, Default, Args)]
pub struct Draft {
    /// One line that says what this is about, up to 200 characters
    #[arg(long, allow_hyphen_values = true)]
    title: Option<String>,
    /// What was done and where things stand, up to 16 KiB
    #[arg(long, allow_hyphen_values = true)]
    summary: Option<String>,
    /// What to do next; may be given more than once
    #[arg(
        long,
        allow_hyphen_values = true,
        visible_alias = "next-step",
        alias = "next_steps",
        value_name = "TEXT"
    )]
    next_steps: Vec<String>,
    /// What is unclear; may be given more than once
    #[arg(
        long,
        allow_hyphen_values = true,
        visible_alias = "open-question",
        alias = "open_questions",
        value_name = "TEXT"
    )]
    open_questions: Vec<String>,
    /// A file that was touched; may be given more than once
    #[arg(
        long,
        allow_hyphen_values = true,
        visible_alias = "file-touched",
        alias = "files_touched",
        value_name = "PATH"
    )]
    files_touched: Vec<String>,
    /// A version to start from: SCOPE:KEY, SCOPE:KEY@VERSION or JSON; may be given more than once [default: what this
    /// agent wrote since its last packet]
    #[arg(long, visible_alias = "ref", value_name = "REF")]
    refs: Vec<String>,
    /// The agent it is for [default: anyone]
    #[arg(long, alias = "to_agent", value_name = "NAME")]
    to_agent: Option<String>,
    /// An open packet of yours that this one replaces
    #[arg(long, value_name = "ID")]
    supersedes: Option<String>,
    /// How long it waits: 90m, 12h, 7d, or 0 for ever
    #[arg(long, alias = "expires_in", value_name = "SPAN")]
    expires_in: Option<String>,
    /// It belongs to everyone, although you act for an owner
    #[arg(long)]
    shared: bool,
    /// The directory that the work is about [default: this one]
    #[arg(long)]
    cwd: Option<String>,
    /// Read the packet from this file: JSON with the arguments above, or Markdown as the editor gets it; `-`: standard input
    #[arg(long, short = 'f', conflicts_with = "edit")]
    file: Option<String>,
    /// Write it in $VISUAL or $EDITOR
    #[arg(long, short = 'e')]
    edit: bool,
}

/// A packet as a file describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: Option<String>,
    summary: Option<String>,
    next_steps: Option<Vec<String>>,
    open_questions: Option<Vec<String>>,
    files_touched: Option<Vec<String>>,
    refs: Option<Vec<RefInput>>,
    to_agent: Option<String>,
    supersedes: Option<String>,
    expires_in: Option<String>,
    shared: Option<bool>,
    cwd: Option<String>,
}

/// The packet that the arguments describe, with the draft that it was read from if an editor had one; none when that came back
/// as it was.
///
/// # Errors
/// Names the argument or line that cannot be taken.
pub fn packet(args: Draft) -> Result<Option<(NewHandoff, Option<Kept>)>, CliError> {
    let nothing_said = args.title.is_none() && args.summary.is_none();
    let refs_given = refs(&args.refs)?;
    let written = match &args.file {
        Some(file) => read(&text_of(file)?, &named(file))?,
        None if args.edit || (nothing_said && is_attended()) => return edited(&args),
        // Nobody is there to ask, and nothing was said: what is piped in is the packet.
        None if nothing_said => match text_of("-")? {
            text if text.trim().is_empty() => Written::default(),
            text => read(&text, &named("-"))?,
        },
        None => Written::default(),
    };
    let list = |flags: Vec<String>, file: Option<Vec<String>>| if flags.is_empty() { file } else { Some(flags) };
    let mut new = checked(Written {
        title: args.title.or(written.title),
        summary: args.summary.or(written.summary),
        next_steps: list(args.next_steps, written.next_steps),
        open_questions: list(args.open_questions, written.open_questions),
        files_touched: list(args.files_touched, written.files_touched),
        refs: if refs_given.is_some() { None } else { written.refs },
        to_agent: args.to_agent.or(written.to_agent),
        supersedes: args.supersedes.or(written.supersedes),
        expires_in: args.expires_in.or(written.expires_in),
        shared: Some(args.shared || written.shared.unwrap_or(false)),
        cwd: args.cwd.or(written.cwd),
    })?;
    if refs_given.is_some() {
        new.refs = refs_given;
    }
    Ok(Some((new, None)))
}

/// Lets a person write it. What the flags say stands in the draft and may be changed there; what has no place in it is looked at
/// before anybody writes.
fn edited(args: &Draft) -> Result<Option<(NewHandoff, Option<Kept>)>, CliError> {
    let beside = |written: Written| Written {
        supersedes: args.supersedes.clone(),
        expires_in: args.expires_in.clone(),
        shared: Some(args.shared),
        cwd: args.cwd.clone().or(written.cwd),
        ..written
    };
    let blank = Written {
        title: Some("-".to_owned()),
        summary: Some("-".to_owned()),
        to_agent: args.to_agent.clone(),
        ..Written::default()
    };
    checked(beside(blank))?;
    let Some((text, draft)) = editor::edited(args)? else {
        return Ok(None);
    };
    match markdown(&text).and_then(|written| checked(beside(written))) {
        Ok(new) => Ok(Some((new, Some(draft)))),
        Err(invalid) => Err(CliError::File(format!("{invalid}; {}", draft.kept()))),
    }
}

fn checked(written: Written) -> Result<NewHandoff, Invalid> {
    let missing = |field: &str| Invalid::new(field, "missing", format!("--{field}, or a file that has it"));
    let title = given(written.title).ok_or_else(|| missing("title"))?;
    let summary = given(written.summary).ok_or_else(|| missing("summary"))?;
    let mut new = NewHandoff::new(Texts::new(
        &title,
        &summary,
        written.next_steps.unwrap_or_default(),
        written.open_questions.unwrap_or_default(),
        written.files_touched.unwrap_or_default(),
    )?);
    new.refs = written
        .refs
        .map(|refs| {
            let refs = refs.into_iter().enumerate();
            refs.map(|(index, one)| one.checked(&format!("refs[{index}]")))
                .collect()
        })
        .transpose()?;
    new.to_agent = given(written.to_agent)
        .map(|text| Agent::named("to_agent", &text))
        .transpose()?;
    new.supersedes = given(written.supersedes)
        .map(|text| HandoffId::named("supersedes", &text))
        .transpose()?;
    new.expires_in = given(written.expires_in)
        .map(|text| Span::parse("expires_in", &text))
        .transpose()?;
    new.shared = written.shared.unwrap_or(false);
    new.cwd = given(written.cwd).map(|text| directory(&text)).transpose()?;
    Ok(new)
}

/// Reads a file: JSON when it starts like an object, else Markdown.
fn read(text: &str, name: &str) -> Result<Written, CliError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(text)
            .map_err(|error| CliError::File(format!("{name} holds no packet as JSON: {error}")));
    }
    markdown(text).map_err(CliError::from)
}

/// The headings of a draft, and what stands under each.
const SECTIONS: [&str; 7] = [
    "summary",
    "next steps",
    "open questions",
    "files touched",
    "refs",
    "for",
    "directory",
];

/// Reads a draft: `# title`, then sections under `##`. Lists are lines with `-` or `*`, or numbered; a line that is indented
/// goes on with the entry above it. What stands in `<!-- -->` is not read.
fn markdown(text: &str) -> Result<Written, Invalid> {
    let mut title = None;
    let mut sections: Vec<(String, String)> = Vec::new();
    let mut fenced = false;
    for line in uncommented(text).lines() {
        // What stands in a fence of code is text, whatever it looks like.
        let fence = line.trim_start().starts_with("```");
        let inside = fenced;
        fenced ^= fence;
        if let Some((_, body)) = sections.last_mut().filter(|_| inside) {
            body.push_str(line);
            body.push('\n');
        } else if let Some(heading) = line.strip_prefix("## ")
            && let Some(name) = SECTIONS.iter().find(|name| name.eq_ignore_ascii_case(heading.trim()))
        {
            if sections.iter().any(|(known, _)| known == name) {
                return Err(Invalid::new(
                    "draft",
                    format!("with two sections {}", shown(line)),
                    "each section once",
                ));
            }
            sections.push(((*name).to_owned(), String::new()));
        } else if let Some((_, body)) = sections.last_mut() {
            body.push_str(line);
            body.push('\n');
        } else if let Some(text) = line.strip_prefix("# ") {
            if title.is_some() {
                return Err(Invalid::new(
                    "draft",
                    format!("with a second title {}", shown(line)),
                    "one `# title`",
                ));
            }
            title = Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        } else if !matches!(line.trim(), "" | "#") {
            let expected = format!("`# title` first, then sections: ## {}", SECTIONS.join(", ## "));
            return Err(Invalid::new("draft", shown(line), expected));
        }
    }
    let section = |name: &str| {
        let found = sections.iter().find(|(known, _)| known == name);
        found
            .map(|(_, body)| body.trim_matches('\n').to_owned())
            .filter(|body| !body.trim().is_empty())
    };
    let refs = section("refs")
        .map(|body| {
            let entries = entries(&body).into_iter();
            let read = |entry: String| {
                short(&entry).ok_or_else(|| Invalid::new("refs", shown(&entry), "SCOPE:KEY or SCOPE:KEY@VERSION"))
            };
            entries.map(read).collect::<Result<Vec<_>, _>>()
        })
        .transpose()?
        .filter(|refs| !refs.is_empty());
    let list = |name: &str| section(name).map(|body| entries(&body)).filter(|list| !list.is_empty());
    let word = |name: &str| section(name).map(|body| body.trim().to_owned());
    Ok(Written {
        title,
        summary: section("summary"),
        next_steps: list("next steps"),
        open_questions: list("open questions"),
        files_touched: list("files touched"),
        refs,
        to_agent: word("for"),
        cwd: word("directory"),
        ..Written::default()
    })
}

/// The text without `<!-- … -->`; one that does not end is text.
fn uncommented(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("<!--") {
        let Some((_, after)) = after.split_once("-->") else {
            break;
        };
        out.push_str(before);
        rest = after;
    }
    out + rest
}

/// The entries of a list.
fn entries(body: &str) -> Vec<String> {
    let mut entries: Vec<String> = Vec::new();
    for line in body.lines() {
        let text = line.trim();
        if text.is_empty() || matches!(text, "-" | "*") {
            continue;
        }
        let bullet = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or_else(|| {
            let (number, rest) = text.split_once(". ")?;
            number.bytes().all(|b| b.is_ascii_digit()).then_some(rest)
        });
        match (bullet, entries.last_mut()) {
            (None, Some(last)) if line.starts_with([' ', '\t']) => {
                last.push('\n');
                last.push_str(text);
            }
            (bullet, _) => entries.push(bullet.unwrap_or(text).trim().to_owned()),
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::editor::template;
    use super::*;

    #[test]
    fn a_draft_is_read_back_as_it_was_filled_in() {
        let args = Draft {
            title: Some("Rates".into()),
            summary: Some("Two\n\nparagraphs.".into()),
            next_steps: vec!["one".into(), "two\nlines".into()],
            refs: vec!["a/b:c@3".into()],
            to_agent: Some("codex".into()),
            ..Draft::default()
        };
        let read = markdown(&template(&args)).unwrap();
        assert_eq!(read.title.as_deref(), Some("Rates"));
        assert_eq!(read.summary.as_deref(), Some("Two\n\nparagraphs."));
        assert_eq!(read.next_steps.unwrap(), ["one", "two\nlines"]);
        assert_eq!(read.open_questions, None);
        assert_eq!(read.to_agent.as_deref(), Some("codex"));
        assert_eq!(read.refs.unwrap().len(), 1);
    }

    #[test]
    fn an_empty_draft_says_nothing() {
        let read = markdown(&template(&Draft::default())).unwrap();
        assert_eq!(
            (read.title.as_deref(), read.summary, read.refs.map(|r| r.len())),
            (None, None, None)
        );
        assert!(markdown("no heading").is_err());
    }

    #[test]
    fn nothing_of_a_draft_is_dropped() {
        let twice = "# t\n## Summary\na\n## Next steps\n- x\n## Summary\nb\n";
        assert!(markdown(twice).unwrap_err().to_string().contains("two sections"));
        assert!(markdown("# t\n# u\n## Summary\na\n").is_err());
        let read = markdown("# t\n## Summary\n```\n## Next steps\n- code\n```\n## Next steps\n- real\n").unwrap();
        assert_eq!(read.summary.as_deref(), Some("```\n## Next steps\n- code\n```"));
        assert_eq!(read.next_steps.unwrap(), ["real"]);
    }

    #[test]
    fn a_heading_inside_a_section_that_is_none_of_ours_stays_text() {
        let read = markdown("# t\n## Summary\n## Not ours\n# nor this\n").unwrap();
        assert_eq!(read.summary.as_deref(), Some("## Not ours\n# nor this"));
    }
}
