//! Words of a command line that several subcommands read alike.

use std::path::{Component, Path, PathBuf};

use crate::domain::Invalid;
use crate::domain::handoff::place::Cwd;

/// An argument that says something; a blank one is none.
pub fn given(text: Option<String>) -> Option<String> {
    text.filter(|text| !text.trim().is_empty())
}

/// A whole number of which there can only be too many: `500`, `500.0`, `1e9`. One beyond 64 bits is the nearest that is left.
///
/// # Errors
/// When it is no whole number.
pub fn count(text: &str) -> Result<i64, String> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    match text.parse::<f64>() {
        // Casting takes the nearest number that there is.
        Ok(number) if number.is_finite() && number.fract() == 0.0 => Ok(number as i64),
        _ => Err("expected a whole number from 1 to 200".to_owned()),
    }
}

/// A directory that a person names: from the working directory on, where it does not start at the root.
///
/// # Errors
/// When it is no directory's name.
pub fn directory(text: &str) -> Result<Cwd, Invalid> {
    let path = Path::new(text.trim());
    // What another system's path looks like is kept as it is.
    let windows = text.trim().as_bytes().get(1) == Some(&b':') || text.trim().starts_with('\\');
    if text.trim().is_empty() || path.is_absolute() || windows {
        return Cwd::new(text);
    }
    let Ok(here) = std::env::current_dir() else {
        return Cwd::new(text);
    };
    let mut whole = PathBuf::new();
    for part in here.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    Cwd::new(&whole.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a04_numbers_are_whole_and_beyond_any_are_the_nearest() {
        assert_eq!(
            ["500", "500.0", "1e9", "-1"].map(|text| count(text).unwrap()),
            [500, 500, 1_000_000_000, -1]
        );
        assert_eq!(count("9223372036854775808"), Ok(i64::MAX));
        for wrong in ["ten", "10.5", "NaN", "inf", ""] {
            assert!(count(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn directories_are_taken_from_here() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(directory(".").unwrap().as_str(), here.to_str().unwrap());
        assert_eq!(directory("a/../b").unwrap().as_str(), here.join("b").to_str().unwrap());
        assert_eq!(directory("/x/../y").unwrap().as_str(), "/x/../y");
        assert_eq!(directory("C:\\work").unwrap().as_str(), "C:\\work");
        assert!(directory(" ").is_err());
    }
}
