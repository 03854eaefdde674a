//! Copies of a store: whole under whatever is being written, proved before they get their name, and good for a restart.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use crate::everything::{checkpoints, document, everything, intact, plain};
use crate::format::{check, said};
use crate::harness::{Place, Ran, open_sql};
use crate::storage::{Small, as_root, beside, listed, mode, text};

/// Runs `--json backup` and gives its answer.
#[track_caller]
fn back_up(place: &Place, to: &Path) -> Value {
    let ran = place.run(&["--json", "backup", text(to)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    document(&ran)
}

/// Runs a backup that must not be made.
#[track_caller]
fn refused(place: &Place, args: &[&str]) -> Ran {
    let ran = place.run(&[&["backup"], args].concat());
    assert_eq!(ran.code, Some(2), "{ran:?}");
    plain(&ran);
    ran
}

/// A new place whose database is this copy.
fn restored(copy: &Path) -> Place {
    let place = Place::new();
    std::fs::copy(copy, place.db()).expect("the copy");
    place
}

/// Asserts that the place's store is an extension of each checkpoint that a backup told.
#[track_caller]
fn extends(place: &Place, answer: &Value) {
    let kept: Vec<&str> = answer["checkpoints"]
        .as_array()
        .expect("checkpoints")
        .iter()
        .map(|one| one.as_str().expect("a checkpoint"))
        .collect();
    assert!(!kept.is_empty());
    let mut args = vec!["verify"];
    kept.iter().for_each(|one| args.extend(["--checkpoint", one]));
    let ran = place.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn a_backup_under_four_writers_is_whole_and_the_store_goes_on_from_it() {
    let place = Place::new();
    place.agent("scout").remember("s", "first", json!(0));
    let done = AtomicBool::new(false);
    let copies: Vec<(PathBuf, Value)> = std::thread::scope(|threads| {
        let writers: Vec<_> = (0..4)
            .map(|n| {
                let (place, done) = (&place, &done);
                threads.spawn(move || {
                    let start = place.start().agent(&format!("writer-{n}"));
                    let mut server = start.env("MEMORY_PROJECT", format!("project-{}", n % 2)).serve();
                    let mut written = 0;
                    while !done.load(Ordering::Relaxed) {
                        written += 1;
                        let value = json!({"written": written, "text": "x".repeat(500)});
                        server.remember(&format!("w{n}"), &format!("k{}", written % 9), value);
                        if written % 5 == 0 {
                            server.hand_off(&format!("{n}/{written}"), json!({"next_steps": ["x"]}));
                        }
                    }
                    server.finish();
                    written
                })
            })
            .collect();
        let copies = (0..6)
            .map(|n| {
                let to = place.path().join(format!("{n}.db"));
                let answer = back_up(&place, &to);
                (to, answer)
            })
            .collect();
        done.store(true, Ordering::Relaxed);
        let written: Vec<u64> = writers.into_iter().map(|w| w.join().expect("it ends")).collect();
        assert!(written.iter().all(|count| *count > 0), "{written:?}");
        copies
    });
    let mut last = 0;
    for (copy, answer) in &copies {
        assert_eq!(mode(copy), 0o600);
        let there = restored(copy);
        intact(&there);
        let told: Vec<&str> = answer["checkpoints"]
            .as_array()
            .expect("a list")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        assert_eq!(checkpoints(&there).lines().collect::<Vec<_>>(), told);
        extends(&place, answer);
        let entries = there.count("SELECT count(*) FROM ledger");
        assert!(entries >= last, "a later copy holds less");
        last = entries;
    }
    intact(&place);
}

#[test]
fn a_restored_backup_is_a_store_like_any_other() {
    let place = everything();
    let copy = place.path().join("copy.db");
    let answer = back_up(&place, &copy);
    assert_eq!(
        answer["bytes"],
        json!(std::fs::metadata(&copy).expect("the copy").len())
    );
    assert!(answer["checked"].as_u64().is_some_and(|rows| rows > 50), "{answer}");
    let there = restored(&copy);
    assert_eq!(checkpoints(&there), checkpoints(&place));
    let mut scout = there.agent("scout");
    assert_eq!(scout.read("app", "plan")["value"], "the last one");
    assert_eq!(scout.found(json!({"query": "took its place"})), ["app/leak"]);
    assert_eq!(scout.remember("app", "plan", json!("restored"))["version"], 5);
    let packet = scout.hand_off("restored", json!({"next_steps": ["x"]}));
    assert_eq!(packet["packet"]["state"], "open");
    scout.finish();
    intact(&there);
    extends(&there, &answer);
    // Not a trace of what was made on the way, and the first store is as it was.
    assert_eq!(listed(place.path()), ["copy.db", "data", "home", "memory.db", "work"]);
    intact(&place);
    // A backup of a backup.
    let again = there.path().join("again.db");
    back_up(&there, &again);
    intact(&restored(&again));
}

#[test]
fn what_was_acknowledged_before_is_in_the_copy() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    // It stands in the write-ahead log of a server that has the file open.
    for n in 0..20 {
        scout.remember("s", &format!("k{n}"), json!(n));
        let copy = place.path().join(format!("{n}.db"));
        back_up(&place, &copy);
        let there = open_sql(&copy);
        let count: i64 = there
            .query_row("SELECT count(*) FROM version", [], |row| row.get(0))
            .expect("a count");
        assert_eq!(count, n + 1);
    }
    scout.finish();
}

#[test]
fn a_file_in_the_way_stays_unless_it_may_go() {
    let place = everything();
    let to = place.path().join("copy.db");
    std::fs::write(&to, "mine").expect("a file");
    let ran = refused(&place, &[text(&to)]);
    assert!(
        ran.stderr.contains(text(&to)) && ran.stderr.contains("--overwrite"),
        "{ran:?}"
    );
    assert_eq!(std::fs::read_to_string(&to).expect("the file"), "mine");
    std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o644)).expect("a mode");
    let ran = place.run(&["backup", "--overwrite", text(&to)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("intact") && ran.stdout.contains("hm1:"), "{ran:?}");
    assert_eq!(mode(&to), 0o600);
    intact(&restored(&to));
    // A link to another file stays, and so does what it leads to: the file itself has to be named.
    let (link, target) = (place.path().join("link.db"), place.path().join("target"));
    std::fs::write(&target, "mine").expect("a file");
    std::os::unix::fs::symlink(&target, &link).expect("a link");
    refused(&place, &[text(&link)]);
    assert_eq!(place.run(&["backup", "--overwrite", text(&link)]).code, Some(2));
    assert_eq!(std::fs::read_to_string(&target).expect("the file"), "mine");
    // A link to nothing is in the way, too.
    let dangling = place.path().join("dangling.db");
    std::os::unix::fs::symlink(place.path().join("nowhere"), &dangling).expect("a link");
    refused(&place, &[text(&dangling)]);
    assert!(!place.path().join("nowhere").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = everything();
    let closed = place.path().join("closed");
    std::fs::create_dir(&closed).expect("a folder");
    std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o500)).expect("a mode");
    let mut places = vec![
        place.path().join("no").join("folder").join("copy.db"),
        place.path().join("memory.db").join("copy.db"),
        place.work(),
    ];
    if !as_root() {
        places.push(closed.join("copy.db"));
    }
    for to in places {
        for overwrite in [&[] as &[&str], &["--overwrite"]] {
            let ran = refused(&place, &[overwrite, &[text(&to)]].concat());
            assert!(ran.stderr.contains(text(&to)), "{ran:?}");
        }
    }
    assert_eq!(listed(place.path()), ["closed", "data", "home", "memory.db", "work"]);
    assert!(listed(&place.work()).is_empty());
    let Some(small) = Small::mount(&place.path().join("small"), "1m") else {
        return;
    };
    small.remount("ro");
    let ran = refused(&place, &[text(&small.at.join("copy.db"))]);
    assert!(ran.stderr.contains("small/copy.db"), "{ran:?}");
}

#[test]
fn s07_a_backup_to_a_full_disk_leaves_no_file_and_says_so() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..100 {
        scout.remember("s", &format!("k{n}"), json!("x".repeat(10_000)));
    }
    scout.finish();
    let Some(small) = Small::mount(&place.path().join("small"), "512k") else {
        return;
    };
    let to = small.at.join("copy.db");
    let ran = place.run(&["--json", "backup", text(&to)]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    let refusal: Value = serde_json::from_str(&ran.stderr).expect("one JSON document");
    assert_eq!(refusal["error"]["code"], "disk_full", "{refusal}");
    assert!(listed(&small.at).is_empty(), "{:?}", listed(&small.at));
    place.verify_clean();
    small.remount("size=12m");
    back_up(&place, &to);
    intact(&restored(&to));
}

#[test]
fn s07_the_error_names_the_disk_that_is_full() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..100 {
        scout.remember("s", &format!("k{n}"), json!("x".repeat(10_000)));
    }
    scout.finish();
    let Some(small) = Small::mount(&place.path().join("small"), "512k") else {
        return;
    };
    let ran = refused(&place, &[text(&small.at.join("copy.db"))]);
    assert!(ran.stderr.contains("small/copy.db"), "{ran:?}");
}

/// The three files of a database that servers have open, and other ways to name it.
fn own_files(place: &Place) -> Vec<PathBuf> {
    let link = place.work().join("link.db");
    std::os::unix::fs::symlink(place.db(), &link).expect("a link");
    let around = place.work().join("..").join("memory.db");
    let mut all: Vec<PathBuf> = ["", "-wal", "-shm"].map(|end| beside(&place.db(), end)).into();
    all.extend([link, around]);
    all
}

#[test]
fn a_backup_does_not_take_the_place_of_its_own_store() {
    let place = everything();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!("in the log"));
    for to in own_files(&place) {
        refused(&place, &[text(&to)]);
        assert_eq!(scout.read("app", "plan")["value"], "in the log");
    }
    scout.finish();
    intact(&place);
}

#[test]
fn a_backup_does_not_take_the_place_of_its_own_store_even_if_told() {
    for n in 0..own_files(&everything()).len() {
        let place = everything();
        let mut scout = place.agent("scout");
        scout.remember("app", "plan", json!("in the log"));
        let to = own_files(&place)[n].clone();
        let is_link = std::fs::symlink_metadata(&to).expect("the file").is_symlink();
        let ran = place.run(&["backup", "--overwrite", text(&to)]);
        // A link to the store may become a copy; the store's own files stay.
        assert!(
            ran.code == Some(2) || (is_link && ran.code == Some(0)),
            "{}: {ran:?}",
            to.display()
        );
        scout.remember("app", "plan", json!("after it"));
        scout.finish();
        assert_eq!(place.agent("codex").read("app", "plan")["value"], "after it");
        intact(&place);
    }
}

#[test]
fn the_name_of_the_log_is_none_for_a_backup() {
    let place = everything();
    for end in ["-wal", "-shm", "-journal"] {
        refused(&place, &[text(&beside(&place.db(), end))]);
    }
}

#[test]
fn a_damaged_store_has_no_backup() {
    for change in [
        "UPDATE content SET body = replace(body, 'last', 'lost')",
        "DELETE FROM ledger WHERE seq = 7 AND project_id = 1",
        "UPDATE handoff SET state = 'open' WHERE state = 'closed'",
        "DELETE FROM head WHERE key = 'plan'",
        "INSERT INTO search(search) VALUES ('delete-all')",
    ] {
        let place = everything();
        let sql = place.sql();
        for trigger in ["content_update", "ledger_delete"] {
            sql.execute_batch(&format!("DROP TRIGGER {trigger}")).expect("dropped");
        }
        sql.execute_batch(change).expect(change);
        drop(sql);
        let older = place.path().join("older.db");
        std::fs::write(&older, "the last good one").expect("a file");
        let ran = refused(&place, &[text(&place.path().join("copy.db"))]);
        assert!(ran.stderr.contains("not intact"), "{change}: {ran:?}");
        refused(&place, &["--overwrite", text(&older)]);
        assert_eq!(std::fs::read_to_string(&older).expect("the file"), "the last good one");
        assert_eq!(
            listed(place.path()),
            ["data", "home", "memory.db", "older.db", "work"],
            "{change}"
        );
    }
}

#[test]
fn a_store_with_a_broken_page_has_no_backup() {
    let place = everything();
    let pages = std::fs::metadata(place.db()).expect("the file").len() / 4096;
    let bytes = std::fs::read(place.db()).expect("the file");
    for page in (1..pages).step_by(3) {
        let mut broken = bytes.clone();
        let at = usize::try_from(page * 4096).expect("a place");
        broken[at..at + 4096].fill(0xa5);
        std::fs::write(place.db(), &broken).expect("the file");
        let ran = place.run(&["backup", text(&place.path().join("copy.db"))]);
        plain(&ran);
        if ran.code == Some(0) {
            // A page that nothing stands on; the copy was proved.
            let copy = place.path().join("copy.db");
            let checked = check(&copy);
            assert_eq!(checked.status.code(), Some(0), "page {page}: {}", said(&checked));
            std::fs::remove_file(&copy).expect("the copy");
        } else {
            assert_eq!(ran.code, Some(2), "page {page}: {ran:?}");
        }
        assert_eq!(
            listed(place.path()),
            ["data", "home", "memory.db", "work"],
            "page {page}"
        );
    }
}

#[test]
fn nothing_foreign_missing_empty_or_newer_is_backed_up() {
    let place = Place::new();
    let to = place.path().join("copy.db");
    let ran = refused(&place, &[text(&to)]);
    assert!(ran.stderr.contains(text(&place.db())), "{ran:?}");
    assert_eq!(listed(place.path()), ["data", "home", "work"], "nothing was made");
    std::fs::write(place.db(), "").expect("an empty file");
    refused(&place, &[text(&to)]);
    std::fs::write(place.db(), "my notes\n".repeat(1_000)).expect("a text file");
    refused(&place, &[text(&to)]);
    std::fs::remove_file(place.db()).expect("removed");
    place.agent("scout").remember("s", "k", json!(1));
    place.sql().pragma_update(None, "user_version", 999).expect("raised");
    let ran = refused(&place, &[text(&to)]);
    assert!(ran.stderr.contains("999"), "{ran:?}");
    assert!(!to.exists());
    assert!(
        listed(place.path()).iter().all(|name| !name.contains("part")),
        "{:?}",
        listed(place.path())
    );
}

#[test]
fn a_backup_neither_waits_for_a_writer_nor_makes_one_wait() {
    let place = everything();
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN IMMEDIATE").expect("the write lock");
    let copy = place.path().join("copy.db");
    back_up(&place, &copy);
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
    intact(&restored(&copy));
    // A read that stays open does not stand in its way either.
    sql.execute_batch("BEGIN; SELECT count(*) FROM ledger").expect("a read");
    scout.remember("s", "k", json!(2));
    let later = place.path().join("later.db");
    back_up(&place, &later);
    sql.execute_batch("ROLLBACK").expect("the read ends");
    let there = restored(&later);
    assert_eq!(there.agent("x").read("s", "k")["value"], 2);
    scout.finish();
    intact(&there);
}
