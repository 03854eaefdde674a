//! Signing in with a token, and out.

use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use maud::{DOCTYPE, html};

use super::door::{Form, fields};
use super::{Broken, Shown, assets};
use crate::app::tokens::Admission;
use crate::http::Shared;
use crate::http::failure::Failure;

/// The form that asks for a token; it stands alone, since nothing else is given to who has none.
pub fn form(problem: Option<&str>) -> Response {
    let nonce: String = {
        let mut bytes = [0; 16];
        // Without random numbers the page has no style, and works.
        let _ = getrandom::fill(&mut bytes);
        bytes.iter().map(|byte| format!("{byte:02x}")).collect()
    };
    let markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { "Sign in · handoff-memory" }
                link rel="icon" href=(assets::ICON);
                style nonce=(nonce) { (maud::PreEscaped(assets::STYLE)) }
            }
            body {
                main.door #main {
                    h1 { "handoff" span { "·" } "memory" }
                    p { "This server asks for a token. " code { "handoff-memory token create" } " makes one." }
                    @if let Some(problem) = problem { p.problem role="alert" { (problem) } }
                    form method="post" action=(super::SIGN_IN) {
                        label for="token" { "Token" }
                        input #token name="token" type="password" autocomplete="current-password" required autofocus
                            spellcheck="false";
                        button { "Sign in" }
                    }
                }
            }
        }
    };
    let mut response = (StatusCode::UNAUTHORIZED, Html(markup.into_string())).into_response();
    let policy = format!(
        "default-src 'none'; style-src 'nonce-{nonce}'; img-src data:; form-action 'self'; base-uri 'none'; \
         frame-ancestors 'none'"
    );
    let headers = response.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    }
    headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    response
}

/// Takes the token, and sends the browser on with its cookie.
pub async fn sign_in(State(served): State<Shared>, request: Request) -> Shown {
    let secure = request
        .headers()
        .get(header::ORIGIN)
        .is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let form: Form = fields(request).await.map_err(Broken)?;
    // Whoever tries tokens shares one bucket with everyone who does.
    if let Err(seconds) = served.rates.take("(signing in)", Instant::now()) {
        let busy = Failure::new(
            StatusCode::TOO_MANY_REQUESTS,
            "busy",
            "too many tokens are tried at once",
            "wait a little and sign in again",
        );
        return Err(Broken(busy.after(seconds)));
    }
    let shown = form.get("token").unwrap_or_default().trim().to_owned();
    let admission = served.app.admit(Some(shown)).await;
    match admission.map_err(|error| Broken(Failure::from(error).veiled()))? {
        Admission::Known(token) => {
            let cookie = served.browsers.sign_in(token.id, secure).map_err(|_| no_random())?;
            let mut response = Redirect::to("/").into_response();
            response.headers_mut().insert(header::SET_COOKIE, cookie);
            Ok(response)
        }
        Admission::Open => Ok(Redirect::to("/").into_response()),
        Admission::Missing | Admission::Refused => Ok(self::form(Some(
            "This token is none of this store's, or is not good any more.",
        ))),
    }
}

fn no_random() -> Failure {
    Failure::new(
        StatusCode::INTERNAL_SERVER_ERROR,
        "internal",
        "the system gave no random numbers",
        "try again",
    )
}

/// Forgets the browser.
pub async fn sign_out(State(served): State<Shared>, headers: axum::http::HeaderMap, _form: Form) -> Response {
    let cookie = served.browsers.sign_out(&headers);
    let mut response = Redirect::to("/").into_response();
    response.headers_mut().insert(header::SET_COOKIE, cookie);
    response
}
