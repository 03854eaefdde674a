//! What goes wrong on the server's disk, as callers over HTTP are told it: the status, the code, and never where the file is.

use rustix::process::{Resource, Rlimit, prlimit};
use serde_json::{Value, json};

use crate::harness::Place;
use crate::shell::Shell;
use crate::web::{Client, Web, token};

/// A place with one record, and a token of a member.
fn written() -> (Place, String) {
    let place = Place::new();
    Shell::of(&place, "scout").says(&["remember", "--scope", "s", "--key", "k", "--value", "1"]);
    let ann = token(&place, &["--owner", "ann"]);
    (place, ann)
}

fn write(key: &str, value: Value) -> Value {
    json!({"scope": "s", "key": key, "value": value})
}

/// A write over REST and over MCP that must fail alike; [`Client`] sees to it that neither names a place.
#[track_caller]
fn both_refuse(client: &Client, body: &Value, status: u16, code: &str) {
    assert_eq!(client.post("/records", body).refused(status).code, code);
    let told = client.call_tool("remember", body.clone()).expect_err("it is refused");
    assert_eq!(told.code, code, "{told:?}");
}

#[test]
fn a_project_that_is_not_there_is_told_without_the_place_of_the_file() {
    let (place, ann) = written();
    let web = Web::of(&place, &[]);
    let elsewhere = web.with(&ann).in_project("w", "p");
    let refusal = elsewhere.ask("GET", "/checkpoint", None).refused(404);
    assert!(refusal.message.ends_with("project w/p"), "{refusal:?}");
    let ran = place.run(&["checkpoint", "--project", "p"]);
    assert!(ran.stderr.contains("memory.db"), "at a shell it is: {ran:?}");
}

#[test]
fn a_file_that_was_replaced_refuses_one_write_and_takes_the_next() {
    let (place, ann) = written();
    let web = Web::of(&place, &[]);
    let client = web.with(&ann);
    client.posted("/records", write("k", json!(2)));
    let copy = place.path().join("copy.db");
    let ran = place.run(&["backup", copy.to_str().expect("UTF-8")]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    for beside in ["memory.db-wal", "memory.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(beside));
    }
    std::fs::rename(copy, place.db()).expect("it takes the place");
    let refusal = client.post("/records", &write("k", json!(3))).refused(409);
    assert!(refusal.message.contains("replaced"), "{refusal:?}");
    client.posted("/records", write("k", json!(3)));
    place.verify_clean();
}

#[test]
fn a_file_of_a_newer_program_is_a_fault_of_the_servers() {
    let (place, ann) = written();
    let web = Web::of(&place, &[]);
    let client = web.with(&ann);
    client.posted("/records", write("k", json!(2)));
    place.sql().pragma_update(None, "user_version", 999).expect("raised");
    let written = client.post("/records", &write("k", json!(3)));
    for answer in [written, client.ask("GET", "/records?scope=s", None)] {
        assert_eq!(answer.refused(500).code, "newer_schema");
    }
}

#[test]
fn a_full_disk_is_to_be_tried_again_and_reading_goes_on() {
    let (place, ann) = written();
    // As when the disk is full: a write beyond 512 KiB fails, and the signal for it is ignored.
    let start = place.start().env("RUST_LOG", "off");
    let limited = start.through(&["sh", "-c", "trap '' XFSZ; ulimit -S -f 1024; exec \"$@\"", "sh"]);
    let web = Web::started(limited, &["--rate-limit", "0"]);
    let client = web.with(&ann);
    let mut kept = 0;
    let full = loop {
        let answer = client.post("/records", &write(&format!("k{kept}"), json!("x".repeat(30_000))));
        if answer.status >= 300 {
            break answer;
        }
        kept += 1;
        assert!(kept < 1_000, "it never got full");
    };
    assert_eq!(full.refused(503).code, "disk_full");
    assert!(full.header("retry-after").is_some(), "{full:?}");
    // A refusal may make some room, as the log can be emptied then: what is larger than all of it never fits.
    let larger = write("larger", json!("y".repeat(600_000)));
    both_refuse(&client, &larger, 503, "disk_full");
    assert_eq!(client.get("/records?scope=s&limit=1")["total"], kept + 1);
    assert_eq!(client.get("//health/ready")["status"], "ok");
    let unlimited = Rlimit {
        current: None,
        maximum: None,
    };
    prlimit(Some(web.pid()), Resource::Fsize, unlimited).expect("the limit is raised");
    client.posted("/records", larger);
    assert_eq!(client.get("/records?scope=s&limit=1")["total"], kept + 2);
    assert_eq!(web.stop().0, Some(0));
    place.verify_clean();
}

#[test]
fn a_store_that_could_not_be_written_is_written_again_without_a_restart() {
    let (place, ann) = written();
    let web = Web::of(&place, &[]);
    let client = web.with(&ann);
    client.get("/records?scope=s&key=k");
    // A folder in the place of a file that a writer needs: even root cannot write then.
    let shm = place.path().join("memory.db-shm");
    let _ = std::fs::remove_file(&shm);
    std::fs::create_dir(&shm).expect("a folder in the way");
    let answer = client.post("/records", &write("k", json!(2)));
    assert!([500, 503].contains(&answer.status), "{answer:?}");
    answer.refused(answer.status);
    std::fs::remove_dir(&shm).expect("out of the way");
    client.posted("/records", write("k", json!(2)));
    assert_eq!(client.get("/records?scope=s&key=k")["records"][0]["version"], 2);
}
