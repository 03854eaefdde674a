//! Outcomes: reports on how acting on records went.

use axum::Json;
use axum::extract::State;
use axum::routing::post;
use serde_json::json;

use super::Shared;
use super::asked::{Asked, Body};
use super::failure::Failure;
use super::route::{Route, answer, question};
use crate::ask::outcome;
use crate::wire::{self, make};

/// The routes.
pub fn routes() -> Vec<Route> {
    vec![Route {
        method: "post",
        path: "/workspaces/{workspace}/projects/{project}/outcomes",
        tag: "outcomes",
        id: "record_outcome",
        summary: "Report how acting on what was remembered turned out",
        about: "Confidence follows. With `handoff_id` it ends the packet, too, or gives it back.",
        query: None,
        body: Some(question::<outcome::Input>),
        example: Some(json!({
            "outcome": "success", "outcome_ref": "run-12",
            "refs": [{ "scope": "app/billing", "key": "rate" }], "note": "the rates hold",
        })),
        answers: vec![(200, "What was moved.", answer::<wire::Recorded>)],
        refusals: &[404, 409],
        streams: false,
        handler: post(record),
    }]
}

async fn record(State(served): State<Shared>, mut asked: Asked, body: Body) -> Result<Json<wire::Recorded>, Failure> {
    let (new, ignored) = outcome::read(asked.arguments(body)?)?;
    let (recorded, warnings) = served.app.record_outcome(&asked.caller, new.clone()).await?;
    Ok(Json(make::recorded(&new, &recorded, [warnings, ignored].concat())))
}
