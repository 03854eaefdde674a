//! How many requests each token may make: a bucket of three seconds' worth, filled as time goes by.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use axum::http::StatusCode;

use super::failure::Failure;

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

/// How many streams one visitor may have open.
const OPEN: usize = 64;

/// The streams that are open, by visitor.
#[derive(Clone, Default)]
pub struct Streams(Arc<Mutex<HashMap<String, usize>>>);

impl Streams {
    fn kept(&self) -> MutexGuard<'_, HashMap<String, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a stream of `name` until what is given is dropped.
    ///
    /// # Errors
    /// When that visitor has too many: it would take the connections of everyone else.
    pub fn open(&self, name: &str) -> Result<Stream, Failure> {
        let mut kept = self.kept();
        let count = kept.entry(name.to_owned()).or_default();
        if *count >= OPEN {
            let failure = Failure::new(
                StatusCode::TOO_MANY_REQUESTS,
                "busy",
                format!("{OPEN} streams are open already"),
                "close one, or wait until one ends",
            );
            return Err(failure.after(5));
        }
        *count += 1;
        Ok(Stream(self.clone(), name.to_owned()))
    }
}

/// A stream that is open.
pub struct Stream(Streams, String);

impl Drop for Stream {
    fn drop(&mut self) {
        let mut kept = self.0.kept();
        if let Some(count) = kept.get_mut(&self.1) {
            *count -= 1;
            if *count == 0 {
                kept.remove(&self.1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn streams_are_counted_while_they_are_open() {
        let streams = Streams::default();
        let mut open: Vec<Stream> = (0..OPEN).map(|_| streams.open("a").unwrap()).collect();
        assert!(streams.open("a").is_err());
        assert!(streams.open("b").is_ok());
        open.pop();
        assert!(streams.open("a").is_ok());
        drop(open);
        assert!(streams.kept().is_empty());
    }

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
