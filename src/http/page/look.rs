//! What every page has: its frame, its way through the house, and how times, states and stored texts look.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use maud::{DOCTYPE, Markup, html};

use super::assets;
use super::door::Proof;
use crate::domain::legible;
use crate::domain::name::percent_encoded;
use crate::domain::{Home, Reach, Time};
use crate::http::asked::Asked;
use crate::http::failure::Failure;

pub use crate::domain::legible::visible;

/// What a page may load and where its forms may go: this server alone.
const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The part of the house that a page is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tab {
    /// All projects.
    Projects,
    /// A project's packets.
    Handoffs,
    /// A project's records.
    Records,
    /// A project's agents.
    Agents,
    /// A project's ledger.
    Ledger,
    /// The proof of the file.
    Verify,
}

/// A page that is about to be shown.
pub struct Page<'a> {
    title: String,
    asked: &'a Asked,
    home: Option<&'a Home>,
    tab: Option<Tab>,
    live: Option<String>,
    refresh: bool,
}

impl<'a> Page<'a> {
    /// A page of this title for whoever asked.
    pub fn new(title: impl Into<String>, asked: &'a Asked) -> Self {
        Self {
            title: title.into(),
            asked,
            home: None,
            tab: None,
            live: None,
            refresh: false,
        }
    }

    /// A page of a project, which follows its ledger.
    pub fn of_project(title: impl Into<String>, asked: &'a Asked) -> Self {
        let home = asked.home();
        let live = format!(
            "/ui/live?workspace={}&project={}",
            percent_encoded(home.workspace.as_str()),
            percent_encoded(home.project.as_str())
        );
        Self {
            home: Some(home),
            ..Self::new(title, asked).live(live)
        }
    }

    /// In this part of the house.
    pub fn tab(self, tab: Tab) -> Self {
        Self { tab: Some(tab), ..self }
    }

    /// With a stream that says when to look again.
    pub fn live(self, address: impl Into<String>) -> Self {
        Self {
            live: Some(address.into()),
            ..self
        }
    }

    /// Looked at again every second, script or not.
    pub fn refreshing(self, refresh: bool) -> Self {
        Self { refresh, ..self }
    }

    /// The page around `body`.
    pub fn show(self, body: Markup) -> Response {
        self.with_status(StatusCode::OK, body)
    }

    fn with_status(self, status: StatusCode, body: Markup) -> Response {
        let tab = |here: Tab, address: String, words: &str| {
            html! {
                a href=(address) aria-current=[(self.tab == Some(here)).then_some("page")] { (words) }
            }
        };
        let markup = html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    @if self.refresh { meta http-equiv="refresh" content="1"; }
                    title { (visible(&self.title)) " · handoff-memory" }
                    link rel="stylesheet" href=(assets::style_address());
                    link rel="icon" href=(assets::ICON);
                    script src=(assets::script_address()) defer {}
                }
                body data-live=[self.live.as_deref()] {
                    a.skip href="#main" { "Skip to content" }
                    header.top {
                        a.brand href="/" { "handoff" span { "·" } "memory" }
                        nav.tabs aria-label="Parts" {
                            (tab(Tab::Projects, "/".to_owned(), "Projects"))
                            @if let Some(home) = self.home {
                                span.here {
                                    @if home.workspace.as_str() != "default" { (visible(home.workspace.as_str())) " / " }
                                    (visible(home.project.as_str()))
                                }
                                (tab(Tab::Handoffs, of(home, &[]), "Handoffs"))
                                (tab(Tab::Records, of(home, &["records"]), "Records"))
                                (tab(Tab::Agents, of(home, &["agents"]), "Agents"))
                                (tab(Tab::Ledger, of(home, &["ledger"]), "Ledger"))
                            }
                            (tab(Tab::Verify, "/ui/verify".to_owned(), "Verify"))
                        }
                        (who(self.asked))
                    }
                    main #main tabindex="-1" { (body) }
                    p.live role="status" aria-live="polite" hidden {}
                }
            }
        };
        answer(status, markup)
    }
}

/// Who looks at the page.
fn who(asked: &Asked) -> Markup {
    let caller = &asked.caller;
    let role = match caller.reach {
        Reach::Root => "root",
        Reach::Observer => "observer",
        Reach::Local => "this machine",
        Reach::Shared | Reach::Owned => "",
    };
    html! {
        div.who {
            span title="who you are here" {
                (visible(caller.agent.as_str()))
                @if let Some(owner) = &caller.owner {
                    @if owner.as_str() != caller.agent.as_str() { span.faint { " for " (visible(owner.as_str())) } }
                }
                @if !role.is_empty() { " " span.badge { (role) } }
            }
            @if let Some(proof) = asked.proof.as_ref().filter(|_| asked.visitor.token.is_some()) {
                form method="post" action="/ui/signout" { (proof_field(proof)) button.quiet { "Sign out" } }
            }
        }
    }
}

/// The field that shows that a form is the page's own.
pub fn proof_field(proof: &Proof) -> Markup {
    html! { input type="hidden" name="proof" value=(proof.0); }
}

/// An error as a page.
pub fn broken(failure: &Failure) -> Response {
    let problem = failure.problem();
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { "Not done · handoff-memory" }
                link rel="stylesheet" href=(assets::style_address());
                link rel="icon" href=(assets::ICON);
            }
            body {
                main #main {
                    h1 { "That was not done" }
                    p.problem role="alert" { (visible(&problem.message)) }
                    p { (visible(&problem.hint)) }
                    p { a href="/" { "To the projects" } }
                }
            }
        }
    };
    let mut response = answer(failure.status(), markup);
    failure.mark(response.headers_mut());
    response
}

fn answer(status: StatusCode, markup: Markup) -> Response {
    let mut response = (status, Html(markup.into_string())).into_response();
    response
        .headers_mut()
        .insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// The address of something in a project.
pub fn href(workspace: &str, project: &str, rest: &[&str]) -> String {
    let mut address = format!("/ui/{}/{}", percent_encoded(workspace), percent_encoded(project));
    for segment in rest {
        address.push('/');
        address.push_str(&percent_encoded(segment));
    }
    address
}

/// The address of something in a project.
pub fn of(home: &Home, rest: &[&str]) -> String {
    href(home.workspace.as_str(), home.project.as_str(), rest)
}

/// The address of a record's page.
pub fn of_record(home: &Home, scope: &str, key: &str) -> String {
    format!(
        "{}?scope={}&key={}",
        of(home, &["record"]),
        percent_encoded(scope),
        percent_encoded(key)
    )
}

/// How long ago something was, with the exact time for who wants it.
pub fn when(at: &str, now: Time) -> Markup {
    let age = Time::parse(at).map(|at| now.since(at).to_string());
    html! {
        time datetime=(at) title=(at) {
            @match age {
                Some(age) if age == "0 s" => { "just now" },
                Some(age) => { (age) " ago" },
                None => { (visible(at)) },
            }
        }
    }
}

/// A number of things.
pub fn counted(number: u64, what: &str) -> String {
    let end = if number == 1 { "" } else { "s" };
    format!("{number} {what}{end}")
}

/// A state, by its word and its colour.
pub fn badge(state: &str, ended_as: Option<&str>) -> Markup {
    html! {
        span class={ "badge state-" (state) } {
            (state)
            @if let Some(end) = ended_as { ", " (end) }
        }
    }
}

/// Stored text of several lines.
pub fn lines(text: &str) -> String {
    text.split('\n')
        .map(|line| visible(line.trim_end_matches('\r')))
        .collect::<Vec<_>>()
        .join("\n")
}

/// A stored value: a text as it reads, anything else as indented JSON; a very long one by its beginning.
pub fn value(json: &str) -> Markup {
    const LONG: usize = 20_000;
    let text = lines(&legible::value(json));
    let cut = text.char_indices().nth(LONG).map(|(at, _)| at);
    html! {
        pre.value tabindex="0" { (text[..cut.unwrap_or(text.len())]) @if cut.is_some() { "…" } }
        @if cut.is_some() { p.faint { "cut here; REST and the command line give it whole" } }
    }
}

/// A share as a number between 0 and 1, with a bar.
pub fn confidence(share: f64) -> Markup {
    let filled = (share.clamp(0.0, 1.0) * 40.0).round();
    html! {
        span.confidence title={ "confidence " (share) } {
            svg viewBox="0 0 40 6" width="40" height="6" aria-hidden="true" {
                rect.track width="40" height="6" rx="3" {}
                rect.fill width=(filled) height="6" rx="3" {}
            }
            " " (format!("{share:.2}"))
        }
    }
}
