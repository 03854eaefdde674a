//! Which of the disks that a power cut may leave are looked at: all of them where they are few, and a choice from a seed where
//! they are not.

use std::collections::BTreeMap;

use crate::harness::is_long;
use crate::kills::Dice;
use crate::power_disk::{Cut, Open, Part};

/// Up to how many disks of one moment are looked at one and all.
fn few() -> u64 {
    if is_long() { 1024 } else { 64 }
}

/// The disks that a moment may leave, if they are few.
pub fn all(open: &Open) -> Option<Vec<Cut>> {
    let sizes: Vec<u64> = open.sizes.iter().map(|(_, calls)| calls.len() as u64 + 1).collect();
    // What was never written matters only where something grew.
    let fillers = if open.sizes.is_empty() { 1 } else { 2 };
    let ways = std::iter::repeat_n(2, open.parts.len()).chain(sizes.iter().copied());
    let count = ways.chain([fillers]).try_fold(1_u64, |all, ways| {
        let all = all.checked_mul(ways)?;
        (all <= few()).then_some(all)
    })?;
    let cut = |mut number: u64| {
        let mut take = |ways: u64| {
            let taken = number % ways;
            number /= ways;
            taken
        };
        Cut {
            there: open.parts.iter().map(|_| take(2) == 1).collect(),
            sizes: sizes.iter().map(|ways| take(*ways) as usize).collect(),
            stale: take(fillers) == 1,
        }
    };
    Some((0..count).map(cut).collect())
}

/// One of the disks that a moment may leave. The first ones keep nothing, everything, the bytes without the sizes, the
/// sizes without the bytes, and all but the names; the others are thrown.
pub fn some(open: &Open, n: usize, dice: &mut Dice) -> Cut {
    let is_name = |part: &Part| matches!(part, Part::Name { .. });
    let whole = |there: &dyn Fn(&Part) -> bool, sizes: bool, stale: bool| Cut {
        there: open.parts.iter().map(there).collect(),
        sizes: open
            .sizes
            .iter()
            .map(|(_, calls)| if sizes { calls.len() } else { 0 })
            .collect(),
        stale,
    };
    match n {
        0 => whole(&|_| false, false, false),
        1 => whole(&|_| true, true, false),
        2 => whole(&|_| true, false, false),
        3 => whole(&is_name, true, false),
        4 => whole(&is_name, true, true),
        5 => whole(&|part| !is_name(part), true, false),
        _ => thrown(open, dice),
    }
}

fn thrown(open: &Open, dice: &mut Dice) -> Cut {
    let calls: Vec<usize> = {
        let parts = open.parts.iter().map(Part::call);
        let mut calls: Vec<usize> = parts
            .chain(open.sizes.iter().flat_map(|(_, calls)| calls.clone()))
            .collect();
        calls.sort_unstable();
        calls.dedup();
        calls
    };
    let any = |dice: &mut Dice, of: usize| dice.below(of.max(1) as u64) as usize;
    // How much is there, of eight.
    let density = [1, 4, 7][any(dice, 3)];
    let coin = |dice: &mut Dice| dice.below(8) < density;
    let mut tossed: BTreeMap<(usize, usize), bool> = BTreeMap::new();
    let kind = dice.below(7);
    let (mark, single) = (
        calls.get(any(dice, calls.len())).copied().unwrap_or_default(),
        any(dice, open.parts.len()),
    );
    let mut there: Vec<bool> = Vec::with_capacity(open.parts.len());
    for (n, part) in open.parts.iter().enumerate() {
        there.push(match (kind, part) {
            // In the order of the calls up to one, which is torn.
            (0, part) if part.call() != mark => part.call() < mark,
            // The newest from one on, which is torn.
            (1, part) if part.call() != mark => part.call() > mark,
            // All but one; one alone.
            (2, _) => n != single,
            (3, _) => n == single,
            // Call by call, and page by page of the disk's memory.
            (4, part) => *tossed.entry((part.call(), 0)).or_insert_with(|| coin(dice)),
            (5, Part::Sector { file, sector, .. }) => *tossed.entry((*file, sector / 8)).or_insert_with(|| coin(dice)),
            _ => coin(dice),
        });
    }
    let sizes = open.sizes.iter().map(|(_, calls)| match (kind, dice.below(4)) {
        (0, 0 | 1) => calls.iter().take_while(|call| **call <= mark).count(),
        (_, 0) => 0,
        (_, 1) => any(dice, calls.len() + 1),
        _ => calls.len(),
    });
    let sizes = sizes.collect();
    Cut {
        there,
        sizes,
        stale: dice.below(2) == 1,
    }
}
