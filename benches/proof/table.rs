//! What the runs come to: one table, and the same as JSON.

use std::time::Duration;

use serde_json::{Value, json};

/// One line: ours beside its floor.
pub struct Line {
    part: &'static str,
    what: String,
    ours: f64,
    floor: f64,
    unit: &'static str,
    goal: Option<f64>,
    more: Value,
}

impl Line {
    /// Times in milliseconds.
    pub fn spans(part: &'static str, what: impl Into<String>, ours: Duration, floor: Duration) -> Self {
        Self::new(part, what, ours.as_secs_f64() * 1e3, floor.as_secs_f64() * 1e3, "ms")
    }

    /// Two numbers of one unit.
    pub fn new(part: &'static str, what: impl Into<String>, ours: f64, floor: f64, unit: &'static str) -> Self {
        Self {
            part,
            what: what.into(),
            ours,
            floor,
            unit,
            goal: None,
            more: Value::Null,
        }
    }

    /// What the ratio should not pass.
    pub fn goal(mut self, goal: f64) -> Self {
        self.goal = Some(goal);
        self
    }

    /// What else was seen.
    pub fn more(mut self, more: Value) -> Self {
        self.more = more;
        self
    }

    fn ratio(&self) -> f64 {
        self.ours / self.floor
    }

    fn json(&self) -> Value {
        let mut line = json!({
            "part": self.part, "what": self.what, "ours": self.ours, "floor": self.floor, "unit": self.unit, "ratio": self.ratio(),
        });
        if let Some(goal) = self.goal {
            line["goal"] = json!(goal);
            line["reached"] = json!(self.ratio() <= goal);
        }
        if !self.more.is_null() {
            line["more"] = self.more.clone();
        }
        line
    }
}

/// The table, printed line by line as the runs end.
#[derive(Default)]
pub struct Table {
    lines: Vec<Line>,
}

impl Table {
    pub fn head() {
        println!(
            "{:<66} {:>11} {:>11}    {:>6} {:>6}",
            "what, beside its floor", "ours", "floor", "ratio", "goal"
        );
    }

    pub fn add(&mut self, line: Line) {
        let goal = line.goal.map_or(String::new(), |goal| format!("{goal:>6.2}"));
        let missed = line.goal.is_some_and(|goal| line.ratio() > goal);
        println!(
            "{:<66} {:>11.3} {:>11.3} {:<3}{:>6.2} {goal}{}",
            line.what,
            line.ours,
            line.floor,
            line.unit,
            line.ratio(),
            if missed { " not reached" } else { "" }
        );
        self.lines.push(line);
    }

    pub fn json(&self) -> Value {
        Value::Array(self.lines.iter().map(Line::json).collect())
    }
}

/// The middle of many times.
pub fn median(spans: &[Duration]) -> Duration {
    at(spans, 0.5)
}

/// The time that this share of them does not pass.
pub fn at(spans: &[Duration], share: f64) -> Duration {
    let mut spans = spans.to_vec();
    spans.sort();
    spans[((spans.len() - 1) as f64 * share).round() as usize]
}
