//! From where on a ledger is read: a position, or an instant.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use super::invalid::shown;
use super::{Invalid, Time};

/// Where a reader begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Since {
    /// After this position.
    Position(u64),
    /// With what was written at this instant or later.
    Instant(Time),
}

impl Since {
    /// Reads a position, an RFC 3339 instant with any offset, or a date with or without a time, which are then in UTC. In an
    /// address a `+` may have become a blank on the way.
    ///
    /// # Errors
    /// When it is none of them.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let text = text.trim();
        let unknown = || {
            Invalid::new(
                field,
                shown(text),
                "the position of an entry from 0, an instant such as 2026-01-01T08:00:00-05:00 or …Z, or a date; without an \
                 offset in UTC",
            )
        };
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return text.parse().map(Self::Position).map_err(|_| unknown());
        }
        let instant = Time::parse(text)
            .or_else(|| Time::parse(&with_plus(text)?))
            .or_else(|| naive(text));
        instant.map(Self::Instant).ok_or_else(unknown)
    }
}

/// The text with the last blank read as the `+` of an offset.
fn with_plus(text: &str) -> Option<String> {
    let (before, offset) = text.rsplit_once(' ')?;
    let is_offset =
        offset.len() >= 5 && before.contains(':') && offset.bytes().all(|b| b.is_ascii_digit() || b == b':');
    is_offset.then(|| format!("{before}+{offset}"))
}

/// A date with or without a time, in UTC.
fn naive(text: &str) -> Option<Time> {
    // jiff would read a part of a text with an offset that it does not know as one without.
    if text.bytes().any(|b| !(b.is_ascii_digit() || b"-:.T ".contains(&b))) {
        return None;
    }
    let date_time = text
        .parse::<DateTime>()
        .or_else(|_| {
            text.parse::<Date>()
                .map(|date| date.to_datetime(jiff::civil::Time::midnight()))
        })
        .ok()?;
    let stamp = TimeZone::UTC.to_timestamp(date_time).ok()?;
    Some(Time::from_millis(stamp.as_millisecond()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn q10_instants_are_compared_as_such_whatever_zone_they_are_written_in() {
        let at = |text: &str| Since::Instant(Time::parse(text).unwrap());
        let five = at("2026-01-01T05:00:00Z");
        for same in [
            "2026-01-01T00:00:00-05:00",
            "2026-01-01T05:00:00Z",
            "2026-01-01T05:00:00.000Z",
            "2026-01-01T06:30:00+01:30",
            "2026-01-01T06:30:00 01:30",
            "2026-01-01T05:00:00",
            "2026-01-01 05:00:00",
            "2026-01-01T05:00",
        ] {
            assert_eq!(Since::parse("since", same).unwrap(), five, "{same}");
        }
        assert_eq!(Since::parse("since", "2026-01-01").unwrap(), at("2026-01-01T00:00:00Z"));
        assert_eq!(Since::parse("since", " 12 ").unwrap(), Since::Position(12));
        for wrong in [
            "",
            "yesterday",
            "-1",
            "2026-13-01",
            "2026-01-01T25:00:00Z",
            "01.01.2026",
            "99999999999999999999",
            "1.5",
        ] {
            let error = Since::parse("since", wrong).unwrap_err();
            assert!(error.expected.contains("UTC"), "{wrong}: {error}");
        }
    }
}
