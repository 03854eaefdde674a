//! The first agent of the demo: it reads a job board, remembers what it finds, corrects itself, hands its work
//! over, and learns something afterwards that its packet does not say.
//!
//! `MEMORY_DB=~/demo.db cargo run --example scout`, then the other one: `executor.rs`.

mod answers;
mod assess;
mod board;
mod client;
mod paper;

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};

use answers::{HandedOver, Pin, Remembered, Written};
use assess::{Assessment, Listing, Verdict, assess};
use board::{Board, Reply};
use client::{Failure, Options, Session};
use paper::{Paper, percent};

const AGENT: &str = "scout";
const BOARD: &str = "https://boards.example/jobs";
/// What this scout looks for.
const TAG: &str = "price-monitoring";
/// The pause between two pages: a scout is in no hurry.
const PAUSE: Duration = Duration::from_secs(4);
/// How sure one can be of a rule that was read and not tried.
const HEARSAY: f64 = 0.60;

/// A page of the board's index.
#[derive(Deserialize)]
struct Page {
    listings: Vec<Listing>,
    notice: String,
    next: Option<String>,
}

#[derive(Deserialize)]
struct History {
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Version {
    version: u64,
    value: Value,
    confidence: f64,
    at: String,
    current: bool,
}

#[derive(Deserialize)]
struct Stats {
    records: u64,
    versions: u64,
    handoffs: Handoffs,
}

#[derive(Deserialize)]
struct Handoffs {
    open: u64,
}

/// A listing that was assessed, and the record that says so.
struct Assessed {
    listing: Listing,
    assessment: Assessment,
    record: Written,
    corrected: bool,
}

/// One run of the scout.
struct Scout<'a> {
    session: &'a Session,
    options: &'a Options,
    paper: Paper,
    board: Board,
    assessed: BTreeMap<u32, Assessed>,
    listings: usize,
    pages: usize,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    client::finish(AGENT, run(&options).await)
}

async fn run(options: &Options) -> Result<(), Failure> {
    let board = Board::open(&options.board)?;
    let session = Session::start(AGENT, options).await?;
    let paper = Paper::new();
    let mut scout = Scout {
        session: &session,
        options,
        paper,
        board,
        assessed: BTreeMap::new(),
        listings: 0,
        pages: 0,
    };
    let end = scout.work().await;
    let closed = session.close().await;
    end.and(closed)
}

impl Scout<'_> {
    async fn work(&mut self) -> Result<(), Failure> {
        self.paper.title(AGENT, "reads a job board, remembers, hands over");
        self.paper.field("server", self.session.greeting());
        self.paper
            .line(format_args!("memory     {}", self.options.memory()?.display()));
        let rate_limit = self.crawl().await?;
        self.show_corrections().await?;
        self.hand_over(&rate_limit).await?;
        self.look_again().await?;
        self.sum_up().await
    }

    /// Reads the index page by page; what a listing says and what the scout thinks of it are two records.
    async fn crawl(&mut self) -> Result<Written, Failure> {
        self.paper.section("Crawl the board, page by page");
        let mut rate_limit = None;
        let mut next = Some(BOARD.to_owned());
        while let Some(url) = next {
            let page: Page = self.fetch(&url)?;
            self.pages += 1;
            let ids: Vec<String> = page.listings.iter().map(|listing| listing.id.to_string()).collect();
            self.paper.field(&format!("page {}", self.pages), ids.join(" "));
            if rate_limit.is_none() {
                rate_limit = Some(self.note_rate_limit(&page.notice).await?);
            }
            for listing in page.listings {
                self.listings += 1;
                self.remember_summary(&listing).await?;
                if listing.tags.iter().any(|tag| tag == TAG) {
                    self.remember_assessment(listing.clone(), None).await?;
                }
                if let Some(old) = listing.replaces {
                    self.correct(old, &listing).await?;
                }
            }
            next = page.next;
        }
        self.paper.line(format_args!(
            "{} listings on {} pages remembered as listing/<id>/summary; {} of them are tagged {TAG},",
            self.listings,
            self.pages,
            self.assessed.len(),
        ));
        self.paper
            .line("and assessed by rate, client and text: verdict and score stand beside the confidence above");
        rate_limit.ok_or_else(|| Failure::Stuck("the board has no pages".to_owned()))
    }

    /// The notice is all that is known so far: it goes in with its origin, and with a doubt.
    async fn note_rate_limit(&mut self, notice: &str) -> Result<Written, Failure> {
        let digits = |character: char| !character.is_ascii_digit();
        let number = notice.split(digits).find_map(|word| word.parse::<u32>().ok());
        let number = number.ok_or_else(|| Failure::Stuck(format!("the board's notice names no number: {notice}")))?;
        let value =
            json!({ "requests_per_minute": number, "learned_from": "the board's own notice", "measured": false });
        let record = self
            .remember("source", "boards-example/rate-limit", value, &[], Some(HEARSAY), None)
            .await?;
        self.show(&record, &format!("{number} requests a minute, says the board"));
        Ok(record)
    }

    async fn remember_summary(&self, listing: &Listing) -> Result<Written, Failure> {
        let mut value = json!(listing);
        value["url"] = json!(address(listing.id));
        let tags: Vec<&str> = listing.tags.iter().map(String::as_str).collect();
        self.remember("listing", &format!("{}/summary", listing.id), value, &tags, None, None)
            .await
    }

    /// `before` is the version that this one is a correction of: should somebody else have been quicker, the
    /// server refuses.
    async fn remember_assessment(&mut self, listing: Listing, before: Option<u64>) -> Result<(), Failure> {
        let (assessment, confidence) = assess(&listing, address(listing.id));
        let key = format!("{}/assessment", listing.id);
        let tags = [TAG, assessment.verdict.word()];
        let record = self
            .remember("listing", &key, json!(assessment), &tags, Some(confidence), before)
            .await?;
        let says = format!(
            "{:<7} {:>2}  {}",
            assessment.verdict.word(),
            assessment.score,
            assessment.reasons[0]
        );
        self.show(&record, &says);
        let corrected = before.is_some();
        self.assessed.insert(
            listing.id,
            Assessed {
                listing,
                assessment,
                record,
                corrected,
            },
        );
        Ok(())
    }

    /// A client replaced its own listing: what the scout thought of the old one was built on a mistake.
    async fn correct(&mut self, old: u32, newer: &Listing) -> Result<(), Failure> {
        let Some(before) = self.assessed.get(&old) else {
            return Ok(());
        };
        let listing = Listing {
            rate: newer.rate,
            hours: newer.hours,
            ..before.listing.clone()
        };
        let version = before.record.pin.version;
        self.paper.field(
            "",
            format_args!("listing {} replaces {old}: the scout corrects itself", newer.id),
        );
        self.remember_assessment(listing, Some(version)).await
    }

    async fn show_corrections(&mut self) -> Result<(), Failure> {
        self.paper.section("What was corrected stays on record");
        if !self.assessed.values().any(|assessed| assessed.corrected) {
            self.paper.line("nothing was");
        }
        for assessed in self.assessed.values().filter(|assessed| assessed.corrected) {
            let pin = &assessed.record.pin;
            let history: History = self
                .session
                .call("history", json!({ "scope": pin.scope, "key": pin.key }))
                .await?;
            self.paper.line(format_args!("history of {}", pin.name()));
            for version in &history.versions {
                let value = &version.value;
                self.paper.line(format_args!(
                    "  v{} {:<10}  {}  {}  {:<7} {}",
                    version.version,
                    if version.current { "current" } else { "superseded" },
                    version.at,
                    percent(version.confidence),
                    value["verdict"].as_str().unwrap_or("?"),
                    value["reasons"][0].as_str().unwrap_or("?"),
                ));
            }
        }
        Ok(())
    }

    /// Pins everything that the reader has to decide on: favourites first, then the reserve, what was corrected
    /// away, and the rate limit to keep to.
    async fn hand_over(&mut self, rate_limit: &Written) -> Result<(), Failure> {
        let mut best: Vec<&Assessed> = self
            .assessed
            .values()
            .filter(|assessed| assessed.assessment.verdict < Verdict::Pass)
            .collect();
        best.sort_by_key(|assessed| (assessed.assessment.verdict, Reverse(assessed.assessment.score)));
        let of = |verdict: Verdict| {
            best.iter()
                .copied()
                .filter(move |assessed| assessed.assessment.verdict == verdict)
        };
        let (pursue, reserve) = (
            of(Verdict::Pursue).collect::<Vec<_>>(),
            of(Verdict::Maybe).collect::<Vec<_>>(),
        );
        let fallen: Vec<&Assessed> = self
            .assessed
            .values()
            .filter(|assessed| assessed.corrected && assessed.assessment.verdict >= Verdict::Pass)
            .collect();

        let mut next_steps: Vec<String> = Vec::new();
        for Assessed { listing, .. } in &pursue {
            next_steps.push(format!("Draft a proposal for listing {}.", listing.id));
        }
        if !reserve.is_empty() {
            next_steps.push(format!("If one falls through, look at the reserve: {}.", ids(&reserve)));
        }
        next_steps
            .push("On the board, keep to source/boards-example/rate-limit, and report whether it held.".to_owned());

        let mut open_questions: Vec<String> = Vec::new();
        for Assessed {
            listing: Listing { id, client, .. },
            ..
        } in &pursue
        {
            if client.rating.is_none() {
                open_questions.push(format!(
                    "Why has nobody rated the client of {id} after {} hires?",
                    client.hires
                ));
            }
        }
        open_questions.push("Is the board's rate limit what its notice says? It was never measured.".to_owned());

        let (listings, pages, about) = (self.listings, self.pages, self.assessed.len());
        let mut summary = format!(
            "Read {listings} listings on {pages} pages; {about} are about price monitoring. Worth a proposal, by rate, \
             client and clarity of scope: {}.",
            if pursue.is_empty() {
                "none".to_owned()
            } else {
                ids(&pursue)
            }
        );
        if !fallen.is_empty() {
            summary += &format!(" No longer, since the client corrected the rate: {}.", ids(&fallen));
        }
        summary += " What each listing says is under listing/<id>/summary.";

        let shortlist = self.options.write("shortlist.md", &shortlist(&best))?;
        let pins: Vec<&Pin> = best
            .iter()
            .chain(&fallen)
            .map(|assessed| &assessed.record.pin)
            .chain([&rate_limit.pin])
            .collect();
        let packet = json!({
            "title": format!("Price monitoring on boards.example: {} to pursue, {} in reserve", pursue.len(), reserve.len()),
            "summary": summary, "next_steps": next_steps, "open_questions": open_questions,
            "files_touched": [shortlist], "refs": pins, "to_agent": "executor",
        });
        let answer: HandedOver = self.session.call("handoff", packet).await?;

        self.paper.section("Hand over");
        answer.show(&self.paper);
        Ok(())
    }

    /// Before it leaves, the scout opens the pages of its favourites. The packet is already written: what it
    /// pinned stays as it was, and the memory moves on.
    async fn look_again(&mut self) -> Result<(), Failure> {
        self.paper.section("One more look, after the packet");
        let favourites: Vec<u32> = self
            .assessed
            .values()
            .filter(|assessed| assessed.assessment.verdict == Verdict::Pursue)
            .map(|assessed| assessed.listing.id)
            .collect();
        for id in favourites {
            let now: Listing = self.fetch(&address(id))?;
            let Some(then) = self.assessed.get(&id) else { continue };
            if now.text == then.listing.text {
                self.paper.field(&format!("page {id}"), "as it was");
                continue;
            }
            self.paper.field(&format!("page {id}"), "has changed since the crawl");
            let version = then.record.pin.version;
            self.remember_summary(&now).await?;
            self.remember_assessment(now, Some(version)).await?;
            if let Some(after) = self.assessed.get(&id) {
                self.paper.field("", after.assessment.reasons.join("; "));
                self.paper.alarm(format_args!(
                    "the packet pins {} v{version}; it is now v{}",
                    after.record.pin.name(),
                    after.record.pin.version
                ));
            }
        }
        Ok(())
    }

    async fn sum_up(&mut self) -> Result<(), Failure> {
        let stats: Stats = self.session.call("memory_stats", json!({})).await?;
        self.paper.section("What stays when this process ends");
        self.paper.line(format_args!(
            "{} records in {} versions, {} open packet{}",
            stats.records,
            stats.versions,
            stats.handoffs.open,
            if stats.handoffs.open == 1 { "" } else { "s" },
        ));
        Ok(())
    }

    async fn remember(
        &self,
        scope: &str,
        key: &str,
        value: Value,
        tags: &[&str],
        confidence: Option<f64>,
        expected_version: Option<u64>,
    ) -> Result<Written, Failure> {
        let mut arguments = json!({ "scope": scope, "key": key, "value": value, "tags": tags });
        if let Some(confidence) = confidence {
            arguments["confidence"] = json!(confidence);
        }
        if let Some(version) = expected_version {
            arguments["expected_version"] = json!(version);
        }
        let answer: Remembered = self.session.call("remember", arguments).await?;
        self.paper.warnings(&answer.warnings);
        Ok(answer.record)
    }

    fn show(&self, record: &Written, says: &str) {
        self.paper.line(format_args!("           {}  {says}", record.columns()));
    }

    fn fetch<T: serde::de::DeserializeOwned>(&mut self, url: &str) -> Result<T, Failure> {
        let reply = self.board.get(url);
        self.board.wait(PAUSE);
        match reply {
            Reply::Found(page) => serde_json::from_value(page).map_err(|cause| Failure::Page {
                url: url.to_owned(),
                source: Box::new(cause),
            }),
            Reply::Refused(wait) => Err(Failure::Stuck(format!(
                "the board refused {url} at {} s and wants {} s of quiet",
                self.board.clock().as_secs(),
                wait.as_secs()
            ))),
            Reply::Missing => Err(Failure::Stuck(format!("the board has no {url}"))),
        }
    }
}

fn address(id: u32) -> String {
    format!("{BOARD}/{id}")
}

fn ids(assessed: &[&Assessed]) -> String {
    let ids: Vec<String> = assessed
        .iter()
        .map(|assessed| assessed.listing.id.to_string())
        .collect();
    ids.join(", ")
}

/// The same shortlist for a person.
fn shortlist(best: &[&Assessed]) -> String {
    let mut text = "# Shortlist\n\n| listing | verdict | points | title | why |\n|---|---|---|---|---|\n".to_owned();
    for Assessed { assessment, .. } in best {
        text += &format!(
            "| [{}]({}) | {} | {} | {} | {} |\n",
            assessment.listing,
            assessment.url,
            assessment.verdict.word(),
            assessment.score,
            assessment.title,
            assessment.reasons.join("; ")
        );
    }
    text
}
