//! The model's packets: what they pin, who may see, take, give back and end them.

use std::cmp::Reverse;

use serde_json::{Value, json};

use super::world::{At, Entry, Refused, Run, Said, Subject, Who, World, refused, same, shown};

/// Who holds or held a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Holder {
    pub agent: &'static str,
    pub owner: Option<&'static str>,
    pub run: Option<Run>,
    /// Where the claim stands in the ledger.
    pub since: usize,
}

/// How a packet was asked for.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    pub to: Option<&'static str>,
    /// None: what the session touched. A version that is none: the current one.
    pub refs: Option<Vec<(At, Option<u64>)>>,
    pub cwd: Option<&'static str>,
    pub shared: bool,
    pub expires_in: Option<&'static str>,
    pub supersedes: Option<usize>,
    pub automatic: bool,
}

#[derive(Debug, Clone)]
pub struct Packet {
    pub from: &'static str,
    pub from_run: Option<Run>,
    pub owner: Option<&'static str>,
    pub cwd: Option<&'static str>,
    pub draft: Draft,
    pub title: String,
    pub pins: Vec<(At, u64)>,
    pub state: &'static str,
    pub ended_as: Option<&'static str>,
    /// Its time is over, and nobody has written that down yet.
    pub due: bool,
    pub holder: Option<Holder>,
    pub receiving: Option<&'static str>,
    pub superseded_by: Option<usize>,
    /// One of these, or absent when there is none.
    pub continues: Vec<usize>,
    pub outcome_ref: Option<&'static str>,
    /// Whether it waits without an end.
    pub forever: bool,
    /// Where its writing stands in the ledger.
    pub seq: usize,
    /// Who held it at any time.
    pub held_once: Vec<&'static str>,
    /// Who ended it or gave it back last, as what and under which run's name.
    pub last_end: Option<(&'static str, &'static str, Option<&'static str>)>,
}

impl World {
    pub fn sees(&self, who: &Who, n: usize) -> bool {
        self.packets[n].owner.is_none_or(|owner| who.owner == Some(owner))
    }

    pub fn visible(&self, who: &Who) -> impl Iterator<Item = usize> {
        let who = *who;
        (0..self.packets.len()).filter(move |n| self.sees(&who, *n))
    }

    /// The packet that a caller names, unless it does not exist for that caller.
    pub fn named(&self, who: &Who, n: usize) -> Result<usize, Refused> {
        if n < self.packets.len() && self.sees(who, n) {
            Ok(n)
        } else {
            refused("not_found")
        }
    }

    fn holds(&self, who: &Who, n: usize) -> bool {
        let packet = &self.packets[n];
        packet.state == "accepted" && packet.holder.is_some_and(|holder| who.is(holder.agent))
    }

    /// Whether a claim has lapsed: whatever happened in this test renews it, what happened before it does not.
    pub fn lapsed(&self, n: usize) -> bool {
        let Some(holder) = self.packets[n].holder else {
            return false;
        };
        let renews = |entry: &Entry| {
            let of_session = holder.run.is_some() && entry.run == holder.run && same(entry.agent, holder.agent);
            !entry.past && (of_session || entry.subject == Subject::Packet(n))
        };
        self.packets[n].state == "accepted" && !self.ledger.iter().any(renews)
    }

    /// What a bare `resume` could take, the first to take first.
    pub fn takeable(&self, who: &Who, cwd: Option<&'static str>) -> Vec<usize> {
        let mut free: Vec<usize> = self
            .visible(who)
            .filter(|n| {
                let packet = &self.packets[*n];
                let free = packet.state == "open" || (!self.holds(who, *n) && self.lapsed(*n));
                let own = who.run.is_some() && packet.from_run == who.run;
                free && !own && packet.draft.to.is_none_or(|to| who.is(to))
            })
            .collect();
        free.sort_by_key(|n| {
            let packet = &self.packets[*n];
            let automatic = packet.draft.automatic;
            let age = if automatic {
                (0, Reverse(packet.seq))
            } else {
                (packet.seq, Reverse(0))
            };
            (automatic, packet.draft.to.is_none(), distance(packet.cwd, cwd), age)
        });
        free
    }

    /// What a bare `resume` gives when nothing is free.
    fn unfinished_for(&self, who: &Who) -> Option<usize> {
        let mut held: Vec<usize> = self.visible(who).filter(|n| self.holds(who, *n)).collect();
        held.sort_by_key(|n| Reverse(self.packets[*n].holder.map(|holder| holder.since)));
        let run = |n: usize| self.packets[n].holder.and_then(|holder| holder.run);
        let own = held.iter().find(|n| who.run.is_some() && run(**n) == who.run);
        let left = || {
            held.iter()
                .find(|n| self.lapsed(**n) || run(**n).is_some_and(|run| self.gone(run)))
        };
        own.or_else(left).copied()
    }

    /// The numbers that every answer of `resume` has.
    fn around(&self, who: &Who, cwd: Option<&'static str>, given: Option<usize>) -> Value {
        let free = self.takeable(who, cwd);
        let open = self.visible(who).filter(|n| self.packets[*n].state == "open").count();
        let open_free = free.iter().filter(|n| self.packets[**n].state == "open").count();
        let expired = self
            .visible(who)
            .filter(|n| self.packets[*n].state == "expired")
            .count();
        let unfinished: Vec<Value> = self
            .visible(who)
            .filter(|n| self.holds(who, *n) && given != Some(*n))
            .map(|n| {
                let run = self.packets[n].holder.and_then(|holder| holder.run);
                json!({"id": format!("$p{n}"), "title": self.packets[n].title, "session": shown(run)})
            })
            .collect();
        json!({"waiting": free.len(), "elsewhere": {"others": open - open_free, "expired": expired},
               "unfinished": {"$set": unfinished}})
    }

    /// `resume`, bare or of one packet.
    pub fn resume(&mut self, who: &Who, n: Option<usize>, cwd: Option<&'static str>) -> Said {
        let cwd = cwd.or(who.cwd);
        let chosen = match n {
            Some(n) => Some(self.named(who, n)?),
            None => self
                .takeable(who, cwd)
                .first()
                .copied()
                .or_else(|| self.unfinished_for(who)),
        };
        self.write_down_due(who);
        let Some(n) = chosen else {
            let mut answer = self.around(who, cwd, None);
            merge(&mut answer, json!({"packet": null, "refs": [], "stale": 0}));
            return Ok(answer);
        };
        let packet = self.packets[n].clone();
        let mut how = json!({"already_yours": null, "held_by_session": null, "took_over_from": null});
        match packet.holder.filter(|_| packet.state == "accepted") {
            _ if ["closed", "expired"].contains(&packet.state) => return refused("conflict"),
            Some(holder) if who.is(holder.agent) => {
                how["already_yours"] = json!(true);
                if who.run.is_none() || holder.run != who.run {
                    how["held_by_session"] = shown(holder.run);
                }
                self.append(who, "resumed", Subject::Packet(n));
                let packet = &mut self.packets[n];
                packet.holder = Some(Holder { run: who.run, ..holder });
                packet.receiving = cwd.or(packet.receiving);
            }
            Some(holder) if !self.lapsed(n) => {
                let names = vec![holder.agent.to_owned()];
                return Err(Refused {
                    code: "conflict",
                    names,
                });
            }
            held => {
                if let Some(holder) = held {
                    how["took_over_from"] = json!(holder.agent);
                }
                self.append(who, "accepted", Subject::Packet(n));
                self.packets[n].state = "accepted";
                self.packets[n].holder = Some(Holder {
                    agent: who.agent,
                    owner: who.owner,
                    run: who.run,
                    since: self.ledger.len(),
                });
                self.packets[n].receiving = cwd;
                self.sweep(who, n, cwd);
            }
        }
        self.packets[n].held_once.push(who.agent);
        for (at, version) in packet.pins {
            self.touch(who, at, version);
        }
        let mut answer = self.around(who, cwd, Some(n));
        merge(&mut answer, self.given(who, n));
        merge(&mut answer, how);
        Ok(answer)
    }

    /// Taking an automatic packet in its own directory ends the older automatic ones there.
    fn sweep(&mut self, who: &Who, taken: usize, cwd: Option<&'static str>) {
        let packet = self.packets[taken].clone();
        if !packet.draft.automatic || packet.cwd.is_none() || packet.cwd != cwd {
            return;
        }
        for n in 0..taken {
            let older = &self.packets[n];
            if older.state == "open" && older.draft.automatic && older.cwd == packet.cwd && older.owner == packet.owner
            {
                self.supersede(who, n, taken);
            }
        }
    }

    pub fn supersede(&mut self, who: &Who, old: usize, new: usize) {
        self.append(who, "expired", Subject::Packet(old));
        self.ledger.last_mut().expect("just appended").newer = Some(new);
        self.packets[old].state = "expired";
        self.packets[old].ended_as = Some("superseded");
        self.packets[old].superseded_by = Some(new);
    }

    /// `resume` that only looks.
    pub fn peek(&self, who: &Who, n: Option<usize>, cwd: Option<&'static str>) -> Said {
        let cwd = cwd.or(who.cwd);
        let mut answer = self.around(who, cwd, None);
        match n {
            Some(n) => merge(&mut answer, self.given(who, self.named(who, n)?)),
            None => {
                let free = self.takeable(who, cwd);
                let free: Vec<Value> = free.iter().map(|n| self.packet(who, *n)).collect();
                merge(&mut answer, json!({"packets": free, "packet": null}));
            }
        }
        Ok(answer)
    }

    /// A packet in somebody's hands, or looked at: with its pins.
    fn given(&self, who: &Who, n: usize) -> Value {
        let refs: Vec<Value> = self.packets[n].pins.iter().map(|pin| self.pin(*pin, true)).collect();
        let stale = refs.iter().filter(|one| one["status"] == "stale").count();
        json!({"packet": self.packet(who, n), "refs": {"$set": refs}, "stale": stale})
    }

    /// A pinned version, held against the current one.
    pub fn pin(&self, (at, number): (At, u64), valued: bool) -> Value {
        let version = self.version(at, number);
        let last = self.records[&at].len() as u64;
        let newest = self.version(at, last);
        let current = if last == number {
            Value::Null
        } else {
            json!({"version": last, "author": newest.author, "same_value": newest.value == version.value, "value": null})
        };
        json!({"scope": at.0, "key": at.1, "version": number, "status": if last == number { "current" } else { "stale" },
               "confidence": version.confidence, "current": current,
               "value": if valued { version.value.clone() } else { Value::Null }})
    }

    /// A packet's fields, as this caller may know them.
    pub fn packet(&self, who: &Who, n: usize) -> Value {
        let packet = &self.packets[n];
        let link = |other: Option<usize>| {
            other
                .filter(|n| self.sees(who, *n))
                .map_or(Value::Null, |n| json!(format!("$p{n}")))
        };
        let since = self.ledger.iter().skip(packet.seq);
        let since = since.filter(|entry| self.knows(who, entry) && entry.subject != Subject::Packet(n));
        let since: Vec<&Entry> = since.collect();
        // No face writes what is private yet: entries about it are still counted for whoever may not read them.
        let private = self
            .ledger
            .iter()
            .skip(packet.seq)
            .any(|entry| self.is_about_private(who, entry));
        let by_author = since.iter().filter(|entry| same(entry.agent, packet.from)).count();
        let continues: Vec<Value> = packet.continues.iter().map(|n| link(Some(*n))).collect();
        let holder = packet.holder;
        json!({
            "id": format!("$p{n}"), "title": packet.title, "from_agent": packet.from,
            "from_session": shown(packet.from_run), "to_agent": packet.draft.to, "owner": packet.owner,
            "cwd": place(packet.cwd), "origin": if packet.draft.automatic { "automatic" } else { "manual" },
            "state": packet.state, "ended_as": packet.ended_as, "supersedes": link(packet.draft.supersedes),
            "superseded_by": link(packet.superseded_by),
            "continues": if continues.is_empty() { Value::Null } else { json!({ "$one": continues }) },
            "accepted_by": holder.map(|holder| holder.agent), "accepted_owner": holder.and_then(|holder| holder.owner),
            "accepted_session": holder.map_or(Value::Null, |holder| shown(holder.run)),
            "receiving_cwd": place(packet.receiving), "outcome_ref": packet.outcome_ref,
            "expires_at": if packet.forever { Value::Null } else { json!({"$any": true}) },
            "changes_since": if private { json!({"$any": true}) } else { json!({"total": since.len(), "by_author": by_author}) },
        })
    }

    /// The next write on the queue writes down what its time has ended.
    pub fn write_down_due(&mut self, who: &Who) {
        for n in 0..self.packets.len() {
            if self.packets[n].due {
                self.packets[n].due = false;
                self.append(who, "expired", Subject::Packet(n));
            }
        }
    }
}

/// How far a packet's directory is from a reader's: related, not known, or another place.
fn distance(packet: Option<&str>, reader: Option<&str>) -> u8 {
    match (packet, reader) {
        (Some(packet), Some(reader)) if reader == packet || reader.starts_with(&format!("{packet}/")) => 0,
        (Some(_), Some(_)) => 2,
        _ => 1,
    }
}

/// A directory as an answer shows it.
pub fn place(cwd: Option<&str>) -> Value {
    cwd.map_or(Value::Null, |cwd| json!(format!("$w/{cwd}")))
}

/// Adds the fields of one object to another.
pub fn merge(into: &mut Value, fields: Value) {
    let (Value::Object(into), Value::Object(fields)) = (into, fields) else {
        unreachable!("two objects");
    };
    into.extend(fields);
}
