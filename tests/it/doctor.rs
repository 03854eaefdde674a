//! `doctor`: green only when everything is in order, and a way out for each thing that is not.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::everything::{document, everything, intact, plain};
use crate::harness::{BINARY, LEGACY, Place, Ran, Start, open_sql};
use crate::storage::{Small, beside, listed, text};

/// Runs `--json doctor` and gives its one document; `code` is its exit code.
#[track_caller]
fn look(start: &Start, code: i32) -> Value {
    let ran = start.clone().args(&["--json", "doctor"]).run();
    assert_eq!(ran.code, Some(code), "{ran:?}");
    plain(&ran);
    let answer = document(&ran);
    assert_eq!(answer["ok"], json!(code == 0), "{answer}");
    for check in answer["checks"].as_array().expect("checks") {
        let fix = check["fix"].as_str();
        assert_eq!(
            check["ok"],
            json!(fix.is_none()),
            "a problem without a way out: {check}"
        );
        assert!(fix.is_none_or(|fix| !fix.trim().is_empty()), "{check}");
        assert!(check["what"].as_str().is_some_and(|what| !what.is_empty()), "{check}");
    }
    answer
}

/// The checks of a name that are not in order, as (what, fix).
fn problems(answer: &Value, name: &str) -> Vec<(String, String)> {
    let all = answer["checks"].as_array().expect("checks").iter();
    let wrong = all.filter(|check| check["name"] == name && check["ok"] == false);
    let word = |check: &Value, field: &str| check[field].as_str().expect(field).to_owned();
    wrong.map(|check| (word(check, "what"), word(check, "fix"))).collect()
}

/// Looks at a store that has one problem, which must be of this name and hold these words, and gives the fix. A person is
/// told the same.
#[track_caller]
fn one_problem(start: &Start, name: &str, words: &[&str]) -> String {
    let answer = look(start, 1);
    let found = problems(&answer, name);
    let checks = answer["checks"].as_array().expect("checks");
    let wrong = checks.iter().filter(|check| check["ok"] == false).count();
    assert_eq!((found.len(), wrong), (1, 1), "{answer}");
    let (what, fix) = found[0].clone();
    for word in words {
        assert!(what.contains(word), "{word} in {what}");
    }
    let ran = start.clone().arg("doctor").run();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains(&format!("!! {name}")), "{ran:?}");
    assert!(ran.stdout.contains(&format!("→ {fix}")), "{ran:?}");
    assert!(ran.stdout.contains("1 to look at"), "{ran:?}");
    fix
}

/// Runs a fix as a shell would.
#[track_caller]
fn shell(fix: &str) {
    let status = std::process::Command::new("sh")
        .args(["-c", fix])
        .status()
        .expect("a shell");
    assert!(status.success(), "{fix}");
}

fn chmod(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).expect("a mode");
}

#[test]
fn u04_a_healthy_store_is_green_and_everything_is_told() {
    let place = everything();
    let before = std::fs::read(place.db()).expect("the file");
    let answer = look(&place.start(), 0);
    let checks = answer["checks"].as_array().expect("checks");
    let what = |name: &str| -> String {
        let check = checks.iter().find(|check| check["name"] == name);
        check.unwrap_or_else(|| panic!("no {name}: {answer}"))["what"]
            .as_str()
            .expect("what")
            .to_owned()
    };
    assert!(what("database").contains(text(&place.db())) && what("database").contains("MEMORY_DB"));
    assert!(what("SQLite").starts_with("3."));
    assert!(what("integrity").contains("rows proved"));
    assert!(what("schema").starts_with('2'));
    assert!(what("ledger").contains("hm1:"));
    for name in ["modes", "file system", "log", "program"] {
        what(name);
    }
    let agents: Vec<&str> = answer["agents"]
        .as_array()
        .expect("agents")
        .iter()
        .map(|agent| agent["agent"].as_str().expect("a name"))
        .collect();
    assert!(agents.contains(&"scout") && agents.contains(&"y \"z\""), "{answer}");
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.stdout.contains("everything is in order") && !ran.stdout.contains('→'),
        "{ran:?}"
    );
    assert!(
        std::fs::read(place.db()).expect("the file") == before,
        "a look changed the file"
    );
    assert_eq!(listed(place.path()), ["data", "home", "memory.db", "work"]);
}

#[test]
fn u04_a_store_at_work_is_green_too() {
    let place = everything();
    let mut scout = place.agent("scout");
    for n in 0..30 {
        scout.remember("live", "k", json!(n));
    }
    look(&place.start(), 0);
    scout.remember("live", "k", json!("after"));
    scout.finish();
    look(&place.start(), 0);
}

#[test]
fn u04_what_cannot_be_looked_at_exits_2_and_is_left_as_it_is() {
    let place = Place::new();
    let refused = |words: &[&str]| {
        for args in [
            &["--json", "doctor"] as &[&str],
            &["doctor"],
            &["doctor", "--rebuild-index"],
        ] {
            let ran: Ran = place.run(args);
            assert_eq!(ran.code, Some(2), "{args:?}: {ran:?}");
            plain(&ran);
            assert!(ran.stderr.contains(text(&place.db())), "{ran:?}");
            for word in words {
                assert!(ran.stderr.contains(word), "{word}: {ran:?}");
            }
        }
    };
    refused(&["no database"]);
    assert_eq!(listed(place.path()), ["data", "home", "work"], "nothing was made");
    std::fs::write(place.db(), "").expect("an empty file");
    refused(&[]);
    assert_eq!(std::fs::metadata(place.db()).expect("the file").len(), 0);
    let notes = "my notes\n".repeat(1_000);
    std::fs::write(place.db(), &notes).expect("a text file");
    refused(&["not a database"]);
    assert_eq!(std::fs::read_to_string(place.db()).expect("the file"), notes);
    std::fs::remove_file(place.db()).expect("removed");
    open_sql(&place.db())
        .execute_batch("CREATE TABLE note (body TEXT)")
        .expect("a foreign database");
    refused(&["another program"]);
    std::fs::remove_file(place.db()).expect("removed");
    place.agent("scout").remember("s", "k", json!(1));
    place.sql().pragma_update(None, "user_version", 999).expect("raised");
    refused(&["999", "upgrade"]);
}

#[test]
fn u04_a_corrupt_page_is_found_wherever_verify_finds_it() {
    let place = everything();
    let bytes = std::fs::read(place.db()).expect("the file");
    let mut found = 0;
    for page in 1..bytes.len() / 4096 {
        let mut broken = bytes.clone();
        broken[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(place.db(), &broken).expect("the file");
        let verified = place.run(&["verify"]);
        let ran = place.run(&["--json", "doctor"]);
        plain(&ran);
        assert!(
            std::fs::read(place.db()).expect("the file") == broken,
            "page {page}: a look changed the file"
        );
        if verified.code == Some(1) && ran.code == Some(1) {
            let answer = document(&ran);
            assert!(!problems(&answer, "integrity").is_empty(), "page {page}: {answer}");
            found += 1;
        } else {
            // What the test below is about.
            let blind = verified.code == Some(1) && ran.code == Some(2);
            assert!(blind || verified.code == ran.code, "page {page}: {verified:?} {ran:?}");
            assert!(!ran.stderr.is_empty() || ran.code == Some(0), "page {page}: {ran:?}");
        }
    }
    assert!(found > 5, "{found} pages");
}

#[test]
fn u04_what_was_found_is_shown_though_the_rest_cannot_be_read() {
    let place = everything();
    let bytes = std::fs::read(place.db()).expect("the file");
    for page in 1..bytes.len() / 4096 {
        let mut broken = bytes.clone();
        broken[page * 4096..(page + 1) * 4096].fill(0xa5);
        std::fs::write(place.db(), &broken).expect("the file");
        let verified = place.run(&["verify"]);
        let ran = place.run(&["--json", "doctor"]);
        assert_eq!(verified.code, ran.code, "page {page}: {verified:?} {ran:?}");
    }
}

#[test]
fn u04_a_changed_row_is_found() {
    for change in [
        "DROP TRIGGER content_update; UPDATE content SET body = replace(body, 'last', 'lost')",
        "DROP TRIGGER version_delete; DELETE FROM version WHERE id = (SELECT max(id) FROM version)",
        "UPDATE opinion SET successes = successes + 1 WHERE version_id = 3",
        "UPDATE handoff SET state = 'open', ended_as = NULL WHERE ended_as = 'failure'",
        "INSERT INTO content (nonce, body) VALUES (zeroblob(16), '1')",
    ] {
        let place = everything();
        place.sql().execute_batch(change).expect(change);
        let answer = look(&place.start(), 1);
        let found = problems(&answer, "integrity");
        assert!(!found.is_empty(), "{change}: {answer}");
        assert!(
            found.iter().any(|(_, fix)| fix.contains("backup")),
            "{change}: {found:?}"
        );
        // What cannot be mended by it is not.
        let ran = place.run(&["doctor", "--rebuild-index"]);
        assert_eq!(ran.code, Some(1), "{change}: {ran:?}");
    }
}

#[test]
fn u04_an_index_that_lost_its_records_is_told_and_rebuilt() {
    for change in [
        "INSERT INTO search(search) VALUES ('delete-all')",
        "DELETE FROM search WHERE rowid = (SELECT version_id FROM head WHERE key = 'leak')",
        "INSERT INTO search(rowid, terms) VALUES (100000, 'more')",
    ] {
        let place = everything();
        place.sql().execute_batch(change).expect(change);
        let fix = one_problem(&place.start(), "integrity", &[]);
        assert!(fix.contains("doctor --rebuild-index"), "{change}: {fix}");
        let ran = place.run(&["doctor", "--rebuild-index"]);
        assert_eq!(ran.code, Some(0), "{change}: {ran:?}");
        look(&place.start(), 0);
        assert_eq!(place.agent("x").found(json!({"query": "took its place"})), ["app/leak"]);
        intact(&place);
    }
}

#[test]
fn u04_an_index_in_ruins_is_rebuilt() {
    for change in [
        "DELETE FROM search_data",
        "UPDATE search_data SET block = x'00'",
        "DELETE FROM search_data WHERE id = 10",
        "DELETE FROM search_docsize",
        "DELETE FROM search_idx",
        "UPDATE search_data SET block = zeroblob(40) WHERE id > 10",
    ] {
        let place = everything();
        place.sql().execute_batch(change).expect(change);
        let before = place.run(&["doctor"]);
        plain(&before);
        let ran = place.run(&["doctor", "--rebuild-index"]);
        assert_eq!(ran.code, Some(0), "{change}: {before:?}, then {ran:?}");
        assert_eq!(
            place.agent("x").found(json!({"query": "took its place"})),
            ["app/leak"],
            "{change}"
        );
        intact(&place);
    }
}

#[test]
fn u04_a_damaged_index_is_not_answered_with_a_backup() {
    let place = everything();
    place
        .sql()
        .execute_batch("UPDATE search_data SET block = zeroblob(40) WHERE id > 10")
        .expect("damage");
    let answer = look(&place.start(), 1);
    for (what, fix) in problems(&answer, "integrity") {
        assert!(fix.contains("doctor --rebuild-index"), "{what}: {fix}");
    }
}

#[test]
fn u04_a_large_log_is_told_with_who_may_hold_it() {
    let place = everything();
    let mut scout = place.agent("scout");
    // A process that keeps a read open, and a log that was left behind by it.
    let sql = place.sql();
    sql.execute_batch("BEGIN; SELECT count(*) FROM ledger").expect("a read");
    scout.remember("s", "k", json!(1));
    let wal = std::fs::OpenOptions::new()
        .write(true)
        .open(beside(&place.db(), "-wal"))
        .expect("the log");
    let whole = wal.metadata().expect("its size").len();
    wal.set_len(200 << 20).expect("a sparse file");
    let fix = one_problem(&place.start(), "log", &["209715200 bytes", "keeps a read open"]);
    assert!(fix.contains("end the process"), "{fix}");
    wal.set_len(whole).expect("as it was");
    sql.execute_batch("ROLLBACK").expect("the read ends");
    look(&place.start(), 0);
    scout.finish();
    intact(&place);
}

#[test]
fn u04_files_that_others_may_read_are_told_and_the_fix_works() {
    let place = everything();
    chmod(&place.db(), 0o644);
    let answer = look(&place.start(), 1);
    assert!(problems(&answer, "modes")[0].0.contains("644"), "{answer}");
    // An empty log takes its mode from the database.
    problems(&answer, "modes").iter().for_each(|(_, fix)| shell(fix));
    look(&place.start(), 0);
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!(1));
    // A read that is under way keeps the log from being emptied.
    let sql = place.sql();
    sql.execute_batch("BEGIN; SELECT count(*) FROM ledger").expect("a read");
    scout.remember("s", "k", json!(2));
    for (end, mode) in [("-wal", 0o604), ("-shm", 0o660)] {
        let file = beside(&place.db(), end);
        chmod(&file, mode);
        let fix = one_problem(&place.start(), "modes", &[text(&file), &format!("{mode:o}")]);
        shell(&fix);
        look(&place.start(), 0);
    }
    sql.execute_batch("ROLLBACK").expect("the read ends");
    scout.finish();
}

#[test]
fn u04_a_folder_that_others_may_write_is_told_and_the_fix_works() {
    let place = everything();
    for mode in [0o777, 0o770, 0o702] {
        chmod(place.path(), mode);
        let fix = one_problem(&place.start(), "modes", &[text(place.path()), &format!("{mode:o}")]);
        shell(&fix);
        look(&place.start(), 0);
    }
    // As the system's folder for temporary files is: nobody can take another's file away there.
    chmod(place.path(), 0o1777);
    look(&place.start(), 0);
    chmod(place.path(), 0o755);
    look(&place.start(), 0);
}

/// A folder for PATH with a program of our name that is this script.
fn on_path(place: &Place, name: &str, script: &str) -> PathBuf {
    let folder = place.path().join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let program = folder.join("handoff-memory");
    std::fs::write(&program, script).expect("a script");
    chmod(&program, 0o755);
    folder
}

#[test]
fn i06_another_version_on_the_path_is_told() {
    let place = everything();
    let old = on_path(&place, "old", "#!/bin/sh\necho handoff-memory 0.0.1\n");
    let start = place.start().env("PATH", format!("/usr/bin:/bin:{}", text(&old)));
    let ours = env!("CARGO_PKG_VERSION");
    let fix = one_problem(&start, "program", &[text(&old.join("handoff-memory")), "0.0.1", ours]);
    assert!(fix.contains("remove"), "{fix}");
    // The same version elsewhere, this very program, and a link to it are in order.
    let same = on_path(&place, "same", &format!("#!/bin/sh\necho handoff-memory {ours}\n"));
    let linked = place.path().join("linked");
    std::fs::create_dir(&linked).expect("a folder");
    std::os::unix::fs::symlink(BINARY, linked.join("handoff-memory")).expect("a link");
    let own = Path::new(BINARY).parent().expect("its folder");
    let path = [&same, &linked, own, Path::new("/no/such/folder")].map(text).join(":");
    look(&place.start().env("PATH", &path), 0);
    look(&place.start().without("PATH"), 0);
}

#[test]
fn i06_a_program_that_does_not_answer_is_told_and_not_waited_for() {
    let place = everything();
    let scripts = [
        "#!/bin/sh\nexec sleep 600\n",
        "#!/bin/sh\nexit 3\n",
        "#!/bin/sh\necho something else 1.0\n",
        "#!/bin/sh\nhead -c 3000000 /dev/zero\n",
        "\u{7f}ELF no program",
    ];
    for (n, script) in scripts.into_iter().enumerate() {
        let folder = on_path(&place, &format!("odd{n}"), script);
        let start = place.start().env("PATH", format!("{}:/usr/bin:/bin", text(&folder)));
        one_problem(&start, "program", &["did not tell its version"]);
    }
    let hostile = on_path(
        &place,
        "hostile",
        "#!/bin/sh\nprintf 'handoff-memory \\033[31m0.0.1\\n'\n",
    );
    let ran = place.start().env("PATH", text(&hostile)).arg("doctor").run();
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!ran.stdout.contains('\u{1b}'), "{ran:?}");
}

#[test]
fn i06_the_version_the_program_and_the_schema_are_told_everywhere() {
    let place = everything();
    let mut server = place.start().agent("scout").spawn();
    let greeting = server.initialize(LEGACY);
    let ours = env!("CARGO_PKG_VERSION");
    assert_eq!(greeting["serverInfo"]["version"], ours);
    let store = server.stats()["store"].clone();
    let binary = std::fs::canonicalize(BINARY).expect("the program");
    let told = std::fs::canonicalize(store["binary"].as_str().expect("a path")).expect("the program");
    assert_eq!((&store["version"], told), (&json!(ours), binary.clone()));
    server.finish();
    let answer = look(&place.start(), 0);
    let checks = answer["checks"].as_array().expect("checks");
    let what = |name: &str| checks.iter().find(|check| check["name"] == name).expect(name)["what"].to_string();
    assert!(
        what("program").contains(ours) && what("program").contains(text(&binary)),
        "{answer}"
    );
    assert!(what("schema").contains(&store["schema"].to_string()), "{answer}");
    assert!(
        what("SQLite").contains(store["sqlite"].as_str().expect("a version")),
        "{answer}"
    );
}

#[test]
fn u04_a_setting_that_nearly_has_a_name_is_told() {
    let place = everything();
    for name in ["MEMORY_FILE", "HANDOFF_MEMORY_DB", "AGENT_IDS", "MEMORY_TTL"] {
        let fix = one_problem(&place.start().env(name, "x"), "settings", &[name, "did you mean"]);
        assert!(!fix.is_empty());
    }
}

#[test]
fn u04_a_disk_that_is_nearly_full_is_told() {
    let place = everything();
    let Some(small) = Small::mount(&place.path().join("small"), "1m") else {
        return;
    };
    chmod(&small.at, 0o700);
    let db = small.at.join("memory.db");
    std::fs::copy(place.db(), &db).expect("it fits");
    let start = place.start().env("MEMORY_DB", &db);
    one_problem(&start, "space", &["full"]);
    small.remount("size=12m");
    look(&start, 0);
}

#[test]
fn u04_several_problems_are_all_told() {
    let place = everything();
    place
        .sql()
        .execute_batch("INSERT INTO search(search) VALUES ('delete-all')")
        .expect("an empty index");
    chmod(&place.db(), 0o644);
    chmod(place.path(), 0o777);
    let old = on_path(&place, "old", "#!/bin/sh\necho handoff-memory 0.0.1\n");
    let start = place.start().env("PATH", text(&old)).env("MEMORY_FILE", "x");
    let answer = look(&start, 1);
    let count = |name: &str| problems(&answer, name).len();
    assert_eq!(
        (count("integrity"), count("modes"), count("program"), count("settings")),
        (1, 2, 1, 1),
        "{answer}"
    );
    let ran = start.arg("doctor").run();
    assert_eq!(ran.stdout.matches('→').count(), 5, "{ran:?}");
    assert!(ran.stdout.contains("5 to look at"), "{ran:?}");
}

#[test]
fn u04_what_is_stored_cannot_turn_the_terminal() {
    let place = Place::new();
    let name = "evil \u{202e}agent\u{200b}";
    let start = place.start().agent(name).env("MEMORY_PROJECT", name);
    start.serve().remember("s\u{202e}", "k", json!(1));
    place
        .sql()
        .execute_batch("UPDATE opinion SET successes = 7")
        .expect("a fault that is named");
    let ran = place.run(&["doctor"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stdout.contains("\\u{202e}"), "{ran:?}");
    assert!(!ran.stdout.contains(['\u{202e}', '\u{200b}']), "{ran:?}");
}
