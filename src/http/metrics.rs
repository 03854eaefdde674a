//! Numbers for a monitor: requests, commits, streams, and the size of the store.

use std::time::Instant;

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use prometheus::{Histogram, HistogramOpts, HistogramVec, IntCounter, IntGauge, Opts, Registry, TextEncoder};

use super::Shared;
use crate::app::App;

/// The numbers of one server.
pub struct Metrics {
    registry: Registry,
    requests: HistogramVec,
    under_way: IntGauge,
    /// Streams of the ledger that are open.
    pub streams: IntGauge,
    bytes: IntGauge,
    wal_bytes: IntGauge,
}

impl Metrics {
    /// The numbers, from now on.
    ///
    /// # Panics
    /// When a number's name is none, or is there twice: a fault of this program, seen at its first start.
    pub fn new(app: &App) -> Self {
        let registry = Registry::new_custom(Some("handoff_memory".to_owned()), None).expect("a name");
        let gauge = |name: &str, help: &str| {
            let gauge = IntGauge::new(name, help).expect("a name");
            registry.register(Box::new(gauge.clone())).expect("each once");
            gauge
        };
        let histogram = |name: &str, help: &str, buckets: &[f64]| {
            let options = HistogramOpts::new(name, help).buckets(buckets.to_vec());
            let histogram = Histogram::with_opts(options).expect("a name");
            registry.register(Box::new(histogram.clone())).expect("each once");
            histogram
        };
        let requests = HistogramVec::new(
            HistogramOpts::from(Opts::new(
                "http_request_seconds",
                "How long requests took, by route and status.",
            )),
            &["method", "route", "status"],
        )
        .expect("a name");
        registry.register(Box::new(requests.clone())).expect("each once");
        let writes = IntCounter::new("writes_total", "Writes that were committed.").expect("a name");
        registry.register(Box::new(writes.clone())).expect("each once");
        let sizes = histogram(
            "commit_writes",
            "How many callers' writes each transaction held.",
            &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0],
        );
        let times = histogram(
            "commit_seconds",
            "How long each transaction took, waiting for the lock and the disk included.",
            &[
                0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 10.0,
            ],
        );
        app.on_commit(move |commit| {
            writes.inc_by(commit.writes as u64);
            sizes.observe(commit.writes as f64);
            times.observe(commit.took.as_secs_f64());
        });
        Self {
            requests,
            under_way: gauge("http_requests_under_way", "Requests that are being answered."),
            streams: gauge("streams", "Streams of the ledger that are open."),
            bytes: gauge("store_bytes", "The size of the database file."),
            wal_bytes: gauge("store_wal_bytes", "The size of its write-ahead log."),
            registry,
        }
    }

    /// The numbers as they are now.
    ///
    /// # Errors
    /// When they cannot be written, which is a fault of this program.
    pub fn text(&self, app: &App) -> prometheus::Result<String> {
        let (bytes, wal_bytes) = app.sizes();
        self.bytes.set(i64::try_from(bytes).unwrap_or(i64::MAX));
        self.wal_bytes.set(i64::try_from(wal_bytes).unwrap_or(i64::MAX));
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }
}

/// Measures each request, by its route and never by its address, which names what people keep.
pub async fn measure(State(served): State<Shared>, request: Request, next: Next) -> Response {
    let started = Instant::now();
    let method = request.method().clone();
    let route = request
        .extensions()
        .get::<MatchedPath>()
        .map(|path| path.as_str().to_owned());
    let route = route.unwrap_or_else(|| "none".to_owned());
    let span = tracing::info_span!("request", %method, route);
    served.metrics.under_way.inc();
    let response = tracing::Instrument::instrument(next.run(request), span.clone()).await;
    served.metrics.under_way.dec();
    let status = response.status().as_u16();
    let took = started.elapsed();
    // A client may send any word as its method; a number for each would be kept for ever.
    let method = match method.as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "DELETE" | "OPTIONS" | "PATCH") => known,
        _ => "other",
    };
    let labels = [method, &route, &status.to_string()];
    served
        .metrics
        .requests
        .with_label_values(&labels)
        .observe(took.as_secs_f64());
    span.in_scope(|| tracing::info!(status, ms = took.as_secs_f64() * 1_000.0, "answered"));
    response
}
