//! The checker itself: what could not have happened it refuses, and what could have it lets pass.

use super::checker::{Done, Object, order};
use super::objects::{FromPacket, FromRecord, OnPacket, OnRecord, Packet, Record, Stands};

fn done<C, A>(began: u64, answered: u64, call: C, answer: A) -> Done<C, A> {
    Done {
        began,
        call,
        answered: Some((answered, answer)),
    }
}

fn pending<C, A>(began: u64, call: C) -> Done<C, A> {
    Done {
        began,
        call,
        answered: None,
    }
}

fn write(value: u64, expected: Option<u64>) -> OnRecord {
    OnRecord::Write { value, expected }
}

fn is(version: u64, value: u64) -> FromRecord {
    FromRecord::Is { version, value }
}

#[track_caller]
fn holds<O: Object + Default>(history: &[Done<O::Call, O::Answer>]) {
    if let Err(why) = order(&O::default(), history) {
        panic!("{why}");
    }
}

#[track_caller]
fn fails<O: Object + Default>(history: &[Done<O::Call, O::Answer>]) {
    if let Ok(order) = order(&O::default(), history) {
        panic!("this order was found: {order:?}");
    }
}

#[test]
fn a_lost_update_is_refused() {
    let first = done(1, 2, write(10, None), FromRecord::Wrote(1));
    let both = |other| {
        let one = done(3, 6, write(20, Some(1)), FromRecord::Wrote(2));
        vec![first.clone(), one, done(4, 5, write(30, Some(1)), other)]
    };
    fails::<Record>(&both(FromRecord::Wrote(2)));
    fails::<Record>(&both(FromRecord::Wrote(3)));
    holds::<Record>(&both(FromRecord::Conflict(2)));
    // A conflict that names another version than there was is a lie, too.
    fails::<Record>(&both(FromRecord::Conflict(1)));
    // Two writes that count on nothing are two versions.
    let blind = |version| {
        let one = done(3, 6, write(20, None), FromRecord::Wrote(2));
        vec![
            first.clone(),
            one,
            done(4, 5, write(30, None), FromRecord::Wrote(version)),
        ]
    };
    holds::<Record>(&blind(3));
    fails::<Record>(&blind(2));
}

#[test]
fn a_stale_read_after_an_answered_write_is_refused() {
    let history = |read_began, version, value| {
        vec![
            done(1, 2, write(10, None), FromRecord::Wrote(1)),
            done(3, 6, write(20, None), FromRecord::Wrote(2)),
            done(read_began, 8, OnRecord::Read, is(version, value)),
        ]
    };
    fails::<Record>(&history(7, 1, 10));
    holds::<Record>(&history(7, 2, 20));
    // While the write is under way, both may be read.
    holds::<Record>(&history(4, 1, 10));
    holds::<Record>(&history(4, 2, 20));
    // What nobody wrote was never there.
    fails::<Record>(&history(4, 2, 10));
    // Two readers do not see the two orders of one write.
    let mut back = history(7, 2, 20);
    back[1] = done(3, 20, write(20, None), FromRecord::Wrote(2));
    back.push(done(9, 10, OnRecord::Read, is(1, 10)));
    fails::<Record>(&back);
}

#[test]
fn what_was_never_answered_was_done_once_or_never() {
    let first = done(1, 2, write(10, None), FromRecord::Wrote(1));
    let lost = pending(3, write(20, None));
    let read = |began, version, value| done(began, began + 1, OnRecord::Read, is(version, value));
    holds::<Record>(&[first.clone(), lost.clone(), read(4, 1, 10)]);
    holds::<Record>(&[first.clone(), lost.clone(), read(4, 2, 20)]);
    // It may be done long afterwards, and what was seen stays.
    holds::<Record>(&[first.clone(), lost.clone(), read(4, 1, 10), read(6, 2, 20)]);
    fails::<Record>(&[first.clone(), lost.clone(), read(4, 2, 20), read(6, 1, 10)]);
    let next = done(6, 7, write(30, None), FromRecord::Wrote(4));
    fails::<Record>(&[first.clone(), lost.clone(), read(4, 1, 10), next]);
    // Before it began it was not there.
    fails::<Record>(&[
        first,
        done(2, 3, OnRecord::Read, is(2, 20)),
        pending(4, write(20, None)),
    ]);
}

#[test]
fn a_double_claim_is_refused() {
    let claims = |second| {
        vec![
            done(1, 4, OnPacket::Claim(0), FromPacket::Taken),
            done(2, 3, OnPacket::Claim(1), second),
        ]
    };
    fails::<Packet>(&claims(FromPacket::Taken));
    fails::<Packet>(&claims(FromPacket::Again));
    holds::<Packet>(&claims(FromPacket::Conflict));
    // After it was given back it is another's to take, and not before.
    let back = |began| {
        let mut history = claims(FromPacket::Conflict);
        history.push(done(5, 6, OnPacket::Release(0), FromPacket::Did(Stands::Open)));
        history.push(done(began, 9, OnPacket::Claim(1), FromPacket::Taken));
        history.push(done(10, 11, OnPacket::Look, FromPacket::Is(Stands::Held(1))));
        history
    };
    holds::<Packet>(&back(7));
    holds::<Packet>(&back(5));
    let mut early = back(7);
    early[3] = done(4, 5, OnPacket::Claim(1), FromPacket::Taken);
    early[2] = done(6, 7, OnPacket::Release(0), FromPacket::Did(Stands::Open));
    fails::<Packet>(&early);
    // A claim that was never answered may hold the packet.
    let lost = [
        pending(1, OnPacket::Claim(0)),
        done(2, 3, OnPacket::Claim(1), FromPacket::Conflict),
    ];
    holds::<Packet>(&lost);
    fails::<Packet>(&lost[1..]);
}

#[test]
fn an_ended_packet_stays_ended() {
    let closed = [
        done(1, 2, OnPacket::Claim(0), FromPacket::Taken),
        done(3, 4, OnPacket::Close(0), FromPacket::Did(Stands::Closed)),
    ];
    let then = |call, answer| [&closed[..], &[done(5, 6, call, answer)]].concat();
    holds::<Packet>(&then(OnPacket::Claim(1), FromPacket::Conflict));
    fails::<Packet>(&then(OnPacket::Claim(1), FromPacket::Taken));
    holds::<Packet>(&then(OnPacket::Close(0), FromPacket::LeftAlone(Stands::Closed)));
    fails::<Packet>(&then(OnPacket::Close(0), FromPacket::Did(Stands::Closed)));
    fails::<Packet>(&then(OnPacket::Look, FromPacket::Is(Stands::Held(0))));
}
