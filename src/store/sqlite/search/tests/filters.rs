//! What narrows a search.

use super::*;

#[test]
fn scopes_are_whole_segments_and_tags_and_keys_are_exact() {
    let mut store = Store::new();
    let mut ids = std::collections::HashMap::new();
    for scope in [
        "app", "app2", "app/x", "app/x/y", "APP", "a_b", "axb", "100%", "a b", "ap", "/app",
    ] {
        ids.insert(
            scope,
            store.write(&Write {
                scope,
                tags: &[scope],
                ..Write::default()
            }),
        );
    }
    let scoped = |scope| {
        let mut hits = store
            .find(Search {
                scope: Some(scope),
                ..plain()
            })
            .hits;
        hits.sort_unstable();
        hits
    };
    assert_eq!(scoped("app"), [ids["app"], ids["app/x"], ids["app/x/y"]]);
    assert_eq!(scoped("app/x"), [ids["app/x"], ids["app/x/y"]]);
    for scope in ["app2", "APP", "a_b", "axb", "100%", "a b", "ap"] {
        assert_eq!(scoped(scope), [ids[scope]], "{scope}");
    }
    for tag in ["app", "app/x", "APP", "a_b", "100%"] {
        assert_eq!(
            store
                .find(Search {
                    tag: Some(tag),
                    ..plain()
                })
                .hits,
            [ids[tag]],
            "{tag}"
        );
    }
    assert!(
        store
            .find(Search {
                tag: Some("x"),
                ..plain()
            })
            .hits
            .is_empty()
    );
    assert_eq!(
        store
            .find(Search {
                key: Some("key"),
                ..plain()
            })
            .total,
        11
    );
    assert!(
        store
            .find(Search {
                key: Some("Key"),
                ..plain()
            })
            .hits
            .is_empty()
    );
    assert_eq!(store.find(Search { project: 2, ..plain() }).total, 0);
    assert_eq!(store.find(plain()).total, 11);
}

#[test]
fn filters_apply_before_the_limit() {
    let mut store = Store::new();
    for n in 0..50 {
        let key = format!("k{n}");
        let tags: &[&str] = if n < 3 { &["x"] } else { &[] };
        store.write(&Write {
            key: &key,
            tags,
            value: "same text".into(),
            ..Write::default()
        });
    }
    let found = store.find(Search {
        query: Some("text"),
        tag: Some("x"),
        limit: 3,
        ..plain()
    });
    assert_eq!((found.hits, found.total, found.next), (vec![3, 2, 1], 3, None));
}

#[test]
fn private_records_are_absent_for_others() {
    let mut store = Store::new();
    let own = store.write(&Write {
        key: "a",
        value: "fox".into(),
        private_to: Some("ann"),
        ..Write::default()
    });
    let shared = store.write(&Write {
        key: "b",
        value: "fox".into(),
        ..Write::default()
    });
    for (agent, expected) in [
        (Some("ann"), vec![shared, own]),
        (Some("bob"), vec![shared]),
        (None, vec![shared]),
    ] {
        for query in [Some("fox"), Some("fox den"), None] {
            let found = store.find(Search {
                agent,
                query,
                ..plain()
            });
            assert_eq!(
                (found.hits, found.total),
                (expected.clone(), expected.len()),
                "{agent:?} {query:?}"
            );
        }
    }
}

#[test]
fn an_empty_answer_can_say_where_hits_are() {
    let mut store = Store::new();
    for (scope, key) in [("right", "a"), ("right", "b"), ("other/x", "a")] {
        store.write(&Write {
            scope,
            key,
            value: "fox".into(),
            ..Write::default()
        });
    }
    let search = Search {
        scope: Some("wrng"),
        query: Some("fox"),
        ..plain()
    };
    assert!(store.find(search.clone()).hits.is_empty());
    assert_eq!(
        elsewhere(&store.conn, &search).unwrap(),
        [("right".into(), 2), ("other/x".into(), 1)]
    );
}
