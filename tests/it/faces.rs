//! The faces agree: one scenario through each of them, every file of its own, gives the same answers and the same rows.
//!
//! A step names what is done in the words of the tools. A face is one arm of [`Run::act`].

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::harness::{Place, Refusal, Server};
use crate::masked::Masks;
use crate::shell::{Shell, document, refusal};
use crate::web::{self, Client, Web};

/// A way in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Face {
    Mcp,
    Cli,
    Rest,
    /// The tools, over HTTP.
    McpHttp,
}

/// The faces that are compared with the first one.
const OTHERS: [Face; 3] = [Face::Cli, Face::Rest, Face::McpHttp];

/// Who acts: agent, session and owner (`-`: nobody's).
type Who = (&'static str, &'static str, &'static str);

const SCOUT: Who = ("scout", "scout-1", "-");
const CODEX: Who = ("codex", "codex-1", "-");
const CODEX_AGAIN: Who = ("codex", "codex-2", "-");
const ANN: Who = ("claude", "ann-1", "ann");
const BOB: Who = ("claude", "bob-1", "bob");

/// What can be done through every face. Its arguments are those of the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    Remember,
    Recall,
    History,
    Handoff,
    Resume,
    RecordOutcome,
    /// Gives a claimed packet back; a tool has no verb of its own for it.
    Release,
    /// Takes an open packet back; likewise.
    Cancel,
    Stats,
    /// Ends open packets before their time. Only people do that, at a shell: this step runs there, whatever the face.
    Expire,
    /// Opens a packet again that its time has ended; likewise.
    Reopen,
}

/// One step; `name` is how later steps call the packet that it wrote, as `$name`.
struct Step {
    who: Who,
    verb: Verb,
    arguments: Value,
    name: &'static str,
}

fn step(who: Who, verb: Verb, arguments: Value) -> Step {
    Step {
        who,
        verb,
        arguments,
        name: "",
    }
}

fn packet(name: &'static str, who: Who, arguments: Value) -> Step {
    Step {
        name,
        ..step(who, Verb::Handoff, arguments)
    }
}

/// One run of the scenario through one face.
struct Run {
    face: Face,
    place: Place,
    masks: Masks,
    servers: HashMap<Who, Server>,
    web: Option<Web>,
    tokens: HashMap<Who, String>,
    packets: HashMap<&'static str, String>,
}

impl Run {
    fn of(face: Face) -> Self {
        let place = Place::new();
        Self {
            face,
            masks: Masks::of(&place),
            place,
            servers: HashMap::new(),
            web: None,
            tokens: HashMap::new(),
            packets: HashMap::new(),
        }
    }

    /// Runs all of it; gives a line for each answer, masked.
    fn all(&mut self, steps: &[Step]) -> Vec<String> {
        steps.iter().map(|step| self.one(step)).collect()
    }

    fn one(&mut self, step: &Step) -> String {
        let mut arguments = step.arguments.to_string();
        for (name, id) in &self.packets {
            arguments = arguments.replace(&format!("\"${name}\""), &format!("\"{id}\""));
        }
        let arguments: Value = serde_json::from_str(&arguments).expect("JSON");
        let answer = match self.act(step.who, step.verb, &arguments) {
            Ok(answer) => {
                if !step.name.is_empty() {
                    let id = answer["packet"]["id"].as_str().expect("a packet's id");
                    self.packets.insert(step.name, id.to_owned());
                }
                answer
            }
            Err(Refusal { code, message, hint }) => json!({"error": [code, message, hint]}),
        };
        let answer = if step.verb == Verb::Stats {
            of_the_store(answer)
        } else {
            answer
        };
        let masked = self.masks.json(&answer);
        format!("{} {:?} {}: {masked}", step.who.1, step.verb, step.arguments)
    }

    fn act(&mut self, who: Who, verb: Verb, arguments: &Value) -> Result<Value, Refusal> {
        if self.face == Face::Cli || matches!(verb, Verb::Expire | Verb::Reopen) {
            return by_command(&shell(&self.place, who), verb, arguments);
        }
        if matches!(self.face, Face::Rest | Face::McpHttp) {
            let mut arguments = arguments.clone();
            // A server elsewhere knows no directory of its caller's.
            if matches!(verb, Verb::Handoff | Verb::Resume) && arguments["cwd"].is_null() {
                arguments["cwd"] = json!(self.place.work());
            }
            let client = self.client(who);
            return if self.face == Face::Rest {
                by_request(&client, verb, &arguments)
            } else {
                by_tool(
                    &mut |tool, arguments| client.call_tool(tool, arguments),
                    verb,
                    &arguments,
                )
            };
        }
        let place = &self.place;
        let server = self.servers.entry(who).or_insert_with(|| {
            let mut start = place.start().agent(who.0).env("SESSION_ID", who.1);
            if who.2 != "-" {
                start = start.env("MEMORY_OWNER", who.2);
            }
            start.serve()
        });
        by_tool(&mut |tool, arguments| server.attempt(tool, arguments), verb, arguments)
    }

    /// Somebody who shows a token of their own.
    fn client(&mut self, who: Who) -> Client {
        let place = &self.place;
        let token = self.tokens.entry(who).or_insert_with(|| {
            let mut flags = vec!["--agent", who.0];
            if who.2 != "-" {
                flags.extend(["--owner", who.2]);
            }
            web::token(place, &flags)
        });
        let web = self.web.get_or_insert_with(|| Web::of(place, &[]));
        web.with(token).session(who.1)
    }

    /// What a person who reads the file afterwards is shown, masked.
    fn afterwards(&mut self) -> Vec<String> {
        let reader = shell(&self.place, SCOUT);
        let mut told = vec![
            reader.json(&["handoffs", "list", "--all", "--owners", "any"]),
            reader.json(&["handoffs", "list", "--all"]),
            reader.json(&["verify"]),
        ];
        for who in [SCOUT, ANN] {
            let log = shell(&self.place, who).says(&["log", "--since", "0", "--json"]);
            told.extend(log.lines().map(|line| document(&format!("{line}\n"))));
        }
        let mut named: Vec<_> = self.packets.clone().into_iter().collect();
        named.sort();
        told.extend(
            named
                .iter()
                .map(|(_, id)| reader.json(&["handoffs", "show", id, "--owners", "any"])),
        );
        told.iter().map(|answer| self.masks.json(answer).to_string()).collect()
    }
}

fn shell(place: &Place, who: Who) -> Shell {
    let shell = Shell::of(place, who.0).env("SESSION_ID", who.1);
    if who.2 == "-" {
        shell
    } else {
        shell.env("MEMORY_OWNER", who.2)
    }
}

/// The numbers without those of the process that gives them, which are of another kind on each face.
fn of_the_store(mut answer: Value) -> Value {
    let fields = answer.as_object_mut().expect("numbers");
    for own in ["store", "agent_from", "owner", "created", "warnings"] {
        fields.shift_remove(own);
    }
    answer
}

/// A step as a client of the tools does it.
pub fn by_tool(
    call: &mut dyn FnMut(&str, Value) -> Result<Value, Refusal>,
    verb: Verb,
    arguments: &Value,
) -> Result<Value, Refusal> {
    let with_outcome = |outcome: &str| {
        let mut arguments = arguments.clone();
        arguments["outcome"] = json!(outcome);
        arguments
    };
    match verb {
        Verb::Remember => call("remember", arguments.clone()),
        Verb::Recall => call("recall", arguments.clone()),
        Verb::History => call("history", arguments.clone()),
        Verb::Handoff => call("handoff", arguments.clone()),
        Verb::Resume => call("resume", arguments.clone()),
        Verb::RecordOutcome => call("record_outcome", arguments.clone()),
        Verb::Release => call("record_outcome", with_outcome("released")),
        Verb::Cancel => call("record_outcome", with_outcome("abandoned")),
        Verb::Stats => call("memory_stats", arguments.clone()),
        Verb::Expire | Verb::Reopen => unreachable!("there is no such tool"),
    }
}

/// A step as a request.
pub fn by_request(client: &Client, verb: Verb, arguments: &Value) -> Result<Value, Refusal> {
    let mut arguments = arguments.clone();
    let id = arguments["handoff_id"].as_str().map(str::to_owned);
    let looks = arguments["peek"] == true;
    let (method, path) = match (verb, &id) {
        (Verb::Remember, _) => ("POST", "/records".to_owned()),
        (Verb::Recall, _) => ("GET", "/records".to_owned()),
        (Verb::History, _) => ("GET", "/records/history".to_owned()),
        (Verb::Handoff, _) => ("POST", "/handoffs".to_owned()),
        (Verb::Resume, _) if looks => ("GET", "/resume".to_owned()),
        (Verb::Resume, Some(id)) => ("POST", format!("/handoffs/{id}/accept")),
        (Verb::Resume, None) => ("POST", "/resume".to_owned()),
        // A packet that is closed by its claimant has a verb of its own; what else is reported about has not.
        (Verb::RecordOutcome, Some(id)) if arguments["refs"].is_null() => ("POST", format!("/handoffs/{id}/close")),
        (Verb::RecordOutcome, _) => ("POST", "/outcomes".to_owned()),
        (Verb::Release, Some(id)) => ("POST", format!("/handoffs/{id}/release")),
        (Verb::Cancel, Some(id)) => ("POST", format!("/handoffs/{id}/cancel")),
        (Verb::Stats, _) => ("GET", "/stats".to_owned()),
        _ => unreachable!("{verb:?} is not done by a request"),
    };
    let fields = arguments.as_object_mut().expect("arguments");
    if id.is_some_and(|id| path.contains(&id)) {
        fields.remove("handoff_id");
    }
    let answer = if method == "POST" {
        client.post(&path, &arguments)
    } else {
        let pairs: Vec<String> = fields.iter().map(|(name, field)| pair(name, field)).collect();
        client.ask("GET", &format!("{path}?{}", pairs.join("&")), None)
    };
    match answer.status {
        // What proves the file stands at an address of its own.
        200 if arguments["verify"] == true => {
            let mut numbers = answer.json();
            numbers["verify"] = client.get("/verify");
            Ok(numbers)
        }
        200 | 201 => Ok(answer.json()),
        status => Err(answer.refused(status)),
    }
}

/// An argument as it stands in an address.
fn pair(name: &str, field: &Value) -> String {
    let text = field.as_str().map_or_else(|| field.to_string(), str::to_owned);
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    format!("{name}={encoded}")
}

/// A step as a program at a shell does it.
pub fn by_command(shell: &Shell, verb: Verb, arguments: &Value) -> Result<Value, Refusal> {
    let mut arguments = arguments.clone();
    let id = arguments["handoff_id"].as_str().map(str::to_owned);
    let mut words: Vec<String> = match (verb, &id) {
        (Verb::Remember, _) => vec!["remember".into()],
        (Verb::Recall, _) => vec!["recall".into()],
        (Verb::History, _) => vec!["history".into()],
        (Verb::Handoff, _) => vec!["handoffs".into(), "create".into()],
        (Verb::Resume, Some(id)) if arguments["peek"] != true => vec!["handoffs".into(), "accept".into(), id.clone()],
        (Verb::Resume, _) => vec!["resume".into()],
        (Verb::RecordOutcome, _) => vec!["record_outcome".into()],
        (Verb::Release, Some(id)) => vec!["handoffs".into(), "release".into(), id.clone()],
        (Verb::Cancel, Some(id)) => vec!["handoffs".into(), "cancel".into(), id.clone()],
        (Verb::Reopen, Some(id)) => vec!["handoffs".into(), "reopen".into(), id.clone()],
        (Verb::Release | Verb::Cancel | Verb::Reopen, None) => panic!("{verb:?} of no packet"),
        (Verb::Stats, _) => vec!["memory_stats".into()],
        (Verb::Expire, _) => vec!["handoffs".into(), "expire".into()],
    };
    let fields = arguments.as_object_mut().expect("arguments");
    if id.is_some_and(|id| words.contains(&id)) {
        fields.remove("handoff_id");
    }
    for (name, field) in fields {
        words.extend(flags(name, field));
    }
    words.push("--json".into());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let ran = shell.run(&words);
    match ran.code {
        Some(0) => {
            assert_eq!(ran.stderr, "", "{words:?}");
            Ok(document(&ran.stdout))
        }
        Some(exit @ (1 | 2)) => Err(refusal(&ran, exit)),
        _ => panic!("{words:?}: {ran:?}"),
    }
}

/// An argument as flags: a list is repeated, `true` is the flag alone, and JSON is JSON text.
fn flags(name: &str, field: &Value) -> Vec<String> {
    let flag = format!("--{}", name.replace('_', "-"));
    match field {
        _ if name == "value" || name == "refs" => vec![flag, field.to_string()],
        Value::Array(items) => {
            let each = |item: &Value| [flag.clone(), item.as_str().expect("a text").to_owned()];
            items.iter().flat_map(each).collect()
        }
        Value::Bool(true) => vec![flag],
        Value::Bool(false) => Vec::new(),
        Value::String(text) => vec![flag, text.clone()],
        number => vec![flag, number.to_string()],
    }
}

/// Everything that can happen to a packet, with what it pins.
fn scenario() -> Vec<Step> {
    use Verb::{Cancel, Expire, Handoff, History, Recall, RecordOutcome, Release, Remember, Reopen, Resume, Stats};
    let rate = json!({"scope": "app/billing", "key": "rate"});
    let rates = |version: u64| json!([{"scope": "app/billing", "key": "rate", "version": version}]);
    vec![
        // What is there before anything is.
        step(SCOUT, Recall, json!({"query": "rate"})),
        step(SCOUT, Recall, rate.clone()),
        step(SCOUT, History, rate.clone()),
        step(SCOUT, Resume, json!({"peek": true})),
        step(SCOUT, Stats, json!({})),
        // Records and their versions.
        step(
            SCOUT,
            Remember,
            json!({"scope": "app/billing", "key": "rate", "value": {"b": 1.0, "a": "007"}, "tags": ["billing", " Größe "]}),
        ),
        step(
            SCOUT,
            Remember,
            json!({"scope": "app/billing", "key": "rate", "value": {"b": 1.0, "a": "007"}, "tags": ["billing", "Größe"]}),
        ),
        step(
            SCOUT,
            Remember,
            json!({"scope": "app", "key": "note", "value": "line\none", "confidence": 0.8, "expected_version": 0}),
        ),
        step(
            CODEX,
            Remember,
            json!({"scope": "app", "key": "note", "value": null, "expected_version": 5}),
        ),
        step(CODEX, Remember, json!({"scope": "a\tb", "key": "k", "value": 1})),
        // Create, look, accept, give back, accept again, close.
        packet(
            "first",
            SCOUT,
            json!({"title": "Rates", "summary": "half done", "next_steps": ["write it", "test it"], "open_questions": ["why?"],
                   "files_touched": ["src/rate.rs"], "to_agent": "codex", "expires_in": "7d"}),
        ),
        step(
            SCOUT,
            Handoff,
            json!({"title": "Rates", "summary": "half done", "next_steps": ["write it", "test it"], "open_questions": ["why?"],
                   "files_touched": ["src/rate.rs"], "to_agent": "codex", "expires_in": "7d"}),
        ),
        step(SCOUT, Resume, json!({"peek": true})),
        step(CODEX, Resume, json!({"peek": true})),
        step(CODEX, Resume, json!({"peek": true, "handoff_id": "$first"})),
        step(CODEX, Stats, json!({})),
        // A version that is pinned is superseded meanwhile, by another who had not read it.
        step(
            ANN,
            Remember,
            json!({"scope": "app/billing", "key": "rate", "value": [2], "tags": ["billing"]}),
        ),
        step(CODEX, Resume, json!({})),
        step(BOB, Resume, json!({"handoff_id": "$first"})),
        step(BOB, Release, json!({"handoff_id": "$first", "outcome_ref": "not mine"})),
        step(
            SCOUT,
            RecordOutcome,
            json!({"outcome": "abandoned", "handoff_id": "$first", "outcome_ref": "too late"}),
        ),
        step(
            CODEX,
            Release,
            json!({"handoff_id": "$first", "outcome_ref": "run 1", "note": "out of time\n# not a heading"}),
        ),
        step(CODEX_AGAIN, Resume, json!({"handoff_id": "$first"})),
        step(CODEX, Resume, json!({"handoff_id": "$first"})),
        step(
            CODEX,
            RecordOutcome,
            json!({"outcome": "success", "outcome_ref": "run 2", "handoff_id": "$first", "note": "it worked"}),
        ),
        step(
            CODEX,
            RecordOutcome,
            json!({"outcome": "success", "outcome_ref": "run 2", "handoff_id": "$first", "note": "it worked"}),
        ),
        step(
            CODEX,
            RecordOutcome,
            json!({"outcome": "failure", "outcome_ref": "run 2", "refs": rates(1)}),
        ),
        step(
            ANN,
            RecordOutcome,
            json!({"outcome": "Failure", "outcome_ref": "run 3", "refs": rates(2), "note": "it did not"}),
        ),
        step(
            ANN,
            RecordOutcome,
            json!({"outcome": "failure", "outcome_ref": "run 3"}),
        ),
        // What the session that took it up writes goes on with it.
        packet(
            "second",
            CODEX,
            json!({"title": "The rest", "summary": "goes on", "refs": rates(2), "next_steps": ["go on"]}),
        ),
        step(SCOUT, Resume, json!({"handoff_id": "$first"})),
        // Supersede, cancel, expire.
        packet(
            "third",
            CODEX,
            json!({"title": "The rest, again", "summary": "better", "refs": [], "supersedes": "$second", "to_agent": "coddex"}),
        ),
        step(
            CODEX,
            Handoff,
            json!({"title": "The rest, again and again", "summary": "better", "supersedes": "$second"}),
        ),
        step(
            CODEX,
            Cancel,
            json!({"handoff_id": "$third", "outcome_ref": "a mistake", "note": "never mind"}),
        ),
        packet(
            "hers",
            ANN,
            json!({"title": "Hers", "summary": "private", "next_steps": ["x"], "cwd": "/src/elsewhere"}),
        ),
        packet(
            "theirs",
            ANN,
            json!({"title": "Everyone's", "summary": "shared", "next_steps": ["x"], "shared": true, "expires_in": "0"}),
        ),
        step(BOB, Resume, json!({"handoff_id": "$hers"})),
        step(BOB, Resume, json!({"peek": true})),
        step(ANN, Expire, json!({"older_than": "0"})),
        step(BOB, Resume, json!({"handoff_id": "$theirs"})),
        step(ANN, Resume, json!({})),
        step(BOB, Reopen, json!({"handoff_id": "$third"})),
        step(BOB, Reopen, json!({"handoff_id": "$hers"})),
        step(ANN, Reopen, json!({"handoff_id": "$hers", "expires_in": "1h"})),
        step(ANN, Resume, json!({"cwd": "/src/elsewhere/below"})),
        step(
            ANN,
            RecordOutcome,
            json!({"outcome": "abandoned", "outcome_ref": "given up", "handoff_id": "$hers"}),
        ),
        // Reading it all back.
        step(SCOUT, History, rate.clone()),
        step(
            SCOUT,
            Recall,
            json!({"scope": "app/billing", "key": "rate", "version": 1}),
        ),
        step(
            SCOUT,
            Recall,
            json!({"scope": "app/billing", "key": "rate", "version": 9}),
        ),
        step(SCOUT, Recall, rate),
        step(SCOUT, Recall, json!({"scope": "app", "limit": 1})),
        step(
            SCOUT,
            Recall,
            json!({"tag": "billing", "limit": 500, "min_confidence": 0.1}),
        ),
        step(SCOUT, Recall, json!({"query": "nothing of the kind", "scope": "app"})),
        step(SCOUT, Recall, json!({"query": "007", "limit": 0})),
        step(SCOUT, Stats, json!({"verify": true})),
        step(ANN, Stats, json!({})),
    ]
}

#[test]
fn faces_agree() {
    let steps = scenario();
    let run = |face| {
        let mut run = Run::of(face);
        let answers = run.all(&steps);
        // A server that ends has written all that it was asked to.
        for (_, server) in run.servers.drain() {
            server.finish();
        }
        (answers, run.afterwards(), run.masks.rows(&run.place))
    };
    let (answers, afterwards, rows) = run(Face::Mcp);
    let refused = answers
        .iter()
        .filter(|answer| answer.contains(r#": {"error":["#))
        .count();
    assert!(
        (8..steps.len() / 2).contains(&refused),
        "the scenario does what it is to: {}",
        answers.join("\n")
    );
    for face in OTHERS {
        let (others, read, written) = run(face);
        same("answers", face, &answers, &others);
        same("what is read afterwards", face, &afterwards, &read);
        same("rows", face, &rows, &written);
    }
}

/// Fails with the lines that differ, each beside the other.
#[track_caller]
fn same(what: &str, face: Face, ours: &[String], theirs: &[String]) {
    let mut differ = String::new();
    for index in 0..ours.len().max(theirs.len()) {
        let (one, other) = (ours.get(index), theirs.get(index));
        if one != other {
            differ += &format!("\n{:?}: {}\n{face:?}: {}\n", Face::Mcp, show(one), show(other));
        }
    }
    assert!(differ.is_empty(), "{what} differ:{differ}");
}

fn show(line: Option<&String>) -> &str {
    line.map_or("nothing", String::as_str)
}
