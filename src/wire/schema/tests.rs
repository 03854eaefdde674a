//! The shapes that answers are made of, and what must come of each.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{any_json, portability_faults, portable, portable_input};

/// An answer with one of everything.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Everything {
    /// A text.
    text: String,
    /// A count.
    count: u32,
    /// A large count.
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe_count: Option<u64>,
    /// A share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Words.
    words: Vec<String>,
    /// Words that may be missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe_words: Option<Vec<String>>,
    /// Numbers with holes.
    holes: Vec<Option<i32>>,
    /// What state it is in.
    state: State,
    /// How it ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    ended: Option<State>,
    /// A plain choice.
    #[serde(skip_serializing_if = "Option::is_none")]
    plain: Option<Plain>,
    /// What is inside.
    inner: Inner,
    /// What may be inside.
    #[serde(skip_serializing_if = "Option::is_none")]
    maybe_inner: Option<Inner>,
    /// Many of it.
    inners: Vec<Inner>,
    /// Counts by name.
    by_name: BTreeMap<String, u32>,
    /// Whatever was stored.
    #[schemars(schema_with = "any_json")]
    value: Box<RawValue>,
    /// Whatever was stored, or nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "any_json")]
    maybe_value: Option<Box<RawValue>>,
    /// Whatever was stored, parsed.
    parsed: Value,
}

/// Documented at its own place.
#[derive(Serialize, Deserialize, JsonSchema)]
struct Inner {
    /// A flag.
    #[serde(default)]
    flag: bool,
    /// Deeper still.
    deeper: Vec<Deeper>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Deeper {
    /// The state down there.
    state: State,
}

/// A state.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum State {
    /// Nobody has it.
    Open,
    /// Somebody has it.
    TakenOver,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Plain {
    A,
    B,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Empty {}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Recursive {
    /// Again.
    again: Vec<Recursive>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
struct Bad {
    undescribed: u32,
    /// A pair.
    pair: (u32, String),
    /// One or the other.
    either: Either,
    /// Anything, in a list.
    anything: Vec<Value>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum Either {
    Number(u32),
    Text(String),
}

fn schema<T: JsonSchema>() -> Value {
    Value::Object(portable::<T>().as_ref().clone())
}

fn input<T: JsonSchema>() -> Value {
    Value::Object(portable_input::<T>().as_ref().clone())
}

#[test]
fn a07_a09_one_of_everything_is_portable() {
    for schema in [schema::<Everything>(), input::<Everything>()] {
        assert_eq!(portability_faults(&schema), [""; 0], "{schema:#}");
    }
    let schema = schema::<Everything>();
    let property = |name: &str| schema["properties"][name].clone();
    assert_eq!(
        property("maybe_count"),
        json!({"description": "A large count.", "type": "integer", "minimum": 0})
    );
    assert_eq!(property("share"), json!({"description": "A share.", "type": "number"}));
    assert_eq!(
        property("holes"),
        json!({"description": "Numbers with holes.", "type": "array", "items": {"type": "integer"}})
    );
    let described = "What state it is in.\n\"open\": Nobody has it.\n\"taken_over\": Somebody has it.";
    assert_eq!(
        property("state"),
        json!({"description": described, "type": "string", "enum": ["open", "taken_over"]})
    );
    assert_eq!(property("ended")["enum"], json!(["open", "taken_over"]));
    assert_eq!(
        property("plain"),
        json!({"description": "A plain choice.", "type": "string", "enum": ["A", "B"]})
    );
    assert_eq!(
        property("maybe_inner")["properties"]["deeper"]["items"]["properties"]["state"]["type"],
        "string"
    );
    assert_eq!(property("maybe_inner")["description"], "What may be inside.");
    assert_eq!(property("by_name")["additionalProperties"]["type"], "integer");
    for any in ["value", "maybe_value", "parsed"] {
        assert_eq!(
            property(any).as_object().expect("an object").keys().collect::<Vec<_>>(),
            ["description"]
        );
    }
}

#[test]
fn what_may_be_absent_is_not_required() {
    let required = schema::<Everything>()["required"].clone();
    let required: Vec<_> = required
        .as_array()
        .expect("a list")
        .iter()
        .map(|name| name.as_str().expect("text"))
        .collect();
    let expected = [
        "text", "count", "words", "holes", "state", "inner", "inners", "by_name", "value", "parsed",
    ];
    assert_eq!(required, expected);
    assert_eq!(schema::<Inner>()["required"], json!(["flag", "deeper"]));
    assert_eq!(input::<Inner>()["required"], json!(["deeper"]));
}

#[test]
fn a10_an_object_without_fields_has_properties() {
    for schema in [schema::<Empty>(), input::<Empty>()] {
        assert_eq!((&schema["type"], &schema["properties"]), (&json!("object"), &json!({})));
        assert_eq!(portability_faults(&schema), [""; 0]);
    }
}

#[test]
fn the_checker_finds_what_cannot_be_simplified() {
    let faults = portability_faults(&schema::<Bad>()).join("\n");
    for fault in [
        "root.undescribed has no description",
        "root.pair uses `prefixItems`",
        "root.pair is an array without typed `items`",
        "root.either uses `anyOf`",
        "root.anything is an array without typed `items`",
    ] {
        assert!(faults.contains(fault), "{fault} is not among:\n{faults}");
    }
    assert!(portability_faults(&schema::<Recursive>()).join("\n").contains("`$ref`"));
    let written = json!({"type": "object", "required": ["b"], "properties": {
        "a": {"description": "x", "type": ["string", "null"], "default": null, "format": "uint32"},
        "c-d": {"description": " ", "type": "object"},
        "e": {"description": "x", "const": 1},
        "f": {"description": "x", "enum": []},
        "g": true,
    }});
    let faults = portability_faults(&written);
    assert_eq!(faults.len(), 11, "{faults:#?}");
    assert_eq!(portability_faults(&json!({"type": "string"})).len(), 1);
    assert_eq!(portability_faults(&json!({"type": "object"})).len(), 2);
}
