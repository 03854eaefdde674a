//! The export that everything starts from: three projects with every kind of value, entry, packet and text. It can be
//! changed by choices, and hashed anew, so that a change gets past the chains to what looks at its meaning.

use handoff_memory::domain::Hash;
use handoff_memory::domain::canonical::canonical;
use handoff_memory::domain::ledger::Checkpoint;
use serde_json::{Map, Value, json};

use crate::bytes::Bytes;
use crate::json;

/// Its text.
pub const EXPORT: &str = include_str!("../everything.jsonl");

/// Strings that stand in it or could.
const WORDS: [&str; 20] = [
    "app",
    "plan",
    "default",
    "second",
    "scout",
    "remembered",
    "handed_off",
    "accepted",
    "closed",
    "released",
    "expired",
    "purged",
    "outcome",
    "created",
    "success",
    "failure",
    "open",
    "2025-12-01T00:00:01.000Z",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "[\"app\",\"plan\",1]",
];

/// The export with up to eight changes to its lines.
pub fn changed(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut lines: Vec<Value> = EXPORT
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    // Few lines are changed sooner and more deeply than many.
    if bytes.byte().is_multiple_of(2) {
        let keep = bytes.below(lines.len());
        let end = lines.pop();
        lines.truncate(keep.max(2));
        lines.extend(end);
    }
    for _ in 0..=bytes.below(8) {
        let at = bytes.below(lines.len());
        match bytes.below(9) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let other = bytes.below(lines.len());
                lines.swap(at, other);
            }
            3 => {
                // A part of one line in the place of the same part of another.
                let other = lines[bytes.below(lines.len())].clone();
                let name = bytes.pick(&["entry", "version", "packet", "outcome", "text", "note", "end"]);
                if let (Value::Object(line), Some(part)) = (&mut lines[at], other.get(name)) {
                    line.insert(name.to_owned(), part.clone());
                }
            }
            _ => edit(bytes, &mut lines[at]),
        }
    }
    let how = bytes.byte();
    if how % 4 > 0 {
        hashed(&mut lines);
    }
    let mut text: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    if how % 16 == 3 {
        let at = bytes.below(text.len());
        let put = bytes.some(8);
        let end = (at + bytes.below(8)).min(text.len());
        text.splice(at..end, put.iter().copied());
    }
    text
}

/// Changes one value somewhere in a line.
fn edit(bytes: &mut Bytes<'_>, line: &mut Value) {
    let mut here = line;
    loop {
        let count = match &*here {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        if count == 0 || bytes.byte() >= 250 {
            break;
        }
        let at = bytes.below(count);
        if bytes.byte() < 6 {
            match here {
                Value::Array(items) => drop(items.remove(at)),
                Value::Object(members) => {
                    let name = members.keys().nth(at).cloned().unwrap_or_default();
                    members.shift_remove(&name);
                }
                _ => {}
            }
            return;
        }
        here = match here {
            Value::Array(items) => &mut items[at],
            Value::Object(members) => members.values_mut().nth(at).expect("a member"),
            _ => return,
        };
    }
    let other = match (&*here, bytes.below(4)) {
        (Value::Number(number), 0..2) => json!(
            number
                .as_i64()
                .unwrap_or_default()
                .wrapping_add(bytes.below(5) as i64 - 2)
        ),
        (Value::String(text), 0) => json!(format!("{text}{}", bytes.text(4))),
        (Value::String(text), 1) => {
            let keep = bytes.below(text.chars().count() + 1);
            json!(text.chars().take(keep).collect::<String>())
        }
        _ => serde_json::from_str(&json::value(bytes, &WORDS)).unwrap_or_default(),
    };
    *here = other;
}

/// Makes every hash anew from what the lines hold now, as docs/format.md says.
fn hashed(lines: &mut [Value]) {
    let mut ends: Vec<String> = Vec::new();
    let mut hash = Hash::ZERO;
    let mut versions: Vec<(Value, String)> = Vec::new();
    let (mut home, mut seq) = (Value::Null, 0);
    for line in lines.iter_mut().filter(|line| line["entry"].is_object()) {
        let salted = line["text"].is_object().then(|| text_hash(&line["text"]));
        let entry = line["entry"].clone();
        if entry["seq"] == 1 {
            if seq > 0 {
                ends.push(checkpoint(&home, seq, hash).to_string());
            }
            (home, hash) = (entry["detail"].clone(), Hash::ZERO);
            versions.clear();
        }
        let digest = if line["version"].is_object() {
            version(line, &entry, &home, salted, &mut versions)
        } else if line["packet"].is_object() {
            packet(line, &entry, &home, salted, checkpoint(&home, seq, hash), &versions)
        } else {
            if let (Some(salted), true) = (salted, entry["detail"]["note_hash"].is_string()) {
                line["entry"]["detail"]["note_hash"] = json!(salted);
            }
            Hash::of_body(&line["entry"]["detail"]).to_string()
        };
        line["entry"]["digest"] = json!(digest);
        let mut body = line["entry"].as_object().expect("an entry").clone();
        body.shift_remove("hash");
        hash = Hash::of(&[hash.to_string().as_bytes(), canonical(&body).as_bytes()]);
        line["entry"]["hash"] = json!(hash.to_string());
        seq = line["entry"]["seq"].as_u64().unwrap_or(seq);
    }
    ends.push(checkpoint(&home, seq, hash).to_string());
    for line in lines.iter_mut().filter(|line| line["end"].is_array()) {
        *line = json!({ "end": ends });
    }
}

fn version(
    line: &mut Value,
    entry: &Value,
    home: &Value,
    salted: Option<String>,
    versions: &mut Vec<(Value, String)>,
) -> String {
    if let Some(salted) = salted {
        line["version"]["value_hash"] = json!(salted);
    }
    let subject: Value = entry["subject"]
        .as_str()
        .and_then(|subject| serde_json::from_str(subject).ok())
        .unwrap_or_default();
    let before = versions
        .iter()
        .rfind(|(at, _)| at[0] == subject[0] && at[1] == subject[1])
        .map_or(Hash::ZERO.to_string(), |(_, hash)| hash.clone());
    line["version"]["prev_hash"] = json!(before);
    let mut body = line["version"].clone();
    for (name, value) in [
        ("v", json!(1)),
        ("workspace", home["workspace"].clone()),
        ("project", home["project"].clone()),
        ("scope", subject[0].clone()),
        ("key", subject[1].clone()),
        ("version", subject[2].clone()),
        ("author", entry["agent"].clone()),
        ("session", entry["session"].clone()),
        ("created_at", entry["at"].clone()),
    ] {
        body[name] = value;
    }
    let digest = body_hash(body);
    versions.push((subject, digest.clone()));
    digest
}

fn packet(
    line: &mut Value,
    entry: &Value,
    home: &Value,
    salted: Option<String>,
    before: Checkpoint,
    versions: &[(Value, String)],
) -> String {
    if let Some(salted) = salted {
        line["packet"]["texts_hash"] = json!(salted);
    }
    line["packet"]["checkpoint"] = json!(before.to_string());
    let mut hashes = Vec::new();
    for pin in line["packet"]["refs"].as_array_mut().into_iter().flatten() {
        let Some(parts) = pin.as_array_mut().filter(|parts| parts.len() == 4) else {
            continue;
        };
        let named = json!([parts[0], parts[1], parts[2]]);
        if let Some((_, hash)) = versions.iter().find(|(at, _)| *at == named) {
            parts[3] = json!(hash);
        }
        hashes.push(parts[3].clone());
    }
    let mut body = line["packet"].clone();
    body["refs"] = json!(hashes);
    for (name, value) in [
        ("v", json!(1)),
        ("id", entry["subject"].clone()),
        ("workspace", home["workspace"].clone()),
        ("project", home["project"].clone()),
        ("from_agent", entry["agent"].clone()),
        ("from_session", entry["session"].clone()),
        ("created_at", entry["at"].clone()),
        ("expires_at", entry["detail"]["expires_at"].clone()),
    ] {
        body[name] = value;
    }
    body_hash(body)
}

fn checkpoint(home: &Value, seq: u64, hash: Hash) -> Checkpoint {
    let name = |name: &str| home[name].as_str().unwrap_or_default().to_owned();
    Checkpoint {
        store: name("store"),
        workspace: name("workspace"),
        project: name("project"),
        seq,
        hash,
    }
}

/// The hash of a body; absent fields are left out.
fn body_hash(body: Value) -> String {
    let Value::Object(fields) = body else {
        return Hash::ZERO.to_string();
    };
    let set: Map<String, Value> = fields.into_iter().filter(|(_, value)| !value.is_null()).collect();
    Hash::of_body(&set).to_string()
}

fn text_hash(text: &Value) -> String {
    let nonce = text["nonce"].as_str().unwrap_or_default().as_bytes();
    let bytes = nonce
        .chunks(2)
        .filter_map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    Hash::of_text(&bytes.collect::<Vec<_>>(), text["body"].as_str().unwrap_or_default()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise changes would stop at the chains, and nothing behind them would be tried.
    #[test]
    fn what_is_hashed_anew_without_a_change_is_what_it_was() {
        let mut lines: Vec<Value> = EXPORT.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        hashed(&mut lines);
        for (line, was) in lines.iter().zip(EXPORT.lines()) {
            assert_eq!(line.to_string(), was);
        }
    }
}
