//! Reports over MCP: how far they move confidence, that each counts once, and what they do to a packet.

use serde_json::{Value, json};

use crate::handoffs::{end, id, resume};
use crate::harness::{Place, Server, assert_warned, warned};

/// A report on records of scope `app`, each named by its key, or by key and version.
fn report(outcome: &str, outcome_ref: &str, refs: &[(&str, Option<u64>)]) -> Value {
    let refs: Vec<Value> = refs
        .iter()
        .map(|(key, version)| json!({"scope": "app", "key": key, "version": version}))
        .collect();
    json!({"outcome": outcome, "outcome_ref": outcome_ref, "refs": refs})
}

#[track_caller]
fn record(server: &mut Server, outcome: &str, outcome_ref: &str, refs: &[(&str, Option<u64>)]) -> Value {
    server.call("record_outcome", report(outcome, outcome_ref, refs))
}

#[track_caller]
fn write(server: &mut Server, key: &str, value: Value, confidence: f64) {
    server.call(
        "remember",
        json!({"scope": "app", "key": key, "value": value, "confidence": confidence}),
    );
}

/// Confidence, successes and failures of one version.
#[track_caller]
fn opinion(server: &mut Server, key: &str, version: u64) -> (f64, u64, u64) {
    let answer = server.call("recall", json!({"scope": "app", "key": key, "version": version}));
    let record = &answer["records"][0];
    (
        record["confidence"].as_f64().expect("a confidence"),
        record["successes"].as_u64().expect("successes"),
        record["failures"].as_u64().expect("failures"),
    )
}

fn entries(place: &Place) -> i64 {
    place.count("SELECT count(*) FROM ledger")
}

#[test]
fn success_and_failure_move_confidence_by_the_two_numbers() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "up", json!(1), 0.8);
    write(&mut scout, "down", json!(1), 0.6);
    scout.remember("app", "silent", json!(1));
    assert_eq!(
        record(&mut scout, "success", "run-1", &[("up", None)]),
        json!({
            "outcome_ref": "run-1",
            "outcome": "success",
            "moved": [{"scope": "app", "key": "up", "version": 1, "before": 0.8, "after": 0.84}]
        })
    );
    let down = record(&mut scout, "failure", "run-1", &[("down", Some(1))]);
    assert_eq!(
        (&down["moved"][0]["before"], &down["moved"][0]["after"]),
        (&json!(0.6), &json!(0.39))
    );
    assert_eq!(opinion(&mut scout, "up", 1), (0.84, 1, 0));
    assert_eq!(opinion(&mut scout, "down", 1), (0.39, 0, 1));
    assert_eq!(
        opinion(&mut scout, "silent", 1),
        (0.7, 0, 0),
        "0.7 when the writer is silent"
    );
}

#[test]
fn h14_confidence_stays_inside_its_bounds() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "sure", json!(1), 1.0);
    write(&mut scout, "never", json!(1), 0.0);
    write(&mut scout, "worn", json!(1), 1.0);
    for n in 0..40 {
        record(&mut scout, "success", &format!("up-{n}"), &[("sure", None)]);
        record(
            &mut scout,
            "failure",
            &format!("down-{n}"),
            &[("never", None), ("worn", None)],
        );
    }
    assert_eq!(opinion(&mut scout, "sure", 1), (1.0, 40, 0));
    assert_eq!(opinion(&mut scout, "never", 1), (0.0, 0, 40));
    let (worn, _, failures) = opinion(&mut scout, "worn", 1);
    assert!((0.0..0.001).contains(&worn) && failures == 40, "{worn}");
    record(&mut scout, "success", "at last", &[("never", None)]);
    assert_eq!(opinion(&mut scout, "never", 1).0, 0.2);
    place.verify_clean();
}

#[test]
fn h14_one_outcome_ref_counts_once_per_version() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.5);
    let first = record(&mut scout, "success", "run-1", &[("plan", None)]);
    assert!(first.get("repeated").is_none(), "{first}");
    let before = entries(&place);
    let mut other = place.agent("other");
    for server in [&mut scout, &mut other] {
        let again = record(server, "success", " run-1 ", &[("plan", Some(1))]);
        assert_eq!(again["repeated"], true);
        assert_eq!(again["moved"], first["moved"], "the first answer");
    }
    assert_eq!(entries(&place), before, "a repeat writes nothing");
    assert_eq!(opinion(&mut scout, "plan", 1), (0.6, 1, 0));
    // Another run is another report.
    record(&mut scout, "success", "run-2", &[("plan", None)]);
    assert_eq!(opinion(&mut scout, "plan", 1), (0.68, 2, 0));
    // The first answer is the one of its time.
    let again = record(&mut scout, "success", "run-1", &[("plan", None)]);
    assert_eq!(again["moved"], first["moved"]);
}

#[test]
fn h14_duplicates_in_one_call_are_collapsed() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.5);
    let five = [
        ("plan", None),
        ("plan", Some(1)),
        ("plan", None),
        ("plan", Some(1)),
        (" plan ", None),
    ];
    let told = record(&mut scout, "failure", "run-1", &five);
    assert_eq!(told["moved"].as_array().map(Vec::len), Some(1), "{told}");
    assert_eq!(opinion(&mut scout, "plan", 1), (0.325, 0, 1));
}

#[test]
fn h14_two_hundred_refs_are_moved_and_257_are_refused() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let keys: Vec<String> = (0..257).map(|n| format!("k{n}")).collect();
    for (n, key) in keys.iter().enumerate() {
        scout.remember("app", key, json!(n));
    }
    let refs: Vec<(&str, Option<u64>)> = keys.iter().map(|key| (key.as_str(), None)).collect();
    let told = record(&mut scout, "success", "run-1", &refs[..200]);
    // A long list is cut, and then its length is told.
    let listed = told["moved"].as_array().map(Vec::len).expect("moved");
    assert!(listed == 200 || told["moved_total"] == 200, "{listed} listed of 200");
    assert_eq!(opinion(&mut scout, "k199", 1), (0.76, 1, 0));
    assert_eq!(opinion(&mut scout, "k200", 1), (0.7, 0, 0), "nothing else is credited");
    let before = entries(&place);
    let refusal = scout.refuse("record_outcome", report("success", "run-2", &refs), "invalid_argument");
    assert!(
        refusal.text().contains("256") && refusal.text().contains("257"),
        "{refusal:?}"
    );
    assert_eq!(entries(&place), before);
    place.verify_clean();
}

#[test]
fn h14_a_superseded_version_moves_itself_and_the_reply_says_so() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.8);
    write(&mut scout, "plan", json!(2), 0.5);
    let told = record(&mut scout, "success", "run-1", &[("plan", Some(1))]);
    assert_eq!(
        told["moved"],
        json!([{"scope": "app", "key": "plan", "version": 1, "before": 0.8, "after": 0.84, "superseded": true}])
    );
    assert_warned(&told, &["app/plan", "version 1", "superseded"]);
    assert_eq!(opinion(&mut scout, "plan", 1), (0.84, 1, 0));
    assert_eq!(
        opinion(&mut scout, "plan", 2),
        (0.5, 0, 0),
        "the newer one is left alone"
    );
    place.verify_clean();
}

#[test]
fn h14_outcomes_are_read_in_any_case_and_unknown_ones_list_what_there_is() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    assert_eq!(
        record(&mut scout, "SUCCESS", "run-1", &[("plan", None)])["outcome"],
        "success"
    );
    assert_eq!(
        record(&mut scout, " Failure ", "run-2", &[("plan", None)])["outcome"],
        "failure"
    );
    for wrong in ["succes", "ok", "true", "done"] {
        let refusal = scout.refuse(
            "record_outcome",
            report(wrong, "run-3", &[("plan", None)]),
            "invalid_argument",
        );
        for word in ["outcome", "success", "failure", "abandoned", "released"] {
            assert!(refusal.text().contains(word), "{word}: {refusal:?}");
        }
    }
}

#[test]
fn the_opposite_outcome_is_a_conflict_and_nothing_of_that_call_is_recorded() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for key in ["first", "counted", "last"] {
        write(&mut scout, key, json!(1), 0.5);
    }
    record(&mut scout, "success", "run-1", &[("counted", None)]);
    scout.hand_off("waits", json!({"refs": [{"scope": "app", "key": "last"}]}));
    let mut codex = place.agent("codex");
    let packet = id(&resume(&mut codex));
    let before = entries(&place);
    let texts = place.count("SELECT count(*) FROM content");
    let mut opposite = report(
        "failure",
        "run-1",
        &[("first", None), ("counted", None), ("last", None)],
    );
    opposite["handoff_id"] = json!(packet);
    opposite["note"] = json!("it broke");
    let refusal = codex.refuse("record_outcome", opposite, "conflict");
    for word in ["run-1", "success", "app/counted"] {
        assert!(refusal.text().contains(word), "{word}: {refusal:?}");
    }
    assert_eq!(entries(&place), before);
    assert_eq!(
        place.count("SELECT count(*) FROM content"),
        texts,
        "the note is not kept"
    );
    for key in ["first", "last"] {
        assert_eq!(opinion(&mut scout, key, 1), (0.5, 0, 0), "{key}");
    }
    assert_eq!(opinion(&mut scout, "counted", 1), (0.6, 1, 0));
    let seen = codex.call("resume", json!({"peek": true, "handoff_id": packet}));
    assert_eq!(seen["packet"]["state"], "accepted", "the packet is not closed either");
    place.verify_clean();
}

#[test]
fn a_ref_without_version_that_this_run_counted_at_any_version_is_a_repeat() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.5);
    let first = record(&mut scout, "success", "run-1", &[("plan", None)]);
    write(&mut scout, "plan", json!(2), 0.5);
    // The client's retry, after the record has moved on.
    let again = record(&mut scout, "success", "run-1", &[("plan", None)]);
    assert_eq!(again["repeated"], true);
    assert_eq!(again["moved"][0]["version"], 1);
    assert_eq!(again["moved"][0]["after"], first["moved"][0]["after"]);
    assert_eq!(opinion(&mut scout, "plan", 2), (0.5, 0, 0));
    scout.refuse(
        "record_outcome",
        report("failure", "run-1", &[("plan", None)]),
        "conflict",
    );
    // Named by its number, the newer version counts on its own.
    let newer = record(&mut scout, "failure", "run-1", &[("plan", Some(2))]);
    assert!(newer.get("repeated").is_none(), "{newer}");
    assert_eq!(opinion(&mut scout, "plan", 2), (0.325, 0, 1));
    place.verify_clean();
}

#[test]
fn a_partly_repeated_report_counts_what_is_new() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "old", json!(1), 0.5);
    write(&mut scout, "new", json!(1), 0.5);
    let first = record(&mut scout, "success", "run-1", &[("old", None)]);
    let both = record(&mut scout, "success", "run-1", &[("old", None), ("new", None)]);
    assert!(both.get("repeated").is_none(), "{both}");
    assert_eq!(both["moved"][0], first["moved"][0]);
    assert_eq!(both["moved"][1]["after"], 0.6);
    assert_eq!(opinion(&mut scout, "old", 1), (0.6, 1, 0));
}

#[test]
fn a_packets_pins_are_moved_when_no_refs_are_given() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.8);
    write(&mut scout, "facts", json!(1), 0.6);
    let packet = id(&scout.hand_off("two pins", json!({})));
    write(&mut scout, "facts", json!(2), 0.6);
    let mut codex = place.agent("codex");
    resume(&mut codex);
    let told = codex.call(
        "record_outcome",
        json!({"outcome": "failure", "outcome_ref": "run-1", "handoff_id": packet, "note": "it broke"}),
    );
    assert_eq!(
        told["packet"],
        json!({"id": packet, "state": "closed", "ended_as": "failure"})
    );
    assert_eq!(
        told["moved"],
        json!([
            {"scope": "app", "key": "plan", "version": 1, "before": 0.8, "after": 0.52},
            {"scope": "app", "key": "facts", "version": 1, "before": 0.6, "after": 0.39, "superseded": true}
        ])
    );
    assert_eq!(opinion(&mut scout, "facts", 2), (0.6, 0, 0));
    place.verify_clean();
}

#[test]
fn given_refs_are_moved_in_place_of_the_packets_pins() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "pinned", json!(1), 0.5);
    write(&mut scout, "other", json!(1), 0.5);
    let packet = id(&scout.hand_off("one pin", json!({"refs": [{"scope": "app", "key": "pinned"}]})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    let mut one = report("success", "run-1", &[("other", None)]);
    one["handoff_id"] = json!(packet);
    let told = codex.call("record_outcome", one);
    assert_eq!(told["packet"]["state"], "closed");
    assert_eq!(told["moved"].as_array().map(Vec::len), Some(1));
    assert_eq!(opinion(&mut scout, "other", 1), (0.6, 1, 0));
    assert_eq!(opinion(&mut scout, "pinned", 1), (0.5, 0, 0));
}

#[test]
fn pins_that_this_run_counted_keep_their_first_answer_and_never_conflict() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "counted", json!(1), 0.5);
    write(&mut scout, "fresh", json!(1), 0.5);
    let packet = id(&scout.hand_off("two pins", json!({})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    record(&mut codex, "success", "run-1", &[("counted", None)]);
    let told = codex.call(
        "record_outcome",
        json!({"outcome": "failure", "outcome_ref": "run-1", "handoff_id": packet}),
    );
    assert_eq!(told["packet"]["ended_as"], "failure");
    assert_eq!(
        told["moved"],
        json!([
            {"scope": "app", "key": "counted", "version": 1, "before": 0.5, "after": 0.6},
            {"scope": "app", "key": "fresh", "version": 1, "before": 0.5, "after": 0.325}
        ])
    );
    assert_eq!(opinion(&mut scout, "counted", 1), (0.6, 1, 0));
    place.verify_clean();
}

/// A packet with one pin, closed by codex as a success of `run-1`.
fn closed(place: &Place) -> (Server, String) {
    let mut scout = place.agent("scout");
    write(&mut scout, "pinned", json!(1), 0.5);
    let packet = id(&scout.hand_off("one pin", json!({})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    let report = json!({"outcome": "success", "outcome_ref": "run-1", "handoff_id": packet});
    assert_eq!(codex.call("record_outcome", report)["packet"]["state"], "closed");
    (codex, packet)
}

#[test]
fn the_same_report_on_a_closed_packet_is_a_repeat() {
    let place = Place::new();
    let (mut codex, packet) = closed(&place);
    let before = entries(&place);
    let again = codex.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "run-1", "handoff_id": packet}),
    );
    assert_eq!(again["repeated"], true);
    assert_eq!(
        again["packet"],
        json!({"id": packet, "state": "closed", "ended_as": "success"})
    );
    assert_eq!(
        again["moved"],
        json!([{"scope": "app", "key": "pinned", "version": 1, "before": 0.5, "after": 0.6}])
    );
    assert!(again.get("warnings").is_none(), "{again}");
    assert_eq!(entries(&place), before);
    // Another session of the same agent repeats, too.
    let again = place.agent("CODEX").call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "run-1", "handoff_id": packet}),
    );
    assert_eq!(again["repeated"], true);
}

#[test]
fn another_report_on_a_closed_packet_moves_its_refs_alone_and_warns() {
    let place = Place::new();
    let (mut codex, packet) = closed(&place);
    write(&mut codex, "other", json!(1), 0.5);
    let mut another = report("failure", "run-2", &[("other", None)]);
    another["handoff_id"] = json!(packet);
    let told = codex.call("record_outcome", another);
    assert_warned(&told, &[&packet, "closed", "left alone"]);
    assert_eq!(
        told["packet"],
        json!({"id": packet, "state": "closed", "ended_as": "success"})
    );
    assert_eq!(told["moved"].as_array().map(Vec::len), Some(1));
    assert_eq!(opinion(&mut codex, "other", 1), (0.325, 0, 1));
    // Without refs only given ones could move, and none were.
    let told = codex.call(
        "record_outcome",
        json!({"outcome": "failure", "outcome_ref": "run-3", "handoff_id": packet}),
    );
    assert_eq!(told["moved"], json!([]));
    assert_warned(&told, &["left alone"]);
    assert_eq!(opinion(&mut codex, "pinned", 1), (0.6, 1, 0));
    // The same run with the opposite word is no repeat of the first report.
    let told = codex.call(
        "record_outcome",
        json!({"outcome": "failure", "outcome_ref": "run-1", "handoff_id": packet}),
    );
    assert!(told.get("repeated").is_none(), "{told}");
    assert_warned(&told, &["left alone"]);
    assert_eq!(opinion(&mut codex, "pinned", 1), (0.6, 1, 0));
    // Another agent's same words are not the holder's repeat.
    let told = place.agent("claude").call(
        "record_outcome",
        json!({"outcome": "abandoned", "outcome_ref": "run-1", "handoff_id": packet}),
    );
    assert_warned(&told, &["left alone"]);
    assert_eq!(told["packet"]["ended_as"], "success");
    place.verify_clean();
}

#[test]
fn abandoned_and_released_move_no_confidence() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "pinned", json!(1), 0.5);
    let packet = id(&scout.hand_off("one pin", json!({})));
    let mut codex = place.agent("codex");
    for outcome in ["released", "abandoned"] {
        resume(&mut codex);
        let mut told = report(outcome, &format!("{outcome}-1"), &[("pinned", None)]);
        told["handoff_id"] = json!(packet);
        told["note"] = json!("because");
        let told = codex.call("record_outcome", told);
        assert_eq!(told["moved"], json!([]), "{outcome}");
        assert_eq!(opinion(&mut scout, "pinned", 1), (0.5, 0, 0), "{outcome}");
    }
    let seen = codex.call("resume", json!({"peek": true, "handoff_id": packet}));
    assert_eq!(
        (&seen["packet"]["state"], &seen["packet"]["ended_as"]),
        (&json!("closed"), &json!("abandoned"))
    );
    place.verify_clean();
}

#[test]
fn a_release_that_is_sent_again_is_a_repeat_and_keeps_the_next_holder() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let packet = id(&scout.hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    end(&mut codex, &packet, "released");
    let before = entries(&place);
    let again = end(&mut codex, &packet, "released");
    assert_eq!(again["repeated"], true);
    assert_eq!(again["packet"], json!({"id": packet, "state": "open"}));
    assert_eq!(entries(&place), before);
    // Somebody else has it by now: the late retry takes it from nobody.
    let mut claude = place.agent("claude");
    resume(&mut claude);
    let late = end(&mut codex, &packet, "released");
    assert_eq!(late["packet"]["state"], "accepted");
    let seen = claude.call("resume", json!({"peek": true, "handoff_id": packet}));
    assert_eq!(seen["packet"]["accepted_by"], "claude");
    place.verify_clean();
}

#[test]
fn a_report_after_a_release_moves_its_refs_and_leaves_the_packet_open() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "pinned", json!(1), 0.5);
    let packet = id(&scout.hand_off("one pin", json!({})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    end(&mut codex, &packet, "released");
    let mut late = report("failure", "run-1", &[("pinned", None)]);
    late["handoff_id"] = json!(packet);
    let told = codex.call("record_outcome", late);
    assert_warned(&told, &["left alone"]);
    assert_eq!(told["packet"], json!({"id": packet, "state": "open"}));
    assert_eq!(opinion(&mut scout, "pinned", 1), (0.325, 0, 1));
    place.verify_clean();
}

#[test]
fn a_report_on_nothing_is_refused() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let refusal = scout.refuse(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "r", "refs": [{"scope": "a", "key": "b"}]}),
        "not_found",
    );
    assert!(refusal.text().contains("a/b"), "{refusal:?}");
    assert!(!place.db().exists(), "a refused report makes no file");
    scout.remember("app", "plan", json!(1));
    for nothing in [json!(null), json!([])] {
        let refusal = scout.refuse(
            "record_outcome",
            json!({"outcome": "success", "outcome_ref": "r", "refs": nothing}),
            "invalid_argument",
        );
        assert!(
            refusal.text().contains("refs") && refusal.text().contains("handoff_id"),
            "{refusal:?}"
        );
    }
    for missing in [("plan", Some(2)), ("nothing", None)] {
        let both = report("success", "r", &[("plan", None), missing]);
        scout.refuse("record_outcome", both, "not_found");
    }
    assert_eq!(opinion(&mut scout, "plan", 1), (0.7, 0, 0), "all or nothing");
    scout.refuse(
        "record_outcome",
        report("success", " ", &[("plan", None)]),
        "invalid_argument",
    );
}

#[test]
fn c09_the_same_report_from_two_processes_at_once_counts_once() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    write(&mut scout, "plan", json!(1), 0.5);
    let mut servers: Vec<Server> = (0..3).map(|_| place.agent("codex")).collect();
    let asked: Vec<Vec<u64>> = servers
        .iter_mut()
        .map(|server| {
            let one = || report("success", "run-1", &[("plan", None)]);
            (0..4).map(|_| server.send_call("record_outcome", one())).collect()
        })
        .collect();
    let mut first = 0;
    for (server, asked) in servers.iter_mut().zip(asked) {
        for asked in asked {
            let told = server.answer(asked);
            assert_eq!(told["moved"][0]["after"], 0.6);
            first += usize::from(!told["repeated"].is_boolean());
        }
    }
    assert_eq!(first, 1, "all but one are repeats");
    assert_eq!(opinion(&mut scout, "plan", 1), (0.6, 1, 0));
    place.verify_clean();
}

#[test]
fn a_note_belongs_to_the_report_and_is_bounded() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let mut noted = report("success", "run-1", &[("plan", None)]);
    noted["note"] = json!("n".repeat(16 * 1024));
    let told = scout.call("record_outcome", noted.clone());
    assert!(!warned(&told, &["note"]), "{told}");
    noted["outcome_ref"] = json!("run-2");
    noted["note"] = json!("n".repeat(16 * 1024 + 1));
    let refusal = scout.refuse("record_outcome", noted, "invalid_argument");
    assert!(
        refusal.text().contains("note") && refusal.text().contains("16385"),
        "{refusal:?}"
    );
    assert_eq!(opinion(&mut scout, "plan", 1), (0.76, 1, 0));
    place.verify_clean();
}

#[test]
fn q14_a_report_on_256_records_with_long_names_stays_under_the_ceiling() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let scope = "s".repeat(500);
    let refs: Vec<Value> = (0..256)
        .map(|n| json!({"scope": scope, "key": format!("{n}{}", "k".repeat(500))}))
        .collect();
    let asked: Vec<u64> = refs
        .iter()
        .map(|one| {
            scout.send_call(
                "remember",
                json!({"scope": one["scope"], "key": one["key"], "value": 1}),
            )
        })
        .collect();
    for asked in asked {
        scout.answer(asked);
    }
    // The harness holds every answer against the ceiling.
    let told = scout.call(
        "record_outcome",
        json!({"outcome": "success", "outcome_ref": "run-1", "refs": refs}),
    );
    assert!(!told["moved"].as_array().expect("moved").is_empty());
    assert_eq!(place.count("SELECT count(*) FROM opinion WHERE successes = 1"), 256);
}
