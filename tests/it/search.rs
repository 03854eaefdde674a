//! `recall` and `history` through the binary: every text finds what it should, filters are hard, pages neither repeat
//! nor skip, and no answer is longer than a client can take.

use std::collections::HashSet;

use serde_json::{Value, json};

use crate::harness::{Place, Server};

/// What a default answer stays under.
const BUDGET: usize = 32 * 1024;

/// Writes many records without waiting for each, so in no certain order.
#[track_caller]
fn remember_all(server: &mut Server, records: impl IntoIterator<Item = Value>) {
    let asked: Vec<u64> = records
        .into_iter()
        .map(|record| server.send_call("remember", record))
        .collect();
    for asked in asked {
        server.answer(asked);
    }
}

/// All pages of a search: the names of each page, and the total that each told.
#[track_caller]
fn pages(server: &mut Server, mut arguments: Value) -> (Vec<Vec<String>>, Vec<u64>) {
    let (mut all, mut totals) = (Vec::new(), Vec::new());
    loop {
        let answer = server.call("recall", arguments.clone());
        all.push(crate::harness::names(&answer["records"]));
        totals.push(answer["total"].as_u64().expect("a total"));
        let Some(cursor) = answer.get("next_cursor") else {
            return (all, totals);
        };
        arguments["cursor"] = cursor.clone();
        assert!(all.len() < 1_000, "pages without end");
    }
}

/// Each query finds its record, and only once.
#[track_caller]
fn finds(server: &mut Server, key: &str, queries: &[&str]) {
    for query in queries {
        let found = server.found(json!({"query": query}));
        assert!(found.contains(&format!("s/{key}")), "{query:?} finds {found:?}");
        assert_eq!(found.len(), found.iter().collect::<HashSet<_>>().len(), "{query:?}");
    }
}

#[test]
fn q01_hyphens_are_text() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (key, value) in [
        ("policy", "see POL-358 about retention"),
        ("hook", "runs pre-edit checks"),
        ("day", "frozen on 2026-03-14"),
        ("flag", "pass -foo to it"),
        ("noise", "nothing of the kind"),
    ] {
        scout.remember("s", key, json!(value));
    }
    finds(&mut scout, "policy", &["POL-358", "pol-358", "\"POL-358\"", "POL 358"]);
    finds(&mut scout, "hook", &["pre-edit", "-edit", "pre-"]);
    finds(&mut scout, "day", &["2026-03-14", "2026-03"]);
    finds(&mut scout, "flag", &["-foo", "--foo", "foo"]);
    assert_eq!(scout.found(json!({"query": "POL-358"})), ["s/policy"]);
}

#[test]
fn q02_colons_and_other_syntax_are_text() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (key, value) in [
        ("todo", "TODO: fix the login"),
        ("error", "error:timeout while reading"),
        ("path", "uses std::fs and src/main.rs"),
        ("url", "served at http://x/y?z=1#a"),
        ("cpp", "written in C++ and C#"),
        ("apostrophe", "don't do it"),
        ("quote", "an \"unbalanced quote"),
        ("words", "this OR that AND NOT those NEAR a*b (c) {d} ^e"),
    ] {
        scout.remember("s", key, json!(value));
    }
    finds(&mut scout, "todo", &["TODO: fix", "todo:", ":fix"]);
    finds(&mut scout, "error", &["error:timeout", "error: timeout"]);
    finds(&mut scout, "path", &["std::fs", "src/main.rs", "main.rs"]);
    finds(&mut scout, "url", &["http://x/y", "http://x/y?z=1#a"]);
    finds(&mut scout, "cpp", &["C++", "c#"]);
    finds(&mut scout, "apostrophe", &["don't", "DON'T"]);
    finds(
        &mut scout,
        "quote",
        &["\"unbal", "\"unbalanced", "an \"unbalanced quote"],
    );
    finds(
        &mut scout,
        "words",
        &["a OR", "NOT those", "NEAR", "a*b", "(c)", "{d}", "^e", "AND"],
    );
    // Whatever else is typed is answered, too.
    for odd in [
        "\"", "\"\"", "*", "(", ")", "a AND", "NEAR(", "-", "::", "'", ";--", "%", "_", "\\", "\u{0}", "🙂", "a:b:c",
        "{}",
    ] {
        scout.call("recall", json!({"query": odd}));
    }
}

#[test]
fn q04_words_of_scripts_without_spaces_and_short_words_are_found() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (key, value) in [
        ("chinese", "用户身份验证已修复"),
        ("japanese", "統合テストが通った"),
        ("korean", "한국어문서를 고쳤다"),
        ("short", "the db is slow, go on"),
        ("thai", "ระบบทดสอบอัตโนมัติ"),
    ] {
        scout.remember("s", key, json!(value));
    }
    finds(&mut scout, "chinese", &["用户", "身份", "用户身份", "验证", "已修复"]);
    finds(&mut scout, "japanese", &["テスト", "統合", "通った"]);
    finds(&mut scout, "korean", &["한국", "한국어", "문서"]);
    finds(&mut scout, "short", &["db", "DB", "go"]);
    finds(&mut scout, "thai", &["ทดสอบ"]);
    assert_eq!(scout.found(json!({"query": "用户身份"})), ["s/chinese"]);
}

#[test]
fn q05_identifiers_glued_to_other_scripts_are_found() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "glued", json!("重跑gen-itgc后修复"));
    scout.remember("s", "nested", json!({"list": ["在v2中", {"deep": "升级tokio前"}]}));
    finds(
        &mut scout,
        "glued",
        &["itgc", "gen-itgc", "重跑", "修复", "重跑gen-itgc"],
    );
    finds(&mut scout, "nested", &["v2", "tokio", "升级"]);
}

#[test]
fn case_and_diacritics_fold_in_the_query_only() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.call(
        "remember",
        json!({"scope": "s", "key": "Café", "value": "Crème BRÛLÉE", "tags": ["Été"]}),
    );
    finds(
        &mut scout,
        "Café",
        &["creme", "crème", "brulee", "CAFE", "cafe\u{301}", "été", "ete"],
    );
    assert_eq!(scout.found(json!({"key": "Café"})), ["s/Café"]);
    assert_eq!(scout.found(json!({"key": "cafe"})), [""; 0]);
    assert_eq!(scout.found(json!({"tag": "Été"})), ["s/Café"]);
    assert_eq!(scout.found(json!({"tag": "été"})), [""; 0]);
    assert_eq!(scout.found(json!({"scope": "S"})), [""; 0]);
}

#[test]
fn q07_a_tag_is_matched_whole() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let tags = [
        "ai",
        "email",
        "auth",
        "authentication",
        "50%",
        "a_b",
        "axb",
        "it's",
        "AI",
        "a b",
        "x\"y",
        "-",
        "路",
    ];
    for tag in tags {
        scout.call(
            "remember",
            json!({"scope": "s", "key": format!("of {tag}"), "value": "ai email auth", "tags": [tag, "all"]}),
        );
    }
    for tag in tags {
        assert_eq!(scout.found(json!({"tag": tag})), [format!("s/of {tag}")], "{tag}");
        assert_eq!(
            scout.found(json!({"tag": format!(" {tag} "), "query": "email"})),
            [format!("s/of {tag}")]
        );
    }
    for absent in ["a", "aut", "%", "_", "50", "*", "al"] {
        let answer = scout.call("recall", json!({"tag": absent}));
        assert_eq!(answer["total"], 0, "{absent}: {answer}");
    }
    assert_eq!(scout.call("recall", json!({"tag": "all"}))["total"], tags.len());
    // The tags of the current version count, not those of older ones.
    scout.call(
        "remember",
        json!({"scope": "s", "key": "of ai", "value": "no tags now"}),
    );
    assert_eq!(scout.found(json!({"tag": "ai"})), [""; 0]);
}

#[test]
fn q08_a_scope_is_whole_path_segments() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let scopes = [
        "app",
        "app2",
        "app/x",
        "app/x/deep",
        "APP",
        "a_b",
        "axb",
        "100%",
        "100",
        "xapp",
        "app-1",
        "app x",
    ];
    for scope in scopes {
        scout.remember(scope, "k", json!("the same words"));
    }
    let mut found = |scope: &str, query: Option<&str>| {
        let mut found = scout.found(json!({"scope": scope, "query": query, "limit": 50}));
        found.sort();
        found
    };
    for query in [None, Some("same words")] {
        assert_eq!(found("app", query), ["app/k", "app/x/deep/k", "app/x/k"]);
        assert_eq!(found("app/x", query), ["app/x/deep/k", "app/x/k"]);
        assert_eq!(found("a_b", query), ["a_b/k"]);
        assert_eq!(found("100%", query), ["100%/k"]);
        assert_eq!(found("APP", query), ["APP/k"]);
        assert_eq!(found("%", query), [""; 0]);
        assert_eq!(found("ap", query), [""; 0]);
        assert_eq!(found("x", query), [""; 0]);
    }
    assert_eq!(
        scout.found(json!({"key": "k", "limit": 50})).len(),
        scopes.len(),
        "`key` alone is exact across scopes"
    );
}

#[test]
fn q11_all_filters_apply_before_the_limit() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    // The three that all filters let through are the oldest.
    let record = |n: u32| {
        let (tags, confidence) = if n < 3 { (vec!["x"], 0.95) } else { (vec!["y"], 0.5) };
        let scope = if n < 3 { "app/deep" } else { "other" };
        json!({"scope": scope, "key": format!("k{n}"), "value": "a needle", "tags": tags, "confidence": confidence})
    };
    remember_all(&mut scout, (0..3).map(record));
    remember_all(&mut scout, (3..50).map(record));
    for filter in [
        json!({"tag": "x"}),
        json!({"min_confidence": 0.9}),
        json!({"scope": "app"}),
        json!({"tag": "x", "min_confidence": 0.9, "scope": "app"}),
    ] {
        for query in [json!("needle"), json!("needle absent"), json!(null)] {
            let mut arguments = filter.clone();
            arguments["limit"] = json!(3);
            arguments["query"] = query;
            let answer = scout.call("recall", arguments.clone());
            let mut found = crate::harness::names(&answer["records"]);
            found.sort();
            assert_eq!(found, ["app/deep/k0", "app/deep/k1", "app/deep/k2"], "{arguments}");
            assert_eq!(answer["total"], 3, "{arguments}");
            assert!(answer.get("next_cursor").is_none(), "{arguments}");
        }
    }
    assert_eq!(
        scout.call("recall", json!({"query": "needle", "limit": 1}))["total"],
        50
    );
}

#[test]
fn a_page_that_gives_all_there_is_has_no_cursor() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (key, confidence) in [("a", 0.5), ("b", 0.9), ("c", 0.9), ("d", 0.5)] {
        scout.call(
            "remember",
            json!({"scope": "s", "key": key, "value": "用户 needle", "tags": ["t"], "confidence": confidence}),
        );
    }
    for (filter, limit) in [
        (json!({"scope": "s"}), 4),
        (json!({"tag": "t"}), 4),
        (json!({"query": "needle"}), 4),
        (json!({"query": "needle", "min_confidence": 0.9}), 2),
        (json!({"scope": "s", "min_confidence": 0.9}), 2),
        (json!({"query": "用户", "min_confidence": 0.9}), 2),
    ] {
        let mut arguments = filter.clone();
        arguments["limit"] = json!(limit);
        let answer = scout.call("recall", arguments);
        assert_eq!(answer["total"], limit, "{filter}");
        assert_eq!(answer["records"].as_array().map(Vec::len), Some(limit), "{filter}");
        assert!(answer.get("next_cursor").is_none(), "{filter}: {answer}");
    }
}

#[test]
fn q11_min_confidence_follows_outcomes() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "plan", json!("a needle"));
    let sure = json!({"query": "needle", "min_confidence": 0.75});
    assert_eq!(scout.found(sure.clone()), [""; 0]);
    let report = json!({"outcome": "success", "outcome_ref": "r", "refs": [{"scope": "s", "key": "plan"}]});
    scout.call("record_outcome", report);
    assert_eq!(scout.found(sure), ["s/plan"]);
}

#[test]
fn q13_an_empty_answer_says_what_was_searched_and_where_hits_exist() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let nothing = scout.call("recall", json!({"query": "x"}));
    assert_eq!((&nothing["records"], &nothing["total"]), (&json!([]), &json!(0)));
    assert!(
        nothing["searched"].as_str().is_some_and(|told| told.contains('x')),
        "{nothing}"
    );
    for n in 0..3 {
        scout.remember("right", &format!("k{n}"), json!("the needle"));
    }
    scout.remember("also/deep", "k", json!("the needle"));
    let answer = scout.call("recall", json!({"scope": "wrng", "query": "needle"}));
    assert_eq!((&answer["records"], &answer["total"]), (&json!([]), &json!(0)));
    let told = answer["searched"].as_str().expect("what was searched");
    for word in ["wrng", "needle", "right", "3", "also/deep", "1"] {
        assert!(told.contains(word), "{word}: {told}");
    }
    for (arguments, words) in [
        (json!({"tag": "absent"}), vec!["tag", "absent"]),
        (json!({"scope": "right", "query": "zebra"}), vec!["right", "zebra"]),
        (
            json!({"query": "needle", "min_confidence": 0.99}),
            vec!["needle", "0.99"],
        ),
        (json!({"key": "K0"}), vec!["key", "K0"]),
        (json!({"scope": "right", "key": "absent"}), vec!["right", "absent"]),
        (
            json!({"scope": "right", "key": "k0", "version": 7}),
            vec!["right", "k0", "7"],
        ),
    ] {
        let answer = scout.call("recall", arguments.clone());
        assert_eq!(answer["total"], 0, "{arguments}: {answer}");
        let told = answer["searched"].as_str().expect("what was searched");
        for word in words {
            assert!(told.contains(word), "{arguments}: {told}");
        }
    }
    let refusal = scout.refuse("history", json!({"scope": "right", "key": "absent"}), "not_found");
    assert!(refusal.text().contains("right/absent"), "{refusal:?}");
    assert!(
        scout
            .call("recall", json!({"query": "needle"}))
            .get("searched")
            .is_none()
    );
}

#[test]
fn records_with_all_words_come_first_then_with_any() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "one", json!("alpha"));
    scout.remember("s", "other", json!("beta beta beta"));
    scout.remember("s", "both", json!("alpha and much later, after many other words, beta"));
    scout.remember("s", "none", json!("gamma"));
    let answer = scout.call("recall", json!({"query": "alpha beta"}));
    let found = crate::harness::names(&answer["records"]);
    assert_eq!(found[0], "s/both", "{found:?}");
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), 3);
    assert_eq!(answer["total"], 3, "`total` counts both");
    assert!(!found.contains(&"s/none".to_owned()));
}

#[test]
fn equal_matches_are_ranked_by_confidence_and_then_by_recency() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (key, confidence) in [("a", 0.5), ("b", 0.9), ("c", 0.5), ("d", 0.7)] {
        scout.call(
            "remember",
            json!({"scope": "s", "key": key, "value": "a needle", "confidence": confidence}),
        );
    }
    assert_eq!(scout.found(json!({"query": "needle"})), ["s/b", "s/d", "s/c", "s/a"]);
    assert_eq!(
        scout.found(json!({"scope": "s"})),
        ["s/d", "s/c", "s/b", "s/a"],
        "no words: newest first"
    );
}

#[test]
fn only_current_versions_are_found() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "plan", json!("the old needle"));
    scout.remember("s", "plan", json!("the new thread"));
    assert_eq!(scout.found(json!({"query": "needle"})), [""; 0]);
    let answer = scout.call("recall", json!({"query": "thread"}));
    assert_eq!(
        (&answer["records"][0]["version"], &answer["total"]),
        (&json!(2), &json!(1))
    );
}

#[test]
fn pages_neither_repeat_nor_skip_and_leave_out_what_is_written_meanwhile() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    remember_all(
        &mut scout,
        (0..57).map(|n| {
            let value = format!(
                "{} needle {}",
                "hay ".repeat(n % 5),
                if n % 3 == 0 { "thread" } else { "" }
            );
            json!({"scope": format!("s/{}", n % 4), "key": format!("k{n}"), "value": value, "tags": ["t"],
                   "confidence": f64::from(u8::try_from(n % 7).expect("small")) / 10.0})
        }),
    );
    for (arguments, expected) in [
        (json!({"query": "needle"}), 57),
        (json!({"query": "needle thread"}), 57),
        (json!({"scope": "s"}), 57),
        (json!({"tag": "t", "min_confidence": 0.3}), 32),
        (json!({"scope": "s/1", "query": "needle hay"}), 14),
    ] {
        let whole = scout.found(
            json!({"limit": 200, "query": arguments["query"], "scope": arguments["scope"],
                                        "tag": arguments["tag"], "min_confidence": arguments["min_confidence"]}),
        );
        for limit in [1, 7, 20, 200] {
            let mut arguments = arguments.clone();
            arguments["limit"] = json!(limit);
            let (pages, totals) = pages(&mut scout, arguments.clone());
            let all = pages.concat();
            assert_eq!(all.len(), expected, "{arguments}");
            assert_eq!(all, whole, "{arguments}: the pages are the whole in its order");
            assert!(
                totals.iter().all(|total| *total == expected as u64),
                "{arguments}: {totals:?}"
            );
        }
    }
    // Between two pages others write: new records, and new versions of what is still to come.
    let mut other = place.agent("other");
    let first = scout.call("recall", json!({"query": "needle", "limit": 10}));
    other.remember("s/9", "late", json!("needle needle needle"));
    let mut rest = json!({"query": "needle", "limit": 50, "cursor": first["next_cursor"]});
    let second = scout.call("recall", rest.clone());
    let mut seen = crate::harness::names(&first["records"]);
    seen.extend(crate::harness::names(&second["records"]));
    assert_eq!(seen.iter().collect::<HashSet<_>>().len(), 57, "each one once: {seen:?}");
    assert!(!seen.contains(&"s/9/late".to_owned()), "written after the first page");
    assert!(second.get("next_cursor").is_none(), "{second}");
    rest["cursor"] = json!("somewhere");
    let refusal = scout.refuse("recall", rest, "invalid_argument");
    assert!(refusal.text().contains("cursor"), "{refusal:?}");
}

#[test]
fn q14_many_long_records_fit_in_one_answer_and_the_rest_follows() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    remember_all(
        &mut scout,
        (0..300).map(|n| {
            json!({"scope": "s", "key": format!("k{n:03}"), "value": format!("needle {n} {}", "固✅→".repeat(220))})
        }),
    );
    let mut arguments = json!({"query": "needle", "limit": 100});
    let mut seen = Vec::new();
    loop {
        let answer = scout.call("recall", arguments.clone());
        assert!(answer.to_string().len() < BUDGET, "{} bytes", answer.to_string().len());
        assert_eq!(answer["total"], 300);
        for record in answer["records"].as_array().expect("records") {
            assert!(record["hash"].is_string() && record["author"] == "scout", "{record}");
            if record.get("value").is_none() {
                let preview = record["preview"].as_str().expect("a preview");
                assert!(preview.starts_with("\"needle "), "{preview}");
                assert!(!preview.contains('\u{fffd}'), "cut at a character");
                assert!(record["value_bytes"].as_u64() > Some(preview.len() as u64), "{record}");
                assert_eq!(answer["truncated"], true);
                assert!(answer["rest"].is_string(), "how to read the rest: {answer}");
            }
        }
        let names = crate::harness::names(&answer["records"]);
        assert!(!names.is_empty(), "every page goes on");
        seen.extend(names);
        let Some(cursor) = answer.get("next_cursor") else { break };
        arguments["cursor"] = cursor.clone();
    }
    assert_eq!((seen.len(), seen.iter().collect::<HashSet<_>>().len()), (300, 300));
    // What was cut is whole by its scope and key.
    let whole = scout.read("s", "k007");
    assert!(
        whole["value"].as_str().is_some_and(|text| text.ends_with("固✅→")),
        "{whole}"
    );
}

#[test]
fn q14_the_history_of_many_versions_comes_in_pages_oldest_first() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let long = "→".repeat(600);
    remember_all(
        &mut scout,
        (1..=200).map(|n| json!({"scope": "s", "key": "k", "value": format!("{n} {long}")})),
    );
    let mut arguments = json!({"scope": "s", "key": "k", "limit": 200});
    let mut versions = Vec::new();
    loop {
        let answer = scout.call("history", arguments.clone());
        assert!(answer.to_string().len() < BUDGET);
        assert_eq!(answer["total"], 200);
        for version in answer["versions"].as_array().expect("versions") {
            versions.push(version["version"].as_u64().expect("a number"));
            assert_eq!(version["current"], version["version"] == 200);
            assert_eq!(version.get("superseded_at").is_some(), version["version"] != 200);
        }
        let Some(cursor) = answer.get("next_cursor") else { break };
        assert_eq!(answer["truncated"], true);
        arguments["cursor"] = cursor.clone();
    }
    assert_eq!(versions, (1..=200).collect::<Vec<u64>>());
    let asked: Vec<u64> = scout.call("history", json!({"scope": "s", "key": "k", "limit": 3}))["versions"]
        .as_array()
        .expect("versions")
        .iter()
        .filter_map(|version| version["version"].as_u64())
        .collect();
    assert_eq!(asked, [1, 2, 3]);
}

#[test]
fn q14_stats_list_the_largest_of_many_scopes_and_say_how_many_there_are() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    remember_all(
        &mut scout,
        (0..500).map(|n| json!({"scope": format!("scope-{n}-{}", "x".repeat(400)), "key": "k", "value": n})),
    );
    remember_all(
        &mut scout,
        (0..3).map(|n| json!({"scope": "large", "key": format!("k{n}"), "value": n})),
    );
    let stats = scout.stats();
    assert!(stats.to_string().len() < BUDGET);
    assert_eq!(stats["by_scope"].as_array().map(Vec::len), Some(20));
    assert_eq!(stats["by_scope_total"], 501);
    assert_eq!(stats["by_scope"][0], json!({"name": "large", "records": 3}));
    assert_eq!(stats["by_agent"], json!([{"name": "scout", "records": 503}]));
    assert_eq!(stats["records"], 503);
}

#[test]
fn q14_a_long_value_comes_in_parts_that_add_up_to_the_stored_json() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let value = json!({"text": "→\"\\\n固✅👩‍👩‍👧e\u{301}\u{1} ".repeat(6_000), "number": 1.0, "b": [null, "007"]});
    scout.remember("s", "long", value.clone());
    let mut arguments = json!({"scope": "s", "key": "long"});
    let mut text = String::new();
    let mut parts = 0;
    loop {
        let answer = scout.call("recall", arguments.clone());
        let record = &answer["records"][0];
        assert!(answer.to_string().len() < BUDGET);
        assert!(record.get("value").is_none());
        assert_eq!(record["from"].as_u64(), Some(text.len() as u64));
        text.push_str(record["value_part"].as_str().expect("a part"));
        parts += 1;
        if parts == 1 {
            // A newer version that comes in between does not get into the parts of the old one.
            place.agent("other").remember("s", "long", json!("short now"));
        }
        let Some(cursor) = answer.get("next_cursor") else {
            assert_eq!(record["value_bytes"].as_u64(), Some(text.len() as u64));
            assert_eq!(record["version"], 1);
            break;
        };
        assert_eq!(answer["truncated"], true);
        arguments["cursor"] = cursor.clone();
    }
    assert!(parts > 5, "{parts} parts");
    let stored: String = place
        .sql()
        .query_row("SELECT body FROM content WHERE id = 1", [], |row| row.get(0))
        .expect("the stored text");
    assert!(text == stored, "the parts are the stored JSON, byte for byte");
    assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), value);
    // The same for an older version by its number.
    let old = scout.call("recall", json!({"scope": "s", "key": "long", "version": 1}));
    assert!(
        old["records"][0]["value_part"].is_string(),
        "{}",
        old["records"][0]["version"]
    );
}

#[test]
fn limits_are_the_same_for_search_and_history() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!(1));
    for (tool, filter) in [
        ("recall", json!({"scope": "s"})),
        ("history", json!({"scope": "s", "key": "k"})),
    ] {
        for few in [0, -1] {
            let mut arguments = filter.clone();
            arguments["limit"] = json!(few);
            let refusal = scout.refuse(tool, arguments, "invalid_argument");
            assert!(refusal.text().contains("limit"), "{tool}: {refusal:?}");
        }
        let mut arguments = filter.clone();
        arguments["limit"] = json!(201);
        crate::harness::assert_warned(&scout.call(tool, arguments), &["limit", "200"]);
    }
    let long = "x".repeat(4 * 1024 + 1);
    let refusal = scout.refuse("recall", json!({"query": long}), "invalid_argument");
    assert!(
        refusal.text().contains("4097") && refusal.text().contains("4096"),
        "{refusal:?}"
    );
}
