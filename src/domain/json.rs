//! A stored value: compact JSON text that is written once and never serialized again.

use std::collections::HashSet;
use std::fmt::Write as _;

use serde_json::value::RawValue;

use super::invalid::shown;
use super::{Invalid, limits};

/// Compact JSON text: no blank between tokens, key order kept, no duplicate keys, integers within 64 bits, floats in
/// the shortest form that reads back as the same double. Reading it with `serde_json` and writing it again changes
/// no byte, so that every face returns the bytes that were hashed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct JsonText(String);

impl JsonText {
    /// Takes a caller's JSON text as a value: at most 1 MiB when compact and 64 levels deep.
    ///
    /// # Errors
    /// Names the path inside `field` at which something cannot be kept exactly.
    pub fn value(field: &str, text: &str) -> Result<Self, Invalid> {
        let raw: &RawValue = serde_json::from_str(text).map_err(|_| Invalid::new(field, shown(text), "JSON text"))?;
        let compact = Compactor::new(field, raw.get()).run()?;
        if compact.len() > limits::VALUE_BYTES {
            return Err(Invalid::new(
                field,
                format!("{} bytes of JSON", compact.len()),
                format!("at most {} bytes", limits::VALUE_BYTES),
            ));
        }
        Ok(Self(compact))
    }

    /// Writes something of ours, which serde always can.
    pub fn of(value: &impl serde::Serialize) -> Self {
        Self(serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned()))
    }

    /// Takes text that was stored before, unchecked: a store's bytes are shown as they are, and `verify` judges them.
    pub fn stored(text: String) -> Self {
        Self(text)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, owned.
    pub fn into_string(self) -> String {
        self.0
    }
}

/// One step of the path to the token at hand.
enum Level {
    Array(usize),
    Object { seen: HashSet<String>, key: String },
}

/// Copies valid JSON text token by token. The grammar was checked before, so that only what the grammar allows and we
/// cannot keep needs an error here.
struct Compactor<'a> {
    field: &'a str,
    text: &'a str,
    at: usize,
    out: String,
    levels: Vec<Level>,
}

impl<'a> Compactor<'a> {
    fn new(field: &'a str, text: &'a str) -> Self {
        Self {
            field,
            text,
            at: 0,
            out: String::with_capacity(text.len()),
            levels: Vec::new(),
        }
    }

    fn run(mut self) -> Result<String, Invalid> {
        // Whether the next string of the innermost object is a key.
        let mut key_next = false;
        while let Some(byte) = self.text.as_bytes().get(self.at).copied() {
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => self.at += 1,
                b'{' | b'[' => {
                    if self.levels.len() == limits::VALUE_DEPTH {
                        return Err(self.refused("deeper", &format!("at most {} levels", limits::VALUE_DEPTH)));
                    }
                    key_next = byte == b'{';
                    self.levels.push(if key_next {
                        Level::Object {
                            seen: HashSet::new(),
                            key: String::new(),
                        }
                    } else {
                        Level::Array(0)
                    });
                    self.punctuation(byte);
                }
                b'}' | b']' => {
                    self.levels.pop();
                    key_next = false;
                    self.punctuation(byte);
                }
                b',' => {
                    match self.levels.last_mut() {
                        Some(Level::Array(index)) => *index += 1,
                        Some(Level::Object { .. }) => key_next = true,
                        None => {}
                    }
                    self.punctuation(byte);
                }
                b':' => self.punctuation(byte),
                b'"' => {
                    self.string(key_next)?;
                    key_next = false;
                }
                b'-' | b'0'..=b'9' => self.number()?,
                _ => {
                    let word = self.token(|b| b.is_ascii_alphabetic());
                    self.out.push_str(word);
                }
            }
        }
        Ok(self.out)
    }

    fn punctuation(&mut self, byte: u8) {
        self.out.push(char::from(byte));
        self.at += 1;
    }

    /// The run of bytes from here on that `belongs` accepts.
    fn token(&mut self, belongs: impl Fn(u8) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.bytes().position(|b| !belongs(b)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn string(&mut self, is_key: bool) -> Result<(), Invalid> {
        let bytes = self.text.as_bytes();
        let mut end = self.at + 1;
        while bytes[end] != b'"' {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        let quoted = &self.text[self.at..=end];
        self.at = end + 1;
        let plain = !quoted.contains('\\');
        if plain && !is_key {
            // Without an escape the text is already as we would write it.
            self.out.push_str(quoted);
            return Ok(());
        }
        let decoded: String = serde_json::from_str(quoted)
            .map_err(|_| self.refused("a string with half a surrogate pair", "whole characters"))?;
        self.out.push_str(&serde_json::to_string(&decoded).unwrap_or_default());
        if is_key && let Some(Level::Object { seen, key }) = self.levels.last_mut() {
            key.clone_from(&decoded);
            if !seen.insert(decoded) {
                return Err(self.refused("a second entry of this name", "each name once in an object"));
            }
        }
        Ok(())
    }

    fn number(&mut self) -> Result<(), Invalid> {
        let token = self.token(|b| matches!(b, b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9'));
        let integer = !token.contains(['.', 'e', 'E']);
        // Minus zero is a double's value; as an integer it would lose its sign.
        if integer && token != "-0" {
            if token.parse::<i64>().is_err() && token.parse::<u64>().is_err() {
                return Err(self.refused(
                    &format!("the integer {}", cut(token)),
                    "an integer within 64 bits; send a larger one as a string",
                ));
            }
            self.out.push_str(token);
            return Ok(());
        }
        match token.parse::<f64>() {
            Ok(double) if double.is_finite() => {
                let text = serde_json::to_string(&double).unwrap_or_default();
                let _ = write!(self.out, "{text}");
                Ok(())
            }
            _ => Err(self.refused(
                &format!("the number {}", cut(token)),
                "a number within the range of a double; send another one as a string",
            )),
        }
    }

    fn refused(&self, got: &str, expected: &str) -> Invalid {
        let mut path = self.field.to_owned();
        for level in &self.levels {
            let _ = match level {
                Level::Array(index) => write!(path, "[{index}]"),
                Level::Object { key, .. } => write!(path, ".{}", cut(key)),
            };
            if path.len() > 300 {
                path.push('…');
                break;
            }
        }
        Invalid::new(path, got, expected)
    }
}

/// The first forty characters, for an error message.
fn cut(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    fn kept(text: &str) -> String {
        JsonText::value("value", text).unwrap().into_string()
    }

    fn refused(text: &str) -> Invalid {
        JsonText::value("value", text).unwrap_err()
    }

    #[test]
    fn x07_values_keep_order_kind_and_bytes() {
        for same in [
            r#"{"b":1,"a":{"z":100.0,"y":1.0,"n":-0.0}}"#,
            r#""007""#,
            r#""null""#,
            r#""[1,2]""#,
            "null",
            "1",
            "1.0",
            "-9223372036854775808",
            "18446744073709551615",
            r#"["é","\u0001","\"","\\","😀"]"#,
            "[]",
            "{}",
            "true",
        ] {
            assert_eq!(kept(same), same);
        }
        assert_eq!(kept(" { \"a\" : [ 1 , 2 ] } \n"), r#"{"a":[1,2]}"#);
        assert_eq!(kept("1e2"), "100.0");
        assert_eq!(kept(r#""\u00e9\/""#), r#""é/""#);
    }

    #[test]
    fn what_cannot_be_kept_is_named_by_its_path() {
        assert_eq!(refused(r#"{"a":[1,{"b":18446744073709551616}]}"#).field, "value.a[1].b");
        assert_eq!(refused("[1e400]").field, "value[0]");
        assert_eq!(refused(r#"{"k":1,"k":2}"#).field, "value.k");
        assert_eq!(refused(r#"["\ud83d"]"#).field, "value[0]");
        assert_eq!(refused("{").expected, "JSON text");
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let nested = |n: usize| format!("{}{}", "[".repeat(n), "]".repeat(n));
        assert_eq!(kept(&nested(64)), nested(64));
        assert!(JsonText::value("value", &nested(65)).is_err());
        assert!(JsonText::value("value", &nested(2_000)).is_err());
        let long = |n: usize| format!("\"{}\"", "x".repeat(n));
        assert!(JsonText::value("value", &long(limits::VALUE_BYTES - 2)).is_ok());
        assert!(refused(&long(limits::VALUE_BYTES)).got.contains("bytes"));
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(5, 64, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                proptest::collection::vec((any::<String>(), inner), 0..6)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn compact_text_is_a_fixed_point(value in any_json()) {
            let pretty = serde_json::to_string_pretty(&value).unwrap();
            let compact = kept(&pretty);
            prop_assert_eq!(&compact, &serde_json::to_string(&value).unwrap());
            prop_assert_eq!(&kept(&compact), &compact);
        }

        #[test]
        fn no_text_ends_the_process(text in any::<String>()) {
            let _ = JsonText::value("value", &text);
        }
    }
}
