//! The proof of the file, run beside the work, with how far it has got.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, MutexGuard};

use axum::extract::State;
use axum::response::{IntoResponse, Redirect};
use maud::html;

use super::Shown;
use super::door::Form;
use super::look::{self, Page, Tab, visible, when};
use crate::app::Door;
use crate::domain::Time;
use crate::http::Shared;
use crate::http::asked::Asked;
use crate::wire::{Verified, make};

/// How far a proof has got.
#[derive(Debug, Default)]
struct Progress {
    done: AtomicU64,
    all: AtomicU64,
}

/// The last proof that somebody asked for on the page.
#[derive(Default)]
pub struct Proving {
    state: Mutex<Last>,
}

#[derive(Clone, Default)]
enum Last {
    #[default]
    None,
    Running(Arc<Progress>),
    /// What it found, or why it could not be carried through, and when it ended.
    Done(Result<Verified, String>, Time),
}

impl Proving {
    fn state(&self) -> MutexGuard<'_, Last> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Starts a proof, unless one runs.
pub async fn start(State(served): State<Shared>, _form: Form) -> Redirect {
    let progress = Arc::new(Progress::default());
    let free = {
        let mut state = served.on_page.state();
        let free = !matches!(*state, Last::Running(_));
        if free {
            *state = Last::Running(Arc::clone(&progress));
        }
        free
    };
    if free {
        tokio::spawn(async move {
            let told = move |done, all| {
                progress.done.store(done, Ordering::Relaxed);
                progress.all.store(all, Ordering::Relaxed);
            };
            let found = served.app.verify(Vec::new(), told).await;
            let result = found.map(|report| make::verified(&report)).map_err(|error| {
                tracing::error!(%error, "a proof was not carried through");
                make::failed(&error, Door::Http).error.hint
            });
            *served.on_page.state() = Last::Done(result, served.app.time());
        });
    }
    Redirect::to("/ui/verify")
}

/// How far the proof is, or what it found.
pub async fn show(State(served): State<Shared>, asked: Asked) -> Shown {
    let last = served.on_page.state().clone();
    let now = served.app.time();
    let running = matches!(last, Last::Running(_));
    let body = html! {
        h1 { "Verify" }
        p {
            "Proves every hash, every chain, every row against the ledger and the search index against the records. Work goes on \
             meanwhile."
        }
        @match &last {
            Last::None => p.empty { "No proof was asked for since this server started." },
            Last::Running(progress) => {
                @let (done, all) = (progress.done.load(Ordering::Relaxed), progress.all.load(Ordering::Relaxed));
                p role="status" {
                    label for="progress" { "Proving … " }
                    @if all > 0 {
                        progress #progress max=(all) value=(done.min(all)) {}
                        span.faint { " " (done) " of " (all) " rows" }
                    } @else {
                        progress #progress {}
                    }
                }
            },
            Last::Done(Ok(verified), at) => {
                @if verified.ok {
                    p.done role="status" { "Intact: " (verified.checked) " rows checked, " (when(&at.to_string(), now)) "." }
                } @else {
                    p.problem role="alert" { (verified.faults.len()) " kinds of fault, found " (when(&at.to_string(), now)) "." }
                    table {
                        thead { tr { th { "Kind" } th { "Where" } th { "What" } } }
                        tbody {
                            @for fault in &verified.faults {
                                tr {
                                    td { (visible(&fault.kind)) }
                                    @if asked.caller.guest { td { "—" } td { "ask whoever runs the server" } }
                                    @else { td { (visible(&fault.place)) } td { (visible(&fault.what)) } }
                                }
                            }
                        }
                    }
                }
            },
            Last::Done(Err(hint), at) => p.problem role="alert" { "It could not be carried through, " (when(&at.to_string(), now)) ": " (visible(hint)) },
        }
        @if let Some(proof) = asked.proof.as_ref().filter(|_| !running) {
            form method="post" action="/ui/verify" { (look::proof_field(proof)) button { "Prove it now" } }
        }
    };
    Ok(Page::new("Verify", &asked)
        .tab(Tab::Verify)
        .refreshing(running)
        .show(body)
        .into_response())
}
