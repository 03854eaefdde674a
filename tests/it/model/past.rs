//! What was there before a case begins, long ago: only so can its processes meet claims that have lapsed and packets whose time
//! is over, without waiting for either.

use handoff_memory::domain::handoff::Origin;
use handoff_memory::domain::handoff::place::Cwd;
use handoff_memory::domain::{Agent, Span};
use serde_json::json;

use super::answers::Names;
use super::queue::{Draft, Holder, Packet};
use super::world::{PRIVATE, Run, Subject, Version, Who, World};
use crate::everything::Scribe;
use crate::harness::Place;

/// Which pieces of a past there are.
#[derive(Debug, Clone, Copy)]
pub struct Past {
    /// A packet of carl's that bert took, and never came back to.
    pub lapsed: bool,
    /// A packet that dora took in a session that may come back.
    pub left: bool,
    /// A packet whose time is over, which nobody has written down.
    pub due: bool,
    /// Two packets that hooks wrote in the same directory.
    pub automatic: bool,
    /// A record that is anna's alone.
    pub private: bool,
}

fn then(agent: &'static str, run: &'static str) -> Who {
    Who {
        agent,
        owner: None,
        run: Some(Run::Named(run)),
        cwd: None,
    }
}

impl Past {
    /// The store as it is then.
    pub fn world(self) -> World {
        let mut world = World::new();
        world.past = true;
        if self.private {
            let anna = then("anna", "then");
            world.append(&anna, "remembered", Subject::Version(PRIVATE, 1));
            let version = Version {
                value: json!("alpha"),
                tags: Vec::new(),
                author: anna.agent,
                run: anna.run,
                base: 0.7,
                confidence: 0.7,
                successes: 0,
                failures: 0,
                private_to: Some("anna"),
                seq: world.ledger.len(),
            };
            world.records.insert(PRIVATE, vec![version]);
        }
        let carl = then("carl", "then");
        if self.lapsed {
            world.old(&carl, "lapsed", None);
            world.took(&then("bert", "long-ago"));
        }
        if self.left {
            world.old(&carl, "left", None);
            world.took(&then("dora", "old"));
        }
        if self.due {
            world.old(&carl, "due", None);
            let packet = world.packets.last_mut().expect("just written");
            packet.state = "expired";
            packet.ended_as = Some("ttl");
            packet.due = true;
            packet.forever = false;
        }
        if self.automatic {
            for run in ["window-1", "window-2"] {
                world.old(&then("hook", run), run, Some("app"));
            }
        }
        world.past = false;
        world
    }

    /// Writes it into the file of a place.
    pub fn write(self, place: &Place, names: &mut Names) {
        if !(self.lapsed || self.left || self.due || self.automatic || self.private) {
            return;
        }
        let mut scribe = Scribe::at(&place.db());
        if self.private {
            scribe.remember("anna/then", "own/p", "\"alpha\"", |new| {
                new.private_to = Some(Agent::new("anna").expect("an agent"));
            });
        }
        let mut written = Vec::new();
        for (there, title, taker) in [
            (self.lapsed, "lapsed", "bert/long-ago"),
            (self.left, "left", "dora/old"),
        ] {
            if there {
                let id = scribe.hand_off("carl/then", title, |_| {});
                scribe.resume_without_place(taker, &id);
                written.push(id);
            }
        }
        if self.due {
            written.push(scribe.hand_off("carl/then", "due", |new| new.expires_in = Some(Span::from_minutes(5))));
        }
        if self.automatic {
            let app = names.place("app");
            for run in ["window-1", "window-2"] {
                written.push(scribe.hand_off(&format!("hook/{run}"), run, |new| {
                    new.origin = Origin::Automatic;
                    new.cwd = Some(Cwd::new(app.as_str().expect("a path")).expect("a directory"));
                }));
            }
        }
        scribe.done();
        for id in written {
            names.written(id.to_string());
        }
    }
}

impl World {
    fn old(&mut self, who: &Who, title: &str, automatic_in: Option<&'static str>) {
        let n = self.packets.len();
        self.append(who, "handed_off", Subject::Packet(n));
        let draft = Draft {
            to: None,
            refs: Some(Vec::new()),
            cwd: automatic_in,
            shared: true,
            expires_in: Some("0"),
            supersedes: None,
            automatic: automatic_in.is_some(),
        };
        self.packets.push(Packet {
            from: who.agent,
            from_run: who.run,
            owner: None,
            cwd: automatic_in,
            draft,
            title: title.to_owned(),
            pins: Vec::new(),
            state: "open",
            ended_as: None,
            due: false,
            holder: None,
            receiving: None,
            superseded_by: None,
            continues: Vec::new(),
            outcome_ref: None,
            forever: true,
            seq: self.ledger.len(),
            held_once: Vec::new(),
            last_end: None,
        });
    }

    fn took(&mut self, who: &Who) {
        let n = self.packets.len() - 1;
        self.append(who, "accepted", Subject::Packet(n));
        let packet = &mut self.packets[n];
        packet.state = "accepted";
        packet.held_once.push(who.agent);
        packet.holder = Some(Holder {
            agent: who.agent,
            owner: None,
            run: who.run,
            since: self.ledger.len(),
        });
    }
}
