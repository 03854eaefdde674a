//! The HTTP face: REST with owners and tokens, one listener for it and for what stands beside it.
//!
//! Each request passes the gate (host, origin, token, rate), then its route: the arguments, one call of app, the answer.

mod asked;
mod failure;
mod gate;
mod handoffs;
mod health;
mod ledger;
mod listen;
mod live;
mod metrics;
pub mod openapi;
mod outcomes;
mod page;
mod rate;
mod records;
pub mod route;
mod under_way;
mod unread;
mod workspaces;

use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tower_http::catch_panic::CatchPanicLayer;

use self::metrics::Metrics;
use self::page::door::Browsers;
use self::rate::{Rates, Streams};
use self::route::Route;
use crate::app::App;
use crate::domain::limits;

pub use self::listen::bind;

/// How long what is under way may take to finish once the server is asked to end.
///
/// Less than the ten seconds after which container engines kill.
const GRACE: Duration = Duration::from_secs(8);

/// How a server is set up.
#[derive(Debug, Clone)]
pub struct Setup {
    /// Names, without ports, under which it may be asked; lowercase.
    pub hosts: Vec<String>,
    /// Other origins whose pages may ask it; lowercase.
    pub origins: Vec<String>,
    /// Whether every packet counts as owned.
    pub strict: bool,
    /// Requests that a token may make in a second; zero: any number.
    pub rate: u32,
    /// Whether it serves without a token while none was ever made: when only programs of this machine can reach it, and
    /// nobody had a token when it started.
    pub local: bool,
}

/// What every request works with.
pub struct Served {
    app: Arc<App>,
    setup: Setup,
    metrics: Metrics,
    rates: Rates,
    browsers: Browsers,
    /// The proof that was asked for on the page.
    on_page: page::Proving,
    streams: Streams,
    /// Whether the store was ever seen to have tokens: from then on nobody comes in without one, though it may go away.
    closed: AtomicBool,
    /// Turns true when the server is to end.
    ending: watch::Receiver<bool>,
}

/// What every route is given.
type Shared = Arc<Served>;

/// Every route of the REST face, in the order in which its description lists them.
pub fn routes() -> Vec<Route> {
    [
        workspaces::routes(),
        handoffs::routes(),
        records::routes(),
        outcomes::routes(),
        ledger::routes(),
        health::routes(),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Serves on `listener` until `shutdown` resolves; then takes no further request, finishes those under way, and closes the
/// store. `beside` are the routes of other faces, which pass the same gate.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(
    app: Arc<App>,
    setup: Setup,
    listener: TcpListener,
    beside: Router,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (end, ending) = watch::channel(false);
    let rates = Rates::new(setup.rate);
    let metrics = Metrics::new(&app);
    let served = Arc::new(Served {
        app: Arc::clone(&app),
        setup,
        metrics,
        rates,
        browsers: Browsers::new()?,
        on_page: page::Proving::default(),
        streams: Streams::default(),
        closed: AtomicBool::new(false),
        ending,
    });
    let mut router = Router::new();
    for route in routes() {
        router = router.route(route.path, route.handler);
    }
    let router = router
        .route("/openapi.json", get(openapi::document))
        .route("/metrics", get(health::metrics))
        .merge(page::routes())
        .with_state(Arc::clone(&served))
        .merge(beside)
        .fallback(failure::no_route)
        .method_not_allowed_fallback(failure::no_method)
        .layer(DefaultBodyLimit::max(limits::LINE_BYTES))
        .layer(from_fn_with_state(Arc::clone(&served), gate::pass))
        .layer(CatchPanicLayer::custom(failure::panicked))
        .layer(from_fn(gate::harden))
        .layer(from_fn(unread::close))
        .layer(from_fn_with_state(Arc::clone(&served), metrics::measure));
    let upkeep = tokio::spawn(upkeep(Arc::clone(&app)));
    let outcome = listen::run(listener, router, shutdown, end, GRACE).await;
    upkeep.abort();
    app.close().await;
    outcome
}

/// Writes down once a minute what is due, in each project, if the store is open anyway.
async fn upkeep(app: Arc<App>) {
    let minute = Duration::from_secs(60);
    let mut interval = tokio::time::interval_at(tokio::time::Instant::now() + minute, minute);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        if let Err(error) = app.tick_all().await {
            tracing::debug!(%error, "upkeep was put off");
        }
    }
}
