//! REST: whatever cannot be read or done is said in one form, with a status that tells whose turn it is.

use serde_json::json;

use crate::harness::Place;
use crate::rest_work::agent;
use crate::web::Web;

/// Method, address, body, status, code, and what the message must tell. `OPEN` and `GONE` are packets, `LONG` is a word.
const REFUSED: &str = r#"
  an address that cannot be read, or where nothing is
GET  | //nothing | | 404 | not_found | /nothing
GET  | /handoffs/ | | 404 | not_found | handoffs
GET  | /handoffs/h_XYZ | | 400 | invalid_argument | id
POST | /handoffs/null/accept | {} | 400 | invalid_argument | null
GET  | //workspaces/%01/projects | | 400 | invalid_argument | workspace
GET  | //workspaces/w/projects/%ff/stats | | 400 | invalid_argument | path
GET  | //workspaces/%20/projects/p/stats | | 400 | invalid_argument | workspace
GET  | /records | | 400 | invalid_argument | scope
GET  | //workspaces/%zz/projects/p/stats | | 400 | invalid_argument | path
GET  | //workspaces/w/projects/p%2/stats | | 400 | invalid_argument | path
GET  | //workspaces/w/projects/%+1/stats | | 400 | invalid_argument | path
GET  | /records?tag=%zz | | 400 | invalid_argument | `tag`
GET  | /records?%zz=tag | | 400 | invalid_argument | address
GET  | /records?q=rate | | 400 | invalid_argument | query
GET  | /records?query=%ff | | 400 | invalid_argument | query
GET  | /records?scope=app&key=rate&version=0 | | 400 | invalid_argument | version
GET  | /records?scope=app&cursor=x | | 400 | invalid_argument | cursor
GET  | /records?scope=app&key=rate&cursor=v1.0 | | 400 | invalid_argument | cursor
GET  | /records?min_confidence=NaN | | 400 | invalid_argument | min_confidence
GET  | /records/history?scope=app | | 400 | invalid_argument | key
GET  | /records?query=LONG | | 400 | invalid_argument | 4096
GET  | /handoffs?state=waiting | | 400 | invalid_argument | state
GET  | /handoffs?mine=perhaps | | 400 | invalid_argument | mine
GET  | /handoffs?order=best | | 400 | invalid_argument | order
GET  | /handoffs?cursor=h1 | | 400 | invalid_argument | cursor
GET  | /ledger?since=-1 | | 400 | invalid_argument | since
GET  | /ledger?since=soon | | 400 | invalid_argument | since
GET  | /verify?checkpoint=hm1 | | 400 | invalid_argument | checkpoint
GET  | /resume?handoff_id=null | | 400 | invalid_argument | handoff_id
  a method that the address does not take
DELETE | /records | | 405 | invalid_argument | DELETE
PUT  | /handoffs | {} | 405 | invalid_argument | PUT
GET  | /handoffs/OPEN/accept | | 405 | invalid_argument | GET
POST | //health | {} | 405 | invalid_argument | POST
  a body that cannot be read
POST | /records | { | 400 | invalid_argument | JSON
POST | /records | [] | 400 | invalid_argument | object
POST | /records | null | 400 | invalid_argument | object
POST | /records | {} {} | 400 | invalid_argument | JSON
POST | /records | {"key":"k","key":"l"} | 400 | invalid_argument | key
POST | /records | {"scope":"s","key":"\ud83d","value":1} | 400 | invalid_argument | surrogate
  a field that cannot be taken
POST | /records | | 422 | invalid_argument | scope
POST | /records | {"scope":"s","key":"k"} | 422 | invalid_argument | value
POST | /records | {"scope":"s","key":7,"value":1} | 422 | invalid_argument | key
POST | /records | {"scope":"s","key":"k","value":1,"confidence":2} | 422 | invalid_argument | confidence
POST | /records | {"scope":"s","key":"k","value":1,"expected_version":-1} | 422 | invalid_argument | expected_version
POST | /records | {"scope":"s","key":"k","value":1,"tags":[7]} | 422 | invalid_argument | tags[0]
POST | /records | {"scope":"s","key":"k","value":{"a":1,"a":2}} | 422 | invalid_argument | value.a
POST | /records | {"scope":"s","key":"k","value":18446744073709551616} | 422 | invalid_argument | 64 bits
POST | /handoffs | {"title":"t"} | 422 | invalid_argument | summary
POST | /handoffs | {"title":"t","summary":"s","refs":[{"scope":"s"}]} | 422 | invalid_argument | refs[0]
POST | /handoffs | {"title":"t","summary":"s","expires_in":"soon"} | 422 | invalid_argument | expires_in
POST | /handoffs | {"title":"t","summary":"s","supersedes":"null"} | 422 | invalid_argument | supersedes
POST | /outcomes | {"outcome":"succes","outcome_ref":"r"} | 422 | invalid_argument | outcome
POST | /outcomes | {"outcome":"success","outcome_ref":"r"} | 422 | invalid_argument | refs
POST | /handoffs/OPEN/close | {"outcome":"released","outcome_ref":"r"} | 422 | invalid_argument | outcome
POST | /handoffs/OPEN/accept | {"cwd":7} | 422 | invalid_argument | cwd
  what is not there
GET  | /handoffs/h_0123456789abcdef | | 404 | not_found | h_0123456789abcdef
GET  | /resume?handoff_id=h_0123456789abcdef | | 404 | not_found | h_0123456789abcdef
POST | /handoffs/h_0123456789abcdef/accept | {} | 404 | not_found | h_0123456789abcdef
POST | /handoffs/h_0123456789abcdef/cancel | {} | 404 | not_found | h_0123456789abcdef
POST | /outcomes | {"outcome":"success","outcome_ref":"r","handoff_id":"h_0123456789abcdef"} | 404 | not_found | h_0123456789abcdef
POST | /handoffs | {"title":"t","summary":"s","refs":[{"scope":"s","key":"k"}]} | 404 | not_found | s/k
GET  | /records/history?scope=app&key=none | | 404 | not_found | none
GET  | //workspaces/w/projects/p/checkpoint | | 404 | not_found | w/p
POST | //workspaces/w/projects/p/handoffs/OPEN/accept | {} | 404 | not_found | OPEN
  what is in another state
POST | /handoffs/GONE/accept | {} | 409 | conflict | cancelled
POST | /handoffs/GONE/cancel | {"outcome_ref":"again"} | 409 | conflict | expired
POST | /handoffs/OPEN/release | {} | 409 | conflict | nobody
POST | /handoffs/OPEN/close | {"outcome":"success","outcome_ref":"r"} | 403 | not_allowed | nobody
POST | /records | {"scope":"app","key":"rate","value":2,"expected_version":0} | 409 | conflict | version 1
"#;

#[test]
fn each_refusal_has_its_status_and_tells_what_is_wrong() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    scout.posted("/records", json!({"scope": "app", "key": "rate", "value": 1}));
    let open = scout.hand_off("open");
    let gone = scout.hand_off("gone");
    scout.posted(&format!("/handoffs/{gone}/cancel"), json!({}));
    let before = scout.get("/ledger")["last"].clone();
    let cases: Vec<&str> = REFUSED.lines().filter(|line| line.contains('|')).collect();
    assert!(cases.len() > 60);
    for case in cases {
        let case = case
            .replace("OPEN", &open)
            .replace("GONE", &gone)
            .replace("LONG", &"x".repeat(4_097));
        let parts: Vec<&str> = case.split('|').map(str::trim).collect();
        let [method, path, body, status, code, told] = parts[..] else {
            panic!("not six parts: {case}")
        };
        let status = status.parse().expect("a status");
        let answer = scout.ask(method, path, Some(body).filter(|body| !body.is_empty()));
        let refusal = answer.refused(status);
        assert_eq!(refusal.code, code, "{case}: {refusal:?}");
        assert!(refusal.message.contains(told), "{case}: {refusal:?}");
        assert!(!refusal.hint.is_empty(), "{case}: {refusal:?}");
        assert_eq!(answer.header("allow").is_some(), status == 405, "{case}: {answer:?}");
        assert_eq!(answer.header("content-type"), Some("application/json"), "{case}");
    }
    for (name, value) in [
        ("X-Session-Id", "a\tb"),
        ("X-Agent-Id", "a\tb"),
        ("Last-Event-ID", "soon"),
    ] {
        let asking = scout.clone().header(name, value).header("Accept", "text/event-stream");
        let refusal = asking.ask("GET", "/ledger", None).refused(400);
        assert!(refusal.message.contains(name), "{refusal:?}");
    }
    assert_eq!(scout.get("/ledger")["last"], before, "nothing of all that was written");
}

#[test]
fn a_body_is_json_in_utf_8_of_at_most_8_mib() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    let send = |kind: &str, body: &[u8]| {
        let client = scout.clone().header("Content-Type", kind);
        client.send("POST", "/records", Some(body)).expect("an answer")
    };
    let body = br#"{"scope":"s","key":"k","value":1}"#;
    for kind in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "application/jsonp",
        "json",
        "",
    ] {
        assert_eq!(send(kind, body).refused(415).code, "invalid_argument", "{kind}");
    }
    let latin = b"{\"scope\":\"s\",\"key\":\"k\",\"value\":\"\xe9\"}";
    assert!(send("application/json", latin).refused(400).message.contains("UTF-8"));
    let long = format!(r#"{{"scope":"s","key":"k","value":"{}"}}"#, "x".repeat(8 * 1024 * 1024));
    let refusal = send("application/json", long.as_bytes()).refused(413);
    assert!(refusal.message.contains("8388608"), "{refusal:?}");
    assert!(!place.db().exists(), "nothing of all that was written");
    for kind in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/merge-patch+json",
    ] {
        assert!([200, 201].contains(&send(kind, body).status), "{kind}");
    }
    let with_bom = [b"\xef\xbb\xbf", &body[..]].concat();
    assert_eq!(send("application/json", &with_bom).json()["unchanged"], true);
    // Every argument may be left out here, so that a body may be, too.
    assert_eq!(scout.ask("POST", "/resume", None).status, 200);
    assert_eq!(scout.ask("POST", "/resume", Some(" \n")).status, 200);
}

#[test]
fn a_write_that_another_process_keeps_out_for_too_long_is_to_be_tried_again() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    scout.posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    let other = place.sql();
    other.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let answer = scout.post("/records", &json!({"scope": "s", "key": "k", "value": 2}));
    assert_eq!(answer.refused(503).code, "busy");
    let seconds: u64 = answer.header("retry-after").expect("a time").parse().expect("seconds");
    assert!(seconds >= 1);
    // Meanwhile reading goes on, and a server that waits for a lock is no broken one.
    assert_eq!(scout.get("/records?scope=s&key=k")["records"][0]["value"], 1);
    assert_eq!(scout.get("//health/ready")["status"], "ok");
    other.execute_batch("ROLLBACK").expect("no lock");
    let written = scout.posted("/records", json!({"scope": "s", "key": "k", "value": 2}));
    assert_eq!(written["record"]["version"], 2, "what was refused is not there");
    place.verify_clean();
}
