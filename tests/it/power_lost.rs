//! The power is cut where the disk was not waited for: a loss is noticed, so that none elsewhere means something. And what is
//! left to promise with `MEMORY_DURABILITY=normal`.

use std::path::Path;

use crate::power::{fresh, full, session};
use crate::power_beside::{beside, purge};
use crate::power_check::Plan;
use crate::power_trace::Act;
use crate::storage::text;

/// Whether a path ends like this.
fn ends(end: &'static str) -> impl Fn(&Path, Option<&Act>) -> bool {
    move |path, _| text(path).ends_with(end)
}

/// Few disks: a loss shows on one of the first.
fn few() -> Plan {
    Plan {
        disks: 300,
        started: 1_000_000,
        durable: true,
        one: true,
    }
}

#[test]
#[ignore = "needs strace"]
fn without_waiting_for_each_commit_the_chain_holds_and_the_end_may_be_lost() {
    let case = session("normal");
    // What is there proves itself, and is the beginning of what was written.
    let chain = Plan {
        durable: false,
        ..full(250, 12_000)
    };
    case.cut(chain).kept("a session that does not wait");
    // And it may be less than what was acknowledged.
    case.cut(few()).lost(&["was acknowledged"]);
}

#[test]
#[ignore = "needs strace"]
fn a_log_that_is_never_synced_is_noticed() {
    session("full")
        .without_syncs(ends("-wal"))
        .cut(few())
        .lost(&["was acknowledged", "damaged"]);
}

#[test]
#[ignore = "needs strace"]
fn a_file_that_is_not_synced_before_its_log_is_emptied_is_noticed() {
    session("full")
        .without_syncs(ends("memory.db"))
        .cut(few())
        .lost(&["damaged", "was acknowledged"]);
}

#[test]
#[ignore = "needs strace"]
fn a_folder_that_is_not_synced_is_noticed() {
    fresh()
        .without_syncs(ends("new"))
        .cut(few())
        .lost(&["was acknowledged"]);
    fresh()
        .without_syncs(ends("deeper"))
        .cut(few())
        .lost(&["was acknowledged"]);
}

#[test]
#[ignore = "needs strace"]
fn a_purge_that_does_not_wait_for_the_log_to_be_cut_is_noticed() {
    purge(true, "full")
        .without_syncs(|_, before| matches!(before, Some(Act::Resize(log, 0)) if ends("-wal")(log, None)))
        .cut(few())
        .lost(&["the purged text is there"]);
}

#[test]
#[ignore = "needs strace"]
fn a_copy_that_is_not_synced_is_noticed() {
    beside().without_syncs(ends(".part")).cut(few()).lost(&["by halves"]);
    beside()
        .without_syncs(|path, _| path == Path::new(""))
        .cut(few())
        .lost(&["is not there"]);
}
