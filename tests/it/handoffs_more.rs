//! What a packet carries and leads to: pins and how they come back, age and changes, expiry, supersession, chains,
//! recipients, and the checkpoint that notices a rewritten file.

use serde_json::{Value, json};

use crate::handoffs::{end, id, next, peek, resume, titles, until};
use crate::harness::{Place, Server, assert_warned, names, warned};

/// `scope/key@version status` of each ref of an answer.
fn pins(answer: &Value) -> Vec<String> {
    let refs = answer["refs"].as_array().unwrap_or_else(|| panic!("no refs: {answer}"));
    let pin = |one: &Value| format!("{}@{}", one["key"].as_str().expect("a key"), one["version"]);
    refs.iter().map(pin).collect()
}

fn sorted(mut list: Vec<String>) -> Vec<String> {
    list.sort();
    list
}

/// Changes one row behind the server's back, past the triggers.
fn behind(place: &Place, triggers: &[&str], change: &str) {
    let sql = place.sql();
    for trigger in triggers {
        let text: String = sql
            .query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [trigger], |row| {
                row.get(0)
            })
            .expect("the trigger is there");
        sql.execute_batch(&format!("DROP TRIGGER {trigger}; {change}; {text}"))
            .expect("a change by hand");
    }
}

#[test]
fn a_silent_packet_pins_what_its_session_wrote_and_read_by_key() {
    let place = Place::new();
    let mut other = place.agent("other");
    for key in ["read", "searched", "old", "walked", "untouched"] {
        other.remember("app", key, json!(format!("needle {key} 1")));
    }
    other.remember("app", "old", json!("needle old 2"));
    let mut scout = place.agent("scout");
    scout.remember("app", "wrote", json!(1));
    scout.remember("app", "wrote", json!(2));
    scout.read("app", "read");
    assert_eq!(scout.call("recall", json!({"query": "needle"}))["total"], 5);
    scout.call("recall", json!({"scope": "app", "key": "old", "version": 1}));
    scout.call("history", json!({"scope": "app", "key": "walked"}));
    let written = scout.hand_off("silent", json!({}));
    assert_eq!(sorted(pins(&written)), ["read@1", "wrote@2"]);
    assert!(
        written["refs"]
            .as_array()
            .expect("refs")
            .iter()
            .all(|one| one.get("value").is_none()),
        "the writer's answer has no values: {written}"
    );
    // What another session of the same agent did is not this one's.
    let elsewhere = place
        .agent("scout")
        .hand_off("another session", json!({"next_steps": ["x"]}));
    assert_eq!(pins(&elsewhere), [""; 0]);
}

#[test]
fn a_silent_packet_pins_what_its_session_was_given_by_resume() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "fresh", json!(1));
    scout.remember("app", "aging", json!(1));
    scout.hand_off("first", json!({}));
    scout.remember("app", "aging", json!(2));
    let mut codex = place.agent("codex");
    assert_eq!(resume(&mut codex)["stale"], 1);
    let written = codex.hand_off("second", json!({"next_steps": ["x"]}));
    assert_eq!(sorted(pins(&written)), ["aging@1", "fresh@1"]);
    // Peeking gives nothing into its hands.
    let mut idle = place.agent("idle");
    peek(&mut idle);
    assert_eq!(pins(&idle.hand_off("third", json!({"next_steps": ["x"]}))), [""; 0]);
}

#[test]
fn a_silent_packet_pins_the_newest_version_touched() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut other = place.agent("other");
    other.remember("app", "read", json!(1));
    scout.read("app", "read");
    other.remember("app", "read", json!(2));
    other.remember("app", "read", json!(3));
    // Read at 1, now at 3: what was touched is pinned, not what came after.
    let first = scout.hand_off("before", json!({"next_steps": ["x"]}));
    assert_eq!(pins(&first), ["read@1"]);
    assert_eq!(first["refs"][0]["status"], "stale");
    scout.read("app", "read");
    assert_eq!(pins(&scout.hand_off("after", json!({"next_steps": ["x"]}))), ["read@3"]);
}

#[test]
fn silent_pins_keep_the_newest_256_and_name_the_rest() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("s", "k000", json!(0));
    let asked: Vec<u64> = (1..259)
        .map(|n| scout.send_call("remember", json!({"scope": "s", "key": format!("k{n:03}"), "value": n})))
        .collect();
    for asked in asked {
        scout.answer(asked);
    }
    scout.remember("s", "k259", json!(259));
    let written = scout.hand_off("much", json!({}));
    let pinned = written["refs"].as_array().expect("refs");
    let left = 260 - pinned.len();
    assert!(left >= 4, "at most 256: {}", pinned.len());
    assert_warned(&written, &[&left.to_string(), "not pinned"]);
    let pinned = names(&written["refs"]);
    assert!(pinned.contains(&"s/k259".to_owned()), "the newest are kept");
    assert!(warned(&written, &["s/k000"]), "the oldest are named: {written}");
    assert!(!pinned.contains(&"s/k000".to_owned()));
    place.verify_clean();
}

#[test]
fn an_empty_list_of_refs_pins_nothing_and_a_ref_without_version_the_current_one() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    scout.remember("app", "plan", json!(2));
    let none = scout.hand_off("none", json!({"refs": [], "next_steps": ["x"]}));
    assert_eq!(pins(&none), [""; 0]);
    let current = scout.hand_off("current", json!({"refs": [{"scope": "app", "key": "plan"}]}));
    assert_eq!(pins(&current), ["plan@2"]);
    let old = scout.hand_off("old", json!({"refs": [{"scope": "app", "key": "plan", "version": 1}]}));
    assert_eq!(pins(&old), ["plan@1"]);
    let (plan, second) = (
        json!({"scope": "app", "key": "plan"}),
        json!({"scope": "app", "key": "plan", "version": 2}),
    );
    let repeated = scout.hand_off("repeated", json!({"refs": [plan, second, plan]}));
    assert_eq!(pins(&repeated), ["plan@2"], "one version is pinned once");
    for missing in [
        json!({"scope": "app", "key": "plan", "version": 3}),
        json!({"scope": "app", "key": "nothing"}),
    ] {
        let refused = json!({"title": "t", "summary": "s", "refs": [missing]});
        scout.refuse("handoff", refused, "not_found");
    }
    let many: Vec<Value> = (1..=257)
        .map(|n| json!({"scope": "app", "key": "plan", "version": n}))
        .collect();
    let refused = json!({"title": "t", "summary": "s", "refs": many});
    let refusal = scout.refuse("handoff", refused, "invalid_argument");
    assert!(
        refusal.text().contains("257") && refusal.text().contains("256"),
        "{refusal:?}"
    );
    assert_eq!(scout.stats()["handoffs"]["open"], 4);
}

#[test]
fn each_ref_comes_back_with_the_pinned_value_and_how_it_stands() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for key in ["kept", "changed", "same"] {
        scout.remember("app", key, json!({"is": "pinned"}));
    }
    scout.call(
        "remember",
        json!({"scope": "app", "key": "broken", "value": "to be damaged"}),
    );
    scout.hand_off("four", json!({}));
    let mut other = place.agent("other");
    other.remember("app", "changed", json!("a newer secret plan"));
    other.call(
        "remember",
        json!({"scope": "app", "key": "same", "value": {"is": "pinned"}, "tags": ["x"]}),
    );
    behind(
        &place,
        &["content_update"],
        "UPDATE content SET body = '\"another\"' WHERE body LIKE '%damaged%'",
    );
    let answer = resume(&mut place.agent("codex"));
    let at = |key: &str| {
        let refs = answer["refs"].as_array().expect("refs");
        refs.iter().find(|one| one["key"] == key).expect("the ref").clone()
    };
    assert_eq!(at("kept")["status"], "current");
    assert_eq!(at("kept")["value"], json!({"is": "pinned"}));
    assert!(at("kept").get("current").is_none());
    let changed = at("changed");
    assert_eq!((&changed["status"], &changed["version"]), (&json!("stale"), &json!(1)));
    assert_eq!(changed["value"], json!({"is": "pinned"}));
    assert_eq!(changed["current"]["version"], 2);
    assert_eq!(changed["current"]["author"], "other");
    assert_eq!(changed["current"]["same_value"], false);
    assert!(changed["current"]["at"].is_string());
    assert_eq!(at("same")["status"], "stale");
    assert_eq!(at("same")["current"]["same_value"], true);
    assert_eq!(at("broken")["status"], "corrupt");
    assert!(at("broken").get("value").is_none());
    assert_eq!(answer["stale"], 2);
    assert!(
        !answer.to_string().contains("a newer secret plan"),
        "nothing is swapped: {answer}"
    );
}

#[test]
fn a_ref_to_a_purged_value_says_so() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "token", json!("taken away later"));
    scout.remember("app", "plan", json!("kept"));
    scout.hand_off("two", json!({}));
    let purged = place
        .start()
        .agent("warden")
        .args(&["purge", "--containing", "taken away", "--why", "secret", "--yes"])
        .run();
    assert_eq!(purged.code, Some(0), "{purged:?}");
    let mut codex = place.agent("codex");
    let answer = resume(&mut codex);
    assert_eq!(answer["refs"][0]["status"], "purged", "{answer}");
    assert!(answer["refs"][0].get("value").is_none(), "{answer}");
    assert_eq!(answer["refs"][1]["value"], "kept");
    let purged = &codex.read("app", "token")["purged"];
    assert_eq!((&purged["by"], &purged["why"]), (&json!("warden"), &json!("secret")));
}

#[test]
fn all_refs_are_listed_when_their_values_do_not_fit_in_one_answer() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..12 {
        scout.remember("app", &format!("k{n:02}"), json!("→".repeat(2_000)));
    }
    scout.hand_off("heavy", json!({}));
    let answer = resume(&mut place.agent("codex"));
    let refs = answer["refs"].as_array().expect("refs");
    assert_eq!(refs.len(), 12);
    assert_eq!(answer["truncated"], true);
    assert!(answer.to_string().len() < 32 * 1024);
    let inlined = refs.iter().filter(|one| one.get("value").is_some()).count();
    assert!((1..12).contains(&inlined), "{inlined} values");
    for one in refs.iter().filter(|one| one.get("value").is_none()) {
        assert_eq!(one["value_bytes"], 6_002, "{one}");
    }
}

#[test]
fn h06_a_packet_opens_with_its_age_and_what_has_happened_since() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let written = scout.hand_off("waits", json!({}));
    assert_eq!(written["packet"]["changes_since"], json!({"total": 0, "by_author": 0}));
    scout.remember("app", "plan", json!(2));
    scout.remember("app", "more", json!(1));
    let mut codex = place.agent("codex");
    codex.remember("app", "mine", json!(1));
    let listed = peek(&mut codex)["packets"][0].clone();
    assert_eq!(listed["changes_since"], json!({"total": 3, "by_author": 2}));
    assert!(
        listed["age"].as_str().is_some_and(|age| age.ends_with(" s")),
        "{listed}"
    );
    // Claiming it, and taking it up again, are about the packet itself.
    resume(&mut codex);
    let again = resume(&mut codex);
    assert_eq!(again["packet"]["changes_since"], json!({"total": 3, "by_author": 2}));
    let fields: Vec<&String> = again["packet"].as_object().expect("a packet").keys().take(3).collect();
    assert!(
        fields.iter().any(|name| *name == "age"),
        "it opens with its age: {fields:?}"
    );
    assert_eq!(codex.stats()["waiting"], json!([]));
}

#[test]
fn h06_default_expiry_is_told_and_zero_is_never() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let span = |packet: &Value| -> Option<jiff::SignedDuration> {
        let at = |name: &str| -> Option<jiff::Timestamp> { packet[name].as_str()?.parse().ok() };
        Some(at("expires_at")?.duration_since(at("created_at")?))
    };
    for (expires_in, hours) in [
        (json!(null), 14 * 24),
        (json!("90m"), 0),
        (json!("12h"), 12),
        (json!("7d"), 7 * 24),
    ] {
        let written = scout.hand_off(
            &format!("{expires_in}"),
            json!({"expires_in": expires_in, "next_steps": ["x"]}),
        );
        let waits = span(&written["packet"]).expect("two times");
        assert_eq!(waits.as_hours(), if hours == 0 { 1 } else { hours }, "{written}");
    }
    let never = scout.hand_off("never", json!({"expires_in": "0", "next_steps": ["x"]}));
    assert!(never["packet"].get("expires_at").is_none(), "{never}");
    for wrong in ["tomorrow", "-1h", "1.5h", "12"] {
        let refusal = scout.refuse(
            "handoff",
            json!({"title": "t", "summary": "s", "expires_in": wrong}),
            "invalid_argument",
        );
        assert!(refusal.text().contains("expires_in"), "{refusal:?}");
    }
    let mut short = place.start().agent("scout").env("MEMORY_HANDOFF_TTL", "2h").serve();
    let written = short.hand_off("short", json!({"next_steps": ["x"]}));
    assert_eq!(span(&written["packet"]).expect("two times").as_hours(), 2);
}

#[test]
fn h06_reads_treat_a_packet_past_its_time_as_expired_and_write_nothing() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let gone = id(&scout.hand_off("short", json!({"expires_in": "1s", "next_steps": ["x"]})));
    scout.hand_off("for another", json!({"to_agent": "claude"}));
    let mut codex = place.agent("codex");
    until("its time is over", || {
        (codex.stats()["handoffs"]["expired"] == 1).then_some(())
    });
    let entries = place.count("SELECT count(*) FROM ledger");
    let nothing = peek(&mut codex);
    assert_eq!(nothing["packets"], json!([]));
    assert_eq!(
        (&nothing["waiting"], &nothing["elsewhere"]["expired"]),
        (&json!(0), &json!(1))
    );
    let one = codex.call("resume", json!({"peek": true, "handoff_id": gone}));
    assert_eq!(
        (&one["packet"]["state"], &one["packet"]["ended_as"]),
        (&json!("expired"), &json!("ttl"))
    );
    assert_eq!(place.count("SELECT count(*) FROM ledger"), entries);
    assert_eq!(place.count("SELECT count(*) FROM handoff WHERE state = 'open'"), 2);
    // It cannot be accepted by its id, and that refusal names its time.
    let refusal = codex.refuse("resume", json!({"handoff_id": gone}), "conflict");
    assert!(refusal.text().contains("expired"), "{refusal:?}");
    // The next write on the queue writes it down, and only once.
    for title in ["a", "b"] {
        scout.hand_off(title, json!({"to_agent": "claude"}));
        assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'expired'"), 1);
        assert_eq!(
            place.count("SELECT count(*) FROM handoff WHERE state = 'expired' AND ended_as = 'ttl'"),
            1
        );
    }
    place.verify_clean();
}

#[test]
fn h06_an_accepted_packet_never_expires_and_released_past_its_time_gets_a_new_one() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut codex = place.agent("codex");
    let mut written = String::new();
    until("a claim within a second", || {
        written = id(&scout.hand_off("short", json!({"expires_in": "2s", "next_steps": ["x"]})));
        resume(&mut codex).get("packet").is_some().then_some(())
    });
    // Another packet of the same span, written after it, is past its time: so is this one.
    let clock = id(&scout.hand_off("clock", json!({"expires_in": "2s", "to_agent": "nobody-else"})));
    until("its time is over", || {
        let seen = codex.call("resume", json!({"peek": true, "handoff_id": clock}));
        (seen["packet"]["state"] == "expired").then_some(())
    });
    let seen = codex.call("resume", json!({"peek": true, "handoff_id": written}));
    assert_eq!(seen["packet"]["state"], "accepted");
    let ended = seen["packet"]["expires_at"].as_str().expect("a time").to_owned();
    assert_eq!(end(&mut codex, &written, "released")["packet"]["state"], "open");
    let seen = peek(&mut codex)["packets"][0].clone();
    assert_eq!(seen["id"], json!(written));
    let now = seen["expires_at"].as_str().expect("a new time");
    assert!(now > ended.as_str(), "{now} after {ended}");
    assert_eq!(id(&resume(&mut place.agent("claude"))), written);
    place.verify_clean();
}

#[test]
fn h06_supersedes_ends_the_older_one_and_links_both_ways() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let old = id(&scout.hand_off("old", json!({"next_steps": ["x"]})));
    let written = place
        .agent("Scout")
        .hand_off("new", json!({"supersedes": old, "next_steps": ["x"]}));
    let new = id(&written);
    assert_eq!(written["packet"]["supersedes"], json!(old));
    assert_eq!(written["open_by_you"], 1);
    let mut codex = place.agent("codex");
    assert_eq!(titles(&peek(&mut codex)["packets"]), ["new"]);
    let seen = codex.call("resume", json!({"peek": true, "handoff_id": old}));
    assert_eq!(seen["packet"]["state"], "expired");
    assert_eq!(seen["packet"]["ended_as"], "superseded");
    assert_eq!(seen["packet"]["superseded_by"], json!(new));
    let refusal = codex.refuse("resume", json!({"handoff_id": old}), "conflict");
    assert!(refusal.text().contains(&new), "{refusal:?}");
    // A retry of the very same call is answered with the same packet.
    let again = place
        .agent("scout")
        .hand_off("new", json!({"supersedes": old, "next_steps": ["x"]}));
    assert_eq!((id(&again), &again["unchanged"]), (new, &json!(true)));
    place.verify_clean();
}

#[test]
fn h06_what_is_anothers_or_taken_or_ended_is_not_superseded() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut codex = place.agent("codex");
    let old = id(&scout.hand_off("old", json!({"next_steps": ["x"]})));
    let refused = |server: &mut Server, supersedes: &str, code: &str| {
        let entries = place.count("SELECT count(*) FROM ledger");
        let new = json!({"title": "new", "summary": "s", "next_steps": ["x"], "supersedes": supersedes});
        server.refuse("handoff", new, code);
        assert_eq!(
            place.count("SELECT count(*) FROM ledger"),
            entries,
            "something was written"
        );
    };
    refused(&mut codex, &old, "not_allowed");
    refused(&mut codex, "h_0123456789abcdef", "not_found");
    refused(&mut codex, "the old one", "invalid_argument");
    resume(&mut codex);
    refused(&mut scout, &old, "conflict");
    end(&mut codex, &old, "success");
    refused(&mut scout, &old, "conflict");
    assert_eq!(scout.stats()["handoffs"]["open"], 0);
    place.verify_clean();
}

#[test]
fn c09_an_identical_packet_is_answered_with_the_first_one() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let same = json!({"next_steps": ["a", "b"], "open_questions": ["q"], "files_touched": ["f"], "to_agent": "codex"});
    let first = scout.hand_off("same", same.clone());
    let again = scout.hand_off("same", same.clone());
    assert_eq!((id(&again), &again["unchanged"]), (id(&first), &json!(true)));
    assert_eq!(again["open_by_you"], 1);
    assert_eq!(pins(&again), ["plan@1"]);
    // Retried by a process that has forgotten what the first one touched: silent refs, none derived.
    let mut restarted = place.agent("SCOUT");
    assert_eq!(restarted.hand_off("same", same.clone())["unchanged"], true);
    // Claimed in the meantime: still the same packet.
    resume(&mut place.agent("codex"));
    let claimed = scout.hand_off("same", same.clone());
    assert_eq!((id(&claimed), &claimed["unchanged"]), (id(&first), &json!(true)));
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 1);
    // Anything else that differs makes another packet.
    for (name, other) in [
        ("to_agent", json!("claude")),
        ("next_steps", json!(["a"])),
        ("expires_in", json!("1h")),
        ("cwd", json!("/elsewhere")),
        ("refs", json!([])),
    ] {
        let mut different = same.clone();
        different[name] = other;
        assert!(
            scout.hand_off("same", different.clone()).get("unchanged").is_none(),
            "{name}: {different}"
        );
    }
    assert!(place.agent("other").hand_off("same", same).get("unchanged").is_none());
}

#[test]
fn c09_the_same_words_after_more_work_or_an_ended_packet_make_a_new_one() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let first = id(&scout.hand_off("same", json!({})));
    scout.remember("app", "plan", json!(2));
    let second = scout.hand_off("same", json!({}));
    assert!(second.get("unchanged").is_none(), "{second}");
    assert_eq!(pins(&second), ["plan@2"]);
    end(&mut scout, &first, "abandoned");
    end(&mut scout, &id(&second), "abandoned");
    assert!(scout.hand_off("same", json!({})).get("unchanged").is_none());
}

#[test]
fn a_packet_written_after_a_claim_in_the_same_directory_continues_it() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let first = scout.hand_off("first", json!({"cwd": "/src/app", "next_steps": ["x"]}));
    assert!(first["packet"].get("continues").is_none(), "{first}");
    let mut codex = place.agent("codex");
    codex.call("resume", json!({"cwd": "/src/app"}));
    let second = codex.hand_off("second", json!({"cwd": "/src/app/", "next_steps": ["x"]}));
    assert_eq!(second["packet"]["continues"], json!(id(&first)));
    let elsewhere = codex.hand_off("third", json!({"cwd": "/src/other", "next_steps": ["x"]}));
    assert!(elsewhere["packet"].get("continues").is_none(), "{elsewhere}");
    // Closed in the meantime, it is still what the work goes on with; the thread can be walked back.
    end(&mut codex, &id(&first), "success");
    let mut claude = place.agent("claude");
    let taken = claude.call("resume", json!({"cwd": "/src/app"}));
    assert_eq!(taken["packet"]["continues"], json!(id(&first)));
    let third = claude.hand_off("fourth", json!({"cwd": "/src/app", "next_steps": ["x"]}));
    assert_eq!(third["packet"]["continues"], json!(id(&second)));
    // Another session of the same agent accepted nothing.
    let fresh = place
        .agent("claude")
        .hand_off("fifth", json!({"cwd": "/src/app", "next_steps": ["x"]}));
    assert!(fresh["packet"].get("continues").is_none(), "{fresh}");
    place.verify_clean();
}

#[test]
fn h12_recipients_are_matched_without_case_and_unknown_ones_are_told() {
    let place = Place::new();
    let mut reviewer = place.agent("reviewer");
    reviewer.remember("a", "b", json!(1));
    let mut scout = place.agent("scout");
    let typo = scout.hand_off("typo", json!({"to_agent": "Revewer"}));
    assert_warned(&typo, &["Revewer", "reviewer"]);
    let strange = scout.hand_off("strange", json!({"to_agent": "zzz"}));
    assert_warned(&strange, &["zzz"]);
    assert!(!warned(&strange, &["reviewer"]), "{strange}");
    for known in ["Reviewer", " reviewer ", "REVIEWER"] {
        let written = scout.hand_off(&format!("for {known:?}"), json!({"to_agent": known}));
        assert!(!warned(&written, &["agent named"]), "{written}");
        assert_eq!(written["packet"]["to_agent"], known.trim());
    }
    let given: Vec<_> = (0..3).map(|_| next(&mut reviewer).expect("a packet")).collect();
    assert_eq!(given, ["for \"Reviewer\"", "for \" reviewer \"", "for \"REVIEWER\""]);
    assert_eq!(next(&mut place.agent("Revewer")).as_deref(), Some("typo"));
}

#[test]
fn h08_a_packet_with_little_to_start_from_is_told_and_how_to_cancel_it() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let status = scout.hand_off("project status", json!({}));
    assert_warned(&status, &["neither next steps nor refs", "abandoned"]);
    assert_eq!(
        end(&mut scout, &id(&status), "abandoned")["packet"]["ended_as"],
        "cancelled"
    );
    let steps = scout.hand_off("steps", json!({"next_steps": ["go"]}));
    assert!(steps.get("warnings").is_none(), "{steps}");
    scout.remember("app", "plan", json!(1));
    assert!(scout.hand_off("refs", json!({})).get("warnings").is_none());
}

#[test]
fn h08_descriptions_say_when_not_to_write_and_reading_tools_are_marked() {
    let place = Place::new();
    let tools = place.agent("scout").result("tools/list", json!({}))["tools"].clone();
    let tool = |name: &str| {
        let tools = tools.as_array().expect("tools");
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .expect("the tool")
            .clone()
    };
    let about = tool("handoff")["description"]
        .as_str()
        .expect("a description")
        .to_owned();
    assert!(about.contains("Not for reporting status"), "{about}");
    assert!(about.contains("abandoned"), "it says how to cancel: {about}");
    for name in ["recall", "history", "memory_stats"] {
        assert_eq!(tool(name)["annotations"]["readOnlyHint"], true, "{name}");
    }
    for name in ["remember", "handoff", "resume", "record_outcome"] {
        assert_eq!(tool(name)["annotations"]["readOnlyHint"], false, "{name}");
    }
}

#[test]
fn a_rewritten_ledger_is_noticed_by_the_next_resume() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let checkpoint = scout.stats()["checkpoint"].clone();
    let written = scout.hand_off("waits", json!({}));
    assert_eq!(written["packet"]["checkpoint"], checkpoint);
    let mut codex = place.agent("codex");
    assert!(!warned(
        &codex.call("resume", json!({"peek": true, "handoff_id": id(&written)})),
        &["checkpoint"]
    ));
    behind(
        &place,
        &["ledger_update"],
        "UPDATE ledger SET hash = '00' || substr(hash, 3) WHERE seq = 2",
    );
    let answer = resume(&mut codex);
    assert_warned(&answer, &["checkpoint", "rolled back or rewritten", "verify"]);
    assert_eq!(id(&answer), id(&written));
}

#[test]
fn a_file_that_was_rolled_back_under_a_kept_packet_is_noticed() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    scout.finish();
    let copy = place.path().join("yesterday.db");
    std::fs::copy(place.db(), &copy).expect("a copy");
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(2));
    scout.hand_off("written today", json!({"refs": [], "next_steps": ["x"]}));
    scout.finish();
    // Yesterday's file comes back and goes another way; then today's packet and its entry are put at its end.
    let today = place.path().join("today.db");
    std::fs::rename(place.db(), &today).expect("the file moves");
    for side in ["memory.db-wal", "memory.db-shm"] {
        let _ = std::fs::remove_file(place.path().join(side));
    }
    std::fs::copy(&copy, place.db()).expect("the copy comes back");
    let mut scout = place.agent("scout");
    assert_eq!(scout.read("app", "plan")["value"], 1);
    scout.remember("app", "plan", json!("another second version"));
    scout.finish();
    let sql = place.sql();
    sql.execute("ATTACH ?1 AS today", [today.to_str().expect("UTF-8")])
        .expect("today's file");
    sql.execute_batch(
        "INSERT INTO content SELECT * FROM today.content WHERE id IN (SELECT content_id FROM today.handoff);
         INSERT INTO handoff SELECT * FROM today.handoff;
         INSERT INTO ledger SELECT * FROM today.ledger WHERE kind = 'handed_off';",
    )
    .expect("today's packet");
    drop(sql);
    let answer = resume(&mut place.agent("codex"));
    assert_warned(&answer, &["checkpoint", "rolled back or rewritten"]);
}

/// Puts the time at which packets of this title were written back by so many minutes.
fn age(place: &Place, title: &str, minutes: i64) {
    let changed = place
        .sql()
        .execute(
            "UPDATE handoff SET created_at = strftime('%Y-%m-%dT%H:%M:%fZ', created_at, ?1)
             WHERE content_id IN (SELECT id FROM content WHERE body LIKE ?2)",
            (format!("-{minutes} minutes"), format!("%\"title\":\"{title}\"%")),
        )
        .expect("a change by hand");
    assert_eq!(changed, 1, "{title}");
}

#[test]
fn h06_old_packets_say_so_first() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for (title, minutes) in [("old", 60 * 24 * 60), ("older", 30 * 24 * 60), ("new", 5)] {
        scout.hand_off(title, json!({"expires_in": "0", "next_steps": ["x"]}));
        age(&place, title, minutes);
    }
    let mut codex = place.agent("codex");
    let ages: Vec<String> = peek(&mut codex)["packets"]
        .as_array()
        .expect("packets")
        .iter()
        .map(|packet| packet["age"].as_str().expect("an age").to_owned())
        .collect();
    assert_eq!(ages, ["60 d", "30 d", "5 min"]);
    assert_eq!(resume(&mut codex)["packet"]["age"], "60 d");
}

#[test]
fn c09_an_identical_packet_after_ten_minutes_is_a_new_one() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut write = || scout.hand_off("same", json!({"expires_in": "0", "next_steps": ["x"]}));
    let first = write();
    age(&place, "same", 9);
    let again = write();
    assert_eq!((id(&again), &again["unchanged"]), (id(&first), &json!(true)));
    age(&place, "same", 2);
    assert_ne!(id(&write()), id(&first));
}

#[test]
fn c09_the_same_packet_from_many_calls_at_once_is_written_once() {
    let place = Place::new();
    let mut servers: Vec<Server> = (0..3).map(|_| place.agent("scout")).collect();
    let same = json!({"title": "same", "summary": "s", "next_steps": ["x"], "refs": []});
    let asked: Vec<Vec<u64>> = servers
        .iter_mut()
        .map(|server| (0..3).map(|_| server.send_call("handoff", same.clone())).collect())
        .collect();
    let mut ids = Vec::new();
    for (server, asked) in servers.iter_mut().zip(asked) {
        ids.extend(asked.into_iter().map(|asked| id(&server.answer(asked))));
    }
    ids.dedup();
    assert_eq!(ids.len(), 1, "{ids:?}");
    assert_eq!(place.count("SELECT count(*) FROM handoff"), 1);
    place.verify_clean();
}

#[test]
fn a_packet_written_in_a_git_work_tree_says_where_it_stood() {
    let place = Place::new();
    let git = |args: &[&str]| {
        let ran = std::process::Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "commit.gpgsign=false",
            ])
            .args(args)
            .current_dir(place.work())
            .output()
            .expect("git runs");
        assert!(ran.status.success(), "{ran:?}");
        String::from_utf8_lossy(&ran.stdout).trim().to_owned()
    };
    git(&["init", "-q", "-b", "topic"]);
    std::fs::write(place.work().join("a"), "1").expect("a file");
    git(&["add", "a"]);
    git(&["commit", "-q", "-m", "first"]);
    let mut scout = place.agent("scout");
    let clean = scout.hand_off("clean", json!({"next_steps": ["x"]}));
    assert_eq!(
        clean["packet"]["git"],
        json!({"branch": "topic", "commit": git(&["rev-parse", "HEAD"]), "dirty": false})
    );
    std::fs::write(place.work().join("a"), "2").expect("a file");
    assert_eq!(
        scout.hand_off("dirty", json!({"next_steps": ["x"]}))["packet"]["git"]["dirty"],
        true
    );
    let outside = scout.hand_off("outside", json!({"next_steps": ["x"], "cwd": place.home()}));
    assert!(outside["packet"].get("git").is_none(), "{outside}");
    place.verify_clean();
}

#[test]
fn a_packet_over_its_limit_is_refused_with_the_limit() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut refused = |name: &str, value: Value, words: &[&str]| {
        let mut packet = json!({"title": "t", "summary": "s"});
        packet[name] = value;
        let refusal = scout.refuse("handoff", packet, "invalid_argument");
        for word in words.iter().chain([&name]) {
            assert!(refusal.text().contains(word), "{name}, {word}: {refusal:?}");
        }
    };
    refused("title", json!("→".repeat(201)), &["201", "200"]);
    refused("title", json!(" "), &[]);
    refused("summary", json!("s".repeat(16 * 1024 + 1)), &["16385", "16384"]);
    for list in ["next_steps", "open_questions", "files_touched"] {
        refused(list, json!(vec!["x"; 65]), &["65", "64"]);
        refused(list, json!(["x".repeat(2049)]), &["2049", "2048"]);
    }
    refused("cwd", json!(format!("/{}", "x".repeat(1024))), &["1025", "1024"]);
    refused("to_agent", json!("a".repeat(257)), &["257", "256"]);
    let refusal = scout.refuse(
        "handoff",
        json!({"title": "t", "summary": "s".repeat(16 * 1024), "next_steps": vec!["x".repeat(2048); 20]}),
        "invalid_argument",
    );
    assert!(refusal.text().contains("40960"), "{refusal:?}");
    let whole = json!({"summary": "s".repeat(16 * 1024), "next_steps": vec!["→"; 64], "refs": []});
    scout.hand_off(&"→".repeat(200), whole);
    assert_eq!(scout.stats()["handoffs"]["open"], 1);
}

#[test]
fn q14_a_packet_whose_every_ref_is_stale_stays_under_the_ceiling() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut other = place.agent(&"long-name-".repeat(25));
    for server in [&mut scout, &mut other] {
        let asked: Vec<u64> = (0..256)
            .map(|n| server.send_call("remember", json!({"scope": "s", "key": format!("k{n}"), "value": n})))
            .collect();
        asked.into_iter().for_each(|asked| drop(server.answer(asked)));
    }
    let refs: Vec<Value> = (0..256)
        .map(|n| json!({"scope": "s", "key": format!("k{n}"), "version": 1}))
        .collect();
    // The same values by another author are new versions; the harness holds every answer against the ceiling.
    scout.hand_off("all of them", json!({"refs": refs, "summary": "s".repeat(8 * 1024)}));
    let answer = resume(&mut place.agent("codex"));
    assert_eq!(answer["refs"].as_array().map(Vec::len), Some(256));
    assert_eq!(answer["stale"], 256);
}

#[test]
fn q14_a_long_queue_of_long_packets_stays_under_the_ceiling() {
    let place = Place::new();
    let long = "agent-name".repeat(25);
    let home = "路".repeat(85);
    let start = place
        .start()
        .env("MEMORY_WORKSPACE", &home)
        .env("MEMORY_PROJECT", &home);
    let mut scout = start.clone().agent(&long).env("MEMORY_OWNER", &long).serve();
    for n in 0..25 {
        let title = format!("{n:02}{}", "🙂".repeat(198));
        let cwd = format!("/{}", "x".repeat(1_000));
        scout.hand_off(&title, json!({"cwd": cwd, "to_agent": "codex", "next_steps": ["x"]}));
    }
    let mut codex = start.agent("codex").env("MEMORY_OWNER", &long).serve();
    let seen = peek(&mut codex);
    assert_eq!(seen["waiting"], 25);
    assert!(!seen["packets"].as_array().expect("packets").is_empty());
    assert!(!codex.stats()["waiting"].as_array().expect("packets").is_empty());
}
