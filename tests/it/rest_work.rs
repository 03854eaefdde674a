//! REST: a piece of work through every route, and the shapes that the description of the routes tells.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::Place;
use crate::rest_routes::{Words, described, everything};
use crate::web::{Client, Web};

/// A packet's id.
#[track_caller]
fn id(answer: &Value) -> String {
    answer["packet"]["id"].as_str().expect("a packet's id").to_owned()
}

/// Somebody without a token, who says who it is.
pub fn agent(web: &Web, name: &str) -> Client {
    web.anyone().header("X-Agent-Id", name).session(&format!("{name}-1"))
}

#[test]
fn a_piece_of_work_goes_from_hand_to_hand() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let (scout, codex) = (agent(&web, "scout"), agent(&web, "codex"));

    // A new version is 201, the same one again 200.
    let rate = json!({"scope": "app", "key": "rate", "value": {"b": 1.0}, "tags": ["billing"], "confidence": 0.8});
    let written = scout.post("/records", &rate);
    assert_eq!(written.status, 201, "{written:?}");
    let record = &written.json()["record"];
    assert_eq!((&record["version"], &record["author"]), (&json!(1), &json!("scout")));
    assert_eq!(record.get("value"), None, "its writer knows the value");
    let again = scout.post("/records", &rate);
    assert_eq!((again.status, &again.json()["unchanged"]), (200, &json!(true)));
    let read = codex.get("/records?scope=app&key=rate");
    assert_eq!(
        (&read["total"], &read["records"][0]["value"]),
        (&json!(1), &json!({"b": 1.0}))
    );

    // A packet pins what its session touched.
    let words = json!({"title": "Rates", "summary": "half done", "next_steps": ["test"], "to_agent": "codex"});
    let handed = scout.post("/handoffs", &words);
    assert_eq!(handed.status, 201, "{handed:?}");
    let packet = id(&handed.json());
    assert_eq!(handed.json()["refs"][0]["version"], 1);
    let again = scout.post("/handoffs", &words);
    assert_eq!(
        (again.status, id(&again.json())),
        (200, packet.clone()),
        "no second one"
    );
    let listed = codex.get("/handoffs?state=open");
    assert_eq!(
        (&listed["total"], &listed["packets"][0]["id"]),
        (&json!(1), &json!(packet))
    );
    assert_eq!(listed["packets"][0].get("summary"), None, "a list is short");

    // To look is not to take.
    let shown = codex.get(&format!("/handoffs/{packet}"));
    assert_eq!(
        (&shown["packet"]["summary"], &shown["packet"]["state"]),
        (&json!("half done"), &json!("open"))
    );
    assert_eq!(
        (&shown["refs"][0]["value"], &shown["refs"][0]["status"]),
        (&json!({"b": 1.0}), &json!("current"))
    );
    assert_eq!(shown["entries"][0]["kind"], "handed_off");
    let peeked = codex.get("/resume");
    assert_eq!(
        (&peeked["waiting"], &peeked["packets"][0]["id"]),
        (&json!(1), &json!(packet))
    );
    assert_eq!(codex.get("/stats")["waiting"][0]["id"], json!(packet));
    assert_eq!(
        codex.posted("/resume", json!({"peek": true}))["packets"][0]["state"],
        "open"
    );

    // One takes it, and gets it again; another is refused.
    let taken = codex.posted(&format!("/handoffs/{packet}/accept"), json!({"cwd": "/src/app"}));
    assert_eq!(
        (&taken["packet"]["state"], &taken["packet"]["accepted_by"]),
        (&json!("accepted"), &json!("codex"))
    );
    assert_eq!(taken["packet"]["receiving_cwd"], "/src/app");
    let again = codex.posted(&format!("/handoffs/{packet}/accept"), json!({}));
    assert_eq!(again["already_yours"], true);
    assert_eq!(scout.get("/handoffs?state=open")["total"], 0);

    // It goes back, comes by itself to who looks for work, and ends with a report that moves what it pins.
    let back = codex.posted(&format!("/handoffs/{packet}/release"), json!({"note": "out of time"}));
    assert_eq!((&back["packet"]["state"], &back["moved"]), (&json!("open"), &json!([])));
    assert_eq!(id(&codex.posted("/resume", json!({}))), packet);
    let report = json!({"outcome": "success", "outcome_ref": "run 1", "note": "it worked"});
    let closed = codex.posted(&format!("/handoffs/{packet}/close"), report.clone());
    assert_eq!(
        closed["packet"],
        json!({"id": packet, "state": "closed", "ended_as": "success"})
    );
    assert_eq!(
        (&closed["moved"][0]["before"], &closed["moved"][0]["after"]),
        (&json!(0.8), &json!(0.84))
    );
    assert_eq!(
        codex.posted(&format!("/handoffs/{packet}/close"), report)["repeated"],
        true
    );
    assert_eq!(
        codex.get(&format!("/handoffs/{packet}"))["entries"][5]["note"],
        "it worked"
    );
    let nothing = codex.posted("/resume", json!({}));
    assert_eq!((nothing.get("packet"), &nothing["refs"]), (None, &json!([])));

    // What is taken back never was anybody's; a report on a record needs no packet.
    let other = scout.hand_off("a mistake");
    let cancelled = scout.posted(&format!("/handoffs/{other}/cancel"), json!({}));
    assert_eq!(cancelled["packet"]["ended_as"], "cancelled");
    let report = json!({"outcome": "failure", "outcome_ref": "run 2", "refs": [{"scope": "app", "key": "rate"}]});
    assert_eq!(scout.posted("/outcomes", report)["moved"][0]["version"], 1);

    // Numbers, ledger, proof.
    let stats = scout.get("/stats");
    assert_eq!(
        (&stats["agent"], &stats["session"]),
        (&json!("scout"), &json!("scout-1"))
    );
    assert_eq!(
        stats["handoffs"],
        json!({"open": 0, "accepted": 0, "closed": 1, "expired": 1})
    );
    assert_eq!(scout.get("/checkpoint")["checkpoint"], stats["checkpoint"]);
    let ledger = scout.get("/ledger?limit=200");
    let kinds: Vec<&str> = ledger["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .filter_map(|e| e["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        [
            "created",
            "remembered",
            "handed_off",
            "accepted",
            "resumed",
            "released",
            "accepted",
            "outcome",
            "closed",
            "handed_off",
            "expired",
            "outcome"
        ]
    );
    assert_eq!((&ledger["last"], ledger.get("next_since")), (&json!(kinds.len()), None));
    let elsewhere = scout.clone().in_project("other", "a%20b%2Fc");
    elsewhere.posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    let workspaces = scout.get("//workspaces");
    let counts: Vec<_> = workspaces["workspaces"]
        .as_array()
        .expect("workspaces")
        .iter()
        .map(|w| (&w["workspace"], &w["projects"]))
        .collect();
    assert_eq!(counts, [(&json!("default"), &json!(1)), (&json!("other"), &json!(1))]);
    let projects = scout.get("//workspaces/other/projects");
    assert_eq!(
        projects["projects"][0]["project"], "a b/c",
        "an address names any project"
    );
    let history = scout.get("/records/history?scope=app&key=rate");
    assert_eq!(
        (&history["total"], &history["versions"][0]["failures"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(scout.get("/verify")["ok"], true);
    assert_eq!(scout.get("//health")["status"], "ok");
    assert_eq!(scout.get("//health/ready")["status"], "ok");
    let metrics = scout.ask("GET", "//metrics", None);
    assert!(metrics.body.contains("handoff_memory_writes_total "), "{metrics:?}");
    assert_eq!(web.stop().0, Some(0));
    place.verify_clean();
}

#[test]
fn a_lost_claim_says_who_holds_the_packet_and_since_when() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let packet = agent(&web, "scout").hand_off("for one");
    let held = agent(&web, "codex").posted(&format!("/handoffs/{packet}/accept"), json!({}));
    let since = held["packet"]["accepted_at"].as_str().expect("a time");
    let late = agent(&web, "claude");
    let taking = [
        (format!("/handoffs/{packet}/accept"), json!({})),
        ("/resume".to_owned(), json!({"handoff_id": packet})),
    ];
    for (path, body) in taking {
        let refusal = late.post(&path, &body).refused(409);
        assert_eq!(refusal.code, "conflict", "{path}");
        for told in ["codex", "codex-1", since] {
            assert!(refusal.message.contains(told), "{path} tells {told}: {refusal:?}");
        }
    }
    // Nobody but its holder gives it back or ends it, and its author is told why it cannot be taken back any more.
    let report = json!({"outcome": "success", "outcome_ref": "run"});
    for (verb, body) in [("release", json!({})), ("close", report)] {
        let refusal = late.post(&format!("/handoffs/{packet}/{verb}"), &body).refused(403);
        assert!(
            refusal.message.contains("codex") && refusal.message.contains(since),
            "{verb}: {refusal:?}"
        );
    }
    let refusal = agent(&web, "scout")
        .post(&format!("/handoffs/{packet}/cancel"), &json!({}))
        .refused(409);
    assert!(
        refusal.message.contains("codex") && refusal.message.contains(since),
        "{refusal:?}"
    );
    // A write on a version that is not the current one any more is lost in the same way.
    let write = |who: &str, value: u64| {
        let body = json!({"scope": "app", "key": "rate", "value": value, "expected_version": 0});
        agent(&web, who).post("/records", &body)
    };
    assert_eq!(write("codex", 1).status, 201);
    let refusal = write("claude", 2).refused(409);
    assert!(refusal.message.contains("codex"), "{refusal:?}");
}

#[test]
fn every_route_and_tool_answers_in_the_shape_that_it_tells() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    scout.posted(
        "/records",
        json!({"scope": "app", "key": "rate", "value": [1, "plain"], "tags": ["plain"]}),
    );
    let packet = scout.hand_off("one");
    let checkpoint = scout.get("/checkpoint")["checkpoint"]
        .as_str()
        .expect("a checkpoint")
        .to_owned();
    let words = Words {
        packet: &packet,
        word: "plain",
        agent: "scout",
        owner: None,
        checkpoint: &checkpoint,
    };
    let told = everything(&scout, &words);
    let names: BTreeSet<&str> = told.iter().map(|one| one.name.as_str()).collect();
    let done: BTreeSet<&str> = told
        .iter()
        .filter(|one| one.status < 300)
        .map(|one| one.name.as_str())
        .collect();
    // A packet goes one way only, so that each of these is done to one of its own.
    let document = scout.get("//openapi.json");
    let report = json!({"outcome": "failure", "outcome_ref": "run"});
    let verbs = [
        ("accept", json!({})),
        ("cancel", json!({})),
        ("release", json!({})),
        ("close", report),
    ];
    for (n, (verb, body)) in verbs.iter().enumerate() {
        let packet = scout.hand_off(&format!("to {verb}"));
        if n > 1 {
            scout.posted(&format!("/handoffs/{packet}/accept"), json!({}));
        }
        let answer = scout.post(&format!("/handoffs/{packet}/{verb}"), body);
        assert_eq!(answer.status, 200, "{verb}: {answer:?}");
        let path = format!("/workspaces/{{workspace}}/projects/{{project}}/handoffs/{{id}}/{verb}");
        described(
            &document,
            &document["paths"][path.as_str()]["post"],
            verb,
            200,
            &answer.json(),
        );
    }
    let done_apart = |name: &&&str| verbs.iter().any(|(verb, _)| **name == format!("{verb}_handoff"));
    let never: Vec<_> = names.difference(&done).filter(|name| !done_apart(name)).collect();
    assert!(never.is_empty(), "never done: {never:?}");
    assert!(names.len() > 25, "{names:?}");
    place.verify_clean();
}
