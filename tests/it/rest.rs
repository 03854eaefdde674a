//! The routes: what they take, what they answer, and what they say when they do not.

use rusqlite::TransactionBehavior;
use serde_json::{Value, json};

use crate::harness::Place;
use crate::web::{Web, token};

#[test]
fn a_packets_life_by_requests() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = web.anyone().header("X-Agent-Id", "scout").session("scout-1");
    let codex = web.anyone().header("X-Agent-Id", "codex").session("codex-1");
    let other = web.anyone().header("X-Agent-Id", "claude").session("claude-1");
    let written = scout.post("/records", &json!({"scope": "a", "key": "k", "value": 1}));
    assert_eq!(written.status, 201);
    assert_eq!(
        scout
            .post("/records", &json!({"scope": "a", "key": "k", "value": 1}))
            .status,
        200,
        "unchanged"
    );
    let body = json!({"title": "T", "summary": "S", "next_steps": ["x"]});
    let handed = scout.post("/handoffs", &body);
    assert_eq!(handed.status, 201);
    assert_eq!(handed.json()["refs"][0]["key"], "k", "what the session wrote is pinned");
    assert_eq!(scout.post("/handoffs", &body).status, 200, "the same one again");
    let id = handed.json()["packet"]["id"].as_str().expect("an id").to_owned();
    let waits = codex.get("/resume");
    assert_eq!(waits["packets"][0]["id"], id.as_str());
    let taken = codex.posted(&format!("/handoffs/{id}/accept"), json!({"cwd": "/src/app"}));
    assert_eq!(
        [
            &taken["packet"]["state"],
            &taken["packet"]["accepted_session"],
            &taken["packet"]["receiving_cwd"]
        ],
        [&json!("accepted"), &json!("codex-1"), &json!("/src/app")]
    );
    assert_eq!(
        codex.posted(&format!("/handoffs/{id}/accept"), json!({}))["already_yours"],
        true
    );
    // Who lost is told to whom, and since when.
    let lost = other.post(&format!("/handoffs/{id}/accept"), &json!({})).refused(409);
    assert_eq!(lost.code, "conflict");
    let since = codex.get(&format!("/handoffs/{id}"))["packet"]["accepted_at"]
        .as_str()
        .expect("a time")
        .to_owned();
    assert!(
        lost.message.contains("codex") && lost.message.contains(&since),
        "{lost:?}"
    );
    other.post(&format!("/handoffs/{id}/release"), &json!({})).refused(403);
    let released = codex.posted(&format!("/handoffs/{id}/release"), json!({"note": "later"}));
    assert_eq!(released["packet"]["state"], "open");
    assert_eq!(
        codex.posted(&format!("/handoffs/{id}/release"), json!({}))["repeated"],
        true
    );
    other.post(&format!("/handoffs/{id}/release"), &json!({})).refused(409);
    other.posted("/resume", json!({}));
    let closed = other.posted(
        &format!("/handoffs/{id}/close"),
        json!({"outcome": "success", "outcome_ref": "run 1"}),
    );
    assert_eq!(
        (&closed["packet"]["state"], &closed["moved"][0]["after"]),
        (&json!("closed"), &json!(0.76))
    );
    other
        .post(
            &format!("/handoffs/{id}/close"),
            &json!({"outcome": "released", "outcome_ref": "r"}),
        )
        .refused(422);
    let shown = scout.get(&format!("/handoffs/{id}"));
    let kinds: Vec<&Value> = shown["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|e| &e["kind"])
        .collect();
    assert_eq!(
        kinds,
        ["handed_off", "accepted", "resumed", "released", "accepted", "closed"]
    );
    assert_eq!(shown["entries"][3]["note"], "later");
    let second = scout.hand_off("second");
    assert_eq!(
        scout.posted(&format!("/handoffs/{second}/cancel"), json!({}))["packet"]["ended_as"],
        "cancelled"
    );
    assert_eq!(scout.get("/handoffs")["total"], 1, "expired ones are left out");
    assert_eq!(
        scout.get("/handoffs?state=all&order=newest")["packets"][0]["id"],
        second.as_str()
    );
    assert_eq!(scout.get("/handoffs?state=closed&state=expired")["total"], 2);
    let report = json!({"outcome": "failure", "outcome_ref": "run 2", "refs": [{"scope": "a", "key": "k"}]});
    assert_eq!(scout.posted("/outcomes", report)["moved"][0]["version"], 1);
    let projects = scout.get("//workspaces/default/projects");
    assert_eq!(projects["projects"][0]["pending_handoff_count"], 0);
    assert_eq!(scout.get("//workspaces")["workspaces"][0]["projects"], 1);
    let checkpoint = scout.get("/checkpoint")["checkpoint"]
        .as_str()
        .expect("a checkpoint")
        .to_owned();
    assert_eq!(scout.get(&format!("/verify?checkpoint={checkpoint}"))["ok"], true);
    let forged = checkpoint.replace(&checkpoint[checkpoint.len() - 4..], "0000");
    let faults = scout.get(&format!("/verify?checkpoint={forged}"));
    assert_eq!(
        (&faults["ok"], &faults["faults"][0]["kind"]),
        (&json!(false), &json!("checkpoint"))
    );
    place.verify_clean();
}

#[test]
fn x07_values_go_through_byte_for_byte_and_whole() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    let texts = [
        r#"{"b":1,"a":{"z":100.0,"y":1.0,"n":-0.0}}"#,
        "9223372036854775807",
        "18446744073709551615",
        r#""007""#,
        "null",
        r#"" \u0000 ünï 👩‍💻 ""#,
        "0.1",
    ];
    for (number, text) in texts.iter().enumerate() {
        let body = format!(r#"{{"scope":"a","key":"k{number}","value":{text}}}"#);
        assert_eq!(client.ask("POST", "/records", Some(&body)).status, 201, "{text}");
        let read = client.ask("GET", &format!("/records?scope=a&key=k{number}"), None);
        let kept = read.body.split(r#""value":"#).nth(1).expect("a value");
        assert!(kept.starts_with(text), "{text}: {kept}");
    }
    let large = format!(
        r#"{{"scope":"a","key":"large","value":"{}"}}"#,
        "x".repeat(1024 * 1024 - 2)
    );
    assert_eq!(client.ask("POST", "/records", Some(&large)).status, 201);
    let read = client.get("/records?scope=a&key=large");
    assert_eq!(
        read["records"][0]["value"].as_str().map(str::len),
        Some(1024 * 1024 - 2)
    );
    let larger = format!(r#"{{"scope":"a","key":"large","value":"{}"}}"#, "x".repeat(1024 * 1024));
    assert_eq!(
        client.ask("POST", "/records", Some(&larger)).refused(422).code,
        "invalid_argument"
    );
    let huge = format!(r#"{{"scope":"a","key":"k","value":"{}"}}"#, "x".repeat(9 * 1024 * 1024));
    let refused = client.try_ask("POST", "/records", Some(&huge));
    // The server need not read all of it before it says no.
    assert!(refused.is_err() || refused.is_ok_and(|answer| answer.status == 413));
    place.verify_clean();
}

#[test]
fn what_cannot_be_read_is_400_and_what_cannot_be_taken_422() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    for body in [
        "",
        "{",
        "[]",
        "1",
        r#""text""#,
        r#"{"scope":"a","scope":"b"}"#,
        r#"{"scope":"\ud83d"}"#,
        "{}x",
    ] {
        let answer = client.ask("POST", "/records", Some(body));
        assert!([400, 422].contains(&answer.status), "{body}: {answer:?}");
        assert_eq!(answer.refused(answer.status).code, "invalid_argument");
        // An empty body asks for nothing, and something was needed.
        assert_eq!(answer.status == 422, body.is_empty(), "{body}: {answer:?}");
    }
    for (body, field) in [
        (json!({"key": "k", "value": 1}), "scope"),
        (json!({"scope": "a", "key": "", "value": 1}), "key"),
        (json!({"scope": "a", "key": "k"}), "value"),
        (
            json!({"scope": "a", "key": "k", "value": 1, "confidence": 2}),
            "confidence",
        ),
        (json!({"scope": "a", "key": "k", "value": 1, "tags": [1]}), "tags"),
        (
            json!({"scope": "a", "key": "k", "value": 1, "expected_version": -1}),
            "expected_version",
        ),
    ] {
        let refused = client.post("/records", &body).refused(422);
        assert!(refused.message.contains(field), "{body}: {refused:?}");
    }
    for path in [
        "/handoffs?limit=ten",
        "/handoffs?state=lost",
        "/handoffs?order=best",
        "/handoffs?cursor=x",
        "/handoffs/nonsense",
        "/records",
        "/records?limit=%zz",
        "/records?q=typo",
        "/records?query=x&version=1",
        "/ledger?since=-1",
        "/verify?checkpoint=x",
        "//workspaces/default/projects/%00/handoffs",
    ] {
        let refused = client.ask("GET", path, None).refused(400);
        assert_eq!(refused.code, "invalid_argument", "{path}");
    }
    assert!(
        client.ask("GET", "/records?q=typo", None).body.contains("query"),
        "the nearest name is told"
    );
    for (method, path, status) in [
        ("GET", "//nothing/here", 404),
        ("GET", "/handoffs/h_0000000000000000", 404),
        ("GET", "/records/history?scope=a&key=none", 404),
        ("GET", "/checkpoint", 404),
        ("DELETE", "/handoffs", 405),
        ("PUT", "/records", 405),
    ] {
        client.ask(method, path, None).refused(status);
    }
    let conflict = json!({"scope": "a", "key": "k", "value": 1, "expected_version": 3});
    client.post("/records", &conflict).refused(409);
    assert!(!place.db().exists() || place.count("SELECT count(*) FROM version") == 0);
}

#[test]
fn a04_pages_are_of_1_to_200_on_every_list() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone().session("s");
    for number in 0..25 {
        client.posted("/records", json!({"scope": "a", "key": "k", "value": number}));
        client.hand_off(&format!("packet {number}"));
    }
    for (path, list) in [
        ("/handoffs?", "packets"),
        ("/records?scope=a&", "records"),
        ("/records/history?scope=a&key=k&", "versions"),
        ("/ledger?", "entries"),
    ] {
        for wrong in ["0", "-1", "10.5", "ten"] {
            let refused = client.ask("GET", &format!("{path}limit={wrong}"), None).refused(400);
            assert!(refused.message.contains("limit"), "{path}{wrong}");
        }
        for many in ["500", "1e9", "9223372036854775808"] {
            let answer = client.get(&format!("{path}limit={many}"));
            let warned = answer["warnings"][0].as_str().unwrap_or_default();
            assert!(warned.contains("200"), "{path}{many}: {answer}");
        }
        let listed = client.get(&format!("{path}limit=3"))[list]
            .as_array()
            .expect("a list")
            .len();
        assert_eq!(listed, if list == "records" { 1 } else { 3 });
    }
    // Pages neither repeat nor skip.
    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = client.get(&format!("/handoffs?limit=7&order=newest{cursor}"));
        seen.extend(
            page["packets"]
                .as_array()
                .expect("packets")
                .iter()
                .map(|p| p["title"].clone()),
        );
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let wanted: Vec<Value> = (0..25).rev().map(|number| json!(format!("packet {number}"))).collect();
    assert_eq!(seen, wanted);
    let mut since = 0;
    let mut entries = 0;
    loop {
        let page = client.get(&format!("/ledger?limit=9&since={since}"));
        entries += page["entries"].as_array().expect("entries").len();
        match page["next_since"].as_u64() {
            Some(next) => since = next,
            None => break,
        }
    }
    assert_eq!(
        entries as u64,
        client.get("/ledger")["last"].as_u64().expect("a number")
    );
}

#[test]
fn x04_only_who_knows_the_servers_name_is_answered_and_no_other_page_may_ask() {
    let place = Place::new();
    let web = Web::of(
        &place,
        &[
            "--allow-host",
            "memory.example",
            "--allow-origin",
            "https://board.example",
        ],
    );
    let client = web.anyone();
    client
        .clone()
        .header("Host", "evil.example")
        .ask("GET", "/handoffs", None)
        .refused(403);
    client
        .clone()
        .header("Host", "evil.example")
        .ask("GET", "//health", None)
        .refused(403);
    assert_eq!(
        client
            .clone()
            .header("Host", "memory.example:99")
            .ask("GET", "/handoffs", None)
            .status,
        200
    );
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost:1",
        "http://board.example",
    ] {
        let answer = client.clone().header("Origin", origin).ask("GET", "/handoffs", None);
        answer.refused(403);
        assert_eq!(answer.header("access-control-allow-origin"), None, "{origin}");
    }
    let own = client.clone().header("Origin", &web.url).ask("GET", "/handoffs", None);
    assert_eq!((own.status, own.header("access-control-allow-origin")), (200, None));
    let board = client.clone().header("Origin", "https://board.example");
    for (method, status) in [("GET", 200), ("OPTIONS", 204)] {
        let answer = board.ask(method, "/handoffs", None);
        assert_eq!(answer.status, status);
        assert_eq!(
            answer.header("access-control-allow-origin"),
            Some("https://board.example")
        );
    }
    // A form of another page can be sent without asking; it is not JSON.
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
    ] {
        let sent = client.clone().header("Content-Type", kind);
        sent.ask("POST", "/records", Some(r#"{"scope":"a","key":"k","value":1}"#))
            .refused(415);
    }
    for path in ["/handoffs", "//nothing", "//health", "//", "//openapi.json", "//mcp"] {
        let answer = client.ask("GET", path, None);
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}: {answer:?}");
        }
        assert!(
            answer
                .header("content-security-policy")
                .is_some_and(|policy| policy.starts_with("default-src 'none'"))
        );
    }
    assert!(!place.db().exists());
}

#[test]
fn a_store_that_is_busy_or_broken_is_told_plainly() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    client.posted("/records", json!({"scope": "a", "key": "k", "value": 1}));
    let mut sql = place.sql();
    let lock = sql
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .expect("the lock");
    // Reads go on beside the one that holds it.
    assert_eq!(client.get("/records?scope=a")["total"], 1);
    let busy = client.post("/records", &json!({"scope": "a", "key": "k", "value": 2}));
    assert_eq!(busy.refused(503).code, "busy");
    assert_eq!(busy.header("retry-after"), Some("1"));
    drop(lock);
    client.posted("/records", json!({"scope": "a", "key": "k", "value": 2}));
    // Another file at its place: told once, then it goes on with that one.
    remove(&place);
    client
        .post("/records", &json!({"scope": "a", "key": "k", "value": 3}))
        .refused(409);
    assert_eq!(
        client.posted("/records", json!({"scope": "a", "key": "k", "value": 3}))["record"]["version"],
        1
    );
    remove(&place);
    std::fs::write(place.db(), "no database at all, but a text of some length").expect("written");
    let broken = client.ask("GET", "/handoffs", None);
    assert_eq!(broken.refused(500).code, "corrupt");
    for word in ["SELECT", "sqlite3", "src/", "panicked"] {
        assert!(!broken.body.contains(word), "{broken:?}");
    }
    client.ask("GET", "//health/ready", None).refused(503);
    assert_eq!(
        client.ask("GET", "//health", None).status,
        200,
        "the server itself is well"
    );
}

#[test]
fn names_of_every_kind_stand_in_addresses() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    for (workspace, project, encoded) in [
        ("team/a", "größe & co", ("team%2Fa", "gr%C3%B6%C3%9Fe%20%26%20co")),
        ("..", "?#%", ("%2E%2E", "%3F%23%25")),
    ] {
        let client = web.anyone().in_project(encoded.0, encoded.1);
        let id = client.hand_off("somewhere");
        let shown = &client.get(&format!("/handoffs/{id}"))["packet"];
        assert_eq!(
            [&shown["workspace"], &shown["project"]],
            [&json!(workspace), &json!(project)]
        );
        assert_eq!(
            client.get(&format!("//workspaces/{}/projects", encoded.0))["projects"][0]["project"],
            project
        );
        let page = client.ask("GET", &format!("//ui/{}/{}/handoffs/{id}", encoded.0, encoded.1), None);
        assert!(page.status == 200 && page.body.contains("somewhere"), "{page:?}");
        web.anyone().ask("GET", &format!("/handoffs/{id}"), None).refused(404);
    }
}

#[test]
fn faults_are_told_in_full_to_root_alone() {
    let place = Place::new();
    let root = token(&place, &["--root"]);
    let ann = token(&place, &["--owner", "ann"]);
    let web = Web::of(&place, &[]);
    web.with(&ann)
        .posted("/records", json!({"scope": "a", "key": "telling-name", "value": 1}));
    place
        .sql()
        .execute_batch("DROP TRIGGER version_update; UPDATE version SET author = 'somebody'")
        .expect("tampered with");
    let full = web.with(&root).get("/verify");
    assert_eq!(full["ok"], false);
    assert!(full.to_string().contains("telling-name"), "{full}");
    let veiled = web.with(&ann).get("/verify");
    assert_eq!(
        (&veiled["ok"], &veiled["faults"][0]["kind"]),
        (&json!(false), &full["faults"][0]["kind"])
    );
    let over_mcp = web
        .with(&ann)
        .call_tool("memory_stats", json!({"verify": true}))
        .expect("numbers");
    for told in [&veiled, &over_mcp] {
        assert!(!told.to_string().contains("telling-name"), "{told}");
    }
    let path = place.path().to_str().expect("UTF-8").to_owned();
    assert!(
        !over_mcp.to_string().contains(&path),
        "where the file lies is the server's own: {over_mcp}"
    );
}

/// Removes a database with what SQLite keeps beside it.
fn remove(place: &Place) {
    for beside in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(beside));
    }
}

#[test]
fn an_answer_that_comes_before_the_body_was_read_says_that_the_connection_ends() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    let evil = client.clone().header("Origin", "https://evil.example");
    for (client, method, path, unread) in [
        (&client, "PUT", "/handoffs", true),
        (&client, "POST", "//nothing", true),
        (&evil, "POST", "/resume", true),
        (&client, "POST", "/resume", false),
        (&client, "POST", "/handoffs", false),
    ] {
        let answer = client.ask(method, path, Some("{}"));
        let ends = answer.header("connection") == Some("close");
        assert_eq!(ends, unread, "{method} {path}: {answer:?}");
    }
    assert_eq!(
        client.ask("DELETE", "/handoffs", None).header("connection"),
        None,
        "nothing was left unread"
    );
}
