//! Answers held against what the model says of them.
//!
//! The model names the fields that it knows of; null means that there is none. `$set` is a list in any order, `$one` any of
//! these or nothing, `$any` whatever but there, `$either` whatever, there or not, and `$holds` a text that is somewhere in it.

use std::collections::HashMap;
use std::path::PathBuf;

use serde_json::Value;

use super::records::close;
use super::world::{Run, shown};

/// What the model's names stand for in one case.
pub struct Names {
    work: PathBuf,
    packets: Vec<String>,
    sessions: HashMap<String, String>,
}

impl Names {
    pub fn new(work: PathBuf) -> Self {
        Self {
            work,
            packets: Vec::new(),
            sessions: HashMap::new(),
        }
    }

    /// The id of a packet; one that never was for a number without one.
    pub fn packet(&self, n: usize) -> String {
        let never = || "h_00000000deadbeef".to_owned();
        self.packets.get(n).cloned().unwrap_or_else(never)
    }

    pub fn written(&mut self, id: String) {
        self.packets.push(id);
    }

    pub fn session(&mut self, run: Run, name: String) {
        let Value::String(placeholder) = shown(Some(run)) else {
            unreachable!("a session has a name");
        };
        self.sessions.insert(placeholder, name);
    }

    /// A directory below the working one.
    pub fn place(&self, cwd: &str) -> Value {
        Value::from(self.work.join(cwd).to_str().expect("UTF-8"))
    }

    /// Learns the id of a packet that the model says is new.
    pub fn learn(&mut self, said: &Value, answer: &Value) {
        let next = format!("$p{}", self.packets.len());
        if said["packet"]["id"] == next.as_str()
            && let Some(id) = answer["packet"]["id"].as_str()
        {
            assert!(
                !self.packets.iter().any(|known| known == id),
                "{id} was there: {answer}"
            );
            self.packets.push(id.to_owned());
        }
    }

    /// What the model says, in the names of this case.
    pub fn real(&self, said: &Value) -> Value {
        match said {
            Value::String(text) => Value::String(self.name(text)),
            Value::Array(items) => items.iter().map(|item| self.real(item)).collect(),
            Value::Object(fields) => fields
                .iter()
                .map(|(name, field)| (name.clone(), self.real(field)))
                .collect(),
            other => other.clone(),
        }
    }

    fn name(&self, text: &str) -> String {
        if let Some(n) = text.strip_prefix("$p") {
            return self.packet(n.parse().expect("a number"));
        }
        if let Some(cwd) = text.strip_prefix("$w/") {
            return self.place(cwd).as_str().expect("a path").to_owned();
        }
        match self.sessions.get(text) {
            Some(session) => session.clone(),
            None => text.to_owned(),
        }
    }
}

/// Whether an answer holds what is said of it; else where it does not.
pub fn holds(said: &Value, answer: &Value, place: &str) -> Result<(), String> {
    let differs = || Err(format!("{place}: should be {said}, and is {answer}"));
    match (said, answer) {
        (Value::Object(fields), _) if fields.keys().any(|name| name.starts_with('$')) => special(said, answer, place),
        (Value::Object(fields), Value::Object(_)) => {
            // A value that was stored is compared as it is, since its fields are nobody's to leave out.
            if place.ends_with(".value") && said != answer {
                return differs();
            }
            fields
                .iter()
                .try_for_each(|(name, field)| holds(field, &answer[name], &format!("{place}.{name}")))
        }
        (Value::Array(items), Value::Array(others)) if items.len() == others.len() => {
            let mut pairs = items.iter().zip(others).enumerate();
            pairs.try_for_each(|(n, (item, other))| holds(item, other, &format!("{place}[{n}]")))
        }
        (Value::Number(one), Value::Number(other)) => {
            let same = match (one.as_f64(), other.as_f64()) {
                (Some(one), Some(other)) => close(one, other),
                _ => one == other,
            };
            if same { Ok(()) } else { differs() }
        }
        _ if said == answer => Ok(()),
        _ => differs(),
    }
}

fn special(said: &Value, answer: &Value, place: &str) -> Result<(), String> {
    let differs = || Err(format!("{place}: should be {said}, and is {answer}"));
    if said.get("$either").is_some() || (said.get("$any").is_some() && !answer.is_null()) {
        return Ok(());
    }
    if let Some(text) = said["$holds"].as_str() {
        return if answer.to_string().contains(text) {
            Ok(())
        } else {
            differs()
        };
    }
    if let Some(choices) = said["$one"].as_array() {
        return if choices.contains(answer) { Ok(()) } else { differs() };
    }
    let (Some(items), Some(others)) = (said["$set"].as_array(), answer.as_array()) else {
        return differs();
    };
    // Each item is told from the others by what names it, so that the first one that fits is the right one.
    let mut left: Vec<&Value> = others.iter().collect();
    for item in items {
        let Some(found) = left.iter().position(|other| holds(item, other, "").is_ok()) else {
            let why = left.iter().filter_map(|other| holds(item, other, "").err());
            let why: Vec<String> = why.collect();
            return Err(format!("{place}: nothing is {item}: {}", why.join("; ")));
        };
        left.swap_remove(found);
    }
    match left.first() {
        None => Ok(()),
        Some(more) => Err(format!("{place}: there is {more}, too")),
    }
}
