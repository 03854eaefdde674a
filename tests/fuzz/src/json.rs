//! JSON text made by choices: valid, and odd in every way that JSON allows.

use crate::bytes::Bytes;

/// Numbers at the edges of what can be kept, and in every spelling.
const NUMBERS: [&str; 24] = [
    "0",
    "-0",
    "1",
    "2",
    "-1",
    "0.5",
    "1.0",
    "1e0",
    "-0.0",
    "1E+2",
    "200",
    "201",
    "10.000",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "1e400",
    "5e-324",
    "0.1000000000000000055511151231257827",
];

/// Strings as they stand in JSON text, without their quotes.
const STRINGS: [&str; 24] = [
    "",
    " ",
    "null",
    "true",
    "123",
    "1e1",
    "[]",
    "[1,2]",
    "{}",
    "[\\\"a\\\"]",
    "{\\\"scope\\\":\\\"app\\\",\\\"key\\\":\\\"plan\\\"}",
    "\\u0000",
    "\\ud83d\\ude00",
    "\\ud83d",
    "\\udc00x",
    "\\u202e",
    "\\n\\r\\t",
    "caf\u{e9}",
    "cafe\u{301}",
    "\u{7528}\u{6237}",
    "\u{fb03}",
    "a/b/../c",
    "%00",
    "' OR 1=1 --",
];

/// One JSON value. `words` are strings that mean something to the reader.
pub fn value(bytes: &mut Bytes<'_>, words: &[&str]) -> String {
    let mut text = String::new();
    write(bytes, words, 6, &mut text);
    text
}

/// A JSON string.
pub fn string(bytes: &mut Bytes<'_>, words: &[&str]) -> String {
    match bytes.below(8) {
        0..3 if !words.is_empty() => quoted(bytes.pick(words)),
        0..5 => format!("\"{}\"", bytes.pick(&STRINGS)),
        5 => {
            // Long enough for every limit on a text.
            let unit = bytes.pick(&["a", "a b", "\u{e9}", "\u{7528}", "\\u0000", "\\\"", "/"]);
            format!("\"{}\"", unit.repeat(1 << bytes.below(15)))
        }
        6 => quoted(&value(bytes, words)),
        _ => quoted(&bytes.text(32)),
    }
}

/// `text` as a JSON string.
pub fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn write(bytes: &mut Bytes<'_>, words: &[&str], levels: usize, text: &mut String) {
    match bytes.below(16) {
        0 => text.push_str("null"),
        1 => text.push_str(bytes.pick(&["true", "false"])),
        2 | 3 => text.push_str(bytes.pick(&NUMBERS)),
        4 => text.push_str(&bytes.byte().to_string()),
        5 => text.push_str(&(bytes.number() as i64).to_string()),
        6 => {
            let number = f64::from_bits(bytes.number());
            text.push_str(&if number.is_finite() {
                format!("{number:?}")
            } else {
                "0.0".to_owned()
            });
        }
        7 => {
            let deep = bytes.below(140);
            text.push_str(&"[".repeat(deep));
            text.push('1');
            text.push_str(&"]".repeat(deep));
        }
        8 | 9 if levels > 0 => {
            text.push('[');
            for n in 0..bytes.below(5) {
                text.push_str(if n > 0 { ", " } else { "" });
                write(bytes, words, levels - 1, text);
            }
            text.push(']');
        }
        10 | 11 if levels > 0 => {
            text.push('{');
            for n in 0..bytes.below(5) {
                text.push_str(if n > 0 { "," } else { " " });
                text.push_str(&string(bytes, words));
                text.push(':');
                write(bytes, words, levels - 1, text);
            }
            text.push('}');
        }
        _ => text.push_str(&string(bytes, words)),
    }
}
