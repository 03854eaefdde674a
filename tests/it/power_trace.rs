//! What the real program asks of the file system, call by call: recorded by strace, read back as a list.
//!
//! Every call that changes a file or a folder below the recorded one, every wait for the disk, and everything that the
//! program says on a pipe or a socket stand in one order, with the moments at which each began and ended.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::everything::holds;
use crate::handoffs::until;
use crate::harness::{Place, Start};
use crate::storage::text;

/// The calls that are looked at. Those that the replay cannot follow are here to be noticed.
const CALLS: &str = "trace=open,openat,creat,write,pwrite64,writev,pwritev,pwritev2,sendto,sendmsg,ftruncate,truncate,fallocate,\
    fsync,fdatasync,sync_file_range,msync,mmap,copy_file_range,sendfile,rename,renameat,renameat2,link,linkat,symlink,\
    symlinkat,unlink,unlinkat,rmdir,mkdir,mkdirat,io_uring_setup";

/// The files and folders below a folder; a folder has no bytes. What SQLite maps into memory is not looked at: it is made anew
/// by whoever opens the file first.
pub type Tree = BTreeMap<PathBuf, Option<Vec<u8>>>;

/// What was asked for. Paths are taken from the recorded folder on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A name is opened that may be new.
    Create(PathBuf),
    /// A folder is made.
    Folder(PathBuf),
    /// Bytes go to a place of a file, or to where the last ones ended.
    Write(PathBuf, Option<u64>, Vec<u8>),
    /// A file gets this size.
    Resize(PathBuf, u64),
    /// The disk is waited for: a file's, or a folder's.
    Sync(PathBuf),
    Rename(PathBuf, PathBuf),
    Link(PathBuf, PathBuf),
    Remove(PathBuf),
    /// Bytes leave the program by a pipe or a socket.
    Say(Vec<u8>),
}

/// One call.
#[derive(Debug, Clone)]
pub struct Call {
    pub act: Act,
    /// Its moment in the order of all beginnings and ends.
    pub begun: usize,
    /// None where the process was killed in the midst of it.
    pub ended: Option<usize>,
}

/// Everything that happened below a folder.
#[derive(Debug, Clone)]
pub struct Trace {
    pub before: Tree,
    pub calls: Vec<Call>,
    pub after: Tree,
}

impl Trace {
    /// The same as if the disk had not been waited for where `lost` says so, which is told of whom, and what was done to it
    /// before.
    pub fn without_syncs(&self, lost: impl Fn(&Path, Option<&Act>) -> bool) -> Self {
        let mut last: HashMap<&Path, &Act> = HashMap::new();
        let mut calls = Vec::new();
        for call in &self.calls {
            match &call.act {
                Act::Sync(path) if lost(path, last.get(path.as_path()).copied()) => continue,
                Act::Write(path, ..) | Act::Resize(path, _) => {
                    last.insert(path, &call.act);
                }
                _ => {}
            }
            calls.push(call.clone());
        }
        assert!(calls.len() < self.calls.len(), "there was nothing to leave out");
        Self { calls, ..self.clone() }
    }

    /// The first moment from one on at which an answer with these bytes left the program.
    #[track_caller]
    pub fn said(&self, needle: &str, from: usize) -> usize {
        let mut calls = self.calls.iter().filter(|call| call.begun >= from);
        let said = calls.find(|call| matches!(&call.act, Act::Say(bytes) if holds(bytes, needle)));
        said.unwrap_or_else(|| panic!("{needle:?} was never said")).begun
    }
}

/// Records the processes of one place, one after the other.
pub struct Recorder {
    root: PathBuf,
    traces: TempDir,
    before: Tree,
    made: Vec<PathBuf>,
    started: usize,
}

/// Where strace is.
fn strace() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("strace"));
    found
        .into_iter()
        .find(|file| file.is_file())
        .expect("this test records system calls and needs strace: install it (apt-get install strace)")
}

impl Recorder {
    /// Looks at the files below a place; what is there now counts as being on the disk.
    pub fn of(place: &Place) -> Self {
        let root = place.path().canonicalize().expect("the place is there");
        Self {
            before: tree(&root),
            root,
            traces: TempDir::new().expect("a temporary folder"),
            made: Vec::new(),
            started: 0,
        }
    }

    /// The same process, under the recorder. It must end before the next one is started.
    pub fn record(&mut self, start: Start) -> Start {
        let to = self.file(self.started);
        self.started += 1;
        // The recorder stands aside (-D), so that the process itself is the child that is signalled and waited for.
        let words = ["-D", "-f", "-y", "-xx", "--seccomp-bpf", "-s", "16777216"];
        let mut wrapper = vec![text(&strace()).to_owned()];
        wrapper.extend(words.map(str::to_owned));
        wrapper.extend(["-e", CALLS, "-o", text(&to)].map(str::to_owned));
        start.through(&wrapper.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Makes a folder just now, as somebody does who waits for no disk, before the first process.
    pub fn make_folder(&mut self, name: &str) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir(&path).expect("a folder");
        self.made.push(name.into());
        path
    }

    fn file(&self, n: usize) -> PathBuf {
        self.traces.path().join(n.to_string())
    }

    /// What happened, once every process has ended.
    #[track_caller]
    pub fn trace(self) -> Trace {
        let made = self.made.iter().map(|name| Call {
            act: Act::Folder(name.clone()),
            begun: 0,
            ended: Some(1),
        });
        let (mut calls, mut clock): (Vec<Call>, usize) = (made.collect(), 0);
        for n in 0..self.started {
            let recorded = until("the recording ends", || whole(&self.file(n)));
            clock = read(&recorded, &self.root, clock, &mut calls);
        }
        calls.sort_by_key(|call| call.begun);
        Trace {
            before: self.before,
            calls,
            after: tree(&self.root),
        }
    }
}

/// A recording that goes on to the end of every thread in it.
fn whole(path: &Path) -> Option<String> {
    let recorded = std::fs::read_to_string(path).ok()?;
    let mut running = BTreeSet::new();
    for line in recorded.strip_suffix('\n')?.lines() {
        let (thread, rest) = line.split_once(' ')?;
        if rest.trim_start().starts_with("+++") {
            running.remove(thread);
        } else {
            running.insert(thread);
        }
    }
    running.is_empty().then_some(recorded)
}

/// The files and folders below `root`.
pub fn tree(root: &Path) -> Tree {
    let mut found = Tree::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            if path.is_dir() {
                found.insert(name, None);
                folders.push(path);
            } else if !is_shared_memory(&path) {
                found.insert(name, Some(std::fs::read(&path).expect("a file")));
            }
        }
    }
    found
}

/// Puts files and folders below `root`.
pub fn put(tree: &Tree, root: &Path) {
    for (path, bytes) in tree {
        let path = root.join(path);
        match bytes {
            None if path.is_dir() => {}
            None => std::fs::create_dir(&path).expect("a folder"),
            Some(bytes) => std::fs::write(&path, bytes).expect("a file"),
        }
    }
}

fn is_shared_memory(path: &Path) -> bool {
    path.to_string_lossy().ends_with("-shm")
}

/// Reads a recording, whose moments begin at `clock`; gives the moment after it.
fn read(recorded: &str, root: &Path, mut clock: usize, calls: &mut Vec<Call>) -> usize {
    let mut open: HashMap<&str, (usize, String)> = HashMap::new();
    for line in recorded.lines() {
        let (thread, rest) = line.split_once(' ').expect("a thread and what it did");
        let rest = rest.trim_start();
        clock += 2;
        if rest.starts_with("+++") || rest.starts_with("---") {
            continue;
        }
        if let Some(head) = rest.strip_suffix("<unfinished ...>") {
            open.insert(thread, (clock, head.to_owned()));
            continue;
        }
        let (begun, whole) = if rest.starts_with("<... ") {
            let (_, tail) = rest.split_once(" resumed>").expect("the rest of a call");
            let (begun, head) = open.remove(thread).expect("its beginning");
            (begun, head + tail)
        } else {
            (clock, rest.to_owned())
        };
        let ended = Some(clock + 1);
        calls.extend(acts(&whole, root).into_iter().map(|act| Call { act, begun, ended }));
    }
    // A process that was killed leaves its last calls without an end; what they did may have been done.
    for (begun, head) in open.into_values() {
        let acts = acts(&format!("{} = ?", head.trim_end()), root);
        calls.extend(acts.into_iter().map(|act| Call {
            act,
            begun,
            ended: None,
        }));
    }
    clock + 2
}

/// What a call does below `root`.
fn acts(call: &str, root: &Path) -> Vec<Act> {
    let (name, rest) = call.split_once('(').unwrap_or_else(|| panic!("no call: {call:.200}"));
    let (arguments, result) = rest
        .rsplit_once(" = ")
        .unwrap_or_else(|| panic!("no result: {call:.200}"));
    if result.starts_with('-') {
        return Vec::new();
    }
    let arguments: Vec<&str> = split(arguments.trim_end().trim_end_matches(')'));
    let below = |path: PathBuf| -> Option<PathBuf> {
        let inside = path.strip_prefix(root).ok()?.to_owned();
        (!is_shared_memory(&inside)).then_some(inside)
    };
    let file = |n: usize| described(arguments[n]).and_then(below);
    let named = |n: usize| below(PathBuf::from(text_of(&bytes(arguments[n]))));
    // A path beside the folder that it is taken from.
    let at = |n: usize| {
        let folder = described(arguments[n]).unwrap_or_default();
        below(folder.join(text_of(&bytes(arguments[n + 1]))))
    };
    let two = |from: Option<PathBuf>, to: Option<PathBuf>, make: fn(PathBuf, PathBuf) -> Act| match (from, to) {
        (Some(from), Some(to)) => Some(make(from, to)),
        (None, None) => None,
        _ => panic!("a name moves between the recorded folder and another one: {call:.200}"),
    };
    // How much was written; of a call without an end all may have been.
    let taken = |mut all: Vec<u8>| {
        all.truncate(result.trim().parse().unwrap_or(usize::MAX));
        all
    };
    let one = match name {
        "openat" | "open" | "creat" => {
            let (path, flags) = if name == "openat" { (at(0), 2) } else { (named(0), 1) };
            let flags = arguments.get(flags).copied().unwrap_or_default();
            let mut acts = Vec::new();
            if let Some(path) = path {
                if flags.contains("O_CREAT") || name == "creat" {
                    acts.push(Act::Create(path.clone()));
                }
                if flags.contains("O_TRUNC") || name == "creat" {
                    acts.push(Act::Resize(path, 0));
                }
            }
            return acts;
        }
        "write" | "writev" | "sendto" | "sendmsg" if file(0).is_none() => {
            let speaks = ["pipe:", "socket:"].iter().any(|kind| {
                let to = described(arguments[0]).unwrap_or_default();
                to.to_string_lossy().starts_with(kind)
            });
            speaks.then(|| Act::Say(taken(bytes(&arguments[1..].join(",")))))
        }
        "write" | "writev" => file(0).map(|path| Act::Write(path, None, taken(bytes(&arguments[1..].join(","))))),
        "pwrite64" => file(0).map(|path| Act::Write(path, Some(number(arguments[3])), taken(bytes(arguments[1])))),
        "ftruncate" => file(0).map(|path| Act::Resize(path, number(arguments[1]))),
        "fsync" | "fdatasync" => file(0).map(Act::Sync),
        "rename" => two(named(0), named(1), Act::Rename),
        "renameat" | "renameat2" => two(at(0), at(2), Act::Rename),
        "link" => two(named(0), named(1), Act::Link),
        "linkat" => two(at(0), at(2), Act::Link),
        "unlink" | "rmdir" => named(0).map(Act::Remove),
        "unlinkat" => at(0).map(Act::Remove),
        "mkdir" => named(0).map(Act::Folder),
        "mkdirat" => at(0).map(Act::Folder),
        // Code and its data are mapped, too; a file of ours is not, but for what is looked at by nobody.
        "mmap" if !(call.contains("MAP_SHARED") && call.contains("PROT_WRITE")) => None,
        _ => {
            let ours = (0..arguments.len()).any(|n| file(n).is_some());
            assert!(!ours, "the replay does not know this call: {call:.200}");
            None
        }
    };
    one.into_iter().collect()
}

/// The arguments of a call; no text stands in them as it is, so that a comma always parts two.
fn split(arguments: &str) -> Vec<&str> {
    arguments.split(", ").collect()
}

/// What stands behind the number of an open file (`3<...>`) or of the working folder; none where it has no name any more.
fn described(argument: &str) -> Option<PathBuf> {
    let (_, rest) = argument.split_once('<')?;
    let (path, more) = rest.split_once('>')?;
    let path = text_of(&bytes(path));
    let gone = more.contains("(deleted)") || path.ends_with(" (deleted)");
    (!gone).then(|| PathBuf::from(path))
}

/// The bytes that are written as `\x2f` in a piece of a recording.
fn bytes(written: &str) -> Vec<u8> {
    // Of a hexadecimal digit: letters lie 9 above their low bits. There are millions of them.
    let digit = |byte: u8| (byte & 0xf) + 9 * (byte >> 6);
    let mut found = Vec::with_capacity(written.len() / 4);
    for text in written.split('"').filter(|text| text.starts_with("\\x")) {
        found.extend(
            text.as_bytes()
                .chunks_exact(4)
                .map(|one| digit(one[2]) << 4 | digit(one[3])),
        );
    }
    found
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("a path in Unicode")
}

fn number(argument: &str) -> u64 {
    argument
        .trim()
        .parse()
        .unwrap_or_else(|_| panic!("no number: {argument:.80}"))
}
