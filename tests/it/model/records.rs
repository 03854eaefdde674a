//! The model's records: versions, what is unchanged and what conflicts, and every way to read them.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::world::{At, Refused, Said, Subject, Version, Who, World, refused, shown};

impl World {
    /// The current version of a record that this caller may know of.
    pub fn current(&self, who: &Who, at: At) -> Option<(u64, &Version)> {
        let versions = self.records.get(&at)?;
        let last = versions.last()?;
        may_read(who, last).then_some((versions.len() as u64, last))
    }

    pub fn version(&self, at: At, number: u64) -> &Version {
        &self.records[&at][number as usize - 1]
    }

    /// A version as `recall` and `history` show it.
    pub fn record(&self, at: At, number: u64) -> Value {
        let version = self.version(at, number);
        let current = number as usize == self.records[&at].len();
        let mut record = json!({
            "scope": at.0, "key": at.1, "version": number, "value": version.value, "tags": version.tags,
            "confidence": version.confidence, "successes": version.successes, "failures": version.failures,
            "author": version.author, "session": shown(version.run), "current": current,
        });
        if current {
            record["superseded_at"] = Value::Null;
        }
        record
    }

    /// `remember`.
    pub fn remember(
        &mut self,
        who: &Who,
        new: Version,
        at: At,
        confidence: Option<f64>,
        expected: Option<u64>,
    ) -> Said {
        let count = self.records.get(&at).map_or(0, |versions| versions.len() as u64);
        let last = self.records.get(&at).and_then(|versions| versions.last()).cloned();
        if let Some(last) = &last
            && who.is(last.author)
            && last.value == new.value
            && last.tags == new.tags
            && last.private_to == new.private_to
            && confidence.is_none_or(|c| c == last.base || close(c, last.confidence))
            && expected.is_none_or(|n| n == count || n + 1 == count)
        {
            self.touch(who, at, count);
            return Ok(
                json!({"unchanged": true, "record": {"scope": at.0, "key": at.1, "version": count,
                             "confidence": last.confidence, "author": last.author}}),
            );
        }
        if expected.is_some_and(|n| n != count) {
            let names = last.map_or_else(Vec::new, |last| {
                vec![format!("version {count}"), last.author.to_owned()]
            });
            return Err(Refused {
                code: "conflict",
                names,
            });
        }
        // Only what holds whatever counts as having read it: the very version by key, or nothing of this record at all.
        let seen = who.run.and_then(|run| self.touched.get(&run)?.get(&at)).copied();
        let over = last.filter(|last| !who.is(last.author) && expected.is_none());
        let warned = match (over, seen) {
            (Some(_), None) => json!({"$holds": format!("version {count}")}),
            (Some(_), Some(seen)) if seen < count => json!({"$any": true}),
            _ => Value::Null,
        };
        self.append(who, "remembered", Subject::Version(at, count + 1));
        let seq = self.ledger.len();
        self.records.entry(at).or_default().push(Version { seq, ..new });
        self.touch(who, at, count + 1);
        let mut record = self.record(at, count + 1);
        record["value"] = Value::Null;
        Ok(json!({"unchanged": null, "record": record, "warnings": warned}))
    }

    /// `recall` of one record.
    pub fn recall(&mut self, who: &Who, at: At, number: Option<u64>) -> Said {
        let count = self.records.get(&at).map_or(0, |versions| versions.len() as u64);
        let wanted = number.unwrap_or(count);
        if wanted == 0 || wanted > count || !may_read(who, self.version(at, wanted)) {
            return Ok(json!({"records": [], "total": 0}));
        }
        if wanted == count {
            self.touch(who, at, count);
        }
        Ok(json!({"records": [self.record(at, wanted)], "total": 1}))
    }

    /// `history`.
    pub fn history(&self, who: &Who, at: At) -> Said {
        let Some(versions) = self.records.get(&at).filter(|_| self.current(who, at).is_some()) else {
            return refused("not_found");
        };
        let all: Vec<Value> = (1..=versions.len() as u64).map(|n| self.record(at, n)).collect();
        Ok(json!({"total": all.len(), "versions": all}))
    }

    /// `recall` of all that fits.
    pub fn search(&self, who: &Who, fits: impl Fn(At, &Version) -> bool) -> Said {
        let found: Vec<Value> = self
            .heads(who)
            .filter(|(at, _, version)| fits(*at, version))
            .map(|(at, number, _)| self.record(at, number))
            .collect();
        Ok(json!({"total": found.len(), "records": {"$set": found}}))
    }

    /// The current version of every record that this caller may know of.
    pub fn heads(&self, who: &Who) -> impl Iterator<Item = (At, u64, &Version)> {
        let who = *who;
        self.records
            .keys()
            .filter_map(move |at| self.current(&who, *at).map(|(number, version)| (*at, number, version)))
    }

    /// `memory_stats`.
    pub fn stats(&self, who: &Who) -> Said {
        let heads: Vec<_> = self.heads(who).collect();
        let versions = self.records.values().flatten().filter(|version| may_read(who, version));
        let tally = |name: &dyn Fn(&(At, u64, &Version)) -> String| {
            let mut tally = BTreeMap::<String, u64>::new();
            for head in &heads {
                *tally.entry(name(head)).or_default() += 1;
            }
            let tally: Vec<Value> = tally
                .iter()
                .map(|(name, records)| json!({"name": name, "records": records}))
                .collect();
            json!({ "$set": tally })
        };
        let average = heads.iter().map(|(_, _, version)| version.confidence).sum::<f64>() / heads.len() as f64;
        let mut states = Map::new();
        for state in ["open", "accepted", "closed", "expired"] {
            let count = self.visible(who).filter(|n| self.packets[*n].state == state).count();
            states.insert(state.to_owned(), json!(count));
        }
        let waiting = self.takeable(who, who.cwd);
        let waiting: Vec<Value> = waiting.iter().map(|n| json!({"id": format!("$p{n}")})).collect();
        Ok(json!({
            "agent": who.agent, "records": heads.len(), "versions": versions.count(),
            "average_confidence": if heads.is_empty() { Value::Null } else { json!(average) },
            "by_agent": tally(&|(_, _, version)| version.author.to_lowercase()), "by_scope": tally(&|(at, ..)| at.0.to_owned()),
            "handoffs": states, "waiting": waiting,
        }))
    }
}

/// Whether a caller may read a version.
pub fn may_read(who: &Who, version: &Version) -> bool {
    version.private_to.is_none_or(|only| who.is(only))
}

/// Whether two confidences are the same number, however each was computed.
pub fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}
