//! Who is who, and what is to be known of packets: spellings of an agent's name, a time that is over, another owner's links.

use super::*;
use crate::domain::OutcomeRef;
use crate::domain::handoff::seen::Seen;
use crate::domain::handoff::{EndedAs, State};
use crate::domain::outcome::{NewOutcome, Report};

fn seen(bench: &Bench, actor: &Actor, id: &HandoffId) -> Seen {
    let peek = bench.store.peek(actor.clone(), Some(id.clone()), 1);
    bench.runtime.block_on(peek).unwrap().one.unwrap().0
}

#[test]
fn a_claim_is_renewed_by_its_agent_under_any_spelling_of_its_name() {
    let bench = Bench::new();
    let id = bench
        .hand_off(&actor("a", Some("s"), None, at(0)), titled("t"))
        .seen
        .packet
        .id;
    assert_eq!(bench.resume(&actor("dora", Some("run"), None, at(1))), Some(id.clone()));
    let lease = LEASE.millis() / 1_000;
    bench.remember(&actor("Dora", Some("run"), None, at(lease)), "k", "1");
    let other = |seconds| actor("b", Some("other"), None, at(seconds));
    assert_eq!(bench.resume(&other(lease + 2)), None, "renewed a moment ago");
    assert_eq!(bench.resume(&other(2 * lease)), Some(id), "and lapsed a lease later");
}

#[test]
fn an_agent_is_counted_once_however_its_name_is_spelled() {
    let bench = Bench::new();
    for (agent, key) in [("Anna", "a"), ("anna", "b"), ("ANNA", "c"), ("bert", "d")] {
        bench.remember(&actor(agent, None, None, at(0)), key, "1");
    }
    let stats = bench
        .runtime
        .block_on(bench.store.stats(actor("x", None, None, at(1))))
        .unwrap();
    let counts: Vec<u64> = stats.by_agent.0.iter().map(|(_, records)| *records).collect();
    assert_eq!((counts, stats.by_agent.1), (vec![3, 1], 2), "{:?}", stats.by_agent);
    assert_eq!(stats.by_scope, (vec![("s".to_owned(), 4)], 1));
}

#[test]
fn changes_of_the_author_are_those_under_any_spelling_also_when_there_are_many() {
    let bench = Bench::new();
    let id = bench
        .hand_off(&actor("anna", None, None, at(0)), titled("t"))
        .seen
        .packet
        .id;
    let several: Vec<_> = (0..4_100)
        .map(|n| {
            bench
                .store
                .remember(actor("ANNA", None, None, at(1)), version(&n.to_string(), "1"))
        })
        .collect();
    bench.runtime.block_on(async {
        for one in several {
            one.await.unwrap();
        }
    });
    let changes = seen(&bench, &actor("x", None, None, at(2)), &id).changes;
    assert_eq!((changes.total, changes.by_author), (4_100, 4_100));
}

#[test]
fn a_report_on_a_packet_whose_time_is_over_says_how_it_has_ended() {
    let bench = Bench::new();
    let id = bench
        .hand_off(&actor("a", Some("s"), None, at(0)), titled("t"))
        .seen
        .packet
        .id;
    let over = at(TTL.millis() / 1_000);
    let run = OutcomeRef::new("run").unwrap();
    let report = NewOutcome::new(Report::Success, run, None, Some(id), None).unwrap();
    let recording = bench.store.record(actor("b", None, None, over), report, TTL, false);
    let packet = bench.runtime.block_on(recording).unwrap().packet.unwrap();
    assert_eq!((packet.state, packet.ended_as), (State::Expired, Some(EndedAs::Ttl)));
    assert!(packet.left_alone.unwrap().contains("expired (ttl)"));
}

#[test]
fn that_another_owners_packet_took_a_place_is_no_change_for_who_may_not_know_it() {
    let bench = Bench::new();
    let ann = actor("a", Some("s"), Some("ann"), at(0));
    let shared = |title| NewHandoff {
        shared: true,
        ..titled(title)
    };
    let first = bench.hand_off(&ann, shared("first")).seen.packet.id;
    let second = bench.hand_off(&ann, shared("second")).seen.packet.id;
    let hers = NewHandoff {
        supersedes: Some(second),
        ..titled("hers")
    };
    bench.hand_off(&ann, hers);
    let changes = |owner| {
        let changes = seen(&bench, &actor("x", None, owner, at(1)), &first).changes;
        (changes.total, changes.by_author)
    };
    // Two packets were written and one has ended; hers, and that hers ended another, are hers to know.
    assert_eq!(changes(Some("ann")), (3, 3));
    assert_eq!(changes(Some("bob")), (1, 1));
    bench.proved();
}
