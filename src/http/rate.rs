//! How many requests each token may make: a bucket of three seconds' worth, filled as time goes by.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How many seconds' worth of requests may come at once.
const BURST: f64 = 3.0;

/// From this many names on, those that have not asked for a while are forgotten.
const MANY: usize = 10_000;

/// The buckets.
pub struct Rates {
    per_second: f64,
    buckets: Mutex<HashMap<String, (f64, Instant)>>,
}

impl Rates {
    /// Buckets for so many requests in a second; zero: any number.
    pub fn new(per_second: u32) -> Self {
        Self {
            per_second: f64::from(per_second),
            buckets: Mutex::new(HashMap::new()),
        }
    }

    /// Takes one request of `name` in at this instant.
    ///
    /// # Errors
    /// Gives the seconds, one at least, after which the next one is taken.
    pub fn take(&self, name: &str, now: Instant) -> Result<(), u64> {
        if self.per_second == 0.0 {
            return Ok(());
        }
        let most = self.per_second * BURST;
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() > MANY {
            buckets.retain(|_, (_, last)| now.saturating_duration_since(*last).as_secs_f64() < BURST);
        }
        let (left, last) = buckets.entry(name.to_owned()).or_insert((most, now));
        let gained = now.saturating_duration_since(*last).as_secs_f64() * self.per_second;
        *left = (*left + gained).min(most);
        *last = now;
        if *left >= 1.0 {
            *left -= 1.0;
            return Ok(());
        }
        // A whole number of seconds is all that the header can tell.
        Err((((1.0 - *left) / self.per_second).ceil() as u64).max(1))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_bucket_empties_fills_again_and_is_each_names_own() {
        let rates = Rates::new(2);
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        for _ in 0..6 {
            assert_eq!(rates.take("a", at(0)), Ok(()));
        }
        assert_eq!(rates.take("a", at(0)), Err(1));
        assert_eq!(rates.take("b", at(0)), Ok(()), "another token");
        assert_eq!(rates.take("a", at(499)), Err(1));
        assert_eq!(rates.take("a", at(501)), Ok(()));
        assert_eq!(rates.take("a", at(502)), Err(1));
        let unlimited = Rates::new(0);
        assert!((0..1_000).all(|_| unlimited.take("a", start).is_ok()));
    }
}
