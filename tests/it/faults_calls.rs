//! A server whose system calls fail one after the other, and that is killed at each of them: over lines and over HTTP, on a
//! new store and on one with work in it.

use serde_json::{Value, json};

use crate::everything::checkpoints;
use crate::faults::{Trace, walk};
use crate::handoffs::id;
use crate::harness::{Place, Refusal, Server, Start, answer_of};
use crate::web::{Client, Web};

/// Something that is written, and how often it stands in the file.
struct Deed {
    /// The tool over MCP.
    tool: &'static str,
    /// The route over REST.
    route: String,
    arguments: Value,
    /// How often it is there.
    count: String,
}

/// A store that was closed, to be copied.
pub struct Template {
    place: Place,
    packets: Vec<String>,
}

impl Template {
    /// A store with a few records and packets that wait.
    pub fn new() -> Self {
        Self::of(20, 300)
    }

    /// The same with so many records, and so many bytes in each.
    pub fn of(records: usize, bytes: usize) -> Self {
        let place = Place::new();
        let mut seed = place.agent("seed");
        for n in 0..records {
            seed.remember("s", &format!("old{n}"), json!({"n": n, "text": "x".repeat(bytes)}));
        }
        let base = json!({"next_steps": ["go on"], "refs": [{"scope": "s", "key": "old0"}]});
        let packets = ["to close", "to release"].map(|title| id(&seed.hand_off(title, base.clone())));
        seed.finish();
        Self {
            place,
            packets: packets.into(),
        }
    }

    /// Its export.
    pub fn export(&self) -> String {
        let ran = self.place.run(&["export"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        ran.stdout
    }

    /// How far it goes.
    pub fn checkpoints(&self) -> String {
        checkpoints(&self.place)
    }

    /// A new place with the same file.
    pub fn copy(&self) -> Place {
        let place = Place::new();
        std::fs::copy(self.place.db(), place.db()).expect("a copy");
        place
    }
}

fn remember(value: &str, expected: u64) -> Deed {
    Deed {
        tool: "remember",
        route: "/records".to_owned(),
        arguments: json!({"scope": "s", "key": "one", "value": value, "expected_version": expected}),
        count: format!(
            "SELECT count(*) FROM version v JOIN content c ON c.id = v.content_id WHERE v.key = 'one' AND c.body = '\"{value}\"'"
        ),
    }
}

/// What can be done on a new store.
fn first_deeds() -> Vec<Deed> {
    let refs = json!([{"scope": "s", "key": "one", "version": 1}]);
    vec![
        remember("first", 0),
        remember("second", 1),
        Deed {
            tool: "handoff",
            route: "/handoffs".to_owned(),
            arguments: json!({"title": "mine", "summary": "s", "next_steps": ["x"], "refs": refs, "to_agent": "codex"}),
            count: "SELECT count(*) FROM handoff WHERE to_agent = 'codex'".to_owned(),
        },
        Deed {
            tool: "record_outcome",
            route: "/outcomes".to_owned(),
            arguments: json!({"outcome": "success", "outcome_ref": "run-1", "refs": refs}),
            count: "SELECT count(*) FROM outcome WHERE outcome_ref = 'run-1' AND version_id IS NOT NULL".to_owned(),
        },
    ]
}

/// Everything that a session writes, on the packets that wait.
fn all_deeds(packets: &[String]) -> Vec<Deed> {
    let mut deeds = first_deeds();
    let entry = |kind: &str, packet: &str| {
        format!("SELECT count(*) FROM ledger WHERE kind = '{kind}' AND subject = '{packet}'")
    };
    for (packet, outcome, step, kind) in [
        (&packets[0], "success", "close", "closed"),
        (&packets[1], "released", "release", "released"),
    ] {
        deeds.push(Deed {
            tool: "resume",
            route: format!("/handoffs/{packet}/accept"),
            arguments: json!({"handoff_id": packet}),
            count: entry("accepted", packet),
        });
        deeds.push(Deed {
            tool: "record_outcome",
            route: format!("/handoffs/{packet}/{step}"),
            arguments: json!({"outcome": outcome, "outcome_ref": format!("ref of {packet}"), "handoff_id": packet}),
            count: entry(kind, packet),
        });
    }
    deeds
}

/// A server that is asked.
enum Face {
    Lines(Server),
    Web(Web, Client),
}

impl Face {
    fn lines(start: Start) -> Result<Self, String> {
        Ok(Self::Lines(start.agent("scout").serve()))
    }

    fn web(start: Start) -> Result<Self, String> {
        let web = Web::try_started(start, &[])?;
        let client = web.anyone().header("X-Agent-Id", "scout").session("one");
        Ok(Self::Web(web, client))
    }

    /// Does one thing; none when the process ended over it.
    fn ask(&mut self, deed: &Deed) -> Option<Result<(), Refusal>> {
        match self {
            Self::Lines(server) => {
                let request = server.send_call(deed.tool, deed.arguments.clone());
                server.reply_or_end(request).map(|reply| answer_of(&reply).map(drop))
            }
            Self::Web(_, client) => {
                let mut body = deed.arguments.clone();
                if deed.route.matches('/').count() > 1 {
                    // The packet stands in the path, and what is done to it is the route's to say.
                    let fields = body.as_object_mut().expect("arguments");
                    fields.remove("handoff_id");
                    if deed.route.ends_with("/release") {
                        fields.remove("outcome");
                    }
                }
                let answer = client.try_ask("POST", &deed.route, Some(&body.to_string())).ok()?;
                Some(match answer.status {
                    200 | 201 => Ok(()),
                    status => Err(answer.refused(status)),
                })
            }
        }
    }

    /// Asks it to end; whether it did so by itself.
    fn end(self) -> bool {
        match self {
            Self::Lines(server) => server.left() == Some(0),
            Self::Web(web, _) => web.stop().0 == Some(0),
        }
    }
}

/// Does everything under a fault, then what is missing without one, and looks each time whether what was answered is so.
fn all_is_there(place: &Place, trace: &Trace, deeds: &[Deed], face: impl Fn(Start) -> Result<Face, String>) {
    let start = place.start().env("RUST_LOG", "off");
    let mut missing: Vec<&Deed> = Vec::new();
    // One that fails before it has said that it serves ends and says why.
    let mut server = face(trace.wrap(start.clone())).map_err(|said| {
        if !trace.kills() {
            trace.explains(&said_at_the_end(&said));
        }
    });
    for deed in deeds {
        let mut tries = 0;
        while let Ok(running) = &mut server {
            tries += 1;
            match running.ask(deed) {
                None => server = Err(()),
                Some(Ok(())) => break,
                // It failed once, in each thread that came so far; after that it must go.
                Some(Err(refusal)) => {
                    trace.explains(&refusal);
                    assert!(tries <= 3, "{} is refused for ever: {refusal:?}", deed.tool);
                }
            }
        }
        if server.is_err() {
            missing.push(deed);
        }
    }
    let began = missing.len() < deeds.len();
    let ended = server.is_ok_and(Face::end);
    assert!(ended || !began || trace.kills(), "the process ended by itself");
    there(place, deeds, &missing);
    // An untouched process goes on where that one ended.
    let mut server = face(start).expect("it starts");
    for deed in &missing {
        let answer = server.ask(deed).expect("it lives");
        answer.unwrap_or_else(|refusal| panic!("{} after the fault: {refusal:?}", deed.tool));
    }
    assert!(server.end());
    there(place, deeds, &[]);
}

/// The refusal that a process printed before it ended.
#[track_caller]
pub fn said_at_the_end(said: &str) -> Refusal {
    let told: Value = serde_json::from_str(said).unwrap_or_else(|e| panic!("{e}: {said}"));
    let word = |name: &str| told["error"][name].as_str().unwrap_or_default().to_owned();
    Refusal {
        code: word("code"),
        message: word("message"),
        hint: word("hint"),
    }
}

/// Asserts that each thing is there once, those that are `missing` once or not at all, and the file intact.
#[track_caller]
fn there(place: &Place, deeds: &[Deed], missing: &[&Deed]) {
    let nothing = deeds.len() == missing.len();
    let ran = place.run(&["verify"]);
    // Before the first answer there need not be a store.
    let clean = ran.code == Some(0) || (nothing && ran.code == Some(2) && ran.stderr.contains("no database"));
    assert!(clean, "{ran:?}");
    for deed in deeds {
        let found = place
            .sql()
            .query_row(&deed.count, [], |row| row.get::<_, i64>(0))
            .unwrap_or_else(|error| if nothing { 0 } else { panic!("{error}: {}", deed.count) });
        let open = missing.iter().any(|other| std::ptr::eq(*other, deed));
        assert!(
            found == 1 || (open && found == 0),
            "{} times {}: {}",
            found,
            deed.tool,
            deed.count
        );
    }
}

#[test]
#[ignore = "needs strace"]
fn a_new_store_survives_every_fault_of_its_making() {
    walk("a new store", Place::new, |place, trace| {
        all_is_there(place, trace, &first_deeds(), Face::lines);
    });
}

#[test]
#[ignore = "needs strace"]
fn work_on_a_store_survives_every_fault() {
    let template = Template::new();
    let deeds = all_deeds(&template.packets);
    walk(
        "a session",
        || template.copy(),
        |place, trace| {
            all_is_there(place, trace, &deeds, Face::lines);
        },
    );
}

#[test]
#[ignore = "needs strace"]
fn work_over_http_survives_every_fault() {
    let template = Template::new();
    let deeds = all_deeds(&template.packets);
    walk(
        "a served store",
        || template.copy(),
        |place, trace| {
            all_is_there(place, trace, &deeds, Face::web);
        },
    );
}
