//! `verify` finds each row that was changed, added or removed behind the server's back, and any rollback against a
//! checkpoint that was kept.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::handoffs::{end, id, resume, resume_id};
use crate::harness::{Place, Ran, Server, open_sql};

/// A store with something in every table, written through the binary and closed.
fn full_store() -> Place {
    let place = Place::new();
    let mut scout = place.start().agent("scout").cwd("/").serve();
    let write = |server: &mut Server, key: &str, value: Value| {
        server.call(
            "remember",
            json!({"scope": "app", "key": key, "value": value, "tags": ["red", "blue"], "confidence": 0.8}),
        );
    };
    write(&mut scout, "plan", json!("the first plan"));
    write(&mut scout, "plan", json!({"steps": ["one", "two"]}));
    write(&mut scout, "facts", json!([1.0, 2, null]));
    write(&mut scout, "gone", json!("to be deleted"));
    scout.hand_off(
        "closed",
        json!({"next_steps": ["x"], "open_questions": ["why"], "files_touched": ["f"], "cwd": "/src/app"}),
    );
    let mut codex = place.start().agent("codex").env("MEMORY_OWNER", "ann").cwd("/").serve();
    let closed = id(&codex.call("resume", json!({"cwd": "/src/app"})));
    let report = json!({"outcome": "success", "outcome_ref": "run-1", "handoff_id": closed, "note": "it held"});
    codex.call("record_outcome", report);
    let refs = json!([{"scope": "app", "key": "plan", "version": 1}, {"scope": "app", "key": "facts"}]);
    let noted = json!({"outcome": "failure", "outcome_ref": "run-2", "refs": refs, "note": "it broke"});
    codex.call("record_outcome", noted);
    let owned = id(&codex.hand_off(
        "ann's",
        json!({"cwd": "/src/app", "to_agent": "scout", "expires_in": "0"}),
    ));
    let superseding = codex.hand_off("ann's new one", json!({"supersedes": owned, "next_steps": ["x"]}));
    assert_eq!(superseding["packet"]["supersedes"], json!(owned));
    scout.hand_off(
        "released, then held",
        json!({"to_agent": "claude", "next_steps": ["x"]}),
    );
    let mut claude = place.agent("claude");
    let held = id(&resume(&mut claude));
    let released = json!({"outcome": "released", "outcome_ref": "run-3", "handoff_id": held, "note": "no time"});
    claude.call("record_outcome", released);
    resume(&mut claude);
    resume_id(&mut claude, &held);
    let cancelled = id(&scout.hand_off("cancelled", json!({"next_steps": ["x"]})));
    end(&mut scout, &cancelled, "abandoned");
    scout.hand_off("open", json!({}));
    let mut other = place.start().agent("scout").env("MEMORY_PROJECT", "second").serve();
    other.remember("elsewhere", "k", json!("in another project"));
    for server in [scout, codex, claude, other] {
        server.finish();
    }
    place
}

/// The tables of the store that one row is changed in.
const TABLES: [&str; 12] = [
    "project",
    "version",
    "content",
    "head",
    "opinion",
    "handoff",
    "handoff_ref",
    "handoff_note",
    "outcome",
    "ledger",
    "search",
    "meta",
];

/// One change of one row, and the words of which one must stand in the report.
struct Tamper {
    sql: String,
    marks: Vec<String>,
}

/// One row: how SQL finds it, and what a report may call it.
struct TheRow {
    place: String,
    marks: Vec<String>,
}

/// What a column holds, as SQLite was told.
struct Column {
    name: String,
    kind: String,
    required: bool,
}

fn columns(sql: &Connection, table: &str) -> (Vec<Column>, Vec<String>) {
    let mut statement = sql
        .prepare("SELECT name, type, \"notnull\", pk FROM pragma_table_info(?1) ORDER BY cid")
        .expect("the columns");
    let rows: Vec<(Column, i64)> = statement
        .query_map([table], |row| {
            let column = Column {
                name: row.get(0)?,
                kind: row.get(1)?,
                required: row.get(2)?,
            };
            Ok((column, row.get(3)?))
        })
        .and_then(Iterator::collect)
        .expect("the columns");
    let keys: Vec<String> = rows
        .iter()
        .filter(|(_, pk)| *pk > 0)
        .map(|(column, _)| column.name.clone())
        .collect();
    (rows.into_iter().map(|(column, _)| column).collect(), keys)
}

fn texts(sql: &Connection, query: &str) -> Vec<String> {
    let mut statement = sql.prepare(query).unwrap_or_else(|e| panic!("{query}: {e}"));
    statement
        .query_map([], |row| row.get(0))
        .and_then(Iterator::collect)
        .unwrap_or_else(|e| panic!("{query}: {e}"))
}

/// Every row of a table in the order of its key.
fn rows(sql: &Connection, table: &str) -> Vec<TheRow> {
    let (columns, mut keys) = columns(sql, table);
    if keys.is_empty() {
        keys = vec!["rowid".to_owned()];
    }
    let own: Vec<String> = columns
        .iter()
        .filter(|column| column.kind == "TEXT")
        .map(|column| format!("coalesce({}, '')", column.name))
        .collect();
    // What a row without a name of its own belongs to.
    let belongs = match table {
        "content" => {
            "coalesce((SELECT group_concat(key, char(10)) FROM version WHERE content_id = t.id), '') || char(10) ||
             coalesce((SELECT id FROM handoff WHERE content_id = t.id), '') || char(10) ||
             coalesce((SELECT group_concat(id, char(10)) FROM outcome WHERE content_id = t.id), '') || char(10) ||
             coalesce((SELECT handoff_id FROM handoff_note WHERE content_id = t.id), '')"
        }
        "opinion" => "(SELECT key FROM version WHERE id = t.version_id)",
        "search" => "(SELECT key FROM version WHERE id = t.rowid)",
        "outcome" => "(SELECT key FROM version WHERE id = t.version_id)",
        "ledger" => "'entry ' || seq || char(10) || 'seq ' || seq || char(10) || 'ledger'",
        _ => "''",
    };
    let place = keys
        .iter()
        .map(|key| format!("'{key} = ' || quote({key})"))
        .collect::<Vec<_>>()
        .join(" || ' AND ' || ");
    let own = if own.is_empty() || table == "search" {
        "''".to_owned()
    } else {
        own.join(" || char(10) || ")
    };
    let source = if table == "search" {
        "(SELECT version_id AS rowid FROM head)"
    } else {
        table
    };
    let order = keys.join(", ");
    let query =
        format!("SELECT ({place}) || char(1) || ({own}) || char(10) || ({belongs}) FROM {source} t ORDER BY {order}");
    texts(sql, &query)
        .into_iter()
        .map(|text| {
            let (place, marks) = text.split_once('\u{1}').expect("two parts");
            let marks = marks.lines().filter(|mark| (1..=80).contains(&mark.len()));
            TheRow {
                place: place.to_owned(),
                marks: marks.map(str::to_owned).chain([table.to_owned()]).collect(),
            }
        })
        .collect()
}

/// The ways to change one column so that a reader could be deceived: another value, the same in other letters or with a
/// blank, another type, nothing.
fn edits(column: &Column) -> Vec<String> {
    let name = &column.name;
    let mut edits = match column.kind.as_str() {
        "TEXT" => vec![
            format!("coalesce({name}, '') || 'x'"),
            format!("{name} || ' '"),
            format!("upper({name})"),
            format!("replace({name}, ':', ': ')"),
            format!("{name} || char(0)"),
            format!("CAST({name} AS BLOB)"),
            "''".to_owned(),
        ],
        "INTEGER" => vec![
            format!("coalesce({name}, 0) + 1000001"),
            "'text'".to_owned(),
            "-1".to_owned(),
        ],
        "REAL" => vec![format!("{name} + 0.001"), "'text'".to_owned(), "1e300".to_owned()],
        _ => vec![
            "randomblob(16)".to_owned(),
            format!("substr({name}, 2)"),
            "'text'".to_owned(),
        ],
    };
    if !column.required {
        edits.push("NULL".to_owned());
    }
    edits
}

/// Every edit of every column of some rows: the plainest one at the first, a middle and the last row, the others at a
/// middle one.
fn edit_some(sql: &Connection, table: &str) -> Vec<Tamper> {
    let rows = rows(sql, table);
    let (columns, _) = columns(sql, table);
    let middle = rows.len() / 2;
    let mut places = vec![0, middle, rows.len() - 1];
    places.dedup();
    let mut all = Vec::new();
    for at in places {
        for column in &columns {
            for edit in edits(column).into_iter().take(if at == middle { 10 } else { 1 }) {
                all.push(Tamper {
                    // What would change nothing is no tampering; then no row is changed and the case is left out.
                    sql: format!(
                        "UPDATE {table} SET {0} = {edit} WHERE {1} AND {0} IS NOT {edit}",
                        column.name, rows[at].place
                    ),
                    marks: rows[at].marks.clone(),
                });
            }
        }
    }
    all
}

fn delete_each(sql: &Connection, table: &str) -> Vec<Tamper> {
    rows(sql, table)
        .into_iter()
        .map(|row| Tamper {
            sql: format!("DELETE FROM {table} WHERE {}", row.place),
            marks: row.marks,
        })
        .collect()
}

/// Rows that nothing accounts for. Each stands as close to a real one as a careful hand would put it.
fn insert_some() -> Vec<Tamper> {
    let case = |sql: &str, marks: &[&str]| Tamper {
        sql: sql.to_owned(),
        marks: marks.iter().map(|&mark| mark.to_owned()).collect(),
    };
    vec![
        case(
            "INSERT INTO project (workspace, name, created_at) SELECT workspace, 'ghost', created_at FROM project LIMIT 1",
            &["ghost"],
        ),
        case(
            "INSERT INTO version SELECT 9001, project_id, seq, scope, key, version + 1, content_id, value_hash, tags, meta,
                 author, session, base_confidence, created_at, private_to, hash, hash
             FROM version WHERE key = 'facts'",
            &["facts"],
        ),
        case(
            "INSERT INTO version SELECT 9001, project_id, seq, scope, 'ghost', 1, content_id, value_hash, tags, meta,
                 author, session, base_confidence, created_at, private_to, prev_hash, hash
             FROM version WHERE key = 'facts'",
            &["ghost"],
        ),
        case("INSERT INTO content (nonce, body) VALUES (randomblob(16), '\"stray\"')", &["content"]),
        case(
            "INSERT INTO head SELECT project_id, scope, 'ghost', version_id FROM head WHERE key = 'facts'",
            &["ghost"],
        ),
        case("INSERT INTO opinion VALUES (9001, 0.7, 0, 0)", &["9001", "opinion"]),
        case(
            "INSERT INTO handoff SELECT 'h_00000000000000ff', project_id, 9001, 9001, from_agent, from_session, to_agent,
                 owner, cwd, origin, content_id, texts_hash, git, checkpoint, created_at, expires_at, 'open', NULL,
                 supersedes, superseded_by, continues, NULL, NULL, NULL, NULL, NULL, NULL, NULL
             FROM handoff WHERE state = 'open' LIMIT 1",
            &["h_00000000000000ff"],
        ),
        case(
            "INSERT INTO handoff_ref SELECT handoff_id, max(position) + 1, version_id FROM handoff_ref
             GROUP BY handoff_id LIMIT 1",
            &["h_"],
        ),
        case("INSERT INTO handoff_ref VALUES ('h_00000000000000ff', 0, 1)", &["h_00000000000000ff"]),
        case(
            "INSERT INTO handoff_note SELECT handoff_id, seq + 1, content_id FROM handoff_note LIMIT 1",
            &["h_"],
        ),
        case(
            "INSERT INTO outcome SELECT 'o_00000000000000ff', project_id, seq, 'ghost', version_id, handoff_id, outcome,
                 NULL, NULL, author, session, created_at, confidence_before, confidence_after FROM outcome LIMIT 1",
            &["o_00000000000000ff", "plan"],
        ),
        case(
            "INSERT INTO ledger SELECT project_id, seq + 1, at, agent, session, kind, subject, detail, digest, hash
             FROM ledger WHERE project_id = 1 ORDER BY seq DESC LIMIT 1",
            &["ledger", "entry", "seq"],
        ),
        case(
            "INSERT INTO ledger SELECT project_id, seq + 10, at, agent, session, kind, subject, detail, digest, hash
             FROM ledger WHERE project_id = 1 ORDER BY seq DESC LIMIT 1",
            &["ledger", "entry", "seq"],
        ),
        case("INSERT INTO search (rowid, terms) VALUES (9001, 'ghost')", &["search", "index", "9001"]),
        case("INSERT INTO meta (store_id) VALUES ('ghost')", &["meta"]),
        case("INSERT INTO meta SELECT store_id FROM meta", &["meta"]),
    ]
}

/// The search index keeps no text to be edited in place: a row's terms are replaced.
fn edit_search(sql: &Connection) -> Vec<Tamper> {
    rows(sql, "search")
        .into_iter()
        .map(|row| Tamper {
            sql: format!("UPDATE search SET terms = 'ghost' WHERE {}", row.place),
            marks: row.marks.into_iter().chain(["index".to_owned()]).collect(),
        })
        .collect()
}

/// Runs SQL with every trigger out of the way, puts them back, and tells how many rows were changed; none when SQLite
/// itself refuses.
fn by_hand(path: &Path, change: &str) -> Option<usize> {
    let sql = open_sql(path);
    let triggers = texts(
        &sql,
        "SELECT name || char(1) || sql FROM sqlite_schema WHERE type = 'trigger'",
    );
    for trigger in &triggers {
        let name = trigger.split('\u{1}').next().expect("a name");
        sql.execute_batch(&format!("DROP TRIGGER {name}"))
            .expect("the trigger goes");
    }
    let changed = sql.execute(change, []);
    for trigger in &triggers {
        let text = trigger.split('\u{1}').nth(1).expect("its text");
        sql.execute_batch(text).expect("the trigger comes back");
    }
    match changed {
        Ok(rows) => Some(rows),
        Err(rusqlite::Error::SqliteFailure(..)) => None,
        Err(error) => panic!("{change}: {error}"),
    }
}

fn verify(place: &Place, path: &Path, more: &[&str]) -> Ran {
    let start = place.start().env("MEMORY_DB", path).args(&["verify", "--json"]);
    start.args(more).run()
}

/// The faults that a proof reports: kind, place and what, in one line each.
fn faults(ran: &Ran) -> Vec<String> {
    let report: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|e| panic!("no JSON ({e}): {ran:?}"));
    let list = report["faults"]
        .as_array()
        .unwrap_or_else(|| panic!("no faults: {report}"));
    assert_eq!(report["ok"], list.is_empty());
    let word = |fault: &Value, name: &str| {
        fault[name]
            .as_str()
            .unwrap_or_else(|| panic!("no {name}: {fault}"))
            .to_owned()
    };
    let line = |fault: &Value| ["kind", "where", "what"].map(|name| word(fault, name)).join(" | ");
    list.iter().map(line).collect()
}

/// What is wrong with how one tampering was found; none when all is well. `None` outside: nothing was changed.
fn complaint(place: &Place, path: &Path, tamper: &Tamper) -> Option<Option<String>> {
    std::fs::copy(place.db(), path).expect("a copy");
    if by_hand(path, &tamper.sql).unwrap_or(0) == 0 {
        return None;
    }
    let ran = verify(place, path, &[]);
    let told = || format!("{}\n    exit {:?}: {}{}", tamper.sql, ran.code, ran.stdout, ran.stderr);
    if ran.code != Some(1) {
        return Some(Some(told()));
    }
    let found = faults(&ran);
    let named = found
        .iter()
        .any(|fault| tamper.marks.iter().any(|mark| fault.contains(mark.as_str())));
    Some((!named).then(|| format!("not named: {}", told())))
}

/// Tries each tampering on a copy of its own and fails with the list of those that were not found.
#[track_caller]
fn all_are_found(place: &Place, tampers: Vec<Tamper>) {
    let next = AtomicUsize::new(0);
    let (mut tried, mut missed) = (0, Vec::new());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let (next, tampers) = (&next, &tampers);
                scope.spawn(move || {
                    let path = place.path().join(format!("copy-{worker}.db"));
                    let mut told = Vec::new();
                    while let Some(tamper) = tampers.get(next.fetch_add(1, Ordering::Relaxed)) {
                        told.extend(complaint(place, &path, tamper));
                    }
                    told
                })
            })
            .collect();
        for worker in workers {
            let told = worker.join().expect("a worker");
            tried += told.len();
            missed.extend(told.into_iter().flatten());
        }
    });
    assert!(
        tried * 2 > tampers.len(),
        "only {tried} of {} changed anything",
        tampers.len()
    );
    assert!(
        missed.is_empty(),
        "{} of {tried} were missed:\n{}",
        missed.len(),
        missed.join("\n")
    );
}

#[test]
fn a_clean_copy_is_intact() {
    let place = full_store();
    let sql = place.sql();
    for table in TABLES {
        assert!(
            place.count(&format!("SELECT count(*) FROM {table}")) > 0,
            "{table} is empty"
        );
    }
    drop(sql);
    let copy = place.path().join("copy.db");
    std::fs::copy(place.db(), &copy).expect("a copy");
    let ran = verify(&place, &copy, &[]);
    assert_eq!((ran.code, faults(&ran)), (Some(0), Vec::new()), "{ran:?}");
    // Dropping the triggers and putting them back is not what is found.
    assert_eq!(by_hand(&copy, "UPDATE meta SET store_id = store_id"), Some(1));
    assert_eq!(verify(&place, &copy, &[]).code, Some(0));
    place.verify_clean();
}

#[test]
fn the_database_itself_refuses_to_change_what_is_append_only() {
    let place = full_store();
    let sql = place.sql();
    for (table, column) in [("version", "author"), ("ledger", "agent"), ("content", "body")] {
        assert!(
            sql.execute(&format!("UPDATE {table} SET {column} = 'x'"), []).is_err(),
            "{table}"
        );
        let replaced = format!("INSERT OR REPLACE INTO {table} SELECT * FROM {table} LIMIT 1");
        assert!(sql.execute(&replaced, []).is_err(), "{table}");
    }
    for table in ["version", "ledger"] {
        assert!(sql.execute(&format!("DELETE FROM {table}"), []).is_err(), "{table}");
    }
    drop(sql);
    place.verify_clean();
}

#[test]
fn every_edited_column_is_found() {
    let place = full_store();
    let sql = place.sql();
    let mut tampers: Vec<Tamper> = TABLES
        .iter()
        .filter(|table| **table != "search")
        .flat_map(|table| edit_some(&sql, table))
        .collect();
    tampers.extend(edit_search(&sql));
    drop(sql);
    all_are_found(&place, tampers);
}

#[test]
fn x06_every_deleted_row_is_found() {
    let place = full_store();
    let sql = place.sql();
    let tampers = TABLES.iter().flat_map(|table| delete_each(&sql, table)).collect();
    drop(sql);
    all_are_found(&place, tampers);
}

#[test]
fn every_inserted_row_is_found() {
    let place = full_store();
    all_are_found(&place, insert_some());
}

/// Several changes at once, each told apart by a name.
fn together(place: &Place, changes: &[&str], marks: &[&str]) {
    let copy = place.path().join("copy.db");
    std::fs::copy(place.db(), &copy).expect("a copy");
    for change in changes {
        assert!(by_hand(&copy, change).is_some_and(|rows| rows > 0), "{change}");
    }
    let ran = verify(place, &copy, &[]);
    assert_eq!(ran.code, Some(1), "{changes:?}: {ran:?}");
    let found = faults(&ran).join("\n");
    assert!(marks.iter().all(|mark| found.contains(mark)), "{changes:?}: {found}");
}

#[test]
fn x06_a_newest_version_deleted_with_all_that_hangs_on_it_is_found() {
    let place = full_store();
    let newest = "(SELECT id FROM version WHERE key = 'plan' AND version = 2)";
    together(
        &place,
        &[
            &format!("DELETE FROM search WHERE rowid = {newest}"),
            &format!("DELETE FROM content WHERE id = (SELECT content_id FROM version WHERE id = {newest})"),
            &format!("DELETE FROM opinion WHERE version_id = {newest}"),
            "UPDATE head SET version_id = (SELECT id FROM version WHERE key = 'plan' AND version = 1) WHERE key = 'plan'",
            "DELETE FROM version WHERE key = 'plan' AND version = 2",
        ],
        &["plan"],
    );
}

#[test]
fn x06_a_record_deleted_with_all_its_versions_is_found() {
    let place = full_store();
    together(
        &place,
        &[
            "DELETE FROM search WHERE rowid IN (SELECT id FROM version WHERE key = 'gone')",
            "DELETE FROM opinion WHERE version_id IN (SELECT id FROM version WHERE key = 'gone')",
            "DELETE FROM content WHERE id IN (SELECT content_id FROM version WHERE key = 'gone')",
            "DELETE FROM head WHERE key = 'gone'",
            "DELETE FROM handoff_ref WHERE version_id IN (SELECT id FROM version WHERE key = 'gone')",
            "DELETE FROM version WHERE key = 'gone'",
        ],
        &["gone"],
    );
}

#[test]
fn x06_a_whole_outcome_or_packet_taken_out_is_found() {
    let place = full_store();
    together(
        &place,
        &[
            "UPDATE opinion SET confidence = 0.8, successes = 0, failures = 0
             WHERE version_id IN (SELECT version_id FROM outcome WHERE outcome_ref = 'run-2')",
            "DELETE FROM outcome WHERE outcome_ref = 'run-2'",
        ],
        &["o_"],
    );
    together(
        &place,
        &[
            "DELETE FROM content WHERE id IN (SELECT content_id FROM handoff WHERE state = 'open')",
            "DELETE FROM handoff_ref WHERE handoff_id IN (SELECT id FROM handoff WHERE state = 'open')",
            "DELETE FROM handoff WHERE state = 'open'",
        ],
        &["h_"],
    );
}

#[test]
fn x06_a_packet_put_into_another_persons_hands_is_found() {
    let place = full_store();
    for change in [
        "UPDATE handoff SET accepted_by = 'mallory', accepted_owner = NULL WHERE state = 'accepted'",
        "UPDATE handoff SET owner = NULL WHERE owner = 'ann'",
        "UPDATE handoff SET state = 'open', ended_as = NULL, closed_at = NULL, outcome_ref = NULL, accepted_by = NULL,
             accepted_session = NULL, accepted_owner = NULL, accepted_at = NULL, receiving_cwd = NULL
         WHERE state = 'closed'",
        "UPDATE handoff SET to_agent = 'mallory' WHERE to_agent = 'scout'",
        "UPDATE handoff_ref SET version_id = (SELECT max(id) FROM version WHERE key = 'plan')
         WHERE version_id = (SELECT min(id) FROM version WHERE key = 'facts')",
    ] {
        together(&place, &[change], &["h_"]);
    }
}

/// What `handoff-memory checkpoint` prints.
#[track_caller]
fn checkpoint(place: &Place) -> String {
    let ran = place.run(&["checkpoint"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran.stdout.trim().to_owned()
}

#[test]
fn x06_a_kept_checkpoint_proves_extension_and_finds_a_rollback() {
    let place = full_store();
    let early = checkpoint(&place);
    assert!(early.starts_with("hm1:"), "{early}");
    let yesterday = place.path().join("yesterday.db");
    std::fs::copy(place.db(), &yesterday).expect("a copy");
    let mut scout = place.agent("scout");
    scout.remember("app", "today", json!(1));
    assert_eq!(
        scout.stats()["checkpoint"],
        json!(checkpoint(&place)),
        "both faces give the same string"
    );
    scout.finish();
    let late = checkpoint(&place);
    assert_ne!(early, late);
    let today = place.db();
    // The newer file extends both; the older one is intact in itself and extends only the first.
    for (path, checkpoints, code) in [
        (&today, vec![&early], 0),
        (&today, vec![&early, &late], 0),
        (&yesterday, vec![], 0),
        (&yesterday, vec![&early], 0),
        (&yesterday, vec![&late], 1),
        (&yesterday, vec![&early, &late], 1),
    ] {
        let args: Vec<&str> = checkpoints
            .iter()
            .flat_map(|one| ["--checkpoint", one.as_str()])
            .collect();
        let ran = verify(&place, path, &args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        if code == 1 {
            assert!(faults(&ran).iter().any(|fault| fault.contains("checkpoint")), "{ran:?}");
        }
    }
    // Another way forward from yesterday is no extension of today.
    let mut other = place.start().agent("scout").env("MEMORY_DB", &yesterday).serve();
    other.remember("app", "today", json!("another story"));
    let told = other.call("memory_stats", json!({"checkpoint": late}));
    assert_eq!(told["verify"]["ok"], false, "{told}");
    assert_eq!(
        other.call("memory_stats", json!({"checkpoint": early}))["verify"]["ok"],
        true
    );
    other.finish();
    assert_eq!(verify(&place, &yesterday, &["--checkpoint", &late]).code, Some(1));
    // What is no checkpoint, and what is no store, could not be tried.
    for wrong in ["", "hm1", "hm2:a:b:c:1:00", &late[..late.len() - 1]] {
        assert_eq!(
            verify(&place, &today, &["--checkpoint", wrong]).code,
            Some(2),
            "{wrong:?}"
        );
    }
}

#[test]
fn x06_a_tail_that_was_cut_off_whole_is_found_against_a_checkpoint() {
    let place = full_store();
    let kept = checkpoint(&place);
    let copy = place.path().join("copy.db");
    std::fs::copy(place.db(), &copy).expect("a copy");
    // The last packet, its text, its pins and its entry: what is left is a store that ended earlier.
    for change in [
        "DELETE FROM content WHERE id = (SELECT content_id FROM handoff ORDER BY seq DESC LIMIT 1)",
        "DELETE FROM handoff_ref WHERE handoff_id = (SELECT id FROM handoff ORDER BY seq DESC LIMIT 1)",
        "DELETE FROM handoff WHERE id = (SELECT id FROM handoff ORDER BY seq DESC LIMIT 1)",
        "DELETE FROM ledger WHERE project_id = 1 AND seq = (SELECT max(seq) FROM ledger WHERE project_id = 1)",
    ] {
        assert!(by_hand(&copy, change).is_some_and(|rows| rows > 0), "{change}");
    }
    assert_eq!(verify(&place, &copy, &[]).code, Some(0), "alone it cannot be seen");
    let ran = verify(&place, &copy, &["--checkpoint", &kept]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
}

/// SHA-256 of the parts one after another, in lowercase hex.
fn hash(parts: &[&[u8]]) -> String {
    let digest = parts
        .iter()
        .fold(Sha256::new(), |hasher, part| hasher.chain_update(part));
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn canonical(body: &Value) -> String {
    serde_json_canonicalizer::to_string(body).expect("canonical JSON")
}

/// The values of one row by the names of its columns; nulls are left out.
fn row(sql: &Connection, query: &str) -> Value {
    let mut statement = sql.prepare(query).expect("a query");
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let read = |row: &rusqlite::Row| -> rusqlite::Result<Value> {
        let mut object = serde_json::Map::new();
        for (at, name) in names.iter().enumerate() {
            let value = match row.get_ref(at)? {
                rusqlite::types::ValueRef::Integer(number) => json!(number),
                rusqlite::types::ValueRef::Real(number) => json!(number),
                rusqlite::types::ValueRef::Text(text) => json!(String::from_utf8_lossy(text)),
                _ => continue,
            };
            object.insert(name.clone(), value);
        }
        Ok(Value::Object(object))
    };
    statement.query_row([], read).expect("one row")
}

#[test]
fn x06_a_value_rewritten_with_its_hashes_is_found_and_a_whole_rewrite_against_a_checkpoint() {
    let place = full_store();
    let second = place
        .start()
        .env("MEMORY_PROJECT", "second")
        .args(&["checkpoint"])
        .run();
    let kept = second.stdout.trim();
    let copy = place.path().join("copy.db");
    std::fs::copy(place.db(), &copy).expect("a copy");
    let change = |change: &str| assert_eq!(by_hand(&copy, change), Some(1), "{change}");
    let check = |code: i32, more: &[&str], step: &str| {
        let ran = verify(&place, &copy, more);
        assert_eq!(ran.code, Some(code), "{step}: {ran:?}");
    };
    check(0, &["--checkpoint", kept], "before");
    // Another case leaves the search index as it was.
    let body = "\"IN ANOTHER PROJECT\"";
    change(&format!(
        "UPDATE content SET body = '{body}' WHERE body = '\"in another project\"'"
    ));
    check(1, &[], "the value");
    let sql = open_sql(&copy);
    let nonce: Vec<u8> = sql
        .query_row("SELECT nonce FROM content WHERE body = ?1", [body], |row| row.get(0))
        .expect("the nonce");
    let value_hash = hash(&[&nonce, body.as_bytes()]);
    change(&format!(
        "UPDATE version SET value_hash = '{value_hash}' WHERE scope = 'elsewhere'"
    ));
    check(1, &[], "the value's hash");
    let mut version = row(
        &sql,
        "SELECT 1 AS v, 'default' AS workspace, 'second' AS project, scope, key, version, value_hash, author, session,
             base_confidence AS confidence, created_at, prev_hash FROM version WHERE scope = 'elsewhere'",
    );
    version["tags"] = json!([]);
    let digest = hash(&[canonical(&version).as_bytes()]);
    change(&format!(
        "UPDATE version SET hash = '{digest}' WHERE scope = 'elsewhere'"
    ));
    check(1, &[], "the version's hash");
    change(&format!(
        "UPDATE ledger SET digest = '{digest}' WHERE project_id = 2 AND seq = 2"
    ));
    check(1, &[], "the digest");
    let before = row(&sql, "SELECT hash FROM ledger WHERE project_id = 2 AND seq = 1");
    let mut entry = row(
        &sql,
        "SELECT seq, at, agent, session, kind, subject, digest FROM ledger WHERE project_id = 2 AND seq = 2",
    );
    let detail = row(&sql, "SELECT detail FROM ledger WHERE project_id = 2 AND seq = 2");
    entry["detail"] = serde_json::from_str(detail["detail"].as_str().expect("a detail")).expect("JSON");
    let before = before["hash"].as_str().expect("a hash");
    let last = hash(&[before.as_bytes(), canonical(&entry).as_bytes()]);
    drop(sql);
    change(&format!(
        "UPDATE ledger SET hash = '{last}' WHERE project_id = 2 AND seq = 2"
    ));
    check(0, &[], "all of it: alone it cannot be seen");
    check(1, &["--checkpoint", kept], "all of it, against what was kept");
}

#[test]
fn a_forged_outcome_with_the_opinion_that_follows_from_it_is_found() {
    let place = full_store();
    together(
        &place,
        &[
            "INSERT INTO outcome SELECT 'o_00000000000000ff', v.project_id, 9001, 'forged', v.id, NULL, 'success', NULL,
                 NULL, 'scout', NULL, v.created_at, o.confidence, round(o.confidence + 0.2 * (1 - o.confidence), 12)
             FROM version v JOIN opinion o ON o.version_id = v.id WHERE v.key = 'gone'",
            "UPDATE opinion SET confidence = round(confidence + 0.2 * (1 - confidence), 12), successes = successes + 1
             WHERE version_id = (SELECT id FROM version WHERE key = 'gone')",
        ],
        &["o_00000000000000ff"],
    );
}

#[test]
fn values_swapped_between_two_records_are_found() {
    let place = full_store();
    let content = |key: &str| place.count(&format!("SELECT max(content_id) FROM version WHERE key = '{key}'"));
    let (facts, gone) = (content("facts"), content("gone"));
    together(
        &place,
        &[&format!(
            "UPDATE version SET content_id = {facts} + {gone} - content_id WHERE key IN ('facts', 'gone')"
        )],
        &["facts"],
    );
}

#[test]
fn s16_a_damaged_page_is_never_called_intact() {
    let place = full_store();
    let bytes = std::fs::read(place.db()).expect("the file");
    let page = usize::from(u16::from_be_bytes([bytes[16], bytes[17]]));
    let copy = place.path().join("copy.db");
    let mut found = 0;
    for at in (0..bytes.len()).step_by(page) {
        let mut damaged = bytes.clone();
        damaged[at..at + page].fill(0x5a);
        std::fs::write(&copy, damaged).expect("a copy");
        let ran = verify(&place, &copy, &[]);
        let number = at / page + 1;
        // Without the pages that say what is where nothing can be tried; any other one is a fault that was found.
        assert!(matches!(ran.code, Some(1 | 2)), "page {number}: {ran:?}");
        assert!(!ran.stderr.contains("panicked"), "page {number}: {ran:?}");
        if ran.code == Some(1) {
            assert!(!faults(&ran).is_empty(), "page {number}: {ran:?}");
            found += 1;
        }
    }
    assert!(found * 10 > bytes.len() / page * 8, "{found} of {}", bytes.len() / page);
}

#[test]
fn c10_verify_raises_no_false_fault_while_others_work() {
    let place = full_store();
    let mut busy = [place.agent("scout"), place.agent("codex")];
    let kept = checkpoint(&place);
    for round in 0..8 {
        // A burst of every kind of write is on its way while the proof runs.
        let mut asked = Vec::new();
        for (n, server) in busy.iter_mut().enumerate() {
            for step in 0..10 {
                let run = format!("{n}-{round}-{step}");
                for (tool, arguments) in [
                    (
                        "remember",
                        json!({"scope": "busy", "key": format!("k{step}"), "value": run}),
                    ),
                    ("handoff", json!({"title": run, "summary": "s", "next_steps": ["x"]})),
                    ("resume", json!({})),
                    (
                        "record_outcome",
                        json!({"outcome": "success", "outcome_ref": run, "refs": [{"scope": "app", "key": "plan"}]}),
                    ),
                ] {
                    asked.push((n, server.send_call(tool, arguments)));
                }
            }
        }
        let ran = verify(&place, &place.db(), &["--checkpoint", &kept]);
        assert_eq!((ran.code, faults(&ran)), (Some(0), Vec::new()), "round {round}");
        for (n, asked) in asked {
            busy[n].answer(asked);
        }
    }
    place.verify_clean();
}

#[test]
fn verify_says_when_it_could_not_run() {
    let place = full_store();
    let missing = place.path().join("missing.db");
    let text = place.path().join("text.db");
    std::fs::write(&text, "this is a text, and no database at all".repeat(200)).expect("a file");
    let newer = place.path().join("newer.db");
    std::fs::copy(place.db(), &newer).expect("a copy");
    open_sql(&newer)
        .pragma_update(None, "user_version", 999)
        .expect("a newer schema");
    for path in [&missing, &text, &newer] {
        let ran = verify(&place, path, &[]);
        assert_eq!(ran.code, Some(2), "{}: {ran:?}", path.display());
        assert!(
            ran.stderr.contains(path.to_str().expect("UTF-8")),
            "it names the file: {ran:?}"
        );
    }
    assert!(!missing.exists(), "a read makes no file");
}

#[test]
fn verify_over_mcp_reports_what_the_command_reports() {
    let place = full_store();
    let mut scout = place.agent("scout");
    let told = scout.call("memory_stats", json!({"verify": true}));
    assert_eq!(
        (&told["verify"]["ok"], &told["verify"]["faults"]),
        (&json!(true), &json!([]))
    );
    assert!(told["verify"]["checked"].as_u64() > Some(10), "{told}");
    by_hand(&place.db(), "UPDATE version SET author = 'mallory' WHERE key = 'facts'").expect("a change");
    let told = scout.call("memory_stats", json!({"verify": true}));
    assert_eq!(told["verify"]["ok"], false);
    assert!(told["verify"]["faults"].to_string().contains("facts"), "{told}");
    scout.finish();
    let ran = verify(&place, &place.db(), &[]);
    let report: Value = serde_json::from_str(&ran.stdout).expect("JSON");
    assert_eq!(report["faults"], told["verify"]["faults"]);
    let plain = place.run(&["verify"]);
    assert_eq!(plain.code, Some(1), "{plain:?}");
    assert!(plain.stdout.contains("app/facts"), "for people, too: {plain:?}");
}
