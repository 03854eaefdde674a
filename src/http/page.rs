//! The page: what waits, what is known and what happened, for people in a browser.
//!
//! Every page is whole when it arrives and every change is a form, so that nothing needs a script. A small one follows the
//! ledger and fetches the page anew when something has happened. Stored text is escaped, what is hidden in it is shown.

pub mod door;

mod agents;
mod assets;
mod chart;
mod follow;
mod history;
mod look;
mod packet;
mod project;
mod proof;
mod records;
mod sign;

use std::collections::HashMap;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::html;

use self::look::{Page, Tab};
pub use self::proof::Proving;
use super::Shared;
use super::asked::Asked;
use super::failure::Failure;
use crate::app::Caller;
use crate::domain::handoff::listing::Listing;
use crate::wire::make;

/// Where a browser shows its token.
pub const SIGN_IN: &str = "/ui/signin";

/// Whether an address is the page's.
pub fn is_at(path: &str) -> bool {
    path == "/" || path.starts_with("/ui/")
}

/// What somebody is told who may not come in: a browser is asked for its token.
pub fn unknown(request: &Request, failure: Failure) -> Response {
    let at_page = is_at(request.uri().path());
    if at_page && failure.status() == StatusCode::UNAUTHORIZED {
        return sign::form(None);
    }
    if at_page {
        return look::broken(&failure);
    }
    failure.into_response()
}

/// The routes.
pub fn routes() -> Router<Shared> {
    Router::new()
        .route("/", get(overview))
        .route("/ui/style.css", get(assets::style))
        .route("/ui/live.js", get(assets::script))
        .route("/ui/live", get(follow::live))
        .route(SIGN_IN, post(sign::sign_in))
        .route("/ui/signout", post(sign::sign_out))
        .route("/ui/verify", get(proof::show).post(proof::start))
        .route("/ui/{workspace}/{project}", get(project::show))
        .route("/ui/{workspace}/{project}/handoffs/{id}", get(packet::show))
        .route("/ui/{workspace}/{project}/handoffs/{id}/accept", post(packet::accept))
        .route("/ui/{workspace}/{project}/handoffs/{id}/release", post(packet::release))
        .route("/ui/{workspace}/{project}/handoffs/{id}/cancel", post(packet::cancel))
        .route("/ui/{workspace}/{project}/records", get(records::show))
        .route("/ui/{workspace}/{project}/record", get(history::show))
        .route("/ui/{workspace}/{project}/agents", get(agents::show))
        .route("/ui/{workspace}/{project}/ledger", get(agents::ledger))
}

/// An answer for a browser.
type Shown = Result<Response, Broken>;

/// An error as a browser shows it.
pub struct Broken(Failure);

impl<E: Into<Failure>> From<E> for Broken {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoResponse for Broken {
    fn into_response(self) -> Response {
        look::broken(&self.0)
    }
}

/// How many projects' packets stand on the first page, and how many of each.
const LOOKED_INTO: usize = 50;
const FIRST: usize = 3;

/// Every project, with what waits in it.
async fn overview(State(served): State<Shared>, asked: Asked) -> Shown {
    let all = served.app.waiting(&asked.caller).await?;
    let projects = make::projects(&all).projects;
    let now = served.app.time();
    let mut waiting = HashMap::new();
    for one in all.iter().filter(|one| one.handoffs.open > 0).take(LOOKED_INTO) {
        let caller = Caller {
            home: one.home.clone(),
            ..asked.caller.clone()
        };
        let page = served.app.handoffs(&caller, Listing::open(FIRST)).await?;
        let name = (one.home.workspace.to_string(), one.home.project.to_string());
        waiting.insert(name, make::queue(&page, &one.home, Vec::new()).packets);
    }
    let body = html! {
        h1 { "Projects" }
        @if projects.is_empty() {
            p.empty {
                "Nothing was written yet. Agents that use this store appear here with what they hand over: "
                code { "claude mcp add handoff-memory -- handoff-memory" }
            }
        }
        div.cards {
            @for one in &projects {
                section.card {
                    h2 {
                        a href=(look::href(&one.workspace, &one.project, &[])) {
                            @if one.workspace != "default" { span.faint { (look::visible(&one.workspace)) " / " } }
                            (look::visible(&one.project))
                        }
                    }
                    @if one.pending_handoff_count > 0 {
                        p.waiting { strong { (one.pending_handoff_count) } " waiting" }
                        ul {
                            @for packet in waiting.get(&(one.workspace.clone(), one.project.clone())).into_iter().flatten() {
                                li {
                                    a href=(look::href(&one.workspace, &one.project, &["handoffs", &packet.id])) { (look::visible(&packet.title)) }
                                    span.faint { " " (look::when(&packet.created_at, now)) }
                                }
                            }
                        }
                    } @else {
                        p.faint { "nothing waits" }
                    }
                    dl.numbers {
                        div { dt { "in work" } dd { (one.handoffs.accepted) } }
                        div { dt { "closed" } dd { (one.handoffs.closed) } }
                        div { dt { "entries" } dd { (one.entries) } }
                    }
                    p.faint { "last activity " (look::when(&one.last_activity, now)) }
                }
            }
        }
    };
    Ok(Page::new("Projects", &asked)
        .tab(Tab::Projects)
        .live("/ui/live")
        .show(body))
}
