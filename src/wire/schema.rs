//! JSON Schemas that every client takes, in one place, for what tools take and what they answer.
//!
//! What a derived schema holds has cost other servers their tools: `$ref` and `$defs` (Zed, Copilot, Gemini), type arrays
//! and `nullable` (Cursor, Gemini), unions (strict validators, whole prompts refused), `format: uint32` (warnings from
//! ajv), an object without `properties` (OpenAI). What is left here is a plain object root, scalar types, `enum`,
//! `items` and descriptions.

#[cfg(test)]
mod tests;

use std::sync::Arc;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

/// The schema of what a tool answers, as `T` is serialized: a field that is left out when empty is not required.
///
/// # Panics
///
/// When `T` is no struct with named fields.
pub fn portable<T: JsonSchema>() -> Arc<Map<String, Value>> {
    root::<T>(SchemaSettings::draft2020_12().for_serialize())
}

/// The schema of what a tool takes, as `T` would be deserialized: an `Option` or a field with a default is not required.
///
/// # Panics
///
/// When `T` is no struct with named fields.
pub fn portable_input<T: JsonSchema>() -> Arc<Map<String, Value>> {
    root::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

/// The schema of a field that holds any JSON, for `#[schemars(schema_with = "any_json")]`.
///
/// It is a schema without `type`, to which the field's own description is added. Gemini's client skipped such tools for a
/// few weeks in 2025 and takes them since it hands schemas on as JSON Schema; every other spelling is worse: a list of
/// types and `anyOf` break more clients, and `"type": "string"` makes models send JSON as text and validators refuse
/// the rest.
pub fn any_json(_: &mut SchemaGenerator) -> Schema {
    Schema::default()
}

fn root<T: JsonSchema>(mut settings: SchemaSettings) -> Arc<Map<String, Value>> {
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    simplify(&mut schema);
    let Value::Object(mut root) = schema else {
        panic!("the schema of {} is no object", T::schema_name())
    };
    assert_eq!(
        root.get("type"),
        Some(&json!("object")),
        "{} is no struct",
        T::schema_name()
    );
    root.entry("properties").or_insert_with(|| json!({}));
    Arc::new(root)
}

/// Rewrites a schema, and every schema inside it, in the words that are taken everywhere.
fn simplify(schema: &mut Value) {
    if *schema == Value::Bool(true) {
        *schema = json!({});
    }
    let Value::Object(object) = schema else { return };
    for keyword in ["$schema", "$defs", "definitions", "title", "format", "nullable"] {
        object.remove(keyword);
    }
    if object.get("default") == Some(&Value::Null) {
        object.remove("default");
    }
    drop_null_type(object);
    for keyword in ["anyOf", "oneOf", "allOf"] {
        merge_union(object, keyword);
    }
    if let Some(constant) = object.remove("const") {
        object.insert("enum".to_owned(), json!([constant]));
    }
    name_enum_type(object);
    for keyword in ["properties", "patternProperties"] {
        if let Some(Value::Object(properties)) = object.get_mut(keyword) {
            properties.values_mut().for_each(simplify);
        }
    }
    for keyword in ["items", "additionalProperties"] {
        // `additionalProperties: false` is a plain word of its own, and `true` says what is so anyway.
        if object.get(keyword).is_some_and(Value::is_object) {
            simplify(&mut object[keyword]);
        }
    }
    if object.get("additionalProperties") == Some(&Value::Bool(true)) {
        object.remove("additionalProperties");
    }
}

/// `["integer", "null"]` is an integer: that it may be absent is said by `required`.
fn drop_null_type(object: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|name| name != "null");
        if let [only] = types.as_slice() {
            object["type"] = only.clone();
        }
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// Takes a union apart where it says something simple: a schema or null, one schema, or a choice of constants.
fn merge_union(object: &mut Map<String, Value>, keyword: &str) {
    let Some(Value::Array(mut members)) = object.remove(keyword) else {
        return;
    };
    members.retain(|member| member.get("type") != Some(&json!("null")) && member.get("const") != Some(&Value::Null));
    members.iter_mut().for_each(simplify);
    if let [Value::Object(only)] = members.as_mut_slice() {
        for (name, value) in std::mem::take(only) {
            // What stands beside the union was written for this place, so it wins.
            object.entry(name).or_insert(value);
        }
        return;
    }
    let Some(choices) = members
        .iter()
        .map(choice)
        .collect::<Option<Vec<_>>>()
        .filter(|_| keyword != "allOf")
    else {
        object.insert(keyword.to_owned(), Value::Array(members));
        return;
    };
    let mut told = Vec::new();
    let mut values = Vec::new();
    for (names, description) in choices {
        if let (Some(description), [name]) = (description, names.as_slice()) {
            told.push(format!("{name}: {description}"));
        }
        values.extend(names);
    }
    if !told.is_empty() {
        let own = object
            .get("description")
            .and_then(Value::as_str)
            .map(|own| format!("{own}\n"))
            .unwrap_or_default();
        object.insert("description".to_owned(), json!(own + &told.join("\n")));
    }
    object.insert("enum".to_owned(), Value::Array(values));
}

/// The constants that a simplified schema allows, when that is all it says, and its description.
fn choice(schema: &Value) -> Option<(Vec<Value>, Option<&str>)> {
    let values = schema.get("enum")?.as_array()?.clone();
    Some((values, schema.get("description").and_then(Value::as_str)))
}

/// An `enum` of strings says so: some clients want a `type` beside it.
fn name_enum_type(object: &mut Map<String, Value>) {
    let strings = |values: &Vec<Value>| !values.is_empty() && values.iter().all(Value::is_string);
    if object.get("enum").and_then(Value::as_array).is_some_and(strings) {
        object.insert("type".to_owned(), json!("string"));
    }
}

/// What in a tool's schema some client would not take, each with its place; empty for a good one.
#[cfg(test)]
pub fn portability_faults(schema: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    if schema.get("type") != Some(&json!("object")) || !schema["properties"].is_object() {
        faults.push("the root is no plain object with `properties`".to_owned());
    }
    find_faults(schema, "root", &mut faults);
    faults
}

#[cfg(test)]
fn find_faults(schema: &Value, place: &str, faults: &mut Vec<String>) {
    const TAKEN: [&str; 20] = [
        "additionalProperties",
        "default",
        "description",
        "enum",
        "examples",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "items",
        "maxItems",
        "maxLength",
        "maximum",
        "minItems",
        "minLength",
        "minimum",
        "multipleOf",
        "pattern",
        "properties",
        "required",
        "type",
        "uniqueItems",
    ];
    let Some(object) = schema.as_object() else {
        faults.push(format!("{place} is no object"));
        return;
    };
    for (keyword, value) in object {
        if !TAKEN.contains(&keyword.as_str()) {
            faults.push(format!("{place} uses `{keyword}`"));
        }
        if value.is_null() {
            faults.push(format!("{place}.{keyword} is null"));
        }
    }
    let kind = object.get("type");
    if kind.is_some_and(|kind| !kind.is_string()) {
        faults.push(format!("{place}.type is no single name"));
    }
    let properties = object.get("properties").and_then(Value::as_object);
    if kind == Some(&json!("object")) {
        if properties.is_none() && !object.get("additionalProperties").is_some_and(Value::is_object) {
            faults.push(format!("{place} is an object without `properties`"));
        }
    } else if properties.is_some() || object.contains_key("required") {
        faults.push(format!("{place} has `properties` or `required` but is no object"));
    }
    if kind == Some(&json!("array")) && object.get("items").and_then(|items| items.get("type")).is_none() {
        faults.push(format!("{place} is an array without typed `items`"));
    }
    if object
        .get("enum")
        .and_then(Value::as_array)
        .is_some_and(|values| values.is_empty() || kind.is_none())
    {
        faults.push(format!("{place}.enum is empty or has no `type`"));
    }
    for name in object.get("required").and_then(Value::as_array).into_iter().flatten() {
        if !name
            .as_str()
            .is_some_and(|name| properties.is_some_and(|properties| properties.contains_key(name)))
        {
            faults.push(format!("{place} requires {name}, which it does not have"));
        }
    }
    for (name, property) in properties.into_iter().flatten() {
        let inner = format!("{place}.{name}");
        if name.is_empty() || name.len() > 64 || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        {
            faults.push(format!("{inner} is no plain name"));
        }
        if property
            .get("description")
            .and_then(Value::as_str)
            .is_none_or(|text| text.trim().is_empty())
        {
            faults.push(format!("{inner} has no description"));
        }
        find_faults(property, &inner, faults);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(inner) = object.get(keyword).filter(|inner| !inner.is_boolean()) {
            find_faults(inner, &format!("{place}.{keyword}"), faults);
        }
    }
}
