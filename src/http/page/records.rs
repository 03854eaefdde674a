//! A project's records: by scope, and by search.

use axum::extract::State;
use maud::html;

use super::look::{self, Page, Tab, confidence, lines, visible, when};
use super::{Broken, Shown};
use crate::app::memory::Room;
use crate::domain::legible;
use crate::domain::name::percent_encoded;
use crate::domain::sought::{SearchCursor, Sought};
use crate::domain::{Reach, Scope, Tag};
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::wire::{self, make};

/// How many records a page has.
const PAGE: usize = 50;

/// Values are shown by their beginnings.
const ROOM: Room = Room {
    values: 64 * 1024,
    all: 256 * 1024,
};

/// The records of a project.
pub async fn show(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let mut arguments = asked.query().map_err(Broken)?;
    let scope = arguments.string("scope").map_err(Failure::of_address)?;
    let query = arguments.string("query").map_err(Failure::of_address)?;
    let tag = arguments.string("tag").map_err(Failure::of_address)?;
    let cursor = arguments.string("cursor").map_err(Failure::of_address)?;
    let from = cursor.map(|text| SearchCursor::parse(&text)).transpose();
    let sought = Sought {
        scope: scope
            .as_deref()
            .map(Scope::new)
            .transpose()
            .map_err(Failure::of_address)?,
        tag: tag
            .as_deref()
            .map(|text| Tag::named("tag", text))
            .transpose()
            .map_err(Failure::of_address)?,
        query: query.clone(),
        limit: PAGE,
        from: from.map_err(Failure::of_address)?,
        ..Sought::default()
    };
    let page = served.app.search(&asked.caller, sought.clone(), ROOM).await?;
    let answer = make::recalled(&page.versions, page.total, Vec::new());
    let overview = served.app.overview(&asked.caller).await?;
    let (scopes, scopes_total) = &overview.stats.by_scope;
    let now = served.app.time();
    let home = asked.home();
    let base = look::of(home, &["records"]);
    let here = |name: &str| scope.as_deref() == Some(name);
    let searches = asked.caller.reach != Reach::Observer;
    let next = page.next.map(|next| {
        let mut address = format!("{base}?cursor={}", percent_encoded(&next.to_string()));
        for (name, text) in [("scope", &scope), ("query", &query), ("tag", &tag)] {
            if let Some(text) = text {
                address.push_str(&format!("&{name}={}", percent_encoded(text)));
            }
        }
        address
    });
    let body = html! {
        h1 { "Records" }
        @if searches {
            form.search method="get" action=(base) role="search" {
                label.out for="query" { "Search" }
                input #query type="search" name="query" value=[query.as_deref()] placeholder="Search what is remembered" spellcheck="false";
                label.out for="tag" { "Tag" }
                input #tag name="tag" value=[tag.as_deref()] placeholder="tag" size="12" spellcheck="false";
                @if let Some(scope) = &scope { input type="hidden" name="scope" value=(scope); }
                button { "Search" }
            }
        }
        div.columns.scopes {
            nav.scopes aria-label="Scopes" {
                h2 { "Scopes" }
                ul {
                    li { a href=(base) aria-current=[scope.is_none().then_some("true")] { "all" } span.count { (overview.stats.records) } }
                    @for (name, records) in scopes {
                        li {
                            a href={ (base) "?scope=" (percent_encoded(name)) } aria-current=[here(name).then_some("true")] { (visible(name)) }
                            span.count { (records) }
                        }
                    }
                }
                @if *scopes_total > scopes.len() as u64 { p.faint { (scopes_total - scopes.len() as u64) " more: search finds them" } }
            }
            section aria-label="Records" {
                p.faint {
                    @if page.total_capped { "more than " } (look::counted(answer.total, "record"))
                    @if let Some(scope) = &scope { " in " (visible(scope)) }
                    @if let Some(query) = &query { " for “" (visible(query)) "”" }
                    @if let Some(tag) = &tag { " tagged " (visible(tag)) }
                }
                @if answer.records.is_empty() && sought.from.is_none() { p.empty { (visible(&make::searched(&sought, &page))) } }
                ul.records {
                    @for record in &answer.records {
                        li {
                            a.row href=(look::of_record(home, &record.scope, &record.key)) {
                                span.title { (visible(&record.scope)) span.faint { ":" } (visible(&record.key)) }
                                span.preview { (beginning(record)) }
                                span.meta {
                                    span { "v" (record.version) }
                                    (confidence(record.confidence))
                                    span { (visible(&record.author)) }
                                    span.faint { (when(&record.at, now)) }
                                    @for tag in &record.tags { span.badge.tag { (visible(tag)) } }
                                }
                            }
                        }
                    }
                }
                @if let Some(address) = next { p { a.more href=(address) { "More" } } }
            }
        }
    };
    Ok(Page::of_project("Records", &asked).tab(Tab::Records).show(body))
}

/// The beginning of a value, on one line.
fn beginning(record: &wire::Record) -> String {
    const LONG: usize = 160;
    let text = match (&record.value, &record.preview) {
        (Some(json), _) => lines(&legible::value(json.get())),
        (None, Some(preview)) => lines(preview),
        (None, None) if record.purged.is_some() => "(purged)".to_owned(),
        (None, None) if record.redacted.is_some() => "(redacted)".to_owned(),
        (None, None) => "(damaged)".to_owned(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONG) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
