//! One packet: what it says, what it pins, what happened to it; and taking it, giving it back, taking it back.

use axum::extract::State;
use axum::response::{IntoResponse, Redirect};
use maud::{Markup, html};

use super::door::Form;
use super::look::{self, Page, Tab, badge, confidence, lines, visible, when};
use super::{Broken, Shown, agents};
use crate::app::{App, Caller};
use crate::domain::handoff::HandoffId;
use crate::domain::handoff::place::Cwd;
use crate::domain::outcome::NewOutcome;
use crate::domain::record::Stored;
use crate::domain::{Address, Home, Invalid, Key, OutcomeRef, Reach, Scope, Time};
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::wire::{self, make};

/// One packet.
pub async fn show(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let id = asked.packet().map_err(Broken)?;
    let mut arguments = asked.query().map_err(Broken)?;
    let done = arguments.string("done").map_err(Failure::of_address)?;
    let shown = served.app.show(&asked.caller, id).await?;
    let home = asked.home();
    let answer = make::shown(&shown.seen, &shown.refs, &shown.entries, home, shown.warnings.clone());
    let mut pins = Vec::new();
    for one in &answer.refs {
        let newer = match &one.current {
            Some(current) => newer_value(&served.app, &asked.caller, one, current.version).await?,
            None => None,
        };
        pins.push((one, newer));
    }
    let now = served.app.time();
    let packet = &answer.packet;
    let body = html! {
        @if let Some(word) = done.as_deref().and_then(said) { p.done role="status" { (word) } }
        @for warning in answer.warnings.iter().flatten() { p.problem role="alert" { (visible(warning)) } }
        div.head {
            div {
                h1 { (visible(&packet.title)) }
                p.meta {
                    (badge(&packet.state, packet.ended_as.as_deref()))
                    span.route { (visible(&packet.from_agent)) " → " (visible(packet.to_agent.as_deref().unwrap_or("anyone"))) }
                    @if let Some(by) = &packet.accepted_by { span { "held by " (visible(by)) } }
                    span.faint { "written " (when(&packet.created_at, now)) }
                    span.faint {
                        (look::counted(packet.changes_since.total, "change")) " since, " (packet.changes_since.by_author) " by its author"
                    }
                }
            }
            (actions(&asked, packet))
        }
        @if packet.redacted == Some(true) { p.empty { "Its texts are not yours to read." } }
        @if let Some(purged) = &packet.purged {
            p.problem { "Its texts were removed by " (visible(&purged.by)) " (" (purged.why) ") " (when(&purged.at, now)) "." }
        }
        @if packet.corrupt == Some(true) { p.problem { "Its texts do not fit their hash: run a proof." } }
        div.columns {
            div {
                @if let Some(summary) = &packet.summary {
                    section { h2 { "Summary" } p.stored { (lines(summary)) } }
                }
                (list("Next steps", packet.next_steps.as_deref(), true))
                (list("Open questions", packet.open_questions.as_deref(), false))
                (list("Files touched", packet.files_touched.as_deref(), false))
                section aria-labelledby="pins" {
                    h2 #pins {
                        "Pinned versions " span.count { (pins.len()) }
                        @if answer.stale > 0 { " " span.badge.state-stale { (answer.stale) " stale" } }
                    }
                    @if pins.is_empty() { p.empty { "It pins nothing." } }
                    @for (one, newer) in &pins { (pin(one, newer.as_ref(), home, now)) }
                }
            }
            aside {
                section { h2 { "About" } (facts(packet, home, now)) }
                section aria-labelledby="life" {
                    h2 #life { "What happened" }
                    ol.timeline { @for entry in &answer.entries { li { (agents::entry(entry, home, now, agents::Beside::Subject)) } } }
                }
            }
        }
    };
    Ok(Page::of_project(packet.title.clone(), &asked)
        .tab(Tab::Handoffs)
        .show(body))
}

/// The value that stands in the place of a pinned one.
async fn newer_value(
    app: &App,
    caller: &Caller,
    one: &wire::Ref,
    version: u64,
) -> Result<Option<wire::Record>, Broken> {
    let at = Address {
        scope: Scope::new(&one.scope)?,
        key: Key::new(&one.key)?,
    };
    let found = app.recall(caller, &at, Some(version)).await?;
    Ok(found
        .filter(|found| matches!(found.value, Stored::Whole(_)))
        .map(|found| make::record(&found)))
}

fn list(heading: &str, texts: Option<&[String]>, ordered: bool) -> Markup {
    let texts = texts.unwrap_or_default();
    html! {
        @if !texts.is_empty() {
            section {
                h2 { (heading) " " span.count { (texts.len()) } }
                @if ordered {
                    ol.texts { @for text in texts { li { (lines(text)) } } }
                } @else {
                    ul.texts { @for text in texts { li { (lines(text)) } } }
                }
            }
        }
    }
}

fn pin(one: &wire::Ref, newer: Option<&wire::Record>, home: &Home, now: Time) -> Markup {
    let stale = one.current.as_ref();
    html! {
        details.pin open[stale.is_some()] {
            summary {
                span.name { (visible(&one.scope)) span.faint { ":" } (visible(&one.key)) " " span.faint { "v" (one.version) } }
                (badge(&one.status, None))
                (confidence(one.confidence))
            }
            @if let Some(current) = stale {
                p.warn {
                    "Version " (current.version) " by " (visible(&current.author)) " is current, written " (when(&current.at, now)) "."
                    @if current.same_value { " It holds the same value." }
                }
            }
            div.values {
                div {
                    @if stale.is_some() { h3 { "pinned: version " (one.version) } }
                    @match &one.value {
                        Some(json) => (look::value(json.get())),
                        None => p.empty { (missing(&one.status)) },
                    }
                }
                @if let Some(record) = newer.filter(|_| stale.is_some_and(|current| !current.same_value)) {
                    div {
                        h3 { "now: version " (record.version) }
                        @if let Some(json) = &record.value { (look::value(json.get())) }
                    }
                }
            }
            p { a href=(look::of_record(home, &one.scope, &one.key)) { "All versions" } }
        }
    }
}

fn missing(status: &str) -> &'static str {
    match status {
        "purged" => "It was removed on purpose.",
        "corrupt" => "It does not fit its hash: run a proof.",
        _ => "It is not yours to read.",
    }
}

fn facts(packet: &wire::Packet, home: &Home, now: Time) -> Markup {
    let link = |id: &str| html! { a href=(look::of(home, &["handoffs", id])) { code { (id) } } };
    html! {
        dl.facts {
            dt { "id" } dd { code { (packet.id) } }
            @if let Some(owner) = &packet.owner { dt { "belongs to" } dd { (visible(owner)) } } @else { dt { "belongs to" } dd { "everyone" } }
            @if let Some(session) = &packet.from_session { dt { "written in" } dd.long { (visible(session)) } }
            @if let Some(cwd) = &packet.cwd { dt { "directory" } dd.long { (visible(cwd)) } }
            @if let Some(git) = &packet.git {
                dt { "git" }
                dd.long {
                    @if let Some(branch) = &git.branch { (visible(branch)) " " }
                    code { (git.commit.chars().take(12).collect::<String>()) }
                    @if git.dirty { " with changes" }
                }
            }
            @if let Some(end) = packet.expires_at.as_deref().filter(|_| packet.state == "open") { dt { "waits until" } dd { time datetime=(end) { (end.get(..16).unwrap_or(end).replace('T', " ")) } } }
            @if let Some(session) = &packet.accepted_session { dt { "held in" } dd.long { (visible(session)) } }
            @if let Some(at) = &packet.accepted_at { dt { "held since" } dd { (when(at, now)) } }
            @if let Some(cwd) = &packet.receiving_cwd { dt { "worked on in" } dd.long { (visible(cwd)) } }
            @if let Some(run) = &packet.outcome_ref { dt { "ended with" } dd.long { (visible(run)) } }
            @if let Some(id) = &packet.continues { dt { "continues" } dd { (link(id)) } }
            @if let Some(id) = &packet.supersedes { dt { "takes the place of" } dd { (link(id)) } }
            @if let Some(id) = &packet.superseded_by { dt { "superseded by" } dd { (link(id)) } }
        }
    }
}

/// What can be done with a packet, as forms.
fn actions(asked: &Asked, packet: &wire::Packet) -> Markup {
    let Some(proof) = asked.proof.as_ref().filter(|_| asked.caller.reach != Reach::Observer) else {
        return html! {};
    };
    let address = look::of(asked.home(), &["handoffs", &packet.id]);
    let mine = packet
        .accepted_by
        .as_deref()
        .is_some_and(|by| by.eq_ignore_ascii_case(asked.caller.agent.as_str()));
    let written_by_me = packet.from_agent.eq_ignore_ascii_case(asked.caller.agent.as_str());
    let ending = |word: &str, button: &str, own: bool, whose: Option<&str>| {
        html! {
            details.action {
                summary.button { (button) }
                form method="post" action={ (address) "/" (word) } {
                    (look::proof_field(proof))
                    label for={ "note-" (word) } { "Note" }
                    textarea #{ "note-" (word) } name="note" rows="3" placeholder="what whoever comes next should know" {}
                    @if !own && asked.visitor.may_force() {
                        label.check {
                            input type="checkbox" name="force" value="yes" required;
                            " although " (visible(whose.unwrap_or("somebody else"))) " " @if word == "cancel" { "wrote" } @else { "holds" } " it"
                        }
                    }
                    button.danger[word == "cancel"] { (button) }
                }
            }
        }
    };
    html! {
        div.actions {
            @if packet.state == "open" {
                form method="post" action={ (address) "/accept" } { (look::proof_field(proof)) button { "Accept" } }
                (ending("cancel", "Cancel", written_by_me, Some(&packet.from_agent)))
            }
            @if packet.state == "accepted" { (ending("release", "Release", mine, packet.accepted_by.as_deref())) }
        }
    }
}

fn said(word: &str) -> Option<&'static str> {
    match word {
        "accepted" => Some("It is yours now."),
        "released" => Some("It waits again."),
        "cancelled" => Some("It was taken back."),
        _ => None,
    }
}

/// Takes a packet.
pub async fn accept(State(served): State<Shared>, asked: Asked, form: Form) -> Shown {
    let id = asked.packet().map_err(Broken)?;
    let mut caller = asked.caller.clone();
    caller.cwd = form.get("cwd").map(Cwd::new).transpose()?;
    served.app.resume(&caller, Some(id.clone())).await?;
    Ok(back(&asked, &id, "accepted").into_response())
}

/// Gives a packet back.
pub async fn release(State(served): State<Shared>, asked: Asked, form: Form) -> Shown {
    end(&served.app, &asked, &form, NewOutcome::release, "released").await
}

/// Takes a packet back.
pub async fn cancel(State(served): State<Shared>, asked: Asked, form: Form) -> Shown {
    end(&served.app, &asked, &form, NewOutcome::cancel, "cancelled").await
}

async fn end(
    app: &App,
    asked: &Asked,
    form: &Form,
    make: fn(HandoffId, Option<OutcomeRef>, Option<String>) -> Result<NewOutcome, Invalid>,
    word: &str,
) -> Shown {
    let id = asked.packet().map_err(Broken)?;
    let mut caller = asked.caller.clone();
    // Who may do everything still has to say so: a slip must not end what somebody works on.
    caller.reach = match (form.get("force").is_some() && asked.visitor.may_force(), caller.reach) {
        (true, _) => Reach::Root,
        (false, Reach::Root) => Reach::Local,
        (false, reach) => reach,
    };
    let new = make(id.clone(), None, form.get("note").map(str::to_owned))?;
    app.record_outcome(&caller, new).await?;
    Ok(back(asked, &id, word).into_response())
}

fn back(asked: &Asked, id: &HandoffId, word: &str) -> Redirect {
    let address = look::of(asked.home(), &["handoffs", id.as_str()]);
    Redirect::to(&format!("{address}?done={word}"))
}
