//! The store that these tests look at.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use rusqlite::params;
use serde_json::json;

use super::{Place, TTL, actor, at, outcome, packet, value};
use crate::domain::handoff::place::Cwd;
use crate::domain::handoff::{Git, HandoffId, NewHandoff, Origin};
use crate::domain::ledger::{Kind, NewEntry};
use crate::domain::outcome::{NewOutcome, Report};
use crate::domain::record::{NewVersion, Tags, version_subject};
use crate::domain::{Actor, Agent, Confidence, Owner, Ref, Span, Time};
use crate::store::sqlite::ledger::Journal;
use crate::store::sqlite::{connection, search};
use crate::store::{Durability, Store};

/// The bytes of a store in which there is one of everything.
pub fn written() -> &'static [u8] {
    static WRITTEN: OnceLock<Vec<u8>> = OnceLock::new();
    WRITTEN.get_or_init(|| {
        let place = Place::new();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(write(&place.store()));
        by_hand(&place.path());
        std::fs::read(place.path()).unwrap()
    })
}

/// Two projects with records, packets in every state, and outcomes with and without notes.
async fn write(store: &Store) {
    let (limit, plan, note) = (
        at("source/béta", "rate limit"),
        at("app", "plan"),
        at("app", "note \"x\""),
    );
    let scout = |minutes| actor("shop", "Scout", Some("s-1"), minutes);
    let executor = |minutes| Actor {
        cwd: Some(Cwd::new("/home/ex/work").unwrap()),
        owner: Some(Owner::new("ada").unwrap()),
        ..actor("shop", "executor", Some("s-2"), minutes)
    };
    let idle = |minutes| actor("shop", "hook", None, minutes);
    let remember = async |actor: Actor, new: NewVersion| store.remember(actor, new).await.unwrap();
    remember(
        scout(0),
        NewVersion {
            tags: Tags::new(&["rate".into(), "ärger".into()]).unwrap(),
            confidence: Some(Confidence::named("confidence", 0.6).unwrap()),
            ..value(&limit, r#"{"per_minute":60.0,"b":[1,-0.0,1e300]}"#)
        },
    )
    .await;
    remember(scout(1), value(&limit, r#"{"per_minute":30}"#)).await;
    remember(idle(2), value(&plan, r#""ein Plan 計画 😀""#)).await;
    remember(
        scout(3),
        NewVersion {
            meta: Some(json!({"imported_from": "elsewhere", "n": 1.5})),
            private_to: Some(Agent::new("executor").unwrap()),
            ..value(&note, "null")
        },
    )
    .await;
    remember(idle(4), value(&plan, r#""another plan""#)).await;
    for n in 0..3 {
        remember(scout(5), value(&at("many", &format!("k{n}")), &n.to_string())).await;
    }

    let hand_off = async |actor: Actor, new: NewHandoff| store.hand_off(actor, new, Vec::new(), TTL).await.unwrap();
    let take = async |actor: Actor, id: &HandoffId| {
        store
            .resume(actor, Some(id.clone()), Arc::new(|_| false))
            .await
            .unwrap();
    };
    let record = async |actor: Actor, new: NewOutcome| store.record(actor, new, TTL, false).await.unwrap();
    // Taken, taken up, given back past its time with a note, taken over, closed with a note and outcomes.
    let first = NewHandoff {
        refs: Some(vec![
            Ref {
                at: limit.clone(),
                version: Some(1),
            },
            Ref {
                at: plan.clone(),
                version: None,
            },
        ]),
        to_agent: Some(Agent::new("executor").unwrap()),
        expires_in: Some(Span::from_minutes(10)),
        cwd: Some(Cwd::new("/home/ex/work").unwrap()),
        git: Some(Git {
            branch: Some("main".into()),
            commit: "0f".repeat(20),
            dirty: true,
        }),
        ..packet("first ✓")
    };
    let first = hand_off(scout(6), first).await.seen.packet.id;
    take(executor(7), &first).await;
    take(executor(8), &first).await;
    record(
        executor(20),
        outcome(Report::Released, "run 0", &[], Some(&first), Some("zurück")),
    )
    .await;
    take(executor(21), &first).await;
    // Written by one who holds a packet: it continues that one. Waits for its owner.
    let on = NewHandoff {
        cwd: Some(Cwd::new("/home/ex/work").unwrap()),
        ..packet("goes on")
    };
    hand_off(executor(22), on).await;
    let other = Actor {
        cwd: None,
        ..actor("shop", "late", None, 200)
    };
    take(other.clone(), &first).await;
    let closing = outcome(
        Report::Success,
        "run 1",
        &[(&limit, 1), (&plan, 2)],
        Some(&first),
        Some("\"gut\""),
    );
    record(
        Actor {
            now: executor(202).now,
            ..other
        },
        closing,
    )
    .await;
    record(
        scout(203),
        outcome(Report::Failure, "run 2", &[(&limit, 1)], None, None),
    )
    .await;
    record(
        idle(204),
        outcome(Report::Success, "run 3", &[(&limit, 1)], None, Some("a note")),
    )
    .await;
    // Superseded by name, superseded by the next automatic one, cancelled, over by its time, still held.
    let old = hand_off(scout(205), packet("old")).await.seen.packet.id;
    hand_off(
        scout(206),
        NewHandoff {
            supersedes: Some(old),
            ..packet("new")
        },
    )
    .await;
    for title in ["auto 1", "auto 2"] {
        hand_off(
            scout(207),
            NewHandoff {
                origin: Origin::Automatic,
                ..packet(title)
            },
        )
        .await;
    }
    let back = hand_off(scout(208), packet("cancelled")).await.seen.packet.id;
    record(
        scout(209),
        outcome(Report::Abandoned, "run 4", &[], Some(&back), Some("no need")),
    )
    .await;
    let short = NewHandoff {
        expires_in: Some(Span::from_minutes(1)),
        ..packet("short")
    };
    hand_off(scout(210), short).await;
    let held = hand_off(
        scout(212),
        NewHandoff {
            expires_in: Some(Span::default()),
            ..packet("held")
        },
    )
    .await;
    take(executor(213), &held.seen.packet.id).await;

    let elsewhere = actor("a project/b", "scout", None, 300);
    remember(elsewhere.clone(), value(&plan, "true")).await;
    hand_off(elsewhere, packet("elsewhere")).await;
    store.close().await;
}

/// What no verb of the store writes: two purges and a packet that was opened again.
fn by_hand(path: &Path) {
    let mut opened = connection::writer(path, Durability::Normal).unwrap();
    let tx = opened.conn.transaction().unwrap();
    let actor = actor("shop", "root", None, 400);
    let mut journal = Journal::open(&tx, &actor.home, actor.stamp()).unwrap();
    let mut purge = |subject: String, what: &str, (content, hash): (i64, String)| {
        let detail = json!({"hash": hash, "what": what, "why": "secret"});
        let entry = NewEntry {
            kind: Kind::Purged,
            subject,
            detail,
            digest: None,
        };
        journal.append(entry).unwrap();
        tx.execute("UPDATE content SET nonce = x'', body = '' WHERE id = ?1", [content])
            .unwrap();
    };
    let text = |sql: &str| tx.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    purge(
        version_subject(&at("app", "plan"), 1),
        "value",
        text("SELECT content_id, value_hash FROM version WHERE scope = 'app' AND key = 'plan' AND version = 1"),
    );
    let ended = |word: &str| -> String {
        tx.query_row(
            "SELECT id FROM handoff WHERE ended_as = ?1 ORDER BY seq LIMIT 1",
            [word],
            |row| row.get(0),
        )
        .unwrap()
    };
    purge(
        ended("superseded"),
        "texts",
        text("SELECT content_id, texts_hash FROM handoff WHERE ended_as = 'superseded' ORDER BY seq LIMIT 1"),
    );
    let again = ended("ttl");
    let end = Time::from_millis(1_900_000_000_000).to_string();
    let entry = NewEntry {
        kind: Kind::Reopened,
        subject: again.clone(),
        detail: json!({"expires_at": end}),
        digest: None,
    };
    let seq = i64::try_from(journal.append(entry).unwrap()).unwrap();
    tx.execute(
        "UPDATE handoff SET state = 'open', ended_as = NULL, expires_at = ?2, last_seq = ?3 WHERE id = ?1",
        params![again, end, seq],
    )
    .unwrap();
    search::rebuild(&tx).unwrap();
    tx.commit().unwrap();
    drop(opened);
}
