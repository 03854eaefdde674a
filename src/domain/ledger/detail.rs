//! What the detail of each kind of entry may say: these fields, in these forms, and no others.

use serde_json::{Map, Value};

use super::Kind;
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{EndedAs, HandoffId};
use crate::domain::purge::{Reason, What};
use crate::domain::{Agent, Hash, Invalid, OutcomeRef, Owner, Session, Time};

/// Whether a field's text is one that it can hold.
type Form = fn(&str) -> bool;

fn same<T>(made: Result<T, Invalid>, back: impl Fn(&T) -> &str, text: &str) -> bool {
    made.is_ok_and(|name| back(&name) == text)
}

const TIME: Form = |text| Time::parse(text).is_some_and(|time| time.to_string() == text);
const HASH: Form = |text| Hash::parse(text).is_some();
const OWNER: Form = |text| same(Owner::new(text), Owner::as_str, text);
const CWD: Form = |text| same(Cwd::new(text), Cwd::as_str, text);
const AGENT: Form = |text| same(Agent::new(text), Agent::as_str, text);
const SESSION: Form = |text| same(Session::new(text), Session::as_str, text);
const RUN: Form = |text| same(OutcomeRef::new(text), OutcomeRef::as_str, text);
const ID: Form = |text| same(HandoffId::named("id", text), HandoffId::as_str, text);
const CLOSED: Form = |text| {
    let end = EndedAs::parse(text);
    matches!(end, Some(EndedAs::Success | EndedAs::Failure | EndedAs::Abandoned))
};
const EXPIRED: Form = |text| {
    let end = EndedAs::parse(text);
    matches!(end, Some(EndedAs::Ttl | EndedAs::Cancelled | EndedAs::Superseded))
};
const WHAT: Form = |text| {
    [What::Value, What::Texts, What::Note]
        .iter()
        .any(|what| what.as_str() == text)
};
const WHY: Form = |text| Reason::parse(text).is_ok_and(|reason| reason.as_str() == text);

/// The fields of a kind's detail: name, form, and whether it must be there. None: other rules hold for them.
fn fields(kind: Kind) -> Option<&'static [(&'static str, Form, bool)]> {
    Some(match kind {
        // Compared as a whole with what they vouch for.
        Kind::Created | Kind::Outcome => return None,
        Kind::Remembered => &[],
        Kind::HandedOff | Kind::Reopened => &[("expires_at", TIME, false)],
        Kind::Accepted => &[
            ("owner", OWNER, false),
            ("cwd", CWD, false),
            ("took_over_from", AGENT, false),
            ("took_over_session", SESSION, false),
        ],
        Kind::Resumed => &[("cwd", CWD, false)],
        Kind::Released => &[
            ("outcome_ref", RUN, false),
            ("note_hash", HASH, false),
            ("expires_at", TIME, false),
        ],
        Kind::Closed => &[
            ("ended_as", CLOSED, true),
            ("outcome_ref", RUN, false),
            ("note_hash", HASH, false),
        ],
        Kind::Expired => &[
            ("ended_as", EXPIRED, true),
            ("superseded_by", ID, false),
            ("outcome_ref", RUN, false),
            ("note_hash", HASH, false),
        ],
        Kind::Purged => &[("hash", HASH, true), ("what", WHAT, true), ("why", WHY, true)],
    })
}

/// Checks the detail of an entry.
///
/// # Errors
/// Says what it holds that an entry of this kind cannot.
pub fn check(kind: Kind, detail: &Value) -> Result<(), String> {
    let Value::Object(given) = detail else {
        return Err("its detail is no object".to_owned());
    };
    let Some(fields) = fields(kind) else { return Ok(()) };
    for name in given.keys() {
        if fields.iter().all(|(known, ..)| known != name) {
            return Err(format!(
                "its detail has the field {name:?}, which an entry of this kind has not"
            ));
        }
    }
    fields
        .iter()
        .try_for_each(|(name, form, must)| field(kind, given, name, *form, *must))
}

fn field(kind: Kind, given: &Map<String, Value>, name: &str, form: Form, must: bool) -> Result<(), String> {
    // A packet that is given back or opened again may wait for ever from then on.
    let may_be_null = matches!(kind, Kind::Released | Kind::Reopened) && name == "expires_at";
    match given.get(name) {
        None if must => Err(format!("its detail has no `{name}`")),
        None => Ok(()),
        Some(Value::Null) if may_be_null => Ok(()),
        Some(Value::String(text)) if form(text) => Ok(()),
        Some(_) => Err(format!("its detail has a `{name}` that none can be")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_each_kind_says_is_taken() {
        let end = "2026-12-01T09:00:00.000Z";
        for (kind, detail) in [
            (Kind::Remembered, json!({})),
            (Kind::HandedOff, json!({"expires_at": end})),
            (Kind::Reopened, json!({"expires_at": null})),
            (Kind::Closed, json!({"ended_as": "success", "outcome_ref": "run"})),
        ] {
            assert_eq!(check(kind, &detail), Ok(()), "{detail}");
        }
        for (kind, detail) in [
            (Kind::Remembered, json!({"x": 1})),
            (Kind::HandedOff, json!({"expires_at": "soon"})),
            (Kind::HandedOff, json!({"expires_at": null})),
            (Kind::Accepted, json!({"owner": 5})),
            (Kind::Accepted, json!({"owner": " "})),
            (Kind::Accepted, json!({"cwd": "/a\u{1b}"})),
            (Kind::Accepted, json!([])),
            (Kind::Closed, json!({})),
            (Kind::Closed, json!({"ended_as": "ttl"})),
            (Kind::Expired, json!({"ended_as": "ttl", "superseded_by": "x"})),
            (Kind::Purged, json!({"hash": "", "what": "value", "why": "secret"})),
        ] {
            assert!(check(kind, &detail).is_err(), "{detail}");
        }
    }
}
