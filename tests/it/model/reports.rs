//! The model's reports: opinions move, packets end, and a report that was made before counts once.

use serde_json::{Value, json};

use super::world::{At, Counted, Refused, Said, Subject, Who, World, refused};

/// A report, as `record_outcome` takes it.
#[derive(Debug, Clone)]
pub struct Report {
    /// success, failure, abandoned or released.
    pub outcome: &'static str,
    pub run: &'static str,
    pub refs: Option<Vec<(At, Option<u64>)>>,
    pub packet: Option<usize>,
    /// The state that the packet must be in: what a verb of its own asks for, and a report does not.
    pub only: Option<&'static str>,
}

/// What a report does to the packet that it names.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Close,
    Release,
    Cancel,
    LeaveAlone,
}

/// A version that a report is about; what was counted there before under the same name.
type Target = (At, u64, Option<Counted>);

impl World {
    /// `record_outcome`, and the verbs that give a packet back or take one back.
    pub fn report(&mut self, who: &Who, report: &Report) -> Said {
        let moves = ["success", "failure"].contains(&report.outcome);
        let refs = report.refs.as_ref().filter(|refs| !refs.is_empty());
        if report.packet.is_none() && (refs.is_none() || !moves) {
            return refused("invalid_argument");
        }
        let packet = report.packet.map(|n| self.named(who, n)).transpose()?;
        if let Some(n) = packet
            && self.is_repeat(who, report, n)
        {
            let targets = self.targets(who, report, packet, false)?;
            if targets.iter().all(|(.., counted)| counted.is_some()) {
                let moved = self.moved(&targets);
                return Ok(json!({"moved": moved, "packet": self.touched_packet(n), "repeated": true}));
            }
        }
        let end = match packet {
            Some(n) => Some(self.ending(who, report, n)?),
            None => None,
        };
        let late = end == Some(End::LeaveAlone);
        let targets = self.targets(who, report, packet, late)?;
        let fresh = targets.iter().any(|(.., counted)| counted.is_none());
        let ends = end.is_some_and(|end| end != End::LeaveAlone);
        let mut done = Vec::new();
        for (at, version, counted) in targets {
            let counted = match counted {
                Some(counted) => counted,
                None => self.count(who, report, at, version),
            };
            done.push((at, version, Some(counted)));
        }
        if let (Some(n), Some(end)) = (packet, end) {
            self.end(who, report, n, end);
        }
        if fresh || ends {
            self.write_down_due(who);
        }
        let moved = self.moved(&done);
        let repeated = !fresh && !ends && !done.is_empty();
        Ok(json!({
            "moved": moved, "packet": packet.map_or(Value::Null, |n| self.touched_packet(n)),
            "repeated": if repeated { json!(true) } else { Value::Null },
            "warnings": if late { json!({"$any": true}) } else { json!({"$either": true}) },
        }))
    }

    /// Whether this very report has ended the packet, or given it back, before.
    fn is_repeat(&self, who: &Who, report: &Report, n: usize) -> bool {
        let packet = &self.packets[n];
        let Some((agent, word, run)) = packet.last_end else {
            return false;
        };
        let word = if word == "cancelled" { "abandoned" } else { word };
        let stands = match packet.state {
            "closed" | "expired" => word != "released",
            "open" => word == "released",
            _ => false,
        };
        stands && word == report.outcome && who.is(agent) && run == Some(report.run)
    }

    fn ending(&self, who: &Who, report: &Report, n: usize) -> Result<End, Refused> {
        let packet = &self.packets[n];
        if report.only.is_some_and(|only| only != packet.state) {
            return refused("conflict");
        }
        let mine = packet.holder.is_some_and(|holder| who.is(holder.agent));
        let author = who.is(packet.from) || (packet.owner.is_some() && packet.owner == who.owner);
        let held_once = packet.held_once.iter().any(|agent| who.is(agent));
        let end = match packet.state {
            "accepted" if mine => match report.outcome {
                "released" => End::Release,
                _ => End::Close,
            },
            "open" if report.outcome == "abandoned" && author => End::Cancel,
            "open" | "accepted" if !held_once => return refused("not_allowed"),
            _ => End::LeaveAlone,
        };
        if end == End::LeaveAlone && report.only.is_some() {
            return refused("conflict");
        }
        Ok(end)
    }

    /// The versions that a report is about.
    fn targets(&self, who: &Who, report: &Report, packet: Option<usize>, late: bool) -> Result<Vec<Target>, Refused> {
        let success = match report.outcome {
            "success" => true,
            "failure" => false,
            _ => return Ok(Vec::new()),
        };
        let counted = |at: At, version: u64| {
            let here = |one: &&Counted| one.run == report.run && one.at == at && one.version == version;
            self.counted.iter().find(here).cloned()
        };
        let Some(refs) = report.refs.as_ref().filter(|refs| !refs.is_empty()) else {
            let n = packet.expect("refs or a packet");
            let packet = &self.packets[n];
            // Who comes too late moves the pins of a packet that was taken over, and of none that has ended.
            let pins = if late && packet.state != "accepted" {
                &[][..]
            } else {
                &packet.pins
            };
            return Ok(pins
                .iter()
                .map(|(at, version)| (*at, *version, counted(*at, *version)))
                .collect());
        };
        let mut targets = Vec::new();
        for (at, number) in refs {
            // A ref without version that this run counted at any version is a repeat.
            let before = self.counted.iter().rfind(|one| one.run == report.run && one.at == *at);
            let (at, version) = match (number, before) {
                (None, Some(before)) => (*at, before.version),
                _ => self.resolved(who, *at, *number)?,
            };
            targets.push((at, version, counted(at, version)));
        }
        let opposite = |(.., counted): &Target| counted.as_ref().is_some_and(|one| one.success != success);
        if targets.iter().any(opposite) {
            return refused("conflict");
        }
        Ok(targets)
    }

    fn count(&mut self, who: &Who, report: &Report, at: At, number: u64) -> Counted {
        let success = report.outcome == "success";
        let versions = self.records.get_mut(&at).expect("it is there");
        let version = &mut versions[number as usize - 1];
        let before = version.confidence;
        let after = if success {
            before + 0.20 * (1.0 - before)
        } else {
            before * 0.65
        };
        version.confidence = after;
        version.successes += u64::from(success);
        version.failures += u64::from(!success);
        let counted = Counted {
            run: report.run,
            at,
            version: number,
            success,
            before,
            after,
        };
        self.append(who, "outcome", Subject::Report(at, number, report.packet));
        self.counted.push(counted.clone());
        counted
    }

    fn end(&mut self, who: &Who, report: &Report, n: usize, end: End) {
        let (kind, word) = match end {
            End::Close => ("closed", report.outcome),
            End::Release => ("released", "released"),
            End::Cancel => ("expired", "cancelled"),
            End::LeaveAlone => return,
        };
        self.append(who, kind, Subject::Packet(n));
        let packet = &mut self.packets[n];
        packet.last_end = Some((who.agent, word, Some(report.run)));
        if end == End::Release {
            packet.state = "open";
            packet.holder = None;
            packet.receiving = None;
            return;
        }
        packet.state = if end == End::Close { "closed" } else { "expired" };
        packet.ended_as = Some(word);
        packet.outcome_ref = Some(report.run);
    }

    fn touched_packet(&self, n: usize) -> Value {
        let packet = &self.packets[n];
        json!({"id": format!("$p{n}"), "state": packet.state, "ended_as": packet.ended_as})
    }

    fn moved(&self, targets: &[Target]) -> Value {
        let moved = targets.iter().filter_map(|(at, version, counted)| {
            let counted = counted.as_ref()?;
            let superseded = *version as usize != self.records[at].len();
            Some(
                json!({"scope": at.0, "key": at.1, "version": version, "before": counted.before, "after": counted.after,
                        "superseded": if superseded { json!(true) } else { Value::Null }}),
            )
        });
        json!({"$set": moved.collect::<Vec<_>>()})
    }

    /// `handoffs expire` of one packet: at a shell, as root.
    pub fn expire(&mut self, who: &Who, n: usize) -> Said {
        let Some(packet) = self.packets.get(n) else {
            return refused("not_found");
        };
        // One whose time is over is written down like all of these.
        let due = packet.due;
        if packet.state != "open" && !due {
            return refused("conflict");
        }
        self.write_down_due(who);
        if due {
            return Ok(Value::Null);
        }
        self.append(who, "expired", Subject::Packet(n));
        self.packets[n].state = "expired";
        self.packets[n].ended_as = Some("ttl");
        Ok(Value::Null)
    }

    /// `handoffs reopen`.
    pub fn reopen(&mut self, who: &Who, n: usize) -> Said {
        let n = self.named(who, n)?;
        let packet = &self.packets[n];
        if packet.state != "expired" || packet.ended_as != Some("ttl") {
            return refused("conflict");
        }
        self.write_down_due(who);
        self.append(who, "reopened", Subject::Packet(n));
        self.packets[n].state = "open";
        self.packets[n].ended_as = None;
        self.packets[n].forever = false;
        Ok(json!({"packet": self.packet(who, n)}))
    }
}
