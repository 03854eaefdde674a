//! Concurrent histories of real processes, recorded and put in order: what each record and each packet answered must be what it
//! would have answered to one caller at a time, at a moment between each question and its answer. Clients come over lines and over
//! HTTP; some processes are killed with questions under way, which may then have been done or not.
//!
//! Moments are numbers of one counter, taken before a question goes out and after its answer came: they are in the order of real
//! time, and no two are the same.

mod checker;
mod objects;
mod recorded;
mod refused;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::concurrency::at_once;
use crate::harness::{Place, is_long};
use crate::kills::Dice;
use crate::shell::Shell;

use checker::order;
use objects::{Packet, Record};
use recorded::{Client, Course, History, Moment};

/// How many histories, and how many calls each client makes in one.
fn size() -> (u64, usize) {
    if is_long() { (60, 120) } else { (2, 40) }
}

#[test]
fn records_and_packets_answer_as_if_one_asked_after_the_other() {
    let (histories, calls) = size();
    let (mut answered, mut lost, mut changed) = (0, 0, 0);
    for round in 0..histories {
        let place = Place::new();
        let course = Course::of(&place, calls);
        // Four processes over lines, four clients of one server.
        let told = at_once(8, |n| Client::of(&course, n).work(&mut Dice(round * 8 + n as u64)));
        drop(course);
        place.verify_clean();
        let mut history = History::default();
        told.into_iter().for_each(|one| history.add(one));
        for (key, calls) in &history.records {
            order(&Record::default(), calls).unwrap_or_else(|why| panic!("history {round}, {key}: {why}"));
        }
        for (id, calls) in &history.packets {
            order(&Packet::default(), calls).unwrap_or_else(|why| panic!("history {round}, {id}: {why}"));
        }
        changed += in_order(&place, &history.changes);
        answered += history.answered();
        lost += history.lost();
    }
    println!("{histories} histories: {answered} answers, {lost} calls without one, {changed} changes in order");
    assert!(
        lost > 0 && changed as u64 > 20 * histories,
        "{lost} lost, {changed} changed"
    );
}

/// Asserts that the ledger's order is that of real time: what was answered before something else began stands before it. Gives
/// how many changes were found in it.
#[track_caller]
fn in_order(place: &Place, changes: &BTreeMap<String, Moment>) -> usize {
    let told = Shell::of(place, "reader").says(&["log", "--root", "--json", "--since", "0"]);
    let entries: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    // Of each change: when it began, its place in the ledger, and when it was answered.
    let mut found: Vec<(u64, u64, Option<u64>)> = Vec::new();
    for entry in &entries {
        let named = [
            &entry["subject"],
            &entry["detail"]["cwd"],
            &entry["detail"]["outcome_ref"],
        ];
        let moment = named.iter().find_map(|name| changes.get(name.as_str()?));
        if let Some(moment) = moment {
            found.push((
                moment.began,
                entry["seq"].as_u64().expect("a position"),
                moment.answered,
            ));
        }
    }
    let answered = changes.values().filter(|moment| moment.answered.is_some()).count();
    let there = found.iter().filter(|(.., answered)| answered.is_some()).count();
    assert!(
        there >= answered,
        "{} answered changes are not in the ledger",
        answered - there
    );
    for (began, seq, _) in &found {
        let before = found
            .iter()
            .filter(|(.., answered)| answered.is_some_and(|at| at < *began));
        let last = before.map(|(_, seq, _)| *seq).max().unwrap_or(0);
        assert!(last < *seq, "entry {seq} began after entry {last} was answered");
    }
    found.len()
}
