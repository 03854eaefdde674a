//! Looking at the queue at a shell: which packets a list has, page by page, and all that is known of one.

use serde_json::{Value, json};

use crate::handoffs::{titles, until};
use crate::harness::{Place, assert_warned};
use crate::shell::Shell;

/// The titles that a list with these flags has.
#[track_caller]
fn listed(shell: &Shell, flags: &[&str]) -> Vec<String> {
    let answer = shell.json(&[&["handoffs", "list"], flags].concat());
    assert_eq!(
        answer["total"],
        answer["packets"].as_array().map(Vec::len).unwrap_or(0),
        "{answer}"
    );
    titles(&answer["packets"]).into_iter().map(str::to_owned).collect()
}

#[test]
fn a_list_has_what_is_open_unless_told_otherwise() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let write = |title: &str| scout.hand_off(title, &["--next-step", "x"]);
    let (accepted, closed, cancelled) = (write("accepted"), write("closed"), write("cancelled"));
    write("open");
    scout.hand_off("over", &["--expires-in", "1s"]);
    let superseded = write("superseded");
    scout.hand_off("newer", &["--supersedes", &superseded]);
    scout.json(&["handoffs", "accept", &accepted]);
    scout.json(&["handoffs", "accept", &closed]);
    scout.json(&[
        "record_outcome",
        "--outcome",
        "failure",
        "--outcome-ref",
        "r",
        "--handoff-id",
        &closed,
    ]);
    scout.json(&["handoffs", "cancel", &cancelled]);
    // Nobody writes that its time is over; it is so all the same.
    let rows = place.count("SELECT count(*) FROM ledger");
    until("a packet's time is over", || {
        (!listed(&scout, &[]).contains(&"over".into())).then_some(())
    });

    assert_eq!(listed(&scout, &[]), ["open", "newer"]);
    assert_eq!(listed(&scout, &["--state", "open"]), ["open", "newer"]);
    assert_eq!(listed(&scout, &["--state", "accepted"]), ["accepted"]);
    assert_eq!(listed(&scout, &["--state", "closed"]), ["closed"]);
    assert_eq!(
        listed(&scout, &["--state", "expired"]),
        ["cancelled", "over", "superseded"]
    );
    assert_eq!(
        listed(&scout, &["--state", "closed", "--state", "accepted"]),
        ["accepted", "closed"]
    );
    let all = ["accepted", "closed", "cancelled", "open", "over", "superseded", "newer"];
    assert_eq!(listed(&scout, &["--all"]), all);
    assert_eq!(
        listed(&scout, &["--all", "--newest"]),
        all.iter().rev().copied().collect::<Vec<_>>()
    );
    let told = scout.says(&["handoffs", "list", "--all"]);
    for state in [
        "accepted",
        "closed, failure",
        "expired, cancelled",
        "expired, ttl",
        "expired, superseded",
    ] {
        assert!(told.contains(state), "{state} is not in {told}");
    }
    let packet = &scout.json(&["handoffs", "list"])["packets"][0];
    assert_eq!(
        (packet.get("summary"), packet.get("next_steps")),
        (None, None),
        "a list has no texts: {packet}"
    );
    for wrong in [["--state", "gone"].as_slice(), &["--state", "open", "--all"]] {
        assert_eq!(scout.run(&[&["handoffs", "list"], wrong].concat()).code, Some(2));
    }
    assert_eq!(
        place.count("SELECT count(*) FROM ledger"),
        rows,
        "looking writes nothing"
    );
}

#[test]
fn a_list_of_mine_has_what_i_wrote_am_to_get_or_hold() {
    let place = Place::new();
    let (scout, codex, other) = (
        Shell::of(&place, "scout"),
        Shell::of(&place, "Codex"),
        Shell::of(&place, "other"),
    );
    codex.hand_off("written", &["--next-step", "x"]);
    scout.hand_off("addressed", &["--to-agent", "CODEX"]);
    let held = scout.hand_off("held", &["--next-step", "x"]);
    scout.hand_off("not mine", &["--to-agent", "other"]);
    codex.json(&["handoffs", "accept", &held]);
    assert_eq!(listed(&codex, &["--mine", "--all"]), ["written", "addressed", "held"]);
    assert_eq!(listed(&codex, &["--mine"]), ["written", "addressed"]);
    assert_eq!(listed(&other, &["--mine", "--all"]), ["not mine"]);
}

#[test]
fn a_list_has_own_shared_or_all_owners_packets() {
    let place = Place::new();
    let of = |owner: &str| Shell::of(&place, "scout").env("MEMORY_OWNER", owner);
    let (ann, bob, nobody) = (of("ann"), of("bob"), Shell::of(&place, "scout"));
    ann.hand_off("ann's", &["--next-step", "x"]);
    bob.hand_off("bob's", &["--next-step", "x"]);
    bob.hand_off("shared by bob", &["--next-step", "x", "--shared"]);
    nobody.hand_off("nobody's", &["--next-step", "x"]);
    let shared = ["shared by bob", "nobody's"];
    for (shell, flags, expected) in [
        (&ann, [].as_slice(), ["ann's", shared[0], shared[1]].as_slice()),
        (&ann, &["--owners", "own"], &["ann's", shared[0], shared[1]]),
        (&bob, &[], &["bob's", shared[0], shared[1]]),
        (&bob, &["--owners", "shared"], &shared),
        (&nobody, &[], &shared),
        (&nobody, &["--owners", "any"], &["ann's", "bob's", shared[0], shared[1]]),
        (
            &bob,
            &["--owners", "any", "--limit", "200"],
            &["ann's", "bob's", shared[0], shared[1]],
        ),
    ] {
        assert_eq!(listed(shell, flags), expected, "{flags:?}");
    }
    assert_eq!(ann.run(&["handoffs", "list", "--owners", "bob"]).code, Some(2));
}

#[test]
fn pages_neither_repeat_nor_skip() {
    let place = Place::new();
    let mut server = place.agent("scout");
    let mut written = Vec::new();
    let mut write = |n: usize| {
        let title = format!("packet {n}");
        server.hand_off(&title, json!({"next_steps": ["x"]}));
        written.push(title);
    };
    (0..7).for_each(&mut write);
    let scout = Shell::of(&place, "scout");
    // Page by page; between two pages one more is written, and the first one ends.
    let read = |flags: &[&str], mut between: Option<&mut dyn FnMut()>| {
        let (mut read, mut cursor) = (Vec::new(), None::<String>);
        loop {
            let mut args = [&["handoffs", "list", "--limit", "2"], flags].concat();
            if let Some(cursor) = &cursor {
                args.extend(["--cursor", cursor]);
            }
            let page = scout.json(&args);
            assert!(page["packets"].as_array().expect("packets").len() <= 2, "{page}");
            read.extend(titles(&page["packets"]).into_iter().map(str::to_owned));
            match page["next_cursor"].as_str() {
                Some(next) => cursor = Some(next.to_owned()),
                None => break read,
            }
            if let Some(between) = between.take() {
                between();
            }
        }
    };
    assert_eq!(read(&[], None), written_so_far(7));
    let newest: Vec<String> = written_so_far(7).into_iter().rev().collect();
    assert_eq!(read(&["--newest"], None), newest);
    let first = scout.json(&["handoffs", "list", "--limit", "1"])["packets"][0]["id"].clone();
    let mut meanwhile = || {
        write(7);
        scout.json(&["handoffs", "cancel", first.as_str().expect("an id")]);
    };
    assert_eq!(read(&[], Some(&mut meanwhile)), written_so_far(8));
    // A person is told how to go on.
    let told = scout.says(&["handoffs", "list", "--limit", "2"]);
    let cursor = told.split("--cursor ").nth(1).expect("a cursor").trim();
    let told = scout.says(&["handoffs", "list", "--limit", "2", "--cursor", cursor]);
    assert!(
        told.contains("packet 3") && told.contains("packet 4") && !told.contains("packet 2"),
        "{told}"
    );
}

fn written_so_far(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("packet {n}")).collect()
}

#[test]
fn h12_a_recipient_that_was_never_seen_is_said_so() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let reviewer = Shell::of(&place, "reviewer");
    reviewer.remember("a", "k", "1");
    let write = |title: &str, to: &str| {
        scout.json(&[
            "handoffs",
            "create",
            "--title",
            title,
            "--summary",
            "s",
            "--next-step",
            "x",
            "--to-agent",
            to,
        ])
    };
    let wrong = write("misspelt", "Revewer");
    assert_warned(&wrong, &["Revewer", "reviewer"]);
    for (title, to) in [("other case", "REVIEWER"), ("with blanks", " reviewer ")] {
        assert_eq!(write(title, to).get("warnings"), None);
    }
    assert_warned(&write("brand new", "someone-else"), &["someone-else"]);
    let told = scout.says(&["handoffs", "list"]);
    for (title, unseen) in [
        ("misspelt", true),
        ("other case", false),
        ("with blanks", false),
        ("brand new", true),
    ] {
        let line = told.lines().find(|line| line.contains(title)).expect("its line");
        assert_eq!(line.contains("never seen"), unseen, "{line}");
        let packets = scout.json(&["handoffs", "list"])["packets"].clone();
        let packet = packets
            .as_array()
            .expect("packets")
            .iter()
            .find(|one| one["title"] == title)
            .expect("it")
            .clone();
        assert_eq!(
            packet.get("to_agent_unseen"),
            unseen.then_some(&json!(true)),
            "{packet}"
        );
    }
    let id = wrong["packet"]["id"].as_str().expect("an id");
    assert!(
        scout
            .says(&["handoffs", "show", id])
            .contains("no agent of that name was seen")
    );
    // Whoever has the name is known from the first thing it does.
    Shell::of(&place, "revewer").remember("a", "k2", "1");
    assert_eq!(scout.show(id)["packet"].get("to_agent_unseen"), None);
    assert_eq!(
        titles(&reviewer.json(&["resume", "--peek"])["packets"]),
        ["other case", "with blanks"]
    );
}

#[test]
fn all_that_is_known_of_a_packet_is_shown_and_nothing_is_claimed() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for (key, value) in [("moved", r#"["old"]"#), ("same", "7"), ("kept", r#""as it was""#)] {
        scout.remember("app", key, value);
    }
    let id = scout.hand_off(
        "t",
        &[
            "--next-step",
            "first",
            "--ref",
            "app:moved",
            "--ref",
            "app:same",
            "--ref",
            "app:kept",
        ],
    );
    let codex = Shell::of(&place, "codex");
    codex.remember("app", "moved", r#"["new"]"#);
    codex.json(&[
        "remember", "--scope", "app", "--key", "same", "--value", "7", "--tag", "t",
    ]);
    codex.json(&["handoffs", "accept", &id]);
    codex.json(&[
        "handoffs",
        "release",
        &id,
        "--note",
        "first note\nof two lines",
        "--outcome-ref",
        "run 1",
    ]);
    codex.json(&["handoffs", "accept", &id]);
    let close = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "run 2",
        "--note",
        "last note",
        "--handoff-id",
        &id,
    ];
    codex.json(&close);

    let reader = Shell::of(&place, "reader");
    let rows = place.count("SELECT count(*) FROM ledger");
    let shown = reader.show(&id);
    let refs = shown["refs"].as_array().expect("refs");
    let stands: Vec<_> = refs
        .iter()
        .map(|one| (&one["status"], &one["value"], &one["current"]["same_value"]))
        .collect();
    assert_eq!(
        stands,
        [
            (&json!("stale"), &json!(["old"]), &json!(false)),
            (&json!("stale"), &json!(7), &json!(true)),
            (&json!("current"), &json!("as it was"), &Value::Null),
        ]
    );
    assert_eq!(shown["stale"], 2);
    assert_eq!(
        (&refs[0]["current"]["version"], &refs[0]["current"]["author"]),
        (&json!(2), &json!("codex"))
    );
    let entries = shown["entries"].as_array().expect("entries");
    let life: Vec<_> = entries
        .iter()
        .map(|one| (one["kind"].as_str(), one["note"].as_str()))
        .collect();
    assert_eq!(
        life,
        [
            (Some("handed_off"), None),
            (Some("accepted"), None),
            (Some("released"), Some("first note\nof two lines")),
            (Some("accepted"), None),
            (Some("closed"), Some("last note")),
        ]
    );
    let told = reader.says(&["handoffs", "show", &id]);
    for words in [
        "Pinned: 3 versions, 2 stale",
        "app:moved  v1",
        "now v2 by codex",
        "with the same value",
        "| as it was",
        "released",
        "          | first note\n          | of two lines\n",
        "          | last note",
        "closed (success)",
        "run 2",
        "held by    codex",
    ] {
        assert!(told.contains(words), "{words:?} is not in:\n{told}");
    }
    let stale: Vec<_> = told
        .lines()
        .filter(|line| line.trim_start().starts_with("stale "))
        .collect();
    assert_eq!(stale.len(), 2, "{told}");
    assert_eq!(
        place.count("SELECT count(*) FROM ledger"),
        rows,
        "looking writes nothing"
    );
}

#[test]
fn another_owners_packet_is_as_unknown_as_one_that_never_was() {
    let place = Place::new();
    let ann = Shell::of(&place, "scout").env("MEMORY_OWNER", "ann");
    let hers = ann.hand_off("hers", &["--next-step", "x"]);
    let unknown = "h_0123456789abcdef";
    for stranger in [
        Shell::of(&place, "scout").env("MEMORY_OWNER", "bob"),
        Shell::of(&place, "scout"),
    ] {
        for args in [
            ["handoffs", "show", "ID"].as_slice(),
            &["handoffs", "show", "ID", "--owners", "shared"],
            &["handoffs", "accept", "ID"],
            &["handoffs", "release", "ID"],
            &["handoffs", "cancel", "ID"],
            &["handoffs", "reopen", "ID"],
            &["resume", "--peek", "--handoff-id", "ID"],
            &[
                "record_outcome",
                "--outcome",
                "success",
                "--outcome-ref",
                "r",
                "--handoff-id",
                "ID",
            ],
        ] {
            let refused = |id: &str| {
                let args: Vec<&str> = args.iter().map(|&word| if word == "ID" { id } else { word }).collect();
                stranger.refused(&args, 1, "not_found").text().replace(id, "ID")
            };
            assert_eq!(refused(&hers), refused(unknown), "{args:?}");
        }
        assert_eq!(
            stranger.json(&["handoffs", "show", &hers, "--owners", "any"])["packet"]["owner"],
            "ann"
        );
    }
    assert_eq!(ann.show(&hers)["packet"]["state"], "open");
}

#[test]
fn what_waits_has_the_claims_that_have_lapsed_and_says_whose_a_packet_is() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout").env("MEMORY_CLAIM_LEASE", "1s");
    let taken = scout.hand_off("taken", &["--next-step", "x"]);
    scout.hand_off("open", &["--next-step", "x"]);
    let codex = Shell::of(&place, "codex").env("MEMORY_CLAIM_LEASE", "1s");
    codex.json(&["handoffs", "accept", &taken]);
    until("the lease lapses", || {
        (listed(&scout, &[]) == ["taken", "open"]).then_some(())
    });
    assert_eq!(listed(&scout, &["--state", "open"]), ["open"]);
    let told = scout.says(&["handoffs", "list"]);
    let row = told.lines().find(|line| line.contains(&taken)).expect("its row");
    assert!(row.contains("accepted, lapsed"), "{told}");
    // A claim that holds waits for nobody, and neither does one that cannot lapse.
    for lease in ["8h", "0"] {
        let scout = scout.clone().env("MEMORY_CLAIM_LEASE", lease);
        assert_eq!(listed(&scout, &[]), ["open"], "{lease}");
    }
    // As the one who would get it sees it.
    let peeked = scout.json(&["resume", "--peek"]);
    assert_eq!(titles(&peeked["packets"]).len(), 2, "{peeked}");
    assert!(!told.contains("OWNER"), "{told}");
    Shell::of(&place, "scout")
        .env("MEMORY_OWNER", "ann")
        .hand_off("hers", &["--next-step", "x"]);
    let told = scout.says(&["handoffs", "list", "--owners", "any"]);
    let row = told.lines().find(|line| line.contains("hers")).expect("her row");
    assert!(told.contains("OWNER") && row.contains(" ann "), "{told}");
}

#[test]
fn numbers_say_how_many_more_wait_than_are_shown() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for n in 0..22 {
        scout.hand_off(&format!("packet {n}"), &["--next-step", "x"]);
    }
    let told = scout.says(&["memory_stats"]);
    assert!(told.contains("and 2 more"), "{told}");
    assert_eq!(told.matches("packet ").count(), 20, "{told}");
}
