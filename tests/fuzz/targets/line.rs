//! Any bytes as lines into the server: every line that asks is answered, nothing else is, each answer is one line of
//! JSON-RPC, and afterwards the server still answers and ends when its input ends.

#![no_main]

use std::sync::LazyLock;

use handoff_memory_fuzz::client::Client;
use handoff_memory_fuzz::place::{Place, RUNTIME};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use serde_json::value::RawValue;

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

const PING: &str = "ping that was not made up";

fuzz_target!(|input: &[u8]| {
    // Most inputs go on from an open session; one that begins with a dot has to open it itself.
    let (opened, lines) = match input.strip_prefix(b".") {
        Some(lines) => (false, lines),
        None => (true, input),
    };
    PLACE.clear();
    let mut client = Client::new(&RUNTIME, &PLACE.db());
    if opened {
        client.open();
    }
    client.send(lines);
    let expected = lines.split(|byte| *byte == b'\n').map(Expected::of);
    let expected = expected.fold(Expected::default(), Expected::and);
    let mut answers = Vec::new();
    while answers.len() < expected.least {
        answers.extend(answer(client.next()));
    }
    client.send(format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{PING}\",\"method\":\"ping\"}}").as_bytes());
    loop {
        match answer(client.next()) {
            Some(answer) if answer["id"] == PING => {
                assert_eq!(answer["result"], serde_json::json!({}), "{answer}");
                break;
            }
            other => answers.extend(other),
        }
    }
    answers.extend(client.end(&RUNTIME).into_iter().filter_map(answer));
    assert!(
        (expected.least..=expected.most).contains(&answers.len()),
        "{expected:?}, but {} answers: {answers:?}",
        answers.len()
    );
    for answer in &answers {
        let id = &answer["id"];
        assert!(id.is_null() || expected.ids.contains(id), "nobody asked for {answer}");
    }
});

/// An answer is a result or an error; what the server says by itself is none.
fn answer(message: Value) -> Option<Value> {
    if message.get("method").is_some() {
        assert!(message.get("id").is_none(), "the server asks: {message}");
        return None;
    }
    let (result, error) = (message.get("result").is_some(), &message["error"]);
    assert!(result != error.is_object(), "both or neither: {message}");
    if !result {
        assert!(error["code"].is_i64() && error["message"].is_string(), "{message}");
        assert!(!error.to_string().contains(" at src/"), "{message}");
    }
    Some(message)
}

/// How many answers must come and may come, and the ids that they can have.
#[derive(Debug, Default)]
struct Expected {
    least: usize,
    most: usize,
    ids: Vec<Value>,
}

impl Expected {
    /// Of one line, by JSON-RPC 2.0: what is no message is told so, a notification and an answer are not answered.
    fn of(line: &[u8]) -> (Self, bool) {
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line).trim_ascii();
        let one = |least, ids| (Self { least, most: 1, ids }, false);
        if line.is_empty() {
            return (Self::default(), false);
        }
        let ids = ids_in(line);
        let valid = std::str::from_utf8(line).is_ok_and(|text| serde_json::from_str::<&RawValue>(text).is_ok());
        let message = match serde_json::from_slice::<Value>(line) {
            Ok(Value::Object(message)) if !repeats(line) => message,
            // Some JSON is too deep or too large for `serde_json` to hold, and a server need not hold it; which message it is
            // cannot be told here.
            Ok(Value::Object(_)) | Err(_) if valid => return (Self { least: 0, most: 1, ids }, true),
            // What can be made out of a line that is broken may be its id.
            _ => return one(1, ids),
        };
        let method = message.get("method").and_then(Value::as_str);
        let answers = message.contains_key("result") || message.contains_key("error");
        let id = message.get("id");
        if answers && !message.contains_key("method") {
            return (Self::default(), false);
        }
        if message.get("jsonrpc").and_then(Value::as_str) == Some("2.0") && method.is_some() && !answers && id.is_none()
        {
            return (Self::default(), method == Some("notifications/cancelled"));
        }
        one(1, ids)
    }

    /// A request that was cancelled may go without an answer.
    fn and(self, (other, cancels): (Self, bool)) -> Self {
        let mut ids = self.ids;
        ids.extend(other.ids);
        Self {
            least: (self.least + other.least).saturating_sub(usize::from(cancels)),
            most: self.most + other.most,
            ids,
        }
    }
}

/// Whether a member that matters may stand twice: readers differ in what they take then.
fn repeats(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    // A name may be spelled with escapes.
    text.contains("\\u")
        || ["\"id\"", "\"method\"", "\"jsonrpc\"", "\"result\"", "\"error\""]
            .iter()
            .any(|name| text.matches(name).count() > 1)
}

/// Every string and number that stands behind an `id` in the line.
fn ids_in(line: &[u8]) -> Vec<Value> {
    let text = String::from_utf8_lossy(line);
    let mut ids: Vec<Value> = match serde_json::from_slice::<Value>(line) {
        Ok(value) => value.get("id").cloned().into_iter().collect(),
        Err(_) => Vec::new(),
    };
    for (at, _) in text.match_indices(':') {
        let mut values = serde_json::Deserializer::from_str(&text[at + 1..]).into_iter::<Value>();
        ids.extend(
            values
                .next()
                .and_then(Result::ok)
                .filter(|id| id.is_string() || id.is_number()),
        );
    }
    ids
}
