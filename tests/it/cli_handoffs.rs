//! Acting on the queue at a shell: taking a packet, giving it back, taking it back, ending it before its time, opening it
//! again; and who may.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::handoffs::until;
use crate::harness::{Place, assert_warned, names};
use crate::shell::{Shell, document, ended, refusal};
use crate::terminal::{at_terminal, with_keys};

/// How many ledger entries there are: nothing was written as long as there are no more.
fn entries(place: &Place) -> i64 {
    place.count("SELECT count(*) FROM ledger")
}

/// Where a packet stands, whoever it belongs to: `state` or `state, ended_as`.
#[track_caller]
fn state(shell: &Shell, id: &str) -> String {
    let packet = shell.json(&["handoffs", "show", id, "--owners", "any"])["packet"].clone();
    let word = |name: &str| packet[name].as_str().map(str::to_owned);
    match (word("state"), word("ended_as")) {
        (Some(state), Some(end)) => format!("{state}, {end}"),
        (state, _) => state.expect("a state"),
    }
}

#[test]
fn h11_a_packet_is_taken_the_same_way_by_each_command() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout").env("SESSION_ID", "s1");
    let codex = Shell::of(&place, "codex").env("SESSION_ID", "c1");
    let mut server = place.start().agent("codex").env("SESSION_ID", "c1").serve();
    scout.remember("app", "plan", "0");
    let mut taken = Vec::new();
    for (round, by) in [
        "tool",
        "tool with id",
        "resume",
        "resume with id",
        "accept",
        "accept with id",
    ]
    .iter()
    .enumerate()
    {
        let id = scout.hand_off(&format!("round {round}"), &["--ref", "app:plan", "--to-agent", "codex"]);
        let after = scout.hand_off(&format!("after {round}"), &["--next-step", "x"]);
        scout.remember("app", "plan", &format!("{}", round + 1));
        let answer = match *by {
            "tool" => server.call("resume", json!({})),
            "tool with id" => server.call("resume", json!({"handoff_id": id})),
            "resume" => codex.json(&["resume"]),
            "resume with id" => codex.json(&["resume", "--handoff-id", &id]),
            "accept" => codex.json(&["handoffs", "accept"]),
            _ => codex.json(&["handoffs", "accept", &id]),
        };
        assert_eq!(answer["packet"]["id"], id.as_str(), "{by}: {answer}");
        assert_eq!(
            (&answer["refs"][0]["status"], &answer["stale"]),
            (&json!("stale"), &json!(1)),
            "{by}: {answer}"
        );
        assert_eq!(answer["refs"][0]["value"], round, "{by}");
        let row: (String, String, String, String, String) = place
            .sql()
            .query_row(
                "SELECT kind, agent, session, subject, detail FROM ledger ORDER BY seq DESC LIMIT 1",
                [],
                |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)),
            )
            .expect("the last entry");
        assert_eq!((row.0.as_str(), row.3.as_str()), ("accepted", id.as_str()), "{by}");
        taken.push((row.1, row.2, row.4, answer["waiting"].clone()));
        let run = format!("run {round}");
        codex.json(&[
            "record_outcome",
            "--outcome",
            "abandoned",
            "--outcome-ref",
            &run,
            "--handoff-id",
            &id,
        ]);
        scout.json(&["handoffs", "cancel", &after]);
    }
    assert!(taken.iter().all(|one| *one == taken[0]), "{taken:?}");
}

#[test]
fn h03_a_claim_survives_the_process_that_made_it() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let id = scout.hand_off("t", &["--next-step", "x"]);
    // Each command is a process of its own, so the claimant is gone with the first one's end.
    let codex = Shell::of(&place, "codex").env("SESSION_ID", "c1");
    assert_eq!(codex.json(&["resume"]).get("already_yours"), None);
    for args in [
        ["resume"].as_slice(),
        &["handoffs", "accept"],
        &["handoffs", "accept", &id],
    ] {
        let again = codex.json(args);
        assert_eq!(
            (&again["packet"]["id"], &again["already_yours"]),
            (&json!(id), &json!(true)),
            "{args:?}"
        );
    }
    assert!(codex.says(&["resume"]).contains("this packet was yours already"));
    // Another session of the agent sees it among the unfinished ones, and takes it by its id.
    let second = Shell::of(&place, "codex").env("SESSION_ID", "c2");
    let nothing = second.json(&["resume"]);
    assert_eq!(
        (nothing.get("packet"), &nothing["unfinished"][0]["id"]),
        (None, &json!(id))
    );
    let told = second.says(&["resume"]);
    assert!(
        told.contains("nothing waits for you") && told.contains("unfinished") && told.contains(&id),
        "{told}"
    );
    let moved = second.json(&["handoffs", "accept", &id]);
    assert_eq!(
        (&moved["packet"]["accepted_session"], &moved["held_by_session"]),
        (&json!("c2"), &json!("c1"))
    );
    assert_warned(&moved, &["c1"]);
    // Without a session it is the same, but that no session equals another.
    let third = Shell::of(&place, "codex");
    assert_eq!(third.json(&["resume"])["unfinished"][0]["session"], "c2");
    assert_eq!(third.json(&["handoffs", "accept", &id])["already_yours"], true);
    place.verify_clean();
}

#[test]
fn only_the_claiming_agent_gives_a_packet_back() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let codex = Shell::of(&place, "codex");
    let other = Shell::of(&place, "other");
    let id = scout.hand_off("t", &["--next-step", "x"]);
    codex.refused(&["handoffs", "release", &id], 1, "conflict");
    codex.json(&["handoffs", "accept", &id]);
    for stranger in [&scout, &other] {
        let refusal = stranger.refused(&["handoffs", "release", &id], 1, "not_allowed");
        assert!(refusal.message.contains("codex"), "who holds it is told: {refusal:?}");
        let taken = stranger.refused(&["handoffs", "accept", &id], 1, "conflict");
        assert!(taken.message.contains("codex"), "{taken:?}");
    }
    assert_eq!(state(&scout, &id), "accepted");
    // Another session of the agent, and another spelling of its name, is the agent.
    let spelt = Shell::of(&place, " CODEX ").env("SESSION_ID", "another");
    assert_eq!(
        spelt.json(&["handoffs", "release", &id, "--note", "no time"])["packet"]["state"],
        "open"
    );
    let packet = scout.show(&id)["packet"].clone();
    for name in ["accepted_by", "accepted_at", "accepted_session", "receiving_cwd"] {
        assert_eq!(packet.get(name), None, "{packet}");
    }
    // Said again by the same agent it is the same; by another there is nothing to give back.
    let rows = entries(&place);
    assert_eq!(
        codex.json(&["handoffs", "release", &id, "--note", "no time"])["repeated"],
        true
    );
    other.refused(&["handoffs", "release", &id], 1, "conflict");
    assert_eq!(entries(&place), rows);
    other.json(&["handoffs", "accept", &id]);
    let told = codex.says(&["handoffs", "release", &id, "--force"]);
    assert!(told.contains(&id) && told.contains("is open"), "{told}");
    assert_eq!(state(&scout, &id), "open");
    place.verify_clean();
}

#[test]
fn only_its_authors_agent_or_its_owner_takes_an_open_packet_back() {
    let place = Place::new();
    let of = |agent: &str, owner: &str| Shell::of(&place, agent).env("MEMORY_OWNER", owner);
    let (scout, codex) = (Shell::of(&place, "scout"), Shell::of(&place, "codex"));
    let shared = scout.hand_off("shared", &["--next-step", "x"]);
    let hers = of("scout", "ann").hand_off("hers", &["--next-step", "x"]);
    let refusal = codex.refused(&["handoffs", "cancel", &shared], 1, "not_allowed");
    assert!(refusal.message.contains("scout"), "whose it is is told: {refusal:?}");
    assert_eq!(state(&scout, &shared), "open");
    // The author in another session; the owner through another agent; anyone by force.
    assert_eq!(
        scout
            .clone()
            .env("SESSION_ID", "s2")
            .json(&["handoffs", "cancel", &shared])["packet"]["ended_as"],
        "cancelled"
    );
    assert_eq!(
        of("claude", "ann").json(&["handoffs", "cancel", &hers])["packet"]["ended_as"],
        "cancelled"
    );
    let third = scout.hand_off("third", &["--next-step", "x"]);
    assert_eq!(
        codex.json(&["handoffs", "cancel", &third, "--force"])["packet"]["ended_as"],
        "cancelled"
    );
    let fourth = of("scout", "ann").hand_off("fourth", &["--next-step", "x"]);
    of("codex", "bob").refused(&["handoffs", "cancel", &fourth], 1, "not_found");
    assert_eq!(
        of("codex", "bob").json(&["handoffs", "cancel", &fourth, "--force"])["packet"]["ended_as"],
        "cancelled"
    );
    // What has ended is not ended again.
    let rows = entries(&place);
    assert_eq!(scout.json(&["handoffs", "cancel", &shared])["repeated"], true);
    codex.refused(&["handoffs", "cancel", &shared], 1, "conflict");
    scout.refused(&["handoffs", "accept", &shared], 1, "conflict");
    assert_eq!(entries(&place), rows);
    place.verify_clean();
}

#[test]
fn a_packet_in_somebodys_hands_is_not_taken_back() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let codex = Shell::of(&place, "codex");
    let id = scout.hand_off("t", &["--next-step", "x"]);
    codex.json(&["handoffs", "accept", &id]);
    let rows = entries(&place);
    // Neither by its author, nor by its holder, who has other words for it.
    for shell in [&scout, &codex] {
        let refusal = shell.refused(&["handoffs", "cancel", &id], 1, "conflict");
        assert!(refusal.message.contains("codex"), "{refusal:?}");
    }
    scout.refused(&["handoffs", "expire", &id], 1, "conflict");
    assert_eq!((state(&scout, &id).as_str(), entries(&place)), ("accepted", rows));
}

#[test]
fn a_late_claimant_is_told_who_took_over() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    let leased = |agent: &str| Shell::of(&place, agent).env("MEMORY_CLAIM_LEASE", "1s");
    let (codex, claude) = (leased("codex"), leased("claude"));
    scout.remember("app", "plan", "1");
    let id = scout.hand_off("t", &["--ref", "app:plan"]);
    codex.json(&["handoffs", "accept", &id]);
    let taken = until("the lease lapses", || {
        let ran = claude.run(&["handoffs", "accept", &id, "--json"]);
        (ran.code == Some(0)).then(|| document(&ran.stdout))
    });
    assert_eq!(taken["took_over_from"], "codex", "{taken}");
    // With leases of hours the takeover stands.
    let (codex, claude) = (Shell::of(&place, "codex"), Shell::of(&place, "claude"));
    let refusal = codex.refused(&["handoffs", "accept", &id], 1, "conflict");
    assert!(refusal.message.contains("claude"), "{refusal:?}");
    let refusal = codex.refused(&["handoffs", "release", &id], 1, "conflict");
    assert!(refusal.message.contains("taken over by claude"), "{refusal:?}");
    assert_eq!(state(&scout, &id), "accepted");
    let late = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "late",
        "--handoff-id",
        &id,
    ];
    let answer = codex.json(&late);
    assert_eq!(
        names(&answer["moved"]),
        ["app/plan"],
        "what it acted on moves all the same: {answer}"
    );
    assert_warned(&answer, &["claude"]);
    assert_eq!(state(&scout, &id), "accepted");
    let close = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "in time",
        "--handoff-id",
        &id,
    ];
    assert_eq!(claude.json(&close)["packet"]["state"], "closed");
    place.verify_clean();
}

#[test]
fn of_many_processes_that_take_a_packet_one_wins() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout");
    for round in 0..4 {
        let id = scout.hand_off(&format!("round {round}"), &["--next-step", "x"]);
        let with_id = ["handoffs", "accept", &id];
        let args = if round % 2 == 0 { &with_id[..] } else { &with_id[..2] };
        let start = |n: usize| {
            let shell = Shell::of(&place, &format!("agent {n}")).env("SESSION_ID", &format!("{round}.{n}"));
            let mut command = shell.start(args).arg("--json").command();
            command
                .stdin(Stdio::null())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
            command.spawn().expect("the executable starts")
        };
        let started: Vec<_> = (0..6).map(start).collect();
        let mut winners = Vec::new();
        for ran in started.into_iter().map(ended) {
            if ran.code == Some(1) {
                // By its id a taken packet is refused; otherwise there is nothing more to take.
                assert_eq!((round % 2, refusal(&ran, 1).code.as_str()), (0, "conflict"));
                continue;
            }
            assert_eq!(ran.code, Some(0), "{ran:?}");
            let answer = document(&ran.stdout);
            match answer.get("packet") {
                Some(packet) => winners.push(packet["accepted_by"].clone()),
                None => assert_eq!((round % 2, &answer["waiting"]), (1, &json!(0)), "{answer}"),
            }
        }
        assert_eq!(winners.len(), 1, "{winners:?}");
        assert_eq!(scout.show(&id)["packet"]["accepted_by"], winners[0]);
    }
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"), 4);
    place.verify_clean();
}

/// A place with an open packet of ann's, one of nobody's, and one that somebody holds; their ids.
fn some_packets(place: &Place) -> (Shell, [String; 3]) {
    let scout = Shell::of(place, "scout");
    let hers = scout
        .clone()
        .env("MEMORY_OWNER", "ann")
        .hand_off("hers", &["--next-step", "x"]);
    let open = scout.hand_off("open", &["--expires-in", "0"]);
    let held = scout.hand_off("held", &["--next-step", "x"]);
    Shell::of(place, "codex").json(&["handoffs", "accept", &held]);
    (scout, [hers, open, held])
}

#[test]
fn old_packets_are_ended_whoever_they_belong_to_and_first_shown() {
    let place = Place::new();
    let (scout, [hers, open, held]) = some_packets(&place);
    let rows = entries(&place);
    let expire = ["handoffs", "expire", "--older-than", "0"];
    let dry = scout.json(&[expire.as_slice(), &["--dry-run"]].concat());
    assert_eq!(
        (&dry["total"], &dry["dry_run"], &dry["packets"][0]["state"]),
        (&json!(2), &json!(true), &json!("open"))
    );
    let told = scout.says(&[expire.as_slice(), &["--dry-run"]].concat());
    assert!(
        told.contains(&hers) && told.contains(&open) && !told.contains(&held),
        "{told}"
    );
    assert!(told.contains("nothing was written"), "{told}");
    assert_eq!(
        scout.json(&["handoffs", "expire", "--older-than", "1h"])["total"],
        0,
        "they are younger"
    );
    assert_eq!(entries(&place), rows);

    let done = scout.json(&expire);
    assert_eq!(
        (&done["total"], done.get("dry_run"), &done["packets"][1]["state"]),
        (&json!(2), None, &json!("expired"))
    );
    assert_eq!(
        [&hers, &open, &held].map(|id| state(&scout, id)),
        ["expired, ttl", "expired, ttl", "accepted"]
    );
    assert_eq!(entries(&place), rows + 2);
    assert_eq!(scout.json(&expire)["total"], 0);
    assert_eq!(entries(&place), rows + 2);
    // Without a span nothing is looked through, and a list is no span.
    assert_eq!(scout.run(&["handoffs", "expire", "--dry-run"]).code, Some(2));
    assert_eq!(scout.run(&[expire.as_slice(), &[&open]].concat()).code, Some(2));
    place.verify_clean();
}

#[test]
fn a_person_is_asked_before_old_packets_are_ended() {
    let place = Place::new();
    let (scout, [hers, open, _]) = some_packets(&place);
    let rows = entries(&place);
    let expire = scout.start(&["handoffs", "expire", "--older-than", "0"]);
    // No; a blank line; the end of input; a word that is neither.
    for typed in ["n\n", "\n", "\u{4}", "perhaps\n"] {
        let seen = at_terminal(&expire, 100, typed);
        assert_eq!(seen.code, Some(1), "{seen:?}");
        for words in [hers.as_str(), &open, "End 2 open packets?", "nothing was written"] {
            assert!(seen.text.contains(words), "{words:?}: {seen:?}");
        }
    }
    let ran = with_keys(&expire, "no\n");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(entries(&place), rows);
    // A dry run asks nothing.
    let dry = at_terminal(&expire.clone().arg("--dry-run"), 100, "");
    assert!(dry.code == Some(0) && !dry.text.contains('?'), "{dry:?}");
    assert_eq!(entries(&place), rows);
    let seen = at_terminal(&expire, 100, "y\n");
    assert!(
        seen.code == Some(0) && seen.text.contains("2 packets ended"),
        "{seen:?}"
    );
    assert_eq!(
        [&hers, &open].map(|id| state(&scout, id)),
        ["expired, ttl", "expired, ttl"]
    );
    // Who says yes beforehand is not asked.
    let third = scout.hand_off("third", &["--next-step", "x"]);
    let seen = at_terminal(&expire.clone().arg("--yes"), 100, "");
    assert!(seen.code == Some(0) && !seen.text.contains('?'), "{seen:?}");
    assert_eq!(state(&scout, &third), "expired, ttl");
    place.verify_clean();
}

#[test]
fn packets_are_ended_by_their_ids_all_or_none() {
    let place = Place::new();
    let (scout, [hers, open, held]) = some_packets(&place);
    let rows = entries(&place);
    for (wrong, code) in [("h_0123456789abcdef", "not_found"), (held.as_str(), "conflict")] {
        let refusal = scout.refused(&["handoffs", "expire", &open, wrong], 1, code);
        assert!(refusal.message.contains(wrong), "{refusal:?}");
        assert_eq!((state(&scout, &open).as_str(), entries(&place)), ("open", rows));
    }
    scout.refused(&["handoffs", "expire", "open"], 2, "invalid_argument");
    let told = scout.says(&["handoffs", "expire", &open, &hers, &open]);
    assert!(told.contains("2 packets ended"), "named twice is ended once: {told}");
    assert_eq!(
        [&hers, &open].map(|id| state(&scout, id)),
        ["expired, ttl", "expired, ttl"]
    );
    assert_eq!(entries(&place), rows + 2);
    scout.refused(&["handoffs", "expire", &open], 1, "conflict");
    place.verify_clean();
}

#[test]
fn what_is_due_is_written_down() {
    let place = Place::new();
    let (scout, [hers, open, held]) = some_packets(&place);
    let due = scout
        .clone()
        .env("MEMORY_OWNER", "bob")
        .hand_off("due", &["--expires-in", "1s"]);
    until("its time is over", || {
        (state(&scout, &due) == "expired, ttl").then_some(())
    });
    let rows = entries(&place);
    let done = scout.json(&["handoffs", "expire"]);
    assert_eq!(
        (&done["total"], &done["packets"][0]["id"]),
        (&json!(1), &json!(due)),
        "{done}"
    );
    assert_eq!(entries(&place), rows + 1);
    assert_eq!(
        [&hers, &open, &held].map(|id| state(&scout, id)),
        ["open", "open", "accepted"]
    );
    assert_eq!(scout.json(&["handoffs", "expire"])["total"], 0);
    assert_eq!(entries(&place), rows + 1);
    place.verify_clean();
}

#[test]
fn a_packet_that_its_time_ended_is_opened_again() {
    let place = Place::new();
    let scout = Shell::of(&place, "scout").env("MEMORY_HANDOFF_TTL", "2h");
    let waits = |packet: &Value| -> Option<i64> {
        let until: jiff::Timestamp = packet["expires_at"].as_str()?.parse().ok()?;
        // From the entry that opened it, which may lie a while after the packet was written.
        let from: String = place
            .sql()
            .query_row(
                "SELECT at FROM ledger WHERE kind = 'reopened' ORDER BY seq DESC LIMIT 1",
                [],
                |row| row.get(0),
            )
            .expect("a reopened entry");
        Some(until.duration_since(from.parse().expect("a time")).as_secs())
    };
    let written = scout.hand_off("written", &["--expires-in", "7d"]);
    scout.json(&["handoffs", "expire", &written]);
    // One whose time is over without anybody having written it down.
    let due = scout.hand_off("due", &["--expires-in", "1s"]);
    until("its time is over", || {
        (state(&scout, &due) == "expired, ttl").then_some(())
    });
    for (id, flags, hours) in [
        (&written, [].as_slice(), Some(2)),
        (&due, &["--expires-in", "3h"], Some(3)),
        (&written, &["--expires-in", "0"], None),
    ] {
        let opened = scout.json(&[&["handoffs", "reopen", id], flags].concat());
        let packet = &opened["packet"];
        assert_eq!(
            (&packet["id"], &packet["state"], packet.get("ended_as")),
            (&json!(id), &json!("open"), None)
        );
        assert_eq!(waits(packet), hours.map(|hours| hours * 3600), "{opened}");
        assert_eq!(scout.show(id)["packet"].get("expires_at"), packet.get("expires_at"));
        place.verify_clean();
        if hours == Some(2) {
            scout.json(&["handoffs", "expire", id]);
        }
    }
    let codex = Shell::of(&place, "codex");
    assert_eq!(codex.json(&["handoffs", "accept", &due])["packet"]["state"], "accepted");
    assert_eq!(codex.json(&["resume"])["packet"]["id"], written.as_str());
    let close = [
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "r",
        "--handoff-id",
        &due,
    ];
    assert_eq!(codex.json(&close)["packet"]["state"], "closed");
    place.verify_clean();
}

#[test]
fn nothing_else_is_opened_again() {
    let place = Place::new();
    let (scout, [hers, open, held]) = some_packets(&place);
    let cancelled = scout.hand_off("cancelled", &["--next-step", "x"]);
    scout.json(&["handoffs", "cancel", &cancelled]);
    let superseded = scout.hand_off("superseded", &["--next-step", "x"]);
    scout.hand_off("newer", &["--supersedes", &superseded]);
    let closed = scout.hand_off("closed", &["--next-step", "x"]);
    scout.json(&["handoffs", "accept", &closed]);
    scout.json(&[
        "record_outcome",
        "--outcome",
        "success",
        "--outcome-ref",
        "r",
        "--handoff-id",
        &closed,
    ]);
    scout.json(&["handoffs", "expire", &hers]);
    let rows = entries(&place);
    for id in [&open, &held, &cancelled, &superseded, &closed] {
        let before = state(&scout, id);
        scout.refused(&["handoffs", "reopen", id], 1, "conflict");
        assert_eq!(state(&scout, id), before);
    }
    scout.refused(&["handoffs", "reopen", &hers], 1, "not_found");
    scout.refused(&["handoffs", "reopen", "h_0123456789abcdef"], 1, "not_found");
    scout.refused(
        &["handoffs", "reopen", &open, "--expires-in", "soon"],
        2,
        "invalid_argument",
    );
    assert_eq!(entries(&place), rows);
    let ann = scout.env("MEMORY_OWNER", "ann");
    assert_eq!(ann.json(&["handoffs", "reopen", &hers])["packet"]["state"], "open");
    place.verify_clean();
}
