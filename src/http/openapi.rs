//! The description of the REST face: OpenAPI 3.1, made from the routes that are served and the shapes that are answered.

use axum::Json;
use serde_json::{Map, Value, json};

use super::route::{Route, answer};
use super::routes;
use crate::wire::Failed;

/// What each refusal means.
const REFUSALS: [(u16, &str); 12] = [
    (400, "The address, a header or the body cannot be read."),
    (401, "No token came, or one that is not good."),
    (
        403,
        "The caller may not do this, or the request came by a name or from a page that is not allowed.",
    ),
    (404, "There is no such thing for this caller."),
    (405, "The method is not one that the address takes."),
    (
        409,
        "Somebody else was faster, or the state is another one: the message says who and when.",
    ),
    (413, "The body is too large."),
    (415, "The body is not said to be JSON."),
    (
        422,
        "A field cannot be taken; the message names it, what came and what is expected.",
    ),
    (429, "Too many requests came with this token."),
    (
        500,
        "The store is damaged or the server failed; nothing was acknowledged.",
    ),
    (
        503,
        "The store is busy, its disk is full, or it cannot be written: try again.",
    ),
];

/// The refusals that every route has.
const ALWAYS: [u16; 7] = [400, 401, 403, 405, 429, 500, 503];

/// What each body may say of who acts.
const ACTING: [(&str, &str); 3] = [
    ("agent", "The acting agent; only as the token says it."),
    ("owner", "For whom it acts; only as the token says it."),
    ("session", "This run of the agent. Left out: the X-Session-Id header's."),
];

/// Serves the description.
pub async fn document() -> Json<Value> {
    Json(description())
}

/// The description.
pub fn description() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in routes() {
        let operations = paths.entry(route.path).or_insert_with(|| json!({}));
        operations[route.method] = operation(&route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "handoff-memory",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Shared, versioned memory for AI agents, and the handoff that carries their work across sessions. \
                Arguments are read leniently: a number or a truth may come as text, null and blank are absent, an unknown \
                name is ignored with a warning. Agent and owner are told by the token; a body that names others is refused. \
                What is no HTTP, and an address or headers that are too long, never get as far as a route: 400, 414 and 431, \
                without a body. \
                The same rules, words and answers as over MCP and at the command line.",
            "license": { "name": "MIT", "identifier": "MIT" },
        },
        "servers": [{ "url": "/" }],
        "security": [{ "token": [] }],
        "paths": paths,
        "components": {
            "securitySchemes": { "token": {
                "type": "http", "scheme": "bearer",
                "description": "Made by `handoff-memory token create`. While no token was ever made the server serves this machine without one.",
            } },
            "schemas": { "Failed": &*answer::<Failed>() },
        },
    })
}

fn operation(route: &Route) -> Value {
    let open = route.path.starts_with("/health");
    let mut answers = Map::new();
    for (status, words, shape) in &route.answers {
        let mut content = json!({ "application/json": { "schema": &*shape() } });
        if route.streams {
            content["text/event-stream"] = json!({ "schema": { "type": "string" } });
        }
        answers.insert(status.to_string(), json!({ "description": words, "content": content }));
    }
    let always: &[u16] = if open { &[403, 405, 500] } else { &ALWAYS };
    let mut refusals: Vec<u16> = always.iter().chain(route.refusals).copied().collect();
    if route.body.is_some() {
        refusals.extend([413, 415, 422]);
    }
    refusals.sort_unstable();
    refusals.dedup();
    for status in refusals {
        answers.insert(status.to_string(), refusal(status));
    }
    let mut operation = json!({
        "operationId": route.id,
        "tags": [route.tag],
        "summary": route.summary,
        "responses": answers,
    });
    if !route.about.is_empty() {
        operation["description"] = json!(route.about);
    }
    let parameters = parameters(route);
    if !parameters.is_empty() {
        operation["parameters"] = json!(parameters);
    }
    if let Some(shape) = route.body {
        let mut schema = Value::Object(shape().as_ref().clone());
        let required = schema["required"].as_array().is_some_and(|names| !names.is_empty());
        // Every body takes these, and they are read in one place.
        for (name, words) in ACTING {
            schema["properties"][name] = json!({ "type": "string", "description": words });
        }
        let mut content = json!({ "schema": schema });
        if let Some(example) = &route.example {
            content["example"] = example.clone();
        }
        operation["requestBody"] = json!({ "required": required, "content": { "application/json": content } });
    }
    if open {
        operation["security"] = json!([]);
    }
    operation
}

fn refusal(status: u16) -> Value {
    let words = REFUSALS
        .iter()
        .find(|(known, _)| *known == status)
        .map_or("", |(_, words)| *words);
    let mut refusal = json!({
        "description": words,
        "content": { "application/json": { "schema": { "$ref": "#/components/schemas/Failed" } } },
    });
    let header = match status {
        401 => Some(("WWW-Authenticate", "string", "How to say who asks: `Bearer`.")),
        405 => Some(("Allow", "string", "The methods that the address takes.")),
        429 | 503 => Some(("Retry-After", "integer", "Seconds after which to try again.")),
        _ => None,
    };
    if let Some((name, kind, words)) = header {
        refusal["headers"] = json!({ name: { "description": words, "required": true, "schema": { "type": kind } } });
    }
    refusal
}

fn parameters(route: &Route) -> Vec<Value> {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| {
            let (words, schema) = match name {
                "id" => (
                    "The packet's id.",
                    json!({ "type": "string", "pattern": "^h_[0-9a-f]{16}$" }),
                ),
                "workspace" => ("The outer home, percent-encoded.", json!({ "type": "string" })),
                _ => ("The inner home, percent-encoded.", json!({ "type": "string" })),
            };
            json!({ "name": name, "in": "path", "required": true, "description": words, "schema": schema })
        })
        .collect();
    if let Some(shape) = route.query {
        let schema = shape();
        let required = schema.get("required").cloned().unwrap_or_else(|| json!([]));
        for (name, property) in schema
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let mut property = property.clone();
            let words = property.as_object_mut().and_then(|fields| fields.remove("description"));
            parameters.push(json!({
                "name": name, "in": "query",
                "required": required.as_array().is_some_and(|names| names.contains(&json!(name))),
                "description": words.unwrap_or_default(),
                "schema": property,
            }));
        }
    }
    if route.path.contains("{project}") {
        parameters.push(json!({
            "name": "X-Session-Id", "in": "header", "required": false,
            "description": "This run of the agent.", "schema": { "type": "string" },
        }));
        parameters.push(json!({
            "name": "X-Agent-Id", "in": "header", "required": false,
            "description": "The acting agent, where no token was ever made; beside a token only as the token says it.",
            "schema": { "type": "string" },
        }));
    }
    if route.streams {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "description": "The position of the last entry that a stream gave: it goes on after it.", "schema": { "type": "string" },
        }));
    }
    parameters
}
