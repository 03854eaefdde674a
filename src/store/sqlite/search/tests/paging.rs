//! Pages, ceilings and totals.

use super::*;

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
    for query in [Some("number"), Some("even odd"), Some("' "), None] {
        let search = Search {
            query,
            min_confidence: Some(0.5),
            limit: 100,
            ..plain()
        };
        assert_eq!(store.pages(&search).len(), store.find(search).total, "{query:?}");
    }
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
