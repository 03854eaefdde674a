//! New versions, purges, rebuilding and checking.

use super::*;

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
    assert_eq!(check(&store.conn, || {}).unwrap(), None);
    rebuild(&store.conn).unwrap();
    let count = "SELECT count(*) FROM search_terms WHERE term = '1wfox'";
    assert_eq!(store.conn.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    assert_eq!(store.query("bear"), [new]);
    assert_eq!(check(&store.conn, || {}).unwrap(), None);
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
    assert_eq!(check(&store.conn, || {}).unwrap().unwrap().version_id, ids[1]);
    rebuild(&store.conn).unwrap();
    assert_eq!(check(&store.conn, || {}).unwrap(), None);
    store
        .conn
        .execute("UPDATE content SET body = '\"other\"' WHERE id = 3", [])
        .unwrap();
    assert_eq!(check(&store.conn, || {}).unwrap().unwrap().version_id, ids[2]);
    store
        .conn
        .execute("DELETE FROM head WHERE version_id = ?1", [ids[0]])
        .unwrap();
    assert_eq!(check(&store.conn, || {}).unwrap().unwrap().version_id, ids[0]);
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
