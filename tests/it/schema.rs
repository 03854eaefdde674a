//! The tool list that clients read: a snapshot, the rules that make it portable, and what each tool must say.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::harness::Place;

fn tools() -> Vec<Value> {
    let place = Place::new();
    let listed = place.agent("scout").result("tools/list", json!({}));
    listed["tools"].as_array().expect("a list of tools").clone()
}

#[test]
fn the_tool_list_is_the_one_that_was_reviewed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/snapshots/tools.json");
    let now = serde_json::to_string_pretty(&tools()).expect("JSON") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("the folder of the snapshots");
        fs::write(&path, &now).expect("the snapshot is written");
    }
    let reviewed = fs::read_to_string(&path).unwrap_or_default();
    let differs = reviewed.lines().zip(now.lines()).find(|(old, new)| old != new);
    assert!(
        reviewed == now,
        "the tool list differs from tests/snapshots/tools.json, first at {differs:?}; if that is meant, run \
         UPDATE_SNAPSHOTS=1 cargo test --test it schema, and read the difference"
    );
}

/// Whether the tool only reads, its required arguments, and all that it takes.
const TOOLS: [(&str, bool, &[&str], &[&str]); 7] = [
    (
        "handoff",
        false,
        &["title", "summary"],
        &[
            "cwd",
            "expires_in",
            "files_touched",
            "next_steps",
            "open_questions",
            "refs",
            "shared",
            "supersedes",
            "to_agent",
        ],
    ),
    ("history", true, &["scope", "key"], &["cursor", "limit"]),
    ("memory_stats", true, &[], &["checkpoint", "verify"]),
    (
        "recall",
        true,
        &[],
        &[
            "cursor",
            "key",
            "limit",
            "min_confidence",
            "query",
            "scope",
            "tag",
            "version",
        ],
    ),
    (
        "record_outcome",
        false,
        &["outcome", "outcome_ref"],
        &["handoff_id", "note", "refs"],
    ),
    (
        "remember",
        false,
        &["scope", "key", "value"],
        &["confidence", "expected_version", "tags"],
    ),
    ("resume", false, &[], &["cwd", "handoff_id", "peek"]),
];

#[test]
fn a12_names_required_arguments_and_hints_are_fixed() {
    let tools = tools();
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    assert_eq!(names, TOOLS.map(|tool| tool.0));
    for (tool, (name, read_only, required, optional)) in tools.iter().zip(TOOLS) {
        let sorted = |names: &mut Vec<String>| names.sort();
        let schema = &tool["inputSchema"];
        let mut needs: Vec<String> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|n| n.as_str().unwrap_or_default().to_owned())
            .collect();
        let mut takes: Vec<String> = schema["properties"]
            .as_object()
            .expect("properties")
            .keys()
            .cloned()
            .collect();
        let mut expected: Vec<String> = required.iter().map(|n| (*n).to_owned()).collect();
        let mut all: Vec<String> = required.iter().chain(optional).map(|n| (*n).to_owned()).collect();
        [&mut needs, &mut takes, &mut expected, &mut all]
            .into_iter()
            .for_each(sorted);
        assert_eq!((needs, takes), (expected, all), "{name}");
        let hints = &tool["annotations"];
        assert_eq!(hints["readOnlyHint"], read_only, "{name}");
        for hint in ["destructiveHint", "idempotentHint", "openWorldHint"] {
            assert!(hints[hint].is_boolean(), "{name} leaves {hint} to be guessed");
        }
        assert_eq!(
            (&hints["destructiveHint"], &hints["openWorldHint"]),
            (&json!(false), &json!(false)),
            "{name}"
        );
        let title = tool["title"].as_str().unwrap_or_default();
        assert!((3..=40).contains(&title.len()), "{name}: title {title:?}");
        let about = tool["description"].as_str().unwrap_or_default();
        assert!(
            (40..=1_200).contains(&about.len()),
            "{name}: a description of {} bytes",
            about.len()
        );
        assert!(name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase() || b == b'_'));
    }
}

#[test]
fn a07_a09_a10_schemas_are_ones_that_every_client_takes() {
    for tool in tools() {
        let name = tool["name"].as_str().expect("a name");
        for which in ["inputSchema", "outputSchema"] {
            let schema = &tool[which];
            assert_eq!(schema["type"], "object", "{name}.{which} is no plain object");
            assert!(schema["properties"].is_object(), "{name}.{which} has no properties");
            sweep(schema, &format!("{name}.{which}"));
        }
    }
}

fn sweep(schema: &Value, path: &str) {
    let fields = schema.as_object().unwrap_or_else(|| panic!("{path} is no object"));
    for word in [
        "anyOf",
        "oneOf",
        "allOf",
        "not",
        "if",
        "$ref",
        "$defs",
        "definitions",
        "$schema",
        "format",
        "nullable",
        "const",
    ] {
        assert!(!fields.contains_key(word), "{path} uses `{word}`");
    }
    assert!(
        fields.get("default").is_none_or(|default| !default.is_null()),
        "{path} has a default of null"
    );
    if let Some(kind) = fields.get("type") {
        let kind = kind.as_str().unwrap_or_else(|| panic!("{path} has a list of types"));
        assert_ne!(kind, "null", "{path}");
        if kind == "array" {
            let items = fields
                .get("items")
                .unwrap_or_else(|| panic!("{path} is an array without items"));
            assert!(items["type"].is_string(), "{path} has items without a type");
            sweep(items, &format!("{path}[]"));
        }
    } else {
        // Only a stored value may be of any type.
        assert!(path.ends_with(".value"), "{path} has no type");
    }
    for (name, inner) in fields
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let inner_path = format!("{path}.{name}");
        assert!(
            name.len() <= 64
                && name
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'),
            "{inner_path}"
        );
        assert!(
            inner["description"].as_str().is_some_and(|text| text.len() > 3),
            "{inner_path} has no description"
        );
        sweep(inner, &inner_path);
    }
}

#[test]
fn the_list_is_the_same_for_all_and_small_enough_to_be_read() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let first = scout.result("tools/list", json!({}));
    scout.remember("app", "key", json!("stored text never enters a description"));
    assert_eq!(scout.result("tools/list", json!({})), first);
    let other = place
        .start()
        .agent("other")
        .env("MEMORY_OWNER", "ann")
        .serve()
        .result("tools/list", json!({}));
    assert_eq!(other, first);
    // What a client puts before its model: names, descriptions and input schemas.
    let read: usize = first["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["description"].to_string().len() + tool["inputSchema"].to_string().len())
        .sum();
    assert!(read < 16 * 1024, "{read} bytes of descriptions and input schemas");
}
