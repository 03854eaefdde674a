//! Which texts a query finds, and in which order.

use proptest::prelude::*;

use super::*;

/// A stored text, and queries that must find it.
const FOUND_BY: &[(&str, &[&str])] = &[
    ("see POL-358", &["POL-358", "pol 358", "358", "see pol-358"]),
    ("pre-edit hook", &["pre-edit", "-hook", "pre edit"]),
    ("on 2026-03-14", &["2026-03-14", "2026"]),
    ("written in C++", &["C++", "c++ written"]),
    ("and C# too", &["C#", "C"]),
    ("it doesn't", &["doesn't", "doesn’t"]),
    ("TODO: fix it", &["TODO: fix", "todo fix"]),
    ("error:timeout", &["error:timeout", "error: timeout", "timeout"]),
    ("use std::fs", &["std::fs", "fs"]),
    ("http://x/y", &["http://x/y", "x/y"]),
    (
        "src/main.rs is long",
        &["src/main.rs", "main.rs", "\"src/main.rs\"", "src"],
    ),
    ("the db is up", &["db", "DB", "a db OR"]),
    ("ok ✅ done", &["✅", "ok✅"]),
    (
        "用户身份验证已修复",
        &["用户", "身份", "用户身份", "验", "户身份验证已"],
    ),
    ("テスト環境", &["テスト", "ﾃｽﾄ", "環境"]),
    ("한국어 문서", &["한국", "국어", "문"]),
    (
        "重跑gen-itgc后修复",
        &["itgc", "gen-itgc", "跑gen", "重跑gen-itgc后修复", "后"],
    ),
    ("ภาษาไทย", &["ไทย", "ภาษา"]),
    ("user_name", &["user_name", "name", "userName"]),
    (
        "getUserName",
        &["getUser", "getusername", "GETUSERNAME", "user name", "user_name"],
    ),
    ("Straße in ÉVORA", &["strasse evora", "STRASSE", "Évora"]),
    ("\"quoted\"", &["\"quoted", "\"quoted\""]),
    ("a -> b", &["->"]),
    ("naïve ＦＵＬＬ", &["NAIVE", "full"]),
];

#[test]
fn any_text_finds_the_record_that_holds_it() {
    let mut store = Store::new();
    let ids: Vec<i64> = FOUND_BY.iter().map(|(text, _)| store.say(text)).collect();
    for (id, (text, queries)) in ids.iter().zip(FOUND_BY) {
        for query in *queries {
            assert!(store.query(query).contains(id), "{query:?} finds {text:?}");
        }
    }
    assert!(store.query("zebra").is_empty());
    assert_eq!(check(&store.conn, || {}).unwrap(), None);
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
    let part = store.write(&Write {
        key: "getUserNames",
        ..Write::default()
    });
    let whole = store.write(&Write {
        key: "getUser",
        ..Write::default()
    });
    assert_eq!(store.query("getUser"), [whole, part]);
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
fn the_longest_queries_run() {
    let mut store = Store::new();
    let id = store.say("fox 用户");
    for part in [
        "fox ",
        "fox",
        "a b c ",
        "用户",
        "用 ",
        "a/b",
        "\"'(",
        "getUserName ",
        "C++ ",
        "✅",
        "日a",
    ] {
        let query: String = part.chars().cycle().take(4096).collect();
        store.query(&query);
    }
    assert_eq!(store.query(&format!("fox {}", "zz ".repeat(1000))), [id]);
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
    fn a_text_is_found_by_each_of_its_words(
        text in prop_oneof![any::<String>(), "[a-cA-C0-2 _+#./:'\"用户のไท✅éß™-]{1,30}"],
    ) {
        let mut store = Store::new();
        store.say("something else");
        let id = store.say(&text);
        for word in text.split_whitespace() {
            prop_assert!(store.query(word).contains(&id), "{word:?} of {text:?}");
        }
        if !text.trim().is_empty() {
            prop_assert!(store.query(&text).contains(&id), "{text:?}");
        }
        prop_assert_eq!(check(&store.conn, || {}).unwrap(), None);
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
