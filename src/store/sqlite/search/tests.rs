//! What the index promises, on a real SQLite.

use proptest::prelude::*;
use rusqlite::Connection;

use super::*;

const TABLES: &str = "
CREATE TABLE version(id INTEGER PRIMARY KEY, project_id, seq, scope TEXT, key TEXT, version, content_id, tags TEXT,
                     base_confidence REAL, private_to TEXT, UNIQUE(project_id, scope, key, version));
CREATE TABLE content(id INTEGER PRIMARY KEY, body TEXT);
CREATE TABLE head(project_id, scope, key, version_id, PRIMARY KEY(project_id, scope, key)) WITHOUT ROWID;
CREATE TABLE opinion(version_id INTEGER PRIMARY KEY, confidence REAL);
";

/// A store that holds only what search reads.
struct Store {
    conn: Connection,
    seq: i64,
}

/// What a test writes; the defaults are what a test does not care about.
struct Write<'a> {
    project: i64,
    scope: &'a str,
    key: &'a str,
    tags: &'a [&'a str],
    value: serde_json::Value,
    private_to: Option<&'a str>,
    confidence: f64,
}

impl Default for Write<'_> {
    fn default() -> Self {
        let value = serde_json::Value::Null;
        Self {
            project: 1,
            scope: "app",
            key: "key",
            tags: &[],
            value,
            private_to: None,
            confidence: 0.7,
        }
    }
}

impl Store {
    fn new() -> Self {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(TABLES).unwrap();
        conn.execute_batch(CREATE).unwrap();
        Self { conn, seq: 0 }
    }

    fn write(&mut self, write: &Write<'_>) -> i64 {
        self.seq += 1;
        let (
            conn,
            &Write {
                project, scope, key, ..
            },
        ) = (&self.conn, write);
        let body = write.value.to_string();
        let tags = serde_json::to_string(write.tags).unwrap();
        let old: Option<i64> = conn
            .query_row(
                "SELECT max(version_id) FROM head WHERE project_id = ?1 AND scope = ?2 AND key = ?3",
                (project, scope, key),
                |row| row.get(0),
            )
            .unwrap();
        conn.execute("INSERT INTO content(body) VALUES (?1)", [&body]).unwrap();
        conn.execute(
            "INSERT INTO version(project_id, seq, scope, key, version, content_id, tags, base_confidence, private_to)
             VALUES (?1, ?2, ?3, ?4, ?2, last_insert_rowid(), ?5, ?6, ?7)",
            (project, self.seq, scope, key, &tags, write.confidence, write.private_to),
        )
        .unwrap();
        let id = conn.last_insert_rowid();
        conn.execute(
            "INSERT OR REPLACE INTO head VALUES (?1, ?2, ?3, ?4)",
            (project, scope, key, id),
        )
        .unwrap();
        conn.execute("INSERT INTO opinion VALUES (?1, ?2)", (id, write.confidence))
            .unwrap();
        if let Some(old) = old {
            unindex(conn, old).unwrap();
        }
        let (tags, body) = (tags.as_str(), Some(body.as_str()));
        index(
            conn,
            id,
            &Indexed {
                project,
                scope,
                key,
                tags,
                private_to: write.private_to,
                body,
            },
        )
        .unwrap();
        id
    }

    /// Writes a text under a key of its own.
    fn say(&mut self, text: &str) -> i64 {
        let key = format!("k{}", self.seq);
        self.write(&Write {
            key: &key,
            value: text.into(),
            ..Write::default()
        })
    }

    fn find(&self, search: Search<'_>) -> Found {
        find(&self.conn, &search).unwrap()
    }

    fn query(&self, query: &str) -> Vec<i64> {
        self.find(Search {
            query: Some(query),
            ..plain()
        })
        .hits
    }

    fn pages(&self, search: &Search<'_>) -> Vec<i64> {
        let mut search = search.clone();
        let mut hits = Vec::new();
        loop {
            let page = self.find(search.clone());
            hits.extend(page.hits);
            search.position = page.next;
            if search.position.is_none() {
                return hits;
            }
        }
    }
}

fn plain() -> Search<'static> {
    Search {
        project: 1,
        limit: 20,
        ..Search::default()
    }
}

#[test]
fn any_text_finds_the_record_that_holds_it() {
    let texts = [
        "see POL-358",
        "pre-edit hook",
        "on 2026-03-14",
        "written in C++",
        "and C# too",
        "it doesn't",
        "TODO: fix it",
        "error:timeout",
        "use std::fs",
        "http://x/y",
        "src/main.rs is long",
        "the db is up",
        "ok ✅ done",
        "用户身份验证已修复",
        "テスト環境",
        "한국어 문서",
        "重跑gen-itgc后修复",
        "ภาษาไทย",
        "user_name",
        "getUserName",
        "Straße in ÉVORA",
        "\"quoted\"",
        "a -> b",
        "naïve",
        "ＦＵＬＬ",
    ];
    let mut store = Store::new();
    let ids: Vec<i64> = texts.iter().map(|text| store.say(text)).collect();
    for (query, held) in [
        ("POL-358", "see POL-358"),
        ("pol 358", "see POL-358"),
        ("pre-edit", "pre-edit hook"),
        ("2026-03-14", "on 2026-03-14"),
        ("C++", "written in C++"),
        ("C#", "and C# too"),
        ("doesn't", "it doesn't"),
        ("TODO: fix", "TODO: fix it"),
        ("error:timeout", "error:timeout"),
        ("std::fs", "use std::fs"),
        ("http://x/y", "http://x/y"),
        ("src/main.rs", "src/main.rs is long"),
        ("main.rs", "src/main.rs is long"),
        ("db", "the db is up"),
        ("✅", "ok ✅ done"),
        ("用户", "用户身份验证已修复"),
        ("身份", "用户身份验证已修复"),
        ("用户身份", "用户身份验证已修复"),
        ("验", "用户身份验证已修复"),
        ("テスト", "テスト環境"),
        ("한국", "한국어 문서"),
        ("itgc", "重跑gen-itgc后修复"),
        ("gen-itgc", "重跑gen-itgc后修复"),
        ("跑gen", "重跑gen-itgc后修复"),
        ("ไทย", "ภาษาไทย"),
        ("user_name", "user_name"),
        ("getUser", "getUserName"),
        ("getusername", "getUserName"),
        ("strasse evora", "Straße in ÉVORA"),
        ("\"quoted", "\"quoted\""),
        ("->", "a -> b"),
        ("NAIVE", "naïve"),
        ("full", "ＦＵＬＬ"),
        ("-hook", "pre-edit hook"),
    ] {
        let id = ids[texts.iter().position(|text| *text == held).unwrap()];
        assert!(store.query(query).contains(&id), "{query}");
    }
    assert!(store.query("zebra").is_empty());
    assert!(
        store.query("358-POL").len() <= 1,
        "a phrase has its order; only its words join"
    );
    assert_eq!(check(&store.conn).unwrap(), None);
}

#[test]
fn other_forms_and_longer_words_are_found_after_the_word() {
    let mut store = Store::new();
    let monitor = store.say("we monitor it");
    let monitoring = store.say("monitoring is on");
    let longer = store.say("monitorable");
    assert_eq!(store.query("monitor"), [monitor, monitoring, longer]);
    assert_eq!(store.query("monitored"), [monitoring, monitor]);
    let authentication = store.say("authentication");
    assert_eq!(store.query("auth"), [authentication]);
}

#[test]
fn names_are_searched_and_count_more_than_text() {
    let mut store = Store::new();
    let key = store.write(&Write {
        key: "deploy",
        ..Write::default()
    });
    let tag = store.write(&Write {
        key: "b",
        tags: &["deploy"],
        ..Write::default()
    });
    let scope = store.write(&Write {
        key: "c",
        scope: "ops/deploy",
        ..Write::default()
    });
    let in_key = store.write(&Write {
        key: "how-to-deploy",
        ..Write::default()
    });
    let json = serde_json::json!({"a": [1, {"deploy": 2.5}]});
    let value = store.write(&Write {
        key: "d",
        value: json,
        ..Write::default()
    });
    assert_eq!(store.query("deploy"), [key, in_key, tag, scope, value]);
    assert_eq!(store.query("2.5"), [value]);
}

#[test]
fn all_words_come_first_and_any_words_join_when_few() {
    let mut store = Store::new();
    let both = store.say("red fox");
    let apart = store.say("fox that is red");
    let fox = store.say("a fox");
    let found = store.find(Search {
        query: Some("red fox"),
        ..plain()
    });
    assert_eq!((found.hits, found.total), (vec![both, apart, fox], 3));
    for _ in 0..20 {
        store.say("red fox again");
    }
    let found = store.find(Search {
        query: Some("red fox"),
        limit: 50,
        ..plain()
    });
    assert_eq!((found.hits.len(), found.total, found.next), (22, 22, None));
    // A rare word is not crowded out by a common one.
    let rare = store.say("zebra");
    for _ in 0..1500 {
        store.say("common thing");
    }
    assert_eq!(store.query("common zebra")[0], rare);
    assert_eq!(store.query("what is a zebra"), [rare]);
}

#[test]
fn confidence_then_recency_order_equals() {
    let mut store = Store::new();
    let low = store.write(&Write {
        key: "a",
        value: "fox".into(),
        confidence: 0.2,
        ..Write::default()
    });
    let high = store.write(&Write {
        key: "b",
        value: "fox".into(),
        confidence: 0.9,
        ..Write::default()
    });
    let newer = store.write(&Write {
        key: "c",
        value: "fox".into(),
        confidence: 0.2,
        ..Write::default()
    });
    assert_eq!(store.query("fox"), [high, newer, low]);
    let found = store.find(Search {
        query: Some("fox"),
        min_confidence: Some(0.5),
        ..plain()
    });
    assert_eq!((found.hits, found.total), (vec![high], 1));
}

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
fn only_current_versions_are_found_even_when_the_old_text_was_purged() {
    let mut store = Store::new();
    store.write(&Write {
        value: "secret fox".into(),
        ..Write::default()
    });
    store.conn.execute("UPDATE content SET body = NULL", []).unwrap();
    let new = store.write(&Write {
        value: "bear".into(),
        ..Write::default()
    });
    assert!(store.query("fox").is_empty());
    assert_eq!(store.query("bear"), [new]);
    assert_eq!(check(&store.conn).unwrap(), None);
    rebuild(&store.conn).unwrap();
    let count = "SELECT count(*) FROM search_terms WHERE term = '1wfox'";
    assert_eq!(store.conn.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(store.query("bear"), [new]);
    assert_eq!(check(&store.conn).unwrap(), None);
}

#[test]
fn purged_text_leaves_the_file_with_rebuild_and_vacuum() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memory.db");
    let mut store = Store::new();
    store.conn = Connection::open(&path).unwrap();
    store.conn.execute_batch(TABLES).unwrap();
    store.conn.execute_batch(CREATE).unwrap();
    for _ in 0..100 {
        store.say("some other words");
    }
    store.write(&Write {
        value: "xyzzyhunter2".into(),
        ..Write::default()
    });
    let held = || {
        std::fs::read(&path)
            .unwrap()
            .windows(10)
            .any(|bytes| bytes == b"yzzyhunter")
    };
    assert!(held());
    store
        .conn
        .execute("UPDATE content SET body = NULL WHERE body LIKE '%xyzzy%'", [])
        .unwrap();
    rebuild(&store.conn).unwrap();
    store.conn.execute_batch("VACUUM").unwrap();
    assert!(!held());
    assert_eq!(
        store
            .find(Search {
                key: Some("key"),
                ..plain()
            })
            .total,
        1
    );
}

#[test]
fn check_names_the_first_version_that_differs() {
    let mut store = Store::new();
    let ids = ["one", "two", "three"].map(|text| store.say(text));
    unindex(&store.conn, ids[1]).unwrap();
    assert_eq!(check(&store.conn).unwrap().unwrap().version_id, ids[1]);
    rebuild(&store.conn).unwrap();
    assert_eq!(check(&store.conn).unwrap(), None);
    store
        .conn
        .execute("UPDATE content SET body = '\"other\"' WHERE id = 3", [])
        .unwrap();
    assert_eq!(check(&store.conn).unwrap().unwrap().version_id, ids[2]);
    store
        .conn
        .execute("DELETE FROM head WHERE version_id = ?1", [ids[0]])
        .unwrap();
    assert_eq!(check(&store.conn).unwrap().unwrap().version_id, ids[0]);
}

#[test]
fn sqlite_finds_no_fault_in_the_index() {
    let mut store = Store::new();
    for n in 0..300 {
        let key = format!("k{}", n % 50);
        store.write(&Write {
            key: &key,
            value: format!("text {n}").into(),
            ..Write::default()
        });
    }
    let ok: String = store
        .conn
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(ok, "ok");
    assert_eq!(store.find(plain()).total, 50);
}

#[test]
fn pages_neither_repeat_nor_skip() {
    let mut store = Store::new();
    for n in 0..2600 {
        let text = if n % 2 == 0 { "even number" } else { "odd number" };
        let key = format!("k{n}");
        let confidence = f64::from(n % 7) / 7.0;
        store.write(&Write {
            key: &key,
            value: text.into(),
            confidence,
            ..Write::default()
        });
    }
    store.say("even once odd");
    for (query, total) in [
        (Some("number"), 2600),
        (Some("even"), 1301),
        (Some("even odd"), 2601),
        (Some("\"'"), 0),
        (None, 2601),
    ] {
        let search = Search {
            query,
            limit: 77,
            ..plain()
        };
        let mut hits = store.pages(&search);
        assert_eq!(hits.len(), total, "{query:?}");
        assert_eq!(store.find(search).total, total, "{query:?}");
        hits.sort_unstable();
        hits.dedup();
        assert_eq!(hits.len(), total, "{query:?} repeats");
    }
    let search = Search {
        query: Some("number"),
        min_confidence: Some(0.5),
        limit: 100,
        ..plain()
    };
    assert_eq!(store.pages(&search).len(), store.find(search).total);
}

#[test]
fn what_was_written_after_the_ceiling_is_left_out() {
    let mut store = Store::new();
    let ids = [store.say("fox one"), store.say("fox two"), store.say("fox three")];
    let ceiling_seq = Some(store.seq);
    let first = store.find(Search {
        query: Some("fox"),
        limit: 2,
        ceiling_seq,
        ..plain()
    });
    assert_eq!(first.hits, [ids[2], ids[1]]);
    store.say("fox four");
    let second = Search {
        query: Some("fox"),
        limit: 2,
        ceiling_seq,
        position: first.next,
        ..plain()
    };
    let second = store.find(second);
    assert_eq!((second.hits, second.total, second.next), (vec![ids[0]], 3, None));
    assert_eq!(
        store.find(Search {
            ceiling_seq: Some(0),
            ..plain()
        }),
        Found::default()
    );
}

#[test]
fn totals_are_capped_beyond_ten_thousand() {
    let mut store = Store::new();
    store.conn.execute_batch("BEGIN").unwrap();
    for _ in 0..10_001 {
        store.say("fox");
    }
    let found = store.find(Search {
        query: Some("fox"),
        ..plain()
    });
    assert_eq!((found.total, found.total_capped), (10_000, true));
    let found = store.find(Search {
        ceiling_seq: Some(10_000),
        ..plain()
    });
    assert_eq!((found.total, found.total_capped), (10_000, false));
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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_query_is_an_error(query in any::<String>(), scope in any::<String>()) {
        let mut store = Store::new();
        store.say("some text");
        store.find(Search { query: Some(&query), ..plain() });
        store.find(Search { scope: Some(&scope), tag: Some(&query), key: Some(&query), ..plain() });
    }

    #[test]
    fn a_text_is_found_by_each_of_its_words(text in any::<String>()) {
        let mut store = Store::new();
        store.say("something else");
        let id = store.say(&text);
        for word in text.split_whitespace() {
            prop_assert!(store.query(word).contains(&id), "{word:?} of {text:?}");
        }
        if !text.trim().is_empty() {
            prop_assert!(store.query(&text).contains(&id), "{text:?}");
        }
        prop_assert_eq!(check(&store.conn).unwrap(), None);
    }

    #[test]
    fn a_text_without_spaces_is_found_by_any_stretch(
        text in "[用户身份验证已修复テスト한국어ไทย]{1,12}", from in 0usize..12, length in 1usize..12,
    ) {
        let mut store = Store::new();
        store.say("別の文");
        let id = store.say(&format!("ab{text}cd"));
        let stretch: String = text.chars().skip(from).take(length).collect();
        prop_assert!(stretch.is_empty() || store.query(&stretch).contains(&id), "{stretch:?} of {text:?}");
    }
}
