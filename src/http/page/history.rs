//! One record: its versions, how one becomes another, and how sure we were of it over time.

use axum::extract::State;
use maud::{Markup, html};

use super::chart;
use super::look::{self, Page, Tab, confidence, visible, when};
use super::{Broken, Shown};
use crate::app::memory::Room;
use crate::domain::legible::difference;
use crate::domain::record::Version;
use crate::domain::{Address, Home, Key, Refusal, Scope, Time};
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::wire::{self, make};

/// How many versions a page has.
const PAGE: usize = 100;

const ROOM: Room = Room {
    values: 1024 * 1024,
    all: 4 * 1024 * 1024,
};

/// The longest difference that is shown, in bytes.
const DIFFERENCE: usize = 200_000;

/// A record's page.
pub async fn show(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let mut arguments = asked.query().map_err(Broken)?;
    let scope = arguments.required_string("scope").map_err(Failure::of_address)?;
    let key = arguments.required_string("key").map_err(Failure::of_address)?;
    let number = "a version number from 1";
    let from = arguments.integer("from", number).map_err(Failure::of_address)?;
    let to = arguments.integer("to", number).map_err(Failure::of_address)?;
    let before = arguments.integer("before", number).map_err(Failure::of_address)?;
    let at = Address {
        scope: Scope::new(&scope).map_err(Failure::of_address)?,
        key: Key::new(&key).map_err(Failure::of_address)?,
    };
    let app = &served.app;
    let current = app.recall(&asked.caller, &at, None).await?;
    let current = current
        .ok_or_else(|| Refusal::not_found(format!("there is no record {at}"), "search for it among the records"))?;
    // The newest first: the page ends before `before`, or with the current version.
    let end = before.and_then(|before| u64::try_from(before).ok()).unwrap_or(u64::MAX);
    let end = end.min(current.version + 1);
    let start = end.saturating_sub(PAGE as u64 + 1);
    let limit = usize::try_from(end - 1 - start).unwrap_or(PAGE).clamp(1, PAGE);
    let (mut versions, total) = app.history(&asked.caller, &at, start, limit, ROOM).await?;
    versions.reverse();
    let reported = app.reported(&asked.caller, &at).await?;
    let chosen = chosen(&from, &to, current.version);
    let compared = match chosen {
        Some((from, to)) => Some((
            one(&served, &asked, &at, from).await?,
            one(&served, &asked, &at, to).await?,
        )),
        None => None,
    };
    let now = app.time();
    let home = asked.home();
    let record = make::record(&current);
    let base = look::of_record(home, &scope, &key);
    let body = html! {
        p.faint { a href={ (look::of(home, &["records"])) "?scope=" (crate::domain::name::percent_encoded(&scope)) } { (visible(&scope)) } }
        div.head {
            div {
                h1 { (visible(&key)) }
                p.meta {
                    span { "version " (record.version) }
                    (confidence(record.confidence))
                    span { (record.successes) " went well, " (record.failures) " badly" }
                    span { "by " (visible(&record.author)) }
                    span.faint { (when(&record.at, now)) }
                    @for tag in &record.tags { span.badge.tag { (visible(tag)) } }
                }
            }
        }
        section aria-label="Value" { (held(&record)) }
        section aria-labelledby="sure" {
            h2 #sure { "Confidence over time" }
            (chart::confidence(&versions, &reported))
        }
        section aria-labelledby="versions" {
            h2 #versions { "Versions " span.count { (total) } }
            @if total > 1 { (choose(&scope, &key, chosen, current.version, home)) }
            @if let Some((old, new)) = &compared { (differs(old, new)) }
            ol.versions {
                @for version in &versions {
                    @let record = make::record(version);
                    li { (line(&record, &base, now)) }
                }
            }
            @if let Some(oldest) = versions.last().map(|version| version.version).filter(|oldest| *oldest > 1) {
                p { a.more href={ (base) "&before=" (oldest) } { "Older versions" } }
            }
        }
    };
    Ok(Page::of_project(format!("{scope}:{key}"), &asked)
        .tab(Tab::Records)
        .show(body))
}

/// The two versions to compare: those that were asked for, else the current one and the one before it.
fn chosen(from: &Option<i64>, to: &Option<i64>, current: u64) -> Option<(u64, u64)> {
    let number = |given: &Option<i64>| {
        given
            .and_then(|number| u64::try_from(number).ok())
            .filter(|number| *number > 0)
    };
    let to = number(to).unwrap_or(current).min(current);
    let from = number(from).unwrap_or(to.saturating_sub(1)).min(current);
    (from > 0 && from != to).then_some((from, to))
}

async fn one(served: &Shared, asked: &Asked, at: &Address, number: u64) -> Result<Version, Broken> {
    let found = served.app.recall(&asked.caller, at, Some(number)).await?;
    let missing = || Refusal::not_found(format!("{at} has no version {number}"), "choose another one");
    Ok(found.ok_or_else(missing)?)
}

fn held(record: &wire::Record) -> Markup {
    html! {
        @if let Some(json) = &record.value { (look::value(json.get())) }
        @else if let Some(purged) = &record.purged {
            p.problem { "Removed by " (visible(&purged.by)) " at " (purged.at) ": " (purged.why) }
        }
        @else if record.redacted.is_some() { p.empty { "The value is not yours to read." } }
        @else if let Some(preview) = &record.preview { pre.value { (look::lines(preview)) "…" } }
        @else { p.problem { "The value does not fit its hash: run a proof." } }
    }
}

fn choose(scope: &str, key: &str, chosen: Option<(u64, u64)>, current: u64, home: &Home) -> Markup {
    let field = |name: &str, words: &str, value: Option<u64>| {
        html! {
            label for=(name) { (words) }
            input #(name) name=(name) type="number" min="1" max=(current) value=[value] required;
        }
    };
    html! {
        form.compare method="get" action=(look::of(home, &["record"])) {
            input type="hidden" name="scope" value=(scope);
            input type="hidden" name="key" value=(key);
            (field("from", "Compare version", chosen.map(|(from, _)| from)))
            (field("to", "with", chosen.map(|(_, to)| to)))
            button { "Compare" }
        }
    }
}

fn differs(old: &Version, new: &Version) -> Markup {
    let text = difference(old, new);
    let cut = text.len() > DIFFERENCE;
    // The first two lines name the versions again.
    let lines = text.lines().skip(2);
    let mut taken = 0;
    let shown = lines.take_while(|line| {
        taken += line.len() + 1;
        taken <= DIFFERENCE
    });
    html! {
        h3 { "From version " (old.version) " to version " (new.version) }
        @if text.is_empty() {
            p.empty { "They hold the same value." }
        } @else {
            pre.diff tabindex="0" aria-label={ "Difference between version " (old.version) " and version " (new.version) } {
                @for line in shown {
                    @match line.chars().next() {
                        Some('+') => { ins { (line) } },
                        Some('-') => { del { (line) } },
                        Some('@') => { span.at { (line) } },
                        _ => { span { (line) } },
                    }
                }
            }
            @if cut { p.faint { "cut here; `handoff-memory diff` gives all of it" } }
        }
    }
}

fn line(record: &wire::Record, base: &str, now: Time) -> Markup {
    html! {
        details {
            summary {
                strong { "v" (record.version) }
                @if record.current { " " span.badge.state-open { "current" } }
                (confidence(record.confidence))
                span { (visible(&record.author)) }
                @if let Some(session) = &record.session { span.faint.long { (visible(session)) } }
                span.faint { (when(&record.at, now)) }
                @for tag in &record.tags { span.badge.tag { (visible(tag)) } }
            }
            (held(record))
            p.faint { "hash " code { (record.hash) } }
            @if record.version > 1 { p { a href={ (base) "&from=" (record.version - 1) "&to=" (record.version) } { "What it changed" } } }
        }
    }
}
