//! The store's verbs on a real file, at times that the tests choose.

mod automatic;
mod known;
mod model;
mod older;
mod together;

use std::sync::Arc;

use super::Store;
use crate::domain::handoff::seen::{HandedOff, Resumed};
use crate::domain::handoff::{HandoffId, NewHandoff, Packet, Texts};
use crate::domain::record::NewVersion;
use crate::domain::{Actor, Agent, Home, JsonText, Key, Owner, Project, Reach, Scope, Session, Span, Time, Workspace};
use crate::store::{Durability, StoreError};

/// How long packets wait in these tests.
const TTL: Span = Span::from_minutes(20);

/// How long claims hold in these tests.
const LEASE: Span = Span::from_minutes(5);

/// A store in a folder of its own.
struct Bench {
    store: Store,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().join("memory.db"), Durability::Normal);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self {
            store,
            runtime,
            _folder: folder,
        }
    }

    fn hand_off(&self, actor: &Actor, new: NewHandoff) -> HandedOff {
        self.runtime
            .block_on(self.store.hand_off(actor.clone(), new, Vec::new(), TTL))
            .unwrap()
    }

    fn try_resume(&self, actor: &Actor, id: Option<&HandoffId>) -> Result<Resumed, StoreError> {
        self.runtime
            .block_on(self.store.resume(actor.clone(), id.cloned(), Arc::new(|_| false)))
    }

    fn resume(&self, actor: &Actor) -> Option<HandoffId> {
        self.try_resume(actor, None)
            .unwrap()
            .found
            .map(|(seen, ..)| seen.packet.id)
    }

    fn remember(&self, actor: &Actor, key: &str, value: &str) {
        let new = version(key, value);
        self.runtime.block_on(self.store.remember(actor.clone(), new)).unwrap();
    }

    /// The packet as root sees it.
    fn packet(&self, now: Time, id: &HandoffId) -> Packet {
        let root = Actor {
            reach: Reach::Root,
            ..actor("root", None, None, now)
        };
        let peeked = self
            .runtime
            .block_on(self.store.peek(root, Some(id.clone()), 1))
            .unwrap();
        peeked.one.unwrap().0.packet
    }

    fn proved(&self) {
        let report = self.runtime.block_on(self.store.verify(Vec::new(), |_, _| {})).unwrap();
        assert!(report.ok(), "{:?}", report.faults);
    }
}

fn actor(agent: &str, session: Option<&str>, owner: Option<&str>, now: Time) -> Actor {
    Actor {
        home: Home {
            workspace: Workspace::new("w").unwrap(),
            project: Project::new("p").unwrap(),
        },
        agent: Agent::new(agent).unwrap(),
        session: session.map(|name| Session::new(name).unwrap()),
        owner: owner.map(|name| Owner::new(name).unwrap()),
        reach: Reach::Shared,
        cwd: None,
        now,
        lease: LEASE,
    }
}

fn version(key: &str, value: &str) -> NewVersion {
    let value = JsonText::value("value", value).unwrap();
    NewVersion::new(Scope::new("s").unwrap(), Key::new(key).unwrap(), value)
}

fn titled(title: &str) -> NewHandoff {
    let mut new = NewHandoff::new(Texts::new(title, "s", vec![], vec![], vec![]).unwrap());
    new.refs = Some(Vec::new());
    new
}

fn at(seconds: i64) -> Time {
    Time::from_millis(1_800_000_000_000 + seconds * 1_000)
}
