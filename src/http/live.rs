//! The ledger as a stream of events that misses nothing: it is read from a position on, again after each commit.

use std::convert::Infallible;
use std::time::Duration;

use axum::response::sse::{Event, KeepAlive, Sse};
use futures_core::Stream;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use super::asked::Asked;
use super::failure::Failure;
use super::{Shared, gate};
use crate::wire::make;

/// How often a stream looks for what other processes wrote, and whether its reader is still welcome.
const LOOK: Duration = Duration::from_secs(1);

/// How many entries one look takes.
const CHUNK: usize = 200;

/// Every entry after position `from`, and each further one as it is written.
///
/// # Errors
/// When the caller follows too much already.
pub fn follow(
    served: Shared,
    asked: Asked,
    from: u64,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Failure> {
    let open = served.streams.open(asked.visitor.name())?;
    // A reader that takes nothing keeps its stream from reading on.
    let (events, receiver) = mpsc::channel(CHUNK);
    tokio::spawn(async move {
        let _open = open;
        served.metrics.streams.inc();
        run(&served, &asked, from, &events).await;
        served.metrics.streams.dec();
    });
    Ok(Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::new().interval(Duration::from_secs(15))))
}

async fn run(served: &Shared, asked: &Asked, mut from: u64, events: &mpsc::Sender<Result<Event, Infallible>>) {
    let mut commits = served.app.commits();
    let mut ending = served.ending.clone();
    loop {
        // Marked as seen before the look, so that what is committed during it is looked at again.
        commits.borrow_and_update();
        if !gate::still_welcome(served, &asked.visitor).await {
            return;
        }
        match served.app.entries(&asked.caller, from, CHUNK).await {
            Ok(entries) => {
                for told in &entries {
                    from = told.seq();
                    let event = Event::default().id(from.to_string()).event("entry");
                    let Ok(event) = event.json_data(make::entry(told)) else {
                        return;
                    };
                    if events.send(Ok(event)).await.is_err() {
                        return;
                    }
                }
                if entries.len() == CHUNK {
                    continue;
                }
            }
            // What was not read now is read at the next look.
            Err(error) => tracing::debug!(%error, "a stream could not be read on"),
        }
        tokio::select! {
            _ = ending.wait_for(|ending| *ending) => return,
            () = events.closed() => return,
            _ = commits.changed() => {}
            () = tokio::time::sleep(LOOK) => {}
        }
    }
}
