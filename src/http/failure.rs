//! What a request is told when it was not done: a status, and the same error as on every face.

use std::any::Any;

use axum::Json;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use axum::response::IntoResponse;

use crate::app::{AppError, Door};
use crate::domain::{Invalid, Refusal};
use crate::wire::{Failed, Problem, make};

/// An error as it goes out.
#[derive(Debug)]
pub struct Failure {
    status: StatusCode,
    failed: Failed,
    /// Seconds after which it is worth trying again.
    retry_after: Option<u64>,
}

impl Failure {
    /// An error of this face itself; `code` is one of those of the documentation.
    pub fn new(status: StatusCode, code: &str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            status,
            failed: Failed {
                error: Problem {
                    code: code.to_owned(),
                    message: message.into(),
                    hint: hint.into(),
                },
            },
            retry_after: None,
        }
    }

    /// The same, worth trying again after so many seconds.
    #[must_use]
    pub fn after(self, seconds: u64) -> Self {
        Self {
            retry_after: Some(seconds),
            ..self
        }
    }

    /// The same for one who has not come in yet: that it was not done, and nothing of the store.
    #[must_use]
    pub fn veiled(mut self) -> Self {
        "the store cannot be read".clone_into(&mut self.failed.error.message);
        "ask again, or ask whoever runs the server: its log says more".clone_into(&mut self.failed.error.hint);
        self
    }

    /// What an address asks for cannot be done: a value in it that cannot be taken is no field of a body.
    pub fn of_look(error: AppError) -> Self {
        let mut failure = Self::from(error);
        if failure.status == StatusCode::UNPROCESSABLE_ENTITY {
            failure.status = StatusCode::BAD_REQUEST;
        }
        failure
    }

    /// Its status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// What it says.
    pub fn problem(&self) -> &Problem {
        &self.failed.error
    }

    /// Adds the headers that go with it.
    pub fn mark(&self, headers: &mut HeaderMap) {
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
    }

    /// What stands in the address cannot be taken.
    pub fn of_address(invalid: Invalid) -> Self {
        Self {
            status: StatusCode::BAD_REQUEST,
            ..Self::from(invalid)
        }
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        let status = match error.code() {
            "invalid_argument" => StatusCode::UNPROCESSABLE_ENTITY,
            "not_allowed" => StatusCode::FORBIDDEN,
            "not_found" => StatusCode::NOT_FOUND,
            "conflict" => StatusCode::CONFLICT,
            "busy" | "disk_full" | "read_only" => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        if status.is_server_error() {
            tracing::error!(code = error.code(), %error, "a request failed");
        }
        Self {
            status,
            failed: make::failed(&error, Door::Http),
            retry_after: (status == StatusCode::SERVICE_UNAVAILABLE).then_some(1),
        }
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        AppError::from(invalid).into()
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        AppError::from(refusal).into()
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> axum::response::Response {
        let mut response = (self.status, Json(&self.failed)).into_response();
        self.mark(response.headers_mut());
        response
    }
}

/// That nothing stands at this address.
pub async fn no_route(uri: Uri) -> Failure {
    Failure::new(
        StatusCode::NOT_FOUND,
        "not_found",
        format!("there is nothing at {}", crate::domain::invalid::shown(uri.path())),
        "/openapi.json lists every route",
    )
}

/// That what stands at this address does not do that.
pub async fn no_method(method: Method, uri: Uri) -> Failure {
    Failure::new(
        StatusCode::METHOD_NOT_ALLOWED,
        "invalid_argument",
        format!(
            "{method} is not what {} takes",
            crate::domain::invalid::shown(uri.path())
        ),
        "the Allow header of this answer names what it takes",
    )
}

/// That a handler panicked: this request is lost, and the next one is served.
#[expect(clippy::needless_pass_by_value, reason = "the shape that the layer asks for")]
pub fn panicked(panic: Box<dyn Any + Send>) -> Response<axum::body::Body> {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    tracing::error!(panic = text, "a request's handler panicked");
    Failure::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the server failed while it worked on this request; what was acknowledged before is unharmed",
        "try it once more; if it fails again, report it with the server's log",
    )
    .into_response()
}
