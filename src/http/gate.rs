//! What every request passes before its route: is it meant for us, from where does it come, who is it, and how many of them.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::failure::Failure;
use super::page::door::Proof;
use super::{Served, Shared, page};
use crate::app::tokens::{Admission, Visitor};
use crate::domain::token::Token;

/// How long a request may take, streams apart.
const TIME: Duration = Duration::from_secs(30);

/// Looks at a request, and lets it through to its route with a [`Visitor`] in its extensions.
pub async fn pass(State(served): State<Shared>, mut request: Request, next: Next) -> Response {
    let origin = match aimed_at_us(&served, &request) {
        Ok(origin) => origin,
        Err(failure) => return failure.into_response(),
    };
    let foreign = origin.clone().filter(|_| !is_same_origin(&request));
    if let Some(origin) = &foreign
        && request.method() == Method::OPTIONS
    {
        return with_leave(StatusCode::NO_CONTENT.into_response(), origin);
    }
    if !is_open(request.uri().path()) {
        match admitted(&served, request.headers(), page::is_at(request.uri().path())).await {
            Ok((visitor, proof)) => {
                request.extensions_mut().insert(visitor);
                if let Some(proof) = proof {
                    request.extensions_mut().insert(proof);
                }
            }
            Err(failure) => return leave(page::unknown(&request, failure), foreign.as_ref()),
        }
    }
    // Streams go on for as long as their reader stays, and proofs for as long as the store is large.
    let path = request.uri().path();
    let unhurried = path == "/mcp" || path.ends_with("/verify") || path.ends_with("/ledger");
    let response = if unhurried {
        next.run(request).await
    } else {
        match tokio::time::timeout(TIME, next.run(request)).await {
            Ok(response) => response,
            Err(_) => Failure::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "busy",
                format!("the request took more than {} s and was given up", TIME.as_secs()),
                "try again; a write that was given up may have been done, and repeating it is safe",
            )
            .after(5)
            .into_response(),
        }
    };
    leave(response, foreign.as_ref())
}

/// Whether an address is open to everyone: what a process manager asks, and where a browser shows its token.
fn is_open(path: &str) -> bool {
    path == "/health" || path.starts_with("/health/") || path == page::SIGN_IN
}

/// Refuses a request that a name server or a page of somebody else's has sent here; gives its origin.
fn aimed_at_us(served: &Served, request: &Request) -> Result<Option<HeaderValue>, Failure> {
    let forbidden = |message: String, hint: &str| Failure::new(StatusCode::FORBIDDEN, "not_allowed", message, hint);
    let host = host(request).unwrap_or_default();
    let name = without_port(&host);
    if !served.setup.hosts.iter().any(|known| known == name) {
        return Err(forbidden(
            format!("this server is not {}", crate::domain::invalid::shown(name)),
            "ask it by a name that it knows, or start it with --allow-host NAME",
        ));
    }
    let Some(origin) = request.headers().get(header::ORIGIN) else {
        return Ok(None);
    };
    let text = origin.to_str().unwrap_or_default().to_ascii_lowercase();
    if is_same_origin(request) || served.setup.origins.contains(&text) {
        return Ok(Some(origin.clone()));
    }
    Err(forbidden(
        format!(
            "pages of {} may not ask this server",
            crate::domain::invalid::shown(&text)
        ),
        "start it with --allow-origin ORIGIN if they are to",
    ))
}

/// The name and port that a request is meant for, lowercase.
fn host(request: &Request) -> Option<String> {
    let named = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
    let asked = request.uri().authority().map(axum::http::uri::Authority::as_str);
    // Where both are there they must agree: a proxy may look at the one and we at the other.
    match (asked, named) {
        (Some(asked), Some(named)) if !asked.eq_ignore_ascii_case(named) => None,
        (asked, named) => asked.or(named).map(str::to_ascii_lowercase),
    }
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

/// Whether a page of this very server sent the request.
pub fn is_same_origin(request: &Request) -> bool {
    let origin = request
        .headers()
        .get(header::ORIGIN)
        .and_then(|origin| origin.to_str().ok());
    let Some(host) = host(request) else { return false };
    origin.is_some_and(|origin| {
        let origin = origin.to_ascii_lowercase();
        let rest = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        rest == Some(host.as_str())
    })
}

/// Who a request comes from.
async fn admitted(served: &Served, headers: &HeaderMap, of_page: bool) -> Result<(Visitor, Option<Proof>), Failure> {
    if of_page
        && !headers.contains_key(header::AUTHORIZATION)
        && let Some((id, proof)) = served.browsers.known(headers)
    {
        let token = served.app.good_token(id).await?;
        let token = token.ok_or_else(|| refused("the token that this browser signed in with is not good any more"))?;
        return Ok((welcome(served, Some(token))?, Some(proof)));
    }
    let shown = match headers.get(header::AUTHORIZATION) {
        None => None,
        Some(value) => {
            Some(bearer(value).ok_or_else(|| refused("the Authorization header is not of the form `Bearer TOKEN`"))?)
        }
    };
    let open = served.setup.local && !served.closed.load(Ordering::Relaxed);
    let admission = served.app.admit(shown).await.map_err(|error| {
        let failure = Failure::from(error);
        if open { failure } else { failure.veiled() }
    })?;
    if admission != Admission::Open {
        served.closed.store(true, Ordering::Relaxed);
    }
    let token = match admission {
        Admission::Known(token) => Some(token),
        Admission::Open if open => None,
        Admission::Open | Admission::Missing => {
            return Err(refused("this server serves nobody without a token"));
        }
        Admission::Refused => return Err(refused("the token is none of this store's, or not good any more")),
    };
    let proof = token.is_none().then(|| served.browsers.open());
    Ok((welcome(served, token)?, proof))
}

/// Counts a request of somebody who may come in.
fn welcome(served: &Served, token: Option<Token>) -> Result<Visitor, Failure> {
    let visitor = Visitor {
        token,
        strict: served.setup.strict,
    };
    if visitor.token.is_some()
        && let Err(seconds) = served.rates.take(visitor.name(), Instant::now())
    {
        return Err(Failure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "busy",
            format!(
                "more than {} requests in a second came with this token",
                served.setup.rate
            ),
            "wait as long as the Retry-After header says",
        )
        .after(seconds));
    }
    Ok(visitor)
}

/// Whether a visitor may still come in: a stream asks again while it goes on.
pub async fn still_welcome(served: &Served, visitor: &Visitor) -> bool {
    let gone = match &visitor.token {
        Some(token) => served
            .app
            .good_token(token.id.clone())
            .await
            .map(|token| token.is_none()),
        None => served
            .app
            .admit(None)
            .await
            .map(|admission| admission != Admission::Open),
    };
    // A store that cannot be read just now tells nothing about a token.
    !gone.unwrap_or(false)
}

fn bearer(value: &HeaderValue) -> Option<String> {
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim().to_owned())
}

fn refused(why: &str) -> Failure {
    Failure::new(
        StatusCode::UNAUTHORIZED,
        "not_allowed",
        why,
        "send `Authorization: Bearer TOKEN`; `handoff-memory token create` makes one",
    )
}

/// Lets a page of another origin that is allowed by name read the answer.
fn leave(response: Response, foreign: Option<&HeaderValue>) -> Response {
    match foreign {
        Some(origin) => with_leave(response, origin),
        None => response,
    }
}

fn with_leave(mut response: Response, origin: &HeaderValue) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
    headers.append(header::VARY, HeaderValue::from_static("Origin"));
    for (name, value) in [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (
            header::ACCESS_CONTROL_ALLOW_HEADERS,
            "Authorization, Content-Type, Last-Event-ID, Mcp-Method, Mcp-Name, Mcp-Protocol-Version, Mcp-Session-Id, \
             X-Session-Id",
        ),
        (header::ACCESS_CONTROL_EXPOSE_HEADERS, "Mcp-Session-Id, Retry-After"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Headers that keep an answer from being taken for something else.
pub async fn harden(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    // What a stream says by itself would let a browser keep it.
    if headers
        .get(header::CACHE_CONTROL)
        .is_some_and(|said| said == "no-cache")
    {
        headers.remove(header::CACHE_CONTROL);
    }
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With none at all a browser would send its own forms with the origin `null`, which is anybody's.
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
        ),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ] {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)]) -> Request {
        let mut builder = Request::builder().uri("/x");
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(axum::body::Body::empty()).unwrap()
    }

    #[test]
    fn a_host_is_its_name_without_its_port() {
        for (host, name) in [
            ("localhost:7766", "localhost"),
            ("[::1]:7766", "[::1]"),
            ("[::1]", "[::1]"),
            ("a.example", "a.example"),
            (":80", ":80"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }

    #[test]
    fn x04_a_page_is_of_this_server_only_with_its_very_name_and_port() {
        let host = ("host", "localhost:7766");
        assert!(is_same_origin(&request(&[host, ("origin", "http://localhost:7766")])));
        assert!(is_same_origin(&request(&[host, ("origin", "https://LOCALHOST:7766")])));
        for origin in [
            "http://localhost:3000",
            "http://localhost",
            "null",
            "http://localhost:7766.evil.example",
            "file://",
        ] {
            assert!(!is_same_origin(&request(&[host, ("origin", origin)])), "{origin}");
        }
        assert!(!is_same_origin(&request(&[host])));
    }

    #[test]
    fn a_token_comes_in_the_header_alone() {
        let value = |text: &'static str| bearer(&HeaderValue::from_static(text));
        assert_eq!(value("Bearer abc"), Some("abc".to_owned()));
        assert_eq!(value("bearer  abc"), Some("abc".to_owned()));
        assert_eq!(value("Basic abc"), None);
        assert_eq!(value("abc"), None);
    }
}
