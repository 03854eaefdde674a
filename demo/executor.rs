//! The second agent of the demo: it knows nothing but the memory, resumes what was handed over, notices what has
//! changed since, acts, reports how it went and hands back.
//!
//! `MEMORY_DB=~/demo.db cargo run --example executor`, after the other one: `scout.rs`.

mod answers;
mod board;
mod client;
mod paper;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};

use answers::{HandedOver, Packet, Pin, Remembered};
use board::{Board, Reply};
use client::{Failure, Options, Session};
use paper::{Paper, percent};

const AGENT: &str = "executor";

/// The answer of `resume`.
#[derive(Deserialize)]
struct Resumed {
    packet: Option<Taken>,
    refs: Vec<Resolved>,
    stale: usize,
    #[serde(default)]
    already_yours: bool,
    #[serde(default)]
    warnings: Vec<String>,
}

/// The packet that this executor has now, and how old it is.
#[derive(Deserialize)]
struct Taken {
    #[serde(flatten)]
    packet: Packet,
    created_at: String,
    age: String,
    changes_since: Changes,
}

/// What the memory has gained since the packet was written.
#[derive(Deserialize)]
struct Changes {
    total: u64,
    by_author: u64,
}

/// A ref of the packet, resolved by the server.
#[derive(Deserialize)]
struct Resolved {
    #[serde(flatten)]
    pin: Pin,
    status: String,
    /// The value of the pinned version; absent when it was purged, or left out of a long answer.
    value: Option<Value>,
    confidence: f64,
    current: Option<Current>,
}

/// The version that overtook a stale ref.
#[derive(Deserialize)]
struct Current {
    version: u64,
    author: String,
    at: String,
}

#[derive(Deserialize)]
struct Recalled {
    records: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    #[serde(flatten)]
    pin: Pin,
    #[serde(default)]
    value: Value,
}

#[derive(Deserialize)]
struct Reported {
    moved: Vec<Moved>,
    packet: Option<Ended>,
    #[serde(default)]
    repeated: bool,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Moved {
    #[serde(flatten)]
    pin: Pin,
    before: f64,
    after: f64,
}

#[derive(Deserialize)]
struct Ended {
    id: String,
    state: String,
    ended_as: Option<String>,
}

/// What the executor reads in an assessment; who wrote the rest of it is not its business.
#[derive(Clone, Deserialize)]
struct Assessment {
    listing: u32,
    title: String,
    url: String,
    verdict: String,
    score: u32,
    reasons: Vec<String>,
}

/// An assessment that the executor goes by, and the exact version that it is.
struct Judged {
    assessment: Assessment,
    pin: Pin,
}

/// What the executor looks for on a listing's page.
#[derive(Deserialize)]
struct Page {
    text: String,
}

/// How the visits to the board went.
struct Visits {
    open: Vec<u32>,
    refusal: Option<Refusal>,
}

struct Refusal {
    url: String,
    requests: usize,
    seconds: u64,
}

/// One run of the executor.
struct Executor<'a> {
    session: &'a Session,
    options: &'a Options,
    paper: Paper,
    board: Board,
    /// What this run has written, for its own packet.
    written: Vec<Pin>,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let options = Options::parse();
    client::finish(AGENT, run(&options).await)
}

async fn run(options: &Options) -> Result<(), Failure> {
    let board = Board::open(&options.board)?;
    let session = Session::start(AGENT, options).await?;
    let mut executor = Executor {
        session: &session,
        options,
        paper: Paper::new(),
        board,
        written: Vec::new(),
    };
    let end = executor.work().await;
    let closed = session.close().await;
    end.and(closed)
}

impl Executor<'_> {
    async fn work(&mut self) -> Result<(), Failure> {
        self.paper
            .title(AGENT, "knows only the memory, resumes, acts, reports, hands back");
        self.paper.field("server", self.session.greeting());
        self.paper
            .line(format_args!("memory     {}", self.options.memory()?.display()));

        self.paper.section("Resume");
        let resumed: Resumed = self.session.call("resume", json!({})).await?;
        self.paper.warnings(&resumed.warnings);
        let Some(Taken {
            packet,
            created_at,
            age,
            changes_since,
        }) = &resumed.packet
        else {
            let advice = "nothing waits for the executor in this memory: run the scout first";
            return Err(Failure::Stuck(advice.to_owned()));
        };
        if resumed.already_yours {
            self.paper.line("an earlier run took this packet and did not finish it");
        }
        packet.show(&self.paper);
        self.paper.field("age", format_args!("{age} (written {created_at})"));
        let Changes { total, by_author } = changes_since;
        self.paper.field(
            "since then",
            format_args!(
                "{total} changes in the memory, {by_author} of them by {}",
                packet.from_agent
            ),
        );

        let (candidates, dropped) = self.check_pins(&resumed).await?;
        for judged in &dropped {
            self.drop_listing(judged).await?;
        }
        let visits = self.visit(&candidates, &resumed.refs).await?;
        let wanted = |judged: &&Judged| {
            judged.assessment.verdict == "pursue" && visits.open.contains(&judged.assessment.listing)
        };
        let Some(chosen) = candidates.iter().find(wanted) else {
            return self.give_up(packet).await;
        };
        let proposal = self.draft(chosen, packet).await?;
        self.report(chosen, packet, &resumed.refs, &visits).await?;
        let others = candidates
            .iter()
            .filter(|judged| judged.assessment.listing != chosen.assessment.listing);
        let next = others
            .into_iter()
            .find(|judged| visits.open.contains(&judged.assessment.listing));
        self.hand_back(packet, chosen, &proposal, &dropped, next, &visits).await
    }

    /// Goes through what the packet pins. A stale pin is read again before anything is done with it; returns what
    /// still deserves work, and what was dropped with the version that says why.
    async fn check_pins(&mut self, resumed: &Resumed) -> Result<(Vec<Judged>, Vec<Judged>), Failure> {
        self.paper.section(&format!(
            "What the packet pins: {} refs, {} stale",
            resumed.refs.len(),
            resumed.stale
        ));
        for Resolved {
            pin,
            status,
            value,
            confidence,
            ..
        } in &resumed.refs
        {
            let says = value
                .as_ref()
                .and_then(|value| value["verdict"].as_str())
                .unwrap_or_default();
            let sure = percent(*confidence);
            self.paper.line(format_args!(
                "{:<32} v{}  {status:<8} {sure:>4}  {says}",
                pin.name(),
                pin.version
            ));
        }

        let (mut candidates, mut dropped) = (Vec::new(), Vec::new());
        for Resolved {
            pin,
            status,
            value,
            current,
            ..
        } in &resumed.refs
        {
            if status == "corrupt" || status == "purged" {
                self.paper
                    .alarm(format_args!("{} v{} is {status}: left out", pin.name(), pin.version));
                continue;
            }
            let pinned = match value {
                Some(value) => value.clone(),
                None => self.recall(&pin.scope, &pin.key, Some(pin.version)).await?.value,
            };
            // Anything may be pinned; what does not read as an assessment is no listing to work on.
            let Ok(before) = serde_json::from_value::<Assessment>(pinned) else {
                continue;
            };
            let judged = match current {
                None => Judged {
                    assessment: before,
                    pin: pin.clone(),
                },
                Some(current) => self.read_again(pin, &before, current).await?,
            };
            if judged.assessment.wanted() {
                candidates.push(judged);
            } else if current.is_some() {
                dropped.push(judged);
            }
        }
        Ok((candidates, dropped))
    }

    /// The packet's word is no longer the last one.
    async fn read_again(&self, pin: &Pin, before: &Assessment, current: &Current) -> Result<Judged, Failure> {
        let (name, version) = (pin.name(), pin.version);
        self.paper.line("");
        self.paper.alarm(format_args!(
            "STALE: {name} was pinned at v{version} and is now v{}",
            current.version
        ));
        self.paper.line(format_args!(
            "  changed by {} at {}; read again with recall:",
            current.author, current.at
        ));
        let Record { pin, value } = self.recall(&pin.scope, &pin.key, None).await?;
        let assessment: Assessment = serde_json::from_value(value).map_err(|cause| Failure::Call {
            tool: "recall",
            source: Box::new(cause),
        })?;
        self.paper.field(&format!("  v{version} said"), before.says());
        self.paper.field(&format!("  v{} says", pin.version), assessment.says());
        Ok(Judged { assessment, pin })
    }

    async fn drop_listing(&mut self, Judged { assessment, pin }: &Judged) -> Result<(), Failure> {
        let id = assessment.listing;
        let value = json!({ "decision": "dropped", "because": assessment.reasons, "read_version": pin.version });
        self.paper
            .line(format_args!("so listing {id} is dropped, whatever the packet says"));
        self.remember("listing", &format!("{id}/decision"), value).await
    }

    /// Opens the page of every candidate, at the pace that the memory gives.
    async fn visit(&mut self, candidates: &[Judged], pins: &[Resolved]) -> Result<Visits, Failure> {
        self.paper.section("Are they still open? A visit to the board");
        let limit = pins.iter().find(|resolved| resolved.is_rate_limit());
        let per_minute = limit.and_then(|limit| limit.value.as_ref()?["requests_per_minute"].as_u64());
        let pause = match (limit, per_minute) {
            (Some(Resolved { pin, confidence, .. }), Some(per_minute @ 1..)) => {
                let (name, version, sure) = (pin.name(), pin.version, percent(*confidence));
                self.paper.line(format_args!(
                    "pace: {per_minute} requests a minute, as {name} v{version} has it ({sure} sure)"
                ));
                Duration::from_secs(60) / u32::try_from(per_minute).unwrap_or(u32::MAX)
            }
            _ => Duration::from_secs(10),
        };
        let mut visits = Visits {
            open: Vec::new(),
            refusal: None,
        };
        for (requests, Judged { assessment, .. }) in candidates.iter().enumerate() {
            let page = loop {
                let second = self.board.clock().as_secs();
                match self.board.get(&assessment.url) {
                    Reply::Found(page) => break Some(page),
                    Reply::Missing => break None,
                    Reply::Refused(wait) => {
                        self.tell(
                            second,
                            assessment,
                            &format!("refused: too many requests; back in {} s", wait.as_secs()),
                        );
                        visits.refusal.get_or_insert(Refusal {
                            url: assessment.url.clone(),
                            requests,
                            seconds: second,
                        });
                        self.board.wait(wait);
                    }
                }
            };
            let second = self.board.clock().as_secs();
            self.board.wait(pause);
            let Some(page) = page else {
                self.tell(second, assessment, "gone");
                continue;
            };
            let page: Page = serde_json::from_value(page).map_err(|cause| Failure::Page {
                url: assessment.url.clone(),
                source: Box::new(cause),
            })?;
            let known = self
                .recall("listing", &format!("{}/summary", assessment.listing), None)
                .await?;
            if known.value["text"].as_str() == Some(page.text.as_str()) {
                self.tell(second, assessment, "open, and as remembered");
                visits.open.push(assessment.listing);
            } else {
                self.tell(second, assessment, "open, but not as remembered: left alone");
            }
        }
        if let Some(refusal) = &visits.refusal {
            let value =
                json!({ "url": refusal.url, "answered_before": refusal.requests, "within_seconds": refusal.seconds });
            self.paper.line("the pace did not hold");
            self.remember("source", "boards-example/refusal", value).await?;
        }
        Ok(visits)
    }

    fn tell(&self, second: u64, assessment: &Assessment, what: &str) {
        self.paper
            .line(format_args!("  {second:>3} s  {:<5} {what}", assessment.listing));
    }

    /// Drafts a proposal. What the listing asks for is read from the memory, not from the board.
    async fn draft(&mut self, chosen: &Judged, packet: &Packet) -> Result<String, Failure> {
        let id = chosen.assessment.listing;
        self.paper.section(&format!("Act on listing {id}"));
        let summary = self.recall("listing", &format!("{id}/summary"), None).await?;
        let asks = summary.value["text"].as_str().unwrap_or("(the listing says nothing)");
        let hours = summary.value["hours"].as_f64().unwrap_or_default();
        let usd = summary.value["rate"]["usd"].as_f64().unwrap_or_default();
        let (price, total) = match summary.value["rate"]["kind"].as_str() {
            Some("hourly") => (
                format!("{hours} hours at {usd} USD, {} USD in all", hours * usd),
                hours * usd,
            ),
            _ => (format!("{usd} USD in all, for {hours} hours"), usd),
        };
        let lines = [
            format!("You ask for: {asks}"),
            "First step: one source from end to end, for you to look at, before the others follow.".to_owned(),
            format!("Price: {price}."),
        ];
        let text = format!(
            "# Proposal: {}\n\n<{}>\n\n{}\n",
            chosen.assessment.title,
            chosen.assessment.url,
            lines.join("\n\n")
        );
        let path = self
            .options
            .write(&format!("proposal-{id}.md"), &text)?
            .to_string_lossy()
            .into_owned();
        self.paper.field("title", &chosen.assessment.title);
        for line in &lines {
            self.paper.field("", line);
        }
        self.paper.line(format_args!("file       {path}"));
        let value = json!({ "file": path, "total_usd": total, "sent": false, "for_packet": packet.id });
        self.paper.line("drafted, not sent: that is for a person to do");
        self.remember("listing", &format!("{id}/proposal"), value).await?;
        Ok(path)
    }

    /// Two reports about two versions; the one about the work that was asked for also closes the packet.
    async fn report(
        &mut self,
        chosen: &Judged,
        packet: &Packet,
        pins: &[Resolved],
        visits: &Visits,
    ) -> Result<(), Failure> {
        self.paper.section("Report how it went");
        if let Some(limit) = pins.iter().find(|pin| pin.is_rate_limit()) {
            let (outcome, note) = match &visits.refusal {
                Some(refusal) => (
                    "failure",
                    format!(
                        "Refused after {} requests in {} s at that pace.",
                        refusal.requests, refusal.seconds
                    ),
                ),
                None => ("success", "The whole visit went through at that pace.".to_owned()),
            };
            let report = json!({
                "outcome": outcome, "outcome_ref": format!("{}:board-visit", packet.id),
                "refs": [limit.pin], "note": note,
            });
            self.record(outcome, report).await?;
        }
        let report = json!({
            "outcome": "success", "outcome_ref": format!("{}:proposal-{}", packet.id, chosen.assessment.listing),
            "refs": [chosen.pin], "handoff_id": packet.id,
            "note": format!("{} held: the listing is open and clear enough for a proposal.", chosen.pin.name()),
        });
        self.record("success", report).await
    }

    async fn record(&self, outcome: &str, report: Value) -> Result<(), Failure> {
        let answer: Reported = self.session.call("record_outcome", report).await?;
        let again = if answer.repeated { "  (already counted)" } else { "" };
        for Moved { pin, before, after } in &answer.moved {
            let (name, version) = (pin.name(), pin.version);
            let (before, after) = (percent(*before), percent(*after));
            self.paper.line(format_args!(
                "{outcome:<10} {name:<32} v{version}  {before} → {after}{again}"
            ));
        }
        if let Some(Ended { id, state, ended_as }) = &answer.packet {
            let how = ended_as.as_ref().map(|how| format!(" as {how}")).unwrap_or_default();
            self.paper.line(format_args!("packet     {id} is {state}{how}"));
        }
        self.paper.warnings(&answer.warnings);
        Ok(())
    }

    async fn hand_back(
        &mut self,
        packet: &Packet,
        chosen: &Judged,
        proposal: &str,
        dropped: &[Judged],
        next: Option<&Judged>,
        visits: &Visits,
    ) -> Result<(), Failure> {
        let id = chosen.assessment.listing;
        let mut next_steps = vec![format!("Have a person read proposal-{id}.md and send it.")];
        if visits.refusal.is_some() {
            next_steps.push("Measure what the board allows, and correct source/boards-example/rate-limit.".to_owned());
        }
        if let Some(Judged { assessment, .. }) = next {
            let Assessment {
                listing,
                verdict,
                score,
                ..
            } = assessment;
            next_steps.push(format!(
                "Next in line: listing {listing} ({verdict}, score {score}), still open."
            ));
        }
        // A question about the listing itself is still open after a draft; it goes back to whoever asked.
        let about = |question: &&String| question.contains(&id.to_string());
        let open_questions: Vec<&String> = packet.open_questions.iter().filter(about).collect();
        let mut summary = format!("The proposal for {id} is written and waits for a person.");
        for Judged { assessment, pin } in dropped {
            summary += &format!(
                " {} is dropped, for its assessment v{}: {}.",
                assessment.listing,
                pin.version,
                assessment.reasons.join("; ")
            );
        }
        let back = json!({
            "title": format!("Listing {id}: proposal drafted, not sent"), "summary": summary, "next_steps": next_steps,
            "open_questions": open_questions, "files_touched": [proposal], "refs": self.written, "to_agent": packet.from_agent,
        });
        let answer: HandedOver = self.session.call("handoff", back).await?;
        self.paper.section("Hand back");
        answer.show(&self.paper);
        Ok(())
    }

    /// Nothing that was asked for can be done any more. Saying so moves no confidence.
    async fn give_up(&self, packet: &Packet) -> Result<(), Failure> {
        self.paper.alarm("no listing is left to pursue");
        let report = json!({
            "outcome": "abandoned", "outcome_ref": format!("{}:nothing-left", packet.id), "handoff_id": packet.id,
            "note": "Every listing to pursue was dropped or is gone.",
        });
        self.record("abandoned", report).await
    }

    async fn recall(&self, scope: &str, key: &str, version: Option<u64>) -> Result<Record, Failure> {
        let mut arguments = json!({ "scope": scope, "key": key });
        if let Some(version) = version {
            arguments["version"] = json!(version);
        }
        let answer: Recalled = self.session.call("recall", arguments).await?;
        answer
            .records
            .into_iter()
            .next()
            .ok_or_else(|| Failure::Stuck(format!("the memory has no {scope}/{key}")))
    }

    async fn remember(&mut self, scope: &str, key: &str, value: Value) -> Result<(), Failure> {
        let arguments = json!({ "scope": scope, "key": key, "value": value });
        let answer: Remembered = self.session.call("remember", arguments).await?;
        self.paper.warnings(&answer.warnings);
        self.paper.line(format_args!("remembered {}", answer.record.columns()));
        self.written.push(answer.record.pin);
        Ok(())
    }
}

impl Resolved {
    fn is_rate_limit(&self) -> bool {
        self.pin.scope == "source" && self.pin.key.ends_with("/rate-limit")
    }
}

impl Assessment {
    fn says(&self) -> String {
        format!("{}: {}", self.verdict, self.reasons.join("; "))
    }

    /// Whether this is worth an executor's time.
    fn wanted(&self) -> bool {
        self.verdict == "pursue" || self.verdict == "maybe"
    }
}
