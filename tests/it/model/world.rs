//! The model: what a store is after a sequence of moves, written from the design and not from the code, so that the two can
//! disagree. It knows neither ids nor hashes nor clocks: a packet is `$p3`, the session of a process `$r0.1`, a directory `$w/app`,
//! and time is "before this test" or "in it".

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::records::may_read;

/// Scope and key.
pub type At = (&'static str, &'static str);

/// What an answer must hold: an object by the fields that are named (null: absent), or the code of a refusal with words of it.
pub type Said = Result<Value, Refused>;

/// A refusal.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    pub code: &'static str,
    /// What its text must name.
    pub names: Vec<String>,
}

/// A refusal of this code, whatever it says.
pub fn refused<T>(code: &'static str) -> Result<T, Refused> {
    Err(Refused {
        code,
        names: Vec::new(),
    })
}

/// Through which face somebody acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    /// A process of its own, over lines.
    Lines,
    /// Requests to the server that all such seats share.
    Rest,
    /// The tools, over HTTP, of the same server.
    Tools,
    /// A command for each move.
    Shell,
}

/// Somebody who acts.
#[derive(Debug, PartialEq, Eq)]
pub struct Seat {
    pub face: Face,
    pub agent: &'static str,
    pub owner: Option<&'static str>,
    /// The working directory, below that of the place.
    pub cwd: Option<&'static str>,
    /// The session, where it has a name; a process over lines is a session by itself.
    pub session: Option<&'static str>,
}

const fn seat(
    face: Face,
    agent: &'static str,
    owner: Option<&'static str>,
    cwd: Option<&'static str>,
    session: Option<&'static str>,
) -> Seat {
    Seat {
        face,
        agent,
        owner,
        cwd,
        session,
    }
}

/// Everybody: agents in several sessions and spellings, through every face, for two owners and none.
pub const SEATS: [Seat; 7] = [
    seat(Face::Lines, "anna", Some("alice"), Some("app"), None),
    seat(Face::Lines, "anna", Some("alice"), Some("app/web"), None),
    seat(Face::Lines, "bert", None, Some("other"), None),
    seat(Face::Rest, "carl", Some("bob"), None, Some("carl-web")),
    seat(Face::Tools, "bert", None, None, Some("bert-tools")),
    seat(Face::Shell, "Anna", Some("alice"), Some("other"), None),
    seat(Face::Shell, "Dora", None, Some("app"), Some("old")),
];

/// The seats at a shell.
pub const SHELLS: [usize; 2] = [5, 6];

/// The records, besides [`PRIVATE`].
pub const RECORDS: [At; 6] = [
    ("app", "k"),
    ("app", "m"),
    ("app/x", "k"),
    ("app2", "k"),
    ("other", "m"),
    ("other", "n"),
];

/// A record that is anna's alone, in stores that have a past.
pub const PRIVATE: At = ("own", "p");

/// A session: who acted in which run of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Run {
    /// A process over lines: its seat, and how many there were before it.
    Process(usize, u32),
    Named(&'static str),
}

impl Run {
    fn shown(self) -> Value {
        match self {
            Run::Process(seat, life) => json!(format!("$r{seat}.{life}")),
            Run::Named(name) => json!(name),
        }
    }
}

/// A session as an answer shows it; a session that is none is absent.
pub fn shown(run: Option<Run>) -> Value {
    run.map_or(Value::Null, Run::shown)
}

/// Whether two names are of the same agent.
pub fn same(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// Who acts, as a move sees it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Who {
    pub agent: &'static str,
    pub owner: Option<&'static str>,
    pub run: Option<Run>,
    pub cwd: Option<&'static str>,
}

impl Who {
    pub fn is(&self, agent: &str) -> bool {
        same(self.agent, agent)
    }
}

/// One version of a record.
#[derive(Debug, Clone)]
pub struct Version {
    pub value: Value,
    pub tags: Vec<&'static str>,
    pub author: &'static str,
    pub run: Option<Run>,
    pub base: f64,
    pub confidence: f64,
    pub successes: u64,
    pub failures: u64,
    pub private_to: Option<&'static str>,
    /// Where its entry stands.
    pub seq: usize,
}

/// What an entry of the ledger is about.
#[derive(Debug, Clone, PartialEq)]
pub enum Subject {
    Project,
    Version(At, u64),
    Packet(usize),
    /// A report on a version, and on which packet.
    Report(At, u64, Option<usize>),
}

/// An entry of the ledger; its position is its place in the list.
#[derive(Debug, Clone)]
pub struct Entry {
    pub kind: &'static str,
    pub agent: &'static str,
    pub run: Option<Run>,
    pub subject: Subject,
    /// Whether it was written before this test, longer ago than any lease.
    pub past: bool,
    /// The newer packet that an ended one names.
    pub newer: Option<usize>,
}

/// A report that was counted.
#[derive(Debug, Clone)]
pub struct Counted {
    pub run: &'static str,
    pub at: At,
    pub version: u64,
    pub success: bool,
    pub before: f64,
    pub after: f64,
}

/// The whole store, and what the processes on it remember.
#[derive(Debug, Clone)]
pub struct World {
    pub records: BTreeMap<At, Vec<Version>>,
    pub packets: Vec<super::queue::Packet>,
    pub counted: Vec<Counted>,
    pub ledger: Vec<Entry>,
    /// How many processes each seat had before its present one.
    pub lives: [u32; SEATS.len()],
    /// What each run wrote, read by key or was given, as far as its process remembers.
    pub touched: BTreeMap<Run, BTreeMap<At, u64>>,
    /// Whether what happens now happens before the test.
    pub past: bool,
    /// How many packets there were before the last move, by which a new one is titled.
    pub packets_before: usize,
    /// The version that the writer of the last move counted on.
    pub counted_on: Option<u64>,
    /// What the last move must be answered with.
    pub said: Said,
}

impl World {
    pub fn new() -> Self {
        Self {
            records: BTreeMap::new(),
            packets: Vec::new(),
            counted: Vec::new(),
            ledger: Vec::new(),
            lives: [0; SEATS.len()],
            touched: BTreeMap::new(),
            past: false,
            packets_before: 0,
            counted_on: None,
            said: Ok(Value::Null),
        }
    }

    pub fn who(&self, number: usize) -> Who {
        let seat = &SEATS[number];
        let run = match seat.face {
            Face::Lines => Some(Run::Process(number, self.lives[number])),
            _ => seat.session.map(Run::Named),
        };
        Who {
            agent: seat.agent,
            owner: seat.owner,
            run,
            cwd: seat.cwd,
        }
    }

    /// Whether a session is known to be over.
    pub fn gone(&self, run: Run) -> bool {
        matches!(run, Run::Process(seat, life) if life < self.lives[seat])
    }

    /// The process of a seat is no more, with all that it remembered.
    pub fn ends(&mut self, number: usize) {
        match SEATS[number].face {
            Face::Lines => self.lives[number] += 1,
            _ => {
                let named = SEATS.iter().filter(|seat| seat.face != Face::Shell);
                let named: Vec<_> = named.filter_map(|seat| seat.session).collect();
                self.touched
                    .retain(|run, _| !matches!(run, Run::Named(name) if named.contains(name)));
            }
        }
    }

    pub fn append(&mut self, who: &Who, kind: &'static str, subject: Subject) {
        if self.ledger.is_empty() {
            self.ledger.push(Entry {
                kind: "created",
                agent: who.agent,
                run: who.run,
                subject: Subject::Project,
                past: self.past,
                newer: None,
            });
        }
        self.ledger.push(Entry {
            kind,
            agent: who.agent,
            run: who.run,
            subject,
            past: self.past,
            newer: None,
        });
    }

    /// Notes what a session has seen; a command forgets it when it ends.
    pub fn touch(&mut self, who: &Who, at: At, version: u64) {
        let lasts = |name: &str| {
            SEATS
                .iter()
                .any(|seat| seat.session == Some(name) && seat.face != Face::Shell)
        };
        if let Some(run) = who.run.filter(|run| !matches!(run, Run::Named(name) if !lasts(name))) {
            let newest = self.touched.entry(run).or_default().entry(at).or_default();
            *newest = version.max(*newest);
        }
    }

    /// Whether this caller may know of an entry.
    pub fn knows(&self, who: &Who, entry: &Entry) -> bool {
        let sees = |n: usize| self.sees(who, n);
        let reads = |at: At, number: u64| may_read(who, self.version(at, number));
        let subject = match entry.subject {
            Subject::Project => true,
            Subject::Version(at, number) => reads(at, number),
            Subject::Packet(n) => sees(n),
            Subject::Report(at, number, n) => reads(at, number) && n.is_none_or(sees),
        };
        subject && entry.newer.is_none_or(sees)
    }

    /// Whether an entry is about a version that this caller may not read.
    pub fn is_about_private(&self, who: &Who, entry: &Entry) -> bool {
        match entry.subject {
            Subject::Version(at, number) | Subject::Report(at, number, _) => !may_read(who, self.version(at, number)),
            Subject::Project | Subject::Packet(_) => false,
        }
    }

    /// The ledger after a position, as this caller may know it; nobody: root.
    pub fn log(&self, who: Option<&Who>, since: usize) -> Vec<Value> {
        let entries = self.ledger.iter().enumerate().skip(since);
        entries
            .map(|(place, entry)| {
                if who.is_some_and(|who| !self.knows(who, entry)) {
                    return json!({"seq": place + 1, "redacted": true, "kind": null, "subject": null});
                }
                let mut told = json!({"seq": place + 1, "kind": entry.kind, "agent": entry.agent,
                                      "session": shown(entry.run), "redacted": null});
                match &entry.subject {
                    Subject::Packet(n) => told["subject"] = json!(format!("$p{n}")),
                    Subject::Version(at, number) => {
                        told["subject"] = json!(format!(r#"["{}","{}",{number}]"#, at.0, at.1))
                    }
                    Subject::Project | Subject::Report(..) => {}
                }
                told
            })
            .collect()
    }
}
