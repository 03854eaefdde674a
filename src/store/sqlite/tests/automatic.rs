//! Packets that hooks write, and what is swept when one of them is written or taken.

use super::*;
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{EndedAs, Origin, State};

fn automatic(title: &str, cwd: &str) -> NewHandoff {
    NewHandoff {
        origin: Origin::Automatic,
        cwd: Some(Cwd::new(cwd).unwrap()),
        ..titled(title)
    }
}

fn in_place(agent: &str, session: &str, cwd: &str, now: Time) -> Actor {
    Actor {
        cwd: Some(Cwd::new(cwd).unwrap()),
        ..actor(agent, Some(session), None, now)
    }
}

#[test]
fn a_new_automatic_packet_supersedes_that_of_its_own_session_alone() {
    let bench = Bench::new();
    let (mine, other) = (in_place("a", "s1", "/app", at(0)), in_place("a", "s2", "/app", at(0)));
    let first = bench.hand_off(&mine, automatic("1", "/app")).seen.packet.id;
    let beside = bench.hand_off(&other, automatic("2", "/app")).seen.packet.id;
    let by_hand = bench.hand_off(&mine, titled("by hand")).seen.packet.id;
    let newest = bench.hand_off(&mine, automatic("3", "/app")).seen.packet.id;
    let ended = bench.packet(at(1), &first);
    assert_eq!(
        (ended.state, ended.ended_as, ended.superseded_by),
        (State::Expired, Some(EndedAs::Superseded), Some(newest))
    );
    assert_eq!(bench.packet(at(1), &beside).state, State::Open);
    assert_eq!(bench.packet(at(1), &by_hand).state, State::Open);
    bench.proved();
}

#[test]
fn taking_an_automatic_packet_in_its_place_sweeps_the_older_ones_there() {
    let bench = Bench::new();
    let write = |n: u32, cwd: &str| {
        let writer = in_place("a", &format!("s{n}"), cwd, at(n.into()));
        bench.hand_off(&writer, automatic(&n.to_string(), cwd)).seen.packet.id
    };
    let (older, elsewhere, newest) = (write(1, "/app"), write(2, "/other"), write(3, "/app/"));
    let by_hand = bench
        .hand_off(&in_place("a", "s4", "/app", at(4)), titled("by hand"))
        .seen
        .packet
        .id;
    let reader = in_place("b", "r", "/app", at(5));
    // What was written on purpose goes first, then the newest of what hooks wrote here.
    assert_eq!(bench.resume(&reader), Some(by_hand));
    assert_eq!(bench.resume(&reader), Some(newest.clone()));
    let swept = bench.packet(at(6), &older);
    assert_eq!((swept.state, swept.superseded_by), (State::Expired, Some(newest)));
    assert_eq!(bench.packet(at(6), &elsewhere).state, State::Open);
    bench.proved();
}

#[test]
fn a_packet_without_a_session_pins_what_its_agent_wrote_since_its_last_one() {
    let bench = Bench::new();
    let cli = actor("a", None, None, at(0));
    let silent = |title: &str| NewHandoff {
        refs: None,
        ..titled(title)
    };
    bench.remember(&cli, "one", "1");
    assert_eq!(bench.hand_off(&cli, silent("first")).refs.len(), 1);
    bench.remember(&cli, "two", "2");
    bench.remember(&actor("b", None, None, at(0)), "three", "3");
    let pinned = bench.hand_off(&cli, silent("second")).refs;
    assert_eq!(
        pinned.iter().map(|one| one.version.at.key.as_str()).collect::<Vec<_>>(),
        ["two"]
    );
    bench.proved();
}

#[test]
fn a_clock_that_went_back_does_not_take_the_order_with_it() {
    let bench = Bench::new();
    bench.remember(&actor("a", None, None, at(100)), "k", "1");
    bench.remember(&actor("a", None, None, at(0)), "k", "2");
    bench.remember(&actor("b", None, None, at(50)), "k", "3");
    bench.proved();
}
