//! Packets: list, create, show, accept, release, cancel, close; and taking up what waits.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::json;

use super::Shared;
use super::asked::{Asked, Body};
use super::failure::Failure;
use super::route::{Route, answer, question};
use crate::app::App;
use crate::ask::resume::Resume;
use crate::ask::{ending, handoff, queue, resume};
use crate::domain::outcome::NewOutcome;

use crate::wire::{self, make};

const HANDOFFS: &str = "/workspaces/{workspace}/projects/{project}/handoffs";

/// The routes.
pub fn routes() -> Vec<Route> {
    let base = |method, path, id, summary, handler| Route {
        method,
        path,
        tag: "handoffs",
        id,
        summary,
        about: "",
        query: None,
        body: None,
        example: None,
        answers: Vec::new(),
        refusals: &[],
        streams: false,
        handler,
    };
    vec![
        Route {
            about: "Claims nothing. Expired packets are left out unless they are asked for.",
            query: Some(question::<queue::Input>),
            answers: vec![(200, "A page of packets.", answer::<wire::Listed>)],
            ..base("get", HANDOFFS, "list_handoffs", "List packets", get(list))
        },
        Route {
            body: Some(question::<handoff::Input>),
            example: Some(json!({
                "title": "Move billing to the new rates", "summary": "The table is written, the service still reads the old one.",
                "next_steps": ["Switch the service"], "open_questions": ["Do refunds use the old rate?"],
                "files_touched": ["src/billing/rates.rs"], "to_agent": "codex", "expires_in": "7d",
            })),
            answers: vec![
                (201, "The packet.", answer::<wire::HandedOff>),
                (
                    200,
                    "The same packet was written minutes ago; nothing was written.",
                    answer::<wire::HandedOff>,
                ),
            ],
            refusals: &[404, 409],
            ..base("post", HANDOFFS, "create_handoff", "Write a packet", post(create))
        },
        Route {
            about: "With its pinned versions, their values, and the ledger entries about it. Claims nothing.",
            answers: vec![(200, "The packet.", answer::<wire::Shown>)],
            refusals: &[404],
            ..base(
                "get",
                "/workspaces/{workspace}/projects/{project}/handoffs/{id}",
                "show_handoff",
                "Show one packet",
                get(show),
            )
        },
        Route {
            about: "One caller gets it. Asked again by its holder it answers the same, with `already_yours`.",
            body: Some(question::<ending::AcceptInput>),
            example: Some(json!({ "cwd": "/src/app", "session": "run-12" })),
            answers: vec![(200, "The packet is the caller's.", answer::<wire::Resumed>)],
            refusals: &[404, 409],
            ..base(
                "post",
                "/workspaces/{workspace}/projects/{project}/handoffs/{id}/accept",
                "accept_handoff",
                "Take a packet",
                post(accept),
            )
        },
        Route {
            body: Some(question::<ending::Input>),
            example: Some(json!({ "outcome_ref": "run-12", "note": "out of time" })),
            answers: vec![(200, "It waits again.", answer::<wire::Recorded>)],
            refusals: &[404, 409],
            ..base(
                "post",
                "/workspaces/{workspace}/projects/{project}/handoffs/{id}/release",
                "release_handoff",
                "Give a claimed packet back to the queue",
                post(release),
            )
        },
        Route {
            body: Some(question::<ending::Input>),
            example: Some(json!({ "outcome_ref": "run-12", "note": "out of time" })),
            answers: vec![(200, "It has ended.", answer::<wire::Recorded>)],
            refusals: &[404, 409],
            ..base(
                "post",
                "/workspaces/{workspace}/projects/{project}/handoffs/{id}/cancel",
                "cancel_handoff",
                "Take an open packet back",
                post(cancel),
            )
        },
        Route {
            about: "Its pinned versions' confidence follows, unless refs name others.",
            body: Some(question::<ending::CloseInput>),
            example: Some(json!({ "outcome": "success", "outcome_ref": "run-12", "note": "done" })),
            answers: vec![(
                200,
                "It has ended, or says in a warning why it was left alone.",
                answer::<wire::Recorded>,
            )],
            refusals: &[404, 409],
            ..base(
                "post",
                "/workspaces/{workspace}/projects/{project}/handoffs/{id}/close",
                "close_handoff",
                "Report how it went and end a claimed packet",
                post(close),
            )
        },
        Route {
            about: "Claims nothing: what a bare POST could take, or one packet.",
            query: Some(question::<ending::PeekInput>),
            answers: vec![(200, "What waits.", answer::<wire::Resumed>)],
            refusals: &[404, 409],
            ..base(
                "get",
                "/workspaces/{workspace}/projects/{project}/resume",
                "peek",
                "Look at what waits for the caller",
                get(peek),
            )
        },
        Route {
            about: "The next one that waits for the caller, or the one that is named. Without `packet` in the answer there is nothing to take.",
            body: Some(question::<resume::Input>),
            example: Some(json!({ "cwd": "/src/app" })),
            answers: vec![(200, "The packet, or that there is none.", answer::<wire::Resumed>)],
            refusals: &[404, 409],
            ..base(
                "post",
                "/workspaces/{workspace}/projects/{project}/resume",
                "resume",
                "Take up the work that waits",
                post(take),
            )
        },
    ]
}

type Answer<T> = Result<Json<T>, Failure>;

async fn list(State(served): State<Shared>, mut asked: Asked) -> Answer<wire::Listed> {
    let (wanted, warnings) = queue::read(asked.query()?).map_err(Failure::of_address)?;
    let page = served.app.handoffs(&asked.caller, wanted).await?;
    Ok(Json(make::queue(&page, asked.home(), warnings)))
}

async fn create(
    State(served): State<Shared>,
    mut asked: Asked,
    body: Body,
) -> Result<(StatusCode, Json<wire::HandedOff>), Failure> {
    let (new, ignored) = handoff::read(asked.arguments(body)?)?;
    let (handed, warnings) = served.app.hand_off(&asked.caller, new).await?;
    let status = if handed.unchanged {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    let answer = make::handed_off(&handed, asked.home(), [warnings, ignored].concat());
    Ok((status, Json(answer)))
}

async fn show(State(served): State<Shared>, asked: Asked) -> Answer<wire::Shown> {
    let shown = served.app.show(&asked.caller, asked.packet()?).await?;
    Ok(Json(make::shown(
        &shown.seen,
        &shown.refs,
        &shown.entries,
        asked.home(),
        shown.warnings,
    )))
}

async fn accept(State(served): State<Shared>, mut asked: Asked, body: Body) -> Answer<wire::Resumed> {
    let id = asked.packet()?;
    let (cwd, ignored) = ending::accept(asked.arguments(body)?)?;
    let wanted = Resume {
        id: Some(id),
        peek: false,
        cwd,
    };
    taken(&served.app, asked, wanted, ignored).await
}

async fn peek(State(served): State<Shared>, mut asked: Asked) -> Answer<wire::Resumed> {
    let (mut wanted, ignored) = resume::read(asked.query()?).map_err(Failure::of_address)?;
    // To look is all that this method does.
    wanted.peek = true;
    taken(&served.app, asked, wanted, ignored).await
}

async fn take(State(served): State<Shared>, mut asked: Asked, body: Body) -> Answer<wire::Resumed> {
    let (wanted, ignored) = resume::read(asked.arguments(body)?)?;
    taken(&served.app, asked, wanted, ignored).await
}

async fn taken(app: &App, asked: Asked, wanted: Resume, ignored: Vec<String>) -> Answer<wire::Resumed> {
    let Resume { id, peek, cwd } = wanted;
    let mut caller = asked.caller;
    caller.cwd = cwd;
    Ok(Json(if peek {
        let (peeked, warnings) = app.peek(&caller, id).await?;
        make::peeked(&peeked, &caller.home, [warnings, ignored].concat())
    } else {
        let (resumed, warnings) = app.resume(&caller, id).await?;
        make::resumed(&resumed, &caller.home, [warnings, ignored].concat())
    }))
}

async fn release(State(served): State<Shared>, mut asked: Asked, body: Body) -> Answer<wire::Recorded> {
    let id = asked.packet()?;
    let (new, ignored) = ending::end(asked.arguments(body)?, id, NewOutcome::release)?;
    report(&served.app, &asked, new, ignored).await
}

async fn cancel(State(served): State<Shared>, mut asked: Asked, body: Body) -> Answer<wire::Recorded> {
    let id = asked.packet()?;
    let (new, ignored) = ending::end(asked.arguments(body)?, id, NewOutcome::cancel)?;
    report(&served.app, &asked, new, ignored).await
}

async fn close(State(served): State<Shared>, mut asked: Asked, body: Body) -> Answer<wire::Recorded> {
    let id = asked.packet()?;
    let (new, ignored) = ending::close(asked.arguments(body)?, id)?;
    report(&served.app, &asked, new, ignored).await
}

async fn report(app: &App, asked: &Asked, new: NewOutcome, ignored: Vec<String>) -> Answer<wire::Recorded> {
    let (recorded, warnings) = app.record_outcome(&asked.caller, new.clone()).await?;
    Ok(Json(make::recorded(&new, &recorded, [warnings, ignored].concat())))
}
