//! Reads a tool call's arguments by what each one is declared to be, leniently, from the text that was sent.
//!
//! Clients send lists as JSON text, numbers as strings and null for what they leave out. All of that is understood where
//! it can mean one thing only; everything else is refused with the field, what came and what is expected. Numbers are
//! read from their text, so none is rounded on the way in.

mod shape;
mod whole;

#[cfg(test)]
mod tests;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use self::shape::{Shape, list};
use self::whole::{Whole, whole};
use crate::domain::Invalid;
use crate::domain::invalid::shown;
use crate::mcp::lines::has_lone_surrogate;

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

/// A reference to a record's version as a caller wrote it: not yet checked, and without a version the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefArgument {
    /// The record's scope.
    pub scope: String,
    /// The record's key.
    pub key: String,
    /// The version, from 0 up.
    pub version: Option<u64>,
}

impl Arguments {
    /// Takes `arguments` apart. Missing, null and blank are no arguments; a string may hold the object as JSON text.
    ///
    /// # Errors
    ///
    /// When it is no object, or names an argument twice.
    pub fn parse(raw: Option<&RawValue>) -> Result<Self, Invalid> {
        let expected = "an object with the tool's arguments";
        let Some(raw) = raw else { return Ok(Self::of(Vec::new())) };
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

    fn of(members: Vec<(String, Box<RawValue>)>) -> Self {
        Self { members, asked: Vec::new(), given: Vec::new(), warnings: Vec::new() }
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
        self.string(name)?
            .ok_or_else(|| Invalid::new(name, blank.unwrap_or_else(|| "missing".to_owned()), "a string that is not empty"))
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
                Whole::Above | Whole::Below => Err(Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected)),
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
        if number.is_finite() { Ok(Some(number)) } else { Err(refused()) }
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
        let entries = list(&json).ok_or_else(|| Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected))?;
        let entries = entries.iter().enumerate();
        entries.map(|(index, entry)| text(&format!("{name}[{index}]"), entry.get(), "a string")).collect::<Result<_, _>>().map(Some)
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
        self.raw(name).ok_or_else(|| Invalid::new(name, "missing", "any JSON value"))
    }

    /// A list of refs, also as its JSON text; each may be JSON text itself, and one ref alone is a list of one.
    ///
    /// # Errors
    ///
    /// When it is no such list, or one has no scope, no key or no whole version.
    pub fn refs(&mut self, name: &'static str) -> Result<Option<Vec<RefArgument>>, Invalid> {
        let expected = "a list of {\"scope\", \"key\", \"version\"}";
        let Some(raw) = self.take(name) else { return Ok(None) };
        let refused = || Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected);
        let json = match Shape::of(raw.get()) {
            Shape::Text => text(name, raw.get(), expected)?,
            _ => raw.get().to_owned(),
        };
        if is_object(&json) {
            return Ok(Some(vec![self.one_ref(name, &json)?]));
        }
        let entries = list(&json).ok_or_else(refused)?;
        let mut refs = Vec::with_capacity(entries.len());
        for (index, entry) in entries.iter().enumerate() {
            let place = format!("{name}[{index}]");
            let json = match Shape::of(entry.get()) {
                Shape::Text => text(&place, entry.get(), "{\"scope\", \"key\", \"version\"}")?,
                _ => entry.get().to_owned(),
            };
            refs.push(self.one_ref(&place, &json)?);
        }
        Ok(Some(refs))
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
            self.warnings.push(format!("unknown argument {} ignored{hint}", quoted(name)));
        }
        if unknown.len() > TOLD {
            self.warnings.push(format!("{} more unknown arguments ignored", unknown.len() - TOLD));
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
        self.members.iter().find(|(member, _)| member == name).map(|(_, raw)| raw.get())
    }

    fn whole(&mut self, name: &'static str, expected: &str) -> Result<Option<(Whole, Box<RawValue>)>, Invalid> {
        let Some(raw) = self.take(name) else { return Ok(None) };
        match whole(&literal(name, raw.get(), expected)?) {
            Some(number) => Ok(Some((number, raw))),
            None => Err(Invalid::new(name, Shape::of(raw.get()).phrase(raw.get()), expected)),
        }
    }

    fn one_ref(&mut self, place: &str, json: &str) -> Result<RefArgument, Invalid> {
        if !is_object(json) || has_lone_surrogate(json) {
            let got = Shape::of(json).phrase(json);
            return Err(Invalid::new(place, got, "{\"scope\", \"key\", \"version\"}"));
        }
        let mut parts = members(json.trim()).map(Self::of).map_err(|error| error.within(place))?;
        let read = read_ref(&mut parts).map_err(|error| error.within(place))?;
        for (name, _) in parts.members {
            // A ref that was copied out of an answer brings the answer's other fields along, once for every ref.
            let warning = format!("unknown argument {} in `{}` ignored", quoted(&name), place.split('[').next().unwrap_or(place));
            if self.warnings.len() < TOLD && !self.warnings.contains(&warning) {
                self.warnings.push(warning);
            }
        }
        Ok(read)
    }
}

fn read_ref(parts: &mut Arguments) -> Result<RefArgument, Invalid> {
    let expected = "a version number, or left out for the current one";
    let scope = parts.required_string("scope")?;
    let key = parts.required_string("key")?;
    let version = parts.integer("version", expected)?;
    let version = version
        .map(|version| u64::try_from(version).map_err(|_| Invalid::new("version", version.to_string(), expected)))
        .transpose()?;
    Ok(RefArgument { scope, key, version })
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

fn is_object(json: &str) -> bool {
    Shape::of(json.trim()) == Shape::Object && serde_json::from_str::<&RawValue>(json).is_ok()
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

/// The name among `known` that `unknown` was probably meant to be.
fn nearest(unknown: &str, known: &[&'static str]) -> Option<&'static str> {
    let fold = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = fold(unknown.get(..64).unwrap_or(unknown));
    if wanted.is_empty() {
        return None;
    }
    let distance = |name: &str| {
        let name = fold(name);
        let related = name.starts_with(&wanted) || wanted.starts_with(&name);
        if related { 0 } else { strsim::osa_distance(&wanted, &name) }
    };
    let (near, distance) = known.iter().map(|name| (*name, distance(name))).min_by_key(|(_, distance)| *distance)?;
    (distance <= wanted.chars().count() / 3).then_some(near)
}

/// An argument's name as it came, escaped and cut, in single quotes.
fn quoted(name: &str) -> String {
    format!("'{}'", plain(name))
}

fn plain(name: &str) -> String {
    let shown = shown(name);
    shown[1..shown.len() - 1].to_owned()
}
