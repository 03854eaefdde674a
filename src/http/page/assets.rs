//! What the page is dressed in, and the script that looks again when something has happened; both are part of the program.

use std::sync::LazyLock;

use axum::http::header;
use axum::response::{IntoResponse, Response};

use crate::domain::Hash;

/// The style sheet.
pub const STYLE: &str = include_str!("assets/style.css");

const SCRIPT: &str = include_str!("assets/live.js");

/// A sign for the tab, as an address that holds it.
pub const ICON: &str = "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' \
                        height='32' rx='8' fill='%230f766e'/%3E%3Cpath d='M9 8v16M9 16h14M23 8v16' stroke='%23fff' \
                        stroke-width='3' stroke-linecap='round'/%3E%3C/svg%3E";

static STYLE_ADDRESS: LazyLock<String> = LazyLock::new(|| address("style.css", STYLE));
static SCRIPT_ADDRESS: LazyLock<String> = LazyLock::new(|| address("live.js", SCRIPT));

/// An address that changes when what stands there does, so that a browser may keep it.
fn address(name: &str, text: &str) -> String {
    format!("/ui/{name}?v={}", &Hash::of(&[text.as_bytes()]).to_string()[..12])
}

/// Where the style sheet is.
pub fn style_address() -> &'static str {
    &STYLE_ADDRESS
}

/// Where the script is.
pub fn script_address() -> &'static str {
    &SCRIPT_ADDRESS
}

/// The style sheet.
pub async fn style() -> Response {
    kept("text/css; charset=utf-8", STYLE)
}

/// The script.
pub async fn script() -> Response {
    kept("text/javascript; charset=utf-8", SCRIPT)
}

fn kept(kind: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CACHE_CONTROL, "private, max-age=31536000, immutable"),
    ];
    (headers, text).into_response()
}
