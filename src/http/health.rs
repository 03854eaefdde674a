//! Whether the server lives, whether it can work, and its numbers for a monitor.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::Shared;
use super::asked::Asked;
use super::failure::Failure;
use super::route::{Route, answer};
use crate::domain::{Reach, Refusal};
use crate::wire;

/// The routes.
pub fn routes() -> Vec<Route> {
    let base = |path, id, summary, about, handler| Route {
        method: "get",
        path,
        tag: "health",
        id,
        summary,
        about,
        query: None,
        body: None,
        example: None,
        answers: vec![(200, "It does.", answer::<wire::Healthy>)],
        refusals: &[],
        streams: false,
        handler,
    };
    vec![
        base(
            "/health",
            "live",
            "Whether the server lives",
            "Touches no store. Needs no token.",
            get(live),
        ),
        Route {
            refusals: &[503],
            ..base(
                "/health/ready",
                "ready",
                "Whether the store can be read, and the server is not ending",
                "Needs no token.",
                get(ready),
            )
        },
    ]
}

fn healthy() -> Json<wire::Healthy> {
    Json(wire::Healthy {
        status: "ok".to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    })
}

async fn live() -> Json<wire::Healthy> {
    healthy()
}

async fn ready(State(served): State<Shared>) -> Result<Json<wire::Healthy>, Failure> {
    let not_ready = |why: &str| {
        Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            why,
            "ask again; the server's log says more",
        )
        .after(1)
    };
    if *served.ending.borrow() {
        return Err(not_ready("the server is ending"));
    }
    match served.app.admit(None).await {
        Ok(_) => Ok(healthy()),
        Err(error) => {
            tracing::error!(%error, "not ready");
            // Whoever asks shows no token, and is told no path.
            Err(not_ready("the store cannot be read"))
        }
    }
}

/// The numbers in Prometheus' text form.
pub async fn metrics(State(served): State<Shared>, asked: Asked) -> Result<Response, Failure> {
    // How many packets others write is theirs to know, and a monitor's.
    if matches!(asked.caller.reach, Reach::Shared | Reach::Owned) {
        let why = "the metrics count what everyone does";
        return Err(
            Refusal::not_allowed(why, "ask for them with a token that was made with --observer or --root").into(),
        );
    }
    let text = served.metrics.text(&served.app).map_err(|error| {
        tracing::error!(%error, "the metrics could not be written");
        Failure::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "the metrics could not be written",
            "report this",
        )
    })?;
    Ok(([(header::CONTENT_TYPE, prometheus::TEXT_FORMAT)], text).into_response())
}
