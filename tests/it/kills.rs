//! SIGKILL at random moments: what was acknowledged is there, what was not is there whole or not at all.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use crate::handoffs::id;
use crate::harness::{Place, Server, answer_of, is_long};

/// The same moments in each run of the tests: splitmix64.
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % sides
    }
}

/// How many times a server is killed: 1,000 with `LONG_TESTS=1`.
fn runs() -> u64 {
    if is_long() { 1_000 } else { 50 }
}

/// Waits for the first `acknowledged` replies and a moment more, kills, and gives every answer that came out at all
/// with its place in `sent`.
fn kill_after(server: &mut Server, sent: &[u64], acknowledged: usize, dice: &mut Dice) -> Vec<(usize, Value)> {
    let mut answers = Vec::new();
    let mut take = |n: usize, reply: &Value| {
        let answer = answer_of(reply).unwrap_or_else(|refusal| panic!("request {n}: {refusal:?}"));
        answers.push((n, answer));
    };
    for (n, request) in sent[..acknowledged].iter().enumerate() {
        let reply = server.reply(*request);
        take(n, &reply);
    }
    std::thread::sleep(Duration::from_micros(dice.below(4_000)));
    server.kill();
    // What was in the pipe when the process ended was acknowledged, too.
    for (n, request) in sent.iter().enumerate().skip(acknowledged) {
        if let Some(reply) = server.reply_or_end(*request) {
            take(n, &reply);
        }
    }
    answers
}

#[test]
fn s04_every_acknowledged_write_survives_sigkill() {
    let mut place = Place::new();
    let mut dice = Dice(20_261_201);
    // Of each version that was ever acknowledged: its hash and its value.
    let mut promised: BTreeMap<(String, i64), (String, Value)> = BTreeMap::new();
    let (mut acknowledged_in_all, mut under_way) = (0, 0);
    for run in 0..runs() {
        // Each file lives through 25 kills.
        if run % 25 == 0 {
            place = Place::new();
            promised.clear();
        }
        let mut server = place.agent("scout");
        let values: Vec<(String, Value)> = (0..60)
            .map(|n| {
                let text = "x".repeat(dice.below(3_000) as usize);
                (format!("k{}", dice.below(7)), json!({"run": run, "n": n, "text": text}))
            })
            .collect();
        let sent: Vec<u64> = values
            .iter()
            .map(|(key, value)| server.send_call("remember", json!({"scope": "s", "key": key, "value": value})))
            .collect();
        let acknowledged = dice.below(50) as usize;
        let answers = kill_after(&mut server, &sent, acknowledged, &mut dice);
        acknowledged_in_all += answers.len();
        under_way += sent.len() - answers.len();
        for (n, answer) in answers {
            let record = &answer["record"];
            let (key, value) = values[n].clone();
            let version = record["version"].as_i64().expect("a version");
            let hash = record["hash"].as_str().expect("a hash").to_owned();
            let before = promised.insert((key, version), (hash, value));
            assert!(before.is_none(), "run {run}: {record} was given twice");
        }
        if promised.is_empty() && !place.db().exists() {
            continue;
        }
        place.verify_clean();
        let sql = place.sql();
        for ((key, version), (hash, value)) in &promised {
            let found: (String, String) = sql
                .query_row(
                    "SELECT v.hash, c.body FROM version v JOIN content c ON c.id = v.content_id \
                     WHERE v.key = ?1 AND v.version = ?2",
                    rusqlite::params![key, version],
                    |row| Ok((row.get(0)?, row.get(1)?)),
                )
                .unwrap_or_else(|e| panic!("run {run}: version {version} of {key} was acknowledged: {e}"));
            assert_eq!(
                (&found.0, serde_json::from_str(&found.1).ok()),
                (hash, Some(value.clone())),
                "run {run}: version {version} of {key}"
            );
        }
    }
    assert!(
        acknowledged_in_all > 100 && under_way > 100,
        "{acknowledged_in_all} acknowledged, {under_way} under way"
    );
    println!(
        "{} kills: {acknowledged_in_all} writes were answered, {under_way} were under way",
        runs()
    );
}

#[test]
fn s04_packets_claims_and_outcomes_survive_sigkill() {
    let mut promised = [0; 3];
    for batch in 0..runs() / 25 {
        packets_claims_and_outcomes(batch, &mut promised);
    }
    assert!(promised.iter().all(|n| *n > 20), "{promised:?}");
    println!(
        "{} kills: {promised:?} packets, claims and reports were answered",
        runs()
    );
}

/// One file that lives through 25 kills; counts what was acknowledged of each kind.
fn packets_claims_and_outcomes(batch: u64, promised: &mut [u64; 3]) {
    let place = Place::new();
    let mut dice = Dice(7 + batch);
    let mut seed = place.agent("seed");
    seed.remember("s", "base", json!(1));
    for run in 0..25 {
        for n in 0..3 {
            seed.hand_off(&format!("seed {run}/{n}"), json!({"next_steps": ["x"]}));
        }
        let mut server = place.agent("scout");
        let sent: Vec<(&str, u64)> = (0..30)
            .map(|n| {
                let base = json!([{"scope": "s", "key": "base"}]);
                let (tool, arguments) = match n % 3 {
                    0 => (
                        "handoff",
                        json!({"title": format!("{run}/{n}"), "summary": "s", "refs": base, "to_agent": "codex"}),
                    ),
                    1 => ("resume", json!({})),
                    _ => (
                        "record_outcome",
                        json!({"outcome": "success", "outcome_ref": format!("{run}/{n}"), "refs": base}),
                    ),
                };
                (tool, server.send_call(tool, arguments))
            })
            .collect();
        let requests: Vec<u64> = sent.iter().map(|(_, request)| *request).collect();
        let acknowledged = dice.below(25) as usize;
        let answers = kill_after(&mut server, &requests, acknowledged, &mut dice);
        place.verify_clean();
        let count = |query: String| place.count(&query);
        for (n, answer) in answers {
            match sent[n].0 {
                "handoff" => {
                    let found = count(format!("SELECT count(*) FROM handoff WHERE id = '{}'", id(&answer)));
                    assert_eq!(found, 1, "run {run}: {answer}");
                    promised[0] += 1;
                }
                "resume" if answer.get("packet").is_some() => {
                    let found = count(format!(
                        "SELECT count(*) FROM handoff WHERE id = '{}' AND state = 'accepted' AND accepted_by = 'scout'",
                        id(&answer)
                    ));
                    assert_eq!(found, 1, "run {run}: {answer}");
                    promised[1] += 1;
                }
                "record_outcome" => {
                    let found = count(format!(
                        "SELECT count(*) FROM outcome WHERE outcome_ref = '{run}/{n}' AND version_id IS NOT NULL"
                    ));
                    assert_eq!(found, 1, "run {run}: {answer}");
                    promised[2] += 1;
                }
                _ => {}
            }
        }
    }
    // Each success was counted exactly as often as its row is there, acknowledged or not.
    let rows = place.count("SELECT count(*) FROM outcome WHERE version_id IS NOT NULL");
    assert_eq!(seed.read("s", "base")["successes"], json!(rows));
}
