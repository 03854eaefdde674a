//! An export of 100,000 versions, made by the domain's own functions: it goes in, and comes out, byte for byte.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use handoff_memory::domain::canonical::canonical;
use handoff_memory::domain::ledger::{Checkpoint, EntryBody, project_subject};
use handoff_memory::domain::record::{VersionBody, version_subject};
use handoff_memory::domain::transfer::{EndLine, EntryLine, EntryPart, FORMAT, Header, Line, TextPart, VersionPart};
use handoff_memory::domain::{Hash, Time};
use serde_json::{Value, json};

use crate::everything::{address, checkpoints};
use crate::harness::{Place, Ran, is_long};
use crate::storage::text;

/// The store that every generated export says it is from.
const STORE: &str = "00112233445566778899aabbccddeeff";

/// Writes an export of so many versions of so many records of one project; gives its checkpoint.
pub fn generate(to: &Path, project: &str, versions: u64, records: u64) -> Checkpoint {
    let mut file = BufWriter::new(File::create(to).expect("a file"));
    let mut line = |line: &Line| {
        let text = serde_json::to_string(line).expect("a line");
        writeln!(file, "{text}").expect("it is written");
    };
    line(&Line::Header(Header {
        handoff_memory_export: FORMAT,
        store: STORE.to_owned(),
    }));
    let mut hash = Hash::ZERO;
    // How many versions each record has, and the hash of its last one.
    let mut heads: Vec<(u64, String)> = vec![(0, Hash::ZERO.to_string()); records as usize];
    let none: Value = json!({});
    for seq in 1..=versions + 1 {
        let at = Time::from_millis(1_764_547_200_000 + seq as i64).to_string();
        let created = seq == 1;
        let detail = if created {
            json!({"project": project, "store": STORE, "workspace": "default"})
        } else {
            none.clone()
        };
        let (mut version, mut text) = (None, None);
        let (subject, digest) = if created {
            (
                project_subject("default", project),
                Hash::of(&[canonical(&detail).as_bytes()]),
            )
        } else {
            let record = (seq - 2) * 7_919 % records;
            let (number, before) = &mut heads[record as usize];
            *number += 1;
            let at_record = address(&format!("area-{}/part/key-{record}", record % 100));
            let body =
                json!({"n": seq, "text": format!("value {number} of record {record}"), "list": [1.0, null, true]});
            let stored = TextPart::new(
                &Hash::of(&[&seq.to_be_bytes()]).to_string().as_bytes()[..16],
                body.to_string(),
            );
            let part = VersionPart {
                value_hash: Hash::of_text(&stored.nonce().expect("a nonce"), &stored.body).to_string(),
                tags: vec![format!("t{}", record % 10)],
                meta: None,
                private_to: None,
                confidence: 0.5 + (seq % 50) as f64 / 100.0,
                prev_hash: before.clone(),
            };
            let body = VersionBody {
                v: 1,
                workspace: "default",
                project,
                scope: at_record.scope.as_str(),
                key: at_record.key.as_str(),
                version: *number,
                value_hash: &part.value_hash,
                tags: part.tags.iter().map(String::as_str).collect(),
                meta: None,
                author: "scout",
                session: Some("s1"),
                private_to: None,
                confidence: part.confidence,
                created_at: &at,
                prev_hash: before,
            };
            let digest = body.hash();
            *before = digest.to_string();
            let subject = version_subject(&at_record, *number);
            (version, text) = (Some(part), Some(stored));
            (subject, digest)
        };
        let digest = digest.to_string();
        let kind = if created { "created" } else { "remembered" };
        let body = EntryBody {
            seq,
            at: &at,
            agent: "scout",
            session: Some("s1"),
            kind,
            subject: &subject,
            detail: &detail,
            digest: &digest,
        };
        hash = body.hash(&hash.to_string());
        line(&Line::Entry(Box::new(EntryLine {
            entry: EntryPart {
                seq,
                at: at.clone(),
                agent: "scout".to_owned(),
                session: Some("s1".to_owned()),
                kind: kind.to_owned(),
                subject: subject.clone(),
                detail,
                digest: digest.clone(),
                hash: hash.to_string(),
            },
            version,
            packet: None,
            text,
            purged: false,
        })));
    }
    let end = Checkpoint {
        store: STORE.to_owned(),
        workspace: "default".to_owned(),
        project: project.to_owned(),
        seq: versions + 1,
        hash,
    };
    line(&Line::End(EndLine {
        end: vec![end.to_string()],
    }));
    file.flush().expect("it is written");
    end
}

/// Runs a command with the patience that so many rows need, and tells how long it took.
#[track_caller]
fn timed(place: &Place, args: &[&str]) -> Ran {
    let started = Instant::now();
    let ran = place
        .start()
        .args(args)
        .run_over(Stdio::null(), Duration::from_secs(900));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    eprintln!("{}: {:.1} s", args[0], started.elapsed().as_secs_f64());
    ran
}

#[test]
fn u06_a_hundred_thousand_versions_go_in_and_come_out_byte_for_byte() {
    let (versions, records) = if is_long() { (100_000, 40_000) } else { (20_000, 8_000) };
    let place = Place::new();
    let first = place.path().join("first.jsonl");
    let started = Instant::now();
    let end = generate(&first, "large", versions, records);
    eprintln!("generated: {:.1} s", started.elapsed().as_secs_f64());
    let second = place.path().join("second.jsonl");
    timed(&place, &["import", text(&first)]);
    timed(&place, &["export", text(&second)]);
    assert!(
        std::fs::read(&first).expect("the first") == std::fs::read(&second).expect("the second"),
        "what came out differs"
    );
    let third = Place::new();
    timed(&third, &["import", text(&second)]);
    for place in [&place, &third] {
        timed(place, &["verify", "--checkpoint", &end.to_string()]);
        assert_eq!(checkpoints(place).trim(), end.to_string());
        assert_eq!(place.count("SELECT count(*) FROM version"), versions as i64);
        assert_eq!(place.count("SELECT count(*) FROM head"), records as i64);
    }
}
