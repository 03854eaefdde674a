//! Damage below SQL, and work that goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;

use super::{Faults, Place, TTL, actor, at, connection, outcome, packet, value, verify, written};
use crate::domain::outcome::Report;
use crate::store::{Durability, Store};

/// What `verify` finds, or nothing when the file cannot even be opened.
fn look(place: &Place) -> Option<Faults> {
    let opened = connection::reader(&place.path()).ok()??;
    verify(&opened.conn, &[], &mut |_, _| {}).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, rng_seed: proptest::test_runner::RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn bytes_that_were_overwritten_end_nothing(
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        whole_page in any::<bool>(),
    ) {
        let mut bytes = written().to_vec();
        for (place, byte) in hits {
            let first = place.index(bytes.len());
            let last = if whole_page { (first + 4_096).min(bytes.len()) } else { first + 1 };
            bytes[first..last].fill(byte);
        }
        let place = Place::new();
        std::fs::write(place.path(), bytes).unwrap();
        look(&place);
    }

    #[test]
    fn a_file_that_was_cut_ends_nothing(end in any::<prop::sample::Index>()) {
        let place = Place::new();
        std::fs::write(place.path(), &written()[..end.index(written().len())]).unwrap();
        prop_assert!(look(&place).is_none_or(|report| !report.ok()));
    }
}

#[test]
fn a_byte_of_a_stored_text_is_found() {
    let mut bytes = written().to_vec();
    let text = b"another plan";
    let place = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[place] ^= 0x20;
    let damaged = Place::new();
    std::fs::write(damaged.path(), bytes).unwrap();
    let report = look(&damaged).unwrap();
    assert!(report.faults.iter().any(|fault| fault.kind == "value"), "{report:?}");
}

#[test]
fn work_that_goes_on_raises_no_fault() {
    let place = Place::copy();
    let done = Arc::new(AtomicBool::new(false));
    let (path, stop) = (place.path(), Arc::clone(&done));
    let writing = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async move {
            let store = Store::new(path, Durability::Normal);
            let mut turns = 0;
            while !stop.load(Ordering::Relaxed) || turns < 20 {
                turns += 1;
                let me = actor(["shop", "new"][turns % 2], "worker", Some("s-9"), 500 + turns as i64);
                let key = at("busy", &format!("k{}", turns % 7));
                store
                    .remember(me.clone(), value(&key, &turns.to_string()))
                    .await
                    .unwrap();
                let id = store
                    .hand_off(me.clone(), packet(&format!("turn {turns}")), Vec::new(), TTL)
                    .await
                    .unwrap()
                    .seen
                    .packet
                    .id;
                store
                    .resume(me.clone(), Some(id.clone()), Arc::new(|_| false))
                    .await
                    .unwrap();
                let report = outcome(Report::Success, &format!("run {turns}"), &[], Some(&id), Some("a note"));
                store.record(me, report, TTL, false).await.unwrap();
            }
            store.close().await;
        });
    });
    for _ in 0..12 {
        let report = look(&place).expect("verify answers");
        if !report.ok() {
            done.store(true, Ordering::Relaxed);
        }
        assert_eq!(report.faults, []);
    }
    done.store(true, Ordering::Relaxed);
    writing.join().unwrap();
    assert_eq!(look(&place).unwrap().faults, []);
}
