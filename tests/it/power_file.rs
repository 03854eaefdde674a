//! One file of a disk that keeps what was synced: its bytes, and what a power cut leaves of them.

use std::collections::BTreeSet;

/// What a disk writes at once.
pub const SECTOR: usize = 512;

/// A change that may not be on the disk.
#[derive(Debug, Clone)]
pub struct Loose<T> {
    /// The call that it is of.
    pub call: usize,
    /// Whether the call has ended: only then does a sync that begins later make it certain.
    pub ended: bool,
    pub what: T,
}

/// Marks what a call changed as done. Changes stand in the order in which their calls began.
pub fn end<T>(loose: &mut [Loose<T>], call: usize) {
    let latest = loose.iter_mut().rev().take_while(|one| one.call >= call);
    latest.filter(|one| one.call == call).for_each(|one| one.ended = true);
}

/// The calls whose changes a sync that begins now makes certain.
pub fn ended<T>(loose: &[Loose<T>]) -> BTreeSet<usize> {
    loose.iter().filter(|one| one.ended).map(|one| one.call).collect()
}

/// A change of a file.
#[derive(Debug, Clone)]
pub enum Piece {
    /// A sector as it was after a write, filled up with zeros.
    Sector(usize, Vec<u8>),
    /// A larger size.
    Grown(usize),
    /// A smaller size.
    Cut(usize),
}

/// A file.
#[derive(Debug, Clone, Default)]
pub struct File {
    certain: Vec<u8>,
    /// What the program reads.
    pub now: Vec<u8>,
    /// What the disk may hold where the file was cut.
    old: Vec<u8>,
    /// Where a write without a place goes.
    pub end: usize,
    pub loose: Vec<Loose<Piece>>,
}

impl File {
    /// A file that is on the disk.
    pub fn of(bytes: &[u8]) -> Self {
        Self {
            certain: bytes.to_vec(),
            now: bytes.to_vec(),
            ..Self::default()
        }
    }

    pub fn write(&mut self, call: usize, at: usize, bytes: &[u8]) {
        let end = at + bytes.len();
        self.end = end;
        if end > self.now.len() {
            self.now.resize(end, 0);
            self.add(call, Piece::Grown(end));
        }
        self.now[at..end].copy_from_slice(bytes);
        for sector in at / SECTOR..end.div_ceil(SECTOR) {
            let from = sector * SECTOR;
            let mut whole = self.now[from..self.now.len().min(from + SECTOR)].to_vec();
            whole.resize(SECTOR, 0);
            self.add(call, Piece::Sector(sector, whole));
        }
    }

    pub fn resize(&mut self, call: usize, len: usize) {
        if len < self.now.len() {
            self.old.resize(self.old.len().max(self.now.len()), 0);
            self.old[..self.now.len()].copy_from_slice(&self.now);
            self.add(call, Piece::Cut(len));
        } else if len > self.now.len() {
            self.add(call, Piece::Grown(len));
        }
        self.now.resize(len, 0);
    }

    fn add(&mut self, call: usize, what: Piece) {
        let ended = false;
        self.loose.push(Loose { call, ended, what });
    }

    /// Makes what these calls changed certain.
    pub fn settle(&mut self, calls: &BTreeSet<usize>) {
        let sure = |piece: usize| calls.contains(&self.loose[piece].call);
        self.certain = self.with(sure, sure, None);
        self.loose.retain(|piece| !calls.contains(&piece.call));
    }

    /// The file with these of its loose sectors, which are in order, and so many of its loose changes of size. What lies within
    /// the size and never came to the disk reads as zeros, or, where it is `stale`, as something else.
    pub fn found(&self, sectors: &[usize], sizes: usize, stale: bool) -> Vec<u8> {
        let changes = self.loose.iter().enumerate();
        let changes = changes.filter(|(_, piece)| !matches!(piece.what, Piece::Sector(..)));
        let last = changes.take(sizes).last().map(|(n, _)| n);
        self.with(
            |n| sectors.binary_search(&n).is_ok(),
            |n| last.is_some_and(|last| n <= last),
            stale.then_some(self.old.as_slice()),
        )
    }

    fn with(
        &self,
        sector_there: impl Fn(usize) -> bool,
        size_there: impl Fn(usize) -> bool,
        stale: Option<&[u8]>,
    ) -> Vec<u8> {
        let mut bytes = self.certain.clone();
        let mut len = bytes.len();
        for (n, piece) in self.loose.iter().enumerate() {
            match &piece.what {
                Piece::Sector(sector, content) if sector_there(n) => put(&mut bytes, *sector, content, stale),
                Piece::Grown(to) if size_there(n) => len = *to,
                Piece::Cut(to) if size_there(n) => {
                    len = *to;
                    bytes.truncate(len);
                }
                _ => {}
            }
        }
        lengthen(&mut bytes, len, stale);
        bytes.truncate(len);
        bytes
    }
}

/// Puts a sector in its place, with what lies between it and the end so far.
fn put(bytes: &mut Vec<u8>, sector: usize, content: &[u8], stale: Option<&[u8]>) {
    let from = sector * SECTOR;
    lengthen(bytes, from, stale);
    let inside = bytes.len().min(from + SECTOR) - from;
    bytes[from..from + inside].copy_from_slice(&content[..inside]);
    bytes.extend_from_slice(&content[inside..]);
}

/// Makes bytes at least this long with what never came to the disk: zeros, or what was there before, if anything is known of it.
fn lengthen(bytes: &mut Vec<u8>, to: usize, stale: Option<&[u8]>) {
    let to = to.max(bytes.len());
    let Some(old) = stale else {
        bytes.resize(to, 0);
        return;
    };
    if let Some(old) = old.get(bytes.len()..old.len().min(to)) {
        bytes.extend_from_slice(old);
    }
    bytes.resize(to, 0xa5);
}
