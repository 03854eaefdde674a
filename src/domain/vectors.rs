//! The test vectors of docs/format.md, computed again: page and code cannot part.

use serde_json::json;

use super::canonical::canonical;
use super::handoff::{Git, PacketBody, Texts};
use super::ledger::{Checkpoint, EntryBody, project_subject};
use super::record::{Address, VersionBody, version_subject};
use super::{Confidence, Hash, JsonText, Key, Scope};

const PAGE: &str = include_str!("../../docs/format.md");

/// The nonce of every vector: the bytes 0 to 15.
const NONCE: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

const AT: &str = "2026-12-01T08:30:00.120Z";
const STORE: &str = "00112233445566778899aabbccddeeff";

/// Whether the page holds `text` as a line of its own.
fn shown(what: &str, text: &str) {
    assert!(
        PAGE.lines().any(|line| line.trim() == text),
        "docs/format.md does not show the {what}:\n{text}"
    );
}

#[test]
fn the_page_shows_what_the_code_computes() {
    let value = JsonText::value("value", r#"{ "fit": "good", "rate": 72.0 }"#).unwrap();
    let value_hash = Hash::of_text(&NONCE, value.as_str()).to_string();
    shown("value", value.as_str());
    shown("value hash", &value_hash);

    let zeros = Hash::ZERO.to_string();
    let at = Address {
        scope: Scope::new("listing").unwrap(),
        key: Key::new("482/assessment").unwrap(),
    };
    let version = VersionBody {
        v: 1,
        workspace: "default",
        project: "default",
        scope: at.scope.as_str(),
        key: at.key.as_str(),
        version: 1,
        value_hash: &value_hash,
        tags: vec!["price", "größe"],
        meta: None,
        author: "scout",
        session: Some("s1"),
        private_to: None,
        confidence: 0.8,
        created_at: AT,
        prev_hash: &zeros,
    };
    shown("version body", &canonical(&version));
    let version_hash = version.hash().to_string();
    shown("version hash", &version_hash);

    let created = json!({ "store": STORE, "workspace": "default", "project": "default" });
    let created_digest = Hash::of(&[canonical(&created).as_bytes()]).to_string();
    shown("created detail", &canonical(&created));
    shown("created digest", &created_digest);
    let first = EntryBody {
        seq: 1,
        at: AT,
        agent: "scout",
        session: Some("s1"),
        kind: "created",
        subject: &project_subject("default", "default"),
        detail: &created,
        digest: &created_digest,
    };
    shown("first entry", &canonical(&first));
    let first_hash = first.hash(&zeros).to_string();
    shown("first entry's hash", &first_hash);
    let nothing = json!({});
    let second = EntryBody {
        seq: 2,
        kind: "remembered",
        subject: &version_subject(&at, 1),
        detail: &nothing,
        digest: &version_hash,
        ..first
    };
    shown("second entry", &canonical(&second));
    let second_hash = second.hash(&first_hash).to_string();
    shown("second entry's hash", &second_hash);

    let checkpoint = Checkpoint {
        store: STORE.to_owned(),
        workspace: "default".to_owned(),
        project: "default".to_owned(),
        seq: 2,
        hash: Hash::parse(&second_hash).unwrap(),
    }
    .to_string();
    shown("checkpoint", &checkpoint);

    let texts = Texts::new(
        "Listings",
        "One fits.",
        vec!["Apply for 482.".to_owned()],
        vec![],
        vec![],
    )
    .unwrap();
    let texts = JsonText::of(&texts);
    let texts_hash = Hash::of_text(&NONCE, texts.as_str()).to_string();
    shown("texts", texts.as_str());
    shown("texts' hash", &texts_hash);
    let git = Git {
        branch: Some("main".to_owned()),
        commit: "0123abc".to_owned(),
        dirty: false,
    };
    let packet = PacketBody {
        v: 1,
        id: "h_0123456789abcdef",
        workspace: "default",
        project: "default",
        from_agent: "scout",
        from_session: Some("s1"),
        to_agent: Some("executor"),
        owner: None,
        cwd: Some("/src/app"),
        origin: "manual",
        texts_hash: &texts_hash,
        refs: vec![version_hash],
        git: Some(&git),
        checkpoint: &checkpoint,
        created_at: AT,
        expires_at: Some("2026-12-15T08:30:00.120Z"),
        supersedes: None,
        continues: None,
    };
    shown("packet body", &canonical(&packet));
    shown("packet hash", &packet.hash().to_string());
}

#[test]
fn the_page_shows_how_confidence_moves() {
    let mut line = "0.8".to_owned();
    let mut confidence = Confidence::named("confidence", 0.8).unwrap();
    for success in [true, true, false, false, true] {
        confidence = confidence.after(success);
        line += &format!(" → {}", confidence.get());
    }
    shown("moves of a confidence", &line);
}
