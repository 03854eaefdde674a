//! Who works in a project and on what, and its ledger as a timeline.

use axum::extract::State;
use maud::{Markup, html};
use serde_json::Value;

use super::look::{self, Page, Tab, visible, when};
use super::{Broken, Shown};
use crate::app::agents::NEWEST;
use crate::domain::{Home, Time};
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::wire::{self, make};

/// How many entries a page of the ledger has.
const PAGE: u64 = 100;

/// The agents of a project.
pub async fn show(State(served): State<Shared>, asked: Asked) -> Shown {
    let agents = served.app.agents(&asked.caller).await?;
    let now = served.app.time();
    let home = asked.home();
    let body = html! {
        h1 { "Agents" }
        p.faint { "as far as the newest " (NEWEST) " entries of the ledger tell" }
        @if agents.is_empty() { p.empty { "Nobody did anything here yet." } }
        div.cards {
            @for agent in &agents {
                section.card {
                    h2 { (visible(&agent.name)) }
                    p.faint { (when(&agent.last_at, now)) " · " (look::counted(agent.sessions as u64, "session")) }
                    p.meta { @for (kind, count) in &agent.kinds { span.badge { (count) " " (words(kind)) } } }
                    ol.timeline {
                        @for one in agent.latest.iter().take(6) {
                            li { (entry(&make::entry(one), home, now, Beside::Agent)) }
                        }
                    }
                }
            }
        }
    };
    Ok(Page::of_project("Agents", &asked).tab(Tab::Agents).show(body))
}

/// A part of the ledger, the newest entries first.
pub async fn ledger(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let mut arguments = asked.query().map_err(Broken)?;
    let before = arguments
        .integer("before", "the position of an entry")
        .map_err(Failure::of_address)?;
    let last = served.app.last_entry(&asked.caller).await?;
    let end = before
        .and_then(|before| u64::try_from(before).ok())
        .map_or(last, |before| before.saturating_sub(1))
        .min(last);
    let start = end.saturating_sub(PAGE);
    let mut entries = served.app.entries(&asked.caller, start, (end - start) as usize).await?;
    entries.reverse();
    let now = served.app.time();
    let home = asked.home();
    let checkpoint = served.app.checkpoint(&asked.caller).await.ok();
    let body = html! {
        h1 { "Ledger " span.count { (last) } }
        @if let Some(checkpoint) = checkpoint {
            p.faint { "Keep this outside the store, and a proof can be held against it:" }
            pre.value tabindex="0" { (checkpoint) }
        }
        ol.timeline { @for told in &entries { li { (entry(&make::entry(told), home, now, Beside::Nothing)) } } }
        @if start > 0 { p { a.more href={ (look::of(home, &["ledger"])) "?before=" (start + 1) } { "Older entries" } } }
    };
    Ok(Page::of_project("Ledger", &asked).tab(Tab::Ledger).show(body))
}

/// What of an entry is told beside it already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Nothing: it stands in the ledger.
    Nothing,
    /// Its subject.
    Subject,
    /// Its agent.
    Agent,
}

/// An entry of the ledger.
pub fn entry(entry: &wire::Entry, home: &Home, now: Time, beside: Beside) -> Markup {
    let kind = entry.kind.as_deref();
    html! {
        @if beside == Beside::Nothing { span.seq { (entry.seq) } " " }
        @match kind {
            None => span.faint { "something that is not yours to know" },
            Some(kind) => {
                span class={ "kind kind-" (kind) } { (words(kind)) }
                @if beside != Beside::Subject { " " (subject(entry, home)) }
                @if let Some(agent) = entry.agent.as_ref().filter(|_| beside != Beside::Agent) { span.faint { " by " (visible(agent)) } }
            },
        }
        " " span.faint { (when(&entry.at, now)) }
        @if let Some(note) = &entry.note { p.stored { (look::lines(note)) } }
        (detail(entry))
    }
}

/// What an entry is about, as a way to it.
fn subject(entry: &wire::Entry, home: &Home) -> Markup {
    let text = entry.subject.as_deref().unwrap_or_default();
    if let Ok((scope, key, version)) = serde_json::from_str::<(String, String, u64)>(text) {
        return html! {
            a href=(look::of_record(home, &scope, &key)) { (visible(&scope)) ":" (visible(&key)) }
            span.faint { " v" (version) }
        };
    }
    html! {
        @if text.starts_with("h_") { a href=(look::of(home, &["handoffs", text])) { code { (text) } } }
        @else { code { (visible(text)) } }
    }
}

/// What an entry set, as far as it is more than its kind says.
fn detail(entry: &wire::Entry) -> Markup {
    let detail: Value = entry
        .detail
        .as_ref()
        .and_then(|detail| serde_json::from_str(detail.get()).ok())
        .unwrap_or_default();
    let told = [
        "ended_as",
        "outcome",
        "outcome_ref",
        "why",
        "superseded_by",
        "took_over_from",
    ];
    let fields: Vec<(&str, &str)> = told
        .into_iter()
        .filter_map(|name| Some((name, detail.get(name)?.as_str()?)))
        .collect();
    html! {
        @if !fields.is_empty() {
            p.detail { @for (name, text) in &fields { span { (name.replace('_', " ")) ": " (visible(text)) } } }
        }
    }
}

/// A kind of entry in words for people.
fn words(kind: &str) -> &str {
    match kind {
        "created" => "began",
        "handed_off" => "handed off",
        "outcome" => "reported",
        other => other,
    }
}
