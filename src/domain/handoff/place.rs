//! Working directories as text, and how two of them are related.

use std::fmt;

use crate::domain::invalid::shown;
use crate::domain::{Invalid, limits};

/// A working directory as its user wrote it: at most 1 KiB. Only compared, never opened by the domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cwd(String);

impl Cwd {
    /// Checks a directory that a caller names.
    ///
    /// # Errors
    /// When it is blank, too long or holds control characters.
    pub fn new(text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        if text.is_empty() {
            return Err(Invalid::new("cwd", "blank", "a directory"));
        }
        if text.len() > limits::CWD_BYTES {
            return Err(Invalid::new(
                "cwd",
                format!("{} bytes", text.len()),
                format!("at most {} bytes", limits::CWD_BYTES),
            ));
        }
        if text.chars().any(char::is_control) {
            return Err(Invalid::new("cwd", shown(text), "a path without control characters"));
        }
        Ok(Self(text.to_owned()))
    }

    /// The directory as it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path's segments in the form in which they compare: separators of both kinds split, empty and `.` segments
    /// dropped, a Windows drive letter in lower case.
    fn segments(&self) -> Vec<String> {
        let windows = self.0.as_bytes().get(1) == Some(&b':') && self.0.as_bytes()[0].is_ascii_alphabetic();
        let separators: &[char] = if windows || self.0.starts_with("\\\\") {
            &['/', '\\']
        } else {
            &['/']
        };
        let mut segments: Vec<String> = self
            .0
            .split(separators)
            .filter(|segment| !segment.is_empty() && *segment != ".")
            .map(str::to_owned)
            .collect();
        if windows && let Some(drive) = segments.first_mut() {
            *drive = drive.to_ascii_lowercase();
        }
        segments
    }

    /// Whether both name the same directory.
    pub fn same(&self, other: &Self) -> bool {
        self.segments() == other.segments()
    }

    /// Whether this is `other` or lies above it; whole segments are compared.
    pub fn contains(&self, other: &Self) -> bool {
        other.segments().starts_with(&self.segments())
    }
}

impl fmt::Display for Cwd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How a packet's directory is related to a reader's; lower is nearer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Relation {
    /// The same, or above the reader's.
    Related,
    /// One of the two is not known.
    Unknown,
    /// Another place.
    Unrelated,
}

/// How the directory of a packet is related to that of its reader.
pub fn relation(packet: Option<&Cwd>, reader: Option<&Cwd>) -> Relation {
    match (packet, reader) {
        (Some(packet), Some(reader)) if packet.contains(reader) => Relation::Related,
        (Some(_), Some(_)) => Relation::Unrelated,
        _ => Relation::Unknown,
    }
}

/// Whether two directories that may be unknown are the same one; two unknown ones are.
pub fn same_place(a: Option<&Cwd>, b: Option<&Cwd>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.same(b),
        (None, None) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(packet: &str, reader: &str) -> Relation {
        relation(Some(&Cwd::new(packet).unwrap()), Some(&Cwd::new(reader).unwrap()))
    }

    #[test]
    fn whole_segments_are_compared() {
        assert_eq!(of("/src/app", "/src/app"), Relation::Related);
        assert_eq!(of("/src/app/", "/src/app/web"), Relation::Related);
        assert_eq!(of("/src/app", "/src/app2"), Relation::Unrelated);
        assert_eq!(of("/src/app/web", "/src/app"), Relation::Unrelated);
        assert_eq!(relation(None, Some(&Cwd::new("/a").unwrap())), Relation::Unknown);
    }

    #[test]
    fn windows_paths_fold_their_drive_and_separators() {
        assert_eq!(of("C:\\Work\\app\\", "c:/Work/app/web"), Relation::Related);
        assert_eq!(of("C:\\Work", "D:\\Work"), Relation::Unrelated);
        // A backslash is part of a name elsewhere.
        assert_eq!(of("/a\\b", "/a/b"), Relation::Unrelated);
    }
}
