//! `remember`, `recall`, `history` and `diff`.

use clap::Args;

use super::Face;
use super::output::{CliError, Done, Ran, text_of, warn};
use super::print::{FAINT, FAULT, GOOD, HEADING, WARNING, address, name, quoted, styled, value, visible};
use super::words::{count, given};
use crate::app::memory::Room;
use crate::domain::legible::difference;
use crate::domain::record::{NewVersion, Tags, Version, version_number};
use crate::domain::sought::{Filters, SearchCursor, Wanted, after, page_size};
use crate::domain::{Address, Confidence, Invalid, JsonText, Key, Refusal, Scope, Tag};
use crate::wire::{self, make};

/// What `remember` takes.
#[derive(Debug, Args)]
pub struct Remember {
    /// Where the record lives: a path such as app/auth
    #[arg(long)]
    scope: String,
    /// The record's name in that scope
    #[arg(long)]
    key: String,
    /// The value as JSON text; `-`: from standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true, required_unless_present_any = ["text", "file"])]
    value: Option<String>,
    /// The value as plain text, kept as a JSON string; `-`: from standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, conflicts_with_all = ["value", "file"])]
    text: Option<String>,
    /// A file that holds the value as JSON text
    #[arg(long, conflicts_with = "value")]
    file: Option<String>,
    /// A label; may be given more than once
    #[arg(long = "tags", alias = "tag", value_name = "TAG", allow_hyphen_values = true)]
    tags: Vec<String>,
    /// How sure you are, 0 to 1 [default: 0.7]
    #[arg(long, allow_negative_numbers = true)]
    confidence: Option<f64>,
    /// Write only if this is the current version; 0: only if the record does not exist
    #[arg(long, alias = "expected_version", value_name = "VERSION")]
    expected_version: Option<u64>,
}

/// What `recall` takes.
#[derive(Debug, Args)]
pub struct Recall {
    /// With --key: the record's scope. Else: search in this scope and below
    #[arg(long)]
    scope: Option<String>,
    /// The record's name; without --scope: in any scope
    #[arg(long)]
    key: Option<String>,
    /// With --scope and --key: this version instead of the current one
    #[arg(long)]
    version: Option<u64>,
    /// Free text to search for; any text is valid
    #[arg(long, allow_hyphen_values = true)]
    query: Option<String>,
    /// Only records with exactly this tag
    #[arg(long)]
    tag: Option<String>,
    /// Only records at least this sure, 0 to 1
    #[arg(long, alias = "min_confidence", allow_negative_numbers = true)]
    min_confidence: Option<f64>,
    /// How many records, 1 to 200 [default: 20]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    limit: Option<i64>,
    /// next_cursor of the answer before, to go on with the same filters
    #[arg(long)]
    cursor: Option<String>,
}

/// What `history` takes.
#[derive(Debug, Args)]
pub struct History {
    /// The record's scope
    #[arg(long)]
    scope: String,
    /// The record's key
    #[arg(long)]
    key: String,
    /// How many versions, 1 to 200 [default: 20]
    #[arg(long, allow_negative_numbers = true, value_parser = count)]
    limit: Option<i64>,
    /// next_cursor of the answer before, to go on
    #[arg(long)]
    cursor: Option<String>,
}

/// What `diff` takes.
#[derive(Debug, Args)]
pub struct Diff {
    /// The record's scope
    scope: String,
    /// The record's key
    key: String,
    /// The version to start from [default: the one before V2]
    v1: Option<u64>,
    /// The version to compare with it [default: the current one]
    v2: Option<u64>,
}

/// Appends a version of a record.
pub async fn remember(face: &mut Face, args: Remember) -> Ran {
    let text = match (args.value, args.text, args.file) {
        (Some(json), ..) if json == "-" => text_of("-")?,
        (Some(json), ..) => json,
        (None, Some(text), _) => {
            let text = if text == "-" { text_of("-")? } else { text };
            serde_json::to_string(&text).unwrap_or_default()
        }
        (None, None, Some(file)) => text_of(&file)?,
        (None, None, None) => return Err(Invalid::new("value", "missing", "--value, --text or --file").into()),
    };
    let json = JsonText::value("value", &text).map_err(|invalid| {
        let mut invalid = invalid;
        if invalid.expected == "JSON text" {
            invalid.expected += "; give plain text by --text";
        }
        invalid
    })?;
    let mut new = NewVersion::new(Scope::new(&args.scope)?, Key::new(&args.key)?, json);
    new.tags = Tags::new(&args.tags)?;
    new.confidence = args
        .confidence
        .map(|number| Confidence::named("confidence", number))
        .transpose()?;
    new.expected_version = args.expected_version;
    let written = face.app.remember(&face.caller, new).await?;
    let answer = make::remembered(written, Vec::new());
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    let record = &answer.record;
    let what = if answer.unchanged.is_some() {
        "unchanged"
    } else {
        "remembered"
    };
    face.out.line(format!("{what}: {}", heading(record)))?;
    warn(answer.warnings.as_ref());
    Ok(Done::Well)
}

/// Reads a record, or searches.
pub async fn recall(face: &mut Face, args: Recall) -> Ran {
    let (limit, warning) = page_size(args.limit)?;
    let filters = Filters {
        scope: given(args.scope).map(|text| Scope::new(&text)).transpose()?,
        key: given(args.key).map(|text| Key::new(&text)).transpose()?,
        version: args.version,
        query: given(args.query),
        tag: given(args.tag).map(|text| Tag::named("tag", &text)).transpose()?,
        min_confidence: args
            .min_confidence
            .map(|number| Confidence::named("min_confidence", number))
            .transpose()?,
    };
    let warnings = warning.into_iter().collect();
    let answer = match filters.wanted(limit)? {
        Wanted::One(at, version) => {
            let found = face.app.recall(&face.caller, &at, version).await?;
            let mut answer = make::recalled(found.as_slice(), u64::from(found.is_some()), warnings);
            answer.searched = found.is_none().then(|| make::sought_one(&at, version));
            answer
        }
        Wanted::Some(mut sought) => {
            sought.from = given(args.cursor).map(|text| SearchCursor::parse(&text)).transpose()?;
            let page = face
                .app
                .search(&face.caller, (*sought).clone(), Room::UNBOUNDED)
                .await?;
            let mut answer = make::recalled(&page.versions, page.total, warnings);
            answer.total_capped = make::flag(page.total_capped);
            answer.next_cursor = page.next.map(|next| next.to_string());
            if page.versions.is_empty() && sought.from.is_none() {
                answer.searched = Some(make::searched(&sought, &page));
            }
            answer
        }
    };
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for record in &answer.records {
        for line in of_record(record) {
            face.out.line(line)?;
        }
    }
    warn(answer.warnings.as_ref());
    rest(
        face,
        answer.records.len(),
        answer.total,
        answer.next_cursor.as_deref(),
        answer.searched.as_deref(),
    )
}

/// Says what was not shown.
fn rest(face: &mut Face, shown: usize, total: u64, next: Option<&str>, searched: Option<&str>) -> Ran {
    if let Some(searched) = searched {
        face.out.line(format!("nothing found: {}", visible(searched)))?;
    } else if let Some(next) = next {
        face.out.line(styled(
            FAINT,
            &format!("{shown} of {total}; go on with --cursor {next}"),
        ))?;
    }
    Ok(Done::Well)
}

/// Every version of one record.
pub async fn history(face: &mut Face, args: History) -> Ran {
    let (limit, warning) = page_size(args.limit)?;
    let at = Address {
        scope: Scope::new(&args.scope)?,
        key: Key::new(&args.key)?,
    };
    let from = given(args.cursor)
        .map(|text| after('h', &text))
        .transpose()?
        .unwrap_or(0);
    let (versions, total) = face
        .app
        .history(&face.caller, &at, from, limit, Room::UNBOUNDED)
        .await?;
    let mut answer = make::history(&at, &versions, total, warning.into_iter().collect());
    let last = versions.last().map_or(from, |version| version.version);
    answer.next_cursor = (versions.len() == limit && last < total).then(|| format!("h{last}"));
    if face.out.took(&answer)? {
        return Ok(Done::Well);
    }
    for record in &answer.versions {
        for line in of_record(record) {
            face.out.line(line)?;
        }
    }
    warn(answer.warnings.as_ref());
    rest(face, answer.versions.len(), total, answer.next_cursor.as_deref(), None)
}

/// One line that says which version this is and how it stands.
fn heading(record: &wire::Record) -> String {
    let counts = match (record.successes, record.failures) {
        (0, 0) => String::new(),
        (up, down) => format!(" ({up} success, {down} failure)"),
    };
    let tags = if record.tags.is_empty() {
        String::new()
    } else {
        let tags: Vec<String> = record.tags.iter().map(|tag| name(tag)).collect();
        format!("  [{}]", tags.join(", "))
    };
    let old = if record.current { "" } else { "  (superseded)" };
    format!(
        "{}  v{}{old}  confidence {}{counts}  by {} at {}{tags}",
        address(&record.scope, &record.key),
        record.version,
        record.confidence,
        name(&record.author),
        record.at
    )
}

/// A record with its value.
fn of_record(record: &wire::Record) -> Vec<String> {
    let mut lines = vec![styled(HEADING, &heading(record))];
    lines.extend(of_value(record));
    lines
}

fn of_value(record: &wire::Record) -> Vec<String> {
    if let Some(purged) = &record.purged {
        let text = format!("    purged by {} at {}: {}", name(&purged.by), purged.at, purged.why);
        return vec![styled(WARNING, &visible(&text))];
    }
    match &record.value {
        Some(json) => quoted(&value(json.get()), "    "),
        None => vec![styled(FAULT, "    the value is damaged: run `handoff-memory verify`")],
    }
}

/// Two versions of a record side by side.
pub async fn diff(face: &mut Face, args: Diff) -> Ran {
    let at = Address {
        scope: Scope::new(&args.scope)?,
        key: Key::new(&args.key)?,
    };
    let second = args.v2.map(|number| version_number("v2", number)).transpose()?;
    let new = version(face, &at, second).await?;
    let first = args.v1.map(|number| version_number("v1", number)).transpose()?;
    let before = first.unwrap_or(new.version.saturating_sub(1));
    if before == 0 {
        return Err(CliError::App(
            Refusal::not_found(
                format!("{at} has one version alone"),
                "there is nothing to compare it with",
            )
            .into(),
        ));
    }
    let old = version(face, &at, Some(before)).await?;
    let text = difference(&old, &new);
    if face.out.is_json() {
        let answer = make::compared(&at, &old, &new, text);
        face.out.document(&answer)?;
        return Ok(Done::Well);
    }
    if text.is_empty() {
        let line = format!("versions {} and {} hold the same value", old.version, new.version);
        face.out.line(line)?;
    }
    for line in text.lines() {
        let style = match line.chars().next() {
            Some('+') => GOOD,
            Some('-') => FAULT,
            Some('@') => FAINT,
            _ => anstyle::Style::new(),
        };
        face.out.line(styled(style, &visible(line)))?;
    }
    Ok(Done::Well)
}

async fn version(face: &Face, at: &Address, number: Option<u64>) -> Result<Version, CliError> {
    let found = face.app.recall(&face.caller, at, number).await?;
    found.ok_or_else(|| {
        let what = match number {
            Some(number) => format!("{at} has no version {number}"),
            None => format!("there is no record {at}"),
        };
        CliError::App(Refusal::not_found(what, "history shows which versions there are").into())
    })
}
