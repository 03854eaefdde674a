//! From where a request may come, what every answer says for browsers, and how many requests there may be.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::{PATIENCE, Place};
use crate::rest_identity::who;
use crate::web::{Answer, Client, Web, eventually, token};

/// Sends bytes as they are, and gives the answer as it came.
fn raw(web: &Web, request: &str) -> String {
    let mut stream = TcpStream::connect(web.url.trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream.write_all(request.as_bytes()).expect("it is sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("it is read");
    answer
}

#[test]
fn x04_no_name_server_and_no_page_of_somebody_elses_gets_anything() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let port = web.url.rsplit(':').next().expect("a port").to_owned();
    web.anyone()
        .posted("/records", json!({"scope": "s", "key": "k", "value": "zyx"}));
    let asks = |host: &str, origin: &str| {
        let path = "/workspaces/default/projects/default/records?scope=s";
        raw(
            &web,
            &format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{host}{origin}\r\n"),
        )
    };
    let good = format!("Host: localhost:{port}\r\n");
    for host in [
        good.clone(),
        format!("Host: 127.0.0.1:{port}\r\n"),
        "Host: LOCALHOST\r\n".into(),
        "Host: [::1]:1\r\n".into(),
    ] {
        assert!(asks(&host, "").starts_with("HTTP/1.1 200"), "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "localhost@evil.example",
        "0.0.0.0",
        "",
    ] {
        for host in [format!("Host: {host}:{port}\r\n"), format!("Host: {host}\r\n")] {
            let answer = asks(&host, "");
            assert!(
                answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.1 400"),
                "{host}: {answer}"
            );
            assert!(!answer.contains("zyx"), "{answer}");
        }
    }
    assert!(!asks("", "").contains("zyx"), "a request without a name is for nobody");
    let allowed = |origin: &str| {
        let answer = asks(&good, &format!("Origin: {origin}\r\n"));
        let head = answer.to_lowercase();
        assert!(!head.contains("access-control-allow"), "{origin}: {answer}");
        assert!(
            answer.contains("zyx") == answer.starts_with("HTTP/1.1 200"),
            "{origin}: {answer}"
        );
        answer.starts_with("HTTP/1.1 200")
    };
    assert!(allowed(&format!("http://localhost:{port}")), "its own page");
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost",
        "http://localhost:1",
        &format!("http://127.0.0.1:{port}"),
        &format!("http://localhost:{port}.evil.example"),
        "file://",
        "",
    ] {
        assert!(!allowed(origin), "{origin}");
    }
    // Nor is anything written for one, or told to one that asks first.
    let evil = web.anyone().header("Origin", "https://evil.example");
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/json"] {
        let client = evil.clone().header("Content-Type", kind);
        for path in ["/records", "/handoffs", "/resume", "//mcp", "//health"] {
            let refusal = client
                .ask("POST", path, Some(r#"{"scope":"s","key":"k","value":2}"#))
                .refused(403);
            assert_eq!(refusal.code, "not_allowed");
        }
    }
    let asked = evil
        .header("Access-Control-Request-Method", "POST")
        .ask("OPTIONS", "/records", None);
    assert_eq!(asked.refused(403).code, "not_allowed");
    assert_eq!(asked.header("access-control-allow-origin"), None);
    // A form that needs no leave to be sent is no JSON.
    let plain = web.anyone().header("Content-Type", "text/plain");
    assert_eq!(
        plain.ask("POST", "/records", Some("{}")).refused(415).code,
        "invalid_argument"
    );
    assert_eq!(place.count("SELECT count(*) FROM version"), 1);
}

#[test]
fn x04_a_host_and_a_page_that_are_allowed_by_name_are_let_in_and_no_others() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let args = [
        "--allow-host",
        "Memory.example",
        "--allow-origin",
        "https://board.example:8443",
    ];
    let web = Web::of(&place, &args);
    let named = |client: Client, host: &str, origin: &str| client.header("Host", host).header("Origin", origin);
    let board = "https://board.example:8443";
    let allows = |answer: &Answer| answer.header("access-control-allow-origin").map(str::to_owned);
    let read = named(web.with(&ann), "memory.example", board).ask("GET", "/stats", None);
    assert_eq!((read.status, allows(&read).as_deref()), (200, Some(board)));
    assert!(
        read.header("vary").is_some_and(|vary| vary.contains("Origin")),
        "{read:?}"
    );
    assert_eq!(read.header("access-control-allow-credentials"), None);
    // A page has to be able to read why it was refused, and asks first without a token.
    let refused = named(web.anyone(), "memory.example:80", board).ask("GET", "/stats", None);
    assert_eq!((refused.status, allows(&refused).as_deref()), (401, Some(board)));
    let first = named(web.anyone(), "memory.example", board)
        .header("Access-Control-Request-Method", "POST")
        .header("Access-Control-Request-Headers", "authorization,content-type")
        .ask("OPTIONS", "/handoffs", None);
    assert_eq!((first.status, allows(&first).as_deref()), (204, Some(board)));
    let may = first
        .header("access-control-allow-headers")
        .expect("headers")
        .to_lowercase();
    assert!(
        ["authorization", "content-type", "last-event-id", "x-session-id"]
            .iter()
            .all(|name| may.contains(name)),
        "{may}"
    );
    assert!(
        first
            .header("access-control-allow-methods")
            .is_some_and(|methods| methods.contains("POST"))
    );
    for (host, origin) in [
        ("memory.example", "https://board.example"),
        ("memory.example", "http://board.example:8443"),
        ("memory.example", "https://board.example:8443.evil.example"),
        ("sub.memory.example", board),
        ("evil.example", board),
    ] {
        let answer = named(web.with(&ann), host, origin).ask("GET", "/stats", None);
        assert_eq!(answer.refused(403).code, "not_allowed", "{host} {origin}");
        assert_eq!(allows(&answer), None, "{host} {origin}");
    }
}

#[test]
fn every_answer_says_what_it_is_not_to_be_taken_for() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let bob = token(&place, &["--owner", "bob"]);
    let web = Web::of(&place, &["--rate-limit", "1"]);
    let with = |kind: &str| web.with(&ann).header("Content-Type", kind);
    let mut answers = vec![
        web.anyone().ask("GET", "//health", None),
        web.anyone().ask("GET", "/stats", None),
        web.anyone().header("Origin", "null").ask("GET", "/stats", None),
        web.anyone().header("Host", "evil.example").ask("GET", "/stats", None),
        with("text/plain").ask("POST", "/resume", Some("{}")),
    ];
    let streams = web.with(&bob).header("Accept", "text/event-stream");
    answers.push(streams.ask("HEAD", "/ledger", None));
    for (method, path) in [
        ("GET", "//nothing"),
        ("PUT", "/stats"),
        ("GET", "//metrics"),
        ("POST", "//mcp"),
    ] {
        answers.push(with("application/json").ask(method, path, None));
    }
    // More requests in a second than there may be: each one beyond is told when to come again.
    loop {
        let answer = web.with(&ann).ask("GET", "/stats", None);
        answers.push(answer.clone());
        if answer.status == 429 {
            assert_eq!(answer.refused(429).code, "busy");
            assert_eq!(answer.header("retry-after"), Some("1"));
            break;
        }
        assert_eq!(answer.status, 200);
    }
    for answer in answers {
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("x-frame-options", "DENY"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("cross-origin-resource-policy", "same-origin"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}: {answer:?}");
        }
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"),
            "{policy}"
        );
        assert_ne!(answer.header("access-control-allow-origin"), Some("*"));
        assert_eq!(answer.header("server"), None);
    }
    assert_eq!(who(&web.with(&bob)).0, "bob", "another token has room of its own");
    eventually("the time to come again comes", || {
        web.with(&ann).ask("GET", "/stats", None).status == 200
    });
}

/// Puts something else, or nothing, where the database is.
fn replaced(place: &Place, by: Option<&str>) {
    for beside in ["memory.db", "memory.db-wal", "memory.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(beside));
    }
    if let Some(text) = by {
        std::fs::write(place.db(), text).expect("it is written");
    }
}

#[test]
fn a_store_that_goes_away_opens_no_door_and_tells_nothing_at_it() {
    let text = "no database at all, but a text of some length";
    for made_before in [true, false] {
        let place = Place::new();
        let first = made_before.then(|| token(&place, &["--owner", "ann"]));
        let web = Web::of(&place, &[]);
        let ann = first.unwrap_or_else(|| token(&place, &["--owner", "ann"]));
        assert_eq!(web.anyone().ask("GET", "/stats", None).status, 401);
        assert_eq!(web.with(&ann).ask("GET", "/stats", None).status, 200);
        replaced(&place, None);
        for client in [web.anyone(), web.with(&ann), web.with("hmt_x")] {
            for path in ["/stats", "//workspaces", "//metrics", "//openapi.json", "/verify"] {
                assert_eq!(client.ask("GET", path, None).refused(401).code, "not_allowed", "{path}");
            }
            let body = json!({"scope": "s", "key": "k", "value": 1});
            assert_eq!(client.post("/records", &body).refused(401).code, "not_allowed");
        }
        assert!(!place.db().exists(), "and nothing is made in its place");
        // A token of the store that is there now is good again, without a restart.
        let bob = token(&place, &["--owner", "bob"]);
        assert_eq!(who(&web.with(&bob)).0, "bob");
        replaced(&place, Some(text));
        let answer = web.anyone().ask("GET", "/stats", None);
        assert_eq!(answer.refused(500).code, "corrupt");
        let form = web.anyone().header("Content-Type", "application/x-www-form-urlencoded");
        let signing = form.ask("POST", "//ui/signin", Some("token=hmt_x"));
        let path = place.path().to_str().expect("UTF-8");
        for answer in [answer, signing] {
            assert!(answer.status == 500 && !answer.body.contains(path), "{answer:?}");
        }
    }
}

#[test]
fn what_anyone_sends_as_a_method_or_an_address_is_no_number_of_its_own() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let numbers = || web.anyone().ask("GET", "//metrics", None).body.lines().count();
    let ask = |n: usize| {
        for host in ["localhost", "evil.example"] {
            let head = format!("METHOD{n} /address/{n} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            assert!(raw(&web, &head).starts_with("HTTP/1.1 40"), "{head}");
        }
        web.anyone()
            .get(&format!("//workspaces/w{n}/projects/p{n}/stats?n={n}"));
    };
    ask(0);
    numbers();
    let before = numbers();
    (1..20).for_each(ask);
    assert_eq!(numbers(), before);
}
