//! A project's packets, by state.

use axum::extract::State;
use maud::{Markup, html};

use super::look::{self, Page, Tab, badge, visible, when};
use super::{Broken, Shown};
use crate::domain::handoff::State as Standing;
use crate::domain::handoff::listing::Listing;
use crate::domain::sought::after;
use crate::domain::{Home, Time};
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::wire::{self, make};

/// How many packets of a state stand on the first page, and on a page of that state alone.
const SOME: usize = 12;
const PAGE: usize = 50;

/// The states in the order in which they want to be looked at.
const STATES: [(Standing, &str, &str); 4] = [
    (Standing::Open, "Waiting", "Nothing waits."),
    (Standing::Accepted, "In work", "Nobody works on a packet."),
    (Standing::Closed, "Closed", "No packet was closed."),
    (Standing::Expired, "Ended without a claimant", "None."),
];

/// The packets of a project.
pub async fn show(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let mut arguments = asked.query().map_err(Broken)?;
    let only = arguments.string("state").map_err(Failure::of_address)?;
    let from = arguments.string("cursor").map_err(Failure::of_address)?;
    let from = from
        .map(|text| after('q', &text))
        .transpose()
        .map_err(Failure::of_address)?;
    let only = only.and_then(|word| Standing::parse(&word));
    let now = served.app.time();
    let mut sections = Vec::new();
    for (state, heading, empty) in STATES {
        if only.is_some_and(|only| only != state) {
            continue;
        }
        let wanted = Listing {
            states: vec![state],
            newest_first: true,
            after: from.filter(|_| only.is_some()),
            ..Listing::open(if only.is_some() { PAGE } else { SOME })
        };
        let page = served.app.handoffs(&asked.caller, wanted).await?;
        let list = make::queue(&page, asked.home(), Vec::new());
        sections.push((state, heading, empty, list));
    }
    let home = asked.home();
    let name = home.project.to_string();
    let body = html! {
        h1 { (visible(&name)) }
        nav.filter aria-label="State" {
            a href=(look::of(home, &[])) aria-current=[only.is_none().then_some("true")] { "All" }
            @for (state, heading, _) in STATES {
                a href={ (look::of(home, &[])) "?state=" (state.as_str()) } aria-current=[(only == Some(state)).then_some("true")] {
                    (heading)
                }
            }
        }
        @for (state, heading, empty, list) in &sections {
            section aria-labelledby={ "s-" (state.as_str()) } {
                h2 #{ "s-" (state.as_str()) } { (heading) " " span.count { (list.total) } }
                @if list.packets.is_empty() {
                    p.empty { (empty) }
                } @else {
                    ul.packets { @for packet in &list.packets { li { (row(packet, home, now)) } } }
                }
                @if let Some(next) = &list.next_cursor {
                    p { a.more href={ (look::of(home, &[])) "?state=" (state.as_str()) @if only.is_some() { "&cursor=" (next) } } {
                        @if only.is_some() { "Older ones" } @else { "All " (list.total) }
                    } }
                }
            }
        }
    };
    Ok(Page::of_project(name, &asked).tab(Tab::Handoffs).show(body))
}

/// A packet in a list.
pub fn row(packet: &wire::Packet, home: &Home, now: Time) -> Markup {
    html! {
        a.row href=(look::of(home, &["handoffs", &packet.id])) {
            span.title { (visible(&packet.title)) }
            span.meta {
                (badge(&packet.state, packet.ended_as.as_deref()))
                span.route {
                    (visible(&packet.from_agent)) " → "
                    @match &packet.to_agent {
                        Some(to) => (visible(to)),
                        None => "anyone",
                    }
                    @if packet.to_agent_unseen == Some(true) { span.warn title="no agent of that name was ever seen here" { " (never seen)" } }
                }
                @if let Some(by) = &packet.accepted_by { span { "held by " (visible(by)) } }
                @if let Some(owner) = &packet.owner { span.faint { "of " (visible(owner)) } }
                @if packet.origin != "manual" { span.badge { (packet.origin) } }
                span.faint { (when(&packet.created_at, now)) }
            }
        }
    }
}
