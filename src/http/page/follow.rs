//! The stream that tells a page to look again: an event for each change of a ledger, and no more than that it happened.

use std::convert::Infallible;
use std::time::Duration;

use axum::extract::State;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::{Broken, Shown};
use crate::app::AppError;
use crate::domain::{Project, Workspace};
use crate::http::asked::Asked;
use crate::http::failure::Failure;
use crate::http::rate::Stream;
use crate::http::{Shared, gate};

/// How often it looks for what other processes wrote.
const LOOK: Duration = Duration::from_secs(1);

/// The stream of a project, or of all of them.
pub async fn live(State(served): State<Shared>, mut asked: Asked) -> Shown {
    let mut arguments = asked.query().map_err(Broken)?;
    let named = |text: Option<String>| text.filter(|text| !text.is_empty());
    let workspace = named(arguments.string("workspace").map_err(Failure::of_address)?);
    let project = named(arguments.string("project").map_err(Failure::of_address)?);
    let one = project.is_some();
    if let (Some(workspace), Some(project)) = (workspace, project) {
        asked.caller.home.workspace = Workspace::new(&workspace).map_err(Failure::of_address)?;
        asked.caller.home.project = Project::new(&project).map_err(Failure::of_address)?;
    }
    let open = served.streams.open(asked.visitor.name()).map_err(Broken)?;
    Ok(stream(served, asked, one, open))
}

fn stream(served: Shared, asked: Asked, one: bool, open: Stream) -> Response {
    let (events, receiver) = mpsc::channel::<Result<Event, Infallible>>(4);
    tokio::spawn(async move {
        let _open = open;
        served.metrics.streams.inc();
        run(&served, &asked, one, &events).await;
        served.metrics.streams.dec();
    });
    Sse::new(ReceiverStream::new(receiver))
        .keep_alive(KeepAlive::new().interval(Duration::from_secs(15)))
        .into_response()
}

async fn run(served: &Shared, asked: &Asked, one: bool, events: &mpsc::Sender<Result<Event, Infallible>>) {
    let mut commits = served.app.commits();
    let mut ending = served.ending.clone();
    let mut seen = None;
    loop {
        commits.borrow_and_update();
        if !gate::still_welcome(served, &asked.visitor).await {
            return;
        }
        if let Ok(now) = position(served, asked, one).await
            && seen != Some(now)
        {
            // The first one tells where the ledger stands, so that a page that has been away knows whether to look.
            let event = Event::default().event("at").data(now.to_string());
            if events.send(Ok(event)).await.is_err() {
                return;
            }
            seen = Some(now);
        }
        tokio::select! {
            _ = ending.wait_for(|ending| *ending) => return,
            () = events.closed() => return,
            _ = commits.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}

/// Where a project's ledger stands, or all of them together.
async fn position(served: &Shared, asked: &Asked, one: bool) -> Result<u64, AppError> {
    if one {
        return served.app.last_entry(&asked.caller).await;
    }
    let all = served.app.waiting(&asked.caller).await?;
    Ok(all.iter().map(|project| project.entries).sum())
}
