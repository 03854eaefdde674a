//! Finds lone surrogate escapes in JSON text, which a skipping JSON parser lets through.
//!
//! JavaScript clients that cut an emoji in half send `\ud83d` without its other half (RFC 8259 section 8.2). Such a text
//! has no UTF-8 form: repairing it would store something that nobody wrote, so it has to be refused.

/// Whether `json`, which is syntactically valid, holds a `\uD800`–`\uDFFF` escape that is no half of a pair.
pub fn has_lone_surrogate(json: &str) -> bool {
    let bytes = json.as_bytes();
    let mut at = 0;
    // A backslash outside a string is no valid JSON, so every one that is found starts an escape.
    while let Some(found) = bytes[at..].iter().position(|byte| *byte == b'\\') {
        let escape = at + found;
        at = escape + 2;
        match unit(bytes, escape) {
            Some(0xD800..=0xDBFF) => match unit(bytes, escape + 6) {
                Some(0xDC00..=0xDFFF) => at = escape + 12,
                _ => return true,
            },
            Some(0xDC00..=0xDFFF) => return true,
            _ => {}
        }
        if at >= bytes.len() {
            break;
        }
    }
    false
}

/// The UTF-16 unit that the escape at `at` stands for, when it is a `\uXXXX`.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let escape = bytes.get(at..at + 6)?;
    let digits = str::from_utf8(escape.strip_prefix(b"\\u")?).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::has_lone_surrogate;

    #[test]
    fn pairs_and_other_escapes_pass() {
        for json in [
            "{}",
            r#""\ud83d\ude00""#,
            r#""\uD83D\uDE00 twice \uD83D\uDE00""#,
            r#""\\ud83d""#,
            r#""\\\\ud83d\n\u0041\u00e9\/""#,
            "\"\u{1f600}\"",
        ] {
            assert!(!has_lone_surrogate(json), "{json}");
        }
    }

    #[test]
    fn halves_are_found_wherever_they_stand() {
        for json in [
            r#""\ud83d""#,
            r#"{"\udc00":1}"#,
            r#""\ud83d \ude00""#,
            r#""\ud83d\ud83d\ude00""#,
            r#""\\\ud83d""#,
            r#""\ud83d\u0041""#,
            r#""\ud83d\n""#,
            r#"["\ud83d\ude00\ude00"]"#,
        ] {
            assert!(has_lone_surrogate(json), "{json}");
        }
    }
}
