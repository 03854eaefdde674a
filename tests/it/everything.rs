//! A store with everything in it that a store can hold, written through the library: its calls name their instants, so that
//! packets can run out and leases lapse without waiting. And what every test of moving, copying and purging looks at.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use handoff_memory::domain::handoff::listing::Ended;
use handoff_memory::domain::handoff::place::Cwd;
use handoff_memory::domain::handoff::{Git, HandoffId, NewHandoff, Origin, Texts};
use handoff_memory::domain::outcome::{NewOutcome, Report};
use handoff_memory::domain::purge::{Reason, Target};
use handoff_memory::domain::record::{NewVersion, Tags};
use handoff_memory::domain::{
    Actor, Address, Agent, Confidence, Home, JsonText, Key, OutcomeRef, Owner, Project, Reach, Ref, Scope, Session,
    Span, Time, Workspace,
};
use handoff_memory::store::sqlite::Gone;
use handoff_memory::store::{Durability, Store};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::format::{check, said};
use crate::harness::{Place, Ran};
use crate::storage::{beside, text};

/// A day that lies before any run of these tests.
const DAY: i64 = 1_764_547_200_000;

/// Writes through the library, a second apart.
pub struct Scribe {
    store: Store,
    runtime: Runtime,
    now: i64,
    home: Home,
}

impl Scribe {
    /// Writes to the file at `db`, in the default project, from [`DAY`] on.
    pub fn at(db: &Path) -> Self {
        Self {
            store: Store::new(db, Durability::Normal),
            runtime: Runtime::new().expect("a runtime"),
            now: DAY,
            home: home("default", "default"),
        }
    }

    /// From now on in this project.
    pub fn enter(&mut self, workspace: &str, project: &str) {
        self.home = home(workspace, project);
    }

    /// Lets time pass.
    pub fn wait(&mut self, minutes: i64) {
        self.now += minutes * 60_000;
    }

    /// An agent at the next instant; `who` is `agent`, `agent/session` or `agent/session/owner`.
    fn actor(&mut self, who: &str) -> Actor {
        self.now += 1_000;
        let mut parts = who.split('/');
        Actor {
            home: self.home.clone(),
            agent: Agent::new(parts.next().expect("an agent")).expect("an agent"),
            session: parts.next().map(|name| Session::new(name).expect("a session")),
            owner: parts.next().map(|name| Owner::new(name).expect("an owner")),
            reach: Reach::Shared,
            cwd: Some(Cwd::new("/src/app").expect("a directory")),
            now: Time::from_millis(self.now),
            lease: Span::from_minutes(60),
        }
    }

    /// Appends a version of `scope/key`, `value` being its JSON text.
    pub fn remember(&mut self, who: &str, at: &str, value: &str, more: impl FnOnce(&mut NewVersion)) {
        let address = address(at);
        let mut new = NewVersion::new(
            address.scope,
            address.key,
            JsonText::value("value", value).expect("a value"),
        );
        more(&mut new);
        let actor = self.actor(who);
        let done = self.runtime.block_on(self.store.remember(actor, new)).expect(at);
        assert!(!done.unchanged, "{at} was there");
    }

    /// Writes a packet that never expires unless `more` says so.
    pub fn hand_off(&mut self, who: &str, title: &str, more: impl FnOnce(&mut NewHandoff)) -> HandoffId {
        let steps = vec![format!("step of {title}"), "# ```\n<b>".to_owned()];
        let texts = Texts::new(
            title,
            &format!("summary of {title}"),
            steps,
            vec!["why?".into()],
            vec![],
        );
        let mut new = NewHandoff::new(texts.expect("texts"));
        new.refs = Some(Vec::new());
        more(&mut new);
        let actor = self.actor(who);
        let written = self
            .runtime
            .block_on(self.store.hand_off(actor, new, Vec::new(), Span::from_millis(0)));
        written.expect(title).seen.packet.id
    }

    pub fn resume(&mut self, who: &str, id: &HandoffId) {
        let nobody: Gone = Arc::new(|_| false);
        let actor = self.actor(who);
        let taken = self
            .runtime
            .block_on(self.store.resume(actor, Some(id.clone()), nobody));
        assert!(taken.expect("it is taken").found.is_some());
    }

    /// The same from no directory.
    pub fn resume_without_place(&mut self, who: &str, id: &HandoffId) {
        let nobody: Gone = Arc::new(|_| false);
        let actor = Actor {
            cwd: None,
            ..self.actor(who)
        };
        let taken = self
            .runtime
            .block_on(self.store.resume(actor, Some(id.clone()), nobody));
        assert!(taken.expect("it is taken").found.is_some());
    }

    pub fn report(&mut self, who: &str, new: NewOutcome) {
        let actor = self.actor(who);
        let done = self
            .runtime
            .block_on(self.store.record(actor, new, Span::from_minutes(60), false));
        done.expect("it is recorded");
    }

    fn expire_due(&mut self, who: &str) -> usize {
        let actor = self.actor(who);
        self.runtime
            .block_on(self.store.expire(actor, Ended::Due))
            .expect("it is written")
            .len()
    }

    fn reopen(&mut self, who: &str, id: &HandoffId) {
        let actor = self.actor(who);
        let done = self
            .runtime
            .block_on(self.store.reopen(actor, id.clone(), Span::from_minutes(30)));
        done.expect("it is opened again");
    }

    pub fn purge(&mut self, who: &str, target: Target, why: Reason) {
        self.empty(who, target, why);
        self.runtime.block_on(self.store.clean()).expect("nothing is left");
    }

    /// Purges as a process does that is killed before it cleans the file.
    pub fn purge_unclean(&mut self, who: &str, target: Target) {
        self.empty(who, target, Reason::Secret);
    }

    fn empty(&mut self, who: &str, target: Target, why: Reason) {
        let actor = self.actor(who);
        let found = self
            .runtime
            .block_on(self.store.purgeable(actor.clone(), target))
            .expect("it is there");
        assert!(!found.texts.is_empty());
        self.runtime
            .block_on(self.store.purge(actor, found.texts, why))
            .expect("it is purged");
    }

    /// Closes the file.
    pub fn done(self) {
        self.runtime.block_on(self.store.close());
    }
}

/// A project's home.
pub fn home(workspace: &str, project: &str) -> Home {
    Home {
        workspace: Workspace::new(workspace).expect("a workspace"),
        project: Project::new(project).expect("a project"),
    }
}

/// The address that `scope/key` stands for, the key being what follows the last slash.
pub fn address(at: &str) -> Address {
    let (scope, key) = at.rsplit_once('/').expect("scope/key");
    Address {
        scope: Scope::new(scope).expect("a scope"),
        key: Key::new(key).expect("a key"),
    }
}

fn pin(at: &str, version: u64) -> Ref {
    Ref {
        at: address(at),
        version: Some(version),
    }
}

/// A report on refs, on a packet, or on both.
pub fn report(word: &str, run: &str, refs: &[Ref], id: Option<&HandoffId>, note: Option<&str>) -> NewOutcome {
    NewOutcome::new(
        Report::parse(word).expect("a report"),
        OutcomeRef::new(run).expect("a run"),
        Some(refs.to_vec()),
        id.cloned(),
        note.map(str::to_owned),
    )
    .expect("a report")
}

/// Values of every kind, as their JSON text must come out again. See X07.
pub const KINDS: [(&str, &str); 10] = [
    (
        "order",
        r#"{"b":1,"a":{"z":1e+100,"y":1.0,"n":-0.0},"":{"\u0000":"\u001f"}}"#,
    ),
    (
        "integers",
        "[9223372036854775807,-9223372036854775808,18446744073709551615,1234567890123456789]",
    ),
    ("doubles", "[0.1,1.7976931348623157e+308,5e-324,1e-7,100.0]"),
    ("strings", r#"["007","null","[1,2]","1e2",""," \n\t\"\\/"]"#),
    ("unicode", "[\"é\",\"e\u{301}\",\"😀\",\"用户\",\"\u{202e}x\u{2028}\"]"),
    ("null", "null"),
    ("true", "true"),
    ("text", "\"[1,2]\""),
    ("nested", "[[[[[[]]]],{}],{\"a\":[{}]}]"),
    ("zero", "-0.0"),
];

/// A store with everything in it: three projects, every kind of value, entry, packet and text.
pub fn everything() -> Place {
    written(true)
}

/// The same without purges.
pub fn unpurged() -> Place {
    written(false)
}

fn written(purges: bool) -> Place {
    let place = Place::new();
    let mut scribe = Scribe::at(&place.db());
    records(&mut scribe);
    let gone = packets(&mut scribe);
    if purges {
        purge_some(&mut scribe, gone);
    }
    scribe.remember("scout/s9", "app/plan", "\"the last one\"", |_| {});
    // Names that have to be escaped wherever they stand.
    scribe.enter("größe \"q\"", "a b/ü:\\%");
    scribe.remember("x", "s/k", r#"{"deep":[[[1.0]]]}"#, |_| {});
    scribe.remember("x/run \"1\"", "s \"\\/k \"ü\"", "1", |new| {
        new.tags = tags(&["\"\\", "ß"])
    });
    let id = scribe.hand_off("x", "elsewhere", |new| {
        new.refs = Some(vec![pin("s \"\\/k \"ü\"", 1), pin("s/k", 1)]);
    });
    scribe.resume("y \"z\"", &id);
    scribe.enter("default", "second");
    scribe.remember("scout", "app/plan", "\"the same address in another project\"", |_| {});
    scribe.done();
    place.verify_clean();
    place
}

/// Tags from their texts.
pub fn tags(texts: &[&str]) -> Tags {
    Tags::new(&texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).expect("tags")
}

fn purge_some(scribe: &mut Scribe, packet: HandoffId) {
    for (target, why) in [
        (Target::Record(address("app/leak"), Some(1)), Reason::Secret),
        (Target::Record(address("app/gone"), None), Reason::Personal),
        (Target::Packet(packet), Reason::Mistake),
        (Target::containing("a note to purge").expect("a text"), Reason::Other),
    ] {
        scribe.purge("janitor/clean", target, why);
    }
}

fn records(scribe: &mut Scribe) {
    for (key, value) in KINDS {
        scribe.remember("Späher/s1", &format!("kinds/x/{key}"), value, |_| {});
    }
    scribe.remember("scout/s1", "app/plan", "\"first\"", |new| {
        new.tags = tags(&["red", "b c", "ß"]);
    });
    scribe.remember("codex/s2", "app/plan", "\"second\"", |new| {
        new.confidence = Some(Confidence::named("confidence", 1.0).expect("a confidence"));
    });
    scribe.remember("scout", "app/plan", "\"third\"", |new| new.tags = tags(&["red"]));
    scribe.remember("scout", "app/leak", "\"a value to purge\"", |_| {});
    scribe.remember("scout", "app/leak", "\"what took its place\"", |_| {});
    for n in 0..2 {
        scribe.remember("scout", "app/gone", &format!("[\"purged and current\",{n}]"), |_| {});
    }
    scribe.remember("claude/s3", "own/notes", "{\"only\":\"for claude\"}", |new| {
        new.private_to = Some(Agent::new("claude").expect("an agent"));
        new.meta = Some(json!({"zebra": 1.0, "amfs": {"n": -0.0, "list": [1, null]}}));
    });
    let moved = [pin("app/plan", 1), pin("app/plan", 2)];
    scribe.report(
        "codex/s2",
        report("success", "run-1", &moved, None, Some("a note to purge")),
    );
    scribe.report("codex/s2", report("failure", "run-2", &moved[1..], None, None));
    scribe.report(
        "claude",
        report("success", "run-3", &moved, None, Some("one note on two versions")),
    );
}

/// Packets in every state, by every way there; gives one whose texts are to be purged.
fn packets(scribe: &mut Scribe) -> HandoffId {
    let pins = vec![pin("app/plan", 1), pin("app/plan", 3), pin("app/leak", 1)];
    let closed = |scribe: &mut Scribe, word: &str| {
        let pins = pins.clone();
        let id = scribe.hand_off("scout/s1", word, |new| {
            new.refs = Some(pins);
            new.cwd = Some(Cwd::new("/src/app").expect("a directory"));
        });
        scribe.resume("codex/s2/ann", &id);
        let note = format!("a note on {word}");
        scribe.report(
            "codex/s2/ann",
            report(word, &format!("end-{word}"), &[], Some(&id), Some(&note)),
        );
        id
    };
    closed(scribe, "success");
    closed(scribe, "failure");
    let purged = closed(scribe, "abandoned");
    // Written by the session that took one up in the same directory: it continues that one.
    scribe.hand_off("codex/s2", "goes on", |new| {
        new.cwd = Some(Cwd::new("/src/app/").expect("a directory"));
        new.git = Some(Git {
            branch: Some("feature/ü".to_owned()),
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            dirty: true,
        });
    });
    let released = scribe.hand_off("scout/s1", "released", |new| {
        new.expires_in = Some(Span::from_minutes(10));
    });
    scribe.resume("codex/s2", &released);
    scribe.wait(20);
    let back = NewOutcome::release(released.clone(), None, Some("no time".to_owned()));
    scribe.report("codex/s2", back.expect("a release"));
    let moved = scribe.hand_off("scout/s1/ann", "resumed elsewhere", |new| {
        new.git = Some(Git {
            branch: None,
            commit: "f00".to_owned(),
            dirty: false,
        });
    });
    scribe.resume("codex/s2/ann", &moved);
    scribe.resume("codex/s3/ann", &moved);
    let lapsed = scribe.hand_off("scout/s1", "taken over", |new| {
        new.to_agent = Some(Agent::new("Claude").expect("an agent"));
    });
    scribe.resume("codex/s2", &lapsed);
    scribe.wait(120);
    scribe.resume("claude/s4", &lapsed);
    let cancelled = scribe.hand_off("scout/s1", "cancelled", |_| {});
    let taken_back = NewOutcome::cancel(cancelled, None, Some("never mind".to_owned()));
    scribe.report("scout/s1", taken_back.expect("a cancellation"));
    let old = scribe.hand_off("scout/s1", "superseded", |_| {});
    scribe.hand_off("scout/s1", "its successor", |new| new.supersedes = Some(old));
    let again = scribe.hand_off("scout/s1", "run out and reopened", |new| {
        new.expires_in = Some(Span::from_minutes(5));
    });
    scribe.hand_off("scout/s1/ann", "run out", |new| {
        new.expires_in = Some(Span::from_minutes(6))
    });
    scribe.wait(10);
    // The one that was released runs out later; that of ann ends too, and is not the janitor's to know.
    assert_eq!(scribe.expire_due("janitor"), 1);
    scribe.reopen("janitor/j/ann", &again);
    automatic(scribe);
    purged
}

fn automatic(scribe: &mut Scribe) {
    let mut last = None;
    // Two of one session, of which the later ends the earlier, and one of another session.
    for (session, title) in [("w1", "first end"), ("w1", "second end"), ("w2", "other window")] {
        let id = scribe.hand_off(&format!("hook/{session}"), title, |new| {
            new.origin = Origin::Automatic;
            new.cwd = Some(Cwd::new("/src/app").expect("a directory"));
        });
        last = Some(id);
    }
    // Taking the newest in its own directory ends the older ones there.
    scribe.resume("codex/w3", &last.expect("a packet"));
}

/// Asserts that `verify` and the script in another language find the file intact.
#[track_caller]
pub fn intact(place: &Place) {
    place.verify_clean();
    let checked = check(&place.db());
    assert_eq!(checked.status.code(), Some(0), "{}", said(&checked));
}

/// The checkpoints of all projects, a line each.
#[track_caller]
pub fn checkpoints(place: &Place) -> String {
    let ran = place.run(&["checkpoint", "--all"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout
}

/// Exports everything into a new file of the place.
#[track_caller]
pub fn export(place: &Place, name: &str) -> PathBuf {
    let file = place.path().join(name);
    let ran = place.run(&["export", text(&file)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    file
}

/// Runs `import` of a file and gives what it printed; `code` is its exit code.
#[track_caller]
pub fn import(place: &Place, file: &Path, code: i32) -> Ran {
    let ran = place.run(&["import", text(file)]);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    plain(&ran);
    ran
}

/// Runs `--json import` of a file that goes well and gives its answer's projects as (project, state, known, added).
#[track_caller]
pub fn imported(place: &Place, file: &Path, code: i32) -> Vec<(String, String, u64, u64)> {
    let ran = place.run(&["--json", "import", text(file)]);
    assert_eq!(ran.code, Some(code), "{ran:?}");
    let answer = document(&ran);
    let projects = answer["projects"].as_array().expect("projects");
    let word = |project: &Value, name: &str| project[name].as_str().expect(name).to_owned();
    let count = |project: &Value, name: &str| project[name].as_u64().expect(name);
    projects
        .iter()
        .map(|p| {
            (
                word(p, "project"),
                word(p, "state"),
                count(p, "known"),
                count(p, "added"),
            )
        })
        .collect()
}

/// The one JSON document that a command printed.
#[track_caller]
pub fn document(ran: &Ran) -> Value {
    assert_eq!(ran.stdout.lines().count(), 1, "one document: {ran:?}");
    serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {ran:?}"))
}

/// Asserts that a command showed nothing of its inside and did not panic.
#[track_caller]
pub fn plain(ran: &Ran) {
    assert_ne!(ran.code, Some(101), "{ran:?}");
    assert!(ran.code.is_some(), "it was killed: {ran:?}");
    for inside in [
        "panicked",
        ".rs:",
        "SELECT ",
        "INSERT ",
        "rusqlite",
        "constraint",
        "RUST_BACKTRACE",
        "Error(",
    ] {
        assert!(!ran.stderr.contains(inside), "{inside} in {ran:?}");
        assert!(!ran.stdout.contains(inside), "{inside} in {ran:?}");
    }
}

/// Asserts that no file of the database holds `needle`.
#[track_caller]
pub fn no_byte_left(db: &Path, needle: &str) {
    for file in [
        db.to_owned(),
        beside(db, "-wal"),
        beside(db, "-shm"),
        beside(db, "-journal"),
    ] {
        let bytes = std::fs::read(&file).unwrap_or_default();
        assert!(!holds(&bytes, needle), "{needle} is left in {}", file.display());
    }
}

/// Whether bytes hold a text.
pub fn holds(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}
