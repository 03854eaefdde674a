//! Canonical JSON and stored values: what is taken comes back the same however it is spelled, and what is refused has a
//! reason that can be found without the code that refused it.

#![no_main]

use std::collections::HashSet;

use handoff_memory::domain::canonical::canonical;
use handoff_memory::domain::limits::{VALUE_BYTES, VALUE_DEPTH};
use handoff_memory::domain::{Hash, JsonText};
use handoff_memory_fuzz::bytes::Bytes;
use handoff_memory_fuzz::json;
use libfuzzer_sys::fuzz_target;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

fuzz_target!(|input: &[u8]| {
    // A control character begins no JSON text: it marks an input that is read as choices.
    let made = matches!(input.first(), Some(1..=8)).then(|| json::value(&mut Bytes::new(&input[1..]), &[]));
    let text = match &made {
        Some(text) => text.as_str(),
        None => match std::str::from_utf8(input) {
            Ok(text) => text,
            Err(_) => return,
        },
    };
    match JsonText::value("value", text) {
        Ok(kept) => taken(text, &kept),
        Err(invalid) => {
            assert!(!invalid.to_string().contains("src/"), "{invalid}");
            assert!(reason(text), "{text:?} was refused for no reason: {invalid}");
        }
    }
});

/// Whether there is a reason to refuse the text.
fn reason(text: &str) -> bool {
    let Ok(once) = serde_json::from_str::<Once>(text) else {
        return true;
    };
    once.0 > VALUE_DEPTH || has_large_integer(text) || text.len() > VALUE_BYTES
}

fn taken(text: &str, kept: &JsonText) {
    let kept = kept.as_str();
    assert!(!reason(text), "{text:?} should have been refused");
    let again = JsonText::value("value", kept).expect("what is kept is taken again");
    assert_eq!(again.as_str(), kept, "it is kept in another form the second time");
    let value: Value = serde_json::from_str(kept).expect("what is kept is JSON");
    assert_eq!(value, serde_json::from_str::<Value>(text).expect("JSON"), "{text:?}");
    // What `serde_json` makes of it on the way to a client.
    assert_eq!(serde_json::to_string(&value).expect("JSON"), kept);

    let whole = canonical(&value);
    let back: Value = serde_json::from_str(&whole).expect("what is canonical is JSON");
    assert_eq!(as_doubles(&back), as_doubles(&value), "{whole}");
    assert_eq!(canonical(&back), whole, "canonical text has another canonical form");
    let turned = turned(&value);
    assert_eq!(canonical(&turned), whole, "the order of names matters");
    assert_eq!(Hash::of_body(&turned), Hash::of_body(&value));
    assert_eq!(Hash::of_body(&value), Hash::of(&[whole.as_bytes()]));
    assert!(sorted(&back), "names are not in the order of their UTF-16: {whole}");
    assert_eq!(
        Hash::parse(&Hash::of_body(&value).to_string()),
        Some(Hash::of_body(&value))
    );
}

/// How deep JSON text without repeated names goes.
struct Once(usize);

impl<'de> Deserialize<'de> for Once {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Walk;
        impl<'de> Visitor<'de> for Walk {
            type Value = Once;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("JSON")
            }

            fn visit_unit<E>(self) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_str<E>(self, _: &str) -> Result<Once, E> {
                Ok(Once(0))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Once, A::Error> {
                let mut deepest = 0;
                while let Some(Once(depth)) = seq.next_element()? {
                    deepest = deepest.max(depth);
                }
                Ok(Once(deepest + 1))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Once, A::Error> {
                let (mut deepest, mut names) = (0, HashSet::new());
                while let Some((name, Once(depth))) = map.next_entry::<String, Once>()? {
                    deepest = deepest.max(depth);
                    if !names.insert(name) {
                        return Err(A::Error::custom("twice"));
                    }
                }
                Ok(Once(deepest + 1))
            }
        }
        deserializer.deserialize_any(Walk)
    }
}

/// Whether JSON text holds an integer beyond 64 bits.
fn has_large_integer(text: &str) -> bool {
    let mut outside = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '"' {
            while let Some(c) = chars.next() {
                match c {
                    '"' => break,
                    '\\' => drop(chars.next()),
                    _ => {}
                }
            }
        } else {
            outside.push(c);
        }
    }
    let numbers = outside.split(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '-' | '+' | '.'));
    numbers
        .filter(|token| token.trim_start_matches('-').bytes().all(|b| b.is_ascii_digit()) && !token.is_empty())
        .any(|token| token.parse::<i64>().is_err() && token.parse::<u64>().is_err())
}

/// The value with its numbers as canonical JSON knows them: doubles, of which there is one zero.
fn as_doubles(value: &Value) -> Value {
    match value {
        Value::Number(number) => {
            let double = number.as_f64().expect("a number") + 0.0;
            Value::from(if double == 0.0 { 0.0 } else { double })
        }
        Value::Array(items) => items.iter().map(as_doubles).collect(),
        // Sorted, so that the order of names is no difference.
        Value::Object(members) => {
            let mut members: Vec<_> = members
                .iter()
                .map(|(name, value)| (name.clone(), as_doubles(value)))
                .collect();
            members.sort_by(|one, other| one.0.cmp(&other.0));
            members.into_iter().collect()
        }
        other => other.clone(),
    }
}

/// The value with the members of each object the other way around.
fn turned(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(turned).collect(),
        Value::Object(members) => {
            let members = members.iter().rev();
            members.map(|(name, value)| (name.clone(), turned(value))).collect()
        }
        other => other.clone(),
    }
}

fn sorted(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(sorted),
        Value::Object(members) => {
            members
                .keys()
                .is_sorted_by_key(|name| name.encode_utf16().collect::<Vec<_>>())
                && members.values().all(sorted)
        }
        _ => true,
    }
}
