//! MCP over streamable HTTP: the same seven tools, for whoever the gate of the HTTP server has let in.
//!
//! Each message is judged as a line is on standard input, so that nothing reaches rmcp that it would answer wrongly, and
//! arguments travel as the text that came. A client of 2025 gets a session, which names this process and ends with it; one of
//! 2026 gets none, and names its own.

mod removed;
mod sessions;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, GetExtensions as _, JsonRpcMessage, RequestId};
use rmcp::service::RequestContext;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Notify;

use self::sessions::{Bound, Sessions};
use super::Server;
use super::lines::{RawArguments, Refusal, Verdict, judge};
use crate::app::tokens::Visitor;
use crate::app::{App, Caller};
use crate::domain::limits::LINE_BYTES;
use crate::domain::{Project, Session, Workspace};

/// Where it is served.
pub const PATH: &str = "/mcp";

/// How long calls under way may take to finish once the server is to end.
const GRACE: Duration = Duration::from_secs(5);

/// How long the answer of a call that is done may take to go out.
const FLUSH: Duration = Duration::from_millis(200);

/// The header with a session's name.
const SESSION: &str = "mcp-session-id";

type Service = StreamableHttpService<Server, Sessions>;

/// What a request needs.
#[derive(Clone)]
struct Mounted {
    service: Service,
    bound: Bound,
    sessions: Arc<Sessions>,
}

/// Calls that are under way.
#[derive(Debug, Default)]
pub struct Calls {
    count: AtomicUsize,
    done: Notify,
}

impl Calls {
    /// Counts a call until what is given is dropped.
    pub fn begin(self: &Arc<Self>) -> Call {
        self.count.fetch_add(1, Ordering::SeqCst);
        Call(Arc::clone(self))
    }

    async fn finished(&self) {
        while self.count.load(Ordering::SeqCst) > 0 {
            self.done.notified().await;
        }
    }
}

/// A call that is under way.
pub struct Call(Arc<Calls>);

impl Drop for Call {
    fn drop(&mut self) {
        self.0.count.fetch_sub(1, Ordering::SeqCst);
        self.0.done.notify_one();
    }
}

/// The routes, and what ends their streams: it resolves when calls under way are finished.
pub fn mount(app: &Arc<App>) -> (Router, impl Future<Output = ()> + use<>) {
    // Names and origins are looked at by the gate, for every route alike.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(LINE_BYTES);
    let cancel = config.cancellation_token.clone();
    let calls = Arc::new(Calls::default());
    let bound = Bound::default();
    let sessions = Arc::new(Sessions::new(Arc::clone(app), bound.clone()));
    let (served, counted) = (Arc::clone(app), Arc::clone(&calls));
    let service = Service::new(
        move || Ok(Server::over_http(Arc::clone(&served), Arc::clone(&counted))),
        Arc::clone(&sessions),
        config,
    );
    let router = Router::new().route(PATH, any(handle)).with_state(Mounted {
        service,
        bound,
        sessions,
    });
    let end = async move {
        let started = Instant::now();
        let _ = tokio::time::timeout(GRACE, calls.finished()).await;
        tracing::debug!(waited = ?started.elapsed(), "no call is under way");
        tokio::time::sleep(FLUSH).await;
        cancel.cancel();
    };
    (router, end)
}

async fn handle(State(mounted): State<Mounted>, request: Request) -> Response {
    let visitor = request.extensions().get::<Visitor>().cloned();
    let who = visitor.as_ref().map_or("", Visitor::name).to_owned();
    let session = request
        .headers()
        .get(SESSION)
        .and_then(|name| name.to_str().ok())
        .map(str::to_owned);
    if let Some(session) = &session
        && !mounted.bound.is_of(session, &who)
    {
        // A session of somebody else's is not there.
        return (StatusCode::NOT_FOUND, "Not Found: Session not found").into_response();
    }
    let request = if request.method() == Method::POST && is_json(request.headers()) {
        match judged(request).await {
            Ok((request, begins)) => {
                let begins = begins.filter(|_| session.is_none());
                if let Some(id) = begins
                    && mounted.sessions.is_full(&who).await
                {
                    return too_many(id);
                }
                request
            }
            Err(response) => return response,
        }
    } else {
        request
    };
    let ends = request.method() == Method::DELETE;
    let mut response = mounted.service.handle(request).await;
    if ends && response.status() == StatusCode::ACCEPTED {
        // It has ended and is not about to: some clients complain of a status that says otherwise.
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    let made = response.headers().get(SESSION).and_then(|name| name.to_str().ok());
    if let Some(made) = made.filter(|_| session.is_none()) {
        mounted.bound.bind(made, &who);
    }
    response.map(Body::new)
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.is_some_and(|kind| {
        let essence = kind.split(';').next().unwrap_or_default();
        essence.trim().eq_ignore_ascii_case("application/json")
    })
}

/// The request with a message that rmcp understands, its tool's arguments beside it as text; or the answer. Beside it the id, if it
/// begins a session.
async fn judged(request: Request) -> Result<(Request, Option<RequestId>), Response> {
    let (mut parts, body) = request.into_parts();
    let Ok(bytes) = to_bytes(body, LINE_BYTES).await else {
        let why = format!("a message has at most {LINE_BYTES} bytes, and must arrive whole");
        return Err(refused(
            StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::new(None, ErrorCode::INVALID_REQUEST, why),
        ));
    };
    if let Some(refusal) = removed::asked_for(&parts.headers, &bytes) {
        return Err(refused(StatusCode::NOT_FOUND, refusal));
    }
    match judge(&bytes) {
        Verdict::Refuse(refusal) => Err(refused(StatusCode::BAD_REQUEST, refusal)),
        Verdict::Ignore if bytes.trim_ascii().is_empty() => Err(refused(
            StatusCode::BAD_REQUEST,
            Refusal::new(None, ErrorCode::PARSE_ERROR, "the body is empty"),
        )),
        Verdict::Ignore => Err(StatusCode::ACCEPTED.into_response()),
        Verdict::Deliver(mut message) => {
            if let Some(raw) = taken_out(&mut message) {
                parts.extensions.insert(raw);
            }
            let begins = match &*message {
                JsonRpcMessage::Request(request) => match &request.request {
                    ClientRequest::InitializeRequest(_) => Some(request.id.clone()),
                    _ => None,
                },
                _ => None,
            };
            let text = serde_json::to_vec(&*message).unwrap_or_default();
            // What says how long the body was is not true any more.
            parts
                .headers
                .insert(header::CONTENT_LENGTH, HeaderValue::from(text.len()));
            let request = Request::from_parts(parts, Body::from(Bytes::from(text)));
            Ok((request, begins))
        }
    }
}

/// The arguments of a tool call, out of the message that they travel with on standard input.
fn taken_out(message: &mut ClientJsonRpcMessage) -> Option<RawArguments> {
    let JsonRpcMessage::Request(request) = message else {
        return None;
    };
    let ClientRequest::CallToolRequest(call) = &mut request.request else {
        return None;
    };
    call.extensions_mut().remove::<RawArguments>()
}

fn refused(status: StatusCode, refusal: Refusal) -> Response {
    let mut response = (status, refusal.into_line()).into_response();
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// That there are too many sessions for another one.
fn too_many(id: RequestId) -> Response {
    let id = serde_json::value::to_raw_value(&id).ok();
    let why = "too many sessions are open; end one with DELETE, or come again when one was quiet for long";
    let mut response = refused(
        StatusCode::SERVICE_UNAVAILABLE,
        Refusal::new(id, ErrorCode::INTERNAL_ERROR, why),
    );
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
    response
}

/// The request that a message came in, when it came over HTTP.
pub fn parts(context: &RequestContext<RoleServer>) -> Option<&Parts> {
    context.extensions.get::<Parts>()
}

/// Who calls over HTTP. The token says it; a header may name the project, and the run where the protocol has no sessions.
pub fn caller(app: &App, parts: &Parts, context: &RequestContext<RoleServer>) -> Option<Caller> {
    let visitor = parts.extensions.get::<Visitor>()?;
    let header = |name: &str| {
        parts
            .headers
            .get(name)
            .and_then(|value| str::from_utf8(value.as_bytes()).ok())
    };
    let said = context
        .meta
        .0
        .get("handoff-memory/session")
        .and_then(|name| name.as_str());
    let session = header(SESSION).or(said).or_else(|| header("x-session-id"));
    let session = session.and_then(|name| Session::new(name).ok());
    // Where there is no session rmcp would tell its own name for a client that gave none.
    let client = match header(SESSION) {
        Some(_) => context.client_info(),
        None => context.meta.client_info(),
    };
    let client = client.map(|client| client.name).filter(|name| !name.trim().is_empty());
    // As over REST: where a token was shown, no header says who it is.
    let named = || header("x-agent-id").filter(|_| visitor.token.is_none());
    let mut caller = app.caller_of(visitor, client.as_deref().or_else(named), session);
    if let Some(name) = header("x-workspace") {
        caller.home.workspace = Workspace::new(name).ok()?;
    }
    if let Some(name) = header("x-project") {
        caller.home.project = Project::new(name).ok()?;
    }
    Some(caller)
}
