//! The real store that the model is held against: processes over lines, a server, and commands, all on one file.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::answers::{Names, holds};
use super::moves::{Move, Sought};
use super::past::Past;
use super::queue::Draft;
use super::reports::Report;
use super::world::{At, Face, Run, SEATS, Seat, World};
use crate::faces::{Verb, by_command, by_request, by_tool};
use crate::harness::{Place, Refusal, Server, Start};
use crate::shell::Shell;
use crate::web::{Client, Web, token};

/// Everything that runs in one case.
pub struct Hands {
    pub place: Place,
    pub names: Names,
    servers: HashMap<usize, Server>,
    web: Option<Web>,
    tokens: BTreeMap<&'static str, String>,
    /// The moves so far, for a message.
    told: Vec<String>,
}

/// A start with the durability that is fast: nothing here cuts the power.
pub fn quick(start: Start) -> Start {
    start.env("MEMORY_DURABILITY", "normal")
}

impl Hands {
    /// A place with the past that a case begins with.
    pub fn of(past: &Past) -> Self {
        let place = Place::new();
        let work = place.work().canonicalize().expect("the folder is there");
        for folder in ["app/web", "other"] {
            std::fs::create_dir_all(work.join(folder)).expect("a folder");
        }
        let mut names = Names::new(work);
        past.write(&place, &mut names);
        Self {
            place,
            names,
            servers: HashMap::new(),
            web: None,
            tokens: BTreeMap::new(),
            told: Vec::new(),
        }
    }

    /// Makes a move in a real process and holds its answer against what the model says.
    pub fn make(&mut self, step: &Move, world: &World) {
        self.told.push(format!("{step:?}"));
        let answer = self.act(step, world);
        let Some(answer) = answer else { return };
        let fault = match (&world.said, &answer) {
            (Ok(said), Ok(answer)) => {
                self.names.learn(said, answer);
                holds(&self.names.real(said), answer, "").err()
            }
            (Err(said), Err(refusal)) => {
                let named = said.names.iter().all(|name| refusal.text().contains(name));
                (refusal.code != said.code || !named).then(|| format!("another refusal: {refusal:?}"))
            }
            _ => Some("one refuses and the other does not".to_owned()),
        };
        if let Some(fault) = fault {
            panic!(
                "{fault}\nafter:\n  {}\nthe model says: {:?}\nthe store says: {answer:?}",
                self.told.join("\n  "),
                world.said.as_ref().map(|said| self.names.real(said).to_string())
            );
        }
    }

    /// The answer of a move; none where there is nothing to compare.
    fn act(&mut self, step: &Move, world: &World) -> Option<Result<Value, Refusal>> {
        let (by, verb, arguments) = match step {
            Move::Remember {
                by,
                at,
                value,
                tags,
                confidence,
                ..
            } => {
                let mut arguments = json!({"scope": at.0, "key": at.1, "value": value, "tags": tags});
                set(&mut arguments, "confidence", confidence.map(Value::from));
                set(&mut arguments, "expected_version", world.counted_on.map(Value::from));
                (*by, Verb::Remember, arguments)
            }
            Move::Recall { by, at, version } => {
                let mut arguments = json!({"scope": at.0, "key": at.1});
                set(&mut arguments, "version", version.map(Value::from));
                (*by, Verb::Recall, arguments)
            }
            Move::Search { by, sought, sure } => {
                let mut arguments = match sought {
                    Sought::Scope(scope) => json!({"scope": scope}),
                    Sought::Key(key) => json!({"key": key}),
                    Sought::Tag(tag) => json!({"tag": tag}),
                    Sought::Word(word) => json!({"query": word}),
                };
                set(&mut arguments, "min_confidence", sure.map(Value::from));
                (*by, Verb::Recall, arguments)
            }
            Move::History { by, at } => (*by, Verb::History, json!({"scope": at.0, "key": at.1, "limit": 200})),
            Move::HandOff { by, draft } => {
                let title = format!("packet {}", world.packets_before);
                (*by, Verb::Handoff, self.packet(draft, &title))
            }
            Move::Again { by, packet } => {
                let packet = world.packets.get(*packet)?;
                (*by, Verb::Handoff, self.packet(&packet.draft, &packet.title))
            }
            Move::Resume { by, packet, cwd } => (*by, Verb::Resume, self.wanted(*packet, *cwd)),
            Move::Peek { by, packet, cwd } => {
                let mut arguments = self.wanted(*packet, *cwd);
                arguments["peek"] = json!(true);
                (*by, Verb::Resume, arguments)
            }
            Move::Report { by, report } => {
                let (verb, arguments) = self.report(report);
                (*by, verb, arguments)
            }
            Move::Expire { by, packet } => {
                let id = self.names.packet(*packet);
                return Some(self.command(*by, &["handoffs", "expire", &id, "--yes"]));
            }
            Move::Reopen { by, packet } => (*by, Verb::Reopen, json!({"handoff_id": self.names.packet(*packet)})),
            Move::Stats { by } => (*by, Verb::Stats, json!({})),
            Move::Log { by, back } => {
                let since = world.ledger.len().saturating_sub(*back);
                return Some(Ok(self.log(*by, &since.to_string())));
            }
            Move::End { of, killed } => {
                self.end(*of, *killed);
                return None;
            }
        };
        let mut answer = self.ask(by, verb, &arguments, world);
        if let (Verb::Stats, Ok(answer)) = (verb, &mut answer) {
            // Which spelling of an agent's name stands for it is not said.
            for one in answer["by_agent"].as_array_mut().into_iter().flatten() {
                one["name"] = json!(one["name"].as_str().unwrap_or_default().to_lowercase());
            }
        }
        Some(answer)
    }

    fn ask(&mut self, by: usize, verb: Verb, arguments: &Value, world: &World) -> Result<Value, Refusal> {
        match SEATS[by].face {
            Face::Lines => {
                let server = self.server(by, world);
                by_tool(&mut |tool, arguments| server.attempt(tool, arguments), verb, arguments)
            }
            Face::Rest => by_request(&self.client(by), verb, arguments),
            Face::Tools => {
                let client = self.client(by);
                by_tool(
                    &mut |tool, arguments| client.call_tool(tool, arguments),
                    verb,
                    arguments,
                )
            }
            Face::Shell => by_command(&self.shell(by), verb, arguments),
        }
    }

    fn packet(&self, draft: &Draft, title: &str) -> Value {
        let mut arguments = json!({"title": title, "summary": "where things stand", "next_steps": ["go on"]});
        set(&mut arguments, "to_agent", draft.to.map(Value::from));
        set(&mut arguments, "refs", draft.refs.as_deref().map(pins));
        set(&mut arguments, "cwd", draft.cwd.map(|cwd| self.names.place(cwd)));
        set(&mut arguments, "shared", draft.shared.then_some(json!(true)));
        set(&mut arguments, "expires_in", draft.expires_in.map(Value::from));
        let old = draft.supersedes.map(|n| json!(self.names.packet(n)));
        set(&mut arguments, "supersedes", old);
        arguments
    }

    fn wanted(&self, packet: Option<usize>, cwd: Option<&str>) -> Value {
        let mut arguments = json!({});
        set(
            &mut arguments,
            "handoff_id",
            packet.map(|n| json!(self.names.packet(n))),
        );
        set(&mut arguments, "cwd", cwd.map(|cwd| self.names.place(cwd)));
        arguments
    }

    fn report(&self, report: &Report) -> (Verb, Value) {
        let id = report.packet.map(|n| json!(self.names.packet(n)));
        let verb = match report.only {
            Some("accepted") => Verb::Release,
            Some(_) => Verb::Cancel,
            None => {
                let mut arguments = json!({"outcome": report.outcome, "outcome_ref": report.run});
                set(
                    &mut arguments,
                    "refs",
                    report.refs.as_deref().filter(|refs| !refs.is_empty()).map(pins),
                );
                set(&mut arguments, "handoff_id", id);
                return (Verb::RecordOutcome, arguments);
            }
        };
        (verb, json!({"handoff_id": id, "outcome_ref": report.run}))
    }

    /// The process of a seat, started when it is first needed.
    fn server(&mut self, by: usize, world: &World) -> &mut Server {
        let (place, names) = (&self.place, &mut self.names);
        self.servers.entry(by).or_insert_with(|| {
            let seat = &SEATS[by];
            let mut start = quick(place.start()).agent(seat.agent);
            if let Some(owner) = seat.owner {
                start = start.env("MEMORY_OWNER", owner);
            }
            let cwd = seat.cwd.expect("a process is somewhere");
            let mut server = start.cwd(place.work().join(cwd)).serve();
            let session = server.stats()["session"].as_str().expect("a session").to_owned();
            names.session(Run::Process(by, world.lives[by]), session);
            server
        })
    }

    fn client(&mut self, by: usize) -> Client {
        let seat = &SEATS[by];
        let place = &self.place;
        let secret = self.tokens.entry(seat.agent).or_insert_with(|| {
            let owner = seat.owner.map(|owner| ["--owner", owner]);
            token(
                place,
                &[&["--agent", seat.agent][..], owner.as_ref().map_or(&[], |o| &o[..])].concat(),
            )
        });
        let web = self
            .web
            .get_or_insert_with(|| Web::started(quick(place.start()).env("RUST_LOG", "off"), &["--rate-limit", "0"]));
        web.with(secret).session(seat.session.expect("a named session"))
    }

    fn shell(&self, by: usize) -> Shell {
        let Seat {
            agent,
            owner,
            cwd,
            session,
            ..
        } = SEATS[by];
        let mut shell = Shell::of(&self.place, agent).env("MEMORY_DURABILITY", "normal");
        for (name, value) in [("MEMORY_OWNER", owner), ("SESSION_ID", session)] {
            if let Some(value) = value {
                shell = shell.env(name, value);
            }
        }
        shell.cwd(self.place.work().join(cwd.expect("a command is run somewhere")))
    }

    fn command(&self, by: usize, words: &[&str]) -> Result<Value, Refusal> {
        let ran = self.shell(by).run(&[words, &["--json"]].concat());
        match ran.code {
            Some(0) => Ok(Value::Null),
            Some(exit) => Err(crate::shell::refusal(&ran, exit)),
            None => panic!("{words:?}: {ran:?}"),
        }
    }

    fn log(&mut self, by: usize, since: &str) -> Value {
        if SEATS[by].face == Face::Rest {
            return self.client(by).get(&format!("/ledger?limit=200&since={since}"));
        }
        let told = self.shell(by).says(&["log", "--json", "--since", since]);
        let entries = told.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        json!({"entries": entries.collect::<Vec<Value>>()})
    }

    fn end(&mut self, of: usize, killed: bool) {
        if SEATS[of].face != Face::Lines {
            match self.web.take() {
                Some(web) if killed => web.kill(),
                Some(web) => assert_eq!(web.stop().0, Some(0)),
                None => {}
            }
            return;
        }
        match self.servers.remove(&of) {
            Some(mut server) if killed => server.kill(),
            Some(server) => server.end(),
            None => {}
        }
    }

    /// Ends every process.
    pub fn rest(&mut self) {
        self.servers.clear();
        self.web = None;
    }
}

fn set(arguments: &mut Value, name: &str, field: Option<Value>) {
    if let Some(field) = field {
        arguments[name] = field;
    }
}

fn pins(refs: &[(At, Option<u64>)]) -> Value {
    let pin = |(at, version): &(At, Option<u64>)| {
        let mut pin = json!({"scope": at.0, "key": at.1});
        set(&mut pin, "version", version.map(Value::from));
        pin
    };
    refs.iter().map(pin).collect()
}
