//! The ledger: its entries as a page or a stream, its checkpoint, and the proof of the file.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::asked::Asked;
use super::failure::Failure;
use super::route::{Route, answer, question};
use super::{Shared, live};
use crate::ask::ledger::{self, Part};
use crate::domain::Invalid;
use crate::domain::since::Since;
use crate::wire::{self, make};

/// The routes.
pub fn routes() -> Vec<Route> {
    vec![
        Route {
            method: "get",
            path: "/workspaces/{workspace}/projects/{project}/ledger",
            tag: "ledger",
            id: "ledger",
            summary: "What happened, oldest first",
            about: "With `Accept: text/event-stream` a stream: an event `entry` for each entry, its position as the event's id. A \
                    reader that comes back with Last-Event-ID misses nothing. What is not the caller's to know keeps its place, \
                    time and hash.",
            query: Some(question::<ledger::Input>),
            body: None,
            example: None,
            answers: vec![(200, "A page of entries, or the stream.", answer::<wire::Ledger>)],
            refusals: &[],
            streams: true,
            handler: get(entries),
        },
        Route {
            method: "get",
            path: "/workspaces/{workspace}/projects/{project}/checkpoint",
            tag: "ledger",
            id: "checkpoint",
            summary: "One string that pins the project's whole ledger",
            about: "",
            query: None,
            body: None,
            example: None,
            answers: vec![(200, "The checkpoint.", answer::<wire::Pinned>)],
            refusals: &[404],
            streams: false,
            handler: get(checkpoint),
        },
        Route {
            method: "get",
            path: "/workspaces/{workspace}/projects/{project}/verify",
            tag: "ledger",
            id: "verify",
            summary: "Prove every hash, chain, row and index of the file",
            about: "Covers the whole file. One proof runs at a time. To who is not root, a fault tells its kind and no more.",
            query: Some(question::<ledger::ProofInput>),
            body: None,
            example: None,
            answers: vec![(
                200,
                "The result: `ok` and the first fault of each kind.",
                answer::<wire::Verified>,
            )],
            refusals: &[],
            streams: false,
            handler: get(verify),
        },
    ]
}

async fn entries(State(served): State<Shared>, mut asked: Asked) -> Result<Response, Failure> {
    let (part, warnings) = ledger::read(asked.query()?).map_err(Failure::of_address)?;
    if wants_stream(&asked.headers) {
        return stream(served, asked, part).await;
    }
    let Part { since, limit } = part;
    let since = since.unwrap_or(Since::Position(0));
    let from = served.app.position(&asked.caller, since).await?;
    let last = served.app.last_entry(&asked.caller).await?;
    let entries = served.app.entries(&asked.caller, from, limit).await?;
    Ok(Json(make::ledger(&entries, last, warnings)).into_response())
}

/// Whether the reader asks for a stream: it names it, and not with a weight of nothing.
fn wants_stream(headers: &HeaderMap) -> bool {
    let accepted = headers
        .get_all(header::ACCEPT)
        .iter()
        .filter_map(|line| line.to_str().ok());
    accepted.flat_map(|line| line.split(',')).any(|kind| {
        let mut words = kind.split(';').map(str::trim);
        let named = words
            .next()
            .is_some_and(|essence| essence.eq_ignore_ascii_case("text/event-stream"));
        // Names of parameters know no letter case (RFC 9110 section 5.6.6).
        let never = |word: &str| {
            let weight = word.strip_prefix("q=").or_else(|| word.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.parse() == Ok(0.0))
        };
        named && !words.any(never)
    })
}

async fn stream(served: Shared, asked: Asked, part: Part) -> Result<Response, Failure> {
    let since = match asked.headers.get("last-event-id") {
        None => part.since,
        Some(id) => {
            let seq = id.to_str().ok().and_then(|id| id.trim().parse().ok());
            let seq =
                seq.ok_or_else(|| Invalid::new("Last-Event-ID", "no position", "the id of an event of this stream"));
            Some(Since::Position(seq.map_err(Failure::of_address)?))
        }
    };
    let from = match since {
        Some(since) => served.app.position(&asked.caller, since).await?,
        None => served.app.last_entry(&asked.caller).await?,
    };
    Ok(live::follow(served, asked, from)?.into_response())
}

async fn checkpoint(State(served): State<Shared>, asked: Asked) -> Result<Json<wire::Pinned>, Failure> {
    let checkpoint = served.app.checkpoint(&asked.caller).await?;
    Ok(Json(make::pinned(&checkpoint)))
}

async fn verify(State(served): State<Shared>, mut asked: Asked) -> Result<Json<wire::Verified>, Failure> {
    let checkpoints = ledger::proof(asked.query()?).map_err(Failure::of_address)?;
    if served.app.is_proving() {
        let failure = Failure::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "another proof of the file is under way",
            "ask again when it is done; work goes on meanwhile",
        );
        return Err(failure.after(5));
    }
    let report = served.app.verify_leniently(&asked.caller, checkpoints).await?;
    Ok(Json(make::verified(&report)))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    #[test]
    fn a_stream_is_for_who_names_it() {
        let wants = |lines: &[&'static str]| {
            let lines = lines
                .iter()
                .map(|line| (header::ACCEPT, HeaderValue::from_static(line)));
            wants_stream(&lines.collect())
        };
        for accepted in [
            "text/event-stream",
            "Text/Event-Stream; q=0.5",
            "application/json, text/event-stream",
        ] {
            assert!(wants(&[accepted]), "{accepted}");
        }
        assert!(wants(&["text/event-stream", "application/json"]));
        assert!(wants(&["application/json", "text/event-stream"]));
        for other in [
            "*/*",
            "application/json",
            "text/event-stream; q=0, */*",
            "text/event-stream;Q=0.0",
            "text/event-streams",
        ] {
            assert!(!wants(&[other]), "{other}");
        }
        assert!(!wants(&[]));
    }
}
