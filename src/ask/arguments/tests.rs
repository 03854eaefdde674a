//! What clients are known to send, and what must come of it.

use serde_json::json;
use serde_json::value::RawValue;

use super::{Arguments, RefArgument};
use crate::domain::Invalid;

/// The arguments that this JSON holds.
pub(super) fn arguments(json: impl ToString) -> Arguments {
    parse(&json.to_string()).expect("arguments")
}

fn parse(json: &str) -> Result<Arguments, Invalid> {
    let raw: &RawValue = serde_json::from_str(json).expect("JSON");
    Arguments::parse(Some(raw))
}

fn reference(scope: &str, key: &str, version: Option<u64>) -> RefArgument {
    RefArgument {
        scope: scope.into(),
        key: key.into(),
        version,
    }
}

#[test]
fn a01_lists_come_as_lists_as_json_text_or_as_one_bare_text() {
    for (sent, read) in [
        (json!(["a", "b"]), vec!["a", "b"]),
        (json!("[\"a\",\"b\"]"), vec!["a", "b"]),
        (json!(" [ \"a\" ] "), vec!["a"]),
        (json!("[]"), vec![]),
        (json!([]), vec![]),
        (json!("just one"), vec!["just one"]),
        (json!("[wip] tidy up"), vec!["[wip] tidy up"]),
        (json!("123"), vec!["123"]),
        (json!("a \"quoted\" word"), vec!["a \"quoted\" word"]),
    ] {
        let read_back = arguments(json!({"tags": sent})).strings("tags").expect("a list");
        assert_eq!(read_back.expect("given"), read, "{sent}");
    }
}

#[test]
fn a01_what_cannot_be_decoded_names_its_field() {
    for (sent, refusal) in [
        (json!(5), "`tags` is 5; expected a list of strings"),
        (json!({"a": 1}), "`tags` is an object; expected a list of strings"),
        (
            json!("{\"a\": 1}"),
            "`tags` is \"{\\\"a\\\": 1}\"; expected a list of strings",
        ),
        (
            json!("[\"a\", \"b"),
            "`tags` is \"[\\\"a\\\", \\\"b\"; expected a list of strings",
        ),
        (json!(["a", 2]), "`tags[1]` is 2; expected a string"),
        (json!([null]), "`tags[0]` is null; expected a string"),
        (json!("[\"a\", [1]]"), "`tags[1]` is a list; expected a string"),
    ] {
        let error = arguments(json!({"tags": sent})).strings("tags").expect_err("refused");
        assert_eq!(error.to_string(), refusal);
    }
}

#[test]
fn a01_refs_come_in_every_wrapping() {
    let one = json!({"scope": "s", "key": "k", "version": 1});
    for sent in [
        json!([one]),
        json!(json!([one]).to_string()),
        json!([one.to_string()]),
        json!(json!([one.to_string()]).to_string()),
        one.clone(),
        json!(one.to_string()),
        json!([{"scope": "s", "key": "k", "version": "1"}]),
        json!([{"scope": "s", "key": "k", "version": 1.0}]),
    ] {
        let read = arguments(json!({"refs": sent})).refs("refs").expect("refs");
        assert_eq!(read, Some(vec![reference("s", "k", Some(1))]), "{sent}");
    }
    let mut two = arguments(json!({"refs": [{"scope": "a", "key": "b"}, {"scope": "c", "key": "d", "version": null}]}));
    let read = two.refs("refs").expect("refs").expect("given");
    assert_eq!(read, [reference("a", "b", None), reference("c", "d", None)]);
}

#[test]
fn a01_a_ref_that_is_none_names_its_place() {
    for (sent, refusal) in [
        (
            json!(["s/k"]),
            "`refs[0]` is \"s/k\"; expected {\"scope\", \"key\", \"version\"}",
        ),
        (
            json!("s/k"),
            "`refs` is \"s/k\"; expected a list of {\"scope\", \"key\", \"version\"}",
        ),
        (
            json!([{"scope": "s"}]),
            "`refs[0].key` is missing; expected a string that is not empty",
        ),
        (
            json!([{"scope": " ", "key": "k"}]),
            "`refs[0].scope` is \" \"; expected a string that is not empty",
        ),
        (
            json!([{"scope": "s", "key": "k"}, {"scope": "s", "key": "k", "version": -1}]),
            "`refs[1].version` is -1; expected a version number, or left out for the current one",
        ),
        (
            json!([{"scope": "s", "key": "k", "version": 1.5}]),
            "`refs[0].version` is 1.5; expected a version number, or left out for the current one",
        ),
    ] {
        let error = arguments(json!({"refs": sent})).refs("refs").expect_err("refused");
        assert_eq!(error.to_string(), refusal);
    }
    let error = arguments("{\"refs\": [{\"scope\":\"s\",\"key\":\"k\",\"key\":\"l\"}]}")
        .refs("refs")
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "`refs[0].key` is given twice; expected each argument once"
    );
}

#[test]
fn a01_the_whole_object_may_come_as_text() {
    let mut text = arguments(json!("{\"scope\": \"s\", \"limit\": \"3\"}"));
    assert_eq!(text.string("scope").expect("a scope").as_deref(), Some("s"));
    assert_eq!(text.integer("limit", "a number").expect("a limit"), Some(3));
    for sent in [
        "\"scope\"",
        "[]",
        "3",
        "true",
        "\"[1]\"",
        "\"{\"",
        r#""{\"value\":\"\\ud83d\"}""#,
    ] {
        let error = parse(sent).expect_err("refused");
        assert_eq!(
            (error.field.as_str(), error.expected.as_str()),
            ("arguments", "an object with the tool's arguments")
        );
    }
}

#[test]
fn a03_numbers_and_booleans_come_as_they_are_or_as_text() {
    let expected = "a whole number from 1 to 200";
    for sent in ["10", "10.0", "\"10\"", "\" 10.0 \"", "1e1"] {
        let read = arguments(format!("{{\"limit\": {sent}}}"))
            .integer("limit", expected)
            .expect("a number");
        assert_eq!(read, Some(10), "{sent}");
    }
    for (sent, got) in [
        ("10.5", "10.5"),
        ("\"ten\"", "\"ten\""),
        ("\"NaN\"", "\"NaN\""),
        ("true", "true"),
        ("[1]", "a list"),
    ] {
        let error = arguments(format!("{{\"limit\": {sent}}}"))
            .integer("limit", expected)
            .expect_err("refused");
        assert_eq!(
            error.to_string(),
            format!("`limit` is {got}; expected a whole number from 1 to 200")
        );
    }
    for (sent, number) in [
        ("0.5", 0.5),
        ("\"0.5\"", 0.5),
        ("1", 1.0),
        ("1.7", 1.7),
        ("-0.1", -0.1),
        ("1e-3", 0.001),
    ] {
        let read = arguments(format!("{{\"confidence\": {sent}}}"))
            .number("confidence", "0 to 1")
            .expect("a number");
        assert_eq!(read, Some(number), "{sent}");
    }
    for sent in [
        "\"NaN\"",
        "\"Infinity\"",
        "\"-inf\"",
        "1e400",
        "\"1e400\"",
        "\"half\"",
        "\"0,5\"",
        "false",
        "{}",
    ] {
        let error = arguments(format!("{{\"confidence\": {sent}}}")).number("confidence", "a number from 0 to 1");
        assert_eq!(error.expect_err("refused").expected, "a number from 0 to 1", "{sent}");
    }
    for (sent, truth) in [
        ("true", true),
        ("\"true\"", true),
        ("\"False\"", false),
        ("\" TRUE \"", true),
        ("false", false),
    ] {
        assert_eq!(
            arguments(format!("{{\"peek\": {sent}}}"))
                .boolean("peek")
                .expect("a boolean"),
            Some(truth),
            "{sent}"
        );
    }
    for sent in ["1", "0", "\"yes\"", "[]"] {
        let error = arguments(format!("{{\"peek\": {sent}}}"))
            .boolean("peek")
            .expect_err("refused");
        assert_eq!(error.expected, "true or false", "{sent}");
    }
}

#[test]
fn a04_a_count_beyond_64_bits_is_merely_very_many() {
    for (sent, count) in [
        ("-1", -1),
        ("0", 0),
        ("1e9", 1_000_000_000),
        ("9223372036854775808", i64::MAX),
        ("-1e30", i64::MIN),
    ] {
        assert_eq!(
            arguments(format!("{{\"limit\": {sent}}}"))
                .count("limit", "x")
                .expect("a count"),
            Some(count),
            "{sent}"
        );
    }
    let error = arguments("{\"version\": 9223372036854775808}")
        .integer("version", "a version")
        .expect_err("refused");
    assert_eq!(
        error.to_string(),
        "`version` is 9223372036854775808; expected a version"
    );
}

#[test]
fn a06_null_blank_and_missing_are_absent() {
    for sent in ["null", "\"\"", "\"  \""] {
        let mut read = arguments(format!(
            "{{\"a\":{sent},\"b\":{sent},\"c\":{sent},\"d\":{sent},\"e\":{sent},\"f\":{sent}}}"
        ));
        assert_eq!(read.string("a").expect("absent"), None);
        assert_eq!(read.integer("b", "x").expect("absent"), None);
        assert_eq!(read.number("c", "x").expect("absent"), None);
        assert_eq!(read.boolean("d").expect("absent"), None);
        assert_eq!(read.strings("e").expect("absent"), None);
        assert_eq!(read.refs("f").expect("absent"), None);
        assert_eq!(read.finish(), [""; 0]);
    }
    for none in [
        None,
        Some("null"),
        Some("\"\""),
        Some("{}"),
        Some("\"null\""),
        Some("\" {} \""),
    ] {
        let raw: Option<&RawValue> = none.map(|json| serde_json::from_str(json).expect("JSON"));
        let mut read = Arguments::parse(raw).expect("no arguments");
        assert_eq!(read.string("scope").expect("absent"), None);
        assert_eq!(
            read.required_raw("value").expect_err("missing").to_string(),
            "`value` is missing; expected any JSON value"
        );
    }
}

#[test]
fn a06_a_string_is_never_reinterpreted() {
    let mut read =
        arguments(json!({"handoff_id": "null", "key": "123", "tags": ["null"], "scope": " padded ", "title": 5}));
    assert_eq!(read.string("handoff_id").expect("a string").as_deref(), Some("null"));
    assert_eq!(read.required_string("key").expect("a string"), "123");
    assert_eq!(read.strings("tags").expect("a list"), Some(vec!["null".to_owned()]));
    assert_eq!(read.string("scope").expect("a string").as_deref(), Some(" padded "));
    assert_eq!(
        read.string("title").expect_err("refused").to_string(),
        "`title` is 5; expected a string"
    );
}

#[test]
fn a06_a_value_is_whatever_was_sent() {
    for value in [
        "null",
        "\"\"",
        "\"[1,2]\"",
        "1.0",
        "-0.0",
        "1e400",
        "12345678901234567890123",
        "{\"b\":1,\"a\":2,\"b\":3}",
    ] {
        let mut read = arguments(format!("{{\"value\": {value} }}"));
        assert_eq!(read.required_raw("value").expect("a value").get(), value);
    }
}

#[test]
fn required_strings_say_what_is_wrong() {
    let mut read = arguments(json!({"a": null, "b": " ", "c": ["x"]}));
    assert_eq!(read.required_string("a").expect_err("null").got, "null");
    assert_eq!(read.required_string("b").expect_err("blank").got, "\" \"");
    assert_eq!(
        read.required_string("c").expect_err("a list").to_string(),
        "`c` is a list; expected a string"
    );
    assert_eq!(read.required_string("d").expect_err("missing").got, "missing");
}

#[test]
fn a_name_given_twice_is_refused() {
    let error = parse(r#"{"key":"a","k\u0065y":"b"}"#).expect_err("refused");
    assert_eq!(error.to_string(), "`key` is given twice; expected each argument once");
}

#[test]
fn deep_arguments_are_read_without_recursion() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let mut read = arguments(format!("{{\"value\":{deep},\"tags\":[{deep}],\"refs\":[{deep}]}}"));
    assert_eq!(read.raw("value").expect("a value").get().len(), 200_000);
    assert_eq!(read.strings("tags").expect_err("refused").field, "tags[0]");
    assert_eq!(read.refs("refs").expect_err("refused").field, "refs[0]");
}
