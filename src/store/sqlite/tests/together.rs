//! Writes of many callers that share a transaction: each is all or nothing by itself, with an answer of its own.

use std::sync::{Arc, Mutex};

use super::{Bench, actor, at, version};
use crate::domain::Refusal;
use crate::domain::record::NewVersion;
use crate::store::StoreError;

/// The transactions that a store commits while `work` is done.
fn commits(bench: &Bench) -> Arc<Mutex<Vec<usize>>> {
    let sizes = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&sizes);
    bench
        .store
        .watch(move |commit| kept.lock().unwrap().push(commit.writes));
    sizes
}

/// Runs all of them while another process holds the lock until they wait for each other.
fn at_once(bench: &Bench, writes: Vec<NewVersion>) -> Vec<Result<u64, StoreError>> {
    bench.remember(&actor("a", Some("s"), None, at(0)), "first", "1");
    let other = rusqlite::Connection::open(bench.store.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    bench.runtime.block_on(async {
        let calls: Vec<_> = writes
            .into_iter()
            .map(|new| Box::pin(bench.store.remember(actor("a", Some("s"), None, at(1)), new)))
            .collect();
        let mut calls = calls;
        // Each is polled once, so that all of them stand in the queue before the lock is given back.
        for call in &mut calls {
            assert!(futures_poll(call).is_none());
        }
        other.execute_batch("COMMIT").unwrap();
        let mut answers = Vec::new();
        for call in calls {
            answers.push(call.await.map(|done| done.version.version));
        }
        answers
    })
}

fn futures_poll<F: Future + Unpin>(future: &mut F) -> Option<F::Output> {
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match std::pin::Pin::new(future).poll(&mut context) {
        std::task::Poll::Ready(output) => Some(output),
        std::task::Poll::Pending => None,
    }
}

#[test]
fn writes_that_wait_share_a_transaction_and_one_refusal_takes_nobody_along() {
    let bench = Bench::new();
    let sizes = commits(&bench);
    let mut writes: Vec<_> = (0..40).map(|number| version("same", &format!("{number}"))).collect();
    for index in [3, 20, 39] {
        writes[index].expected_version = Some(1_000);
    }
    let answers = at_once(&bench, writes);
    let conflict =
        |answer: &Result<u64, StoreError>| matches!(answer, Err(StoreError::Refused(Refusal::Conflict { .. })));
    let refused: Vec<usize> = (0..40).filter(|index| conflict(&answers[*index])).collect();
    assert_eq!(refused, [3, 20, 39]);
    let numbers: Vec<u64> = answers.into_iter().flatten().collect();
    assert_eq!(numbers, (1..=37).collect::<Vec<_>>(), "in the order in which they came");
    let sizes = sizes.lock().unwrap().clone();
    assert!(sizes.len() <= 4, "few transactions: {sizes:?}");
    bench.proved();
}

#[test]
fn a_write_that_fails_for_want_of_space_takes_nobody_along() {
    let bench = Bench::new();
    let mut writes: Vec<_> = (0..6).map(|number| version(&format!("k{number}"), "1")).collect();
    writes[2] = version("huge", &format!("\"{}\"", "x".repeat(1_000_000)));
    // The first transaction opens the file; the limit is set on the connection that writes from then on.
    bench.remember(&actor("a", Some("s"), None, at(0)), "before", "1");
    bench
        .runtime
        .block_on(bench.store.worker.alone(|conn| {
            let pages: i64 = conn.query_row("PRAGMA page_count", [], |row| row.get(0))?;
            conn.query_row(&format!("PRAGMA max_page_count = {}", pages + 100), [], |_| Ok(()))?;
            Ok(())
        }))
        .unwrap();
    let answers = at_once(&bench, writes);
    for (index, answer) in answers.iter().enumerate() {
        match index {
            2 => assert!(matches!(answer, Err(StoreError::DiskFull { .. })), "{answer:?}"),
            _ => assert_eq!(answer.as_ref().unwrap(), &1, "{index}"),
        }
    }
    bench.proved();
}
