//! A disk that is full under every kind of write and on every face, a folder that can only be read, a newer schema, and a log
//! that nobody lets grow.

use serde_json::{Value, json};

use crate::handoffs::{id, until};
use crate::harness::{Place, Refusal, Server, Start};
use crate::shell::refusal;
use crate::storage::{Small, beside, size, text};
use crate::web::{Client, Web};

/// Everything that can be written, each on every face, on a store that was made for it.
struct Writes {
    start: Start,
    lines: Server,
    web: Web,
    client: Client,
    /// Packets: three to accept, two to close, two to give back.
    packets: Vec<String>,
    export: String,
}

/// What stands in every text that is purged.
const SECRET: &str = "hunter2-do-not-tell";

impl Writes {
    /// Fills the store at `start` and begins to serve it.
    fn on(place: &Place, start: &Start) -> Self {
        let start = start.clone().env("RUST_LOG", "off");
        let mut seed = start.clone().agent("seed").serve();
        let mut lines = start.clone().agent("scout").serve();
        seed.remember("s", "k", json!(0));
        seed.remember("s", "leak", json!(format!("the password is {SECRET}")));
        let refs = json!([{"scope": "s", "key": "k"}]);
        let packets: Vec<String> = (0..7)
            .map(|n| id(&seed.hand_off(&format!("packet {n}"), json!({"next_steps": ["x"], "refs": refs}))))
            .collect();
        for packet in &packets[3..] {
            lines.call("resume", json!({"handoff_id": packet}));
        }
        seed.finish();
        let export = place.path().join("export.jsonl");
        // From another project, so that it is new here.
        let other = Place::new();
        let elsewhere = other.start().agent("other").env("MEMORY_PROJECT", "elsewhere");
        elsewhere.serve().remember("s", "k", json!("x".repeat(20_000)));
        assert_eq!(elsewhere.args(&["export", text(&export)]).run().code, Some(0));
        let web = Web::started(start.clone(), &[]);
        let client = web.anyone().header("X-Agent-Id", "scout").session("web");
        Self {
            start,
            lines,
            web,
            client,
            packets,
            export: text(&export).to_owned(),
        }
    }

    fn over_lines(&mut self, what: &str, tool: &str, arguments: Value) -> (String, Result<(), Refusal>) {
        (
            format!("{what} over lines"),
            self.lines.attempt(tool, arguments).map(drop),
        )
    }

    fn over_http(&self, path: &str, body: &Value) -> (String, Result<(), Refusal>) {
        let answer = self.client.post(path, body);
        let done = match answer.status {
            200 | 201 => Ok(()),
            status => Err(answer.refused(status)),
        };
        (format!("{path} over HTTP"), done)
    }

    fn at_a_shell(&self, args: &[&str]) -> (String, Result<(), Refusal>) {
        let ran = self.start.clone().agent("shell").arg("--json").args(args).run();
        let done = match ran.code {
            Some(0) => Ok(()),
            code => Err(refusal(&ran, code.expect("it ends by itself"))),
        };
        (format!("{} at a shell", args.join(" ")), done)
    }

    /// Writes everything once more, by names that end like this, and gives what came of each.
    fn all(&mut self, name: &str, beside_it: &str) -> Vec<(String, Result<(), Refusal>)> {
        let long = "y".repeat(16_000);
        let run = format!("run {name}");
        let packet = |title: &str| json!({"title": format!("{title} {name}"), "summary": long, "next_steps": ["x"]});
        let record = |key: &str| json!({"scope": "s", "key": format!("{key} {name}"), "value": long});
        let outcome = |run: &str| json!({"outcome": "success", "outcome_ref": run, "refs": [{"scope": "s", "key": "k"}], "note": long});
        let close = |note: &str| json!({"outcome": "success", "outcome_ref": note, "note": long});
        let back = |note: &str| json!({"outcome_ref": note, "note": long});
        let p = self.packets.clone();
        let with = |mut body: Value, id: &str, word: &str| {
            body["handoff_id"] = json!(id);
            body["outcome"] = json!(word);
            body
        };
        let file = format!("{beside_it}/{name}");
        let (backup, export) = (format!("{file}.db"), format!("{file}.jsonl"));
        let exported = self.export.clone();
        let value = json!(long).to_string();
        vec![
            self.over_lines("remember", "remember", record("lines")),
            self.over_lines("handoff", "handoff", packet("lines")),
            self.over_lines("resume", "resume", json!({"handoff_id": p[0]})),
            self.over_lines("outcome", "record_outcome", outcome(&run)),
            self.over_lines("close", "record_outcome", with(close("a"), &p[3], "success")),
            self.over_lines("release", "record_outcome", with(close("b"), &p[4], "released")),
            self.over_http("/records", &record("web")),
            self.over_http("/handoffs", &packet("web")),
            self.over_http(&format!("/handoffs/{}/accept", p[1]), &json!({})),
            self.over_http("/outcomes", &outcome(&format!("{run} web"))),
            self.over_http(&format!("/handoffs/{}/close", p[5]), &close("c")),
            self.over_http(&format!("/handoffs/{}/release", p[6]), &back("d")),
            self.at_a_shell(&[
                "remember",
                "--scope",
                "s",
                "--key",
                &format!("shell {name}"),
                "--value",
                &value,
            ]),
            self.at_a_shell(&["handoffs", "accept", &p[2]]),
            self.at_a_shell(&["purge", "--containing", SECRET, "--why", "secret", "-y"]),
            self.at_a_shell(&["import", &exported]),
            self.at_a_shell(&["backup", &backup]),
            self.at_a_shell(&["export", &export]),
        ]
    }

    fn end(self) {
        assert_eq!(self.lines.left(), Some(0));
        assert_eq!(self.web.stop(), (Some(0), String::new()));
    }
}

/// Writes small things until there is no room for one.
#[track_caller]
fn fill_up(writes: &mut Writes, ballast: &std::path::Path) -> usize {
    // What the disk has left goes at once, and what the log has left in small pieces.
    let file = std::fs::File::create(ballast).expect("a file");
    let zeros = [0_u8; 4096];
    while std::io::Write::write_all(&mut &file, &zeros).is_ok() {}
    let (mut written, mut refused) = (0, 0);
    while refused < 8 {
        let body = json!({"scope": "fill", "key": format!("k{written}"), "value": 1});
        match writes.lines.attempt("remember", body) {
            Ok(_) => (written, refused) = (written + 1, 0),
            Err(refusal) => {
                assert_eq!(refusal.code, "disk_full", "{refusal:?}");
                refused += 1;
            }
        }
        assert!(written < 10_000, "the disk never got full");
    }
    written
}

#[test]
fn s07_a_full_disk_refuses_every_kind_of_write_on_every_face_and_each_goes_on_once_there_is_space() {
    let place = Place::new();
    let Some(small) = Small::mount(&place.path().join("small"), "8m") else {
        return;
    };
    let start = place.start().env("MEMORY_DB", small.at.join("memory.db"));
    let mut writes = Writes::on(&place, &start);
    let ballast = small.at.join("ballast");
    let filled = fill_up(&mut writes, &ballast);
    let on_it = text(&small.at).to_owned();
    for (what, done) in writes.all("full", &on_it) {
        let refusal = done.err().unwrap_or_else(|| panic!("{what} went on a full disk"));
        assert_eq!(refusal.code, "disk_full", "{what}: {refusal:?}");
        assert!(refusal.hint.contains("free some space"), "{what}: {refusal:?}");
    }
    // What was there is there, and nothing of what was refused is.
    let listed = crate::storage::listed(&small.at);
    assert!(
        listed
            .iter()
            .all(|name| name == "ballast" || name.starts_with("memory.db")),
        "{listed:?}"
    );
    assert_eq!(
        writes.lines.call("recall", json!({"scope": "fill", "limit": 1}))["total"],
        json!(filled)
    );
    assert_eq!(writes.client.get("/records?scope=s")["total"], 2);
    let states = writes.client.get("/stats")["handoffs"].clone();
    assert_eq!(states, json!({"open": 3, "accepted": 4, "closed": 0, "expired": 0}));
    std::fs::remove_file(&ballast).expect("the ballast");
    for (what, done) in writes.all("free", &on_it) {
        done.unwrap_or_else(|refusal| panic!("{what}, with space again: {refusal:?}"));
    }
    let states = writes.client.get("/stats")["handoffs"].clone();
    assert_eq!(states, json!({"open": 4, "accepted": 3, "closed": 2, "expired": 0}));
    writes.end();
    let ran = start.arg("verify").run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_disk_that_cannot_be_written_refuses_every_command_and_is_not_served_until_it_can() {
    let place = Place::new();
    let Some(small) = Small::mount(&place.path().join("small"), "8m") else {
        return;
    };
    let start = place.start().env("MEMORY_DB", small.at.join("memory.db"));
    let writes = Writes::on(&place, &start);
    let (export, packet) = (writes.export.clone(), writes.packets[0].clone());
    // A disk cannot be turned under files that are open to be written.
    writes.end();
    small.remount("ro");
    let start = start.env("RUST_LOG", "off");
    let copy = place.work().join("copy.db");
    let commands = [
        &["remember", "--scope", "s", "--key", "k", "--value", "2"][..],
        &["handoffs", "accept", &packet],
        &["handoffs", "create", "--title", "t", "--summary", "s"],
        &[
            "record-outcome",
            "--outcome",
            "success",
            "--outcome-ref",
            "r",
            "--refs",
            "s:k@1",
        ],
        &["purge", "--containing", SECRET, "--why", "secret", "-y"],
        &["token", "create", "--owner", "ann"],
        &["import", &export],
        &["backup", text(&copy)],
    ];
    let run = |args: &[&str]| start.clone().agent("shell").arg("--json").args(args).run();
    for args in commands {
        let refusal = refusal(&run(args), 2);
        assert_eq!(refusal.code, "read_only", "{args:?}: {refusal:?}");
        assert!(refusal.hint.contains("writable"), "{args:?}: {refusal:?}");
    }
    let said = Web::try_started(start.clone(), &[]).err();
    assert!(
        said.is_some_and(|said| said.contains("read_only")),
        "what cannot be opened is not served"
    );
    small.remount("rw");
    for args in commands {
        assert_eq!(run(args).code, Some(0), "{args:?}, where it can be written again");
    }
    assert_eq!(start.arg("verify").run().code, Some(0));
}

#[test]
fn s14_a_newer_schema_is_refused_on_every_face_and_nothing_of_it_is_written_or_copied() {
    let place = Place::new();
    let start = place.start();
    let mut writes = Writes::on(&place, &start);
    let schema = place.count("PRAGMA user_version");
    let ledger = place.count("SELECT count(*) FROM ledger");
    place.sql().pragma_update(None, "user_version", 999).expect("raised");
    let elsewhere = text(&place.work()).to_owned();
    for (what, done) in writes.all("newer", &elsewhere) {
        let refusal = done.err().unwrap_or_else(|| panic!("{what} went on a newer schema"));
        assert_eq!(refusal.code, "newer_schema", "{what}: {refusal:?}");
        assert!(
            refusal.text().contains("999") && refusal.text().contains("upgrade"),
            "{what}: {refusal:?}"
        );
    }
    for path in ["/records?scope=s", "/handoffs", "/ledger", "/stats", "/resume"] {
        let answer = writes.client.ask("GET", path, None);
        assert_eq!(answer.refused(500).code, "newer_schema", "{path}");
    }
    for args in [
        &["verify"][..],
        &["checkpoint"],
        &["log"],
        &["handoffs", "list"],
        &["purge", "--finish"],
    ] {
        let ran = place.start().env("RUST_LOG", "off").args(args).run();
        assert!(ran.code == Some(2) && ran.stderr.contains("999"), "{args:?}: {ran:?}");
    }
    let refused = Web::try_started(place.start().env("RUST_LOG", "off"), &[]).err();
    assert!(
        refused.is_some_and(|said| said.contains("newer_schema")),
        "it does not begin to serve"
    );
    assert_eq!(crate::storage::listed(&place.work()), [""; 0]);
    assert_eq!(place.count("SELECT count(*) FROM ledger"), ledger);
    place
        .sql()
        .pragma_update(None, "user_version", schema)
        .expect("lowered");
    for (what, done) in writes.all("again", &elsewhere) {
        done.unwrap_or_else(|refusal| panic!("{what}, with its schema again: {refusal:?}"));
    }
    writes.end();
    place.verify_clean();
}

#[test]
fn s10_neither_idle_servers_with_open_streams_nor_readers_that_were_killed_let_the_log_grow() {
    let place = Place::new();
    let mut writer = place.start().agent("writer").env("MEMORY_DURABILITY", "normal").serve();
    writer.remember("s", "k0", json!(0));
    let mut idle = place.agent("idle");
    idle.read("s", "k0");
    let web = Web::of(&place, &[]);
    let client = web.anyone();
    let mut stream = client.clone().header("Last-Event-ID", "0").stream("/ledger");
    assert_eq!(stream.next().expect("an event").data["seq"], 1);
    // Killed while it answers: whatever it had open is closed with it.
    let mut killed = place.agent("killed");
    killed.read("s", "k0");
    for _ in 0..20 {
        killed.send_call("recall", json!({"scope": "s", "query": "text"}));
    }
    killed.kill();
    let wal = beside(&place.db(), "-wal");
    let mut most = 0;
    for round in 0..10 {
        let sent: Vec<u64> = (0..200)
            .map(|n| {
                let value = json!({"round": round, "text": "x".repeat(500)});
                let body = json!({"scope": "s", "key": format!("k{n}"), "value": value});
                writer.send_call("remember", body)
            })
            .collect();
        for request in sent {
            writer.answer(request);
        }
        most = most.max(size(&wal));
    }
    assert!(most < 8 * 1024 * 1024, "the log reached {most} bytes");
    // The stream has heard everything, and at rest the log is emptied under it.
    let heard = stream.take(2_001).last().expect("events");
    assert_eq!(heard.data["seq"], place.count("SELECT max(seq) FROM ledger"));
    until("an empty log", || (size(&wal) == 0).then_some(()));
    assert_eq!(idle.read("s", "k0")["value"]["round"], 9);
    assert_eq!(client.get("/records?scope=s&key=k0")["records"][0]["value"]["round"], 9);
    place.verify_clean();
}
