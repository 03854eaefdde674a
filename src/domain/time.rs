//! Instants in UTC with milliseconds, spans such as `90m`, and ages for people.

use std::fmt;

use super::Invalid;
use super::invalid::shown;

/// An instant: milliseconds since 1970-01-01T00:00:00Z. Shown as RFC 3339 in UTC with milliseconds and `Z`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

impl Time {
    /// The instant that lies `millis` milliseconds after the epoch.
    pub fn from_millis(millis: i64) -> Self {
        // Bounded to the years 0 to 9999 (less a day, for any offset), so that every instant can be written down.
        Self(millis.clamp(-62_167_219_200_000, 253_402_207_199_999))
    }

    /// Milliseconds since the epoch.
    pub fn millis(self) -> i64 {
        self.0
    }

    /// Reads the form that [`Display`](fmt::Display) writes, or any RFC 3339 instant.
    pub fn parse(text: &str) -> Option<Self> {
        let stamp: jiff::Timestamp = text.parse().ok()?;
        Some(Self::from_millis(stamp.as_millisecond()))
    }

    /// The instant `span` later.
    #[must_use]
    pub fn plus(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_add(span.millis()))
    }

    /// This instant, earlier by a span.
    #[must_use]
    pub fn minus(self, span: Span) -> Self {
        Self::from_millis(self.0.saturating_sub(span.millis()))
    }

    /// What lies between `earlier` and this instant, never less than nothing.
    pub fn since(self, earlier: Time) -> Span {
        Span::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(stamp) => write!(f, "{stamp:.3}"),
            Err(_) => f.write_str("0000-01-01T00:00:00.000Z"),
        }
    }
}

/// A length of time in whole milliseconds, at most a thousand years.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(u64);

impl Span {
    const MAX: u64 = 1_000 * 366 * 86_400_000;

    /// A span of `millis` milliseconds.
    pub fn from_millis(millis: u64) -> Self {
        Self(millis.min(Self::MAX))
    }

    /// A span of `minutes` minutes.
    pub const fn from_minutes(minutes: u32) -> Self {
        Self(minutes as u64 * 60_000)
    }

    /// Its length in milliseconds.
    pub fn millis(self) -> i64 {
        i64::try_from(self.0).unwrap_or(i64::MAX)
    }

    /// Whether it has no length; settings use that for "never".
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Reads `90s`, `90m`, `12h`, `7d`, `2w` or `0`.
    ///
    /// # Errors
    /// When the text has another form or the span is longer than a thousand years.
    pub fn parse(field: &str, text: &str) -> Result<Self, Invalid> {
        let refused = || Invalid::new(field, shown(text), "a span such as 90m, 12h or 7d, or 0 for never");
        let text = text.trim();
        if text == "0" {
            return Ok(Self(0));
        }
        let unit = match text.chars().last() {
            Some('s') => 1_000,
            Some('m') => 60_000,
            Some('h') => 3_600_000,
            Some('d') => 86_400_000,
            Some('w') => 7 * 86_400_000,
            _ => return Err(refused()),
        };
        let digits = &text[..text.len() - 1];
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(refused());
        }
        let count: u64 = digits.parse().map_err(|_| refused())?;
        match count.checked_mul(unit) {
            Some(millis) if millis <= Self::MAX => Ok(Self(millis)),
            _ => Err(Invalid::new(field, shown(text), "a span of at most 1000 years")),
        }
    }
}

impl fmt::Display for Span {
    /// As an age for people: `3 s`, `3 min`, `5 h`, `12 d`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 / 1_000 {
            s @ 0..=59 => write!(f, "{s} s"),
            s @ 60..=3_599 => write!(f, "{} min", s / 60),
            s @ 3_600..=172_799 => write!(f, "{} h", s / 3_600),
            s => write!(f, "{} d", s / 86_400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_written_with_milliseconds_and_z() {
        assert_eq!(Time::from_millis(0).to_string(), "1970-01-01T00:00:00.000Z");
        let text = "2026-12-01T08:30:00.120Z";
        assert_eq!(Time::parse(text).unwrap().to_string(), text);
        assert_eq!(Time::parse("2026-12-01T03:30:00.12-05:00").unwrap().to_string(), text);
        assert_eq!(Time::from_millis(i64::MAX).to_string(), "9999-12-30T21:59:59.999Z");
        assert_eq!(Time::parse("yesterday"), None);
    }

    #[test]
    fn spans_are_read_and_bounded() {
        let read = |text| Span::parse("expires_in", text);
        assert_eq!(read("90m").unwrap().millis(), 90 * 60_000);
        assert!(read("0").unwrap().is_zero());
        for wrong in ["", "7", "-1h", "1.5h", "h", "1y", "99999999999999999999d", "400000d"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ages_are_short() {
        let age = |s: u64| Span::from_millis(s * 1_000).to_string();
        assert_eq!(
            [age(3), age(59), age(60), age(7_200), age(864_000)],
            ["3 s", "59 s", "1 min", "2 h", "10 d"]
        );
    }
}
