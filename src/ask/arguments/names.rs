//! Names of arguments that nobody knows: how to show them, and which one was probably meant.

use crate::domain::invalid::shown;

/// The name among `known` that `unknown` was probably meant to be.
pub(super) fn nearest(unknown: &str, known: &[&'static str]) -> Option<&'static str> {
    let fold = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let wanted = fold(&unknown.chars().take(64).collect::<String>());
    if wanted.is_empty() {
        return None;
    }
    let distance = |name: &str| {
        let name = fold(name);
        let related = name.starts_with(&wanted) || wanted.starts_with(&name);
        if related {
            0
        } else {
            strsim::osa_distance(&wanted, &name)
        }
    };
    let (near, distance) = known
        .iter()
        .map(|name| (*name, distance(name)))
        .min_by_key(|(_, distance)| *distance)?;
    (distance <= wanted.chars().count() / 3).then_some(near)
}

/// An argument's name as it came, escaped and cut, in single quotes.
pub(super) fn quoted(name: &str) -> String {
    format!("'{}'", plain(name))
}

/// An argument's name as it came, escaped and cut.
pub(super) fn plain(name: &str) -> String {
    let shown = shown(name);
    shown[1..shown.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::ask::arguments::tests::arguments;

    #[test]
    fn a13_unknown_arguments_are_warned_about() {
        let mut read = arguments(json!({"scope": "s", "key": "k", "value": 1, "reason": "x"}));
        read.string("scope").expect("a scope");
        read.string("key").expect("a key");
        read.raw("value");
        read.strings("tags").expect("none");
        read.number("confidence", "x").expect("none");
        read.integer("expected_version", "x").expect("none");
        assert_eq!(read.finish(), ["unknown argument 'reason' ignored"]);

        for (unknown, meant) in [
            ("q", "query"),
            ("querry", "query"),
            ("handoffId", "handoff_id"),
            ("keys", "key"),
            ("Query", "query"),
        ] {
            let mut read = arguments(json!({unknown: "x"}));
            for name in ["scope", "key", "query", "handoff_id", "limit"] {
                read.string(name).expect("none");
            }
            let warning = format!("unknown argument '{unknown}' ignored; did you mean `{meant}`?");
            assert_eq!(read.finish(), [warning]);
        }
    }

    #[test]
    fn a13_a_read_without_a_filter_is_refused_with_a_hint() {
        let filters = ["scope", "key", "query"];
        let mut read = arguments(json!({"q": "foo", "limit": 5, "key": ""}));
        for name in filters {
            read.string(name).expect("none");
        }
        read.count("limit", "x").expect("a limit");
        let error = read.require_any(&filters).expect_err("no filter");
        assert_eq!(
            error.to_string(),
            "`arguments` is only 'q'; expected at least one of scope, key, query (did you mean `query`?)"
        );
        let mut read = arguments(json!({"query": "foo"}));
        read.string("query").expect("a query");
        read.require_any(&filters).expect("a filter");
    }

    #[test]
    fn a13_unknown_names_are_cut_escaped_and_counted() {
        let many: serde_json::Map<_, _> = (0..40)
            .map(|n| (format!("\u{1b}[31m{}{n}", "x".repeat(500)), json!(n)))
            .collect();
        let warnings = arguments(serde_json::Value::Object(many)).finish();
        assert_eq!(warnings.len(), 11);
        assert!(
            warnings
                .iter()
                .all(|warning| warning.len() < 200 && !warning.contains('\u{1b}'))
        );
        assert_eq!(warnings[10], "30 more unknown arguments ignored");
    }

    #[test]
    fn a13_unknown_fields_of_refs_are_told_once() {
        let entry = json!({"scope": "s", "key": "k", "status": "current", "value": {"x": 1}});
        let mut read = arguments(json!({"refs": [entry, entry, entry]}));
        assert_eq!(read.refs("refs").expect("refs").expect("given").len(), 3);
        assert_eq!(
            read.finish(),
            [
                "unknown argument 'status' in `refs` ignored",
                "unknown argument 'value' in `refs` ignored"
            ]
        );
    }
}
