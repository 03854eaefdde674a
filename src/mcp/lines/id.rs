//! Reads the `id` of a JSON-RPC line that cannot be parsed as a whole.
//!
//! A client that waits for request 7 is served better by an error with id 7 than by one with id null. The finder takes
//! bytes piece by piece, so that a line too long to be kept can still be answered: many clients write `id` last.

use serde_json::value::RawValue;

/// Longest id that is read out of a broken line, in bytes of JSON text.
const ID_BYTES: usize = 1024;

/// Longest key that is compared with `id`, in bytes between the quotes.
const KEY_BYTES: usize = 2;

/// What the string or number that is being walked over stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Other,
    Key,
    Id,
}

/// Walks over the bytes of one line and keeps the value of the root object's `id`.
#[derive(Debug)]
pub(super) struct IdFinder {
    depth: u64,
    ended: bool,
    in_string: bool,
    escaped: bool,
    key_next: bool,
    id_next: bool,
    role: Role,
    key: Vec<u8>,
    id: Vec<u8>,
    found: Vec<Option<Box<RawValue>>>,
}

/// The `id` of the root object in `line`, as its JSON text, when it is a string or number that stands there once.
pub(super) fn find(line: &[u8]) -> Option<Box<RawValue>> {
    let mut finder = IdFinder::new();
    finder.feed(line);
    finder.finish()
}

impl IdFinder {
    pub(super) fn new() -> Self {
        Self {
            depth: 0,
            ended: false,
            in_string: false,
            escaped: false,
            key_next: false,
            id_next: false,
            role: Role::Other,
            key: Vec::new(),
            id: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Takes the next bytes of the line.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            if self.ended {
                return;
            }
            if self.in_string {
                self.string_byte(byte);
            } else {
                self.structure_byte(byte);
            }
        }
    }

    /// What was found. Two different claims are no id at all.
    pub(super) fn finish(mut self) -> Option<Box<RawValue>> {
        match self.found.len() {
            1 => self.found.pop().flatten(),
            _ => None,
        }
    }

    fn string_byte(&mut self, byte: u8) {
        match self.role {
            Role::Id => self.keep(byte),
            Role::Key if byte != b'"' && self.key.len() <= KEY_BYTES => self.key.push(byte),
            _ => {}
        }
        if self.escaped {
            self.escaped = false;
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' {
            self.in_string = false;
            self.end_id();
        }
    }

    fn structure_byte(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' | b'\r' | b'\n' => self.end_id(),
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.ended = byte == b'[';
                    self.key_next = true;
                }
                self.depth += 1;
                self.id_next = false;
            }
            b'}' | b']' => {
                self.end_id();
                self.depth = self.depth.saturating_sub(1);
                self.ended = self.depth == 0;
            }
            b',' if self.depth == 1 => {
                self.end_id();
                self.key_next = true;
                self.id_next = false;
            }
            b':' if self.depth == 1 => {
                self.id_next = self.role == Role::Key && self.key == b"id";
                self.role = Role::Other;
            }
            b'"' => self.begin_string(),
            // A byte order mark may stand before the root; anything else there is no message.
            _ if self.depth == 0 => self.ended = !matches!(byte, 0xEF | 0xBB | 0xBF),
            _ if self.id_next || self.role == Role::Id => {
                self.id_next = false;
                self.role = Role::Id;
                self.keep(byte);
            }
            _ => {}
        }
    }

    fn begin_string(&mut self) {
        self.in_string = true;
        self.role = Role::Other;
        if self.depth == 0 {
            self.ended = true;
        } else if self.depth == 1 && self.key_next {
            self.key_next = false;
            self.key.clear();
            self.role = Role::Key;
        } else if self.id_next {
            self.id_next = false;
            self.role = Role::Id;
            self.keep(b'"');
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.id.len() <= ID_BYTES {
            self.id.push(byte);
        }
    }

    fn end_id(&mut self) {
        if self.role != Role::Id {
            return;
        }
        self.role = Role::Other;
        let id = std::mem::take(&mut self.id);
        self.found
            .push((id.len() <= ID_BYTES).then(|| answerable(&id)).flatten());
    }
}

/// The id as it can be put into an answer: a whole string without lone surrogates, or a number.
fn answerable(id: &[u8]) -> Option<Box<RawValue>> {
    let text = str::from_utf8(id).ok()?;
    if text.starts_with('"') {
        serde_json::from_str::<String>(text).ok()?;
    } else if !text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) {
        return None;
    }
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::{IdFinder, find};

    fn found(line: &str) -> Option<String> {
        find(line.as_bytes()).map(|id| id.get().to_owned())
    }

    #[test]
    fn an_id_is_read_from_the_root_of_a_broken_line() {
        for (line, id) in [
            (r#"{"id":7,"method":"x","params":{"a":"#, "7"),
            (
                r#"{"jsonrpc":"2.0","method":"x","params":{"id":1,"t":"\ud83d"},"id" : "a-1" }"#,
                r#""a-1""#,
            ),
            (r#"{"params":{"id":"no","list":[{"id":2}]},"id":-3}"#, "-3"),
            (
                r#"{"a":"\",\"id\":5,","id":12345678901234567890}"#,
                "12345678901234567890",
            ),
            ("\u{feff}{\"id\":1}", "1"),
        ] {
            assert_eq!(found(line).as_deref(), Some(id), "{line}");
        }
    }

    #[test]
    fn what_is_not_clearly_the_id_is_left_alone() {
        for line in [
            "not json {\"id\":1}",
            "[{\"id\":1}]",
            r#"{"params":{"id":3"#,
            r#"{"id":12"#,
            r#"{"id":1,"id":2}"#,
            r#"{"id":{"id":4}}"#,
            r#"{"id":null}"#,
            r#"{"id":true}"#,
            r#"{"id":"\ud83d"}"#,
            r#"{"x":"id","y":9}"#,
            r#"{"x":1}{"id":9}"#,
            r#""id":9"#,
        ] {
            assert_eq!(found(line), None, "{line}");
        }
        assert_eq!(find(b"{\"id\":\"\xff\"}").map(|id| id.get().to_owned()), None);
    }

    #[test]
    fn a_line_may_come_in_pieces() {
        let line = br#"{"method":"tools/call","params":{"x":["\\",{"y":1}]},"jsonrpc":"2.0","id":"n\u00e9"}"#;
        for size in 1..line.len() {
            let mut finder = IdFinder::new();
            line.chunks(size).for_each(|piece| finder.feed(piece));
            assert_eq!(finder.finish().expect("an id").get(), r#""n\u00e9""#);
        }
    }

    #[test]
    fn a_very_long_id_is_not_kept() {
        let line = format!("{{\"id\":\"{}\"}}", "x".repeat(5000));
        assert_eq!(found(&line), None);
    }
}
