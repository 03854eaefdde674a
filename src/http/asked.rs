//! Reads a request: whose it is, what stands in its address, and what its body asks for.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use serde_json::value::RawValue;

use super::Shared;
use super::failure::Failure;
use super::page::door::Proof;
use crate::app::Caller;
use crate::app::tokens::Visitor;
use crate::ask::{Arguments, acting, surrogates};
use crate::domain::handoff::HandoffId;
use crate::domain::name::percent_decoded;
use crate::domain::{Agent, Home, Invalid, Project, Session, Workspace, limits};

/// A request at a project's address, or at one above it.
pub struct Asked {
    /// Who asks, in the project of the address, where there is one.
    pub caller: Caller,
    /// The token that was shown.
    pub visitor: Visitor,
    /// What a form of the page has to carry, for a browser that may change something.
    pub proof: Option<Proof>,
    /// The packet of the address, where there is one.
    packet: Option<String>,
    query: Vec<(String, String)>,
    /// The headers.
    pub headers: HeaderMap,
}

impl FromRequestParts<Shared> for Asked {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, served: &Shared) -> Result<Self, Failure> {
        let visitor = parts.extensions.get::<Visitor>().cloned().ok_or_else(|| {
            Failure::new(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "a request came past the gate",
                "report this",
            )
        })?;
        let session = named(&parts.headers, "x-session-id")?;
        let session = session.map(|text| Session::named("X-Session-Id", &text)).transpose();
        let client = named(&parts.headers, "x-agent-id")?;
        let agent = client
            .as_deref()
            .map(|text| Agent::named("X-Agent-Id", text))
            .transpose();
        let (session, agent) = (
            session.map_err(Failure::of_address)?,
            agent.map_err(Failure::of_address)?,
        );
        // A token says who it is; only where there is none may a request say so.
        let client = client.filter(|_| visitor.token.is_none());
        let mut caller = served.app.caller_of(&visitor, client.as_deref(), session);
        if let Some(agent) = agent
            && agent != caller.agent
        {
            return Err(crate::domain::Refusal::not_allowed(
                format!("X-Agent-Id: got {agent}, but this token stands for {}", caller.agent),
                "leave the header out; who acts is told by the token",
            )
            .into());
        }
        let segments = segments(parts, served).await?;
        let find = |name: &str| {
            segments
                .iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.as_str())
        };
        if let Some(name) = find("workspace") {
            caller.home.workspace = Workspace::new(name).map_err(Failure::of_address)?;
        }
        if let Some(name) = find("project") {
            caller.home.project = Project::new(name).map_err(Failure::of_address)?;
        }
        Ok(Self {
            caller,
            packet: find("id").map(str::to_owned),
            query: pairs(parts.uri.query().unwrap_or_default())?,
            headers: parts.headers.clone(),
            proof: parts.extensions.get::<Proof>().cloned(),
            visitor,
        })
    }
}

impl Asked {
    /// The packet of the address.
    ///
    /// # Errors
    /// When its id cannot be one.
    pub fn packet(&self) -> Result<HandoffId, Failure> {
        HandoffId::named("id", self.packet.as_deref().unwrap_or_default()).map_err(Failure::of_address)
    }

    /// The project of the address.
    pub fn home(&self) -> &Home {
        &self.caller.home
    }

    /// What stands behind the question mark.
    ///
    /// # Errors
    /// When it is no text.
    pub fn query(&mut self) -> Result<Arguments, Failure> {
        Arguments::of_query(std::mem::take(&mut self.query)).map_err(Failure::of_address)
    }

    /// What the body asks for; what it says of who acts must be so. A session that it names is the caller's.
    ///
    /// # Errors
    /// When it says that somebody else acts.
    pub fn arguments(&mut self, body: Body) -> Result<Arguments, Failure> {
        let mut arguments = body.0;
        let named = acting::session(&mut arguments, &self.caller.agent, self.caller.owner.as_ref())?;
        if named.is_some() {
            self.caller.session = named;
        }
        Ok(arguments)
    }
}

/// A JSON body; an empty one asks for nothing in particular.
pub struct Body(Arguments);

impl FromRequest<Shared> for Body {
    type Rejection = Failure;

    async fn from_request(request: Request, served: &Shared) -> Result<Self, Failure> {
        let kind = request.headers().get(header::CONTENT_TYPE).cloned();
        let bytes = Bytes::from_request(request, served).await.map_err(|rejection| {
            if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                Failure::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "invalid_argument",
                    format!("the body has more than {} bytes", limits::LINE_BYTES),
                    "send less; a value has at most 1 MiB of JSON",
                )
            } else {
                unreadable("the body did not arrive whole")
            }
        })?;
        if bytes.iter().all(u8::is_ascii_whitespace) {
            return Arguments::parse(None).map(Self).map_err(Failure::of_address);
        }
        // A page of another origin can send a form without asking, and no JSON.
        let is_json = kind
            .and_then(|kind| kind.to_str().map(str::to_ascii_lowercase).ok())
            .is_some_and(|kind| {
                let essence = kind.split(';').next().unwrap_or_default().trim();
                essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
            });
        if !is_json {
            return Err(Failure::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "invalid_argument",
                "the body is not said to be JSON",
                "send `Content-Type: application/json`",
            ));
        }
        let text = str::from_utf8(&bytes).map_err(|_| unreadable("the body is not valid UTF-8"))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let raw: &RawValue =
            serde_json::from_str(text).map_err(|error| unreadable(&format!("the body is not valid JSON: {error}")))?;
        if surrogates::has_lone_surrogate(text) {
            return Err(unreadable(
                "the body holds half of a surrogate pair, so it is no Unicode text",
            ));
        }
        if !raw.get().starts_with('{') {
            return Err(unreadable("the body is no JSON object"));
        }
        Arguments::parse(Some(raw)).map(Self).map_err(Failure::of_address)
    }
}

fn unreadable(what: &str) -> Failure {
    Failure::new(
        StatusCode::BAD_REQUEST,
        "invalid_argument",
        what,
        "send one JSON object in UTF-8",
    )
}

fn named(headers: &HeaderMap, name: &str) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let text = str::from_utf8(value.as_bytes())
        .map_err(|_| Failure::of_address(Invalid::new(name, "no UTF-8", "a name in UTF-8")))?;
    Ok(Some(text.to_owned()).filter(|text| !text.trim().is_empty()))
}

/// The named segments of the address.
async fn segments(parts: &mut Parts, served: &Shared) -> Result<Vec<(String, String)>, Failure> {
    let unreadable = || {
        Failure::of_address(Invalid::new(
            "path",
            "no percent-encoded UTF-8",
            "segments in which % stands before two hexadecimal digits, and all bytes are UTF-8",
        ))
    };
    // The router takes an escape that is none as it stands.
    if percent_decoded(parts.uri.path()).is_none() {
        return Err(unreadable());
    }
    let found = Path::<Vec<(String, String)>>::from_request_parts(parts, served).await;
    found.map(|Path(segments)| segments).map_err(|_| unreadable())
}

/// The pairs behind the question mark.
fn pairs(query: &str) -> Result<Vec<(String, String)>, Failure> {
    let decoded = |text: &str, of: &str| {
        percent_decoded(&text.replace('+', " ")).ok_or_else(|| {
            Failure::of_address(Invalid::new(
                of,
                "no percent-encoded UTF-8",
                "a text in which % stands before two hexadecimal digits, and all bytes are UTF-8",
            ))
        })
    };
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decoded(name, "the address")?;
            // Only a name that can be one of ours is said again.
            let sayable =
                !name.is_empty() && name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
            let value = decoded(value, if sayable { &name } else { "the address" })?;
            Ok((name, value))
        })
        .collect()
}
