//! What an owner may not see, and what an observer may not read: nothing of it stands in any answer of any route or tool.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::Place;
use crate::rest_routes::{Told, Words, everything};
use crate::web::{Client, Web, token};

/// What stands in every text of the packets that are hidden.
const SECRET: &str = "zyxsecret";

/// A word and an id that stand nowhere.
const NOWHERE: &str = "zyxnowhere";
const NO_PACKET: &str = "h_0123456789abcdef";

/// Ann's packets, one in each state, beside one that she wrote for everyone.
struct Scene {
    place: Place,
    web: Web,
    ann: Client,
    /// An open one first.
    hidden: Vec<String>,
    shared: String,
    checkpoint: String,
}

impl Scene {
    /// A scene in which a record holds `value`; hers are the actions of `session`.
    fn of(value: &str, session: &str) -> Self {
        let place = Place::new();
        let ann = token(&place, &["--owner", "ann", "--agent", "claude"]);
        let web = Web::of(&place, &["--rate-limit", "0"]);
        let ann = web.with(&ann);
        let record = json!({"scope": "app", "key": "rate", "value": [value], "tags": [value]});
        ann.clone().session("open-session").posted("/records", record);
        let shared = json!({"title": "for everyone", "summary": "s", "next_steps": ["x"], "shared": true, "refs": []});
        let shared = Self::id(&ann.posted("/handoffs", shared));
        let checkpoint = ann.get("/checkpoint")["checkpoint"]
            .as_str()
            .expect("a checkpoint")
            .to_owned();
        let hers = ann.clone().session(session);
        let texts = |n: u64| {
            let text = format!("{n} {SECRET}");
            json!({"title": text, "summary": text, "next_steps": [text], "open_questions": [text], "files_touched": [text],
                   "cwd": format!("/src/{SECRET}"), "refs": [{"scope": "app", "key": "rate"}]})
        };
        let note = json!({"outcome": "success", "outcome_ref": SECRET, "note": SECRET});
        let words = json!({"outcome_ref": SECRET, "note": SECRET});
        let here = json!({"cwd": format!("/src/{SECRET}")});
        let hidden: Vec<String> = (0..5).map(|n| Self::id(&hers.posted("/handoffs", texts(n)))).collect();
        let act = |n: usize, verb: &str, body: &Value| {
            drop(hers.posted(&format!("/handoffs/{}/{verb}", hidden[n]), body.clone()))
        };
        act(0, "accept", &here);
        act(0, "release", &words);
        act(1, "accept", &here);
        act(2, "accept", &here);
        act(2, "close", &note);
        act(3, "cancel", &words);
        let mut newer = texts(5);
        newer["supersedes"] = json!(hidden[4]);
        let newer = Self::id(&hers.posted("/handoffs", newer));
        Self {
            place,
            web,
            ann,
            hidden: [hidden, vec![newer]].concat(),
            shared,
            checkpoint,
        }
    }

    fn id(answer: &Value) -> String {
        answer["packet"]["id"].as_str().expect("a packet's id").to_owned()
    }

    fn token(&self, flags: &[&str]) -> Client {
        self.web.with(&token(&self.place, flags))
    }

    /// Everything that `client` can ask about `packet`, looking for `word`.
    fn asked(&self, client: &Client, agent: &str, owner: Option<&str>, packet: &str, word: &str) -> Vec<Told> {
        let words = Words {
            packet,
            word,
            agent,
            owner,
            checkpoint: &self.checkpoint,
        };
        everything(client, &words)
    }

    /// The ledger as `client` sees it.
    fn ledger(&self, client: &Client) -> Vec<Value> {
        let page = client.get("/ledger?limit=200");
        assert_eq!(page.get("next_since"), None, "one page is enough here");
        page["entries"].as_array().expect("entries").clone()
    }

    /// Whether an entry that root sees is about a hidden packet.
    fn is_hidden(&self, entry: &Value) -> bool {
        let hidden = |name: &Value| self.hidden.iter().any(|id| name == id);
        hidden(&entry["subject"]) || hidden(&entry["detail"]["handoff_id"])
    }
}

/// Names of all that was answered with the secret in it.
fn holding(told: &[Told]) -> BTreeSet<&str> {
    told.iter()
        .filter(|one| one.text.contains(SECRET))
        .map(|one| one.name.as_str())
        .collect()
}

#[test]
fn another_owners_packet_stands_in_no_answer_of_any_route_or_tool() {
    let scene = Scene::of("plain", &format!("{SECRET}-session"));
    // His agent has the same name as hers.
    let bob = scene.token(&["--owner", "bob", "--agent", "claude"]);
    let nothing = scene.asked(&bob, "claude", Some("bob"), NO_PACKET, NOWHERE);
    for packet in &scene.hidden {
        let told = scene.asked(&bob, "claude", Some("bob"), packet, SECRET);
        assert_eq!(told.len(), nothing.len());
        let mut not_found = BTreeSet::new();
        for (one, other) in told.iter().zip(&nothing) {
            let names_it = one.question.contains(packet.as_str());
            if names_it || one.question.contains(SECRET) {
                // Its name leads to the same answer as one that never was.
                let same = other.text.replace(NO_PACKET, packet).replace(NOWHERE, SECRET);
                assert_eq!(
                    (one.status, one.text.as_str()),
                    (other.status, same.as_str()),
                    "{}",
                    one.question
                );
            } else {
                assert!(!one.text.contains(SECRET), "{}: {}", one.question, one.text);
            }
            if names_it {
                assert!((400..500).contains(&one.status), "{}: {}", one.question, one.text);
                not_found.extend((one.status == 404).then_some(one.name.as_str()));
            }
            for id in scene.hidden.iter().filter(|id| !names_it || *id != packet) {
                assert!(!one.text.contains(id.as_str()), "{}: {}", one.question, one.text);
            }
        }
        let wanted = [
            "show_handoff",
            "accept_handoff",
            "release_handoff",
            "cancel_handoff",
            "close_handoff",
            "create_handoff",
            "peek",
            "resume",
            "record_outcome",
            "tool handoff",
            "tool resume",
            "tool record_outcome",
            "resources/read",
        ];
        assert_eq!(not_found, BTreeSet::from(wanted), "whatever takes a packet's id");
    }
    let done: BTreeSet<&str> = nothing
        .iter()
        .filter(|one| one.status < 300)
        .map(|one| one.name.as_str())
        .collect();
    assert!(done.len() > 20, "what he may do is done: {done:?}");
    // The owner herself finds it in all of these, so that they would show it.
    let told = scene.asked(&scene.ann, "claude", Some("ann"), &scene.hidden[0], SECRET);
    let hers = holding(&told);
    for name in [
        "list_handoffs",
        "show_handoff",
        "peek",
        "ledger",
        "stats",
        "tool resume",
        "resources/read",
    ] {
        assert!(hers.contains(name), "{name} would show it: {hers:?}");
    }
    scene.place.verify_clean();
}

#[test]
fn another_owners_packets_are_neither_counted_nor_told_apart_in_the_ledger() {
    let scene = Scene::of("plain", "s-1");
    let bob = scene.token(&["--owner", "bob", "--agent", "codex"]);
    let root = scene.token(&["--root"]);
    let one = json!({"open": 1, "accepted": 0, "closed": 0, "expired": 0});
    let all = json!({"open": 3, "accepted": 1, "closed": 1, "expired": 2});
    for (client, counts, total) in [(&bob, &one, 1), (&scene.ann, &all, 7), (&root, &all, 7)] {
        let open = &counts["open"];
        assert_eq!(
            client.get("//workspaces")["workspaces"][0]["pending_handoff_count"],
            *open
        );
        let project = client.get("//workspaces/default/projects")["projects"][0].clone();
        assert_eq!(
            (&project["pending_handoff_count"], &project["handoffs"]),
            (open, counts)
        );
        assert_eq!(client.get("/stats")["handoffs"], *counts);
        assert_eq!(
            client.call_tool("memory_stats", json!({})).expect("numbers")["handoffs"],
            *counts
        );
        assert_eq!(client.get("/handoffs?state=all")["total"], total);
    }
    let peeked = bob.get("/resume");
    assert_eq!((&peeked["waiting"], &peeked["unfinished"]), (&json!(1), &json!([])));
    assert_eq!(peeked["elsewhere"], json!({"others": 0, "expired": 0}));
    assert_eq!(peeked["packets"][0]["id"], json!(scene.shared));
    assert_eq!(bob.get("/stats")["waiting"].as_array().map(Vec::len), Some(1));

    // Of an entry that is not his to know, its place in the chain is left.
    let (whole, his) = (scene.ledger(&root), scene.ledger(&bob));
    assert_eq!(whole.len(), his.len());
    let mut hidden = 0;
    for (entry, told) in whole.iter().zip(&his) {
        if scene.is_hidden(entry) {
            hidden += 1;
            let outline = json!({"seq": entry["seq"], "at": entry["at"], "hash": entry["hash"], "redacted": true});
            assert_eq!(*told, outline);
        } else {
            assert_eq!(told, entry);
        }
    }
    // Six written, three claimed, one each given back, reported on, closed, cancelled, superseded.
    assert_eq!(hidden, 14, "{whole:?}");
    assert_eq!(scene.ledger(&scene.ann), whole, "hers is whole");
    let streamed: Vec<Value> = bob
        .stream("/ledger?since=0")
        .take(his.len())
        .map(|event| event.data)
        .collect();
    assert_eq!(streamed, his, "a stream tells the same");
}

#[test]
fn an_observer_sees_that_a_packet_is_there_and_reads_and_changes_nothing() {
    let scene = Scene::of(SECRET, "s-1");
    for flags in [
        vec!["--observer"],
        vec!["--observer", "--owner", "ann", "--agent", "claude"],
    ] {
        let (agent, owner) = if flags.len() > 1 {
            ("claude", Some("ann"))
        } else {
            ("observer", None)
        };
        let observer = scene.token(&flags);
        let before = scene.ann.get("/checkpoint");
        let (mut written, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for packet in &scene.hidden {
            let told = scene.asked(&observer, agent, owner, packet, "plain");
            assert!(holding(&told).is_empty(), "{:?}", holding(&told));
            for one in &told {
                if one.writes {
                    // What cannot be read is refused for that, before anyone asks who sent it.
                    assert!([403, 422].contains(&one.status), "{}: {}", one.question, one.text);
                    refused.extend((one.status == 403).then_some(one.name.clone()));
                    written.insert(one.name.clone());
                }
                let searches =
                    one.name.contains("recall") && (one.question.contains("query") || one.question.contains("tag"));
                if searches {
                    assert!([403, 422, 400].contains(&one.status), "{}: {}", one.question, one.text);
                }
            }
            let shown = observer.get(&format!("/handoffs/{packet}"));
            let hers = scene.ann.get(&format!("/handoffs/{packet}"))["packet"].clone();
            let seen = &shown["packet"];
            assert_eq!((&seen["redacted"], &seen["id"]), (&json!(true), &json!(packet)));
            for same in [
                "state",
                "from_agent",
                "owner",
                "created_at",
                "ended_as",
                "accepted_by",
                "accepted_at",
                "changes_since",
            ] {
                assert_eq!(seen[same], hers[same], "{same}");
            }
            assert!(seen["age"].is_string());
            assert_eq!(shown["refs"][0].get("value"), None);
        }
        assert_eq!(written, refused, "whatever changes something");
        assert!(written.len() > 10, "{written:?}");
        assert_eq!(observer.get("/handoffs?state=all")["total"], 7);
        assert_eq!(observer.get("/stats")["handoffs"], scene.ann.get("/stats")["handoffs"]);
        for search in ["query=plain", "tag=plain", "query=zyxsecret&scope=app"] {
            assert_eq!(
                observer
                    .ask("GET", &format!("/records?{search}"), None)
                    .refused(403)
                    .code,
                "not_allowed"
            );
        }
        let record = observer.get("/records?scope=app&key=rate")["records"][0].clone();
        assert_eq!(
            (&record["redacted"], record.get("value"), &record["tags"]),
            (&json!(true), None, &json!([]))
        );
        assert_eq!(
            record["hash"],
            scene.ann.get("/records?scope=app&key=rate")["records"][0]["hash"]
        );
        let (his, whole) = (scene.ledger(&observer), scene.ledger(&scene.ann));
        for (told, entry) in his.iter().zip(&whole) {
            assert_eq!((&told["redacted"], told.get("detail")), (&json!(true), None), "{told}");
            for same in ["seq", "at", "hash", "kind", "agent", "subject"] {
                assert_eq!(told[same], entry[same]);
            }
        }
        let streamed: Vec<Value> = observer
            .stream("/ledger?since=0")
            .take(his.len())
            .map(|event| event.data)
            .collect();
        assert_eq!(streamed, his);
        assert_eq!(scene.ann.get("/checkpoint"), before, "nothing was changed");
    }
    scene.place.verify_clean();
}

#[test]
fn with_root_only_every_packet_is_its_owners_and_none_is_everyones() {
    let place = Place::new();
    let ann = token(&place, &["--owner", "ann"]);
    let bob = token(&place, &["--owner", "bob"]);
    let nobody = token(&place, &["--agent", "scout"]);
    let root = token(&place, &["--root"]);
    let open = Web::of(&place, &[]);
    let body =
        |title: &str, shared: bool| json!({"title": title, "summary": "s", "next_steps": ["x"], "shared": shared});
    open.with(&ann).posted("/handoffs", body("for everyone", true));
    let shared = open.with(&bob).get("/handoffs")["packets"][0]["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let web = Web::of(&place, &["--root-only"]);
    let hers = Scene::id(&web.with(&ann).posted("/handoffs", body("hers", false)));
    for (token, seen) in [
        (&ann, vec!["hers"]),
        (&bob, vec![]),
        (&nobody, vec![]),
        (&root, vec!["for everyone", "hers"]),
    ] {
        let client = web.with(token);
        let listed = client.get("/handoffs");
        let titles: Vec<&str> = listed["packets"]
            .as_array()
            .expect("packets")
            .iter()
            .filter_map(|one| one["title"].as_str())
            .collect();
        assert_eq!(titles, seen);
        assert_eq!(client.get("/stats")["handoffs"]["open"], seen.len());
        for id in [&shared, &hers] {
            let title = if *id == hers { "hers" } else { "for everyone" };
            let status = client.ask("GET", &format!("/handoffs/{id}"), None).status;
            assert_eq!(status, if seen.contains(&title) { 200 } else { 404 }, "{title}");
        }
    }
    for (token, shared) in [(&ann, true), (&nobody, false), (&nobody, true)] {
        let client = web.with(token);
        assert_eq!(
            client.post("/handoffs", &body("new", shared)).refused(403).code,
            "not_allowed"
        );
        let refusal = client
            .call_tool("handoff", body("new", shared))
            .expect_err("nobody's packet");
        assert_eq!(refusal.code, "not_allowed");
    }
    assert_eq!(web.with(&bob).posted("/resume", json!({})).get("packet"), None);
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 2);
}
