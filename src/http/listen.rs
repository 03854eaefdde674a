//! The listener: connections are taken, served, and brought to an end.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use super::under_way::{Answer, Connection, Work};

/// How many connections are served at once; further ones wait to be taken.
const CONNECTIONS: usize = 1_024;

/// How many files the process needs for itself: connections that wait must not keep the store from being opened.
#[cfg(unix)]
const FILES: usize = 128;

/// How long a client may take to send the headers of a request, and how long a connection may rest between two of them.
const HEADERS: Duration = Duration::from_secs(30);

/// How long nothing must begin once nothing is under way: an answer that was taken whole has to leave the machine, and a request
/// whose head is just being read has to begin.
const FLUSH: Duration = Duration::from_millis(250);

/// Listens at `address`.
///
/// # Errors
/// When the address is taken, or is none of this machine's.
pub async fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    // The standard way sets SO_REUSEADDR, so that a server that was killed can be started again at once, and marks the
    // socket as one that no child inherits.
    TcpListener::bind(address).await
}

/// How many connections the system leaves room for. The process may open as many files as it needs, where it may raise that.
#[cfg(unix)]
fn room() -> usize {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let wanted = (CONNECTIONS + FILES) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(limit.maximum.map_or(wanted, |most| most.min(wanted)));
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(wanted).min(wanted);
    let files = usize::try_from(files).unwrap_or(CONNECTIONS);
    // With very few files half of them have to do.
    files.saturating_sub(FILES).max(files / 2).max(1)
}

/// How many connections the system leaves room for.
#[cfg(not(unix))]
fn room() -> usize {
    CONNECTIONS
}

/// Serves `router` until `shutdown` resolves, then finishes what is under way, for `grace` at most.
pub async fn run(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()>,
    end: watch::Sender<bool>,
    grace: Duration,
) -> io::Result<()> {
    let graceful = GracefulShutdown::new();
    let places = Arc::new(Semaphore::new(room()));
    let work = Work::default();
    tokio::pin!(shutdown);
    loop {
        let taken = async {
            let place = Arc::clone(&places).acquire_owned().await;
            (place, listener.accept().await)
        };
        let (place, accepted) = tokio::select! {
            biased;
            () = &mut shutdown => break,
            taken = taken => taken,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // One connection that broke, or too many files for a moment: the next one may go well.
                tracing::warn!(%error, "a connection could not be taken");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let _ = stream.set_nodelay(true);
        let router = router.clone();
        let io = TokioIo::new(Connection::new(stream, work.clone()));
        let work = work.clone();
        let service = service_fn(move |request: Request<Incoming>| {
            let answering = router.clone().oneshot(request.map(Body::new));
            let begun = work.begin();
            async move {
                answering
                    .await
                    .map(|response| response.map(|body| Body::new(Answer::new(body, begun))))
            }
        });
        let connection = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .serve_connection(io, service);
        let connection = graceful.watch(connection);
        tokio::spawn(async move {
            let _place = place;
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection ended early");
            }
        });
    }
    drop(listener);
    // Streams end by themselves when they are told.
    end.send_replace(true);
    // A connection on which no whole request has come holds nobody up.
    let quiet = async {
        let mut before = work.done().await;
        loop {
            tokio::time::sleep(FLUSH).await;
            let now = work.done().await;
            if now == before {
                break;
            }
            before = now;
        }
    };
    let finished = async {
        tokio::select! {
            () = graceful.shutdown() => {}
            () = quiet => {}
        }
    };
    if tokio::time::timeout(grace, finished).await.is_err() {
        tracing::warn!("leaving although requests are under way");
    }
    Ok(())
}
