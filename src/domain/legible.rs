//! Stored text for people to read: what is hidden in it is shown, and two values are put side by side.

use similar::TextDiff;

use super::record::{Stored, Version};

/// Whether a character turns a terminal, turns the direction of text, or is not seen at all.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{ffa0}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e01ef}'
        )
}

/// Stored text on one line: what is hidden is shown, not obeyed.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if is_hidden(c) {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}

/// A stored value for people: a text as it reads, anything else as indented JSON.
pub fn value(json: &str) -> String {
    serde_json::from_str::<String>(json).unwrap_or_else(|_| indented(json))
}

/// JSON over several lines.
pub fn indented(json: &str) -> String {
    let parsed = serde_json::from_str::<serde_json::Value>(json);
    let pretty = parsed.ok().and_then(|value| serde_json::to_string_pretty(&value).ok());
    pretty.unwrap_or_else(|| json.to_owned())
}

/// How one version of a record becomes another, as a unified diff by lines; empty when they hold the same value.
pub fn difference(old: &Version, new: &Version) -> String {
    let (a, b) = comparable(&old.value, &new.value);
    TextDiff::from_lines(&a, &b)
        .unified_diff()
        .header(&format!("version {}", old.version), &format!("version {}", new.version))
        .to_string()
}

/// Two values as lines to compare, so that values which differ have lines that do: two texts as they read, anything else as
/// indented JSON. Where a text holds what is hidden, that is shown and the backslash is doubled.
fn comparable(old: &Stored, new: &Stored) -> (String, String) {
    let text = |value: &Stored| match value {
        Stored::Whole(json) => serde_json::from_str::<String>(json.as_str()).ok(),
        _ => None,
    };
    let lines = |value: &Stored| match value {
        Stored::Whole(json) => indented(json.as_str()) + "\n",
        Stored::Purged(why) => format!("(purged: {})\n", why.why),
        Stored::Redacted => "(redacted)\n".to_owned(),
        Stored::Beginning { .. } | Stored::Corrupt => "(damaged)\n".to_owned(),
    };
    let (Some(a), Some(b)) = (text(old), text(new)) else {
        return (lines(old), lines(new));
    };
    let hidden = [&a, &b]
        .iter()
        .any(|text| text.chars().any(|c| c != '\n' && is_hidden(c)));
    let shown = |text: &str| {
        let text = if hidden {
            text.replace('\\', "\\\\")
        } else {
            text.to_owned()
        };
        text.split('\n').map(visible).collect::<Vec<_>>().join("\n") + "\n"
    };
    (shown(&a), shown(&b))
}
