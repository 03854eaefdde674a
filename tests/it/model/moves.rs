//! What can happen in one move, and how moves are made up. A move names things by small numbers, so that it still means
//! something when the moves before it are taken away.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};

use super::queue::Draft;
use super::reports::Report;
use super::world::{At, Face, PRIVATE, RECORDS, SEATS, SHELLS, Said, Version, World};

/// One word of a value finds the records that hold it.
const WORDS: [&str; 3] = ["alpha", "beta", "gamma"];
const TAGS: [&str; 2] = ["red", "blue"];
const RUNS: [&str; 4] = ["run-0", "run-1", "run-2", "run-3"];
const PLACES: [&str; 3] = ["app", "app/web", "other"];

/// What a writer counts on: the current version, counted from where it is.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    Nothing,
    /// So many more than there are; negative: fewer.
    Off(i64),
    Zero,
}

/// What a search is for.
#[derive(Debug, Clone, Copy)]
pub enum Sought {
    Scope(&'static str),
    Key(&'static str),
    Tag(&'static str),
    Word(&'static str),
}

#[derive(Debug, Clone)]
pub enum Move {
    Remember {
        by: usize,
        at: At,
        value: Value,
        tags: Vec<&'static str>,
        confidence: Option<f64>,
        expected: Expected,
    },
    Recall {
        by: usize,
        at: At,
        version: Option<u64>,
    },
    Search {
        by: usize,
        sought: Sought,
        sure: Option<f64>,
    },
    History {
        by: usize,
        at: At,
    },
    HandOff {
        by: usize,
        draft: Draft,
    },
    /// The same packet once more, by whoever.
    Again {
        by: usize,
        packet: usize,
    },
    Resume {
        by: usize,
        packet: Option<usize>,
        cwd: Option<&'static str>,
    },
    Peek {
        by: usize,
        packet: Option<usize>,
        cwd: Option<&'static str>,
    },
    Report {
        by: usize,
        report: Report,
    },
    Expire {
        by: usize,
        packet: usize,
    },
    Reopen {
        by: usize,
        packet: usize,
    },
    Stats {
        by: usize,
    },
    /// The ledger's newest entries.
    Log {
        by: usize,
        back: usize,
    },
    /// The process of a seat ends: killed, or asked to.
    End {
        of: usize,
        killed: bool,
    },
}

/// A move that may come next; packets that are there are named more often than others.
pub fn next(world: &World) -> BoxedStrategy<Move> {
    let by = || 0..SEATS.len();
    let at = || select(&RECORDS[..]);
    let any_at = || select([&RECORDS[..], &[PRIVATE]].concat());
    let packets = world.packets.len();
    // One more than there are stands for one that never was.
    let packet = move || prop_oneof![8 => 0..packets.max(1), 1 => Just(packets)];
    let refs = move || {
        let one = (any_at(), proptest::option::weighted(0.4, 1..4u64));
        proptest::collection::vec(one, 0..4).prop_map(|mut refs| {
            refs.sort_by_key(|(at, _)| *at);
            refs.dedup_by_key(|(at, _)| *at);
            refs
        })
    };
    let cwd = || proptest::option::weighted(0.4, select(&PLACES[..]));
    let agent = || select(vec!["anna", "Bert", "carl", "dora"]);
    let tags = || subsequence(TAGS.to_vec(), 0..=2);
    let value = prop_oneof![
        4 => select(&WORDS[..]).prop_map(|word| json!(word)),
        1 => (0..3u64).prop_map(|number| json!({ "n": number })),
        1 => Just(json!("alpha beta")),
    ];
    let confidence = || proptest::option::weighted(0.3, select(vec![0.0, 0.2, 0.7, 0.8, 1.0]));
    let expected = prop_oneof![
        4 => Just(Expected::Nothing),
        4 => (-1..=1i64).prop_map(Expected::Off),
        1 => Just(Expected::Zero),
    ];
    let remember = (by(), at(), value, tags(), confidence(), expected);
    let remember = remember.prop_map(|(by, at, value, tags, confidence, expected)| Move::Remember {
        by,
        at,
        value,
        tags,
        confidence,
        expected,
    });
    let to = || proptest::option::weighted(0.4, agent());
    let silent = || proptest::option::weighted(0.6, refs());
    let supersedes = || proptest::option::weighted(0.2, packet());
    let wait = || proptest::option::weighted(0.5, select(vec!["0", "90m", "2d"]));
    let draft = (to(), silent(), cwd(), any::<bool>(), wait(), supersedes());
    let draft = draft.prop_map(|(to, refs, cwd, shared, expires_in, supersedes)| Draft {
        to,
        refs,
        cwd,
        shared,
        expires_in,
        supersedes,
        automatic: false,
    });
    let named = move || proptest::option::weighted(0.5, packet());
    let outcome = select(vec!["success", "success", "failure", "abandoned", "released"]);
    let report = (outcome, select(&RUNS[..]), silent(), named());
    let report = report.prop_map(|(outcome, run, refs, packet)| Report {
        outcome,
        run,
        refs,
        packet,
        only: None,
    });
    let sought = prop_oneof![
        select(vec!["app", "app/x", "other"]).prop_map(Sought::Scope),
        select(vec!["k", "m"]).prop_map(Sought::Key),
        select(&TAGS[..]).prop_map(Sought::Tag),
        select(&WORDS[..]).prop_map(Sought::Word),
    ];
    let sure = proptest::option::weighted(0.3, select(vec![0.3, 0.69, 0.75]));
    let shell = || select(&SHELLS[..]);
    prop_oneof![
        12 => remember,
        4 => (by(), any_at(), proptest::option::weighted(0.2, 1..4u64))
            .prop_map(|(by, at, version)| Move::Recall { by, at, version }),
        2 => (by(), sought, sure).prop_map(|(by, sought, sure)| Move::Search { by, sought, sure }),
        1 => (by(), any_at()).prop_map(|(by, at)| Move::History { by, at }),
        8 => (by(), draft).prop_map(|(by, draft)| Move::HandOff { by, draft }),
        2 => (by(), packet()).prop_map(|(by, packet)| Move::Again { by, packet }),
        10 => (by(), proptest::option::weighted(0.4, packet()), cwd())
            .prop_map(|(by, packet, cwd)| Move::Resume { by, packet, cwd }),
        2 => (by(), proptest::option::weighted(0.5, packet()), cwd())
            .prop_map(|(by, packet, cwd)| Move::Peek { by, packet, cwd }),
        10 => (by(), report).prop_map(|(by, report)| Move::Report { by, report: of_face(by, report) }),
        1 => (shell(), packet()).prop_map(|(by, packet)| Move::Expire { by, packet }),
        1 => (shell(), packet()).prop_map(|(by, packet)| Move::Reopen { by, packet }),
        1 => by().prop_map(|by| Move::Stats { by }),
        1 => (select(vec![3, 5, 6]), 1..12usize).prop_map(|(by, back)| Move::Log { by, back }),
        2 => (0..4usize, any::<bool>()).prop_map(|(of, killed)| Move::End { of, killed }),
    ]
    .boxed()
}

/// Over REST and at a shell a packet is given back and taken back by verbs of their own, which insist on its state.
fn of_face(by: usize, report: Report) -> Report {
    let verbs = [Face::Rest, Face::Shell].contains(&SEATS[by].face);
    let only = match report.outcome {
        "released" => "accepted",
        "abandoned" if report.run != RUNS[0] => "open",
        _ => return report,
    };
    if verbs && report.packet.is_some() {
        Report {
            refs: None,
            only: Some(only),
            ..report
        }
    } else {
        report
    }
}

impl World {
    /// Makes a move; what it is to be answered with stands in `said`, and what was refused has changed nothing.
    #[must_use]
    pub fn after(mut self, step: &Move) -> Self {
        self.packets_before = self.packets.len();
        self.counted_on = self.expected(step);
        let before = self.clone();
        let said = self.make(step);
        if said.is_err() {
            self = before;
        }
        Self { said, ..self }
    }

    fn make(&mut self, step: &Move) -> Said {
        match step {
            Move::Remember {
                by,
                at,
                value,
                tags,
                confidence,
                ..
            } => {
                let who = self.who(*by);
                let base = confidence.unwrap_or(0.7);
                let new = Version {
                    value: value.clone(),
                    tags: tags.clone(),
                    author: who.agent,
                    run: who.run,
                    base,
                    confidence: base,
                    successes: 0,
                    failures: 0,
                    private_to: None,
                    seq: 0,
                };
                self.remember(&who, new, *at, *confidence, self.counted_on)
            }
            Move::Recall { by, at, version } => self.recall(&self.who(*by), *at, *version),
            Move::Search { by, sought, sure } => self.search(&self.who(*by), |at, version| {
                let fits = match sought {
                    Sought::Scope(scope) => at.0 == *scope || at.0.starts_with(&format!("{scope}/")),
                    Sought::Key(key) => at.1 == *key,
                    Sought::Tag(tag) => version.tags.contains(tag),
                    Sought::Word(word) => version
                        .value
                        .as_str()
                        .is_some_and(|text| text.split(' ').any(|w| w == *word)),
                };
                fits && sure.is_none_or(|sure| version.confidence >= sure)
            }),
            Move::History { by, at } => self.history(&self.who(*by), *at),
            Move::HandOff { by, draft } => {
                let title = format!("packet {}", self.packets.len());
                self.hand_off(&self.who(*by), draft, &title)
            }
            Move::Again { by, packet } => match self.packets.get(*packet) {
                Some(packet) => {
                    let (draft, title) = (packet.draft.clone(), packet.title.clone());
                    self.hand_off(&self.who(*by), &draft, &title)
                }
                None => Ok(Value::Null),
            },
            Move::Resume { by, packet, cwd } => self.resume(&self.who(*by), *packet, *cwd),
            Move::Peek { by, packet, cwd } => self.peek(&self.who(*by), *packet, *cwd),
            Move::Report { by, report } => self.report(&self.who(*by), report),
            Move::Expire { by, packet } => self.expire(&self.who(*by), *packet),
            Move::Reopen { by, packet } => self.reopen(&self.who(*by), *packet),
            Move::Stats { by } => self.stats(&self.who(*by)),
            Move::Log { by, back } => {
                let since = self.ledger.len().saturating_sub(*back);
                Ok(json!({"entries": self.log(Some(&self.who(*by)), since)}))
            }
            Move::End { of, .. } => {
                self.ends(*of);
                Ok(Value::Null)
            }
        }
    }

    /// The version that a writer counts on, as a number.
    fn expected(&self, step: &Move) -> Option<u64> {
        let Move::Remember { at, expected, .. } = step else {
            return None;
        };
        let count = self.records.get(at).map_or(0, |versions| versions.len() as u64);
        match expected {
            Expected::Nothing => None,
            Expected::Off(off) => Some(count.saturating_add_signed(*off)),
            Expected::Zero => Some(0),
        }
    }

    /// Whether a move is one whose answer the design fixes.
    pub fn fixes(&self, step: &Move) -> bool {
        let Move::Again { packet, .. } = step else { return true };
        // A packet that was ended or that has a past is not written once more: nothing is said of that.
        self.packets.get(*packet).is_some_and(|packet| {
            packet.draft.refs.is_some() && !packet.draft.automatic && packet.title.starts_with("packet ")
        })
    }
}
