//! Reads a whole number from its text, exactly: by its digits, never through a float that would round it.

/// A whole number, as far as 64 bits hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// It fits.
    Fits(i64),
    /// It is above what fits.
    Above,
    /// It is below what fits.
    Below,
}

/// The whole number that the JSON number `text` stands for: `10`, `10.0`, `1e1`, `2.50e2`. Nothing for a fraction, and
/// nothing for what is no JSON number.
pub(super) fn whole(text: &str) -> Option<Whole> {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok();
    if !is_number {
        return None;
    }
    let (negative, unsigned) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (before, after) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{before}{after}");
    let significant = digits.trim_start_matches('0').trim_end_matches('0');
    if significant.is_empty() {
        return Some(Whole::Fits(0));
    }
    let beyond = if negative { Whole::Below } else { Whole::Above };
    // An exponent too long to be read makes the number vast, or a fraction next to nothing.
    let Ok(exponent) = exponent.parse::<i32>() else {
        return (!exponent.starts_with('-')).then_some(beyond);
    };
    let trailing_zeros = digits.len() - digits.trim_end_matches('0').len();
    let shift = i64::from(exponent) - after.len() as i64 + trailing_zeros as i64;
    let zeros = usize::try_from(shift).ok()?;
    // 64 bits hold 19 digits.
    if significant.len() + zeros > 19 {
        return Some(beyond);
    }
    let sign = if negative { "-" } else { "" };
    let number = format!("{sign}{significant}{}", "0".repeat(zeros));
    Some(number.parse().map_or(beyond, Whole::Fits))
}

#[cfg(test)]
mod tests {
    use super::{Whole, whole};

    #[test]
    fn a03_whole_numbers_in_every_spelling() {
        for (text, number) in [
            ("10", 10),
            ("-3", -3),
            ("10.0", 10),
            ("10.000", 10),
            ("1e1", 10),
            ("1E+9", 1_000_000_000),
            ("2.50e2", 250),
            ("100e-2", 1),
            ("-0.0", 0),
            ("0e999999999999", 0),
            ("9223372036854775807", i64::MAX),
            ("-9223372036854775808", i64::MIN),
            ("9007199254740993.0", 9_007_199_254_740_993),
        ] {
            assert_eq!(whole(text), Some(Whole::Fits(number)), "{text}");
        }
    }

    #[test]
    fn a04_numbers_beyond_64_bits_keep_their_side() {
        for text in [
            "9223372036854775808",
            "1e19",
            "1e400",
            "1e99999999999999999999",
            "123456789012345678901234567890",
        ] {
            assert_eq!(whole(text), Some(Whole::Above), "{text}");
            assert_eq!(
                whole(&format!("-{text}")),
                Some(if text == "9223372036854775808" {
                    Whole::Fits(i64::MIN)
                } else {
                    Whole::Below
                }),
                "-{text}"
            );
        }
    }

    #[test]
    fn a03_fractions_and_words_are_no_whole_numbers() {
        for text in [
            "10.5",
            "1e-1",
            "1e-99999999999999999999",
            "10.00000000000000000001",
            "ten",
            "NaN",
            "Infinity",
            "",
            "-",
            "+1",
            "0x10",
            "1_000",
            "010",
            "1.",
            ".5",
            "1 2",
            "true",
        ] {
            assert_eq!(whole(text), None, "{text}");
        }
    }
}
