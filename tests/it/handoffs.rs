//! The queue as agents see it over MCP: which packet a `resume` gives, who holds it, for how long, and how it ends.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::harness::{PATIENCE, Place, Server, assert_warned, warned};

/// Looks again and again until there is something to see; fails after [`PATIENCE`].
#[track_caller]
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < deadline, "{what}: not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// The id of the packet in an answer.
#[track_caller]
pub fn id(answer: &Value) -> String {
    answer["packet"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("no packet in {answer}"))
        .to_owned()
}

/// A bare `resume`; gives the whole answer.
#[track_caller]
pub fn resume(server: &mut Server) -> Value {
    server.call("resume", json!({}))
}

/// The title of what a bare `resume` gives; none when there is nothing for this agent.
#[track_caller]
pub fn next(server: &mut Server) -> Option<String> {
    resume(server)["packet"]["title"].as_str().map(str::to_owned)
}

/// `resume` of one packet by its id.
#[track_caller]
pub fn resume_id(server: &mut Server, id: &str) -> Value {
    server.call("resume", json!({"handoff_id": id}))
}

#[track_caller]
pub fn peek(server: &mut Server) -> Value {
    server.call("resume", json!({"peek": true}))
}

/// What `record_outcome` says of a packet without refs.
#[track_caller]
pub fn end(server: &mut Server, id: &str, outcome: &str) -> Value {
    let outcome_ref = format!("{outcome} of {id}");
    server.call(
        "record_outcome",
        json!({"outcome": outcome, "outcome_ref": outcome_ref, "handoff_id": id}),
    )
}

/// The titles of a list of packets or unfinished ones.
pub fn titles(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| one["title"].as_str().expect("a title")).collect()
}

/// A server with this lease on claims.
fn leased(place: &Place, agent: &str, lease: &str) -> Server {
    place.start().agent(agent).env("MEMORY_CLAIM_LEASE", lease).serve()
}

#[test]
fn h09_addressed_packets_come_before_unaddressed_ones_and_others_never() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.hand_off("for anyone", json!({"next_steps": ["a"]}));
    scout.hand_off("for claude", json!({"to_agent": "claude"}));
    scout.hand_off("for codex", json!({"to_agent": "codex"}));
    let mut codex = place.agent("codex");
    assert_eq!(titles(&peek(&mut codex)["packets"]), ["for codex", "for anyone"]);
    assert_eq!(next(&mut codex).as_deref(), Some("for codex"));
    assert_eq!(next(&mut codex).as_deref(), Some("for anyone"));
    // What is left is another's: the session's own unfinished packet is given instead.
    let again = resume(&mut codex);
    assert_eq!(again["already_yours"], true, "{again}");
    assert_eq!(again["waiting"], 0);
    assert_eq!(again["elsewhere"]["others"], 1);
}

#[test]
fn h09_the_id_of_a_packet_for_another_takes_it_with_a_warning() {
    let place = Place::new();
    let for_claude = id(&place
        .agent("scout")
        .hand_off("for claude", json!({"to_agent": "claude"})));
    let mut codex = place.agent("codex");
    assert_eq!(next(&mut codex), None);
    let taken = resume_id(&mut codex, &for_claude);
    assert_eq!(taken["packet"]["accepted_by"], "codex");
    assert_warned(&taken, &["addressed to", "claude"]);
    assert_eq!(next(&mut place.agent("claude")), None);
}

#[test]
fn h09_the_oldest_comes_first_among_equals() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for title in ["one", "two", "three"] {
        scout.hand_off(title, json!({"next_steps": ["x"]}));
    }
    let mut codex = place.agent("codex");
    let given: Vec<_> = (0..3).map(|_| next(&mut codex).expect("a packet")).collect();
    assert_eq!(given, ["one", "two", "three"]);
}

#[test]
fn h09_the_nearer_directory_comes_first_and_another_one_is_told() {
    let place = Place::new();
    let mut scout = place.start().agent("scout").cwd("/").serve();
    for (title, cwd) in [
        ("elsewhere", json!("/src/other")),
        ("a neighbour", json!("/src/app2")),
        ("below", json!("/src/app/web/css")),
        ("nowhere", json!(null)),
        ("above", json!("/src/app")),
        ("the same", json!("/src/app/web/")),
    ] {
        scout.hand_off(title, json!({"cwd": cwd, "next_steps": [title]}));
    }
    scout.hand_off(
        "addressed, elsewhere",
        json!({"cwd": "/src/other", "to_agent": "codex"}),
    );
    let mut codex = place.agent("codex");
    let mut given = Vec::new();
    for _ in 0..7 {
        let answer = codex.call("resume", json!({"cwd": "/src/app/web"}));
        let title = answer["packet"]["title"].as_str().expect("a packet").to_owned();
        let related = ["nowhere", "above", "the same"].contains(&title.as_str());
        assert_eq!(warned(&answer, &["directory"]), !related, "{title}: {answer}");
        assert_eq!(answer["packet"]["receiving_cwd"], "/src/app/web");
        given.push(title);
    }
    assert_eq!(
        given,
        [
            "addressed, elsewhere",
            "above",
            "the same",
            "nowhere",
            "elsewhere",
            "a neighbour",
            "below"
        ]
    );
}

#[test]
fn h09_root_and_the_home_folder_count_as_no_directory() {
    let place = Place::new();
    for cwd in ["/".into(), place.home()] {
        let mut scout = place.start().agent("scout").cwd(&cwd).serve();
        let written = scout.hand_off(&format!("from {}", cwd.display()), json!({"next_steps": ["x"]}));
        assert!(written["packet"].get("cwd").is_none(), "{written}");
    }
    let mut scout = place.agent("scout");
    let written = scout.hand_off("from work", json!({"next_steps": ["x"]}));
    let work = place.work().canonicalize().expect("the folder is there");
    assert_eq!(written["packet"]["cwd"], work.to_str().expect("UTF-8"));
}

#[test]
fn a_bare_resume_never_gives_a_session_its_own_packet() {
    let place = Place::new();
    let mut one = place.agent("codex");
    let mine = id(&one.hand_off("to my next session", json!({"next_steps": ["x"]})));
    let nothing = resume(&mut one);
    assert!(nothing.get("packet").is_none(), "{nothing}");
    assert_eq!(nothing["waiting"], 0);
    assert_eq!(nothing["refs"], json!([]));
    // Another session of the same agent is whom it is for.
    let mut two = place.agent("codex");
    assert_eq!(peek(&mut two)["waiting"], 1);
    assert_eq!(id(&resume(&mut two)), mine);
}

#[test]
fn its_own_packet_by_id_is_given_to_a_session_that_asks() {
    let place = Place::new();
    let mut codex = place.agent("codex");
    let mine = id(&codex.hand_off("changed my mind", json!({"next_steps": ["x"]})));
    assert_eq!(resume_id(&mut codex, &mine)["packet"]["state"], "accepted");
}

#[test]
fn h02_looking_is_not_taking() {
    let place = Place::new();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    let rows = place.count("SELECT count(*) FROM ledger");
    for _ in 0..3 {
        let seen = peek(&mut codex);
        assert_eq!(titles(&seen["packets"]), ["waits"]);
        assert_eq!(seen["packets"][0]["state"], "open");
        assert!(
            seen["packets"][0].get("summary").is_none(),
            "a list has no summary: {seen}"
        );
        assert_eq!(seen["waiting"], 1);
        let one = codex.call("resume", json!({"peek": true, "handoff_id": written}));
        assert_eq!(one["packet"]["state"], "open");
        assert_eq!(one["packet"]["summary"], "summary of waits");
        let stats = codex.stats();
        assert_eq!(titles(&stats["waiting"]), ["waits"]);
        assert_eq!(
            stats["handoffs"],
            json!({"open": 1, "accepted": 0, "closed": 0, "expired": 0})
        );
    }
    assert_eq!(place.count("SELECT count(*) FROM ledger"), rows, "looking wrote");
    assert_eq!(id(&resume(&mut place.agent("another"))), written);
}

#[test]
fn h02_helpers_on_one_connection_are_told_how_many_packets_are_open() {
    let place = Place::new();
    let mut codex = place.agent("codex");
    for n in 1..=6 {
        let written = codex.hand_off(&format!("helper {n}"), json!({"next_steps": ["x"]}));
        assert_eq!(written["open_by_you"], n);
    }
    // A helper that looks for work over the same connection does not swallow them.
    assert_eq!(next(&mut codex), None);
    let mut other = place.agent("scout");
    assert_eq!(other.hand_off("mine", json!({"next_steps": ["x"]}))["open_by_you"], 1);
}

#[test]
fn h02_a_claim_can_be_given_back_and_is_open_to_all_again() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    assert_eq!(id(&resume(&mut codex)), written);
    let released = end(&mut codex, &written, "released");
    assert_eq!(released["packet"], json!({"id": written, "state": "open"}));
    assert_eq!(released["moved"], json!([]));
    let seen = codex.call("resume", json!({"peek": true, "handoff_id": written}));
    for gone in ["accepted_by", "accepted_session", "accepted_at", "receiving_cwd"] {
        assert!(seen["packet"].get(gone).is_none(), "{gone}: {seen}");
    }
    assert_eq!(seen["unfinished"], json!([]));
    assert_eq!(id(&resume(&mut place.agent("claude"))), written);
    place.verify_clean();
}

#[test]
fn h03_a_packet_whose_holder_died_is_given_to_the_next_session_of_its_agent() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!("first"));
    let written = id(&scout.hand_off("waits", json!({})));
    let mut codex = place.agent("codex");
    let first = codex.stats()["session"].clone();
    // The reader dies before it reads the reply: the claim stands in the store, the answer is lost.
    codex.send_call("resume", json!({}));
    until("the claim", || {
        (place.count("SELECT count(*) FROM handoff WHERE state = 'accepted'") == 1).then_some(())
    });
    codex.kill();
    scout.remember("app", "plan", json!("second"));
    let mut again = place.agent("codex");
    let unfinished = peek(&mut again)["unfinished"].clone();
    assert_eq!(unfinished[0]["id"], json!(written));
    assert_eq!(unfinished[0]["session"], first);
    let given = resume(&mut again);
    assert_eq!(id(&given), written);
    assert_eq!(given["already_yours"], true);
    assert_eq!(given["held_by_session"], first);
    assert!(
        !warned(&given, &["session"]),
        "a holder that is gone needs no warning: {given}"
    );
    assert_eq!(given["packet"]["accepted_session"], again.stats()["session"]);
    // The same pin as before, held against what is there now.
    assert_eq!(given["refs"][0]["value"], "first");
    assert_eq!(given["refs"][0]["status"], "stale");
    assert_eq!(given["stale"], 1);
    assert_eq!(
        end(&mut again, &written, "success")["packet"],
        json!({"id": written, "state": "closed", "ended_as": "success"})
    );
    assert_eq!(next(&mut again), None, "a closed packet is given to nobody");
    place.verify_clean();
}

#[test]
fn h03_a_session_gets_its_own_unfinished_packet_again() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let written = id(&scout.hand_off("waits", json!({})));
    let mut codex = place.agent("codex");
    let first = resume(&mut codex);
    assert!(first.get("already_yours").is_none(), "{first}");
    assert_eq!(first["refs"][0]["status"], "current");
    scout.remember("app", "plan", json!(2));
    let again = resume(&mut codex);
    assert_eq!(id(&again), written);
    assert_eq!(again["already_yours"], true);
    assert!(again.get("held_by_session").is_none(), "{again}");
    assert_eq!(again["refs"][0]["status"], "stale", "the check is fresh");
    assert_eq!(again["refs"][0]["value"], 1, "the pin is not");
    // By its id it is the same.
    assert_eq!(resume_id(&mut codex, &written)["already_yours"], true);
    // A new packet goes first, and the one in hand is still listed.
    scout.hand_off("newer", json!({"next_steps": ["x"]}));
    let newer = resume(&mut codex);
    assert_eq!(newer["packet"]["title"], "newer");
    assert_eq!(titles(&newer["unfinished"]), ["waits"]);
}

#[test]
fn h03_a_live_holders_packet_is_only_listed_and_moves_by_its_id() {
    let place = Place::new();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut one = place.agent("codex");
    resume(&mut one);
    let holder = one.stats()["session"].clone();
    let mut two = place.agent("Codex");
    let bare = resume(&mut two);
    assert!(bare.get("packet").is_none(), "{bare}");
    assert_eq!(bare["unfinished"].as_array().map(Vec::len), Some(1));
    let listed = &bare["unfinished"][0];
    assert_eq!(
        (&listed["id"], &listed["title"], &listed["session"]),
        (&json!(written), &json!("waits"), &holder)
    );
    assert!(
        listed["age"].is_string() && listed["last_activity"].is_string(),
        "{listed}"
    );
    let moved = resume_id(&mut two, &written);
    assert_eq!(moved["already_yours"], true);
    assert_eq!(moved["held_by_session"], holder);
    assert_warned(&moved, &["session", holder.as_str().expect("a session")]);
    assert_eq!(moved["packet"]["accepted_session"], two.stats()["session"]);
    assert_eq!(
        place.count("SELECT count(*) FROM ledger WHERE kind = 'resumed'"),
        1,
        "moving writes `resumed`"
    );
    // Only the list remains for the first one.
    assert!(resume(&mut one).get("packet").is_none());
    place.verify_clean();
}

#[test]
fn a_packet_in_other_hands_is_refused_by_its_id_and_says_whose_it_is() {
    let place = Place::new();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    let mut claude = place.agent("claude");
    let refusal = claude.refuse("resume", json!({"handoff_id": written}), "conflict");
    assert!(refusal.text().contains("codex"), "{refusal:?}");
    let nothing = resume(&mut claude);
    assert!(nothing.get("packet").is_none() && nothing["waiting"] == 0, "{nothing}");
    // It is not claude's to end either.
    for outcome in ["success", "failure", "released", "abandoned"] {
        let report = json!({"outcome": outcome, "outcome_ref": "r", "handoff_id": written});
        claude.refuse("record_outcome", report, "not_allowed");
    }
    assert_eq!(codex.stats()["handoffs"]["accepted"], 1);
}

#[test]
fn a06_a_made_up_id_is_refused_and_nothing_is_claimed() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.hand_off("waits", json!({"next_steps": ["x"]}));
    let mut codex = place.agent("codex");
    let refusal = codex.refuse("resume", json!({"handoff_id": "null"}), "invalid_argument");
    assert!(refusal.text().contains("leave it out"), "{refusal:?}");
    codex.refuse("resume", json!({"handoff_id": "h_0123456789abcdef"}), "not_found");
    assert_eq!(peek(&mut codex)["waiting"], 1);
    assert_eq!(
        codex.call("resume", json!({"handoff_id": null, "cwd": ""}))["packet"]["title"],
        "waits"
    );
}

#[test]
fn h05_a_lapsed_claim_is_taken_over_and_the_late_one_is_told_by_whom() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    scout.remember("app", "plan", json!(1));
    let written = id(&scout.hand_off("waits", json!({})));
    let mut late = place.agent("codex");
    resume(&mut late);
    let mut claude = leased(&place, "claude", "1s");
    let taken = until("the lease lapses", || {
        let answer = resume(&mut claude);
        answer.get("packet").is_some().then_some(answer)
    });
    assert_eq!(id(&taken), written);
    assert_eq!(taken["took_over_from"], "codex");
    assert!(taken.get("already_yours").is_none(), "{taken}");
    assert_eq!(taken["packet"]["accepted_by"], "claude");
    // The late one's report moves what it acted on, leaves the packet alone and says by whom it was taken.
    let told = end(&mut late, &written, "success");
    assert_warned(&told, &["taken over", "claude"]);
    assert_eq!(told["packet"], json!({"id": written, "state": "accepted"}));
    assert_eq!(told["moved"][0]["key"], "plan");
    assert_eq!(told["moved"][0]["after"], 0.76);
    assert_eq!(scout.read("app", "plan")["confidence"], 0.76);
    let refusal = late.refuse("resume", json!({"handoff_id": written}), "conflict");
    assert!(refusal.text().contains("claude"), "{refusal:?}");
    assert_eq!(end(&mut claude, &written, "failure")["packet"]["state"], "closed");
    place.verify_clean();
}

#[test]
fn h05_a_lapsed_claim_that_nobody_took_may_still_be_closed() {
    let place = Place::new();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = leased(&place, "codex", "1s");
    resume(&mut codex);
    let mut claude = leased(&place, "claude", "1s");
    assert_eq!(peek(&mut claude)["waiting"], 0);
    until("the lease lapses", || (peek(&mut claude)["waiting"] == 1).then_some(()));
    let closed = end(&mut codex, &written, "success");
    assert_eq!(closed["packet"]["state"], "closed");
    assert!(closed.get("warnings").is_none(), "{closed}");
    assert_eq!(peek(&mut claude)["waiting"], 0);
    place.verify_clean();
}

#[test]
fn h05_a_lapsed_claim_of_a_live_session_is_given_to_the_agents_next_session() {
    let place = Place::new();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut one = leased(&place, "codex", "1s");
    resume(&mut one);
    let mut two = leased(&place, "codex", "1s");
    let given = until("the lease lapses", || {
        let answer = resume(&mut two);
        answer.get("packet").is_some().then_some(answer)
    });
    assert_eq!(id(&given), written);
    assert_eq!(given["already_yours"], true);
    assert_eq!(given["held_by_session"], one.stats()["session"]);
    assert!(given.get("took_over_from").is_none(), "{given}");
    place.verify_clean();
}

#[test]
fn h05_a_lease_of_zero_never_lapses_and_a_foreign_packet_by_id_is_taken_over() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("waits", json!({"to_agent": "codex"})));
    resume(&mut place.agent("codex"));
    let mut never = leased(&place, "claude", "0");
    let mut soon = leased(&place, "claude", "1s");
    // Addressed to another: only its id takes it.
    let taken = until("the lease lapses", || {
        assert!(resume(&mut soon).get("packet").is_none());
        assert!(never.attempt("resume", json!({"handoff_id": written})).is_err());
        soon.attempt("resume", json!({"handoff_id": written})).ok()
    });
    assert_eq!(taken["took_over_from"], "codex");
    assert_warned(&taken, &["addressed to", "codex"]);
    place.verify_clean();
}

#[test]
fn h05_any_write_of_the_claiming_session_renews_its_claim() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let lease = Duration::from_secs(2);
    // A machine that stalls for half a lease proves nothing; then it is tried again.
    for attempt in 0..20 {
        let written = id(&scout.hand_off(&format!("attempt {attempt}"), json!({"next_steps": ["x"]})));
        let mut codex = leased(&place, "codex", "2s");
        let mut claude = leased(&place, "claude", "2s");
        resume(&mut codex);
        let start = Instant::now();
        let (mut last, mut stalled, mut turn) = (start, false, 0);
        while start.elapsed() < lease + lease / 2 {
            turn += 1;
            codex.remember("work", "step", json!(turn));
            assert!(
                peek(&mut claude)["waiting"] == 0 || last.elapsed() > lease / 2,
                "the claim lapsed at work"
            );
            stalled |= last.elapsed() > lease / 2;
            last = Instant::now();
            std::thread::sleep(Duration::from_millis(50));
        }
        let closed = end(&mut codex, &written, "success");
        if !stalled {
            assert_eq!(closed["packet"]["state"], "closed");
            return;
        }
    }
    panic!("the machine stalled in every attempt");
}

#[test]
fn h05_each_sign_of_life_moves_the_last_activity() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("waits", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    resume(&mut codex);
    let mut watching = place.agent("codex");
    let mut last = String::new();
    let mut moved = |codex: &mut Server, how: &str, call: &str, arguments: Value| {
        let before = last.clone();
        last = until(how, || {
            codex.call(call, arguments.clone());
            let at = peek(&mut watching)["unfinished"][0]["last_activity"]
                .as_str()?
                .to_owned();
            (at > before).then_some(at)
        });
    };
    let mut turn = 0;
    for _ in 0..2 {
        turn += 1;
        moved(
            &mut codex,
            "remember",
            "remember",
            json!({"scope": "a", "key": "b", "value": turn}),
        );
        moved(&mut codex, "resume by id", "resume", json!({"handoff_id": written}));
    }
}

#[test]
fn h06_cancelling_is_the_authors_and_only_while_it_is_open() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("a mistake", json!({"next_steps": ["x"]})));
    let mut codex = place.agent("codex");
    codex.refuse(
        "record_outcome",
        json!({"outcome": "abandoned", "outcome_ref": "r", "handoff_id": written}),
        "not_allowed",
    );
    // Any session of the author's agent may.
    let cancelled = end(&mut place.agent("SCOUT"), &written, "abandoned");
    assert_eq!(
        cancelled["packet"],
        json!({"id": written, "state": "expired", "ended_as": "cancelled"})
    );
    assert_eq!(cancelled["moved"], json!([]));
    let refusal = codex.refuse("resume", json!({"handoff_id": written}), "conflict");
    assert!(refusal.text().contains("cancelled"), "{refusal:?}");
    let nothing = resume(&mut codex);
    assert_eq!(nothing["elsewhere"], json!({"others": 0, "expired": 1}));
    // Again, word for word: the same answer.
    assert_eq!(end(&mut scout, &written, "abandoned")["repeated"], true);
    place.verify_clean();
}

#[test]
fn h06_each_way_to_close_is_told_and_ends_the_packet() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let mut codex = place.agent("codex");
    for outcome in ["success", "failure", "abandoned"] {
        let written = id(&scout.hand_off(outcome, json!({"next_steps": ["x"]})));
        resume(&mut codex);
        let closed = end(&mut codex, &written, outcome);
        assert_eq!(
            closed["packet"],
            json!({"id": written, "state": "closed", "ended_as": outcome})
        );
        let seen = codex.call("resume", json!({"peek": true, "handoff_id": written}));
        assert_eq!(seen["packet"]["outcome_ref"], json!(format!("{outcome} of {written}")));
        assert_eq!(seen["packet"]["accepted_by"], "codex");
        assert!(seen["packet"]["closed_at"].is_string(), "{seen}");
        let refusal = codex.refuse("resume", json!({"handoff_id": written}), "conflict");
        assert!(refusal.text().contains(outcome), "{refusal:?}");
    }
    assert_eq!(
        codex.stats()["handoffs"],
        json!({"open": 0, "accepted": 0, "closed": 3, "expired": 0})
    );
    place.verify_clean();
}

#[test]
fn a_packet_that_nobody_took_is_not_closed_by_a_report() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("waits", json!({"next_steps": ["x"]})));
    for outcome in ["success", "failure", "released"] {
        let report = json!({"outcome": outcome, "outcome_ref": "r", "handoff_id": written});
        scout.refuse("record_outcome", report, "not_allowed");
    }
    assert_eq!(scout.stats()["handoffs"]["open"], 1);
}

#[test]
fn one_packet_has_one_claimant_whatever_the_number_that_ask_at_once() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let written = id(&scout.hand_off("one for all", json!({"next_steps": ["x"]})));
    let mut servers: Vec<Server> = (0..6).map(|n| place.agent(&format!("agent-{n}"))).collect();
    let asked: Vec<Vec<u64>> = servers
        .iter_mut()
        .map(|server| (0..3).map(|_| server.send_call("resume", json!({}))).collect())
        .collect();
    let mut holders = Vec::new();
    for (server, asked) in servers.iter_mut().zip(asked) {
        let answers: Vec<Value> = asked.into_iter().map(|asked| server.answer(asked)).collect();
        let taken = answers
            .iter()
            .filter(|answer| answer["packet"]["id"] == json!(written) && answer.get("already_yours").is_none());
        holders.extend(taken.map(|answer| answer["packet"]["accepted_by"].clone()));
    }
    assert_eq!(holders.len(), 1, "{holders:?}");
    assert_eq!(place.count("SELECT count(*) FROM ledger WHERE kind = 'accepted'"), 1);
    place.verify_clean();
}

#[test]
fn q13_an_empty_resume_says_what_there_is_for_others() {
    let place = Place::new();
    let mut codex = place.agent("codex");
    let empty = resume(&mut codex);
    assert_eq!(
        empty,
        json!({"refs": [], "stale": 0, "waiting": 0, "elsewhere": {"others": 0, "expired": 0}, "unfinished": []})
    );
    assert!(!place.db().exists(), "a resume of nothing makes no file");
    let mut scout = place.agent("scout");
    scout.hand_off("one", json!({"to_agent": "claude"}));
    scout.hand_off("two", json!({"to_agent": "claude"}));
    let cancelled = id(&scout.hand_off("three", json!({"next_steps": ["x"]})));
    end(&mut scout, &cancelled, "abandoned");
    let nothing = resume(&mut codex);
    assert_eq!(nothing["elsewhere"], json!({"others": 2, "expired": 1}));
    assert_eq!(nothing["waiting"], 0);
}

#[test]
fn h05_a_lapsed_claim_is_not_given_back_to_the_session_that_wrote_the_packet() {
    let place = Place::new();
    let mut scout = leased(&place, "scout", "1s");
    let written = id(&scout.hand_off("waits", json!({"next_steps": ["x"]})));
    resume(&mut place.agent("codex"));
    let mut claude = leased(&place, "claude", "1s");
    until("the lease lapses", || (peek(&mut claude)["waiting"] == 1).then_some(()));
    assert_eq!(peek(&mut scout)["packets"], json!([]));
    assert!(resume(&mut scout).get("packet").is_none());
    assert_eq!(id(&resume(&mut claude)), written);
}

#[test]
fn h03_a_named_session_is_the_same_in_a_later_process_and_never_known_to_be_gone() {
    let place = Place::new();
    let named = |name: &str| place.start().agent("codex").env("SESSION_ID", name).serve();
    let written = id(&place.agent("scout").hand_off("waits", json!({"next_steps": ["x"]})));
    let mut first = named("one");
    assert_eq!(resume(&mut first)["packet"]["accepted_session"], "one");
    first.kill();
    let bare = resume(&mut named("two"));
    assert!(bare.get("packet").is_none(), "{bare}");
    assert_eq!(bare["unfinished"][0]["session"], "one");
    let again = resume(&mut named("one"));
    assert_eq!((id(&again), &again["already_yours"]), (written, &json!(true)));
    assert!(again.get("held_by_session").is_none(), "{again}");
}

#[test]
fn h03_many_unfinished_packets_are_counted_and_the_newest_claims_listed() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    for n in 0..22 {
        scout.hand_off(&format!("packet {n}"), json!({"next_steps": ["x"]}));
    }
    let mut codex = place.agent("codex");
    for n in 0..22 {
        assert_eq!(next(&mut codex), Some(format!("packet {n}")));
    }
    let seen = peek(&mut place.agent("codex"));
    assert_eq!(seen["unfinished"].as_array().map(Vec::len), Some(20));
    assert_eq!(seen["unfinished_total"], 22);
    assert_eq!(seen["waiting"], 0);
    assert!(titles(&seen["unfinished"]).contains(&"packet 21"));
}
