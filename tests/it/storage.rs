//! What can happen to the file and its folder: paths, modes, full and read-only disks, replaced, damaged, newer and
//! foreign files. Each is one clear error, and whatever was acknowledged stays.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, geteuid, prlimit};
use serde_json::{Value, json};

use crate::handoffs::until;
use crate::harness::{LEGACY, Place, Refusal, Server, open_sql, warned};

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("a path in Unicode")
}

/// The path beside `path` whose name ends like this.
pub fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// The bits that say who may use a file.
pub fn mode(path: &Path) -> u32 {
    let meta = std::fs::metadata(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    meta.permissions().mode() & 0o7777
}

/// A file's size in bytes; 0 where there is none.
pub fn size(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |meta| meta.len())
}

/// The names in a folder, sorted.
pub fn listed(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn write(key: &str, value: Value) -> Value {
    json!({"scope": "s", "key": key, "value": value})
}

/// Whether this user may mount file systems.
pub fn as_root() -> bool {
    geteuid().is_root()
}

/// Asserts that a refusal names the file.
#[track_caller]
fn names_file(refusal: &Refusal, path: &Path) {
    assert!(refusal.text().contains(text(path)), "{} in {refusal:?}", path.display());
    assert!(!refusal.hint.is_empty(), "no next step: {refusal:?}");
}

/// A small file system in memory, gone with the value. None when this user may not mount one.
pub struct Small {
    /// Where it is mounted.
    pub at: PathBuf,
}

impl Small {
    pub fn mount(at: &Path, size: &str) -> Option<Self> {
        if !as_root() {
            return None;
        }
        std::fs::create_dir_all(at).expect("a folder");
        let options = format!("size={size},mode=0777");
        let done = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "tmpfs", text(at)])
            .status();
        done.is_ok_and(|status| status.success())
            .then(|| Self { at: at.to_owned() })
    }

    pub fn remount(&self, option: &str) {
        let status = Command::new("mount")
            .args(["-o", &format!("remount,{option}"), text(&self.at)])
            .status()
            .expect("mount");
        assert!(status.success(), "remount {option}");
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").args(["-l", text(&self.at)]).status();
    }
}

#[test]
fn s01_a_path_is_expanded_made_and_told() {
    let place = Place::new();
    let home = place.home();
    let default = place.path().join("data").join("handoff-memory").join("memory.db");
    let cases = [
        ("./mem.db", place.work().join("mem.db"), "MEMORY_DB"),
        ("rel/deep/mem.db", place.work().join("rel/deep/mem.db"), "MEMORY_DB"),
        ("~/m/mem.db", home.join("m/mem.db"), "MEMORY_DB"),
        ("${HOME}/x/mem.db", home.join("x/mem.db"), "MEMORY_DB"),
        ("", default.clone(), "default"),
        ("   ", default, "default"),
    ];
    for (given, expected, from) in cases {
        let mut server = place.start().agent("scout").env("MEMORY_DB", given).serve();
        assert!(!expected.exists() || from == "default", "connecting makes nothing");
        server.remember("s", "k", json!(given));
        let store = server.stats()["store"].clone();
        let told = PathBuf::from(store["path"].as_str().expect("a path"));
        assert!(told.is_absolute(), "{given:?}: {store}");
        assert_eq!(
            std::fs::canonicalize(&told).expect("the file"),
            std::fs::canonicalize(&expected).expect("the file"),
            "{given:?}"
        );
        assert_eq!(store["path_from"], from, "{given:?}");
        if given.starts_with("./") || given.starts_with("rel") {
            server.hear(text(&place.work()));
        }
        server.finish();
    }
    assert_eq!(
        listed(&place.work()),
        ["mem.db", "rel"],
        "no folder named `~` or `${{HOME}}`"
    );
    assert!(listed(&place.home()).iter().all(|name| name == "m" || name == "x"));
}

#[test]
fn s01_a_relative_path_starts_at_the_working_directory_and_an_unknown_variable_is_refused() {
    let place = Place::new();
    if as_root() {
        // A client that starts its servers in `/`.
        let name = format!("handoff-memory-it-{}.db", std::process::id());
        let at = Path::new("/").join(&name);
        let start = place
            .start()
            .agent("scout")
            .cwd("/")
            .env("MEMORY_DB", format!("./{name}"));
        let mut server = start.serve();
        server.remember("s", "k", json!(1));
        assert!(at.exists());
        server.finish();
        for end in ["", "-wal", "-shm"] {
            let _ = std::fs::remove_file(beside(&at, end));
        }
    }
    let ran = place.start().env("MEMORY_DB", "${NOWHERE}/x.db").arg("verify").run();
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("MEMORY_DB"), "{ran:?}");
    assert_eq!(listed(&place.work()), [""; 0]);
    let ran = place.start().env("MEMORY_DB", place.work()).arg("verify").run();
    assert!(ran.code == Some(2) && ran.stderr.contains("folder"), "{ran:?}");
}

#[test]
fn s02_a_near_miss_name_is_warned_about_and_the_path_is_told() {
    let place = Place::new();
    let wrong = place.path().join("wrong.db");
    for name in ["MEMORY_FILE", "MEMORY_DB_PATH", "HANDOFF_MEMORY_DB", "memory_db"] {
        let start = place.start().agent("scout").without("MEMORY_DB").env(name, &wrong);
        let mut server = start.serve();
        server.hear(name);
        server.hear("MEMORY_DB");
        let stats = server.stats();
        assert_eq!(stats["store"]["path_from"], "default");
        assert!(warned(&stats, &[name, "MEMORY_DB"]), "{name}: {stats}");
    }
    assert!(!wrong.exists());
    let flag = place.path().join("flag.db");
    let mut server = place.start().agent("scout").args(&["--db", text(&flag)]).serve();
    let store = server.stats()["store"].clone();
    assert_eq!(
        (&store["path"], &store["path_from"]),
        (&json!(text(&flag)), &json!("--db"))
    );
    assert_eq!(place.agent("scout").stats()["store"]["path_from"], "MEMORY_DB");
}

#[test]
fn s05_what_is_answered_is_what_another_process_reads() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 1..=20 {
        let record = scout.remember("s", "k", json!({"n": n}));
        assert_eq!(record["version"], n);
        let (version, hash, body): (i64, String, String) = place
            .sql()
            .query_row(
                "SELECT v.version, v.hash, c.body FROM head h JOIN version v ON v.id = h.version_id \
                 JOIN content c ON c.id = v.content_id WHERE h.key = 'k'",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
            )
            .expect("the committed row");
        assert_eq!(
            (json!(version), json!(hash)),
            (record["version"].clone(), record["hash"].clone())
        );
        assert_eq!(body, format!("{{\"n\":{n}}}"));
    }
    assert_eq!(place.agent("codex").read("s", "k")["version"], 20);
}

/// Writes until the disk stays full; gives how many records were acknowledged. A refusal may make some room, since the
/// log can be emptied then, so that the first one is not yet the end.
#[track_caller]
fn fill(server: &mut Server, db: &Path) -> usize {
    let (mut written, mut refused) = (0, 0);
    for n in 0..2_000 {
        let big = json!("x".repeat(15_000));
        match server.attempt("remember", write(&format!("fill{n}"), big)) {
            Ok(_) => (written, refused) = (written + 1, 0),
            Err(refusal) => {
                assert_eq!(refusal.code, "disk_full", "after {written} records: {refusal:?}");
                names_file(&refusal, db);
                refused += 1;
            }
        }
        if refused == 6 {
            return written;
        }
    }
    panic!("the disk never got full");
}

/// What must hold on a full disk and after: reads go on, nothing is there in part, and writes go on once `free` made
/// room, in the same process.
#[track_caller]
fn lives_on(server: &mut Server, db: &Path, written: usize, free: impl FnOnce()) {
    assert!(written > 3, "only {written} records fitted");
    for tool in ["remember", "handoff"] {
        let big = "y".repeat(15_000);
        let arguments = json!({"scope": "s", "key": "full", "value": big, "title": "full", "summary": big});
        let refusal = server.refuse(tool, arguments, "disk_full");
        names_file(&refusal, db);
    }
    assert_eq!(server.read("s", "fill0")["version"], 1);
    assert_eq!(
        server.call("recall", json!({"scope": "s", "limit": 1}))["total"],
        json!(written)
    );
    let stats = server.call("memory_stats", json!({"verify": true}));
    assert_eq!(
        (&stats["records"], &stats["verify"]["ok"]),
        (&json!(written), &json!(true))
    );
    free();
    assert_eq!(server.remember("s", "after", json!(1))["version"], 1);
    assert_eq!(server.remember("s", "fill0", json!(2))["version"], 2);
    let stats = server.call("memory_stats", json!({"verify": true}));
    assert_eq!(
        (&stats["records"], &stats["handoffs"]["open"], &stats["verify"]["ok"]),
        (&json!(written + 1), &json!(0), &json!(true))
    );
}

#[test]
fn s07_a_full_disk_refuses_writes_keeps_everything_and_goes_on() {
    let place = Place::new();
    let Some(small) = Small::mount(&place.path().join("small"), "3m") else {
        return;
    };
    let ballast = small.at.join("ballast");
    std::fs::write(&ballast, vec![0; 1_500_000]).expect("it fits");
    let db = small.at.join("memory.db");
    let start = place.start().env("MEMORY_DB", &db);
    let mut scout = start.clone().agent("scout").serve();
    let written = fill(&mut scout, &db);
    lives_on(&mut scout, &db, written, || {
        std::fs::remove_file(&ballast).expect("the ballast");
    });
    // One that opens the file only when the disk is full reads, too.
    let written = written + 1 + fill_again(&mut scout);
    let mut late = start.clone().agent("late").serve();
    assert_eq!(late.stats()["records"], json!(written));
    small.remount("size=12m");
    assert_eq!(late.remember("s", "late", json!(1))["version"], 1);
    scout.finish();
    late.finish();
    let ran = start.arg("verify").run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

/// Fills the disk once more, under other keys.
#[track_caller]
fn fill_again(server: &mut Server) -> usize {
    for n in 0..2_000 {
        if let Err(refusal) = server.attempt("remember", write(&format!("more{n}"), json!("x".repeat(20_000)))) {
            assert_eq!(refusal.code, "disk_full", "{refusal:?}");
            return n;
        }
    }
    panic!("the disk never got full");
}

#[test]
fn s07_a_file_size_limit_is_a_full_disk_too() {
    let place = Place::new();
    let start = place.start().agent("scout");
    // 1024 blocks of 512 bytes; only the soft limit, so that it can be raised again. A write beyond it fails where
    // the signal for it is ignored.
    let limited = start.through(&["sh", "-c", "trap '' XFSZ; ulimit -S -f 1024; exec \"$@\"", "sh"]);
    let mut scout = limited.serve();
    let written = fill(&mut scout, &place.db());
    let pid = scout.pid();
    lives_on(&mut scout, &place.db(), written, || {
        let unlimited = Rlimit {
            current: None,
            maximum: None,
        };
        prlimit(Some(pid), Resource::Fsize, unlimited).expect("the limit is raised");
    });
    scout.finish();
    place.verify_clean();
}

#[test]
fn s07_a_file_size_limit_does_not_end_the_process() {
    let place = Place::new();
    let start = place.start().agent("scout");
    let mut scout = start
        .through(&["sh", "-c", "ulimit -S -f 1024; exec \"$@\"", "sh"])
        .serve();
    for n in 0..200 {
        let request = scout.send_call("remember", write(&format!("k{n}"), json!("x".repeat(20_000))));
        let Some(reply) = scout.reply_or_end(request) else {
            panic!("the process ended at record {n}, beyond its limit on file sizes");
        };
        if reply["result"]["isError"] == true {
            return;
        }
    }
    panic!("the limit was never reached");
}

#[test]
fn s08_a_place_without_shared_memory_is_one_plain_error() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!(1));
    scout.finish();
    // Where the shared memory of the log should be, there is a folder: opening it fails, whatever is tried.
    let shm = beside(&place.db(), "-shm");
    let _ = std::fs::remove_file(&shm);
    std::fs::create_dir(&shm).expect("a folder in the way");
    let before = std::fs::read(place.db()).expect("the file");
    let mut codex = place.agent("codex");
    let started = Instant::now();
    let refusal = codex
        .attempt("remember", write("k", json!(2)))
        .expect_err("it cannot be used");
    assert!(started.elapsed() < Duration::from_secs(25), "the retry is bounded");
    names_file(&refusal, &place.db());
    assert_ne!(refusal.code, "internal", "{refusal:?}");
    if let Ok(answer) = codex.attempt("recall", json!({"scope": "s", "key": "k"})) {
        assert_eq!(answer["records"][0]["value"], 1);
    }
    assert_eq!(std::fs::read(place.db()).expect("the file"), before);
    codex.finish();
    std::fs::remove_dir(&shm).expect("out of the way");
    assert_eq!(place.agent("codex").remember("s", "k", json!(2))["version"], 2);
    place.verify_clean();
}

#[test]
fn s08_what_was_read_only_is_written_again_without_a_restart() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!(1));
    scout.finish();
    let shm = beside(&place.db(), "-shm");
    std::fs::create_dir(&shm).expect("a folder in the way");
    let mut codex = place.agent("codex");
    codex
        .attempt("remember", write("k", json!(2)))
        .expect_err("it cannot be written");
    let _ = codex.attempt("recall", json!({"scope": "s", "key": "k"}));
    std::fs::remove_dir(&shm).expect("out of the way");
    assert_eq!(codex.remember("s", "k", json!(2))["version"], 2);
    place.verify_clean();
}

#[test]
fn s10_idle_readers_do_not_let_the_log_grow() {
    let place = Place::new();
    let mut writer = place.start().agent("writer").env("MEMORY_DURABILITY", "normal").serve();
    writer.remember("s", "k0", json!(0));
    let mut readers: Vec<Server> = (0..8).map(|n| place.agent(&format!("reader-{n}"))).collect();
    for reader in &mut readers {
        reader.read("s", "k0");
        reader.found(json!({"query": "0"}));
    }
    let wal = beside(&place.db(), "-wal");
    let mut most = 0;
    for round in 0..20 {
        let sent: Vec<u64> = (0..200)
            .map(|n| {
                let value = json!({"round": round, "text": "x".repeat(500)});
                writer.send_call("remember", write(&format!("k{n}"), value))
            })
            .collect();
        for request in sent {
            writer.answer(request);
        }
        most = most.max(size(&wal));
    }
    assert!(most < 8 * 1024 * 1024, "the log reached {most} bytes");
    let stats = writer.stats();
    assert!(stats["store"]["wal_bytes"].is_u64(), "{stats}");
    // At rest it is emptied, though eight processes have the file open.
    until("an empty log", || (size(&wal) == 0).then_some(()));
    for reader in &mut readers {
        assert_eq!(reader.read("s", "k0")["value"]["round"], 19);
    }
    place.verify_clean();
}

#[test]
fn s11_the_sqlite_inside_has_the_fix_of_the_log_reset() {
    let place = Place::new();
    let stats = place.agent("scout").stats();
    let told = stats["store"]["sqlite"].as_str().expect("a version").to_owned();
    let version: Vec<u32> = told.split('.').map(|part| part.parse().expect("a number")).collect();
    assert!(version >= vec![3, 51, 3], "SQLite {told}");
}

#[test]
fn s13_a_file_that_took_the_place_is_one_conflict_and_then_used() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "old", json!("before"));
    // A backup: the file as it was, closed.
    let backup = place.path().join("backup.db");
    {
        let sql = place.sql();
        sql.execute("VACUUM INTO ?1", [text(&backup)]).expect("a copy");
    }
    scout.remember("s", "lost", json!("with the file that is replaced"));
    std::fs::rename(&backup, place.db()).expect("mv backup.db memory.db");
    let refusal = scout.refuse("remember", write("new", json!(1)), "conflict");
    names_file(&refusal, &place.db());
    // From here on it is the file that is there.
    let record = scout.remember("s", "new", json!(1));
    assert_eq!(record["version"], 1);
    let mut fresh = place.agent("codex");
    assert_eq!(fresh.read("s", "new")["hash"], record["hash"]);
    assert_eq!(fresh.read("s", "old")["value"], "before");
    assert_eq!(scout.read("s", "old")["value"], "before");
    scout.finish();
    fresh.finish();
    place.verify_clean();
}

#[test]
fn s13_a_removed_file_is_one_conflict_and_then_made_anew() {
    for all in [true, false] {
        let place = Place::new();
        let mut scout = place.agent("scout");
        scout.remember("s", "k", json!(1));
        std::fs::remove_file(place.db()).expect("rm memory.db");
        if all {
            for end in ["-wal", "-shm"] {
                let _ = std::fs::remove_file(beside(&place.db(), end));
            }
        }
        let refusal = scout.refuse("remember", write("k", json!(2)), "conflict");
        names_file(&refusal, &place.db());
        let record = scout.remember("s", "k", json!(2));
        assert_eq!(record["version"], 1, "a new store: {record}");
        assert_eq!(scout.stats()["created"], true);
        assert_eq!(place.agent("codex").read("s", "k")["hash"], record["hash"]);
        scout.finish();
        place.verify_clean();
    }
}

#[test]
fn s13_a_read_never_answers_from_a_file_that_is_gone() {
    let place = Place::new();
    let other = Place::new();
    let mut there = other.agent("scout");
    there.remember("s", "k", json!("the other"));
    there.finish();
    let mut scout = place.agent("scout");
    scout.remember("s", "k", json!("the first"));
    assert_eq!(scout.read("s", "k")["value"], "the first");
    for end in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(&place.db(), end));
    }
    std::fs::copy(other.db(), place.path().join("new.db")).expect("a copy");
    std::fs::rename(place.path().join("new.db"), place.db()).expect("mv");
    match scout.attempt("recall", json!({"scope": "s", "key": "k"})) {
        Ok(answer) => assert_eq!(answer["records"][0]["value"], "the other"),
        Err(refusal) => assert_eq!(refusal.code, "conflict", "{refusal:?}"),
    }
    std::fs::remove_file(place.db()).expect("rm");
    assert_eq!(scout.call("recall", json!({"scope": "s", "key": "k"}))["total"], 0);
    assert!(!place.db().exists(), "a read makes no file");
}

/// Asserts that every tool is refused as `newer_schema` with both numbers, and that nothing is written.
#[track_caller]
fn newer(server: &mut Server, place: &Place) {
    let ledger = place.count("SELECT count(*) FROM ledger");
    for (tool, arguments) in [
        ("remember", write("k", json!(2))),
        ("recall", json!({"scope": "s", "key": "k"})),
        ("history", json!({"scope": "s", "key": "k"})),
        ("handoff", json!({"title": "t", "summary": "s"})),
        ("resume", json!({})),
        (
            "record_outcome",
            json!({"outcome": "success", "outcome_ref": "r", "refs": [{"scope": "s", "key": "k"}]}),
        ),
        ("memory_stats", json!({})),
    ] {
        let refusal = server.refuse(tool, arguments, "newer_schema");
        names_file(&refusal, &place.db());
        assert!(
            refusal.text().contains("999") && refusal.text().contains("upgrade"),
            "{refusal:?}"
        );
    }
    assert_eq!(place.count("SELECT count(*) FROM ledger"), ledger);
    assert_eq!(place.count("PRAGMA user_version"), 999);
}

#[test]
fn s14_a_newer_schema_is_refused_and_nothing_written() {
    let place = Place::new();
    let mut running = place.agent("scout");
    running.remember("s", "k", json!(1));
    running.read("s", "k");
    let schema = place.count("PRAGMA user_version");
    // Raised under a server that has the file open for both reading and writing.
    place.sql().pragma_update(None, "user_version", 999).expect("raised");
    newer(&mut running, &place);
    let mut fresh = place.start().agent("codex").spawn();
    let greeting = fresh.initialize(LEGACY);
    assert_eq!(greeting["serverInfo"]["name"], "handoff-memory");
    assert_eq!(
        fresh.result("tools/list", json!({}))["tools"].as_array().map(Vec::len),
        Some(7)
    );
    newer(&mut fresh, &place);
    for args in [["verify"], ["checkpoint"]] {
        let ran = place.run(&args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("999"), "{ran:?}");
    }
    // Brought back, it is used again without a restart.
    place
        .sql()
        .pragma_update(None, "user_version", schema)
        .expect("lowered");
    assert_eq!(running.remember("s", "k", json!(2))["version"], 2);
    assert_eq!(fresh.read("s", "k")["version"], 2);
    place.verify_clean();
}

/// Asserts that reads, writes and `verify` refuse the file as `corrupt`, end soon, and leave every byte of it.
#[track_caller]
fn unusable(place: &Place, words: &[&str]) {
    let before = std::fs::read(place.db()).expect("the file");
    let mut scout = place.agent("scout");
    for (tool, arguments) in [
        ("remember", write("k", json!(2))),
        ("recall", json!({"scope": "s", "key": "k"})),
        ("memory_stats", json!({})),
        ("handoff", json!({"title": "t", "summary": "s"})),
    ] {
        let started = Instant::now();
        let refusal = scout.refuse(tool, arguments, "corrupt");
        assert!(started.elapsed() < Duration::from_secs(3), "{tool}: no loop");
        names_file(&refusal, &place.db());
        for word in words {
            assert!(refusal.text().contains(word), "{word} in {refusal:?}");
        }
    }
    scout.finish();
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains(text(&place.db())), "{ran:?}");
    assert!(
        std::fs::read(place.db()).expect("the file") == before,
        "the file was changed"
    );
}

#[test]
fn s16_a_text_file_is_not_a_database_and_stays() {
    let place = Place::new();
    std::fs::write(place.db(), "my notes\n".repeat(1_000)).expect("a text file");
    unusable(&place, &["not a database"]);
    std::fs::write(place.db(), "short").expect("a text file");
    unusable(&place, &["not a database"]);
    assert_eq!(listed(place.path()), ["data", "home", "memory.db", "work"]);
}

#[test]
fn s16_another_programs_database_is_left_alone() {
    let place = Place::new();
    let sql = open_sql(&place.db());
    sql.execute_batch(
        "CREATE TABLE note (id INTEGER PRIMARY KEY, body TEXT); INSERT INTO note (body) VALUES ('mine');",
    )
    .expect("a database");
    drop(sql);
    unusable(&place, &["another program"]);
    let sql = open_sql(&place.db());
    sql.pragma_update(None, "user_version", 3).expect("a number");
    drop(sql);
    unusable(&place, &["another program"]);
    assert_eq!(place.count("SELECT count(*) FROM note"), 1);
    let mode: String = place
        .sql()
        .query_row("PRAGMA journal_mode", [], |row| row.get(0))
        .expect("a mode");
    assert_eq!(mode, "delete", "not even its journal mode was changed");
}

#[test]
fn s16_an_empty_file_is_a_new_store_and_announced() {
    let place = Place::new();
    std::fs::write(place.db(), "").expect("an empty file");
    let mut scout = place.agent("scout");
    assert_eq!(scout.call("recall", json!({"scope": "s", "key": "k"}))["total"], 0);
    assert_eq!(scout.stats()["created"], false);
    assert_eq!(size(&place.db()), 0, "a read makes nothing");
    assert_eq!(place.run(&["verify"]).code, Some(2));
    assert_eq!(scout.remember("s", "k", json!(1))["version"], 1);
    assert_eq!(scout.stats()["created"], true);
    scout.hear("created");
    scout.hear(text(&place.db()));
    place.verify_clean();
}

#[test]
fn s16_garbage_in_the_middle_is_found_and_nothing_rebuilt() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..200 {
        scout.remember("s", &format!("k{n}"), json!("x".repeat(400)));
    }
    scout.finish();
    let mut bytes = std::fs::read(place.db()).expect("the file");
    let middle = bytes.len() / 8192 * 4096;
    let mut noise = 7_u32;
    for byte in &mut bytes[middle..middle + 4096] {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *byte = (noise >> 24) as u8;
    }
    std::fs::write(place.db(), &bytes).expect("the damaged file");
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mut scout = place.agent("scout");
    let mut refused = 0;
    for n in 0..200 {
        match scout.attempt("recall", json!({"scope": "s", "key": format!("k{n}")})) {
            Ok(answer) => assert!(
                answer["total"] == 0 || answer["records"][0]["value"] == "x".repeat(400),
                "k{n}: something else: {answer}"
            ),
            Err(refusal) => {
                assert_eq!(refusal.code, "corrupt", "k{n}: {refusal:?}");
                names_file(&refusal, &place.db());
                refused += 1;
            }
        }
    }
    assert!(refused > 0 || ran.stdout.len() > 10, "{ran:?}");
    let verify = scout.attempt("memory_stats", json!({"verify": true}));
    match verify {
        Ok(stats) => assert_eq!(stats["verify"]["ok"], false, "{stats}"),
        Err(refusal) => assert_eq!(refusal.code, "corrupt", "{refusal:?}"),
    }
    scout.finish();
    assert!(
        std::fs::read(place.db()).expect("the file") == bytes,
        "reads changed the file"
    );
}

#[test]
fn s16_a_log_cut_short_gives_a_whole_earlier_state() {
    let place = Place::new();
    let wal = beside(&place.db(), "-wal");
    let mut scout = place.agent("scout");
    scout.remember("s", "base", json!(0));
    // Rested: what was written so far is in the file itself.
    until("an empty log", || (size(&wal) == 0).then_some(()));
    for n in 0..10 {
        scout.remember("s", &format!("k{n}"), json!(n));
    }
    scout.kill();
    let whole = size(&wal);
    assert!(whole > 10_000, "{whole} bytes in the log");
    let log = std::fs::OpenOptions::new().write(true).open(&wal).expect("the log");
    log.set_len(whole * 6 / 10 + 17).expect("cut");
    drop(log);
    let mut codex = place.agent("codex");
    assert_eq!(codex.read("s", "base")["value"], 0);
    let left = codex.call("recall", json!({"scope": "s"}))["total"]
        .as_i64()
        .expect("a count");
    assert!((2..=10).contains(&left), "{left} records");
    for n in 0..left - 1 {
        assert_eq!(codex.read("s", &format!("k{n}"))["value"], n, "the oldest are kept");
    }
    assert_eq!(codex.remember("s", "after", json!(1))["version"], 1);
    codex.finish();
    place.verify_clean();
}

#[test]
fn s17_a_synced_folder_gets_one_warning() {
    let place = Place::new();
    for folder in ["Dropbox", "OneDrive - Work", "iCloud"] {
        let db = place.home().join(folder).join("mem.db");
        let mut server = place.start().agent("scout").env("MEMORY_DB", &db).serve();
        server.remember("s", "k", json!(1));
        server.hear("copies between machines");
        assert_eq!(server.stderr().matches("copies between machines").count(), 1);
        assert!(warned(&server.stats(), &["copies between machines"]));
    }
    std::fs::write(place.path().join("memory.sync-conflict-20261201.db"), "").expect("a conflict");
    let server = place.agent("scout");
    server.hear("sync conflict");
}

#[test]
fn s19_a_new_store_is_announced_and_a_read_makes_none() {
    let place = Place::new();
    let typo = place.path().join("no").join("such").join("memroy.db");
    let mut scout = place.start().agent("scout").env("MEMORY_DB", &typo).serve();
    scout.result("tools/list", json!({}));
    assert_eq!(scout.call("recall", json!({"query": "anything"}))["total"], 0);
    assert_eq!(scout.call("recall", json!({"scope": "s", "key": "k"}))["total"], 0);
    scout.refuse("history", json!({"scope": "s", "key": "k"}), "not_found");
    assert!(
        scout.call("resume", json!({"peek": true}))["packets"]
            .as_array()
            .is_some_and(Vec::is_empty)
    );
    let stats = scout.call("memory_stats", json!({"verify": true}));
    assert_eq!(
        (&stats["records"], &stats["created"], &stats["verify"]["ok"]),
        (&json!(0), &json!(false), &json!(true))
    );
    assert!(stats.get("checkpoint").is_none(), "{stats}");
    for args in [["verify"], ["checkpoint"]] {
        let ran = place.start().env("MEMORY_DB", &typo).args(&args).run();
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains(text(&typo)), "{ran:?}");
    }
    assert!(!place.path().join("no").exists(), "not even the folder");
    scout.remember("s", "k", json!(1));
    scout.hear("created");
    scout.hear(text(&typo));
    assert_eq!(scout.stats()["created"], true);
    let mut second = place.start().agent("codex").env("MEMORY_DB", &typo).serve();
    second.remember("s", "k", json!(2));
    assert_eq!(second.stats()["created"], false);
    assert!(!second.stderr().contains("created"), "{}", second.stderr());
}

#[test]
fn files_are_0600_and_a_folder_that_we_make_0700_whatever_the_umask() {
    for umask in ["000", "022", "077"] {
        let place = Place::new();
        let folder = place.path().join("a").join("b");
        let db = folder.join("memory.db");
        let script = format!("umask {umask}; exec \"$@\"");
        let start = place.start().agent("scout").env("MEMORY_DB", &db);
        let mut scout = start.through(&["sh", "-c", &script, "sh"]).serve();
        scout.remember("s", "k", json!(1));
        for path in [db.clone(), beside(&db, "-wal"), beside(&db, "-shm")] {
            assert_eq!(mode(&path), 0o600, "{} under umask {umask}", path.display());
        }
        assert_eq!(
            (mode(&folder), mode(&place.path().join("a"))),
            (0o700, 0o700),
            "umask {umask}"
        );
        scout.finish();
    }
    // A folder that was there keeps its mode.
    let place = Place::new();
    std::fs::set_permissions(place.work(), std::fs::Permissions::from_mode(0o755)).expect("a mode");
    let db = place.work().join("memory.db");
    place
        .start()
        .agent("scout")
        .env("MEMORY_DB", &db)
        .serve()
        .remember("s", "k", json!(1));
    assert_eq!((mode(&place.work()), mode(&db)), (0o755, 0o600));
}

#[test]
fn a_read_only_disk_is_one_clear_error_and_its_store_can_be_read_after_a_clean_end() {
    let place = Place::new();
    let Some(small) = Small::mount(&place.path().join("small"), "3m") else {
        return;
    };
    let db = small.at.join("memory.db");
    let start = place.start().agent("scout").env("MEMORY_DB", &db);
    let mut scout = start.serve();
    scout.remember("s", "k", json!("kept"));
    scout.finish();
    small.remount("ro");
    let mut scout = start.serve();
    let refusal = scout.refuse("remember", write("k", json!(2)), "read_only");
    names_file(&refusal, &db);
    match scout.attempt("recall", json!({"scope": "s", "key": "k"})) {
        Ok(answer) => assert_eq!(answer["records"][0]["value"], "kept"),
        Err(refusal) => {
            assert_eq!(refusal.code, "read_only", "{refusal:?}");
            names_file(&refusal, &db);
        }
    }
    let absent = small.at.join("new").join("memory.db");
    let mut other = place.start().agent("scout").env("MEMORY_DB", &absent).serve();
    assert_eq!(other.call("recall", json!({"scope": "s", "key": "k"}))["total"], 0);
    let refusal = other.refuse("remember", write("k", json!(1)), "read_only");
    names_file(&refusal, &absent);
    small.remount("rw");
    assert_eq!(scout.remember("s", "k", json!(2))["version"], 2);
    assert_eq!(other.remember("s", "k", json!(1))["version"], 1);
    scout.finish();
    assert_eq!(start.arg("verify").run().code, Some(0));
}

#[test]
fn a_folder_without_leave_to_write_is_one_clear_error() {
    let place = Place::new();
    let folder = place.path().join("closed");
    std::fs::create_dir(&folder).expect("a folder");
    let owner = place.start().agent("scout").env("MEMORY_DB", folder.join("memory.db"));
    let mut scout = owner.serve();
    scout.remember("s", "k", json!("kept"));
    scout.finish();
    let db = folder.join("memory.db");
    // Another user, who may look and nothing else; root would be let through.
    for path in [place.path(), &place.home(), &place.work(), &folder] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o555)).expect("a mode");
    }
    std::fs::set_permissions(&db, std::fs::Permissions::from_mode(0o444)).expect("a mode");
    let start = place.start().agent("scout");
    let start = if as_root() {
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let reaches = Command::new(nobody[0])
            .args(&nobody[1..])
            .args(["test", "-x", crate::harness::BINARY])
            .status();
        if !reaches.is_ok_and(|status| status.success()) {
            eprintln!("another user cannot reach the executable: nothing was tested");
            return;
        }
        start.through(&nobody)
    } else {
        start
    };
    let mut reader = start.clone().env("MEMORY_DB", &db).serve();
    let refusal = reader.refuse("remember", write("k", json!(2)), "read_only");
    names_file(&refusal, &db);
    if let Err(refusal) = reader.attempt("recall", json!({"scope": "s", "key": "k"})) {
        assert_eq!(refusal.code, "read_only", "{refusal:?}");
    }
    for absent in [folder.join("new.db"), folder.join("deep").join("new.db")] {
        let mut server = start.clone().env("MEMORY_DB", &absent).serve();
        assert_eq!(server.call("recall", json!({"scope": "s", "key": "k"}))["total"], 0);
        let refusal = server.refuse("remember", write("k", json!(1)), "read_only");
        names_file(&refusal, &absent);
    }
    std::fs::set_permissions(&db, std::fs::Permissions::from_mode(0o600)).expect("a mode");
    std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o700)).expect("a mode");
    std::fs::set_permissions(place.path(), std::fs::Permissions::from_mode(0o700)).expect("a mode");
    let mut scout = owner.serve();
    assert_eq!(scout.read("s", "k")["value"], "kept");
    assert_eq!(std::fs::metadata(&db).expect("the file").uid(), geteuid().as_raw());
}
