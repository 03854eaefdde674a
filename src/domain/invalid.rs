//! What a caller sent that cannot be taken, in words for that caller.

/// One refused input: which field, what came, and what is expected.
///
/// Every face turns it into the code `invalid_argument`. The texts are for people and models; they never hold
/// anything internal, and whoever builds one cuts what came to a readable length (see [`shown`]).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` is {got}; expected {expected}")]
pub struct Invalid {
    /// The argument's name, with a path inside it where that helps (`refs[2].version`).
    pub field: String,
    /// What came, as a phrase (`"ten"`, `600 bytes`, `missing`).
    pub got: String,
    /// What would have been taken, as a phrase (`a whole number from 1 to 200`).
    pub expected: String,
}

impl Invalid {
    /// A refusal of `field`, which was `got` where `expected` was wanted.
    pub fn new(field: impl Into<String>, got: impl Into<String>, expected: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            got: got.into(),
            expected: expected.into(),
        }
    }

    /// The same refusal seen from outside: `outer` is put before the field's path.
    #[must_use]
    pub fn within(mut self, outer: &str) -> Self {
        self.field = if self.field.starts_with('[') || self.field.is_empty() {
            format!("{outer}{}", self.field)
        } else {
            format!("{outer}.{}", self.field)
        };
        self
    }
}

/// Shows what came, quoted, with control characters escaped and cut to 60 characters.
pub fn shown(text: &str) -> String {
    let mut out = String::from("\"");
    for (count, c) in text.chars().enumerate() {
        if count == 60 {
            out.push('…');
            break;
        }
        out.extend(c.escape_debug());
    }
    out.push('"');
    out
}
