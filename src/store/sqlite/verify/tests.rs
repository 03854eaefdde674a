//! What `verify` promises, on a store that the real verbs wrote: every single-row change is found, work that goes on
//! raises nothing, and no damage ends the process.

mod cells;
mod checkpoints;
mod damage;
mod rows;
mod written;

use std::path::{Path, PathBuf};

use rusqlite::Connection;
use tempfile::TempDir;

use super::verify;
use crate::domain::fault::Report as Faults;
use crate::domain::handoff::{HandoffId, NewHandoff, Texts};
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::record::NewVersion;
use crate::domain::{
    Actor, Address, Agent, Home, JsonText, Key, OutcomeRef, Project, Reach, Ref, Scope, Session, Span, Time, Workspace,
};
use crate::store::sqlite::connection;
use crate::store::{Durability, Store};
use written::written;

/// Fourteen days, as the settings have it.
const TTL: Span = Span::from_minutes(14 * 24 * 60);

/// A caller in project `project`, `minutes` after the first one.
fn actor(project: &str, agent: &str, session: Option<&str>, minutes: i64) -> Actor {
    Actor {
        home: Home {
            workspace: Workspace::new("wörk").unwrap(),
            project: Project::new(project).unwrap(),
        },
        agent: Agent::new(agent).unwrap(),
        session: session.map(|name| Session::new(name).unwrap()),
        owner: None,
        reach: Reach::Shared,
        cwd: None,
        now: Time::from_millis(1_800_000_000_123 + minutes * 60_000),
        lease: Span::from_minutes(60),
    }
}

fn at(scope: &str, key: &str) -> Address {
    Address {
        scope: Scope::new(scope).unwrap(),
        key: Key::new(key).unwrap(),
    }
}

fn value(at: &Address, text: &str) -> NewVersion {
    NewVersion::new(
        at.scope.clone(),
        at.key.clone(),
        JsonText::value("value", text).unwrap(),
    )
}

fn packet(title: &str) -> NewHandoff {
    let list = |text: &str| vec![text.to_owned()];
    let texts = Texts::new(
        title,
        "where things stand",
        list("go on"),
        list("why?"),
        list("src/ü.rs"),
    );
    NewHandoff::new(texts.unwrap())
}

fn outcome(
    report: Report,
    run: &str,
    refs: &[(&Address, u64)],
    id: Option<&HandoffId>,
    note: Option<&str>,
) -> NewOutcome {
    let refs = refs
        .iter()
        .map(|(at, version)| Ref {
            at: (*at).clone(),
            version: Some(*version),
        })
        .collect();
    let run = OutcomeRef::new(run).unwrap();
    NewOutcome::new(report, run, Some(refs), id.cloned(), note.map(str::to_owned)).unwrap()
}

/// A store in a folder of its own.
struct Place {
    dir: TempDir,
}

impl Place {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// A copy of [`written`], which every test may damage.
    fn copy() -> Self {
        let place = Self::new();
        std::fs::write(place.path(), written()).unwrap();
        place
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("memory.db")
    }

    fn store(&self) -> Store {
        Store::new(self.path(), Durability::Normal)
    }

    /// The file with plain SQL, and nothing in it that refuses a change: no triggers, no NOT NULL.
    fn loose(&self) -> Connection {
        let conn = Connection::open(self.path()).unwrap();
        let triggers: Vec<String> = conn
            .prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'")
            .unwrap()
            .query_map([], |row| row.get(0))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        for name in triggers {
            conn.execute_batch(&format!("DROP TRIGGER {name}")).unwrap();
        }
        conn.execute_batch(
            "PRAGMA writable_schema = ON;
             UPDATE sqlite_schema SET sql = replace(sql, ' NOT NULL', '') WHERE type = 'table' AND name NOT LIKE 'search%';
             PRAGMA writable_schema = RESET;",
        )
        .unwrap();
        conn
    }
}

/// What `verify` finds in the file, on a connection of its own.
fn check(path: &Path) -> Faults {
    let opened = connection::reader(path).unwrap().expect("a store");
    verify(&opened.conn, &[], &mut |_, _| {}).expect("verify answers, whatever it finds")
}

#[test]
fn a_store_that_nobody_touched_is_intact() {
    let place = Place::copy();
    assert_eq!(check(&place.path()).faults, []);
    let conn = place.loose();
    drop(conn);
    let report = check(&place.path());
    assert_eq!(report.faults, []);
    assert!(report.checked > 60, "{}", report.checked);
}

#[test]
fn the_store_of_these_tests_holds_one_of_everything() {
    let conn = Place::copy().loose();
    let words = |sql: &str| -> String { conn.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(
        words("SELECT group_concat(kind, ' ') FROM (SELECT DISTINCT kind FROM ledger ORDER BY kind)"),
        "accepted closed created expired handed_off outcome purged released remembered reopened resumed"
    );
    assert_eq!(
        words("SELECT group_concat(state, ' ') FROM (SELECT DISTINCT state FROM handoff ORDER BY state)"),
        "accepted closed expired open"
    );
    assert_eq!(
        words("SELECT group_concat(ended_as, ' ') FROM (SELECT DISTINCT ended_as FROM handoff ORDER BY ended_as)"),
        "cancelled success superseded"
    );
    // Each column that may be empty is set somewhere.
    for (table, column) in cells::columns(&conn) {
        let set: i64 = conn
            .query_row(&format!("SELECT count({column}) FROM {table}"), [], |row| row.get(0))
            .unwrap();
        assert!(set > 0, "{table}.{column} is nowhere set");
    }
}
