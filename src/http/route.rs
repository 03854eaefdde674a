//! One route: what it does, takes and answers, in the one place from which it is both served and described.

use std::sync::Arc;

use axum::routing::MethodRouter;
use serde_json::{Map, Value};

use super::Shared;
use crate::wire::schema;

/// A JSON Schema, made when it is asked for.
pub type Shape = fn() -> Arc<Map<String, Value>>;

/// The shape of an answer.
pub fn answer<T: schemars::JsonSchema>() -> Arc<Map<String, Value>> {
    schema::portable::<T>()
}

/// The shape of a question.
pub fn question<T: schemars::JsonSchema>() -> Arc<Map<String, Value>> {
    schema::portable_input::<T>()
}

/// One route.
pub struct Route {
    /// Its method, lowercase.
    pub method: &'static str,
    /// Its address, with named segments in braces.
    pub path: &'static str,
    /// The noun that it is about.
    pub tag: &'static str,
    /// A name for it.
    pub id: &'static str,
    /// What it does, in a line.
    pub summary: &'static str,
    /// What else there is to say.
    pub about: &'static str,
    /// What it takes behind the question mark.
    pub query: Option<Shape>,
    /// What it takes as its body.
    pub body: Option<Shape>,
    /// A body that it takes, as a reader would write it.
    pub example: Option<Value>,
    /// What it answers when all is well: status, words, shape.
    pub answers: Vec<(u16, &'static str, Shape)>,
    /// The statuses of its own refusals, besides those that every route has.
    pub refusals: &'static [u16],
    /// Whether the answer may be a stream of events.
    pub streams: bool,
    /// What serves it.
    pub handler: MethodRouter<Shared>,
}
