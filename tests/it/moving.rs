//! Export and import: a store that is written down as lines comes back with every hash, in whatever is there already.

use serde_json::{Value, json};

use crate::everything::{KINDS, checkpoints, document, everything, export, import, imported, intact, no_byte_left};
use crate::handoffs::resume_id;
use crate::harness::Place;
use crate::storage::{listed, text};

/// What became of a project, without its counts.
fn states(projects: &[(String, String, u64, u64)]) -> Vec<(&str, &str)> {
    projects.iter().map(|(name, state, ..)| (&**name, &**state)).collect()
}

#[track_caller]
fn same_bytes(one: &std::path::Path, other: &std::path::Path) {
    let read = |path| std::fs::read(path).expect("the export");
    assert!(
        read(one) == read(other),
        "{} and {} differ",
        one.display(),
        other.display()
    );
}

fn store_id(place: &Place) -> String {
    place
        .sql()
        .query_row("SELECT store_id FROM meta", [], |row| row.get(0))
        .expect("one id")
}

#[test]
fn u06_everything_comes_back_with_every_hash() {
    let place = everything();
    let file = export(&place, "export.jsonl");
    let there = Place::new();
    let projects = imported(&there, &file, 0);
    assert_eq!(
        states(&projects),
        [("default", "added"), ("a b/ü:\\%", "added"), ("second", "added")]
    );
    let entries = place.count("SELECT count(*) FROM ledger");
    assert_eq!(projects.iter().map(|p| p.3).sum::<u64>(), entries.unsigned_abs());
    intact(&there);
    assert_eq!(checkpoints(&there), checkpoints(&place));
    assert_eq!(store_id(&there), store_id(&place));
    same_bytes(&export(&there, "again.jsonl"), &file);
    // What a user reads is the same, too: every kind of value byte for byte, states, opinions, and what was purged.
    for (key, value) in KINDS {
        let body: String = there
            .sql()
            .query_row(
                "SELECT body FROM content c JOIN version v ON v.content_id = c.id WHERE key = ?1",
                [key],
                |row| row.get(0),
            )
            .expect(key);
        assert_eq!(body, value, "{key}");
    }
    for args in [
        &["--json", "history", "--scope", "app", "--key", "plan"] as &[&str],
        &["--json", "history", "--scope", "app", "--key", "leak"],
        &["--json", "recall", "--query", "first"],
        &["--json", "recall", "--tag", "b c"],
        &["--json", "log", "--since", "0", "--root"],
        &["--json", "--project", "second", "recall", "--scope", "app"],
    ] {
        let (here, there) = (place.run(args), there.run(args));
        assert_eq!((here.code, &here.stdout), (Some(0), &there.stdout), "{args:?}");
    }
    for sql in [
        "SELECT group_concat(id || state || coalesce(ended_as, '') || coalesce(accepted_session, ''), ' ')
            FROM (SELECT * FROM handoff ORDER BY id)",
        "SELECT group_concat(confidence || '/' || successes || '/' || failures, ' ') FROM opinion ORDER BY version_id",
    ] {
        let read = |place: &Place| -> String { place.sql().query_row(sql, [], |row| row.get(0)).expect("rows") };
        assert_eq!(read(&place), read(&there), "{sql}");
    }
}

#[test]
fn u06_what_is_private_stays_so() {
    let place = everything();
    let there = Place::new();
    import(&there, &export(&place, "export.jsonl"), 0);
    let own = json!({"scope": "own", "key": "notes"});
    assert_eq!(there.agent("scout").call("recall", own.clone())["total"], 0);
    let mine = there.agent("Claude").call("recall", own);
    assert_eq!(mine["records"][0]["value"], json!({"only": "for claude"}));
    let zebra = &mine["records"][0]["meta"];
    assert_eq!(zebra["amfs"]["list"], json!([1, null]), "{mine}");
}

#[test]
fn u06_an_import_twice_changes_nothing() {
    let place = everything();
    let file = export(&place, "export.jsonl");
    let there = Place::new();
    import(&there, &file, 0);
    let before = (checkpoints(&there), there.count("SELECT count(*) FROM content"));
    for (_, state, known, added) in imported(&there, &file, 0) {
        assert_eq!((&*state, added), ("unchanged", 0));
        assert!(known > 0);
    }
    // Into the very store that it came from, too.
    assert!(
        imported(&place, &file, 0)
            .iter()
            .all(|(_, state, ..)| state == "unchanged")
    );
    assert_eq!(
        before,
        (checkpoints(&there), there.count("SELECT count(*) FROM content"))
    );
    intact(&there);
    intact(&place);
}

#[test]
fn u06_what_was_written_since_is_added_and_an_older_export_has_nothing_to_add() {
    let place = everything();
    let older = export(&place, "older.jsonl");
    let kept = checkpoints(&place);
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!("fifth"));
    scout.remember("new", "record", json!(1));
    let packet = scout.hand_off(
        "since",
        json!({"refs": [{"scope": "app", "key": "plan", "version": 3}]}),
    );
    let mut codex = place.agent("codex");
    let taken = resume_id(&mut codex, packet["packet"]["id"].as_str().expect("an id"));
    let report = json!({"outcome": "failure", "outcome_ref": "r", "handoff_id": taken["packet"]["id"], "note": "no"});
    codex.call("record_outcome", report);
    let mut third = place.start().agent("scout").env("MEMORY_PROJECT", "third").serve();
    third.remember("s", "k", json!(1));
    for server in [scout, codex, third] {
        server.finish();
    }
    let newer = export(&place, "newer.jsonl");

    let there = Place::new();
    import(&there, &older, 0);
    let projects = imported(&there, &newer, 0);
    assert_eq!(
        states(&projects),
        [
            ("default", "extended"),
            ("a b/ü:\\%", "unchanged"),
            ("second", "unchanged"),
            ("third", "added")
        ]
    );
    assert_eq!(checkpoints(&there), checkpoints(&place));
    same_bytes(&export(&there, "again.jsonl"), &newer);
    let projects = imported(&there, &older, 0);
    assert!(
        projects.iter().all(|(_, state, ..)| state == "unchanged"),
        "{projects:?}"
    );
    assert_eq!(checkpoints(&there), checkpoints(&place), "nothing was taken back");
    intact(&there);
    let mut args = vec!["verify"];
    kept.lines().for_each(|line| args.extend(["--checkpoint", line]));
    let ran = there.run(&args);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn u06_a_store_with_projects_of_its_own_keeps_them_and_its_id() {
    let place = everything();
    let there = Place::new();
    let start = there.start().agent("scout").env("MEMORY_PROJECT", "mine");
    start.serve().remember("s", "k", json!("here first"));
    let (mine, id) = (checkpoints(&there), store_id(&there));
    import(&there, &export(&place, "export.jsonl"), 0);
    assert_eq!(store_id(&there), id);
    assert_eq!(checkpoints(&there), mine.clone() + &checkpoints(&place));
    assert_eq!(start.serve().read("s", "k")["value"], "here first");
    intact(&there);
    // And all of it goes on into a third one.
    let third = Place::new();
    import(&third, &export(&there, "all.jsonl"), 0);
    assert_eq!(checkpoints(&third), checkpoints(&there));
    intact(&third);
}

#[test]
fn u06_one_project_alone_can_be_moved() {
    let place = everything();
    let file = place.path().join("one.jsonl");
    let ran = place.run(&["--project", "second", "export", "--this-project", text(&file)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let there = Place::new();
    assert_eq!(states(&imported(&there, &file, 0)), [("second", "added")]);
    intact(&there);
    // Where the project is not there, nothing is made.
    let ran = place.run(&[
        "--project",
        "absent",
        "export",
        "--this-project",
        text(&place.path().join("no.jsonl")),
    ]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(!place.path().join("no.jsonl").exists());
}

#[test]
fn u06_standard_output_and_input_carry_the_same_lines() {
    let place = everything();
    let file = export(&place, "export.jsonl");
    let ran = place.run(&["export"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, std::fs::read_to_string(&file).expect("the export"));
    let there = Place::new();
    let ran = there.start().args(&["import", "-"]).run_fed(ran.stdout.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(checkpoints(&there), checkpoints(&place));
    intact(&there);
}

/// Two stores that shared their past and then went their own ways, and an export of the first, which also has a project
/// that the second does not have.
fn parted() -> (Place, Place, std::path::PathBuf) {
    let (here, there) = (everything(), Place::new());
    import(&there, &export(&here, "before.jsonl"), 0);
    here.agent("scout").remember("app", "plan", json!("went left"));
    there.agent("scout").remember("app", "plan", json!("went right"));
    let other = here.start().agent("scout").env("MEMORY_PROJECT", "only left");
    other.serve().remember("s", "k", json!("only left"));
    let file = export(&here, "parted.jsonl");
    (here, there, file)
}

#[test]
fn u06_a_project_that_went_its_own_way_is_reported_and_left_alone() {
    let (_here, there, file) = parted();
    let before = checkpoints(&there);
    let parts_at = there.count("SELECT max(seq) FROM ledger WHERE project_id = 1");
    let ran = there.run(&["--json", "import", text(&file)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let answer = document(&ran);
    let project = &answer["projects"][0];
    assert_eq!(
        (&project["state"], &project["diverged_at"], &answer["complete"]),
        (&json!("diverged"), &json!(parts_at), &json!(true))
    );
    assert_eq!(answer["projects"][3]["state"], "added");
    assert!(checkpoints(&there).starts_with(&before), "the project was touched");
    assert_eq!(there.agent("scout").read("app", "plan")["value"], "went right");
    let mut only = there.start().agent("x").env("MEMORY_PROJECT", "only left").serve();
    assert_eq!(only.read("s", "k")["value"], "only left");
    intact(&there);
    // A person is told which one, where, and what can be done.
    let ran = import(&there, &file, 1);
    assert!(
        ran.stdout
            .contains(&format!("default/default: the ledgers part at entry {parts_at}")),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("--replay-into"), "{ran:?}");
}

/// Replays the export into the project `merged`, and gives how many values were written.
#[track_caller]
fn replay(there: &Place, file: &std::path::Path) -> Value {
    let ran = there.run(&[
        "--json",
        "--agent",
        "mover",
        "import",
        "--replay-into",
        "merged",
        text(file),
    ]);
    // A project has diverged and is left alone, whatever else was asked for.
    assert!(matches!(ran.code, Some(0 | 1)), "{ran:?}");
    assert!(!ran.stdout.is_empty(), "{ran:?}");
    document(&ran)["replayed"].clone()
}

#[test]
fn u06_replayed_values_are_new_versions_that_say_where_they_are_from() {
    let (here, there, file) = parted();
    let before = checkpoints(&there);
    // All current values of the project that are there: not the one that was purged.
    let heads = here.count("SELECT count(*) FROM head WHERE project_id = 1") - 1;
    assert_eq!(replay(&there, &file), json!(heads));
    assert!(checkpoints(&there).starts_with(&before), "the project was touched");
    let merged = there.start().agent("claude").env("MEMORY_PROJECT", "merged");
    let mut claude = merged.serve();
    let plan = claude.read("app", "plan");
    let (version, hash): (i64, String) = here
        .sql()
        .query_row(
            "SELECT version, hash FROM version WHERE key = 'plan' AND project_id = 1 ORDER BY version DESC",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .expect("the version");
    let from = &plan["meta"]["imported_from"];
    assert_eq!(
        (&plan["value"], &plan["version"], &plan["author"]),
        (&json!("went left"), &json!(1), &json!("mover"))
    );
    for (name, value) in [
        ("store", json!(store_id(&here))),
        ("workspace", json!("default")),
        ("project", json!("default")),
        ("version", json!(version)),
        ("hash", json!(hash)),
        ("author", json!("scout")),
    ] {
        assert_eq!(from[name], value, "{name} in {plan}");
    }
    assert!(from["at"].is_string(), "{plan}");
    for (key, value) in KINDS {
        let kind = claude.read("kinds/x", key);
        assert_eq!(
            kind["value"],
            serde_json::from_str::<Value>(value).expect("JSON"),
            "{key}"
        );
    }
    claude.refuse("history", json!({"scope": "app", "key": "gone"}), "not_found");
    let own = claude.read("own", "notes");
    assert!(
        own["meta"]["amfs"].is_object() && own["meta"]["imported_from"].is_object(),
        "{own}"
    );
    let mut scout = there.start().agent("scout").env("MEMORY_PROJECT", "merged").serve();
    let theirs = scout.call("recall", json!({"scope": "own", "key": "notes"}));
    assert_eq!(theirs["total"], 0, "what is private stays so");
    intact(&there);
}

#[test]
fn u06_a_replay_that_is_repeated_writes_nothing_and_a_newer_one_what_is_new() {
    let here = Place::new();
    let mut scout = here.agent("scout");
    scout.remember("s", "a", json!({"b": 1.0}));
    scout.call(
        "remember",
        json!({"scope": "s", "key": "b", "value": null, "tags": ["x", "y"], "confidence": 0.4}),
    );
    let there = Place::new();
    import(&there, &export(&here, "before.jsonl"), 0);
    there.agent("scout").remember("s", "a", json!("right"));
    let refs = json!([{"scope": "s", "key": "b"}]);
    scout.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "r", "refs": refs}),
    );
    let file = export(&here, "parted.jsonl");
    assert_eq!(replay(&there, &file), json!(2));
    let before = checkpoints(&there);
    assert_eq!(replay(&there, &file), json!(0));
    assert_eq!(checkpoints(&there), before);
    let mut merged = there.start().agent("claude").env("MEMORY_PROJECT", "merged").serve();
    let b = merged.read("s", "b");
    assert_eq!(
        (&b["value"], &b["tags"], &b["confidence"]),
        (&json!(null), &json!(["x", "y"]), &scout.read("s", "b")["confidence"])
    );
    scout.remember("s", "a", json!("left again"));
    scout.remember("s", "c", json!("new"));
    assert_eq!(replay(&there, &export(&here, "newer.jsonl")), json!(2));
    assert_eq!(
        (&merged.read("s", "a")["version"], &merged.read("s", "a")["value"]),
        (&json!(2), &json!("left again"))
    );
    intact(&there);
}

#[test]
fn u06_a_replay_with_private_records_can_be_repeated() {
    let (_here, there, file) = parted();
    replay(&there, &file);
    let before = checkpoints(&there);
    assert_eq!(replay(&there, &file), json!(0));
    assert_eq!(checkpoints(&there), before);
}

#[test]
fn u06_a_replay_leaves_nothing_behind_in_the_systems_temporary_folder() {
    let (_here, there, file) = parted();
    let temporary = there.path().join("temporary");
    std::fs::create_dir(&temporary).expect("a folder");
    let start = there.start().env("TMPDIR", &temporary);
    let whole = std::fs::read(&file).expect("the export");
    // One that is whole, one that is none, and one that breaks off when some of it was put aside.
    for bytes in [whole.clone(), b"no export".to_vec(), [&whole[..], b"no line"].concat()] {
        std::fs::write(&file, bytes).expect("a file");
        start
            .clone()
            .args(&["import", "--replay-into", "merged", text(&file)])
            .run();
        assert!(listed(&temporary).is_empty(), "{:?}", listed(&temporary));
    }
}

#[test]
fn u06_a_purge_that_arrives_empties_the_text_here_too() {
    let here = Place::new();
    let mut scout = here.agent("scout");
    for (key, value) in [
        ("leak", "SENTINEL-value-1"),
        ("leak", "SENTINEL-value-2"),
        ("kept", "stays"),
    ] {
        scout.remember("s", key, json!(value));
    }
    let packet = scout.hand_off(
        "SENTINEL-title",
        json!({"summary": "SENTINEL-summary", "next_steps": ["SENTINEL-step"]}),
    );
    let id = packet["packet"]["id"].as_str().expect("an id").to_owned();
    let mut codex = here.agent("codex");
    resume_id(&mut codex, &id);
    let report = json!({"outcome": "success", "outcome_ref": "r", "handoff_id": id, "note": "SENTINEL-note"});
    codex.call("record_outcome", report);
    scout.finish();
    codex.finish();
    let before = export(&here, "before.jsonl");
    let there = Place::new();
    import(&there, &before, 0);
    // It has read the text, and goes on while it is taken away.
    let mut reader = there.agent("reader");
    assert_eq!(reader.read("s", "leak")["value"], "SENTINEL-value-2");
    assert_eq!(reader.found(json!({"query": "SENTINEL"})), ["s/leak"]);

    let ran = here.run(&[
        "--agent",
        "janitor",
        "purge",
        "--containing",
        "SENTINEL",
        "--why",
        "secret",
        "--yes",
    ]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    no_byte_left(&here.db(), "SENTINEL");
    let after = export(&here, "after.jsonl");
    assert!(
        !std::fs::read_to_string(&after)
            .expect("the export")
            .contains("SENTINEL")
    );
    assert_eq!(states(&imported(&there, &after, 0)), [("default", "extended")]);
    no_byte_left(&there.db(), "SENTINEL");
    let gone = reader.read("s", "leak");
    assert_eq!(
        (&gone["purged"]["by"], &gone["purged"]["why"]),
        (&json!("janitor"), &json!("secret")),
        "{gone}"
    );
    assert!(reader.found(json!({"query": "SENTINEL"})).is_empty());
    assert_eq!(reader.found(json!({"query": "stays"})), ["s/kept"]);
    reader.finish();
    intact(&there);
    assert_eq!(checkpoints(&there), checkpoints(&here));
    // The older export cannot bring it back.
    import(&there, &before, 0);
    no_byte_left(&there.db(), "SENTINEL");
    intact(&there);
}

#[test]
fn u06_the_largest_value_of_the_most_escapes_goes_through() {
    let here = Place::new();
    let value = serde_json::to_string(&"\"\\".repeat(262_000)).expect("JSON");
    assert!(value.len() > 1_000_000 && value.len() < 1_048_576);
    let start = here
        .start()
        .args(&["remember", "--scope", "s", "--key", "big", "--value", "-"]);
    let ran = start.run_fed(value.as_bytes());
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let file = export(&here, "big.jsonl");
    let there = Place::new();
    import(&there, &file, 0);
    intact(&there);
    same_bytes(&export(&there, "again.jsonl"), &file);
}

#[test]
fn u06_an_export_under_writers_is_whole_and_a_later_state_extends_it() {
    let place = Place::new();
    place.agent("scout").remember("s", "first", json!(0));
    std::thread::scope(|threads| {
        let writers: Vec<_> = (0..3)
            .map(|n| {
                let place = &place;
                threads.spawn(move || {
                    let mut server = place.agent(&format!("writer-{n}"));
                    for i in 0..150 {
                        server.remember(
                            &format!("w{n}"),
                            &format!("k{}", i % 20),
                            json!({"i": i, "text": "x".repeat(300)}),
                        );
                    }
                    server.finish();
                })
            })
            .collect();
        let mut round = 0;
        while !writers.iter().all(|writer| writer.is_finished()) {
            round += 1;
            let file = export(&place, &format!("{round}.jsonl"));
            let there = Place::new();
            import(&there, &file, 0);
            there.verify_clean();
            // What it held is still there, and more was written since.
            let seen = checkpoints(&there);
            let ran = place.run(&["verify", "--checkpoint", seen.trim()]);
            assert_eq!(ran.code, Some(0), "{ran:?}");
        }
        assert!(round > 0);
    });
    let there = Place::new();
    for entry in std::fs::read_dir(place.path()).expect("the folder") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|end| end == "jsonl") {
            // In whatever order they come, none undoes another.
            import(&there, &path, 0);
        }
    }
    there.verify_clean();
}

#[test]
fn u06_export_of_nothing_says_so_and_makes_nothing() {
    let place = Place::new();
    for args in [
        &["export"] as &[&str],
        &["export", "out.jsonl"],
        &["export", "--markdown"],
    ] {
        let ran = place.run(args);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(
            ran.stdout.is_empty() && ran.stderr.contains(text(&place.db())),
            "{ran:?}"
        );
    }
    assert!(!place.db().exists() && !place.work().join("out.jsonl").exists());
    let ran = place.run(&["import", "nowhere.jsonl"]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.stderr.contains("nowhere.jsonl"), "{ran:?}");
    assert!(!place.db().exists());
}

#[test]
fn u06_work_goes_on_where_the_store_came_to() {
    let place = everything();
    let there = Place::new();
    import(&there, &export(&place, "export.jsonl"), 0);
    let waiting: String = there
        .sql()
        .query_row(
            "SELECT id FROM handoff WHERE state = 'open' AND expires_at IS NULL AND owner IS NULL",
            [],
            |row| row.get(0),
        )
        .expect("an open packet");
    let mut claude = there.agent("claude");
    let taken = claude.call("resume", json!({"handoff_id": waiting, "cwd": "/src/app"}));
    assert_eq!(taken["packet"]["state"], "accepted");
    assert!(taken.get("warnings").is_none(), "its checkpoint is there: {taken}");
    assert_eq!(claude.remember("app", "plan", json!("goes on"))["version"], 5);
    let report = json!({"outcome": "success", "outcome_ref": "moved", "handoff_id": waiting});
    assert_eq!(claude.call("record_outcome", report)["packet"]["state"], "closed");
    // A run that was counted before the move is a repeat after it.
    let refs = json!([{"scope": "app", "key": "plan", "version": 1}]);
    let again = json!({"outcome": "success", "outcome_ref": "run-1", "refs": refs});
    assert_eq!(claude.call("record_outcome", again)["repeated"], true);
    claude.finish();
    intact(&there);
    // And back again.
    assert_eq!(
        states(&imported(&place, &export(&there, "back.jsonl"), 0))[0],
        ("default", "extended")
    );
    assert_eq!(checkpoints(&place), checkpoints(&there));
}

#[test]
fn u06_two_stores_that_share_only_a_projects_name_part_at_its_first_entry() {
    let (here, there) = (Place::new(), Place::new());
    here.agent("scout").remember("s", "k", json!("here"));
    there.agent("scout").remember("s", "k", json!("there"));
    let before = checkpoints(&there);
    let file = export(&here, "export.jsonl");
    let ran = there.run(&["--json", "import", text(&file)]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(document(&ran)["projects"][0]["diverged_at"], 1);
    assert_eq!(checkpoints(&there), before);
    // The values can be written into the very project, as new versions over what is there.
    let ran = there.run(&["--json", "import", "--replay-into", "default", text(&file)]);
    assert_eq!(document(&ran)["replayed"], 1, "{ran:?}");
    let mut scout = there.agent("scout");
    let now = scout.read("s", "k");
    assert_eq!((&now["version"], &now["value"]), (&json!(2), &json!("here")));
    intact(&there);
    let ran = there.run(&["import", "--replay-into", "a\u{1}b", text(&file)]);
    assert_eq!(ran.code, Some(2), "{ran:?}");
}

#[test]
fn u06_a_damaged_store_is_not_exported_as_if_it_were_whole() {
    for change in [
        "DROP TRIGGER version_delete; DELETE FROM version WHERE key = 'plan' AND version = 2",
        "DELETE FROM handoff WHERE ended_as = 'failure'",
        "DROP TRIGGER content_delete; DELETE FROM content WHERE body LIKE '%first%'",
        "UPDATE outcome SET content_id = NULL",
    ] {
        let place = everything();
        place.sql().execute_batch(change).expect(change);
        for to in ["-", "damaged.jsonl"] {
            let ran = place.run(&["export", to]);
            assert_eq!(ran.code, Some(2), "{change}: {ran:?}");
            assert!(ran.stderr.contains(text(&place.db())), "{change}: {ran:?}");
        }
        assert!(listed(&place.work()).is_empty(), "{change}");
    }
    // A text that was changed is found where it is to be taken in.
    let place = everything();
    place
        .sql()
        .execute_batch("DROP TRIGGER content_update; UPDATE content SET body = replace(body, 'third', 'fourth')")
        .expect("a change");
    let there = Place::new();
    let ran = import(&there, &export(&place, "changed.jsonl"), 2);
    assert!(ran.stderr.contains("does not fit its hash"), "{ran:?}");
}

#[test]
fn u06_an_import_leaves_what_is_no_store_of_ours_alone() {
    let from = everything();
    let file = export(&from, "export.jsonl");
    let place = Place::new();
    std::fs::write(place.db(), "my notes\n".repeat(1_000)).expect("a text file");
    let before = std::fs::read(place.db()).expect("the file");
    import(&place, &file, 2);
    assert!(std::fs::read(place.db()).expect("the file") == before);
    let newer = from;
    newer.sql().pragma_update(None, "user_version", 999).expect("raised");
    let entries = newer.count("SELECT count(*) FROM ledger");
    let ran = import(&newer, &file, 2);
    assert!(ran.stderr.contains("999"), "{ran:?}");
    assert_eq!(newer.count("SELECT count(*) FROM ledger"), entries);
}
