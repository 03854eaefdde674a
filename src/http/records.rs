//! Records: read, search, history, remember. Values come whole.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::{get, post};
use serde_json::json;

use super::Shared;
use super::asked::{Asked, Body};
use super::failure::Failure;
use super::route::{Route, answer, question};
use crate::app::memory::Room;
use crate::ask::history::History;
use crate::ask::recall::Recall;
use crate::ask::{history, recall, remember};
use crate::domain::Invalid;
use crate::domain::sought::{SearchCursor, Wanted};
use crate::wire::{self, make};

/// What the values of one page may take in all, in bytes; a single value is given whatever its length.
const PAGE: usize = 8 * 1024 * 1024;

const ROOM: Room = Room {
    values: PAGE,
    all: PAGE,
};

/// The routes.
pub fn routes() -> Vec<Route> {
    let records = "/workspaces/{workspace}/projects/{project}/records";
    vec![
        Route {
            method: "get",
            path: records,
            tag: "records",
            id: "recall",
            summary: "Read a record by scope and key, or search",
            about: "At least one of scope, key, query, tag and min_confidence must be there. A record that is not there is an empty \
                    list that says what was searched. Values come whole; a page ends early when its values take more than 8 MiB.",
            query: Some(question::<recall::Input>),
            body: None,
            example: None,
            answers: vec![(200, "What was found, best first.", answer::<wire::Recalled>)],
            refusals: &[],
            streams: false,
            handler: get(read),
        },
        Route {
            method: "post",
            path: records,
            tag: "records",
            id: "remember",
            summary: "Append a version of a record",
            about: "",
            query: None,
            body: Some(question::<remember::Input>),
            example: Some(
                json!({ "scope": "app/billing", "key": "rate", "value": { "rate": 0.21 }, "tags": ["billing"] }),
            ),
            answers: vec![
                (201, "The version.", answer::<wire::Remembered>),
                (
                    200,
                    "It was the current version before; nothing was written.",
                    answer::<wire::Remembered>,
                ),
            ],
            refusals: &[409],
            streams: false,
            handler: post(write),
        },
        Route {
            method: "get",
            path: "/workspaces/{workspace}/projects/{project}/records/history",
            tag: "records",
            id: "history",
            summary: "Every version of one record, oldest first",
            about: "",
            query: Some(question::<history::Input>),
            body: None,
            example: None,
            answers: vec![(200, "A page of versions.", answer::<wire::History>)],
            refusals: &[404],
            streams: false,
            handler: get(versions),
        },
    ]
}

async fn read(State(served): State<Shared>, mut asked: Asked) -> Result<Json<wire::Recalled>, Failure> {
    let (Recall { wanted, cursor }, warnings) = recall::read(asked.query()?).map_err(Failure::of_address)?;
    let mut sought = match wanted {
        Wanted::Some(sought) => *sought,
        Wanted::One(at, version) => {
            if cursor.is_some() {
                let whole = "left out, as a record is given whole";
                return Err(Failure::of_address(Invalid::new("cursor", "there", whole)));
            }
            let found = served.app.recall(&asked.caller, &at, version).await?;
            let mut answer = make::recalled(found.as_slice(), found.is_some().into(), warnings);
            if found.is_none() {
                answer.searched = Some(make::sought_one(&at, version));
            }
            return Ok(Json(answer));
        }
    };
    let from = cursor.map(|text| SearchCursor::parse(&text)).transpose();
    sought.from = from.map_err(Failure::of_address)?;
    let page = served.app.search(&asked.caller, sought.clone(), ROOM).await;
    let page = page.map_err(Failure::of_look)?;
    let mut answer = make::recalled(&page.versions, page.total, warnings);
    answer.total_capped = make::flag(page.total_capped);
    answer.next_cursor = page.next.map(|next| next.to_string());
    answer.truncated = make::flag(page.next.is_some() && page.versions.len() < sought.limit);
    if page.versions.is_empty() && sought.from.is_none() {
        answer.searched = Some(make::searched(&sought, &page));
    }
    Ok(Json(answer))
}

async fn write(
    State(served): State<Shared>,
    mut asked: Asked,
    body: Body,
) -> Result<(StatusCode, Json<wire::Remembered>), Failure> {
    let (new, ignored) = remember::read(asked.arguments(body)?)?;
    let written = served.app.remember(&asked.caller, new).await?;
    let status = if written.remembered.unchanged {
        StatusCode::OK
    } else {
        StatusCode::CREATED
    };
    Ok((status, Json(make::remembered(written, ignored))))
}

async fn versions(State(served): State<Shared>, mut asked: Asked) -> Result<Json<wire::History>, Failure> {
    let (History { at, from, limit }, warnings) = history::read(asked.query()?).map_err(Failure::of_address)?;
    let (mut versions, total) = served.app.history(&asked.caller, &at, from, limit, ROOM).await?;
    let read = versions.len();
    let mut size = 0;
    let fitting = versions.iter().take_while(|version| {
        size += version.weight();
        size <= PAGE
    });
    versions.truncate(fitting.count().max(1).min(read));
    let mut answer = make::history(&at, &versions, total, warnings);
    let last = versions.last().map_or(from, |version| version.version);
    let more = versions.len() < read || (read == limit && last < total);
    answer.next_cursor = more.then(|| format!("h{last}"));
    answer.truncated = make::flag(versions.len() < read);
    Ok(Json(answer))
}
