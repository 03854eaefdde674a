//! The job board that the agents visit: a stand-in for a web site, answered from a file.
//!
//! Time passes only when a visitor waits, so a run is the same every time and nobody sits through it.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::Failure;

#[derive(Deserialize)]
struct Site {
    board: Settings,
    listings: Vec<Value>,
    edits: Vec<Value>,
}

#[derive(Deserialize)]
struct Settings {
    url: String,
    per_page: usize,
    notice: String,
    throttle: Throttle,
}

/// What the board really allows, which is not what its notice says.
#[derive(Deserialize)]
struct Throttle {
    requests: usize,
    seconds: u64,
}

/// The board, as one visitor sees it.
pub struct Board {
    site: Site,
    clock: Duration,
    visits: VecDeque<Duration>,
}

/// What the board answers.
pub enum Reply {
    /// A page of the index (`listings`, `notice`, `next`), or one listing.
    Found(Value),
    /// Too many requests: come back after this long.
    Refused(Duration),
    /// Nothing is there.
    Missing,
}

impl Board {
    /// Opens the board that `path` describes.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let fail = |source| Failure::Board {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(path).map_err(|cause| fail(Box::new(cause)))?;
        let site = serde_json::from_str(&text).map_err(|cause| fail(Box::new(cause)))?;
        Ok(Self {
            site,
            clock: Duration::ZERO,
            visits: VecDeque::new(),
        })
    }

    /// Lets time pass.
    pub fn wait(&mut self, time: Duration) {
        self.clock += time;
    }

    /// How long this visitor has been here.
    pub fn clock(&self) -> Duration {
        self.clock
    }

    /// Requests one address: the index, `?page=N` of it, or `/ID` under it.
    pub fn get(&mut self, url: &str) -> Reply {
        let window = Duration::from_secs(self.site.board.throttle.seconds);
        while self.visits.front().is_some_and(|&visit| visit + window <= self.clock) {
            self.visits.pop_front();
        }
        if self.visits.len() >= self.site.board.throttle.requests {
            return Reply::Refused(self.visits[0] + window - self.clock);
        }
        self.visits.push_back(self.clock);
        let found = match url.strip_prefix(self.site.board.url.as_str()) {
            Some("") => self.page(1),
            Some(rest) => match rest.strip_prefix("?page=") {
                Some(number) => number.parse().ok().and_then(|number| self.page(number)),
                None => rest.strip_prefix('/').and_then(|id| self.listing(id)),
            },
            None => None,
        };
        found.map_or(Reply::Missing, Reply::Found)
    }

    /// The index is a snapshot of the night before; it does not show the edits of today.
    fn page(&self, number: usize) -> Option<Value> {
        let pages: Vec<_> = self.site.listings.chunks(self.site.board.per_page).collect();
        let listings = pages.get(number.checked_sub(1)?)?;
        let next = (number < pages.len()).then(|| format!("{}?page={}", self.site.board.url, number + 1));
        Some(json!({ "listings": listings, "notice": self.site.board.notice, "next": next }))
    }

    /// A listing's own page is live.
    fn listing(&self, id: &str) -> Option<Value> {
        let id: u64 = id.parse().ok()?;
        let with_id = |listing: &&Value| listing["id"] == id;
        let mut listing = self.site.listings.iter().find(with_id)?.clone();
        if let (Some(Value::Object(edit)), Value::Object(fields)) = (self.site.edits.iter().find(with_id), &mut listing)
        {
            fields.extend(edit.clone());
        }
        Some(listing)
    }
}
