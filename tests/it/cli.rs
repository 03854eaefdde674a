//! Each subcommand as a person at a shell and as a program use it: what it prints, where, and how it ends.

use serde_json::json;

use crate::handoffs::titles;
use crate::harness::{Place, assert_warned};
use crate::shell::{Shell, document};

/// Every subcommand, the inner ones too.
const SUBCOMMANDS: [&str; 22] = [
    "remember",
    "recall",
    "history",
    "handoff",
    "resume",
    "record_outcome",
    "memory_stats",
    "handoffs",
    "handoffs create",
    "handoffs list",
    "handoffs show",
    "handoffs accept",
    "handoffs release",
    "handoffs cancel",
    "handoffs expire",
    "handoffs reopen",
    "log",
    "diff",
    "verify",
    "checkpoint",
    "completions",
    "man",
];

#[test]
fn a_program_gets_one_document_from_each_subcommand() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout").env("SESSION_ID", "s1");
    let record = scout.remember("app", "plan", r#"{"steps":[1,2]}"#);
    assert_eq!((&record["version"], &record["session"]), (&json!(1), &json!("s1")));
    let second = scout.json(&["remember", "--scope", "app", "--key", "plan", "--value", "[3]"]);
    assert_eq!(second["record"]["prev_hash"], record["hash"]);
    let recalled = scout.json(&["recall", "--query", "3"]);
    assert_eq!(recalled["records"][0]["value"], json!([3]), "{recalled}");
    let history = scout.json(&["history", "--scope", "app", "--key", "plan"]);
    assert_eq!(history["total"], 2);
    let diff = scout.json(&["diff", "app", "plan"]);
    assert_eq!(
        (&diff["from"]["version"], &diff["to"]["version"]),
        (&json!(1), &json!(2))
    );
    assert_eq!(diff["same_value"], false);

    let handed = scout.json(&["handoff", "--title", "one", "--summary", "s"]);
    assert_eq!(handed["refs"][0]["version"], 2, "{handed}");
    let two = scout.hand_off("two", &["--next-step", "x"]);
    assert_eq!(titles(&scout.json(&["handoffs", "list"])["packets"]), ["one", "two"]);
    assert_eq!(scout.show(&two)["packet"]["next_steps"], json!(["x"]));
    let codex = Shell::of(&place, "codex").env("SESSION_ID", "c1");
    assert_eq!(titles(&codex.json(&["resume", "--peek"])["packets"]), ["one", "two"]);
    let resumed = codex.json(&["resume"]);
    assert_eq!(resumed["refs"][0]["value"], json!([3]), "{resumed}");
    let one = resumed["packet"]["id"].as_str().expect("an id");
    let outcome = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "r",
        "--handoff-id",
        one,
    ];
    assert_eq!(codex.json(&outcome)["packet"]["ended_as"], "success");
    assert_eq!(codex.json(&["handoffs", "accept", &two])["packet"]["state"], "accepted");
    assert_eq!(codex.json(&["handoffs", "release", &two])["packet"]["state"], "open");
    assert_eq!(codex.json(&["handoffs", "expire", &two])["total"], 1);
    assert_eq!(codex.json(&["handoffs", "reopen", &two])["packet"]["state"], "open");
    assert_eq!(
        scout.json(&["handoffs", "cancel", &two])["packet"]["ended_as"],
        "cancelled"
    );

    let stats = scout.json(&["memory_stats", "--verify"]);
    assert_eq!(stats["verify"]["ok"], true, "{stats}");
    assert_eq!(scout.json(&["verify"])["faults"], json!([]));
    assert_eq!(scout.json(&["checkpoint"])["checkpoint"], stats["checkpoint"]);
}

#[test]
fn a_person_is_told_in_words() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let say = |args: &[&str], words: &[&str]| {
        let told = scout.says(args);
        for word in words {
            assert!(told.contains(word), "{args:?} does not say {word:?}:\n{told}");
        }
        told
    };
    let rate = ["--scope", "app/billing", "--key", "rate"];
    let remember = [
        &["remember"],
        rate.as_slice(),
        &["--value", r#"{"per":"day"}"#, "--tag", "money"],
    ]
    .concat();
    say(
        &remember,
        &["remembered", "app/billing:rate", "v1", "0.7", "scout", "money"],
    );
    say(&remember, &["unchanged", "app/billing:rate", "v1"]);
    say(
        &[&["recall"], rate.as_slice()].concat(),
        &["app/billing:rate", "| {", r#"|   "per": "day""#],
    );
    say(&["recall", "--query", "hourly"], &["nothing found", "\"hourly\""]);
    let again = [&["remember"], rate.as_slice(), &["--text", "per hour\nor part of it"]].concat();
    say(&again, &["v2"]);
    say(
        &[&["history"], rate.as_slice()].concat(),
        &["v1  (superseded)", "v2", "| per hour", "| or part of it"],
    );
    say(
        &["diff", "app/billing", "rate"],
        &["--- version 1", "+++ version 2", "+\"per hour\\nor part of it\"", "-{"],
    );
    let told = say(
        &[
            "handoff",
            "--title",
            "Rates",
            "--summary",
            "half",
            "--to-agent",
            "scout",
            "--next-step",
            "finish",
        ],
        &[
            "written",
            "h_",
            "scout → scout",
            "Rates",
            "current",
            "app/billing:rate",
            "1 open packet",
        ],
    );
    let id = told
        .split_whitespace()
        .find(|word| word.starts_with("h_"))
        .expect("an id");
    say(&["handoffs", "list"], &["ID", "AGE", "TITLE", id, "open", "Rates"]);
    say(&["memory_stats"], &["MEMORY_DB", "AGENT_ID", "1 open", "hm1:", "Rates"]);
    say(&["resume", "--peek"], &[id, "1 packet waiting for you"]);
    say(
        &["resume"],
        &[
            id,
            "Summary",
            "| half",
            "Next steps",
            "1 | finish",
            "Pinned: 1 version, 0 stale",
        ],
    );
    let close = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "run 7",
        "--handoff-id",
        id,
    ];
    say(&close, &["success of \"run 7\"", "0.7 → 0.76", "closed (success)"]);
    say(
        &["handoffs", "show", id],
        &["closed (success)", "Ledger", "handed_off", "accepted", "run 7"],
    );
    say(&["resume"], &["nothing waits for you"]);
    say(&["handoffs", "list"], &["no packets"]);
    say(
        &["log"],
        &["created", "remembered", "app/billing:rate v2", "closed", "by scout"],
    );
    say(&["verify"], &["intact"]);
    say(&["checkpoint"], &["hm1:"]);
}

#[test]
fn each_subcommand_explains_itself() {
    let place = Place::new();
    let person = Shell::of(&place, "scout");
    let help = person.says(&["--help"]);
    assert!(
        help.contains("Exit codes: 0 ") && help.contains("; 1 ") && help.contains("; 2 "),
        "{help}"
    );
    for name in SUBCOMMANDS {
        let outer = name.split(' ').next().expect("a name");
        assert!(help.contains(&format!("  {outer} ")), "{outer} is not in --help");
        let words: Vec<&str> = name.split(' ').chain(["--help"]).collect();
        let told = person.says(&words);
        assert!(told.contains(&format!("Usage: handoff-memory {name}")), "{told}");
        // Global flags are told everywhere.
        assert!(name == "handoffs" || told.contains("--db <FILE>"), "{told}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = person.says(&["completions", shell]);
        for word in ["record_outcome", "expire", "older-than"] {
            assert!(script.contains(word), "{shell} does not complete {word}");
        }
    }
    assert!(person.says(&["man"]).contains(".TH handoff-memory 1"));
    let pages = place.path().join("pages/man1");
    assert_eq!(person.says(&["man", "--dir", pages.to_str().expect("UTF-8")]), "");
    for name in SUBCOMMANDS {
        let page = pages.join(format!("handoff-memory-{}.1", name.replace(' ', "-")));
        let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
        assert!(text.contains(r"\-\-db"), "{}", page.display());
    }
    assert!(!place.db().exists(), "reading help writes nothing");
}

#[test]
fn exit_code_0_is_done_an_empty_answer_too() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let empty = || {
        assert_eq!(scout.json(&["recall", "--scope", "a"])["total"], 0);
        assert_eq!(
            scout.json(&["recall", "--scope", "a", "--key", "k"])["records"],
            json!([])
        );
        assert_eq!(scout.json(&["handoffs", "list"])["packets"], json!([]));
        assert_eq!(scout.json(&["resume"])["waiting"], 0);
        assert_eq!(scout.json(&["resume", "--peek"])["packets"], json!([]));
        assert_eq!(scout.json(&["memory_stats", "--verify"])["verify"]["ok"], true);
        assert_eq!(scout.json(&["handoffs", "expire"])["total"], 0);
    };
    empty();
    // A person who looks in the wrong place is told.
    let ran = scout.run(&["log"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""), "{ran:?}");
    assert!(ran.stderr.contains("there is no database"), "{ran:?}");
    assert!(!place.db().exists(), "a read makes no file");
    scout.remember("elsewhere", "k", "1");
    empty();
}

#[test]
fn exit_code_1_is_a_no() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    let at = ["--scope", "a", "--key", "k"];
    let id = scout.hand_off("t", &[]);
    scout.refused(&["history", "--scope", "a", "--key", "other"], 1, "not_found");
    scout.refused(&["diff", "a", "other"], 1, "not_found");
    scout.refused(&["diff", "a", "k"], 1, "not_found");
    scout.refused(&["diff", "a", "k", "1", "7"], 1, "not_found");
    scout.refused(&["handoffs", "show", "h_0123456789abcdef"], 1, "not_found");
    scout.refused(&["handoffs", "accept", "h_0123456789abcdef"], 1, "not_found");
    let late = [
        &["remember"],
        at.as_slice(),
        &["--value", "2", "--expected-version", "0"],
    ]
    .concat();
    let refusal = scout.refused(&late, 1, "conflict");
    assert!(
        refusal.message.contains("version 1") && refusal.message.contains("scout"),
        "{refusal:?}"
    );
    let other = Shell::of(&place, "other");
    other.refused(&["handoffs", "cancel", &id], 1, "not_allowed");
    let unknown = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "r",
        "--refs",
        "a:other",
    ];
    scout.refused(&unknown, 1, "not_found");

    place
        .sql()
        .execute("UPDATE opinion SET confidence = 0.1", [])
        .expect("a change by hand");
    for args in [["verify", "--json"].as_slice(), &["memory_stats", "--verify", "--json"]] {
        let ran = scout.run(args);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(1), ""), "{ran:?}");
        let answer = document(&ran.stdout);
        let report = answer.get("verify").unwrap_or(&answer);
        assert_eq!(report["faults"][0]["kind"], "opinion", "{answer}");
    }
    let told = scout.run(&["verify"]);
    assert_eq!(told.code, Some(1));
    assert!(
        told.stdout.contains("a/k version 1") && told.stdout.contains("1 kind of fault"),
        "{told:?}"
    );
}

#[test]
fn exit_code_2_is_could_not_run() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let at = ["--scope", "a", "--key", "k"];
    for args in [["verify"], ["checkpoint"]] {
        scout.refused(&args, 2, "not_found");
    }
    scout.remember("a", "k", "1");
    for (args, field) in [
        ([&["remember"], at.as_slice(), &["--value", "plain"]].concat(), "value"),
        (
            [&["remember"], at.as_slice(), &["--value", "1", "--confidence", "1.5"]].concat(),
            "confidence",
        ),
        (vec!["remember", "--scope", " ", "--key", "k", "--value", "1"], "scope"),
        (
            vec!["recall", "--scope", "a", "--min-confidence", "7"],
            "min_confidence",
        ),
        (vec!["recall", "--scope", "a", "--cursor", "x"], "cursor"),
        ([&["recall"], at.as_slice(), &["--version", "0"]].concat(), "version"),
        (vec!["handoffs", "list", "--cursor", "x"], "cursor"),
        (vec!["handoffs", "show", "7"], "handoff_id"),
        (vec!["handoffs", "create", "--summary", "s"], "title"),
        (
            vec!["handoffs", "create", "--title", "t", "--summary", "s", "--refs", "a"],
            "refs",
        ),
        (vec!["handoffs", "expire", "--older-than", "soon"], "older_than"),
        (
            vec![
                "record_outcome",
                "--outcome",
                "fine",
                "--outcome-ref",
                "r",
                "--refs",
                "a:k",
            ],
            "outcome",
        ),
        (vec!["verify", "--checkpoint", "hm1:x"], "checkpoint"),
        (vec!["recall", "--scope", "a", "--claim-lease", "soon"], "claim-lease"),
        (vec!["recall", "--scope", "a", "--durability", "some"], "durability"),
    ] {
        let refusal = scout.refused(&args, 2, "invalid_argument");
        assert!(refusal.message.contains(field), "{args:?}: {refusal:?}");
    }
    let ran = scout.run(&["recall", "--scope", "a", "--bogus"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
    assert!(ran.stderr.contains("--bogus"), "{ran:?}");
    assert_eq!(scout.run(&["bogus"]).code, Some(2));

    let text = place.path().join("text.db");
    std::fs::write(&text, "this is a letter and no database").expect("a file");
    let scout = scout.env("MEMORY_DB", text.to_str().expect("UTF-8"));
    for args in [["verify"].as_slice(), &["recall", "--scope", "a"], &["log"]] {
        let refusal = scout.refused(args, 2, "corrupt");
        assert!(refusal.message.contains("text.db"), "{refusal:?}");
    }
}

#[test]
fn settings_stand_before_and_after_the_subcommand_and_go_before_the_environment() {
    let place = Place::new();
    let shell = Shell::of(&place, "from-env")
        .env("SESSION_ID", "from-env")
        .env("MEMORY_OWNER", "from-env");
    let other = place.path().join("other.db");
    let other = other.to_str().expect("UTF-8");
    let settings = [
        "--db",
        other,
        "--agent",
        "flag",
        "--session",
        "run",
        "--owner",
        "ann",
        "--workspace",
        "w",
        "--project",
        "p",
        "--handoff-ttl",
        "1h",
        "--json",
    ];
    let create = [
        "handoffs",
        "create",
        "--title",
        "t",
        "--summary",
        "s",
        "--next-step",
        "x",
    ];
    for (args, title) in [
        ([settings.as_slice(), &create].concat(), "before"),
        ([&create, settings.as_slice()].concat(), "after"),
        (
            [&settings[..6], &create[..1], &settings[6..], &create[1..]].concat(),
            "between",
        ),
    ] {
        let args: Vec<&str> = args
            .iter()
            .map(|&word| if word == "t" { title } else { word })
            .collect();
        let packet = &document(&shell.run(&args).stdout)["packet"];
        let said = ["from_agent", "from_session", "owner", "workspace", "project", "title"].map(|name| &packet[name]);
        assert_eq!(said, ["flag", "run", "ann", "w", "p", title], "{packet}");
        let at = |name: &str| -> jiff::Timestamp { packet[name].as_str().expect("a time").parse().expect("a time") };
        assert_eq!(at("expires_at").duration_since(at("created_at")).as_mins(), 60);
    }
    assert!(
        !place.db().exists(),
        "nothing was written to the file of the environment"
    );
    // A project of its own: the packets are nowhere else.
    let here = shell.json(&["--db", other, "handoffs", "list", "--owners", "any"]);
    assert_eq!(here["total"], 0);
    let there = shell.json(&[
        "--db",
        other,
        "handoffs",
        "list",
        "--owners",
        "any",
        "--workspace",
        "w",
        "--project",
        "p",
    ]);
    assert_eq!(titles(&there["packets"]), ["before", "after", "between"]);
}

#[test]
fn a04_a_limit_is_at_least_1_and_more_than_200_is_200_with_a_warning() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    scout.remember("a", "k", "1");
    scout.hand_off("t", &[]);
    for args in [
        ["recall", "--scope", "a"].as_slice(),
        &["history", "--scope", "a", "--key", "k"],
        &["handoffs", "list"],
    ] {
        let with = |limit: &'static str| [args, &["--limit", limit]].concat();
        for limit in ["0", "-1", "-9223372036854775808"] {
            let refusal = scout.refused(&with(limit), 2, "invalid_argument");
            for word in ["limit", limit, "1 to 200"] {
                assert!(refusal.message.contains(word), "{refusal:?}");
            }
        }
        for limit in ["500", "9223372036854775807"] {
            let answer = scout.json(&with(limit));
            assert_eq!(answer["total"], 1);
            assert_warned(&answer, &[limit, "200"]);
            let told = scout.run(&with(limit));
            assert_eq!(told.code, Some(0), "{told:?}");
            assert!(
                told.stderr.contains("warning") && told.stderr.contains("200"),
                "{told:?}"
            );
        }
        assert_eq!(scout.json(&with("200")).get("warnings"), None);
        for limit in ["ten", "10.5", ""] {
            let ran = scout.run(&with(limit));
            assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
            assert!(ran.stderr.contains("limit"), "{ran:?}");
        }
    }
}

#[test]
fn names_are_taken_with_underscores_and_with_hyphens() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for (index, name) in ["expected_version", "expected-version"].iter().enumerate() {
        let (value, flag, version) = (format!("{index}"), format!("--{name}"), format!("{index}"));
        let args = [
            "remember", "--scope", "a", "--key", "k", "--value", &value, &flag, &version,
        ];
        assert_eq!(scout.json(&args)["record"]["version"], index + 1);
    }
    for flag in ["--min_confidence", "--min-confidence"] {
        assert_eq!(scout.json(&["recall", "--scope", "a", flag, "0.9"])["total"], 0);
    }
    for (index, spell) in [|name: &str| name.to_owned(), |name: &str| name.replace('_', "-")]
        .iter()
        .enumerate()
    {
        let flag = |name: &str| format!("--{}", spell(name));
        let title = format!("packet {index}");
        let args = [
            "handoff",
            "--title",
            &title,
            "--summary",
            "s",
            &flag("next_steps"),
            "n",
            &flag("open_questions"),
            "q",
            &flag("files_touched"),
            "f",
            &flag("to_agent"),
            "scout",
            &flag("expires_in"),
            "0",
        ];
        let packet = scout.json(&args)["packet"].clone();
        let said = ["next_steps", "open_questions", "files_touched", "to_agent"].map(|name| packet[name].to_string());
        assert_eq!(said, [r#"["n"]"#, r#"["q"]"#, r#"["f"]"#, r#""scout""#]);
        assert_eq!(packet.get("expires_at"), None);
        let id = packet["id"].as_str().expect("an id");
        assert_eq!(
            scout.json(&["resume", &flag("handoff_id"), id])["packet"]["title"],
            title
        );
        let report = [
            &spell("record_outcome"),
            "--outcome",
            "success",
            &flag("outcome_ref"),
            &title,
            &flag("handoff_id"),
            id,
        ];
        assert_eq!(scout.json(&report)["packet"]["state"], "closed");
        assert_eq!(scout.json(&[&spell("memory_stats")])["handoffs"]["closed"], index + 1);
    }
    let (one, two) = (
        scout.hand_off("one", &["--next-step", "x"]),
        scout.hand_off("two", &["--ref", "a:k@1"]),
    );
    assert_eq!(scout.show(&two)["refs"][0]["version"], 1);
    assert_eq!(
        scout.json(&["handoffs", "cancel", &one, "--outcome_ref", "r"])["outcome_ref"],
        "r"
    );
}
