//! Who may come in over HTTP, and as whom.

use serde_json::json;

use crate::harness::Place;
use crate::shell::Shell;
use crate::web::{Web, eventually, id_of, token};

#[test]
fn without_a_token_this_machine_alone_is_served_and_with_one_nobody_without() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let anyone = web.anyone();
    assert_eq!(anyone.get("/handoffs")["total"], 0, "and asking has made no file");
    assert!(!place.db().exists());
    anyone
        .header("X-Agent-Id", "scout")
        .posted("/records", json!({"scope": "a", "key": "k", "value": 1}));
    assert_eq!(web.anyone().get("/records?scope=a")["records"][0]["author"], "scout");
    // From the first token on the same server asks for one.
    let made = token(&place, &["--owner", "ann"]);
    for path in [
        "/handoffs",
        "//workspaces",
        "//openapi.json",
        "//metrics",
        "//mcp",
        "//",
    ] {
        let answer = web.anyone().ask("GET", path, None);
        assert_eq!(answer.status, 401, "{path}: {answer:?}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{path}");
    }
    assert_eq!(web.anyone().ask("GET", "//health", None).status, 200);
    assert_eq!(web.anyone().ask("GET", "//health/ready", None).status, 200);
    assert_eq!(web.with(&made).get("/handoffs")["total"], 0);
    // A store that had tokens stays closed when the last one has gone.
    Shell::of(&place, "admin").says(&["token", "revoke", id_of(&made)]);
    web.with(&made).ask("GET", "/handoffs", None).refused(401);
    web.anyone().ask("GET", "/handoffs", None).refused(401);
}

#[test]
fn nothing_but_the_right_token_in_its_header_opens() {
    let place = Place::new();
    let good = token(&place, &["--owner", "ann"]);
    let other = token(&place, &["--owner", "bob"]);
    let web = Web::of(&place, &[]);
    let swapped = format!("hmt_{}_{}", id_of(&good), other.rsplit('_').next().expect("a secret"));
    let cut = &good[..good.len() - 1];
    for wrong in [swapped.as_str(), cut, "", "hmt_", "Bearer", &good.to_uppercase()] {
        web.with(wrong).ask("GET", "/handoffs", None).refused(401);
    }
    for scheme in [format!("Basic {good}"), good.clone(), format!("Token {good}")] {
        web.anyone()
            .header("Authorization", &scheme)
            .ask("GET", "/handoffs", None)
            .refused(401);
    }
    web.anyone()
        .ask("GET", &format!("/handoffs?token={good}&access_token={good}"), None)
        .refused(401);
    web.with(&good).get("/handoffs");
    // Only hashes are kept.
    let bytes = std::fs::read(place.db()).expect("the file");
    let secret = good.rsplit('_').next().expect("a secret").as_bytes();
    assert!(!bytes.windows(secret.len()).any(|window| window == secret));
    let listed = Shell::of(&place, "admin").json(&["token", "list"]);
    assert_eq!(listed["tokens"].as_array().map(Vec::len), Some(2));
    assert!(!listed.to_string().contains(std::str::from_utf8(secret).expect("text")));
}

#[test]
fn x09_the_token_says_who_acts_and_a_body_only_the_same() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann", "--agent", "Codex"]);
    let person = token(&place, &["--owner", "bea"]);
    let web = Web::of(&place, &[]);
    let client = web.with(&ann);
    let record = |more: serde_json::Value| {
        let mut body = json!({"scope": "a", "key": "k", "value": more.to_string()});
        body.as_object_mut()
            .expect("a body")
            .extend(more.as_object().expect("fields").clone());
        body
    };
    for same in [
        json!({}),
        json!({"agent": "codex", "owner": "ann"}),
        json!({"author": "CODEX"}),
    ] {
        let written = client.posted("/records", record(same));
        assert_eq!(written["record"]["author"], "Codex");
        assert!(written["warnings"].is_null(), "{written}");
    }
    for other in [
        json!({"agent": "claude"}),
        json!({"owner": "bob"}),
        json!({"author": "x"}),
        json!({"from_agent": "x"}),
    ] {
        assert_eq!(
            client.post("/records", &record(other.clone())).refused(403).code,
            "not_allowed",
            "{other}"
        );
    }
    let named = client
        .clone()
        .header("X-Agent-Id", "claude")
        .ask("GET", "/stats", None)
        .refused(403);
    assert!(named.message.contains("Codex"), "{named:?}");
    client.clone().header("X-Agent-Id", "codex").get("/stats");
    // A session may be named in the header or the body.
    let body = json!({"scope": "a", "key": "s", "value": 1, "session": "run-7"});
    assert_eq!(client.posted("/records", body)["record"]["session"], "run-7");
    let body = json!({"scope": "a", "key": "s", "value": 2});
    assert_eq!(
        client.clone().session("run-8").posted("/records", body)["record"]["session"],
        "run-8"
    );
    // A person's token is the person, unless a client of the tools names itself.
    let body = json!({"scope": "a", "key": "p", "value": 1});
    assert_eq!(web.with(&person).posted("/records", body)["record"]["author"], "bea");
    let body = json!({"scope": "a", "key": "m", "value": 1});
    let over_mcp = web
        .with(&person)
        .header("X-Agent-Id", "somebody")
        .call_tool("remember", body)
        .expect("written");
    assert_eq!(
        over_mcp["record"]["author"], "bea",
        "a client that does not name itself is the person, too"
    );
    let packet = client.posted("/handoffs", json!({"title": "t", "summary": "s", "next_steps": ["n"]}));
    assert_eq!(packet["packet"]["owner"], "ann");
    let shared = client.posted(
        "/handoffs",
        json!({"title": "u", "summary": "s", "next_steps": ["n"], "shared": true}),
    );
    assert!(shared["packet"]["owner"].is_null());
}

#[test]
fn a_token_ends_when_it_is_revoked_or_its_time_is_over() {
    let place = Place::new();
    let shell = Shell::of(&place, "admin");
    let ann = token(&place, &["--owner", "ann"]);
    let web = Web::of(&place, &[]);
    let client = web.with(&ann);
    client.hand_off("first");
    let mut events = client.stream("/ledger?since=0");
    assert_eq!(events.next().expect("an event").data["kind"], "created");
    shell.says(&["token", "revoke", id_of(&ann)]);
    client.ask("GET", "/handoffs", None).refused(401);
    assert!(events.by_ref().count() <= 2, "its stream ends, too");
    shell.refused(&["token", "revoke", "0123456789abcdef"], 1, "not_found");
    let text = shell
        .refused(&["token", "revoke", "hmt_nonsense"], 2, "invalid_argument")
        .text();
    assert!(
        !text.contains("nonsense"),
        "what may be a secret is not repeated: {text}"
    );
    shell.refused(&["token", "create"], 2, "invalid_argument");
    let short = token(&place, &["--owner", "ann", "--expires-in", "1s"]);
    eventually("its time is over", || {
        web.with(&short).ask("GET", "/handoffs", None).status == 401
    });
    let listed = shell.says(&["token", "list"]);
    assert!(listed.contains("revoked") && listed.contains("ended"), "{listed}");
}

#[test]
fn other_machines_are_not_served_without_a_token_nor_is_everything_owned() {
    let place = Place::new();
    let shell = Shell::of(&place, "admin");
    let open = shell.refused(&["serve", "--listen", "0.0.0.0:0"], 2, "invalid_argument");
    assert!(open.text().contains("token create"), "{open:?}");
    let strict = shell.refused(&["serve", "--listen", "0", "--root-only"], 2, "invalid_argument");
    assert!(strict.text().contains("token create"), "{strict:?}");
    token(&place, &["--owner", "ann"]);
    Web::of(&place, &["--listen", "0.0.0.0:0"]);
    Web::of(&place, &["--root-only"]);
}

#[test]
fn where_every_packet_is_owned_nobody_but_root_sees_a_shared_one() {
    let place = Place::new();
    let shared = Shell::of(&place, "scout").hand_off("written by nobody", &["--next-steps", "x"]);
    let ann = token(&place, &["--owner", "ann"]);
    let root = token(&place, &["--root"]);
    let web = Web::of(&place, &["--root-only"]);
    assert_eq!(web.with(&ann).get("/handoffs?state=all")["total"], 0);
    web.with(&ann)
        .ask("GET", &format!("/handoffs/{shared}"), None)
        .refused(404);
    let body = json!({"title": "t", "summary": "s", "shared": true});
    assert_eq!(web.with(&ann).post("/handoffs", &body).refused(403).code, "not_allowed");
    let own = web.with(&ann).hand_off("ann's");
    assert_eq!(web.with(&ann).get("/handoffs")["packets"][0]["id"], own.as_str());
    assert_eq!(web.with(&root).get("/handoffs")["total"], 2);
    // Root may end what others wrote.
    assert_eq!(
        web.with(&root)
            .post(&format!("/handoffs/{own}/cancel"), &json!({}))
            .status,
        200
    );
}

#[test]
fn the_metrics_are_a_monitors() {
    let place = Place::new();
    let member = token(&place, &["--owner", "ann"]);
    let others = [token(&place, &["--observer"]), token(&place, &["--root"])];
    let web = Web::of(&place, &[]);
    web.with(&member).hand_off("counted");
    assert_eq!(
        web.with(&member).ask("GET", "//metrics", None).refused(403).code,
        "not_allowed"
    );
    for other in others {
        let answer = web.with(&other).ask("GET", "//metrics", None);
        assert!(
            answer
                .header("content-type")
                .is_some_and(|kind| kind.starts_with("text/plain; version=0.0.4")),
            "{answer:?}"
        );
        for line in [
            "handoff_memory_writes_total 1",
            "handoff_memory_commit_writes_bucket{le=\"1\"} 1",
            "# TYPE handoff_memory_streams gauge",
        ] {
            assert!(answer.body.lines().any(|told| told == line), "{line}: {}", answer.body);
        }
        assert!(
            answer
                .body
                .contains("route=\"/workspaces/{workspace}/projects/{project}/handoffs\""),
            "by route, not by address"
        );
        assert!(!answer.body.contains("default"), "no project's name: {}", answer.body);
    }
}

#[test]
fn a_token_that_asks_too_often_is_told_to_wait() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let bob = token(&place, &["--owner", "bob"]);
    let web = Web::of(&place, &["--rate-limit", "1"]);
    let (ann, bob) = (web.with(&ann), web.with(&bob));
    let refused = (0..20)
        .map(|_| ann.ask("GET", "/handoffs", None))
        .find(|answer| answer.status == 429)
        .expect("twenty in a row are too many");
    assert_eq!(refused.refused(429).code, "busy");
    assert_eq!(refused.header("retry-after"), Some("1"));
    bob.get("/handoffs");
}
