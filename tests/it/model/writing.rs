//! The model's packets as they are written: what they pin, what they continue, and what they are the same as.

use serde_json::{Value, json};

use super::queue::{Draft, Packet};
use super::world::{At, Refused, Said, Subject, Who, World, refused, same};

impl World {
    /// What a packet pins; versions are resolved and must be the caller's to pin.
    fn pins(&self, who: &Who, draft: &Draft) -> Result<Vec<(At, u64)>, Refused> {
        let Some(refs) = &draft.refs else {
            return Ok(self.silent_pins(who));
        };
        refs.iter()
            .map(|(at, number)| {
                let (at, version) = self.resolved(who, *at, *number)?;
                let private = self.version(at, version).private_to;
                if private.is_some_and(|only| draft.to.is_none_or(|to| !same(to, only))) {
                    return refused("not_allowed");
                }
                Ok((at, version))
            })
            .collect()
    }

    /// The version that a ref names for this caller.
    pub fn resolved(&self, who: &Who, at: At, number: Option<u64>) -> Result<(At, u64), Refused> {
        let Some((last, _)) = self.current(who, at) else {
            return refused("not_found");
        };
        let number = number.unwrap_or(last);
        if number == 0 || number > last {
            return refused("not_found");
        }
        Ok((at, number))
    }

    /// What the session touched; without one what the agent wrote since its last packet. Never what is private.
    fn silent_pins(&self, who: &Who) -> Vec<(At, u64)> {
        let last = self
            .packets
            .iter()
            .filter(|packet| who.is(packet.from))
            .map(|packet| packet.seq)
            .max();
        let mut pins = who
            .run
            .and_then(|run| self.touched.get(&run).cloned())
            .unwrap_or_default();
        for (at, versions) in &self.records {
            for (number, version) in (1..).zip(versions) {
                let mine = who.is(version.author);
                let counts = match who.run {
                    Some(run) => version.run == Some(run),
                    None => last.is_none_or(|last| version.seq > last),
                };
                if mine && counts {
                    let newest = pins.entry(*at).or_insert(number);
                    *newest = number.max(*newest);
                }
            }
        }
        pins.into_iter()
            .filter(|(at, number)| self.version(*at, *number).private_to.is_none())
            .collect()
    }

    /// `handoff`.
    pub fn hand_off(&mut self, who: &Who, draft: &Draft, title: &str) -> Said {
        let pins = self.pins(who, draft)?;
        let cwd = draft.cwd.or(who.cwd);
        let owner = who.owner.filter(|_| !draft.shared);
        let identical = |n: &usize| {
            let packet = &self.packets[*n];
            let same_pins = packet.pins == pins || (draft.refs.is_none() && pins.is_empty());
            who.is(packet.from)
                && packet.title == title
                && packet.owner == owner
                && ["open", "accepted"].contains(&packet.state)
                && packet.cwd == cwd
                && (Draft {
                    refs: None,
                    cwd: None,
                    ..packet.draft.clone()
                }) == (Draft {
                    refs: None,
                    cwd: None,
                    ..draft.clone()
                })
                && same_pins
                && packet.seq > self.ledger.iter().filter(|entry| entry.past).count()
        };
        if let Some(n) = (0..self.packets.len()).rfind(identical) {
            let mut packet = self.packet(who, n);
            packet["changes_since"] = json!({"$any": true});
            return Ok(json!({"unchanged": true, "packet": packet, "open_by_you": self.open_by(who)}));
        }
        if let Some(old) = draft.supersedes {
            let old = &self.packets[self.named(who, old)?];
            if !who.is(old.from) {
                return refused("not_allowed");
            }
            if old.state != "open" {
                return refused("conflict");
            }
        }
        self.write_down_due(who);
        let continues = (0..self.packets.len()).filter(|n| {
            let packet = &self.packets[*n];
            let mine = packet
                .holder
                .is_some_and(|held| who.is(held.agent) && who.run.is_some() && held.run == who.run);
            mine && packet.receiving == cwd && self.sees(who, *n)
        });
        let continues = continues.collect();
        let n = self.packets.len();
        self.append(who, "handed_off", Subject::Packet(n));
        self.packets.push(Packet {
            from: who.agent,
            from_run: who.run,
            owner,
            cwd,
            draft: draft.clone(),
            title: title.to_owned(),
            pins: pins.clone(),
            state: "open",
            ended_as: None,
            due: false,
            holder: None,
            receiving: None,
            superseded_by: None,
            continues,
            outcome_ref: None,
            forever: draft.expires_in == Some("0"),
            seq: self.ledger.len(),
            held_once: Vec::new(),
            last_end: None,
        });
        if let Some(old) = draft.supersedes {
            self.supersede(who, old, n);
        }
        let refs: Vec<Value> = pins.iter().map(|pin| self.pin(*pin, false)).collect();
        Ok(
            json!({"unchanged": null, "packet": self.packet(who, n), "refs": {"$set": refs}, "open_by_you": self.open_by(who)}),
        )
    }

    fn open_by(&self, who: &Who) -> usize {
        let open = self.visible(who).filter(|n| self.packets[*n].state == "open");
        open.filter(|n| who.is(self.packets[*n].from)).count()
    }
}
