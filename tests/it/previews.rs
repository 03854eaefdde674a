//! Where texts are cut to keep an answer short, they are cut between characters, wherever the limit falls.

use serde_json::{Value, json};

use crate::harness::{Place, Server};

/// One, two, three and four bytes a character, a family of four joined into one picture, a letter with two marks.
const MIXED: &str =
    "a\u{fc}\u{2192}\u{56fa}\u{2705}\u{1f680}\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}e\u{301}\u{323}\"\\\n";

/// Texts of which each begins one byte later, so that a limit falls on every byte of every character.
fn shifted(bytes: usize) -> Vec<String> {
    (0..MIXED.len())
        .map(|shift| "-".repeat(shift) + &MIXED.repeat(bytes / MIXED.len()))
        .collect()
}

/// Asserts that each preview in a list is the beginning of its value's JSON text, and gives how many there are.
#[track_caller]
fn checked(records: &Value, whole: impl Fn(&Value) -> String) -> usize {
    let mut cut = 0;
    for record in records.as_array().expect("records") {
        let json = json!(whole(record)).to_string();
        if let Some(preview) = record.get("preview") {
            let preview = preview.as_str().expect("a text");
            assert!(
                !preview.is_empty() && json.starts_with(preview),
                "no beginning: {preview:?}"
            );
            assert_eq!(record["value_bytes"], json.len(), "{}", record["key"]);
            assert!(record.get("value").is_none());
            cut += 1;
        } else {
            assert_eq!(record["value"], whole(record), "{}", record["key"]);
        }
    }
    cut
}

#[test]
fn u03_previews_are_cut_between_characters() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let texts = shifted(6_000);
    for (n, text) in texts.iter().enumerate() {
        server.remember("s", &format!("k{n}"), json!(text));
        server.remember("s", "many", json!(text));
    }
    let by_key = |record: &Value| {
        let key = record["key"].as_str().expect("a key");
        key[1..]
            .parse()
            .map_or_else(|_| texts[texts.len() - 1].clone(), |n: usize| texts[n].clone())
    };
    // Another page size is another budget for each value.
    for limit in [200, 37, 20, 11, 7, 5] {
        let found = server.call("recall", json!({"scope": "s", "limit": limit}));
        assert!(checked(&found["records"], by_key) > 0, "nothing was cut at {limit}");
        assert_eq!(found["truncated"], true);
        assert!(found["rest"].is_string(), "how to read the rest is not told: {limit}");
        let past = server.call("history", json!({"scope": "s", "key": "many", "limit": limit}));
        let by_version = |record: &Value| texts[record["version"].as_u64().expect("a version") as usize - 1].clone();
        assert!(checked(&past["versions"], by_version) > 0, "nothing was cut at {limit}");
    }
    server.finish();
}

#[test]
fn u03_what_was_sent_is_shown_cut_between_characters() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for text in shifted(400) {
        for (tool, arguments) in [
            ("recall", json!({"scope": "s", "limit": text})),
            ("recall", json!({"scope": "s", "key": "k", "version": text})),
            ("recall", json!({"scope": "s", "cursor": text})),
            (
                "remember",
                json!({"scope": format!("{text}{text}"), "key": "k", "value": 1}),
            ),
            (
                "remember",
                json!({"scope": "s", "key": "k", "value": 1, "tags": [[text]]}),
            ),
            ("resume", json!({"handoff_id": text})),
            ("handoff", json!({"title": "t", "summary": "s", "expires_in": text})),
            ("record_outcome", json!({"outcome": text, "outcome_ref": "r"})),
            ("memory_stats", json!({"checkpoint": text})),
            ("memory_stats", json!({"verify": text})),
        ] {
            let refusal = server.refuse(tool, arguments, "invalid_argument");
            assert!(refusal.text().chars().count() < 600, "{tool}: {refusal:?}");
        }
        let unknown = server.request("tools/call", json!({"name": text, "arguments": {}}));
        assert!(unknown["error"]["message"].to_string().len() < 1_000, "{unknown}");
        let ignored = server.call("memory_stats", json!({text: 1}));
        assert!(ignored["warnings"].to_string().len() < 1_000, "{ignored}");
    }
    server.finish();
}

#[test]
fn u03_long_titles_are_listed_whole() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let titles: Vec<String> = shifted(400)
        .iter()
        .map(|text| text.replace('\n', " ").chars().take(199).collect::<String>() + "\u{1f680}")
        .collect();
    for title in &titles {
        server.hand_off(title, json!({"next_steps": ["x"]}));
    }
    let listed = |server: &mut Server, tool: &str, arguments: Value, list: &str| {
        let packets = server.call(tool, arguments)[list].clone();
        let packets = packets.as_array().expect("packets").clone();
        assert!(!packets.is_empty(), "{tool}");
        for packet in packets {
            let title = packet["title"].as_str().expect("a title");
            assert!(titles.iter().any(|whole| whole == title), "{tool}: {title:?}");
        }
    };
    let mut codex = place.agent("codex");
    listed(&mut codex, "resume", json!({"peek": true}), "packets");
    listed(&mut codex, "memory_stats", json!({}), "waiting");
    codex.call("resume", json!({}));
    codex.call("resume", json!({}));
    listed(&mut codex, "resume", json!({"peek": true}), "unfinished");
}
