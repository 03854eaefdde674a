//! Reads lists of references to records.

use super::names::quoted;
use super::shape::{Shape, is_object, list};
use super::{Arguments, TOLD, members, text};
use crate::ask::surrogates::has_lone_surrogate;
use crate::domain::Invalid;

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

    fn one_ref(&mut self, place: &str, json: &str) -> Result<RefArgument, Invalid> {
        if !is_object(json) || has_lone_surrogate(json) {
            let got = Shape::of(json).phrase(json);
            return Err(Invalid::new(place, got, "{\"scope\", \"key\", \"version\"}"));
        }
        let mut parts = members(json.trim())
            .map(Self::of)
            .map_err(|error| error.within(place))?;
        let read = read_ref(&mut parts).map_err(|error| error.within(place))?;
        for (name, _) in parts.members {
            // A ref that was copied out of an answer brings the answer's other fields along, once for every ref.
            let warning = format!(
                "unknown argument {} in `{}` ignored",
                quoted(&name),
                place.split('[').next().unwrap_or(place)
            );
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
