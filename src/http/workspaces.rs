//! Workspaces and projects, and what waits in each; the numbers of one project.

use axum::Json;
use axum::extract::State;
use axum::routing::get;

use super::Shared;
use super::asked::Asked;
use super::failure::Failure;
use super::route::{Route, answer};
use crate::wire::{self, make};

/// The routes.
pub fn routes() -> Vec<Route> {
    let base = |path, id, summary, about, handler| Route {
        method: "get",
        path,
        tag: "workspaces",
        id,
        summary,
        about,
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
            answers: vec![(200, "The workspaces, by name.", answer::<wire::Workspaces>)],
            ..base("/workspaces", "list_workspaces", "Every workspace", "", get(workspaces))
        },
        Route {
            answers: vec![(200, "The projects, by name.", answer::<wire::Projects>)],
            ..base(
                "/workspaces/{workspace}/projects",
                "list_projects",
                "Every project of a workspace, with what waits in it",
                "`pending_handoff_count` counts the open packets that the caller may know of.",
                get(projects),
            )
        },
        Route {
            answers: vec![(200, "The numbers.", answer::<wire::Numbers>)],
            ..base(
                "/workspaces/{workspace}/projects/{project}/stats",
                "stats",
                "Who the caller is here, what there is, and what waits",
                "",
                get(stats),
            )
        },
    ]
}

async fn workspaces(State(served): State<Shared>, asked: Asked) -> Result<Json<wire::Workspaces>, Failure> {
    let all = served.app.waiting(&asked.caller).await?;
    Ok(Json(make::workspaces(&all)))
}

async fn projects(State(served): State<Shared>, asked: Asked) -> Result<Json<wire::Projects>, Failure> {
    let mut all = served.app.waiting(&asked.caller).await?;
    all.retain(|project| project.home.workspace == asked.home().workspace);
    Ok(Json(make::projects(&all)))
}

async fn stats(State(served): State<Shared>, asked: Asked) -> Result<Json<wire::Numbers>, Failure> {
    let overview = served.app.overview(&asked.caller).await?;
    Ok(Json(make::numbers(&overview.stats, &asked.caller)))
}
