//! What a caller may not see stays unseen on every route and through every tool, whatever routes there are.

use handoff_memory::domain::Agent;
use handoff_memory::domain::handoff::Git;
use serde_json::{Value, json};

use crate::everything::Scribe;
use crate::harness::Place;
use crate::web::{Client, Web, token};

/// Stands in every text of what is hidden.
const SENTINEL: &str = "xyzzy-sentinel";

/// Another owner's packet with its texts, notes, places and a claim, a record that it pins, and the one who looks.
struct Hidden {
    _place: Place,
    web: Web,
    ann: Client,
    packet: String,
    /// The tokens of one who acts for somebody else, and of one who only observes.
    bob: Client,
    observer: Client,
}

fn hidden() -> Hidden {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann", "--agent", "scout"]);
    let bob = token(&place, &["--owner", "bob", "--agent", "codex"]);
    let observer = token(&place, &["--observer", "--agent", "monitor"]);
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let (ann, bob, observer) = (web.with(&ann).session("ann-1"), web.with(&bob), web.with(&observer));
    let record = json!({"scope": "app", "key": "rate", "value": {"secret": SENTINEL}, "tags": [SENTINEL]});
    ann.posted("/records", record);
    // What everybody may see, so that lists are not empty by chance.
    bob.posted(
        "/handoffs",
        json!({"title": "bob's own", "summary": "s", "next_steps": ["x"]}),
    );
    let handed = ann.posted(
        "/handoffs",
        json!({"title": format!("title {SENTINEL}"), "summary": format!("summary {SENTINEL}"), "next_steps": [SENTINEL],
               "open_questions": [SENTINEL], "files_touched": [SENTINEL], "cwd": format!("/src/{SENTINEL}"),
               "refs": [{"scope": "app", "key": "rate"}]}),
    );
    let packet = handed["packet"]["id"].as_str().expect("an id").to_owned();
    ann.posted(
        &format!("/handoffs/{packet}/accept"),
        json!({"cwd": format!("/work/{SENTINEL}")}),
    );
    let released = json!({"note": format!("note {SENTINEL}"), "outcome_ref": format!("run {SENTINEL}")});
    ann.posted(&format!("/handoffs/{packet}/release"), released);
    ann.posted(&format!("/handoffs/{packet}/accept"), json!({}));
    let done = json!({"outcome": "success", "outcome_ref": format!("run 2 {SENTINEL}"), "note": SENTINEL});
    ann.posted(&format!("/handoffs/{packet}/close"), done);
    Hidden {
        _place: place,
        web,
        ann,
        packet,
        bob,
        observer,
    }
}

/// Every route that only looks, with its path filled in, and every query that it takes set to something that finds.
fn looking_routes(hidden: &Hidden) -> Vec<String> {
    let document = hidden.ann.get("//openapi.json");
    let paths = document["paths"].as_object().expect("paths");
    let mut routes = vec!["//metrics".to_owned(), "//openapi.json".to_owned()];
    for (path, operations) in paths {
        let Some(operation) = operations.get("get") else {
            continue;
        };
        let path = path
            .replace("{workspace}", "default")
            .replace("{project}", "default")
            .replace("{id}", &hidden.packet);
        let bare = format!("/{path}");
        routes.push(bare.clone());
        let names: Vec<&str> = operation["parameters"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|parameter| parameter["in"] == "query")
            .map(|parameter| parameter["name"].as_str().expect("a name"))
            .collect();
        for name in &names {
            let value = match *name {
                "scope" => "app",
                "key" => "rate",
                "query" | "tag" => SENTINEL,
                "state" => "all",
                "handoff_id" => &hidden.packet,
                "min_confidence" | "since" => "0",
                "version" | "limit" => "1",
                "mine" => "true",
                "order" => "newest",
                _ => continue,
            };
            routes.push(format!("{bare}?{name}={value}"));
        }
        if names.contains(&"scope") {
            routes.push(format!("{bare}?scope=app&key=rate"));
        }
    }
    assert!(routes.len() > 30, "{routes:?}");
    routes
}

/// Every page, likewise.
fn pages(hidden: &Hidden) -> Vec<String> {
    let project = "//ui/default/default";
    vec![
        "//".to_owned(),
        project.to_owned(),
        format!("{project}?state=closed"),
        format!("{project}/handoffs/{}", hidden.packet),
        format!("{project}/agents"),
        format!("{project}/ledger"),
        format!("{project}/records"),
        format!("{project}/records?scope=app"),
        format!("{project}/record?scope=app&key=rate"),
        "//ui/verify".to_owned(),
    ]
}

#[test]
fn another_owners_packet_is_nowhere() {
    let hidden = hidden();
    let id = &hidden.packet;
    for route in looking_routes(&hidden).into_iter().chain(pages(&hidden)) {
        let answer = hidden.bob.ask("GET", &route, None);
        // A record is everybody's; the packet, and what was said beside it, is not.
        let of_packet = ["title", "summary", "note", "run", "run 2"].map(|word| format!("{word} {SENTINEL}"));
        for text in of_packet
            .iter()
            .chain([&format!("/src/{SENTINEL}"), &format!("/work/{SENTINEL}")])
        {
            assert!(
                !answer.body.contains(text.as_str()),
                "{route} tells {text}: {}",
                answer.body
            );
        }
        let named = route.contains(id.as_str());
        let about = answer.body.matches(id.as_str()).count();
        assert!(named || about == 0, "{route} names the packet: {}", answer.body);
        if named {
            assert_eq!(answer.status, 404, "{route}: {answer:?}");
        }
    }
    // Not told apart from one that never was.
    let never = hidden.bob.ask("GET", "/handoffs/h_0000000000000000", None).refused(404);
    let theirs = hidden.bob.ask("GET", &format!("/handoffs/{id}"), None).refused(404);
    assert_eq!(never.message.replace("h_0000000000000000", id), theirs.message);
    // Nor counted.
    let listed = hidden.bob.get("/handoffs?state=all");
    assert_eq!(
        (&listed["total"], listed["packets"].as_array().map(Vec::len)),
        (&json!(1), Some(1))
    );
    let project = &hidden.bob.get("//workspaces/default/projects")["projects"][0];
    assert_eq!(project["pending_handoff_count"], 1);
    assert_eq!(
        project["handoffs"],
        json!({"open": 1, "accepted": 0, "closed": 0, "expired": 0})
    );
    let own = &listed["packets"][0];
    assert_eq!(own["changes_since"], json!({"total": 0, "by_author": 0}), "{own}");
    // Its place in the ledger stays, and nothing else of it.
    let entries = hidden.bob.get("/ledger?limit=200")["entries"]
        .as_array()
        .expect("entries")
        .clone();
    let veiled: Vec<&Value> = entries.iter().filter(|entry| entry["redacted"] == true).collect();
    assert!(veiled.len() >= 5, "{entries:?}");
    for entry in veiled {
        let names: Vec<&String> = entry.as_object().expect("an entry").keys().collect();
        assert_eq!(names, ["seq", "at", "hash", "redacted"]);
    }
}

#[test]
fn another_owners_packet_cannot_be_acted_on() {
    let hidden = hidden();
    let before = hidden.ann.get("/ledger")["last"].clone();
    let id = &hidden.packet;
    for verb in ["accept", "release", "cancel", "close"] {
        let body = json!({"outcome": "success", "outcome_ref": "guessed"});
        let refused = hidden.bob.post(&format!("/handoffs/{id}/{verb}"), &body).refused(404);
        assert_eq!(refused.code, "not_found", "{verb}");
    }
    let body = json!({"outcome": "success", "outcome_ref": "guessed", "handoff_id": id});
    hidden.bob.post("/outcomes", &body).refused(404);
    hidden.bob.post("/resume", &json!({"handoff_id": id})).refused(404);
    let new = json!({"title": "t", "summary": "s", "supersedes": id});
    hidden.bob.post("/handoffs", &new).refused(404);
    // Nor over MCP.
    for (tool, arguments) in [
        ("resume", json!({"handoff_id": id})),
        ("resume", json!({"handoff_id": id, "peek": true})),
        (
            "record_outcome",
            json!({"handoff_id": id, "outcome": "success", "outcome_ref": "guessed"}),
        ),
        ("handoff", json!({"title": "t", "summary": "s", "supersedes": id})),
    ] {
        assert_eq!(hidden.bob.call_tool(tool, arguments).expect_err(tool).code, "not_found");
    }
    let stats = hidden
        .bob
        .call_tool("memory_stats", json!({}))
        .expect("numbers")
        .to_string();
    assert!(!stats.contains(SENTINEL) && !stats.contains(id.as_str()), "{stats}");
    assert_eq!(hidden.ann.get("/ledger")["last"], before, "nothing was written");
}

#[test]
fn an_observer_sees_that_there_is_something_and_not_what() {
    let hidden = hidden();
    let id = &hidden.packet;
    for route in looking_routes(&hidden).into_iter().chain(pages(&hidden)) {
        let answer = hidden.observer.ask("GET", &route, None);
        let asked = route.matches(SENTINEL).count();
        // What was asked for may be repeated; nothing else holds it.
        assert!(
            answer.body.matches(SENTINEL).count() <= asked,
            "{route}: {}",
            answer.body
        );
        let searches = route.contains("?query=") || route.contains("?tag=");
        assert_eq!(
            answer.status == 403,
            searches && !route.contains("/ui/"),
            "{route}: {answer:?}"
        );
    }
    let shown = &hidden.observer.get(&format!("/handoffs/{id}"))["packet"];
    assert_eq!(shown["redacted"], true);
    assert_eq!(
        [
            &shown["state"],
            &shown["from_agent"],
            &shown["accepted_by"],
            &shown["owner"]
        ],
        [&json!("closed"), &json!("scout"), &json!("scout"), &json!("ann")]
    );
    for gone in [
        "summary",
        "next_steps",
        "open_questions",
        "files_touched",
        "cwd",
        "receiving_cwd",
        "outcome_ref",
    ] {
        assert!(shown[gone].is_null(), "{gone}: {shown}");
    }
    assert_eq!(hidden.observer.get("/handoffs?state=all")["total"], 2);
    let record = &hidden.observer.get("/records?scope=app&key=rate")["records"][0];
    assert!(record["value"].is_null() && record["redacted"] == true, "{record}");
    for tool in ["recall", "history", "memory_stats", "resume"] {
        let arguments = json!({"scope": "app", "key": "rate", "peek": true});
        let told = hidden.observer.call_tool(tool, arguments).expect(tool).to_string();
        assert!(!told.contains(SENTINEL), "{tool}: {told}");
    }
    let mut events = hidden.observer.stream("/ledger?since=0");
    let heard: Vec<_> = events.by_ref().take(6).collect();
    assert!(
        heard.iter().all(|event| !event.data.to_string().contains(SENTINEL)),
        "{heard:?}"
    );
    assert!(
        heard.iter().any(|event| event.data["kind"] == "handed_off"),
        "{heard:?}"
    );
}

#[test]
fn an_observer_changes_nothing() {
    let hidden = hidden();
    let before = hidden.ann.get("/ledger")["last"].clone();
    let open = hidden.ann.hand_off("waits");
    let after = hidden.ann.get("/ledger")["last"].clone();
    assert_ne!(before, after);
    let document = hidden.ann.get("//openapi.json");
    let mut tried = 0;
    for (path, operations) in document["paths"].as_object().expect("paths") {
        if operations.get("post").is_none() {
            continue;
        }
        tried += 1;
        let path = path
            .replace("{workspace}", "default")
            .replace("{project}", "default")
            .replace("{id}", &open);
        let body = json!({"title": "t", "summary": "s", "scope": "a", "key": "k", "value": 1, "outcome": "success",
                          "outcome_ref": "r", "refs": [{"scope": "app", "key": "rate"}]});
        let refused = hidden.observer.post(&format!("/{path}"), &body).refused(403);
        assert_eq!(refused.code, "not_allowed", "{path}");
    }
    assert!(tried >= 8, "{tried}");
    for tool in ["remember", "handoff", "resume", "record_outcome"] {
        let arguments = json!({"title": "t", "summary": "s", "scope": "a", "key": "k", "value": 1, "outcome": "success",
                               "outcome_ref": "r", "refs": [{"scope": "app", "key": "rate"}]});
        assert_eq!(
            hidden.observer.call_tool(tool, arguments).expect_err(tool).code,
            "not_allowed"
        );
    }
    assert_eq!(hidden.ann.get("/ledger")["last"], after);
    assert_eq!(hidden.web.stop().0, Some(0));
}

#[test]
fn who_acts_only_in_another_owners_packets_is_nobody_here() {
    let place = Place::new();
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let of = |owner: &str, agent: &str| web.with(&token(&place, &["--owner", owner, "--agent", agent]));
    let (bob, root) = (
        of("bob", "codex"),
        web.with(&token(&place, &["--root", "--agent", "admin"])),
    );
    // Everybody knows scout, who wrote a record; claude wrote a packet of ann's and nothing else.
    of("ann", "scout").posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    of("ann", "claude").hand_off("hers alone");
    let told = |client: &Client, to: &str| {
        let body = json!({"title": format!("for {to}"), "summary": "s", "next_steps": ["x"], "to_agent": to});
        let handed = client.posted("/handoffs", body);
        let id = handed["packet"]["id"].as_str().expect("an id").to_owned();
        let shown = client.get(&format!("/handoffs/{id}"));
        (
            handed["warnings"].to_string(),
            shown["packet"]["to_agent_unseen"] == true,
        )
    };
    for (to, near) in [("claude", None), ("claud", None), ("scuot", Some("scout"))] {
        let (warnings, unseen) = told(&bob, to);
        assert!(
            warnings.contains("was seen in this project yet") && unseen,
            "{to}: {warnings}"
        );
        assert_eq!(warnings.contains("nearest"), near.is_some(), "{to}: {warnings}");
        assert!(near.is_none_or(|near| warnings.contains(near)), "{to}: {warnings}");
    }
    assert_eq!(told(&bob, "scout"), ("null".to_owned(), false));
    let (warnings, _) = told(&root, "claud");
    assert!(warnings.contains("nearest known: claude"), "{warnings}");
    assert_eq!(told(&root, "CLAUDE"), ("null".to_owned(), false));
}

#[test]
fn a_purged_note_of_another_owners_packet_is_no_change_of_ones_own() {
    let place = Place::new();
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let of = |owner: &str, agent: &str| web.with(&token(&place, &["--owner", owner, "--agent", agent]));
    let (ann, bob) = (of("ann", "scout"), of("bob", "codex"));
    ann.posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    let hers = json!({"title": "hers", "summary": "s", "refs": [{"scope": "s", "key": "k"}]});
    let hers = ann.posted("/handoffs", hers)["packet"]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    ann.posted(&format!("/handoffs/{hers}/accept"), json!({}));
    let done = json!({"outcome": "success", "outcome_ref": "run 1", "note": "a leaked word"});
    ann.posted(&format!("/handoffs/{hers}/close"), done);
    let of_record = json!({"outcome": "success", "outcome_ref": "run 2", "note": "another leaked word",
        "refs": [{"scope": "s", "key": "k"}]});
    let seen = bob.hand_off("bob's own");
    ann.posted("/outcomes", of_record);
    let total = || bob.get(&format!("/handoffs/{seen}"))["packet"]["changes_since"]["total"].clone();
    assert_eq!(total(), 1, "a report on a record is everybody's");
    let purge = |text: &str| {
        let ran = place.run(&["purge", "--containing", text, "--why", "secret", "--yes"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
    };
    purge("a leaked word");
    assert_eq!(total(), 1, "the note on her packet was hers");
    purge("another leaked word");
    assert_eq!(total(), 2, "the other one was everybody's");
}

#[test]
fn an_observer_reads_no_branch_and_nothing_that_is_private_to_an_agent() {
    let place = Place::new();
    let mut scribe = Scribe::at(&place.db());
    scribe.remember("scout", "app/plan", "1", |_| {});
    scribe.remember("claude/s3", "own/zyxsecret", "\"zyxsecret\"", |new| {
        new.private_to = Some(Agent::new("claude").expect("an agent"));
    });
    let packet = scribe.hand_off("scout/s1", "on a branch", |new| {
        new.git = Some(Git {
            branch: Some("zyxsecret".to_owned()),
            commit: "zyxsecret".to_owned(),
            dirty: true,
        });
    });
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let of = |flags: &[&str]| web.with(&token(&place, flags));
    let (observer, claude) = (of(&["--observer"]), of(&["--owner", "ann", "--agent", "claude"]));
    // Its agent reads it, and everybody where a shared packet was written.
    assert_eq!(
        claude.get("/records?scope=own&key=zyxsecret")["records"][0]["value"],
        "zyxsecret"
    );
    assert_eq!(
        claude.get(&format!("/handoffs/{packet}"))["packet"]["git"]["branch"],
        "zyxsecret"
    );
    let one = format!("/handoffs/{packet}");
    for path in [
        "/records?scope=own",
        "/stats",
        "/ledger",
        "/handoffs?state=all",
        "/resume",
        &one,
        "//workspaces",
        "//ui/default/default",
    ] {
        let answer = observer.ask("GET", path, None);
        assert!([200, 404].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.body.contains("zyxsecret"), "{path}: {}", answer.body);
    }
    assert_eq!(observer.get("/records?scope=own")["total"], 0);
    observer
        .ask("GET", "/records/history?scope=own&key=zyxsecret", None)
        .refused(404);
    let stats = observer.call_tool("memory_stats", json!({})).expect("numbers");
    assert!(!stats.to_string().contains("zyxsecret"), "{stats}");
    let entries = observer.get("/ledger")["entries"].as_array().expect("entries").clone();
    let veiled: Vec<&Value> = entries.iter().filter(|entry| entry.get("kind").is_none()).collect();
    assert_eq!(veiled.len(), 1, "the private record's alone: {entries:?}");
}
