//! Another owner's packet does not exist for a caller: in no list, count, answer or message, nor by its id.

use serde_json::json;

use crate::handoffs::{end, id, peek, resume, titles};
use crate::harness::{Place, Server};

/// A server that acts for this person.
fn owned(place: &Place, agent: &str, owner: &str) -> Server {
    place.start().agent(agent).env("MEMORY_OWNER", owner).serve()
}

#[test]
fn another_owners_packet_does_not_exist() {
    let place = Place::new();
    let mut ann = owned(&place, "codex", "ann");
    ann.remember("app", "plan", json!(1));
    let hers = id(&ann.hand_off("hers", json!({"next_steps": ["x"]})));
    let unknown = "h_0123456789abcdef";
    for mut stranger in [
        owned(&place, "codex", "bob"),
        place.agent("codex"),
        owned(&place, "codex", "Ann"),
    ] {
        let nothing = resume(&mut stranger);
        assert!(nothing.get("packet").is_none(), "{nothing}");
        assert_eq!(
            (&nothing["waiting"], &nothing["elsewhere"], &nothing["unfinished"]),
            (&json!(0), &json!({"others": 0, "expired": 0}), &json!([]))
        );
        assert_eq!(peek(&mut stranger)["packets"], json!([]));
        let stats = stranger.stats();
        assert_eq!(
            stats["handoffs"],
            json!({"open": 0, "accepted": 0, "closed": 0, "expired": 0})
        );
        assert_eq!(stats["waiting"], json!([]));
        // By its id it is exactly as unknown as one that never was, for every use of an id.
        for (tool, arguments) in [
            ("resume", json!({"handoff_id": "ID"})),
            ("resume", json!({"handoff_id": "ID", "peek": true})),
            ("handoff", json!({"title": "t", "summary": "s", "supersedes": "ID"})),
            (
                "record_outcome",
                json!({"outcome": "abandoned", "outcome_ref": "r", "handoff_id": "ID"}),
            ),
            (
                "record_outcome",
                json!({"outcome": "success", "outcome_ref": "r", "handoff_id": "ID"}),
            ),
        ] {
            let mut refused = |id: &str| {
                let arguments = serde_json::from_str(&arguments.to_string().replace("ID", id)).expect("JSON");
                let refusal = stranger.refuse(tool, arguments, "not_found");
                refusal.text().replace(id, "ID")
            };
            assert_eq!(refused(&hers), refused(unknown), "{tool} {arguments}");
        }
    }
    let mut bob = owned(&place, "codex", "bob");
    assert_eq!(bob.hand_off("his", json!({"next_steps": ["x"]}))["open_by_you"], 1);
    // Records are everyone's; the packet is its owner's, in whatever agent.
    let mut her_other = owned(&place, "claude", "ann");
    assert_eq!(titles(&peek(&mut her_other)["packets"]), ["hers"]);
    let taken = resume(&mut her_other);
    assert_eq!((id(&taken), &taken["packet"]["accepted_owner"]), (hers, &json!("ann")));
}

#[test]
fn another_owners_claims_and_changes_are_neither_listed_nor_counted() {
    let place = Place::new();
    let mut scout = place.agent("scout");
    let shared = id(&scout.hand_off("shared", json!({"next_steps": ["x"]})));
    let mut ann = owned(&place, "codex", "ann");
    // Hers: written, claimed, closed; none of it is a change for others.
    let mut writer = owned(&place, "scout", "ann");
    let hers = id(&writer.hand_off("hers", json!({"to_agent": "codex"})));
    assert_eq!(id(&resume(&mut ann)), hers);
    let mut bob = owned(&place, "codex", "bob");
    let seen = peek(&mut bob);
    assert_eq!(seen["unfinished"], json!([]));
    assert_eq!(seen["packets"][0]["id"], json!(shared));
    assert_eq!(seen["packets"][0]["changes_since"], json!({"total": 0, "by_author": 0}));
    let seen = peek(&mut ann);
    assert_eq!(seen["packets"][0]["changes_since"], json!({"total": 2, "by_author": 1}));
    assert_eq!(titles(&seen["unfinished"]), ["hers"]);
    end(&mut ann, &hers, "success");
    assert_eq!(
        peek(&mut bob)["packets"][0]["changes_since"],
        json!({"total": 0, "by_author": 0})
    );
    assert_eq!(bob.stats()["handoffs"]["closed"], 0);
    assert_eq!(ann.stats()["handoffs"]["closed"], 1);
    place.verify_clean();
}

#[test]
fn a_packet_is_its_writers_owners_unless_it_is_shared() {
    let place = Place::new();
    let mut ann = owned(&place, "scout", "ann");
    let hers = ann.hand_off("hers", json!({"next_steps": ["x"]}));
    assert_eq!(hers["packet"]["owner"], "ann");
    let shared = ann.hand_off("for all", json!({"shared": true, "next_steps": ["x"]}));
    assert!(shared["packet"].get("owner").is_none(), "{shared}");
    assert_eq!(shared["open_by_you"], 2);
    let nobodys = place.agent("scout").hand_off("nobody's", json!({"next_steps": ["x"]}));
    assert!(nobodys["packet"].get("owner").is_none(), "{nobodys}");
    for (owner, sees) in [
        ("bob", vec!["for all", "nobody's"]),
        ("ann", vec!["hers", "for all", "nobody's"]),
    ] {
        assert_eq!(
            titles(&peek(&mut owned(&place, "codex", owner))["packets"]),
            sees,
            "{owner}"
        );
    }
    // The same words, of another owner, are another packet.
    let his = owned(&place, "scout", "bob").hand_off("hers", json!({"next_steps": ["x"]}));
    assert!(his.get("unchanged").is_none(), "{his}");
    assert_eq!(his["packet"]["owner"], "bob");
    assert_eq!(his["open_by_you"], 3, "his, and the two that all may know of");
    place.verify_clean();
}

#[test]
fn the_id_of_another_owners_packet_stands_in_no_answer() {
    let place = Place::new();
    let mut ann = owned(&place, "scout", "ann");
    let mut bob = owned(&place, "codex", "bob");
    let mut leaks = Vec::new();
    let mut unseen = |what: &str, hidden: &str, shared: &str| {
        let answers = [
            peek(&mut bob),
            bob.call("resume", json!({"peek": true, "handoff_id": shared})),
            bob.stats(),
        ];
        for answer in answers {
            if answer.to_string().contains(hidden) {
                leaks.push(format!("{what}: {answer}"));
            }
        }
        let told = match bob.attempt("resume", json!({"handoff_id": shared})) {
            Ok(answer) => answer.to_string(),
            Err(refusal) => refusal.text(),
        };
        if told.contains(hidden) {
            leaks.push(format!("{what}: {told}"));
        }
    };
    // A shared packet goes on with an owned one.
    let hers = id(&ann.hand_off("hers", json!({"next_steps": ["x"]})));
    let mut next_session = owned(&place, "scout", "ann");
    assert_eq!(id(&resume(&mut next_session)), hers);
    let shared = next_session.hand_off("for all", json!({"shared": true, "next_steps": ["x"]}));
    assert_eq!(shared["packet"]["continues"], json!(hers));
    unseen("continues", &hers, &id(&shared));
    // A shared packet takes the place of an owned one.
    let hers = id(&ann.hand_off("hers again", json!({"next_steps": ["x"]})));
    let shared = ann.hand_off(
        "in its place",
        json!({"shared": true, "supersedes": hers, "next_steps": ["x"]}),
    );
    assert_eq!(shared["packet"]["supersedes"], json!(hers));
    unseen("supersedes", &hers, &id(&shared));
    // An owned packet takes the place of a shared one.
    let shared = id(&ann.hand_off("was for all", json!({"shared": true, "next_steps": ["x"]})));
    let hers = id(&ann.hand_off("now hers", json!({"supersedes": shared, "next_steps": ["x"]})));
    unseen("superseded_by", &hers, &shared);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

#[test]
fn an_owner_cancels_what_another_of_its_agents_wrote() {
    let place = Place::new();
    let hers = id(&owned(&place, "scout", "ann").hand_off("hers", json!({"next_steps": ["x"]})));
    let cancelled = end(&mut owned(&place, "codex", "ann"), &hers, "abandoned");
    assert_eq!(
        cancelled["packet"],
        json!({"id": hers, "state": "expired", "ended_as": "cancelled"})
    );
}
