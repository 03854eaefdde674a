//! Many at once, over every face: what only one may have goes to one, and nothing that was written gets lost.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use crate::concurrency::at_once;
use crate::harness::Place;
use crate::rest_work::agent;
use crate::shell::Shell;
use crate::web::{Web, token};

#[test]
fn sixty_four_writers_at_once_lose_nothing_and_share_one_row_of_versions() {
    let place = Place::new();
    let tokens: Vec<String> = (0..4)
        .map(|n| token(&place, &["--owner", &format!("owner-{n}")]))
        .collect();
    let web = Web::of(&place, &["--rate-limit", "0"]);
    let written = at_once(64, |n| {
        let client = web.with(&tokens[n % 4]).session(&format!("s-{n}"));
        let own = json!({"scope": "own", "key": format!("k{n}"), "value": n});
        assert_eq!(client.posted("/records", own)["record"]["version"], 1);
        let elsewhere = client.clone().in_project("w", &format!("p{}", n % 3));
        elsewhere.posted("/records", json!({"scope": "s", "key": format!("k{n}"), "value": n}));
        let mut versions = Vec::new();
        for round in 0..4 {
            let body = json!({"scope": "one", "key": "key", "value": [n, round]});
            let record = client.posted("/records", body)["record"].clone();
            versions.push((record["version"].as_u64().expect("a version"), json!([n, round])));
        }
        versions
    });
    let written: BTreeMap<u64, Value> = written.concat().into_iter().collect();
    assert_eq!(
        written.keys().copied().collect::<Vec<_>>(),
        (1..=256).collect::<Vec<_>>()
    );
    // Each version holds what the one who was told its number wrote.
    let client = web.with(&tokens[0]);
    let path = "/records/history?scope=one&key=key&limit=128";
    let first = client.get(path);
    let next = first["next_cursor"].as_str().expect("a second page");
    let second = client.get(&format!("{path}&cursor={next}"));
    let versions = |page: &Value| page["versions"].as_array().expect("versions").clone();
    let read = [versions(&first), versions(&second)].concat();
    assert_eq!(read.len(), 256);
    for (version, (number, value)) in read.iter().zip(&written) {
        assert_eq!((&version["version"], &version["value"]), (&json!(number), value));
    }
    assert_eq!(client.get("/stats")["records"], 65);
    let projects = client.get("//workspaces/w/projects");
    assert_eq!(
        projects["projects"].as_array().map(Vec::len),
        Some(3),
        "each was made once"
    );
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'created'"), 4);
    assert_eq!(web.stop().0, Some(0));
    place.verify_clean();
}

#[test]
fn of_those_who_count_on_the_same_version_one_writes_and_the_others_are_told() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let won = at_once(16, |n| {
        let client = agent(&web, &format!("agent-{n}"));
        let mut won = Vec::new();
        for round in 0..25 {
            let read = client.get("/records?scope=s&key=k");
            let seen = read["records"][0]["version"].as_u64().unwrap_or(0);
            let body = json!({"scope": "s", "key": "k", "value": [n, round], "expected_version": seen});
            let answer = client.post("/records", &body);
            if answer.status == 201 {
                assert_eq!(answer.json()["record"]["version"], seen + 1, "on top of what was read");
                won.push(seen + 1);
            } else {
                assert_eq!(answer.refused(409).code, "conflict");
            }
        }
        won
    });
    let mut won = won.concat();
    won.sort_unstable();
    assert_eq!(
        won,
        (1..=won.len() as u64).collect::<Vec<_>>(),
        "each version has one winner"
    );
    let total = agent(&web, "reader").get("/records/history?scope=s&key=k")["total"].clone();
    assert_eq!(total, json!(won.len()));
    place.verify_clean();
}

#[test]
fn a_packet_has_one_claimant_whatever_the_face_that_it_came_through() {
    const PACKETS: usize = 12;
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    let packets: Vec<String> = (0..PACKETS).map(|n| scout.hand_off(&format!("packet {n}"))).collect();
    let wins = at_once(8, |n| {
        let name = format!("agent-{n}");
        let client = agent(&web, &name);
        let shell = Shell::of(&place, &name).env("SESSION_ID", &name);
        let mut server = (n % 4 == 3).then(|| place.agent(&name));
        let mut wins = Vec::new();
        for packet in &packets {
            let won = match n % 4 {
                0 => client.post(&format!("/handoffs/{packet}/accept"), &json!({})).status == 200,
                1 => client.call_tool("resume", json!({"handoff_id": packet})).is_ok(),
                2 => shell.run(&["handoffs", "accept", packet, "--json"]).code == Some(0),
                _ => {
                    let server = server.as_mut().expect("one of its own");
                    server.attempt("resume", json!({"handoff_id": packet})).is_ok()
                }
            };
            if won {
                wins.push((packet.clone(), name.clone()));
            }
        }
        wins
    });
    let wins = wins.concat();
    let holders: BTreeMap<String, String> = wins.iter().cloned().collect();
    assert_eq!((wins.len(), holders.len()), (PACKETS, PACKETS), "{wins:?}");
    for (packet, holder) in holders {
        assert_eq!(
            scout.get(&format!("/handoffs/{packet}"))["packet"]["accepted_by"],
            holder
        );
    }
    place.verify_clean();
}

#[test]
fn who_only_asks_for_work_gets_each_packet_once() {
    const PACKETS: usize = 60;
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    for n in 0..PACKETS {
        scout.hand_off(&format!("packet {n}"));
    }
    let empty = AtomicUsize::new(0);
    let taken = at_once(16, |n| {
        let mut taken = Vec::new();
        // A session of its own for each turn, which ends what it took: else it would be given that again.
        for turn in 0.. {
            let client = agent(&web, &format!("agent-{n}")).session(&format!("{n}-{turn}"));
            let answer = client.posted("/resume", json!({}));
            let Some(id) = answer["packet"]["id"].as_str() else {
                empty.fetch_add(1, Ordering::Relaxed);
                return taken;
            };
            taken.push(id.to_owned());
            let report = json!({"outcome": "success", "outcome_ref": format!("{n}/{turn}")});
            assert_eq!(
                client.posted(&format!("/handoffs/{id}/close"), report)["packet"]["state"],
                "closed"
            );
        }
        taken
    });
    let mut taken = taken.concat();
    taken.sort();
    taken.dedup();
    assert_eq!((taken.len(), empty.into_inner()), (PACKETS, 16));
    assert_eq!(
        place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"),
        PACKETS as i64
    );
    assert_eq!(scout.get("/handoffs?state=closed")["total"], PACKETS);
    place.verify_clean();
}
