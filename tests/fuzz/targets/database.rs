//! A database file with bytes damaged at chosen places: whatever is done with it ends, with an error or an answer, and an
//! answer that differs from what was written is never one of a file that proves itself.

#![no_main]

use std::sync::LazyLock;

use handoff_memory::app::memory::Room;
use handoff_memory::app::{App, AppError};
use handoff_memory::domain::handoff::listing::Listing;
use handoff_memory::domain::record::NewVersion;
use handoff_memory::domain::sought::Sought;
use handoff_memory::domain::{Address, Home, JsonText, Key, Scope};
use handoff_memory_fuzz::bytes::Bytes;
use handoff_memory_fuzz::place::{FILE, Place, RUNTIME, at_home, homes, plain};
use libfuzzer_sys::fuzz_target;

/// SQLite's page size, as our files have it.
const PAGE: usize = 4096;

static PLACE: LazyLock<Place> = LazyLock::new(Place::new);

/// Everything that there is to read, as the undamaged file gives it.
static WRITTEN: LazyLock<(Vec<(Home, Address)>, Vec<String>)> = LazyLock::new(|| {
    PLACE.put(&FILE);
    let app = PLACE.app();
    let mut addresses = Vec::new();
    for home in homes() {
        let all = RUNTIME.block_on(app.heads(&home, None, 200)).expect("the records");
        addresses.extend(all.into_iter().map(|version| (home.clone(), version.at)));
    }
    assert!(addresses.len() > 10);
    let read = read(&app, &addresses).expect("the file is read");
    RUNTIME.block_on(app.close());
    (addresses, read)
});

fuzz_target!(|input: &[u8]| {
    let (addresses, written) = &*WRITTEN;
    let file = damaged(&mut Bytes::new(input));
    PLACE.put(&file);
    let app = PLACE.app();
    let proof = RUNTIME.block_on(app.verify(Vec::new(), |_, _| {}));
    let intact = match &proof {
        Ok(report) => report.ok(),
        Err(error) => {
            plain(error, "");
            false
        }
    };
    // Each is read by itself: an error in one place says nothing of the others.
    match read(&app, addresses) {
        Ok(read) if intact => {
            for (is, was) in read.iter().zip(written) {
                assert_eq!(is, was, "a file that was changed is called intact");
            }
        }
        Ok(_) => {}
        Err(error) => {
            plain(&error, "");
            assert!(!intact, "a file that cannot be read is called intact: {error}");
        }
    }
    let note = || -> NewVersion {
        let (scope, key) = (
            Scope::new("after").expect("a scope"),
            Key::new("damage").expect("a key"),
        );
        NewVersion::new(
            scope,
            key,
            JsonText::value("value", "\"still there\"").expect("a value"),
        )
    };
    let caller = at_home(&homes()[0]);
    match RUNTIME.block_on(app.remember(&caller, note())) {
        Ok(_) => {
            let found = RUNTIME.block_on(app.recall(&caller, &note().at, None));
            match found {
                Ok(found) => assert!(!intact || found.is_some(), "what was acknowledged is not there"),
                Err(error) => {
                    plain(&error, "");
                    assert!(!intact, "what was acknowledged cannot be read: {error}");
                }
            }
        }
        Err(error) => {
            plain(&error, "");
            assert!(!intact, "a file that cannot be written is called intact: {error}");
        }
    }
    match RUNTIME.block_on(app.verify(Vec::new(), |_, _| {})) {
        Ok(report) => assert!(
            !intact || report.ok(),
            "a write broke a file that was intact: {:?}",
            report.faults
        ),
        Err(error) => {
            plain(&error, "");
            assert!(!intact, "{error}");
        }
    }
    RUNTIME.block_on(app.close());
});

/// What there is to read, in words. An error that is only about one record is a word, too.
fn read(app: &App, addresses: &[(Home, Address)]) -> Result<Vec<String>, AppError> {
    let mut read = Vec::new();
    let mut failed = None;
    let mut keep = |result: Result<String, AppError>| match result {
        Ok(words) => read.push(words),
        Err(error) => {
            plain(&error, "");
            failed = Some(error);
        }
    };
    for (home, at) in addresses {
        let caller = at_home(home);
        let one = RUNTIME.block_on(app.recall(&caller, at, None));
        keep(one.map(|found| format!("{found:?}")));
        let all = RUNTIME.block_on(app.history(&caller, at, 0, 100, Room::UNBOUNDED));
        keep(all.map(|found| format!("{found:?}")));
    }
    for home in homes() {
        let caller = at_home(&home);
        let packets = RUNTIME.block_on(app.handoffs(&caller, every_packet()));
        keep(packets.map(|found| format!("{found:?}")));
        let log = RUNTIME.block_on(app.entries(&caller, 0, 500));
        keep(log.map(|found| format!("{found:?}")));
        for query in ["plan", "third one", "\u{7528}\u{6237}", "->"] {
            let sought = Sought {
                query: Some(query.to_owned()),
                limit: 50,
                ..Sought::default()
            };
            let page = RUNTIME.block_on(app.search(&caller, sought, Room::UNBOUNDED));
            keep(page.map(|found| format!("{found:?}")));
        }
    }
    failed.map_or(Ok(read), Err)
}

fn every_packet() -> Listing {
    Listing {
        states: Vec::new(),
        ..Listing::open(100)
    }
}

/// The file with up to sixteen places damaged.
fn damaged(bytes: &mut Bytes<'_>) -> Vec<u8> {
    let mut file = FILE.clone();
    for _ in 0..16 {
        if bytes.is_empty() || file.len() < PAGE {
            break;
        }
        let pages = file.len() / PAGE;
        let how = bytes.below(8);
        let page = bytes.below(pages) * PAGE;
        // Most of what steers SQLite stands at the beginning of a page.
        let at = page + bytes.below(257).min(255) + if how >= 4 { bytes.below(16) * 256 } else { 0 };
        let at = at.min(file.len() - 1);
        match how {
            0 | 4 => file[at] = bytes.byte(),
            1 | 5 => file[at] ^= 1 << bytes.below(8),
            2 | 6 => {
                let put = bytes.some(16);
                let end = (at + put.len()).min(file.len());
                file[at..end].copy_from_slice(&put[..end - at]);
            }
            3 => {
                let from = bytes.below(pages) * PAGE;
                file.copy_within(from..from + PAGE, page);
            }
            _ => match bytes.below(3) {
                0 => file[page..page + PAGE].fill(0),
                1 => file.truncate(at),
                _ => {
                    let from = bytes.below(pages) * PAGE;
                    for n in 0..PAGE {
                        file.swap(page + n, from + n);
                    }
                }
            },
        }
    }
    file
}
