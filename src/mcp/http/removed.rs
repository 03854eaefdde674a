//! What the protocol of 2026 has no more: a request in its form that asks for such a thing is told that there is none.
//!
//! Left alone, rmcp would begin a session of 2025 for one of them, and our judge would find fault with the parameters of
//! the others, which say nothing to a client that asks whether there is such a method.

use std::borrow::Cow;

use axum::http::HeaderMap;
use rmcp::model::{ErrorCode, ProtocolVersion};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::mcp::lines::Refusal;

/// The methods that were removed.
const REMOVED: [&str; 5] = [
    "initialize",
    "logging/setLevel",
    "ping",
    "resources/subscribe",
    "resources/unsubscribe",
];

#[derive(Deserialize)]
struct Message<'a> {
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow)]
    params: Params<'a>,
}

#[derive(Deserialize)]
struct Params<'a> {
    #[serde(borrow, rename = "_meta")]
    meta: Meta<'a>,
}

#[derive(Deserialize)]
struct Meta<'a> {
    #[serde(borrow, rename = "io.modelcontextprotocol/protocolVersion")]
    version: Cow<'a, str>,
}

/// The answer to a message that asks for what was removed. An `initialize` that only a header calls modern is not one: it
/// gets its session.
pub fn asked_for(headers: &HeaderMap, message: &[u8]) -> Option<Refusal> {
    // The header must name the method, so that the bodies of all other requests need not be looked through for it.
    let named = headers.get("mcp-method")?.to_str().ok()?;
    if !REMOVED.contains(&named) {
        return None;
    }
    let message: Message<'_> = serde_json::from_slice(message).ok()?;
    let modern = ProtocolVersion::V_2026_07_28;
    let removed = message.method == named && message.params.meta.version == modern.as_str();
    let why = format!("{named} is no method of {modern}");
    removed.then(|| Refusal::new(Some(message.id.to_owned()), ErrorCode::METHOD_NOT_FOUND, why))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn answer(header: &'static str, message: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("mcp-method", HeaderValue::from_static(header));
        let refusal = asked_for(&headers, message.as_bytes())?;
        Some(String::from_utf8(refusal.into_line()).unwrap())
    }

    fn message(method: &str, version: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"_meta":{{"io.modelcontextprotocol/protocolVersion":"{version}"}}}}}}"#
        )
    }

    #[test]
    fn a_removed_method_is_told_to_be_none_to_a_request_of_2026_alone() {
        for method in REMOVED {
            let told = answer(method, &message(method, "2026-07-28")).expect(method);
            assert!(told.contains(r#""id":7"#) && told.contains("-32601"), "{told}");
            assert_eq!(answer(method, &message(method, "2025-11-25")), None);
            assert_eq!(answer(method, &message("tools/list", "2026-07-28")), None);
        }
        assert_eq!(answer("tools/list", &message("ping", "2026-07-28")), None);
        let bare = r#"{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2026-07-28"}}"#;
        assert_eq!(answer("initialize", bare), None);
    }
}
