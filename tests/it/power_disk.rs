//! A disk that keeps what was synced, and of everything else whatever it likes.
//!
//! What the model allows is more than any one file system does, so that what holds here holds on all of them:
//!
//! - A sync of a file makes certain what had been written to it, and its size, before the sync began: once the sync has ended,
//!   and of that file alone. Its name becomes certain by a sync of its folder, which says nothing of the folder's own name.
//! - Whatever is not certain is there or not, sector by sector (512 bytes), in any order, however it was written; a sector that was
//!   written more than once may hold any of its states. Sectors are not torn, and one that nobody wrote does not change.
//! - A file's size is that of any moment since its last sync, whatever became of the bytes. What lies within the size
//!   and never came to the disk reads as zeros, or as what the disk held before (of a file that was cut: its old bytes).
//!   Cutting a file takes effect as one, as file systems do it by moving the size.
//! - Names are made, taken away and moved one by one and in any order; moving one is atomic, as POSIX has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::power_file::{File, Loose, Piece, end, ended};
use crate::power_trace::{Act, Call, Trace, Tree};

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Node {
    Folder,
    File(usize),
}

/// What each name stands for after a change; nothing where it was taken away.
type Names = Vec<(PathBuf, Option<Node>)>;

/// A disk at a moment.
#[derive(Debug, Clone, Default)]
pub struct Disk {
    files: Vec<File>,
    certain: BTreeMap<PathBuf, Node>,
    now: BTreeMap<PathBuf, Node>,
    loose: Vec<Loose<Names>>,
    /// What a sync under way will have made certain: its call, and the calls that had ended before it.
    syncing: BTreeMap<usize, BTreeSet<usize>>,
}

/// One thing that a power cut decides: whether a change is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// A sector that a call wrote: call, file, which of its loose pieces, and which sector.
    Sector {
        call: usize,
        file: usize,
        piece: usize,
        sector: usize,
    },
    /// A change of names: call, and which of the loose ones.
    Name { call: usize, name: usize },
}

impl Part {
    pub fn call(&self) -> usize {
        match self {
            Self::Sector { call, .. } | Self::Name { call, .. } => *call,
        }
    }
}

/// Everything that a power cut would decide at a moment.
#[derive(Debug, Clone, Default)]
pub struct Open {
    pub parts: Vec<Part>,
    /// The files whose size is not certain, with the calls that changed it, in their order.
    pub sizes: Vec<(usize, Vec<usize>)>,
}

/// How a power cut decides.
#[derive(Debug, Clone, Default)]
pub struct Cut {
    /// Of [`Open::parts`], whether it is there.
    pub there: Vec<bool>,
    /// Of [`Open::sizes`], how many changes came to the disk.
    pub sizes: Vec<usize>,
    /// Whether what never came to the disk reads as what was there before, and not as zeros.
    pub stale: bool,
}

impl Disk {
    fn of(tree: &Tree) -> Self {
        let mut disk = Self::default();
        for (path, bytes) in tree {
            let node = match bytes {
                None => Node::Folder,
                Some(bytes) => {
                    disk.files.push(File::of(bytes));
                    Node::File(disk.files.len() - 1)
                }
            };
            disk.certain.insert(path.clone(), node);
        }
        disk.now = disk.certain.clone();
        disk
    }

    /// Lives through a trace, and calls `see` with each call that has changed what is possible or certain: when it began, or when
    /// it ended and was a sync. At the end every file must be what the program left, or the trace is not whole.
    pub fn replay(trace: &Trace, mut see: impl FnMut(&Self, &Call, usize)) {
        let mut disk = Self::of(&trace.before);
        let mut moments: Vec<(usize, usize, bool)> = Vec::new();
        for (n, call) in trace.calls.iter().enumerate() {
            moments.push((call.begun, n, true));
            moments.extend(call.ended.map(|ended| (ended, n, false)));
        }
        moments.sort_unstable_by_key(|(at, n, _)| (*at, *n));
        for (at, n, begins) in moments {
            let call = &trace.calls[n];
            let is_sync = matches!(call.act, Act::Sync(_));
            if begins {
                disk.begin(n, &call.act);
            } else {
                disk.end(n, &call.act);
            }
            if begins != is_sync {
                see(&disk, call, at);
            }
        }
        assert_eq!(disk.whole(), trace.after, "the trace is not all that happened");
    }

    fn begin(&mut self, call: usize, act: &Act) {
        match act {
            Act::Create(path) => {
                if !self.now.contains_key(path) {
                    self.files.push(File::default());
                    let node = Node::File(self.files.len() - 1);
                    self.rename(call, vec![(path.clone(), Some(node))]);
                }
                // Whoever opens a file starts at its beginning.
                if let Some(file) = self.file(path) {
                    file.end = 0;
                }
            }
            Act::Folder(path) => self.rename(call, vec![(path.clone(), Some(Node::Folder))]),
            Act::Remove(path) => self.rename(call, vec![(path.clone(), None)]),
            Act::Rename(from, to) => {
                assert_eq!(from.parent(), to.parent(), "a name moves to another folder");
                let node = self.now[from];
                self.rename(call, vec![(to.clone(), Some(node)), (from.clone(), None)]);
            }
            Act::Link(from, to) => {
                let node = self.now[from];
                self.rename(call, vec![(to.clone(), Some(node))]);
            }
            Act::Write(path, at, bytes) => {
                if let Some(file) = self.file(path) {
                    let at = at.map_or(file.end, |at| at as usize);
                    file.write(call, at, bytes);
                }
            }
            Act::Resize(path, len) => {
                if let Some(file) = self.file(path) {
                    file.resize(call, *len as usize);
                }
            }
            Act::Sync(path) => {
                let before = match self.file(path) {
                    Some(file) => ended(&file.loose),
                    None => ended(&self.loose),
                };
                self.syncing.insert(call, before);
            }
            Act::Say(_) => {}
        }
    }

    fn end(&mut self, call: usize, act: &Act) {
        end(&mut self.loose, call);
        if let Act::Write(path, ..) | Act::Resize(path, _) = act
            && let Some(file) = self.file(path)
        {
            end(&mut file.loose, call);
        }
        let Act::Sync(path) = act else { return };
        let before = self.syncing.remove(&call).unwrap_or_default();
        if let Some(file) = self.file(path) {
            file.settle(&before);
            return;
        }
        // What is no file is a folder: its names become certain.
        let (sure, loose): (Vec<_>, Vec<_>) = std::mem::take(&mut self.loose).into_iter().partition(|name| {
            let here = name.what.iter().all(|(name, _)| name.parent() == Some(path));
            here && before.contains(&name.call)
        });
        self.loose = loose;
        for name in sure {
            apply(&mut self.certain, &name.what);
        }
    }

    fn file(&mut self, path: &Path) -> Option<&mut File> {
        match self.now.get(path) {
            Some(Node::File(n)) => Some(&mut self.files[*n]),
            _ => None,
        }
    }

    fn rename(&mut self, call: usize, what: Names) {
        apply(&mut self.now, &what);
        self.loose.push(Loose {
            call,
            ended: false,
            what,
        });
    }

    /// What the program sees.
    fn whole(&self) -> Tree {
        let bytes = |node: &Node| match node {
            Node::Folder => None,
            Node::File(n) => Some(self.files[*n].now.clone()),
        };
        self.now
            .iter()
            .map(|(path, node)| (path.clone(), bytes(node)))
            .collect()
    }

    /// What a power cut would decide now. A file that no name can lead to is left out.
    pub fn open(&self) -> Open {
        let mut open = Open::default();
        let named = self.certain.values().copied();
        let loose = self.loose.iter().flat_map(|name| &name.what);
        let mut reached: Vec<usize> = named
            .chain(loose.filter_map(|(_, node)| *node))
            .filter_map(|node| match node {
                Node::File(n) => Some(n),
                Node::Folder => None,
            })
            .collect();
        reached.sort_unstable();
        reached.dedup();
        for n in reached {
            let mut sizes = Vec::new();
            for (piece, loose) in self.files[n].loose.iter().enumerate() {
                match loose.what {
                    Piece::Sector(sector, _) => open.parts.push(Part::Sector {
                        call: loose.call,
                        file: n,
                        piece,
                        sector,
                    }),
                    _ => sizes.push(loose.call),
                }
            }
            if !sizes.is_empty() {
                open.sizes.push((n, sizes));
            }
        }
        let names = self.loose.iter().enumerate();
        open.parts
            .extend(names.map(|(name, loose)| Part::Name { call: loose.call, name }));
        open
    }

    /// What is found when the power is back.
    pub fn image(&self, open: &Open, cut: &Cut) -> Tree {
        let mut names = self.certain.clone();
        let mut pieces: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (part, _) in open.parts.iter().zip(&cut.there).filter(|(_, there)| **there) {
            match part {
                Part::Name { name, .. } => apply(&mut names, &self.loose[*name].what),
                Part::Sector { file, piece, .. } => pieces.entry(*file).or_default().push(*piece),
            }
        }
        let mut tree = Tree::new();
        for (path, node) in &names {
            // What lies in a folder that is not there is not there; folders come before what is in them.
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            if folder.is_some_and(|folder| tree.get(folder) != Some(&None)) {
                continue;
            }
            let bytes = match node {
                Node::Folder => None,
                Node::File(n) => {
                    let size = open.sizes.iter().position(|(file, _)| file == n);
                    let sizes = size.map_or(0, |at| cut.sizes[at]);
                    let there = pieces.get(n).map_or(&[][..], Vec::as_slice);
                    Some(self.files[*n].found(there, sizes, cut.stale))
                }
            };
            tree.insert(path.clone(), bytes);
        }
        tree
    }
}

fn apply(names: &mut BTreeMap<PathBuf, Node>, changes: &[(PathBuf, Option<Node>)]) {
    for (path, node) in changes {
        match node {
            Some(node) => names.insert(path.clone(), *node),
            None => names.remove(path),
        };
    }
}
