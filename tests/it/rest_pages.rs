//! REST: pages that neither repeat nor skip, and values that come back as they were sent.

use serde_json::{Value, json};

use crate::harness::{Place, assert_warned};
use crate::rest_work::agent;
use crate::web::{Client, Web};

/// The name of each thing on each page, going on until there is no further page.
#[track_caller]
fn pages(client: &Client, path: &str, list: &str, name: &str, cursor: (&str, &str)) -> Vec<Vec<String>> {
    let mut pages = Vec::new();
    let mut next = String::new();
    loop {
        let page = client.get(&format!("{path}{next}"));
        let names = page[list].as_array().expect("a list").iter();
        pages.push(names.map(|one| one[name].to_string()).collect::<Vec<_>>());
        let Some(at) = page.get(cursor.0) else { return pages };
        next = format!(
            "&{}={}",
            cursor.1,
            at.as_str().map_or_else(|| at.to_string(), str::to_owned)
        );
    }
}

#[test]
fn pages_neither_repeat_nor_skip() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    for n in 0..23 {
        scout.posted("/records", json!({"scope": "s", "key": format!("k{n}"), "value": n}));
        scout.posted("/records", json!({"scope": "one", "key": "key", "value": n}));
        let packet = scout.hand_off(&format!("t{n}"));
        match n % 4 {
            1 => drop(scout.posted(&format!("/handoffs/{packet}/accept"), json!({}))),
            2 => drop(scout.posted(&format!("/handoffs/{packet}/cancel"), json!({}))),
            _ => {}
        }
    }
    let cursor = ("next_cursor", "cursor");
    let titles = |state: &str, order: &str, size: usize| {
        let path = format!("/handoffs?{state}&order={order}&limit={size}");
        pages(&scout, &path, "packets", "title", cursor)
    };
    let numbers = |keep: fn(usize) -> bool| -> Vec<String> {
        (0..23).filter(|n| keep(*n)).map(|n| format!("\"t{n}\"")).collect()
    };
    for (state, keep) in [
        ("state=all", (|_| true) as fn(usize) -> bool),
        ("", |n| n % 4 != 2),
        ("state=open", |n| n % 4 == 0 || n % 4 == 3),
        ("state=accepted", |n| n % 4 == 1),
        ("state=expired", |n| n % 4 == 2),
        ("state=accepted&state=expired", |n| n % 4 == 1 || n % 4 == 2),
        ("state=closed", |_| false),
    ] {
        let wanted = numbers(keep);
        for size in [1, 4, wanted.len().max(1), 200] {
            let read = titles(state, "oldest", size);
            assert_eq!(read.concat(), wanted, "{state} by {size}");
            assert!(
                read.iter().all(|page| page.len() <= size),
                "{state} by {size}: {read:?}"
            );
            assert_eq!(
                read.len(),
                wanted.len().div_ceil(size).max(1),
                "no empty last page of {state} by {size}"
            );
            let mut newest = titles(state, "newest", size).concat();
            newest.reverse();
            assert_eq!(newest, wanted, "{state} by {size}, the newest first");
        }
        let total = scout.get(&format!("/handoffs?{state}&limit=1"))["total"].clone();
        assert_eq!(total, json!(wanted.len()), "{state}");
    }
    let versions = pages(
        &scout,
        "/records/history?scope=one&key=key&limit=5",
        "versions",
        "version",
        cursor,
    );
    assert_eq!(
        versions.concat(),
        (1..=23).map(|n: u64| n.to_string()).collect::<Vec<_>>()
    );
    assert_eq!(versions.len(), 5);
    let mut found = pages(&scout, "/records?scope=s&limit=4", "records", "key", cursor).concat();
    found.sort();
    let mut keys: Vec<String> = (0..23).map(|n| format!("\"k{n}\"")).collect();
    keys.sort();
    assert_eq!(found, keys);
    let last = scout.get("/ledger")["last"].as_u64().expect("a position");
    let entries = pages(&scout, "/ledger?limit=7", "entries", "seq", ("next_since", "since"));
    assert_eq!(
        entries.concat(),
        (1..=last).map(|seq| seq.to_string()).collect::<Vec<_>>()
    );
}

#[test]
fn a04_a_limit_is_from_1_to_200_on_every_list() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    for n in 0..205 {
        scout.posted("/records", json!({"scope": "one", "key": "key", "value": n}));
    }
    for (path, list) in [
        ("/handoffs?", "packets"),
        ("/records?scope=one", "records"),
        ("/records/history?scope=one&key=key", "versions"),
        ("/ledger?", "entries"),
    ] {
        for wrong in ["0", "-1", "-9223372036854775809", "10.5", "ten", "NaN", "1e-1", "0x10"] {
            let refusal = scout.ask("GET", &format!("{path}&limit={wrong}"), None).refused(400);
            assert!(
                refusal.message.contains("limit") && refusal.message.contains("200"),
                "{path} {wrong}: {refusal:?}"
            );
        }
        for many in [
            "201",
            "1e9",
            "9223372036854775807",
            "9223372036854775808",
            "99999999999999999999999",
        ] {
            let page = scout.get(&format!("{path}&limit={many}"));
            assert_warned(&page, &["limit", "200"]);
            // What has no number in 64 bits is not told as another one.
            let beyond = many.len() >= 19;
            assert_eq!(
                page["warnings"].to_string().contains("or more"),
                beyond,
                "{path} {many}"
            );
            assert!(page[list].as_array().expect("a list").len() <= 200, "{path} {many}");
        }
        for good in ["", "1", "10.0", "1e1", "%2010%20", "200"] {
            let page = scout.get(&format!("{path}&limit={good}"));
            assert_eq!(page.get("warnings"), None, "{path} {good}");
        }
    }
    let full = scout.get("/records/history?scope=one&key=key&limit=1e9");
    assert_eq!(full["versions"].as_array().expect("versions").len(), 200);
    assert_eq!((&full["total"], &full["next_cursor"]), (&json!(205), &json!("h200")));
}

#[test]
fn values_come_back_byte_for_byte_and_whole() {
    let place = Place::new();
    let web = Web::of(&place, &[]);
    let scout = agent(&web, "scout");
    let longest = format!("\"{}\"", "é".repeat((1024 * 1024 - 2) / 2));
    assert_eq!(longest.len(), 1024 * 1024);
    let values = [
        r#"{"b":1.0,"a":-0.0,"z":{"y":[],"x":{}}}"#,
        "[9223372036854775807,-9223372036854775808,18446744073709551615,1,1.0,-0.0,5e-324]",
        r#"["007","null","[1,2]","","1e2"," "]"#,
        "null",
        "true",
        "\"\"",
        r#""\u0000\u001f\"\\/\u007f""#,
        "\"😀 用户 e\u{301}\u{202e}\"",
        &longest,
    ];
    for (n, value) in values.iter().enumerate() {
        let body = format!(r#" {{ "scope" : "s", "key":"k{n}" , "value": {value} }} "#);
        let written = scout.ask("POST", "/records", Some(&body));
        assert_eq!(written.status, 201, "{body:.80}: {written:?}");
    }
    let packet = scout.hand_off("with all of them");
    let record = |value: &str| format!(r#""value":{value},"#);
    for (n, value) in values.iter().enumerate() {
        let reads = [
            format!("/records?scope=s&key=k{n}"),
            format!("/records?scope=s&key=k{n}&version=1"),
            format!("/records?key=k{n}"),
            format!("/records/history?scope=s&key=k{n}"),
            format!("/handoffs/{packet}"),
        ];
        for path in reads {
            let answer = scout.ask("GET", &path, None);
            // A control character may be spelled in more than one way, and every other byte in one.
            let same = answer.body.contains(&record(value)) || *value == values[6];
            assert!(answer.status == 200 && same, "{path} of {value:.80}");
        }
        let read = scout.get(&format!("/records?scope=s&key=k{n}"));
        let sent: Value = serde_json::from_str(value).expect("JSON");
        assert_eq!(read["records"][0]["value"], sent, "{value:.80}");
        // The same bytes again are no new version.
        let body = format!(r#"{{"scope":"s","key":"k{n}","value":{value}}}"#);
        assert_eq!(scout.ask("POST", "/records", Some(&body)).status, 200, "{value:.80}");
    }
    // Another spelling of a double stays a double, and one byte more than there is room for is refused.
    let body = r#"{"scope":"s","key":"exponent","value":1e2}"#;
    assert_eq!(scout.ask("POST", "/records", Some(body)).status, 201);
    let read = scout.get("/records?scope=s&key=exponent");
    assert!(
        read["records"][0]["value"].is_f64() && read["records"][0]["value"] == 100.0,
        "{read}"
    );
    let longer = longest.replacen('é', "éx", 1);
    let body = format!(r#"{{"scope":"s","key":"k","value":{longer}}}"#);
    assert!(
        scout
            .ask("POST", "/records", Some(&body))
            .refused(422)
            .message
            .contains("1048576")
    );
    // Several long values make a page that ends early, and no value is cut.
    for n in 0..10 {
        let body = format!(
            r#"{{"scope":"long","key":"k{n}","value":[{n},{}]}}"#,
            &longest.replacen("éééé", "", 1)
        );
        assert_eq!(scout.ask("POST", "/records", Some(&body)).status, 201);
    }
    let keys = pages(
        &scout,
        "/records?scope=long",
        "records",
        "key",
        ("next_cursor", "cursor"),
    );
    assert!(keys.len() > 1 && keys.concat().len() == 10, "{keys:?}");
    let page = scout.get("/records?scope=long");
    assert_eq!(page["truncated"], true);
    assert!(
        page["records"]
            .as_array()
            .expect("records")
            .iter()
            .all(|record| record.get("value").is_some())
    );
    assert_eq!(web.stop().0, Some(0));
    place.verify_clean();
}
