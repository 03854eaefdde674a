//! What was promised in a recorded run, and the power cut at each of its moments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::harness::Place;
use crate::kills::Dice;
use crate::power_cuts;
use crate::power_disk::Disk;
use crate::power_look::{Eye, Values, contents};
use crate::power_trace::{Act, Trace, Tree};

/// What an answer promised.
#[derive(Debug, Clone)]
pub enum Promise {
    /// So many entries of the ledger, and all that they vouch for.
    Entries(u64),
    /// This file, whole, as it was written this often or more often.
    File(PathBuf, usize),
    /// That the secret is nowhere in the store's files.
    Purged,
}

/// A trace, and what was promised in it.
pub struct Case {
    trace: Trace,
    /// The database, from the recorded folder on.
    pub db: PathBuf,
    /// The hash of each entry at the end, in order.
    pub ledger: Vec<String>,
    /// What was written, by the hash of its version: its place in the ledger, and the value.
    pub values: Values,
    /// Each with the moment at which it was said.
    promises: Vec<(usize, Promise)>,
    /// Files that are written beside the store: what they held one after the other.
    pub files: BTreeMap<PathBuf, Vec<Vec<u8>>>,
    /// What is purged in the end.
    pub secret: Option<String>,
}

/// How many disks are looked at.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// How many in all, more or less.
    pub disks: usize,
    /// Every how manyth of them the real program is started on.
    pub started: usize,
    /// Whether entries that were acknowledged must be there.
    pub durable: bool,
    /// Whether one fault is enough.
    pub one: bool,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Tally {
    calls: usize,
    moments: usize,
    cut: usize,
    exhausted: usize,
    disks: usize,
    different: usize,
    started: usize,
    acknowledged: usize,
    faults: Vec<String>,
}

impl Case {
    /// What happened in a place, whose files are those at the end.
    pub fn of(place: &Place, trace: Trace, db: &Path) -> Self {
        let db = db.strip_prefix(place.path()).expect("in the place").to_owned();
        let (ledger, values) = contents(&place.path().join(&db));
        Self {
            trace,
            db,
            ledger,
            values,
            promises: Vec::new(),
            files: BTreeMap::new(),
            secret: None,
        }
    }

    /// That the first answer after the one before which holds these bytes promised this.
    #[track_caller]
    pub fn promised(&mut self, needle: &str, promise: Promise) {
        if let Promise::Entries(entries) = promise {
            assert!(entries <= self.entries(), "{needle}: entry {entries}");
        }
        let last = self.promises.last().map_or(0, |(said, _)| *said);
        self.promises.push((self.trace.said(needle, last + 1), promise));
    }

    /// That the version with this hash has this value, as an answer promised among others.
    #[track_caller]
    pub fn wrote(&mut self, hash: &str, value: &str) {
        let (seq, kept) = self
            .values
            .get(hash)
            .unwrap_or_else(|| panic!("no version {hash}"))
            .clone();
        assert!(kept == value || kept.is_empty(), "{hash}: {kept}");
        self.values.insert(hash.to_owned(), (seq, value.to_owned()));
        self.promises.push((self.trace.said(hash, 0), Promise::Entries(seq)));
    }

    /// That so many entries were there from the first.
    pub fn had(&mut self, entries: u64) {
        self.promises.push((0, Promise::Entries(entries)));
    }

    /// That a file beside the store was written, and promised to be whole, by the answer that holds these bytes.
    #[track_caller]
    pub fn published(&mut self, needle: &str, name: &str, bytes: Vec<u8>) {
        let states = self.files.entry(name.into()).or_default();
        states.push(bytes);
        let promise = Promise::File(name.into(), states.len());
        self.promised(needle, promise);
    }

    /// How many entries there are at the end.
    pub fn entries(&self) -> u64 {
        self.ledger.len() as u64
    }

    /// The same as if the disk had not been waited for where `lost` says so.
    pub fn without_syncs(mut self, lost: impl Fn(&Path, Option<&Act>) -> bool) -> Self {
        self.trace = self.trace.without_syncs(lost);
        self
    }

    /// Some disks that a power cut may leave, from a seed: as they are when there is much that is not certain.
    pub fn left(&self, count: usize, dice: &mut Dice) -> Vec<Tree> {
        let (mut busy, mut met) = (Vec::new(), 0);
        Disk::replay(&self.trace, |disk, _, _| {
            let open = disk.open();
            if open.parts.len() <= 8 {
                return;
            }
            // Each of those that were met is as likely to be among them, however long the trace is.
            met += 1;
            let at = dice.below(met) as usize;
            if busy.len() < count {
                busy.push(disk.image(&open, &power_cuts::some(&open, 6, dice)));
            } else if at < count {
                busy[at] = disk.image(&open, &power_cuts::some(&open, 6, dice));
            }
        });
        busy
    }

    /// Cuts the power at every moment, or at as many as the plan has room for, and looks at what is left.
    pub fn cut(&self, plan: Plan) -> Tally {
        let mut moments = 0;
        Disk::replay(&self.trace, |_, _, _| moments += 1);
        let mut tally = Tally {
            calls: self.trace.calls.len(),
            moments,
            acknowledged: self.promises.len(),
            ..Tally::default()
        };
        let mut eye = Eye::of(self, plan);
        let mut dice = Dice(20_261_201);
        // At least this many disks of a moment are looked at, or the moment is passed over; those at which something was
        // promised are never.
        let least = 8;
        let rooms = (plan.disks / least).max(1);
        let each = (plan.disks / moments).max(least);
        Disk::replay(&self.trace, |disk, _, at| {
            let promised: Vec<&Promise> = {
                let so_far = self.promises.iter().filter(|(said, _)| *said <= at);
                so_far.map(|(_, promise)| promise).collect()
            };
            if plan.one && !tally.faults.is_empty() {
                return;
            }
            let is_answer = self.promises.iter().any(|(said, _)| *said == at);
            if !is_answer && dice.below(moments as u64) >= rooms as u64 {
                return;
            }
            tally.cut += 1;
            let open = disk.open();
            let cuts = power_cuts::all(&open);
            tally.exhausted += usize::from(cuts.is_some());
            let cuts = cuts.unwrap_or_else(|| (0..each).map(|n| power_cuts::some(&open, n, &mut dice)).collect());
            for mut cut in cuts {
                // A file system that gives out blocks with what they held before may show a purged text once more where a file
                // grew: no program can keep it from that.
                cut.stale &= self.secret.is_none();
                tally.disks += 1;
                if let Err(fault) = eye.judge(&disk.image(&open, &cut), &promised) {
                    tally.faults.push(format!("at {at}: {fault}"));
                }
            }
        });
        (tally.different, tally.started) = eye.looked();
        tally
    }
}

impl Tally {
    /// Asserts that nothing was lost, and says what was looked at.
    #[track_caller]
    pub fn kept(&self, name: &str) {
        let Self {
            calls,
            moments,
            cut,
            exhausted,
            disks,
            different,
            started,
            acknowledged,
            faults,
        } = self;
        println!(
            "{name}: {calls} calls, {acknowledged} answers, {cut} of {moments} moments ({exhausted} of them with every disk), \
             {disks} disks, {different} different, the program started on {started}"
        );
        assert!(
            faults.is_empty(),
            "{name}: {} of {disks} disks, first {:#?}",
            faults.len(),
            &faults[..faults.len().min(3)]
        );
        assert!(*acknowledged > 0 && *different > *cut / 4 && *started > 0, "{self:?}");
    }

    /// Asserts that a fault was seen whose text holds one of these.
    #[track_caller]
    pub fn lost(&self, what: &[&str]) {
        let is_meant = |fault: &String| what.iter().any(|what| fault.contains(what));
        let seen = self.faults.iter().any(is_meant);
        assert!(
            seen,
            "{what:?} was not noticed on {} disks: {:.2000?}",
            self.disks, self.faults
        );
    }
}
