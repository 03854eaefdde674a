//! A crowd: 32 processes on one file, over lines, over HTTP and at a shell, each doing everything. Whatever was answered is
//! so afterwards, and what was refused left nothing behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{Place, Ran, Refusal, Server, is_long};
use crate::kills::Dice;
use crate::shell::{Shell, document, refusal};
use crate::web::{Client, Web};

/// How many processes, and of them servers over HTTP and people at a shell.
const CROWD: usize = 32;
const SERVING: usize = 4;
const AT_SHELLS: usize = 4;

/// How many records everybody writes.
const SHARED: u64 = 5;

/// One process and the way to ask it.
enum Face {
    Lines(Box<Server>),
    Web(Web, Box<Client>),
    Shell(Shell),
}

impl Face {
    fn of(place: &Place, n: usize) -> Self {
        let name = format!("agent-{n}");
        if n < SERVING {
            let web = Web::of(place, &["--rate-limit", "0"]);
            let client = web.anyone().header("X-Agent-Id", &name).session(&name);
            Self::Web(web, Box::new(client))
        } else if n < SERVING + AT_SHELLS {
            Self::Shell(Shell::of(place, &name))
        } else {
            Self::Lines(Box::new(place.agent(&name)))
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, Refusal> {
        match self {
            Self::Lines(server) => server.attempt(tool, arguments.clone()),
            Self::Web(_, client) => client.call_tool(tool, arguments.clone()),
            Self::Shell(shell) => {
                let mut words = vec!["--json".to_owned(), tool.replace('_', "-")];
                for (name, value) in arguments.as_object().expect("arguments") {
                    let one = [value.clone()];
                    for value in value
                        .as_array()
                        .filter(|_| name != "value")
                        .map_or(&one[..], Vec::as_slice)
                    {
                        let text = value.as_str().filter(|_| name != "value").map(str::to_owned);
                        words.extend([
                            format!("--{}", name.replace('_', "-")),
                            text.unwrap_or(value.to_string()),
                        ]);
                    }
                }
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                let ran: Ran = shell.run(&words);
                match ran.code {
                    Some(0) => Ok(document(&ran.stdout)),
                    code => Err(refusal(&ran, code.expect("it ends by itself"))),
                }
            }
        }
    }
}

/// What one of the crowd was told.
#[derive(Debug, Default)]
struct Told {
    /// Version, hash and value of each write by its key.
    versions: Vec<(String, i64, String, String)>,
    /// Values that were refused.
    refused: Vec<String>,
    /// Packets that were written.
    written: Vec<String>,
    /// Packets that were taken, once for each time.
    taken: Vec<String>,
    /// Packets that were closed, and given back.
    ended: Vec<(String, &'static str)>,
    /// Where the ledger stood.
    checkpoints: Vec<String>,
    /// How often each code was answered.
    codes: BTreeMap<String, usize>,
    /// Everything that was answered.
    answers: usize,
}

/// One of the crowd.
struct Member {
    face: Face,
    name: String,
    dice: Dice,
    told: Told,
}

impl Member {
    /// Asks; none when it was refused for a reason that the crowd gives.
    fn ask(&mut self, tool: &str, arguments: &Value) -> Option<Value> {
        match self.face.call(tool, arguments) {
            Ok(answer) => {
                self.told.answers += 1;
                Some(answer)
            }
            Err(refusal) => {
                // Others were faster, or all of them were before.
                let documented = ["conflict", "busy"].contains(&refusal.code.as_str());
                assert!(
                    documented && !refusal.hint.is_empty(),
                    "{tool} {arguments}: {refusal:?}"
                );
                *self.told.codes.entry(refusal.code).or_default() += 1;
                None
            }
        }
    }

    fn write(&mut self, key: &str, value: String, expected: Option<u64>) {
        let mut arguments = json!({"scope": "s", "key": key, "value": value});
        if let Some(expected) = expected {
            arguments["expected_version"] = json!(expected);
        }
        match self.ask("remember", &arguments) {
            Some(answer) => {
                let record = &answer["record"];
                let version = record["version"].as_i64().expect("a version");
                assert!(
                    expected.is_none_or(|expected| version == expected as i64 + 1),
                    "{answer}"
                );
                let hash = record["hash"].as_str().expect("a hash").to_owned();
                self.told.versions.push((key.to_owned(), version, hash, value));
            }
            None => self.told.refused.push(value),
        }
    }

    /// One turn: two records, a packet, a claim and what comes of it.
    fn turn(&mut self, turn: usize) {
        let name = format!("{}/{turn}", self.name);
        let key = format!("k{}", self.dice.below(SHARED));
        // Nobody knows whether somebody else was here meanwhile.
        let seen = self.ask("recall", &json!({"scope": "s", "key": key}));
        let version = seen.map(|seen| seen["records"][0]["version"].as_u64().unwrap_or(0));
        self.write(&key, format!("{name} after {version:?}"), version);
        let key = format!("k{}", self.dice.below(SHARED));
        self.write(&key, format!("{name} whatever is there"), None);
        let refs = format!("s:{key}");
        let refs = match self.face {
            Face::Shell(_) => json!([refs]),
            _ => json!([{"scope": "s", "key": key}]),
        };
        let packet = json!({"title": name, "summary": "s", "next_steps": ["x"], "refs": refs});
        if let Some(written) = self.ask("handoff", &packet) {
            self.told
                .written
                .push(written["packet"]["id"].as_str().expect("an id").to_owned());
        }
        if let Some(taken) = self.ask("resume", &json!({}))
            && let Some(id) = taken["packet"]["id"].as_str()
        {
            assert!(taken.get("took_over_from").is_none(), "{taken}");
            if taken.get("already_yours").is_none() {
                self.told.taken.push(id.to_owned());
            }
            let outcome = if self.dice.below(4) == 0 { "released" } else { "success" };
            let report = json!({"outcome": outcome, "outcome_ref": name, "handoff_id": id});
            if self.ask("record_outcome", &report).is_some() {
                self.told.ended.push((id.to_owned(), outcome));
            }
        }
        if turn.is_multiple_of(4)
            && let Some(stats) = self.ask("memory_stats", &json!({}))
        {
            let checkpoint = stats["checkpoint"].as_str().expect("a checkpoint");
            self.told.checkpoints.push(checkpoint.to_owned());
        }
    }
}

/// What a column of a query holds.
fn column(place: &Place, query: &str) -> Vec<String> {
    let sql = place.sql();
    let mut statement = sql.prepare(query).expect(query);
    let rows = statement.query_map([], |row| row.get(0)).expect(query);
    rows.collect::<Result<_, _>>().expect(query)
}

/// What everybody was told is what the file holds.
fn holds_true(place: &Place, told: &[Told]) {
    let mut versions = BTreeSet::new();
    for version in told.iter().flat_map(|told| &told.versions) {
        let (key, number, hash, value) = version;
        assert!(
            versions.insert(format!("{key} {number} {hash} \"{value}\"")),
            "twice: {version:?}"
        );
    }
    let stored = "SELECT v.key || ' ' || v.version || ' ' || v.hash || ' ' || c.body
                  FROM version v JOIN content c ON c.id = v.content_id";
    let stored: BTreeSet<String> = column(place, stored).into_iter().collect();
    assert_eq!(versions, stored, "every answered version, and no other");
    for refused in told.iter().flat_map(|told| &told.refused) {
        assert!(
            !stored.iter().any(|row| row.ends_with(&format!(" \"{refused}\""))),
            "{refused} was refused"
        );
    }
    let gaps = "SELECT count(*) FROM (SELECT max(version) - count(*) AS gap FROM version GROUP BY key) WHERE gap <> 0";
    assert_eq!(place.count(gaps), 0, "numbers without gaps");

    let sorted = |list: &mut dyn Iterator<Item = String>| {
        let mut list: Vec<String> = list.collect();
        list.sort();
        list
    };
    let entries = |kind: &str| {
        let query = format!("SELECT subject FROM ledger WHERE kind = '{kind}' ORDER BY 1");
        column(place, &query)
    };
    let written = sorted(&mut told.iter().flat_map(|told| told.written.clone()));
    assert_eq!(written, entries("handed_off"));
    let taken = sorted(&mut told.iter().flat_map(|told| told.taken.clone()));
    assert_eq!(taken, entries("accepted"), "each claim was won by one");
    for (outcome, kind) in [("success", "closed"), ("released", "released")] {
        let ended = told
            .iter()
            .flat_map(|told| &told.ended)
            .filter(|(_, how)| *how == outcome);
        assert_eq!(sorted(&mut ended.map(|(id, _)| id.clone())), entries(kind));
    }
    // Nobody takes what another holds: between two claims of a packet it was given back.
    let mut held: BTreeMap<String, bool> = BTreeMap::new();
    let story =
        "SELECT kind || ' ' || subject FROM ledger WHERE kind IN ('accepted', 'released', 'closed') ORDER BY seq";
    for line in column(place, story) {
        let (kind, packet) = line.split_once(' ').expect("two words");
        let before = held.insert(packet.to_owned(), kind == "accepted").unwrap_or(false);
        assert_ne!(before, kind == "accepted", "{line}");
    }
    // The ledger goes on from everywhere that it ever stood.
    let mut arguments = vec!["verify"];
    let checkpoints: Vec<&String> = told.iter().flat_map(|told| &told.checkpoints).collect();
    let some = checkpoints.iter().step_by(checkpoints.len() / 200 + 1);
    arguments.extend(some.flat_map(|checkpoint| ["--checkpoint", checkpoint.as_str()]));
    assert!(arguments.len() > CROWD, "{arguments:?}");
    let ran = place.run(&arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn thirty_two_processes_that_do_everything_lose_nothing_and_are_told_no_lie() {
    let place = Place::new();
    let start = Barrier::new(CROWD);
    let told: Vec<Told> = crate::concurrency::at_once(CROWD, |n| {
        let mut member = Member {
            face: Face::of(&place, n),
            name: format!("agent-{n}"),
            dice: Dice(n as u64 + 1),
            told: Told::default(),
        };
        start.wait();
        // A minute in the long form; a count otherwise, which a slow machine does, too.
        let started = Instant::now();
        let goes_on = |turn: usize| match is_long() {
            true => started.elapsed() < Duration::from_secs(60),
            false => turn < 4,
        };
        let mut turn = 0;
        while goes_on(turn) {
            member.turn(turn);
            turn += 1;
        }
        match member.face {
            Face::Lines(server) => assert_eq!(server.left(), Some(0)),
            Face::Web(web, _) => assert_eq!(web.stop(), (Some(0), String::new())),
            Face::Shell(_) => {}
        }
        member.told
    });
    let answers: usize = told.iter().map(|told| told.answers).sum();
    let mut codes: BTreeMap<&str, usize> = BTreeMap::new();
    for (code, count) in told.iter().flat_map(|told| &told.codes) {
        *codes.entry(code).or_default() += count;
    }
    let sum = |count: fn(&Told) -> usize| told.iter().map(count).sum::<usize>();
    println!(
        "a crowd: {answers} answers, {} versions, {} packets, {} claims; refused: {codes:?}",
        sum(|told| told.versions.len()),
        sum(|told| told.written.len()),
        sum(|told| told.taken.len())
    );
    assert!(
        told.iter().all(|told| told.versions.len() >= 3),
        "everybody got through"
    );
    holds_true(&place, &told);
}
