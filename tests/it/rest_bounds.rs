//! What a server has only so much of, and what it answers to what is no HTTP.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::json;

use crate::harness::{LEGACY, PATIENCE, Place};
use crate::rest_identity::in_session;
use crate::shell::Shell;
use crate::web::{Web, token};

fn connect(web: &Web) -> TcpStream {
    let stream = TcpStream::connect(web.url.trim_start_matches("http://")).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    stream
}

/// Sends bytes as they are, and gives what came until the end.
fn raw(web: &Web, request: &[u8]) -> String {
    let mut stream = connect(web);
    stream.write_all(request).expect("it is sent");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8(answer).expect("UTF-8")
}

#[test]
fn what_is_no_http_gets_a_status_and_nothing_of_ours() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let long = format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(70_000));
    let many = format!("GET / HTTP/1.1\r\nHost: localhost\r\n{}\r\n", "X: y\r\n".repeat(200));
    for (request, status) in [
        ("no http at all\r\n\r\n", "400"),
        ("GET / HTTP/1.1\r\nHost localhost\r\n\r\n", "400"),
        ("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", "400"),
        (
            "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: many\r\n\r\n",
            "400",
        ),
        (
            "POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
            "400",
        ),
        (long.as_str(), "414"),
        (many.as_str(), "431"),
    ] {
        let answer = raw(&web, request.as_bytes());
        let shown: String = request.chars().take(60).collect();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
        assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{shown}: {answer}");
        assert_eq!(body, "", "{shown}");
        let lower = head.to_lowercase();
        for own in ["memory", "hyper", "server:", "axum"] {
            assert!(!lower.contains(own), "{shown}: {head}");
        }
        assert!(lower.contains("connection: close"), "{shown}: {head}");
    }
    // None of it was the end of the server.
    assert_eq!(web.anyone().get("//health")["status"], "ok");
}

#[test]
fn connections_that_do_nothing_keep_nobody_out_who_is_in_and_the_others_wait() {
    let place = Place::new();
    Shell::of(&place, "scout").says(&["remember", "--scope", "s", "--key", "k", "--value", "1"]);
    let start = place.start().env("RUST_LOG", "off");
    // So few files that a test can use them up.
    let web = Web::started(start.through(&["sh", "-c", "ulimit -n 150; exec \"$@\"", "sh"]), &[]);
    let mut inside = connect(&web);
    let ask = |stream: &mut TcpStream, path: &str| {
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    };
    let first_line = |stream: &mut TcpStream| {
        let mut line = [0; 15];
        stream.read_exact(&mut line).expect("an answer");
        String::from_utf8_lossy(&line).into_owned()
    };
    ask(&mut inside, "/health");
    assert_eq!(first_line(&mut inside), "HTTP/1.1 200 OK");
    let idle: Vec<TcpStream> = (0..150).map(|_| connect(&web)).collect();
    // Whoever is in is served, from a store that is opened only now.
    ask(
        &mut inside,
        "/workspaces/default/projects/default/records?scope=s&key=k",
    );
    let mut answer = String::new();
    while !answer.contains("\"total\":1") {
        let mut some = [0; 4096];
        let count = inside.read(&mut some).expect("an answer");
        assert!(count > 0, "it was left: {answer}");
        answer.push_str(&String::from_utf8_lossy(&some[..count]));
    }
    // One more waits, and is served when others have gone.
    let mut waiting = connect(&web);
    ask(&mut waiting, "/health");
    drop(idle);
    assert_eq!(first_line(&mut waiting), "HTTP/1.1 200 OK");
    assert_eq!(web.stop().0, Some(0));
}

#[test]
fn a_token_has_so_many_sessions_and_leaves_others_theirs() {
    let place = Place::new();
    let (ann, bob) = (token(&place, &["--owner", "ann"]), token(&place, &["--owner", "bob"]));
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let begin = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}});
    let ann = web.with(&ann);
    let mut sessions = Vec::new();
    let refused = loop {
        let (status, session, reply) = in_session(&ann, None, &begin);
        if status != 200 {
            break (status, reply);
        }
        sessions.push(session.expect("a session"));
        assert!(sessions.len() <= 5_000, "there is no end of them");
    };
    assert_eq!((refused.0, sessions.len()), (503, 512), "{refused:?}");
    assert_eq!(refused.1["id"], 7);
    let why = refused.1["error"]["message"].as_str().expect("words");
    assert!(why.contains("too many sessions"), "{why}");
    assert_eq!(in_session(&web.with(&bob), None, &begin).0, 200, "others have theirs");
    // What needs no session needs none now, either; and one that ends makes room.
    assert_eq!(ann.call_tool("memory_stats", json!({})).expect("numbers")["records"], 0);
    let ended = ann
        .clone()
        .header("Mcp-Session-Id", &sessions[0])
        .ask("DELETE", "//mcp", None);
    assert_eq!(ended.status, 204, "{ended:?}");
    assert_eq!(in_session(&ann, None, &begin).0, 200);
}

/// Whether each file and socket that a process has open is closed in a child.
#[cfg(target_os = "linux")]
#[test]
fn a_child_inherits_neither_the_socket_nor_the_store() {
    const CLOSE_ON_EXEC: u32 = 0o2_000_000;
    let place = Place::new();
    let web = Web::of(&place, &[]);
    web.anyone()
        .posted("/records", json!({"scope": "s", "key": "k", "value": 1}));
    let _open = connect(&web);
    web.anyone().get("//health");
    let process = format!("/proc/{}", web.pid().as_raw_nonzero());
    let (mut sockets, mut files) = (0, 0);
    for entry in std::fs::read_dir(format!("{process}/fd")).expect("its files") {
        let entry = entry.expect("a file");
        let Ok(target) = std::fs::read_link(entry.path()) else {
            continue;
        };
        let target = target.to_string_lossy().into_owned();
        let is_socket = target.starts_with("socket:");
        if !is_socket && !target.contains("memory.db") {
            continue;
        }
        let number = entry.file_name().to_string_lossy().into_owned();
        let info = std::fs::read_to_string(format!("{process}/fdinfo/{number}")).expect("its flags");
        let flags = info
            .lines()
            .find_map(|line| line.strip_prefix("flags:"))
            .expect("flags");
        let flags = u32::from_str_radix(flags.trim(), 8).expect("octal");
        assert!(flags & CLOSE_ON_EXEC != 0, "{target} would be inherited: {info}");
        if is_socket { sockets += 1 } else { files += 1 }
    }
    assert!(sockets >= 2 && files >= 2, "{sockets} sockets, {files} files");
}
