//! How a server ends while somebody is still being answered.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Place};
use crate::web::Web;

#[test]
fn a_large_answer_reaches_a_slow_reader_whole_although_the_server_is_asked_to_end() {
    let place = Place::new();
    let mut web = Web::of(&place, &[]);
    // More than the system takes for a reader that does not read.
    let value = "v".repeat(1_000_000);
    for n in 0..24 {
        let body = json!({"scope": "s", "key": format!("k{n}"), "value": value});
        web.anyone().posted("/records", body);
    }
    let mut slow = TcpStream::connect(web.url.trim_start_matches("http://")).expect("it listens");
    slow.set_read_timeout(Some(PATIENCE)).expect("a time");
    let path = "/workspaces/default/projects/default/records?scope=s&limit=200";
    write!(slow, "GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("it is sent");
    let mut answer = vec![0; 20];
    slow.read_exact(&mut answer).expect("it begins");
    web.ask_to_end();
    assert!(!web.ends_within(Duration::from_secs(1)), "somebody is being answered");
    slow.read_to_end(&mut answer).expect("all of it comes");
    let text = String::from_utf8(answer).expect("UTF-8");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    let body: Value = serde_json::from_str(body).expect("all of the document");
    assert_eq!(body["records"].as_array().map(Vec::len), Some(24));
    let (code, stderr) = web.ended();
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
}
