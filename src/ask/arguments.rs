//! Reads a tool call's arguments by what each one is declared to be, leniently, from the text that was sent.
//!
//! Clients send lists as JSON text, numbers as strings and null for what they leave out. All of that is understood where
//! it can mean one thing only; everything else is refused with the field, what came and what is expected. Numbers are
//! read from their text, so none is rounded on the way in.

mod names;
mod refs;
mod shape;
mod whole;

#[cfg(test)]
mod tests;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use self::names::{nearest, plain, quoted};
use self::shape::{Shape, is_object, list};
use self::whole::{Whole, whole};
use crate::ask::surrogates::has_lone_surrogate;
use crate::domain::Invalid;
use crate::domain::invalid::shown;

pub use self::refs::RefArgument;

/// Unknown names that are told one by one; more are counted.
const TOLD: usize = 10;

/// One call's arguments. Each is asked for once, by name; [`Self::finish`] tells which nobody asked for.
#[derive(Debug)]
pub struct Arguments {
    members: Vec<(String, Box<RawValue>)>,
    asked: Vec<&'static str>,
    given: Vec<&'static str>,
    warnings: Vec<String>,
}

impl Arguments {
    /// Takes `arguments` apart. Missing, null and blank are no arguments; a string may hold the object as JSON text.
    ///
    /// # Errors
    ///
    /// When it is no object, or names an argument twice.
    pub fn parse(raw: Option<&RawValue>) -> Result<Self, Invalid> {
        let expected = "an object with the tool's arguments";
        let Some(raw) = raw else {
            return Ok(Self::of(Vec::new()));
        };
        match Shape::of(raw.get()) {
            Shape::Null => Ok(Self::of(Vec::new())),
            Shape::Object => members(raw.get()).map(Self::of),
            Shape::Text => {
                let text = text("arguments", raw.get(), expected)?;
                match Shape::of(text.trim()) {
                    _ if text.trim().is_empty() => Ok(Self::of(Vec::new())),
                    Shape::Null if text.trim() == "null" => Ok(Self::of(Vec::new())),
                    Shape::Object if !has_lone_surrogate(&text) => members(text.trim()).map(Self::of),
                    _ => Err(Invalid::new("arguments", shown(&text), expected)),
                }
            }
            other => Err(Invalid::new("arguments", other.phrase(raw.get()), expected)),
        }
    }

    /// The arguments that stand in an address: each a text; a name that is repeated is a list.
    ///
    /// # Errors
    ///
    /// When a pair cannot be told as JSON, which no text can be.
    pub fn of_query(pairs: Vec<(String, String)>) -> Result<Self, Invalid> {
        let mut lists: Vec<(String, Vec<String>)> = Vec::new();
        for (name, value) in pairs {
            match lists.iter_mut().find(|(known, _)| *known == name) {
                Some((_, values)) => values.push(value),
                None => lists.push((name, vec![value])),
            }
        }
        let members = lists.into_iter().map(|(name, values)| {
            let raw = match values.as_slice() {
                [one] => serde_json::value::to_raw_value(one),
                many => serde_json::value::to_raw_value(many),
            };
            let raw = raw.map_err(|_| Invalid::new(plain(&name), "no text", "a text"))?;
            Ok((name, raw))
        });
        members.collect::<Result<_, _>>().map(Self::of)
    }

    fn of(members: Vec<(String, Box<RawValue>)>) -> Self {
        Self {
            members,
            asked: Vec::new(),
            given: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A text, as it came. Null and blank are absent; what is inside is never reinterpreted (`"null"`, `"123"`).
    ///
    /// # Errors
    ///
    /// When something other than a string came.
    pub fn string(&mut self, name: &'static str) -> Result<Option<String>, Invalid> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        text(name, raw.get(), "a string").map(Some)
    }

    /// A text that must be there and hold more than blanks.
    ///
    /// # Errors
    ///
    /// When it is missing, null, blank or no string.
    pub fn required_string(&mut self, name: &'static str) -> Result<String, Invalid> {
        let blank = self.sent(name).map(|raw| Shape::of(raw).phrase(raw));
        self.string(name)?.ok_or_else(|| {
            Invalid::new(
                name,
                blank.unwrap_or_else(|| "missing".to_owned()),
                "a string that is not empty",
            )
        })
    }

    /// A whole number: `10`, `10.0`, `1e1`, `"10"`. `expected` names the allowed range in an error, for which the caller
    /// checks (`a whole number from 1 to 200`).
    ///
    /// # Errors
    ///
    /// When it is no number, has a fraction, or is beyond 64 bits.
    pub fn integer(&mut self, name: &'static str, expected: &str) -> Result<Option<i64>, Invalid> {
        self.whole(name, expected)?
            .map(|(number, raw)| match number {
                Whole::Fits(number) => Ok(number),
                Whole::Above | Whole::Below => {
                    Err(Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected))
                }
            })
            .transpose()
    }

    /// A whole number of which there can only be too many, such as a page size: one beyond 64 bits comes as the nearest
    /// that is left, so that the caller's rule for too many (or too few) applies to it.
    ///
    /// # Errors
    ///
    /// When it is no number or has a fraction.
    pub fn count(&mut self, name: &'static str, expected: &str) -> Result<Option<i64>, Invalid> {
        Ok(self.whole(name, expected)?.map(|(number, _)| match number {
            Whole::Fits(number) => number,
            Whole::Above => i64::MAX,
            Whole::Below => i64::MIN,
        }))
    }

    /// A number: `0.5`, `"0.5"`. `expected` names the allowed range in an error, for which the caller checks.
    ///
    /// # Errors
    ///
    /// When it is no finite number.
    pub fn number(&mut self, name: &'static str, expected: &str) -> Result<Option<f64>, Invalid> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        let refused = || Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected);
        let literal = literal(name, raw.get(), expected)?;
        if Shape::of(&literal) != Shape::Number || serde_json::from_str::<&RawValue>(&literal).is_err() {
            return Err(refused());
        }
        let number: f64 = literal.parse().map_err(|_| refused())?;
        if number.is_finite() {
            Ok(Some(number))
        } else {
            Err(refused())
        }
    }

    /// True or false: `true`, `"true"`, `"False"`.
    ///
    /// # Errors
    ///
    /// When it is neither.
    pub fn boolean(&mut self, name: &'static str) -> Result<Option<bool>, Invalid> {
        let expected = "true or false";
        let Some(raw) = self.take(name) else { return Ok(None) };
        match literal(name, raw.get(), expected)?.to_ascii_lowercase().as_str() {
            "true" => Ok(Some(true)),
            "false" => Ok(Some(false)),
            _ => Err(Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected)),
        }
    }

    /// A list of texts, also as its JSON text; a text that is no JSON list is the only one of its list.
    ///
    /// # Errors
    ///
    /// When it is neither, an entry is no string, or what starts like a JSON list cannot be read as one.
    pub fn strings(&mut self, name: &'static str) -> Result<Option<Vec<String>>, Invalid> {
        let expected = "a list of strings";
        let Some(raw) = self.take(name) else { return Ok(None) };
        let json = match Shape::of(raw.get()) {
            Shape::List => raw.get().to_owned(),
            Shape::Text => {
                let text = text(name, raw.get(), expected)?;
                if !shape::starts_a_list(&text) && !is_object(&text) {
                    return Ok(Some(vec![text]));
                }
                text
            }
            other => return Err(Invalid::new(name, other.phrase(raw.get()), expected)),
        };
        let entries =
            list(&json).ok_or_else(|| Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected))?;
        let entries = entries.iter().enumerate();
        entries
            .map(|(index, entry)| text(&format!("{name}[{index}]"), entry.get(), "a string"))
            .collect::<Result<_, _>>()
            .map(Some)
    }

    /// Any JSON, as its text. A present null is a value, and a string stays one.
    pub fn raw(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        self.asked.push(name);
        let at = self.members.iter().position(|(member, _)| member == name)?;
        self.given.push(name);
        Some(self.members.remove(at).1)
    }

    /// Any JSON that must be there.
    ///
    /// # Errors
    ///
    /// When it is missing.
    pub fn required_raw(&mut self, name: &'static str) -> Result<Box<RawValue>, Invalid> {
        self.raw(name)
            .ok_or_else(|| Invalid::new(name, "missing", "any JSON value"))
    }

    /// Refuses a call that gave none of `names`, as a reading tool must that would otherwise give everything. Ask for
    /// the arguments first.
    ///
    /// # Errors
    ///
    /// When none of them was given.
    pub fn require_any(&self, names: &[&'static str]) -> Result<(), Invalid> {
        if names.iter().any(|name| self.given.contains(name)) {
            return Ok(());
        }
        let mut expected = format!("at least one of {}", names.join(", "));
        let got = match self.members.first() {
            None => "empty".to_owned(),
            Some((unknown, _)) => {
                if let Some(near) = nearest(unknown, &self.asked) {
                    expected.push_str(&format!(" (did you mean `{near}`?)"));
                }
                format!("only {}", quoted(unknown))
            }
        };
        Err(Invalid::new("arguments", got, expected))
    }

    /// Ends the reading and gives a warning for each argument that nobody asked for.
    pub fn finish(mut self) -> Vec<String> {
        let unknown = std::mem::take(&mut self.members);
        for (name, _) in unknown.iter().take(TOLD) {
            let hint = nearest(name, &self.asked).map_or_else(String::new, |near| format!("; did you mean `{near}`?"));
            self.warnings
                .push(format!("unknown argument {} ignored{hint}", quoted(name)));
        }
        if unknown.len() > TOLD {
            self.warnings
                .push(format!("{} more unknown arguments ignored", unknown.len() - TOLD));
        }
        self.warnings
    }

    /// What was sent under `name`, unless it counts as absent.
    fn take(&mut self, name: &'static str) -> Option<Box<RawValue>> {
        self.asked.push(name);
        let at = self.members.iter().position(|(member, _)| member == name)?;
        let (_, raw) = self.members.remove(at);
        if is_blank(raw.get()) {
            return None;
        }
        self.given.push(name);
        Some(raw)
    }

    fn sent(&self, name: &str) -> Option<&str> {
        self.members
            .iter()
            .find(|(member, _)| member == name)
            .map(|(_, raw)| raw.get())
    }

    fn whole(&mut self, name: &'static str, expected: &str) -> Result<Option<(Whole, Box<RawValue>)>, Invalid> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        match whole(&literal(name, raw.get(), expected)?) {
            Some(number) => Ok(Some((number, raw))),
            None => Err(Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected)),
        }
    }
}

/// The members of a JSON object in their order, each name once.
fn members(json: &str) -> Result<Vec<(String, Box<RawValue>)>, Invalid> {
    struct Members(Vec<(String, Box<RawValue>)>);
    impl<'de> Deserialize<'de> for Members {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Collect;
            impl<'de> Visitor<'de> for Collect {
                type Value = Members;

                fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                    formatter.write_str("an object")
                }

                fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                    let mut members = Vec::new();
                    while let Some(member) = map.next_entry()? {
                        members.push(member);
                    }
                    Ok(Members(members))
                }
            }
            deserializer.deserialize_map(Collect)
        }
    }
    let Members(members) = serde_json::from_str(json)
        .map_err(|_| Invalid::new("arguments", shown(json), "an object with the tool's arguments"))?;
    let mut names = std::collections::HashSet::new();
    for (name, _) in &members {
        if !names.insert(name.as_str()) {
            return Err(Invalid::new(plain(name), "given twice", "each argument once"));
        }
    }
    Ok(members)
}

/// Whether a value that is not declared as any JSON counts as absent.
fn is_blank(json: &str) -> bool {
    match Shape::of(json) {
        Shape::Null => true,
        Shape::Text => serde_json::from_str::<String>(json).is_ok_and(|text| text.trim().is_empty()),
        _ => false,
    }
}

/// The text of a JSON string.
fn text(field: &str, json: &str, expected: &str) -> Result<String, Invalid> {
    match Shape::of(json) {
        Shape::Text => serde_json::from_str(json).map_err(|_| Invalid::new(field, "no Unicode text", expected)),
        other => Err(Invalid::new(field, other.phrase(json), expected)),
    }
}

/// The text of a JSON scalar, a string taken for the scalar that it spells.
fn literal(field: &str, json: &str, expected: &str) -> Result<String, Invalid> {
    match Shape::of(json) {
        Shape::Text => text(field, json, expected).map(|text| text.trim().to_owned()),
        _ => Ok(json.to_owned()),
    }
}
