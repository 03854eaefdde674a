//! Made-up arguments into each of the seven tools, one call after the other in one session: each is answered, or refused with
//! a code, a message and a hint that tell nothing of the inside, and afterwards the store proves itself.

#![no_main]

use std::sync::LazyLock;

use handoff_memory::domain::limits::ANSWER_BYTES_MAX;
use handoff_memory_fuzz::bytes::Bytes;
use handoff_memory_fuzz::client::Client;
use handoff_memory_fuzz::json;
use handoff_memory_fuzz::place::{FILE, Place, RUNTIME, told};
use libfuzzer_sys::{Corpus, fuzz_target};
use serde_json::Value;
use serde_json::value::RawValue;

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

/// Each tool with its arguments.
const TOOLS: [(&str, &[&str]); 7] = [
    (
        "remember",
        &["scope", "key", "value", "tags", "confidence", "expected_version"],
    ),
    (
        "recall",
        &[
            "scope",
            "key",
            "version",
            "query",
            "tag",
            "min_confidence",
            "limit",
            "cursor",
        ],
    ),
    ("history", &["scope", "key", "limit", "cursor"]),
    (
        "handoff",
        &[
            "title",
            "summary",
            "next_steps",
            "open_questions",
            "files_touched",
            "refs",
            "to_agent",
            "supersedes",
            "expires_in",
            "shared",
        ],
    ),
    ("resume", &["handoff_id", "peek", "cwd"]),
    (
        "record_outcome",
        &["outcome", "outcome_ref", "refs", "handoff_id", "note"],
    ),
    ("memory_stats", &["verify", "checkpoint"]),
];

/// Strings that mean something to some tool.
const WORDS: [&str; 32] = [
    "app",
    "plan",
    "leak",
    "gone",
    "kinds/x",
    "unicode",
    "own",
    "notes",
    "red",
    "b c",
    "first second third",
    "\u{7528}\u{6237}",
    "success",
    "failure",
    "abandoned",
    "released",
    "run-1",
    "scout",
    "fuzz",
    "7d",
    "0",
    "90m",
    "/src/app",
    "true",
    "false",
    "0.5",
    "1",
    "s20",
    "v1.3",
    "{\"scope\":\"app\",\"key\":\"plan\",\"version\":1}",
    "[{\"scope\":\"app\",\"key\":\"plan\"}]",
    "hm1:71fc613eba4e4871ac4a9c3666ac1488:default:default:1:46d85cd48dd25245dde5d0c6f6bd94d7a22e93b6d7a068d732b331fbc00697b9",
];

const CODES: [&str; 4] = ["invalid_argument", "not_found", "conflict", "not_allowed"];

fuzz_target!(|input: &[u8]| -> Corpus {
    // A control character marks an input that is read as choices; any other is lines of a tool's name and its arguments.
    let calls = if matches!(input.first(), Some(1..=8)) {
        made(&mut Bytes::new(&input[1..]))
    } else {
        let lines = std::str::from_utf8(input).unwrap_or_default().lines();
        lines
            .filter_map(|line| line.split_once(' '))
            .map(|(tool, json)| (tool.to_owned(), json.to_owned()))
            .collect()
    };
    let calls: Vec<(String, String)> = calls
        .into_iter()
        .filter(|(tool, json)| {
            TOOLS.iter().any(|(name, _)| name == tool) && serde_json::from_str::<&RawValue>(json).is_ok()
        })
        .take(8)
        .collect();
    if calls.is_empty() {
        return Corpus::Reject;
    }
    PLACE.put(&FILE);
    let mut client = Client::new(&RUNTIME, &PLACE.db());
    client.open();
    let mut changed = false;
    let mut ids: Vec<String> = Vec::new();
    for (tool, json) in &calls {
        // `@0` stands for the first packet that an answer told of: no input can know its name.
        let json = ids.iter().enumerate().fold(json.clone(), |json, (n, id)| {
            json.replace(&format!("\"@{n}\""), &json::quoted(id))
        });
        let answer = call(&mut client, tool, &json);
        if let Some(answer) = &answer {
            changed |= !matches!(tool.as_str(), "recall" | "history" | "memory_stats");
            ids.extend(answer["handoff_id"].as_str().map(str::to_owned));
        }
    }
    if changed {
        let stats = call(&mut client, "memory_stats", "{\"verify\":true}").expect("it is answered");
        assert_eq!(stats["verify"]["ok"], true, "{stats}");
    }
    let rest = client.end(&RUNTIME);
    assert!(rest.is_empty(), "{rest:?}");
    Corpus::Keep
});

/// Up to four calls.
fn made(bytes: &mut Bytes<'_>) -> Vec<(String, String)> {
    let mut calls = Vec::new();
    loop {
        let (tool, names) = bytes.pick(&TOOLS);
        let mut members = Vec::new();
        for name in names {
            let value = match bytes.below(8) {
                0..3 => continue,
                // What fits, more often than chance would have it.
                3..5 => fitting(bytes, name),
                5 => json::string(bytes, &WORDS),
                _ => json::value(bytes, &WORDS),
            };
            members.push(format!("\"{name}\":{value}"));
        }
        if bytes.below(16) == 1 {
            members.push(format!("{}:{}", json::string(bytes, names), json::value(bytes, &WORDS)));
        }
        let mut arguments = format!("{{{}}}", members.join(","));
        if bytes.below(16) == 1 {
            arguments = json::quoted(&arguments);
        }
        calls.push((tool.to_owned(), arguments));
        if bytes.is_empty() || calls.len() == 4 {
            return calls;
        }
    }
}

fn fitting(bytes: &mut Bytes<'_>, name: &str) -> String {
    match name {
        "scope" => bytes
            .pick(&["\"app\"", "\"kinds\"", "\"kinds/x\"", "\"own\"", "\"new\""])
            .to_owned(),
        "key" => bytes
            .pick(&["\"plan\"", "\"leak\"", "\"gone\"", "\"unicode\"", "\"notes\""])
            .to_owned(),
        "version" | "expected_version" | "limit" => bytes.below(4).to_string(),
        "confidence" | "min_confidence" => format!("0.{}", bytes.below(10)),
        "peek" | "shared" | "verify" => bytes.pick(&["true", "false"]).to_owned(),
        "outcome" => bytes
            .pick(&["\"success\"", "\"failure\"", "\"abandoned\"", "\"released\""])
            .to_owned(),
        "handoff_id" | "supersedes" => bytes.pick(&["\"@0\"", "\"@1\"", "\"h_0123456789abcdef\""]).to_owned(),
        "expires_in" => bytes.pick(&["\"0\"", "\"7d\"", "\"1m\""]).to_owned(),
        "refs" => {
            let pin = |version| format!("[{{\"scope\":\"app\",\"key\":\"plan\",\"version\":{version}}}]");
            bytes
                .pick(&["[]".to_owned(), pin(1), pin(2), pin(9)].each_ref())
                .clone()
        }
        "tags" => bytes.pick(&["[]", "[\"red\"]", "\"b c\""]).to_owned(),
        _ => json::string(bytes, &WORDS),
    }
}

/// Calls a tool; gives its answer unless it refused.
fn call(client: &mut Client, tool: &str, json: &str) -> Option<Value> {
    client.send(
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{{\"name\":\"{tool}\",\"arguments\":{json}}}}}"
        )
        .as_bytes(),
    );
    let message = client.next();
    assert_eq!(message["id"].as_i64().unwrap_or(1), 1, "{message}");
    let Some(result) = message.get("result") else {
        // The line itself is none: half a surrogate pair is JSON, but no Unicode text.
        assert_eq!(message["error"]["code"], -32700, "{tool} {json}: {message}");
        return None;
    };
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.len() <= ANSWER_BYTES_MAX,
        "{} bytes answer {tool} {json}",
        text.len()
    );
    let answer: Value = serde_json::from_str(text).expect("the text is JSON");
    if result["isError"] != true {
        assert_eq!(answer, result["structuredContent"], "{message}");
        return Some(answer);
    }
    let part = |name: &str| {
        answer["error"][name]
            .as_str()
            .or_else(|| answer[name].as_str())
            .unwrap_or_default()
            .to_owned()
    };
    assert!(CODES.contains(&part("code").as_str()), "{tool} {json}: {answer}");
    // A refusal may repeat what it was given, and say it as JSON or as text.
    let given = format!("{json}{}", json.replace("\\/", "/"));
    told(&part("message"), &part("hint"), &given);
    None
}
