//! Files that are removed or replaced under running processes, each alone and together, over lines and over HTTP: one
//! `conflict`, and then it goes on with what is there; nothing that still had a file is lost.

use serde_json::{Value, json};

use crate::harness::{Place, Refusal, Server};
use crate::storage::{beside, text};
use crate::web::{Client, Web};

/// A server that is asked over lines or over HTTP.
enum Face {
    Lines(Box<Server>),
    Web(Web, Box<Client>),
}

impl Face {
    fn all(place: &Place) -> [Self; 2] {
        let web = Web::of(place, &[]);
        let client = web.anyone().header("X-Agent-Id", "web");
        [
            Self::Lines(Box::new(place.agent("lines"))),
            Self::Web(web, Box::new(client)),
        ]
    }

    fn remember(&mut self, key: &str, value: u64) -> Result<Value, Refusal> {
        let body = json!({"scope": "s", "key": key, "value": value});
        match self {
            Self::Lines(server) => server.attempt("remember", body).map(|answer| answer["record"].clone()),
            Self::Web(_, client) => {
                let answer = client.post("/records", &body);
                match answer.status {
                    201 => Ok(answer.json()["record"].clone()),
                    status => Err(answer.refused(status)),
                }
            }
        }
    }

    /// A value, none when there is none or the file under it has gone.
    fn read(&mut self, key: &str) -> Option<Value> {
        let found = match self {
            Self::Lines(server) => server.attempt("recall", json!({"scope": "s", "key": key})),
            Self::Web(_, client) => {
                let answer = client.ask("GET", &format!("/records?scope=s&key={key}"), None);
                match answer.status {
                    200 => Ok(answer.json()),
                    status => Err(answer.refused(status)),
                }
            }
        };
        match found {
            Ok(found) => found["records"][0].get("value").cloned(),
            Err(refusal) => {
                assert_eq!(refusal.code, "conflict", "{refusal:?}");
                None
            }
        }
    }

    fn end(self) {
        match self {
            Self::Lines(server) => assert_eq!(server.left(), Some(0)),
            Self::Web(web, _) => assert_eq!(web.stop(), (Some(0), String::new())),
        }
    }
}

/// Removes these files of the database.
fn remove(place: &Place, ends: &[&str]) {
    for end in ends {
        std::fs::remove_file(beside(&place.db(), end)).unwrap_or_else(|e| panic!("memory.db{end}: {e}"));
    }
}

/// Writes until it is done; there may be one `conflict` before.
#[track_caller]
fn written(face: &mut Face, place: &Place, key: &str, value: u64) -> Value {
    face.remember(key, value).unwrap_or_else(|refusal| {
        assert_eq!(refusal.code, "conflict", "{refusal:?}");
        // Over HTTP the place of the file is the server's own.
        let placed = refusal.text().contains(text(&place.db()));
        assert_eq!(placed, matches!(face, Face::Lines(_)), "{refusal:?}");
        assert!(!refusal.hint.is_empty(), "{refusal:?}");
        face.remember(key, value).expect("it goes on with what is there")
    })
}

#[test]
fn a_database_that_is_removed_in_any_part_is_one_conflict_and_then_made_anew() {
    for ends in [&[""][..], &["", "-wal"], &["", "-shm"], &["", "-wal", "-shm"]] {
        for which in 0..2 {
            let place = Place::new();
            let [lines, web] = Face::all(&place);
            let mut face = if which == 0 { lines } else { web };
            written(&mut face, &place, "k", 1);
            face.read("k");
            remove(&place, ends);
            let refusal = face.remember("k", 2).expect_err("what it writes to has gone");
            assert_eq!(refusal.code, "conflict", "{ends:?}: {refusal:?}");
            assert_eq!(face.remember("k", 2).expect("a new one")["version"], 1, "{ends:?}");
            assert_eq!(face.read("k"), Some(json!(2)), "{ends:?}");
            face.end();
            assert_eq!(place.agent("fresh").read("s", "k")["value"], 2, "{ends:?}");
            place.verify_clean();
        }
    }
}

#[test]
fn a_log_that_is_removed_alone_takes_nothing_with_it() {
    for ends in [&["-wal"][..], &["-shm"], &["-wal", "-shm"]] {
        let place = Place::new();
        let mut faces = Face::all(&place);
        for (n, face) in faces.iter_mut().enumerate() {
            written(face, &place, &format!("before{n}"), 1);
        }
        remove(&place, ends);
        // Each of them notices, and what it wrote before is there for the other and for one that comes now.
        for (n, face) in faces.iter_mut().enumerate() {
            written(face, &place, &format!("after{n}"), 2);
        }
        let mut fresh = place.agent("fresh");
        for n in 0..2 {
            for (key, value) in [(format!("before{n}"), 1), (format!("after{n}"), 2)] {
                assert_eq!(fresh.read("s", &key)["value"], value, "{ends:?}: {key}");
            }
        }
        fresh.finish();
        for face in faces {
            face.end();
        }
        let mut last = place.agent("last");
        for key in ["before0", "before1", "after0", "after1"] {
            last.read("s", key);
        }
        place.verify_clean();
    }
}

#[test]
fn who_only_looks_after_a_log_was_removed_sees_what_was_written() {
    for ends in [&["-wal"][..], &["-shm"], &["-wal", "-shm"]] {
        let place = Place::new();
        let mut faces = Face::all(&place);
        for face in &mut faces {
            // One that has it open for both, and one for reading alone.
            face.read("k");
        }
        let mut writer = place.agent("writer");
        writer.remember("s", "k", json!(1));
        for face in &mut faces {
            assert_eq!(face.read("k"), Some(json!(1)));
        }
        written(&mut faces[0], &place, "mine", 2);
        // What stands in the log alone goes with the writer's end, and with nobody else's.
        writer.kill();
        remove(&place, ends);
        for face in &mut faces {
            assert_eq!(
                (face.read("k"), face.read("mine")),
                (Some(json!(1)), Some(json!(2))),
                "{ends:?}"
            );
        }
        for (n, face) in faces.iter_mut().enumerate() {
            written(face, &place, &format!("after{n}"), 3);
        }
        for face in faces {
            face.end();
        }
        let mut last = place.agent("last");
        for (key, value) in [("k", 1), ("mine", 2), ("after0", 3), ("after1", 3)] {
            assert_eq!(last.read("s", key)["value"], value, "{ends:?}: {key}");
        }
        place.verify_clean();
    }
}

#[test]
fn who_still_writes_to_a_removed_log_harms_nobody_who_made_a_new_one() {
    for ends in [&["-wal"][..], &["-shm"], &["-wal", "-shm"]] {
        let place = Place::new();
        let mut faces = Face::all(&place);
        for (n, face) in faces.iter_mut().enumerate() {
            written(face, &place, &format!("before{n}"), 1);
        }
        remove(&place, ends);
        // Somebody who comes now makes a new log, and writes much. Where it finds the index of the others, it is told that
        // there should be more in the log, until they have seen that theirs is gone.
        let mut fresh = place.agent("fresh");
        let write = |fresh: &mut Server, n: u64| {
            let text = "x".repeat(2_000);
            fresh.attempt(
                "remember",
                json!({"scope": "s", "key": format!("new{n}"), "value": text}),
            )
        };
        let mut n = 0;
        while n < 50 && write(&mut fresh, n).is_ok() {
            n += 1;
        }
        assert!(n == 50 || ends == ["-wal"], "{ends:?}: {n}");
        for (n, face) in faces.iter_mut().enumerate() {
            written(face, &place, &format!("after{n}"), 2);
        }
        for n in n..50 {
            write(&mut fresh, n).unwrap_or_else(|refusal| panic!("{ends:?}: {n}: {refusal:?}"));
        }
        fresh.finish();
        for face in faces {
            face.end();
        }
        place.verify_clean();
        let mut last = place.agent("last");
        for n in 0..50 {
            last.read("s", &format!("new{n}"));
        }
        for n in 0..2 {
            last.read("s", &format!("after{n}"));
        }
    }
}

#[test]
fn a_file_that_took_the_place_is_one_conflict_over_http_and_then_used() {
    let place = Place::new();
    let [lines, mut web] = Face::all(&place);
    lines.end();
    written(&mut web, &place, "old", 1);
    let copy = place.path().join("copy.db");
    let ran = place.run(&["backup", text(&copy)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    written(&mut web, &place, "lost", 1);
    std::fs::rename(&copy, place.db()).expect("mv copy.db memory.db");
    let refusal = web.remember("new", 2).expect_err("what it writes to has gone");
    assert_eq!(refusal.code, "conflict", "{refusal:?}");
    assert_eq!(web.remember("new", 2).expect("the other file")["version"], 1);
    let mut fresh = place.agent("fresh");
    assert_eq!(
        (&fresh.read("s", "old")["value"], &fresh.read("s", "new")["value"]),
        (&json!(1), &json!(2))
    );
    fresh.finish();
    web.end();
    place.verify_clean();
}
