//! The file under the store: where it is, what a crash leaves, and what a broken or missing one says.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, Signal, getuid, prlimit};
use serde_json::{Value, json};

use crate::harness::{LEGACY, Place, Server, open_sql};

fn stats_path(server: &mut Server) -> (String, String) {
    let store = server.stats()["store"].clone();
    let text = |name: &str| store[name].as_str().unwrap_or_default().to_owned();
    (text("path"), text("path_from"))
}

/// The names of everything in a folder, sorted.
fn entries(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn s01_the_path_is_expanded_resolved_and_told() {
    let place = Place::new();
    let home = place.home();
    let cases = [
        ("~/m/mem.db", home.join("m/mem.db")),
        ("${HOME}/deep/er/x.db", home.join("deep/er/x.db")),
        ("./mem.db", place.work().join("mem.db")),
        ("sub/mem.db", place.work().join("sub/mem.db")),
        ("  ", place.path().join("data/handoff-memory/memory.db")),
    ];
    for (given, expected) in cases {
        let mut server = place.start().env("MEMORY_DB", given).agent("a").serve();
        server.remember("app", "key", json!(given));
        assert!(expected.is_file(), "{given}: nothing at {}", expected.display());
        let (told, from) = stats_path(&mut server);
        let told = fs::canonicalize(told).expect("a real path");
        assert_eq!(told, fs::canonicalize(&expected).expect("a real path"), "{given}");
        assert_eq!(
            from,
            if given.trim().is_empty() {
                "default"
            } else {
                "MEMORY_DB"
            }
        );
        if given.starts_with("./") {
            server.hear(&place.work().display().to_string());
        }
    }
    for folder in [place.work(), place.path().to_owned()] {
        assert!(
            !entries(&folder).iter().any(|name| name.contains(['~', '$'])),
            "{:?}",
            entries(&folder)
        );
    }

    let flag = home.join("flag.db");
    let mut server = place.start().arg("--db").arg(&flag).agent("a").serve();
    server.remember("app", "key", json!(1));
    assert_eq!(stats_path(&mut server), (flag.display().to_string(), "--db".to_owned()));
}

#[test]
fn s01_files_are_private_to_the_user() {
    let place = Place::new();
    let db = place.path().join("new/folder/memory.db");
    let mut server = place.start().env("MEMORY_DB", &db).agent("a").serve();
    server.remember("app", "key", json!(1));
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    for name in entries(db.parent().expect("a folder")) {
        assert_eq!(mode(&db.with_file_name(&name)), 0o600, "{name}");
    }
    assert_eq!(mode(&place.path().join("new/folder")), 0o700);
}

#[test]
fn s02_a_variable_with_nearly_the_right_name_is_pointed_out() {
    let place = Place::new();
    for name in ["MEMORY_FILE", "MEMORY_DB_PATH", "HANDOFF_MEMORY_DB"] {
        let elsewhere = place.path().join("elsewhere.db");
        let mut server = place
            .start()
            .without("MEMORY_DB")
            .env(name, &elsewhere)
            .agent("a")
            .serve();
        server.remember("app", name, json!(1));
        server.hear(name);
        server.hear("MEMORY_DB");
        assert_eq!(stats_path(&mut server).1, "default");
        assert!(!elsewhere.exists());
    }
    let mut right = place.agent("a");
    right.remember("app", "key", json!(1));
    assert_eq!(stats_path(&mut right).1, "MEMORY_DB");
    assert!(!right.stderr().contains("did you mean"), "{}", right.stderr());
}

/// How often the ordinary run kills a server; `HANDOFF_MEMORY_LONG=1` asks for the 200 of a release.
fn kills() -> u64 {
    if std::env::var_os("HANDOFF_MEMORY_LONG").is_some() {
        200
    } else {
        25
    }
}

#[test]
fn s04_what_was_acknowledged_survives_sigkill_at_any_moment() {
    let place = Place::new();
    let mut acknowledged: Vec<String> = Vec::new();
    for run in 0..kills() {
        let mut server = place.agent("scout");
        let ids: Vec<(String, u64)> = (0..40)
            .map(|n| {
                let key = format!("r{run}-{n}");
                let id = match n % 8 {
                    7 => server.send_call("handoff", json!({"title": key, "summary": "s", "next_steps": ["x"]})),
                    _ => server.send_call(
                        "remember",
                        json!({"scope": "app", "key": key, "value": {"run": run, "n": n}}),
                    ),
                };
                (key, id)
            })
            .collect();
        // A different moment in each run: after so many answers, and a little later.
        let wait_for = (run * 7 % 37) as usize;
        for (key, id) in &ids[..wait_for] {
            server.answer(*id);
            acknowledged.push(key.clone());
        }
        std::thread::sleep(Duration::from_micros(run * 131 % 1_900));
        server.signal(Signal::KILL);
        // What was on the way when it died was acknowledged, too.
        for (key, id) in &ids[wait_for..] {
            if server.reply_or_end(*id).is_some() {
                acknowledged.push(key.clone());
            }
        }
        server.kill();
        if run % 5 == 4 {
            place.verify_clean();
        }
    }
    let sql = place.sql();
    let kept = |key: &str| -> i64 {
        let query = "SELECT (SELECT count(*) FROM version WHERE key = ?1) + \
                     (SELECT count(*) FROM handoff JOIN content ON content.id = handoff.content_id WHERE instr(body, ?2) > 0)";
        sql.query_row(query, [key, &format!("\"{key}\"")], |row| row.get(0))
            .expect("a number")
    };
    for key in &acknowledged {
        assert_eq!(kept(key), 1, "{key} was acknowledged");
    }
    assert!(!acknowledged.is_empty());
    let mut server = place.agent("reader");
    assert_eq!(
        server.call("memory_stats", json!({"verify": true}))["verify"]["ok"],
        true
    );
}

#[test]
fn s05_an_answer_tells_the_committed_row() {
    let place = Place::new();
    let mut server = place.agent("scout");
    for n in 1..=3 {
        let record = server.remember("app", "key", json!({"n": n}));
        // A stranger's connection sees the row at once.
        let (version, hash): (i64, String) = place
            .sql()
            .query_row(
                "SELECT version, hash FROM version ORDER BY id DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )
            .expect("the row");
        assert_eq!((&record["version"], &record["hash"]), (&json!(version), &json!(hash)));
    }
}

/// A small file system that can be filled, or `None` where this user may not mount one.
struct SmallDisk<'a>(&'a Path);

impl<'a> SmallDisk<'a> {
    fn mount(at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
            .arg(at)
            .output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(at))
    }
}

impl Drop for SmallDisk<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

/// Writes until a write is refused; gives the number of acknowledged writes and the refusal's code and text.
fn fill(server: &mut Server) -> (u64, String, String) {
    let bulk = "x".repeat(40_000);
    for n in 0..1_000 {
        match server.attempt(
            "remember",
            json!({"scope": "fill", "key": format!("k{n}"), "value": bulk}),
        ) {
            Ok(_) => {}
            Err(refusal) => return (n, refusal.code.clone(), refusal.text()),
        }
    }
    panic!("a full disk never refused a write");
}

#[test]
fn s07_a_full_disk_is_one_clear_error_and_loses_nothing() {
    let place = Place::new();
    let folder = place.path().join("small");
    let Some(disk) = SmallDisk::mount(&folder) else {
        // The test below holds where nothing can be mounted; where it can, this one must not be passed over.
        assert!(!may_mount(), "a tmpfs could not be mounted");
        return;
    };
    let db = folder.join("memory.db");
    let ballast = folder.join("ballast");
    fs::write(&ballast, vec![0; 400_000]).expect("room for ballast");
    let start = place.start().env("MEMORY_DB", &db).agent("scout");
    let mut server = start.serve();
    let (kept, code, text) = fill(&mut server);
    assert_eq!(code, "disk_full", "{text}");
    assert!(text.contains(&db.display().to_string()), "{text}");
    assert!(kept > 0);
    // Reading goes on, and nothing of the refused write is there.
    let found = server.call("recall", json!({"scope": "fill", "limit": 1}));
    assert_eq!(found["total"], kept, "{found}");
    fs::remove_file(&ballast).expect("the ballast is there");
    assert_eq!(
        server.remember("after", "key", json!(1))["version"],
        1,
        "writes work again without a restart"
    );
    let ran = start.clone().arg("verify").run();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    drop(server);
    drop(disk);
}

/// Whether this process may mount at all (a container's root may not).
fn may_mount() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let caps = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .unwrap_or("0")
        .trim()
        .to_owned();
    u64::from_str_radix(&caps, 16).is_ok_and(|caps| caps & (1 << 21) != 0)
}

#[test]
fn s07_a_file_size_limit_is_one_clear_error_and_loses_nothing() {
    let place = Place::new();
    // The limit raises a signal that would end the process; ignoring it is inherited.
    let start = place
        .start()
        .agent("scout")
        .through(&["/bin/sh", "-c", "trap '' XFSZ; exec \"$0\" \"$@\""]);
    let mut server = start.serve();
    server.remember("app", "key", json!(1));
    let limit = |bytes| Rlimit {
        current: bytes,
        maximum: None,
    };
    let _ = prlimit(Some(server.pid()), Resource::Fsize, limit(Some(600_000))).expect("a limit on the file's size");
    let (kept, code, text) = fill(&mut server);
    assert_eq!(code, "disk_full", "{text}");
    assert!(text.contains(&place.db().display().to_string()), "{text}");
    assert_eq!(
        server.call("recall", json!({"scope": "fill", "limit": 1}))["total"],
        kept
    );
    let _ = prlimit(Some(server.pid()), Resource::Fsize, limit(None)).expect("the limit is lifted");
    assert_eq!(server.remember("after", "key", json!(1))["version"], 1);
    place.verify_clean();
}

#[test]
fn s08_a_folder_where_write_ahead_logging_cannot_work_is_one_clear_error() {
    if getuid().is_root() {
        // Root passes every mode, so a file system that refuses is needed: /proc refuses everything.
        let place = Place::new();
        let mut server = place.start().env("MEMORY_DB", "/proc/memory.db").agent("a").serve();
        let refusal = server
            .attempt("remember", json!({"scope": "a", "key": "k", "value": 1}))
            .expect_err("no file in /proc");
        assert!(refusal.text().contains("/proc/memory.db"), "{refusal:?}");
        server.result("ping", json!({}));
        return;
    }
    let place = Place::new();
    let folder = place.path().join("closed");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).expect("a mode");
    let mut server = place
        .start()
        .env("MEMORY_DB", folder.join("memory.db"))
        .agent("a")
        .serve();
    server.refuse("remember", json!({"scope": "a", "key": "k", "value": 1}), "read_only");
    server.result("ping", json!({}));
}

#[test]
fn s08_a_journal_that_cannot_be_shared_is_one_clear_error() {
    let place = Place::new();
    let mut first = place.agent("a");
    first.remember("app", "key", json!(1));
    first.finish();
    // A folder in the place of the shared-memory file: the log cannot be shared between processes.
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(place.path().join(format!("memory.db{suffix}")));
    }
    fs::create_dir(place.path().join("memory.db-shm")).expect("a folder");
    let mut server = place.agent("a");
    let started = Instant::now();
    let refusal = server
        .attempt("remember", json!({"scope": "app", "key": "key", "value": 2}))
        .expect_err("nothing can be shared");
    assert!(started.elapsed() < Duration::from_secs(30), "the wait is bounded");
    assert!(refusal.text().contains("memory.db"), "{refusal:?}");
    server.result("ping", json!({}));
    fs::remove_dir(place.path().join("memory.db-shm")).expect("the folder is there");
    assert_eq!(server.remember("app", "key", json!(2))["version"], 2);
    place.verify_clean();
}

#[test]
fn s10_idle_servers_do_not_let_the_log_grow() {
    let place = Place::new();
    let mut writer = place.agent("writer");
    writer.remember("app", "key", json!(0));
    let mut idle: Vec<Server> = (0..8).map(|n| place.agent(&format!("idle-{n}"))).collect();
    for server in &mut idle {
        server.read("app", "key");
        server.found(json!({"query": "key"}));
    }
    let bulk = "x".repeat(2_000);
    for batch in 0..40 {
        let ids: Vec<u64> = (0..100)
            .map(|n| {
                writer.send_call(
                    "remember",
                    json!({"scope": "app", "key": format!("{batch}-{n}"), "value": bulk}),
                )
            })
            .collect();
        for id in ids {
            writer.answer(id);
        }
    }
    let wal = fs::metadata(place.path().join("memory.db-wal")).map_or(0, |meta| meta.len());
    assert!(wal < 32 * 1024 * 1024, "the log has grown to {wal} bytes");
    let store = writer.stats()["store"].clone();
    assert!(
        store["wal_bytes"].as_u64().is_some() && store["bytes"].as_u64().is_some_and(|n| n > 0),
        "{store}"
    );
    for server in &mut idle {
        assert!(server.alive());
    }
}

#[test]
fn s11_the_bundled_sqlite_is_free_of_the_reset_race() {
    let place = Place::new();
    let mut server = place.agent("a");
    let version = server.stats()["store"]["sqlite"]
        .as_str()
        .expect("a version")
        .to_owned();
    let numbers: Vec<u32> = version.split('.').map(|n| n.parse().expect("a number")).collect();
    assert!(numbers >= vec![3, 51, 3], "SQLite {version}");
}

#[test]
fn s13_a_write_into_a_replaced_or_removed_file_is_never_acknowledged() {
    for removed in [true, false] {
        let place = Place::new();
        let mut server = place.agent("scout");
        server.remember("app", "old", json!(1));
        let other = Place::new();
        other.agent("scout").remember("app", "backup", json!(1));
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(place.path().join(format!("memory.db{suffix}")));
        }
        if !removed {
            fs::copy(other.db(), place.db()).expect("the backup is put in place");
        }
        // Either it is refused, or it is really there for a new process.
        let written = server.attempt("remember", json!({"scope": "app", "key": "new", "value": 2}));
        let mut fresh = place.agent("fresh");
        let there = fresh.call("recall", json!({"scope": "app", "key": "new"}))["total"] == 1;
        assert_eq!(written.is_ok(), there, "removed: {removed}; {written:?}");
        // And the server is of use again.
        let again = server.remember("app", "again", json!(3));
        assert_eq!(fresh.read("app", "again")["hash"], again["hash"]);
        place.verify_clean();
    }
}

#[test]
fn s14_a_newer_schema_is_refused_and_nothing_is_written() {
    let place = Place::new();
    let mut old = place.agent("old");
    old.remember("app", "key", json!(1));
    place
        .sql()
        .pragma_update(None, "user_version", 999)
        .expect("the number");
    let mut fresh = place.agent("fresh");
    assert_eq!(
        fresh.result("tools/list", json!({}))["tools"].as_array().map(Vec::len),
        Some(7)
    );
    for server in [&mut old, &mut fresh] {
        let calls = [
            ("remember", json!({"scope": "app", "key": "key", "value": 2})),
            ("recall", json!({"scope": "app", "key": "key"})),
            ("history", json!({"scope": "app", "key": "key"})),
            ("handoff", json!({"title": "t", "summary": "s"})),
            ("resume", json!({})),
            (
                "record_outcome",
                json!({"outcome": "success", "outcome_ref": "r", "refs": [{"scope": "app", "key": "key"}]}),
            ),
        ];
        for (tool, arguments) in calls {
            let refusal = server.refuse(tool, arguments, "newer_schema");
            assert!(refusal.message.contains("999"), "{refusal:?}");
        }
    }
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    drop((old, fresh));
    let sql = place.sql();
    assert_eq!(
        sql.query_row("SELECT count(*) FROM version", [], |row| row.get::<_, i64>(0))
            .ok(),
        Some(1)
    );
}

#[test]
fn s16_what_is_no_database_is_said_and_left_alone() {
    let place = Place::new();
    fs::write(place.db(), "Dear diary,\n".repeat(1_000)).expect("a text file");
    let before = fs::read(place.db()).expect("the file");
    let mut server = place.agent("scout");
    for _ in 0..2 {
        for (tool, arguments) in [
            ("remember", json!({"scope": "a", "key": "k", "value": 1})),
            ("recall", json!({"scope": "a"})),
        ] {
            let refusal = server.refuse(tool, arguments, "corrupt");
            assert!(
                refusal.text().contains(&place.db().display().to_string()),
                "{refusal:?}"
            );
            assert!(!refusal.hint.is_empty());
        }
    }
    drop(server);
    assert_eq!(fs::read(place.db()).expect("the file"), before);
    assert_eq!(entries(place.path()), ["data", "home", "memory.db", "work"]);
    assert_eq!(place.run(&["verify"]).code, Some(2));
}

#[test]
fn s16_a_database_of_another_program_is_left_alone() {
    let place = Place::new();
    open_sql(&place.db())
        .execute_batch("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
        .expect("a table");
    let mut server = place.agent("scout");
    server
        .attempt("remember", json!({"scope": "a", "key": "k", "value": 1}))
        .expect_err("not ours");
    drop(server);
    assert_eq!(place.count("SELECT count(*) FROM sqlite_schema"), 1);
}

#[test]
fn s16_a_damaged_file_is_said_and_never_replaced() {
    let place = Place::new();
    let mut writer = place.agent("scout");
    for n in 0..200 {
        writer.remember("app", &format!("k{n}"), json!("x".repeat(500)));
    }
    writer.finish();
    let mut bytes = fs::read(place.db()).expect("the file");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xa5);
    fs::write(place.db(), &bytes).expect("the damage");
    let ran = place.run(&["verify"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let mut server = place.agent("scout");
    let proof = server.call("memory_stats", json!({"verify": true}));
    assert_eq!(proof["verify"]["ok"], false, "{proof}");
    for n in 0..200 {
        if let Err(refusal) = server.attempt("recall", json!({"scope": "app", "key": format!("k{n}")})) {
            assert_eq!(refusal.code, "corrupt", "{refusal:?}");
        }
    }
    server.finish();
    assert_eq!(
        fs::read(place.db()).expect("the file")[middle..middle + 4096],
        bytes[middle..middle + 4096]
    );
}

#[test]
fn s16_a_cut_log_loses_at_most_what_it_held_and_verifies() {
    let place = Place::new();
    let mut writer = place.agent("scout");
    for n in 0..20 {
        writer.remember("app", &format!("k{n}"), json!(n));
    }
    writer.kill();
    let wal = place.path().join("memory.db-wal");
    if let Ok(file) = fs::OpenOptions::new().write(true).open(&wal) {
        let length = file.metadata().expect("its length").len();
        file.set_len(length / 2 + 7).expect("it can be cut");
    }
    let mut server = place.agent("scout");
    server.remember("app", "after", json!(1));
    place.verify_clean();
}

#[test]
fn s16_an_empty_file_is_taken_as_new_and_that_is_said() {
    let place = Place::new();
    fs::write(place.db(), "").expect("an empty file");
    let mut server = place.agent("scout");
    assert_eq!(server.call("recall", json!({"scope": "app"}))["total"], 0);
    assert_eq!(
        fs::metadata(place.db()).expect("the file").len(),
        0,
        "a read wrote into the file"
    );
    server.remember("app", "key", json!(1));
    server.hear(&place.db().display().to_string());
    assert_eq!(server.stats()["created"], true);
}

#[test]
fn s17_a_folder_that_is_copied_between_machines_is_warned_about_once() {
    let place = Place::new();
    for folder in ["Dropbox", "OneDrive - Work", "Library/Mobile Documents/x"] {
        let db = place.home().join(folder).join("memory.db");
        let mut server = place.start().env("MEMORY_DB", &db).agent("a").serve();
        server.remember("app", "key", json!(1));
        server.remember("app", "key", json!(2));
        server.hear(&db.display().to_string());
        let said = server.stderr();
        assert_eq!(
            said.lines()
                .filter(|line| line.contains("copies between machines"))
                .count(),
            1,
            "{said}"
        );
    }
    fs::write(place.path().join("memory.sync-conflict-20260101-120000.db"), "x").expect("a sibling");
    let mut server = place.agent("a");
    server.remember("app", "key", json!(1));
    server.hear("conflict");
}

#[test]
fn s19_a_read_creates_nothing_and_a_creation_is_announced() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let reads = [
        ("recall", json!({"scope": "app", "key": "key"})),
        ("recall", json!({"query": "anything"})),
        ("resume", json!({"peek": true})),
        ("resume", json!({})),
        ("memory_stats", json!({"verify": true})),
    ];
    for (tool, arguments) in reads {
        server.call(tool, arguments);
        assert_eq!(entries(place.path()), ["data", "home", "work"], "{tool} left something");
    }
    server.refuse("history", json!({"scope": "app", "key": "key"}), "not_found");
    let empty = server.call("memory_stats", json!({"verify": true}));
    assert_eq!(
        (&empty["created"], empty.get("checkpoint")),
        (&json!(false), None),
        "{empty}"
    );
    assert_eq!((&empty["verify"]["ok"], &empty["records"]), (&json!(true), &json!(0)));
    assert_eq!(entries(place.path()), ["data", "home", "work"]);
    assert_eq!(place.run(&["verify"]).code, Some(2));
    assert_eq!(place.run(&["checkpoint"]).code, Some(2));
    assert_eq!(entries(place.path()), ["data", "home", "work"]);

    server.remember("app", "key", json!(1));
    server.hear("created");
    server.hear(&place.db().display().to_string());
    assert_eq!(server.stats()["created"], true);
    let mut second = place.agent("second");
    assert_eq!(second.stats()["created"], false);
    second.remember("app", "other", json!(1));
    assert_eq!(second.stats()["created"], false);
}

#[test]
fn p10_starting_does_not_wait_for_the_database() {
    let place = Place::new();
    place.agent("a").remember("app", "key", json!(1));
    let sql = place.sql();
    sql.execute_batch("BEGIN EXCLUSIVE").expect("the lock");
    let answered_at_once = |db: Value| {
        let started = Instant::now();
        let mut server = place.start().env("MEMORY_DB", db.as_str().expect("a path")).spawn();
        server.initialize(LEGACY);
        server.result("tools/list", json!({}));
        assert!(
            started.elapsed() < Duration::from_secs(1),
            "{db}: {:?}",
            started.elapsed()
        );
        server
    };
    answered_at_once(json!(place.db()));
    answered_at_once(json!("/proc/no/such/place/memory.db"));
    fs::write(place.path().join("text.db"), "no database").expect("a file");
    answered_at_once(json!(place.path().join("text.db")));
    sql.execute_batch("ROLLBACK").expect("the lock is given back");
}
