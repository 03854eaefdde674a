//! How sure we are of a version, and how a reported outcome moves that.

use super::Invalid;

/// A number from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Confidence(f64);

impl Confidence {
    /// What a new version has when its writer says nothing.
    pub const DEFAULT: Confidence = Confidence(0.7);

    /// Checks that `number` lies in 0..=1.
    ///
    /// # Errors
    /// When it lies outside or is not a number.
    pub fn named(field: &str, number: f64) -> Result<Self, Invalid> {
        if (0.0..=1.0).contains(&number) {
            // Negative zero is zero: the sign would be the only thing that tells two equal confidences apart.
            Ok(Self(number + 0.0))
        } else {
            Err(Invalid::new(field, number.to_string(), "a number from 0 to 1"))
        }
    }

    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The confidence after acting on the version went well or badly.
    #[must_use]
    pub fn after(self, success: bool) -> Self {
        // The one table of effects. The result is rounded to twelve decimal places, so that 0.8 becomes 0.84 and not
        // 0.8400000000000001, and a replay in any language gives the same number.
        let moved = if success {
            self.0 + 0.20 * (1.0 - self.0)
        } else {
            self.0 * 0.65
        };
        Self(((moved * 1e12).round() / 1e12).clamp(0.0, 1.0))
    }
}

/// The moving part of a version: its confidence and how often acting on it went well or badly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Opinion {
    /// The confidence now.
    pub confidence: Confidence,
    /// How many successes were counted.
    pub successes: u64,
    /// How many failures were counted.
    pub failures: u64,
}

impl Opinion {
    /// The opinion of a version that nobody has acted on yet.
    pub fn new(confidence: Confidence) -> Self {
        Self {
            confidence,
            successes: 0,
            failures: 0,
        }
    }

    /// The opinion after one more outcome.
    #[must_use]
    pub fn after(self, success: bool) -> Self {
        Self {
            confidence: self.confidence.after(success),
            successes: self.successes + u64::from(success),
            failures: self.failures + u64::from(!success),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_two_examples_hold() {
        let of = |n| Confidence::named("confidence", n).unwrap();
        assert_eq!(of(0.80).after(true).get(), 0.84);
        assert_eq!(of(0.60).after(false).get(), 0.39);
    }

    proptest! {
        #[test]
        fn confidence_never_leaves_its_range(start in 0.0..=1.0f64, steps in proptest::collection::vec(any::<bool>(), 0..200)) {
            let mut opinion = Opinion::new(Confidence::named("confidence", start).unwrap());
            for step in steps {
                let next = opinion.after(step);
                prop_assert!((0.0..=1.0).contains(&next.confidence.get()));
                let moved_rightly = if step { next.confidence >= opinion.confidence } else { next.confidence <= opinion.confidence };
                prop_assert!(moved_rightly);
                opinion = next;
            }
        }
    }

    #[test]
    fn numbers_outside_are_refused() {
        for wrong in [1.7, -0.1, f64::NAN, f64::INFINITY] {
            assert!(Confidence::named("confidence", wrong).is_err());
        }
    }
}
