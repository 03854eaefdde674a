//! Clients that note when they asked what, and when they were told what.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::checker::Done;
use super::objects::{FromPacket, FromRecord, OnPacket, OnRecord, Stands};
use crate::harness::{Place, Refusal, Server, answer_of};
use crate::kills::Dice;
use crate::web::Web;

const KEYS: [&str; 3] = ["a", "b", "c"];
const PACKETS: usize = 4;

/// What was asked and answered on every object, and when each change was made.
#[derive(Default)]
pub struct History {
    pub records: BTreeMap<String, Vec<Done<OnRecord, FromRecord>>>,
    pub packets: BTreeMap<String, Vec<Done<OnPacket, FromPacket>>>,
    /// By the name under which the ledger has it: a version's subject, a directory or a run.
    pub changes: BTreeMap<String, Moment>,
}

/// When something began, and when it was answered.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub began: u64,
    pub answered: Option<u64>,
}

impl History {
    pub fn add(&mut self, other: Self) {
        for (key, calls) in other.records {
            self.records.entry(key).or_default().extend(calls);
        }
        for (id, calls) in other.packets {
            self.packets.entry(id).or_default().extend(calls);
        }
        self.changes.extend(other.changes);
    }

    pub fn answered(&self) -> usize {
        let records = self.records.values().flatten().filter(|done| done.answered.is_some());
        let packets = self.packets.values().flatten().filter(|done| done.answered.is_some());
        records.count() + packets.count()
    }

    pub fn lost(&self) -> usize {
        let records = self.records.values().flatten().filter(|done| done.answered.is_none());
        let packets = self.packets.values().flatten().filter(|done| done.answered.is_none());
        records.count() + packets.count()
    }
}

/// What all clients of one history share.
pub struct Course<'a> {
    place: &'a Place,
    web: Mutex<Web>,
    clock: AtomicU64,
    calls: usize,
    packets: Vec<String>,
    /// How many calls went to the server, by which it is killed now and then.
    asked: AtomicUsize,
}

impl<'a> Course<'a> {
    pub fn of(place: &'a Place, calls: usize) -> Self {
        let web = Web::of(place, &["--rate-limit", "0"]);
        let author = web.anyone().header("X-Agent-Id", "author");
        let packets = (0..PACKETS).map(|n| author.hand_off(&format!("packet {n}"))).collect();
        Self {
            place,
            web: Mutex::new(web),
            clock: AtomicU64::new(1),
            calls,
            packets,
            asked: AtomicUsize::new(0),
        }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }
}

enum Way {
    Lines(Box<Server>),
    Http,
}

/// One client: an agent, in one session after the other where its process is killed.
pub struct Client<'a> {
    course: &'a Course<'a>,
    number: usize,
    way: Way,
    history: History,
    /// The version of each key that it knows of.
    known: BTreeMap<&'static str, u64>,
}

/// An answer, or none when the process ended before it came.
type Told = Option<Result<Value, Refusal>>;

impl<'a> Client<'a> {
    pub fn of(course: &'a Course<'a>, number: usize) -> Self {
        let way = if number.is_multiple_of(2) {
            Way::Lines(Box::new(course.place.agent(&format!("client-{number}"))))
        } else {
            Way::Http
        };
        Self {
            course,
            number,
            way,
            history: History::default(),
            known: BTreeMap::new(),
        }
    }

    /// Makes all its calls, and gives what was recorded.
    pub fn work(mut self, dice: &mut Dice) -> History {
        for turn in 0..self.course.calls {
            let name = format!("{}/{turn}", self.number);
            match dice.below(10) {
                0..3 => self.write(dice, turn),
                3 | 4 => self.read(dice),
                5 => self.claim_next(dice, &name),
                6 | 7 => self.claim(dice, &name),
                8 => self.report(dice, &name),
                _ => self.look(dice),
            }
        }
        self.history
    }

    /// Asks, and gives the moments with what was told. A process may be killed before it has answered.
    fn ask(&mut self, dice: &mut Dice, tool: &str, arguments: Value) -> (u64, u64, Told) {
        let course = self.course;
        let (began, told);
        match &mut self.way {
            Way::Lines(server) => {
                began = course.now();
                let call = server.send_call(tool, arguments);
                let killed = dice.below(25) == 0;
                if killed {
                    // At any moment between the question and its answer.
                    (0..dice.below(3_000)).for_each(|_| std::hint::spin_loop());
                    server.kill();
                }
                // What was in the pipe when the process ended was told, too.
                told = server.reply_or_end(call).map(|reply| answer_of(&reply));
                if killed {
                    **server = course.place.agent(&format!("client-{}", self.number));
                }
            }
            Way::Http => {
                let ends = course.asked.fetch_add(1, Ordering::SeqCst) % 120 == 100;
                let url = {
                    let mut web = course.web.lock().expect("a server");
                    if ends {
                        let next = Web::of(course.place, &["--rate-limit", "0"]);
                        std::mem::replace(&mut *web, next).kill();
                    }
                    web.url.clone()
                };
                began = course.now();
                told = request(&url, self.number, tool, &arguments);
            }
        }
        (began, course.now(), told)
    }

    fn write(&mut self, dice: &mut Dice, turn: usize) {
        let key = KEYS[dice.below(3) as usize];
        let value = (self.number * 1_000_000 + turn) as u64;
        let known = self.known.get(key).copied().unwrap_or(0);
        let expected = match dice.below(4) {
            0 => None,
            1 => Some(known + 1),
            _ => Some(known),
        };
        let mut arguments = json!({"scope": "s", "key": key, "value": value});
        if let Some(expected) = expected {
            arguments["expected_version"] = json!(expected);
        }
        let (began, at, told) = self.ask(dice, "remember", arguments);
        let answer = told.and_then(|told| match told {
            Ok(answer) => Some(FromRecord::Wrote(
                answer["record"]["version"].as_u64().expect("a version"),
            )),
            Err(refusal) if refusal.code == "conflict" => Some(FromRecord::Conflict(current(&refusal))),
            Err(refusal) => undecided(&refusal),
        });
        if let Some(FromRecord::Wrote(version) | FromRecord::Conflict(version)) = answer {
            self.known.insert(key, version);
        }
        if let Some(FromRecord::Wrote(version)) = answer {
            self.changed(format!(r#"["s","{key}",{version}]"#), began, Some(at));
        }
        let call = OnRecord::Write { value, expected };
        let done = done(began, at, call, answer);
        self.history.records.entry(key.to_owned()).or_default().push(done);
    }

    fn read(&mut self, dice: &mut Dice) {
        let key = KEYS[dice.below(3) as usize];
        let (began, at, told) = self.ask(dice, "recall", json!({"scope": "s", "key": key}));
        let answer = told.and_then(|told| match told {
            Ok(answer) if answer["total"] == 0 => Some(FromRecord::Absent),
            Ok(answer) => {
                let record = &answer["records"][0];
                let number = |name: &str| record[name].as_u64().expect("a number");
                self.known.insert(key, number("version"));
                Some(FromRecord::Is {
                    version: number("version"),
                    value: number("value"),
                })
            }
            Err(refusal) => undecided(&refusal),
        });
        let done = done(began, at, OnRecord::Read, answer);
        self.history.records.entry(key.to_owned()).or_default().push(done);
    }

    /// `resume` of one packet.
    fn claim(&mut self, dice: &mut Dice, name: &str) {
        let id = self.course.packets[dice.below(PACKETS as u64) as usize].clone();
        let arguments = json!({"handoff_id": id, "cwd": format!("/turn/{name}")});
        let (began, at, told) = self.ask(dice, "resume", arguments);
        let answer = told.and_then(|told| match told {
            Ok(answer) => Some(taken(&answer)),
            Err(refusal) if refusal.code == "conflict" => Some(FromPacket::Conflict),
            Err(refusal) => undecided(&refusal),
        });
        if answer != Some(FromPacket::Conflict) {
            self.changed(format!("/turn/{name}"), began, answer.as_ref().map(|_| at));
        }
        self.on_packet(&id, done(began, at, OnPacket::Claim(self.number), answer));
    }

    /// A bare `resume`: what it gives was claimed; when no answer came, any packet may have been.
    fn claim_next(&mut self, dice: &mut Dice, name: &str) {
        let (began, at, told) = self.ask(dice, "resume", json!({"cwd": format!("/turn/{name}")}));
        let told = told.and_then(|told| told.map_or_else(|refusal| undecided(&refusal), Some));
        match told {
            Some(answer) => {
                if let Some(id) = answer["packet"]["id"].as_str() {
                    self.changed(format!("/turn/{name}"), began, Some(at));
                    let call = OnPacket::Claim(self.number);
                    self.on_packet(id, done(began, at, call, Some(taken(&answer))));
                }
            }
            None => {
                self.changed(format!("/turn/{name}"), began, None);
                for id in self.course.packets.clone() {
                    self.on_packet(&id, done(began, at, OnPacket::Claim(self.number), None));
                }
            }
        }
    }

    /// `record_outcome`: a packet is given back or, less often, closed.
    fn report(&mut self, dice: &mut Dice, name: &str) {
        let id = self.course.packets[dice.below(PACKETS as u64) as usize].clone();
        let closes = dice.below(12) == 0;
        let outcome = if closes { "success" } else { "released" };
        let arguments = json!({"handoff_id": id, "outcome": outcome, "outcome_ref": format!("run {name}")});
        let (began, at, told) = self.ask(dice, "record_outcome", arguments);
        let answer = told.and_then(|told| match told {
            Ok(answer) => {
                // Who holds it is not told by a state: a packet that is left alone in other hands is looked at as such.
                let stands = match answer["packet"]["state"].as_str() {
                    Some("open") => Some(Stands::Open),
                    Some("closed") => Some(Stands::Closed),
                    _ => None,
                };
                let left_alone = answer.get("warnings").is_some();
                Some(match (stands, left_alone) {
                    (Some(stands), false) => FromPacket::Did(stands),
                    (Some(stands), true) => FromPacket::LeftAlone(stands),
                    (None, _) => FromPacket::LeftToAnother,
                })
            }
            Err(refusal) if refusal.code == "not_allowed" => Some(FromPacket::NotAllowed),
            Err(refusal) => undecided(&refusal),
        });
        match answer {
            Some(FromPacket::Did(_)) => self.changed(format!("run {name}"), began, Some(at)),
            None => self.changed(format!("run {name}"), began, None),
            _ => {}
        }
        let call = if closes {
            OnPacket::Close(self.number)
        } else {
            OnPacket::Release(self.number)
        };
        self.on_packet(&id, done(began, at, call, answer));
    }

    /// `resume` that only looks at one packet.
    fn look(&mut self, dice: &mut Dice) {
        let id = self.course.packets[dice.below(PACKETS as u64) as usize].clone();
        let (began, at, told) = self.ask(dice, "resume", json!({"handoff_id": id, "peek": true}));
        let answer = told.and_then(|told| match told {
            Ok(answer) => {
                let holder = answer["packet"]["accepted_by"].as_str();
                let holder = holder.and_then(|name| name.strip_prefix("client-")?.parse().ok());
                Some(FromPacket::Is(match answer["packet"]["state"].as_str() {
                    Some("open") => Stands::Open,
                    Some("accepted") => Stands::Held(holder.expect("a client holds it")),
                    _ => Stands::Closed,
                }))
            }
            Err(refusal) => undecided(&refusal),
        });
        self.on_packet(&id, done(began, at, OnPacket::Look, answer));
    }

    fn on_packet(&mut self, id: &str, done: Done<OnPacket, FromPacket>) {
        self.history.packets.entry(id.to_owned()).or_default().push(done);
    }

    fn changed(&mut self, name: String, began: u64, answered: Option<u64>) {
        self.history.changes.insert(name, Moment { began, answered });
    }
}

/// One request of an agent; none when the server ended before it answered.
fn request(url: &str, number: usize, tool: &str, arguments: &Value) -> Told {
    let client = crate::web::Client::at(url)
        .header("X-Agent-Id", &format!("client-{number}"))
        .session(&format!("session-{number}"));
    let packet = arguments["handoff_id"].as_str().unwrap_or_default();
    let asked = match tool {
        "remember" => client.try_ask("POST", "/records", Some(&arguments.to_string())),
        "recall" => {
            let key = arguments["key"].as_str().expect("a key");
            client.try_ask("GET", &format!("/records?scope=s&key={key}"), None)
        }
        "resume" if arguments["peek"] == true => client.try_ask("GET", &format!("/resume?handoff_id={packet}"), None),
        "resume" if packet.is_empty() => client.try_ask("POST", "/resume", Some(&arguments.to_string())),
        "resume" => {
            let body = json!({"cwd": arguments["cwd"]}).to_string();
            client.try_ask("POST", &format!("/handoffs/{packet}/accept"), Some(&body))
        }
        _ => client.try_ask("POST", "/outcomes", Some(&arguments.to_string())),
    };
    let answer = asked.ok()?;
    Some(match answer.status {
        200 | 201 => Ok(answer.json()),
        status => Err(answer.refused(status)),
    })
}

fn taken(answer: &Value) -> FromPacket {
    if answer["already_yours"] == true {
        FromPacket::Again
    } else {
        FromPacket::Taken
    }
}

/// The version that a conflict says is current.
fn current(refusal: &Refusal) -> u64 {
    let words: Vec<&str> = refusal.message.split_whitespace().collect();
    let at = words.iter().position(|word| *word == "at").map(|at| words[at + 2]);
    // One that does not exist is at none.
    at.map_or(0, |number| number.parse().expect("a version"))
}

/// A refusal that leaves open whether it was done: the same as no answer.
#[track_caller]
fn undecided<T>(refusal: &Refusal) -> Option<T> {
    assert_eq!(refusal.code, "busy", "{refusal:?}");
    None
}

fn done<C, A>(began: u64, at: u64, call: C, answer: Option<A>) -> Done<C, A> {
    Done {
        began,
        call,
        answered: answer.map(|answer| (at, answer)),
    }
}
