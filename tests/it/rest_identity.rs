//! Who may come in over HTTP, and as whom.

use serde_json::{Value, json};

use crate::harness::{LEGACY, Place, Ran, answer_of};
use crate::rest_work::agent;
use crate::shell::Shell;
use crate::web::{Client, Web, eventually, id_of, token};

/// Who a caller is, as the server sees it.
#[track_caller]
pub fn who(client: &Client) -> (String, Option<String>, Option<String>) {
    let stats = client.get("/stats");
    let text = |name: &str| stats[name].as_str().map(str::to_owned);
    (text("agent").expect("an agent"), text("owner"), text("session"))
}

#[track_caller]
fn is_out(client: &Client) {
    let answer = client.ask("GET", "/stats", None);
    assert_eq!(answer.refused(401).code, "not_allowed");
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"), "{answer:?}");
}

#[test]
fn without_any_token_a_header_says_who_it_is_and_a_body_says_the_same() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let some = |name: &str| Some(name.to_owned());
    assert_eq!(who(&web.anyone()), ("agent".to_owned(), None, None));
    assert_eq!(
        who(&agent(&web, " Scout ")),
        ("Scout".to_owned(), None, some("Scout -1"))
    );
    let scout = agent(&web, "scout");
    let stats = scout.call_tool("memory_stats", json!({})).expect("numbers");
    assert_eq!(
        (&stats["agent"], &stats["session"]),
        (&json!("scout"), &json!("scout-1"))
    );
    let write = |value: u64, field: &str, name: &str| {
        let mut body = json!({"scope": "s", "key": "k", "value": value});
        body[field] = json!(name);
        scout.post("/records", &body)
    };
    for field in ["agent", "author", "from_agent"] {
        assert!(write(1, field, "SCOUT").status < 300, "{field} may be named");
        let refusal = write(2, field, "codex").refused(403);
        assert_eq!(refusal.code, "not_allowed");
        assert!(
            refusal.message.contains(field) && refusal.message.contains("scout"),
            "{refusal:?}"
        );
    }
    assert_eq!(write(2, "owner", "ann").refused(403).code, "not_allowed");
    let named = write(3, "session", "scout-2").json();
    assert_eq!(
        named["record"]["session"], "scout-2",
        "a body names the session, if it does"
    );
    assert_eq!(write(4, "note", "x").json()["record"]["session"], "scout-1");
    assert_eq!(place.count("SELECT count(*) FROM version"), 3);
}

#[test]
fn x09_a_token_says_who_acts_and_nothing_else_can() {
    let place = Place::new();
    let some = |name: &str| Some(name.to_owned());
    let tokens = [
        (vec!["--owner", "ann", "--agent", "claude"], "claude", some("ann")),
        (vec!["--owner", "ann"], "ann", some("ann")),
        (vec!["--agent", "claude"], "claude", None),
        (vec!["--root"], "root", None),
    ];
    let made: Vec<(String, &str, Option<String>)> = tokens
        .into_iter()
        .map(|(flags, agent, owner)| (token(&place, &flags), agent, owner))
        .collect();
    // What the server's own environment says is nobody who comes in with a token.
    let start = place
        .start()
        .agent("the-server")
        .env("MEMORY_OWNER", "bob")
        .env("SESSION_ID", "its-own");
    let web = Web::started(start.env("RUST_LOG", "off"), &[]);
    for (token, agent, owner) in made {
        let client = web.with(&token);
        let is = |session: Option<String>| (agent.to_owned(), owner.clone(), session);
        assert_eq!(who(&client), is(None));
        assert_eq!(who(&client.clone().session("s-1")), is(some("s-1")));
        assert_eq!(
            who(&client.clone().header("X-Agent-Id", &agent.to_uppercase())),
            is(None)
        );
        let other = client.clone().header("X-Agent-Id", "somebody");
        assert_eq!(other.ask("GET", "/stats", None).refused(403).code, "not_allowed");
        let bodies = [
            ("agent", "somebody"),
            ("author", "somebody"),
            ("from_agent", "somebody"),
            ("owner", "bob"),
        ];
        for (field, name) in bodies {
            for path in [
                "/records",
                "/handoffs",
                "/resume",
                "/outcomes",
                "/handoffs/h_0123456789abcdef/accept",
            ] {
                let mut body = json!({"scope": "s", "key": "k", "value": 1, "title": "t", "summary": "s",
                                      "outcome": "success", "outcome_ref": "r"});
                body[field] = json!(name);
                let refusal = client.post(path, &body).refused(403);
                assert_eq!(refusal.code, "not_allowed", "{path} {field}");
                assert!(refusal.message.contains(field), "{path} {field}: {refusal:?}");
            }
        }
        let written = client.posted("/records", json!({"scope": "s", "key": agent, "value": owner}));
        assert_eq!(written["record"]["author"], agent);
        // Over MCP a header names nobody beside a token, either.
        for client in [&client, &other] {
            let stats = client.call_tool("memory_stats", json!({})).expect("numbers");
            assert_eq!(stats["agent"], agent);
        }
    }
    let owners = place.count("SELECT count(*) FROM ledger WHERE agent IN ('somebody', 'the-server')");
    assert_eq!(owners, 0);
}

#[test]
fn only_a_good_token_in_the_header_lets_anyone_in() {
    let place = Place::new();
    let good = token(&place, &["--owner", "ann"]);
    let other = token(&place, &["--owner", "bob"]);
    let short = token(&place, &["--owner", "eve", "--expires-in", "1s"]);
    let web = Web::of(&place, &["--rate-limit", "0"]);
    assert_eq!(who(&web.with(&good)).0, "ann");
    is_out(&web.anyone());
    let (id, secret) = (id_of(&good), good.rsplit('_').next().expect("a secret"));
    let turned: String = secret.chars().rev().collect();
    for wrong in [
        format!("Bearer hmt_{id}_{turned}"),
        format!("Bearer hmt_{}_{secret}", id_of(&other)),
        format!("Bearer hmt_0123456789abcdef_{secret}"),
        format!("Bearer {}", good.to_uppercase()),
        format!("Bearer {good}x"),
        format!("Bearer {id}"),
        "Bearer".to_owned(),
        "Bearer ' OR 1=1 --".to_owned(),
        format!("Basic {good}"),
        good.clone(),
        format!("Token {good}"),
    ] {
        is_out(&web.anyone().header("Authorization", &wrong));
    }
    for path in ["/stats?token=", "/stats?access_token=", "/stats?authorization="] {
        let answer = web.anyone().ask("GET", &format!("{path}{good}"), None);
        assert_eq!(
            answer.refused(401).code,
            "not_allowed",
            "an address is no place for a token"
        );
    }
    for name in ["Cookie", "X-Api-Key", "X-Token", "Proxy-Authorization"] {
        is_out(&web.anyone().header(name, &format!("Bearer {good}")));
    }
    for path in [
        "//openapi.json",
        "//metrics",
        "//workspaces",
        "//nothing",
        "//mcp",
        "/ledger",
        "/verify",
    ] {
        assert_eq!(web.anyone().ask("GET", path, None).status, 401, "{path}");
    }
    assert_eq!(
        web.anyone().get("//health")["status"],
        "ok",
        "a process manager has no token"
    );
    assert_eq!(web.anyone().get("//health/ready")["status"], "ok");
    eventually("a token ends at its time", || {
        web.with(&short).ask("GET", "/stats", None).status == 401
    });
    assert_eq!(
        web.with(&format!(" {good}")).ask("GET", "/stats", None).status,
        200,
        "blanks are no part of it"
    );
}

#[test]
fn a_revoked_token_is_out_at_its_next_request_and_its_stream_ends() {
    let place = Place::new();
    let (ann, bob) = (token(&place, &["--owner", "ann"]), token(&place, &["--owner", "bob"]));
    let web = Web::of(&place, &["--rate-limit", "0"]);
    web.with(&ann).hand_off("hers");
    let mut hers = web.with(&ann).stream("/ledger?since=0");
    let mut his = web.with(&bob).stream("/ledger?since=0");
    assert_eq!(
        (hers.next().expect("an entry").id, his.next().expect("an entry").id),
        ("1".into(), "1".into())
    );
    let admin = Shell::of(&place, "admin");
    admin.json(&["token", "revoke", id_of(&ann)]);
    is_out(&web.with(&ann));
    let left: Vec<_> = hers.by_ref().collect();
    assert!(left.len() <= 1, "what was on its way, and then the end: {left:?}");
    web.with(&bob).hand_off("after it");
    let seqs: Vec<String> = his.by_ref().take(2).map(|event| event.id).collect();
    assert_eq!(seqs, ["2", "3"], "another one's stream goes on");
    admin.json(&["token", "revoke", id_of(&bob)]);
    assert!(his.next().is_none());
    // A store that had a token once stays closed, for a server that is started now, too.
    is_out(&web.anyone());
    let later = Web::of(&place, &[]);
    is_out(&later.anyone());
    is_out(&later.with(&bob));
    let root = token(&place, &["--root"]);
    assert_eq!(who(&later.with(&root)).0, "root");
}

/// What `serve` says when it does not start: nothing on standard output, and one error.
#[track_caller]
pub fn does_not_serve(ran: &Ran) -> String {
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    let told: Value = serde_json::from_str(ran.stderr.trim()).unwrap_or_else(|e| panic!("{e}: {ran:?}"));
    assert_eq!(told["error"]["code"], "invalid_argument", "{ran:?}");
    format!("{} {}", told["error"]["message"], told["error"]["hint"])
}

#[test]
fn without_a_token_only_this_machine_is_served() {
    let place = Place::new();
    let serve = |args: &[&str]| {
        let start = place.start().env("RUST_LOG", "off");
        start.args(&["serve", "--json"]).args(args).run()
    };
    for (args, words) in [
        (vec!["--listen", "0.0.0.0:0"], ["--listen", "token create"]),
        (vec!["--listen", "[::]:0"], ["--listen", "token create"]),
        (
            vec!["--listen", "127.0.0.1:0", "--root-only"],
            ["--root-only", "token create"],
        ),
        (vec!["--listen", "nowhere"], ["--listen", "127.0.0.1"]),
        (
            vec!["--listen", "127.0.0.1:0", "--allow-origin", "*"],
            ["--allow-origin", "https://"],
        ),
        (
            vec!["--listen", "127.0.0.1:0", "--allow-host", "*"],
            ["--allow-host", "host name"],
        ),
    ] {
        let told = does_not_serve(&serve(&args));
        assert!(words.iter().all(|word| told.contains(word)), "{args:?}: {told}");
    }
    assert!(!place.db().exists());
    let ann = token(&place, &["--owner", "ann"]);
    let mut web = Web::of(&place, &["--listen", "0.0.0.0:0"]);
    web.url = web.url.replace("0.0.0.0", "127.0.0.1");
    assert_eq!(who(&web.with(&ann)).0, "ann");
    is_out(&web.anyone());
}

/// One MCP message of 2025 in a session, or to begin one; gives the session's name and the reply.
#[track_caller]
pub fn in_session(client: &Client, session: Option<&str>, body: &Value) -> (u16, Option<String>, Value) {
    let mut client = client.clone().header("Accept", "application/json, text/event-stream");
    if let Some(session) = session {
        client = client
            .header("Mcp-Session-Id", session)
            .header("Mcp-Protocol-Version", LEGACY);
    }
    let answer = client.post("//mcp", body);
    let named = answer.header("mcp-session-id").map(str::to_owned);
    let events = answer.body.lines().filter_map(|line| line.strip_prefix("data:"));
    let text = events.map(str::trim).find(|data| !data.is_empty());
    let reply = serde_json::from_str(text.unwrap_or(&answer.body)).unwrap_or_default();
    (answer.status, named, reply)
}

#[test]
fn a_session_over_mcp_is_its_tokens_and_nobody_elses() {
    let place = Place::new();
    let (ann, bob) = (token(&place, &["--owner", "ann"]), token(&place, &["--owner", "bob"]));
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let begin = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "her-client", "version": "1"}}});
    let stats = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                       "params": {"name": "memory_stats", "arguments": {}}});
    let (status, session, _) = in_session(&web.with(&ann), None, &begin);
    let session = session.expect("a session");
    assert_eq!(status, 200);
    let (_, _, reply) = in_session(&web.with(&ann), Some(&session), &stats);
    let told = answer_of(&reply).expect("numbers");
    assert_eq!(
        (&told["agent"], &told["session"]),
        (&json!("her-client"), &json!(session))
    );
    for client in [web.with(&bob), web.anyone()] {
        let (status, _, reply) = in_session(&client, Some(&session), &stats);
        assert!([401, 404].contains(&status), "{status} {reply}");
        let ended = client.header("Mcp-Session-Id", &session).ask("DELETE", "//mcp", None);
        assert!([401, 404].contains(&ended.status), "{ended:?}");
    }
    let (status, _, _) = in_session(&web.with(&ann), Some(&session), &stats);
    assert_eq!(status, 200, "it is still there");
    Shell::of(&place, "admin").json(&["token", "revoke", id_of(&ann)]);
    let (status, _, _) = in_session(&web.with(&ann), Some(&session), &stats);
    assert_eq!(status, 401);
}
