//! Faults in system calls, made by strace: a workload is first run as it is, to see which calls it makes, and then once more
//! for each of them with that call failing, or with the process ending at it.
//!
//! strace counts the calls of each thread by itself. So the `nth` call fails in every thread that comes so far, and each
//! call of each thread is met when `nth` goes up to the longest of those counts. A run in which nothing was met proves
//! nothing: it is made again, and fails the test if that does not help.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;

use crate::harness::{BINARY, Place, Refusal, Start, is_long};
use crate::kills::Dice;
use crate::storage::{beside, text};
use crate::web::eventually;

/// What is done to a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Harm {
    /// It fails with this error, and does nothing.
    Error(&'static str),
    /// The process ends in its place.
    Kill,
    /// The process is stopped when it is done.
    Stop,
}

/// One fault.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub call: Call,
    pub harm: Harm,
    /// At which call of this name in a thread, from 1 on.
    pub nth: usize,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {} number {}", self.harm, self.call.name, self.nth)
    }
}

/// A system call that is walked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Call {
    pub name: &'static str,
    /// Which of its calls count.
    reach: Reach,
    /// How it can fail.
    errors: &'static [&'static str],
}

/// Which calls of one name count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// All of them.
    All,
    /// Those on the database and the files beside it: the system's loader makes others.
    Store,
    /// Those on a file that is not finished: others speak to people and to threads.
    Part,
}

const WRITES: &[&str] = &["EIO", "ENOSPC", "EINTR"];

/// Everything that reaches a file. A name that a machine does not have is never counted there.
const CALLS: [Call; 14] = [
    all("pwrite64", WRITES),
    all("fsync", WRITES),
    all("fdatasync", WRITES),
    all("ftruncate", WRITES),
    all("fallocate", WRITES),
    all("rename", WRITES),
    all("renameat", WRITES),
    all("linkat", WRITES),
    all("unlink", &["EIO"]),
    all("unlinkat", &["EIO"]),
    Call {
        name: "write",
        reach: Reach::Part,
        errors: WRITES,
    },
    of_store("openat", &["EIO", "ENOSPC", "EINTR", "EMFILE"]),
    of_store("mmap", &["ENOMEM"]),
    of_store("pread64", &["EIO", "EINTR"]),
];

const fn all(name: &'static str, errors: &'static [&'static str]) -> Call {
    Call {
        name,
        reach: Reach::All,
        errors,
    }
}

const fn of_store(name: &'static str, errors: &'static [&'static str]) -> Call {
    Call {
        name,
        reach: Reach::Store,
        errors,
    }
}

impl Call {
    /// A call of [`CALLS`] by its name.
    pub fn named(name: &str) -> Self {
        *CALLS.iter().find(|call| call.name == name).expect("a known call")
    }

    fn harms(self) -> Vec<Harm> {
        let errors = self.errors.iter().map(|error| Harm::Error(error));
        errors.chain([Harm::Kill]).collect()
    }

    /// Whether a line of strace's log is about a call that counts.
    fn counts(self, line: &str) -> bool {
        self.reach != Reach::Part || line.contains(".part>")
    }
}

/// A call that was made.
struct Made {
    thread: String,
    name: &'static str,
    counts: bool,
    line: String,
}

/// Where strace is.
fn strace() -> PathBuf {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&paths)
        .map(|folder| folder.join("strace"))
        .find(|file| file.is_file());
    found.expect("strace is not installed, and these tests let system calls fail with it: apt-get install strace")
}

/// One run under strace.
pub struct Trace {
    pub fault: Option<Fault>,
    log: PathBuf,
    words: Vec<String>,
}

impl Trace {
    /// A run in which one call fails.
    pub fn with(place: &Place, fault: Fault) -> Self {
        let Fault { call, harm, nth } = fault;
        let harm = match harm {
            Harm::Error(name) => format!("error={name}"),
            Harm::Kill => "signal=SIGKILL".to_owned(),
            Harm::Stop => "signal=SIGSTOP".to_owned(),
        };
        let inject = format!("inject={}:{harm}:when={nth}", call.name);
        let mut trace = Self::of(place, call.reach, &[call]);
        trace.words.extend(["-e".to_owned(), inject]);
        trace.fault = Some(fault);
        trace
    }

    /// A run in which all calls on files that are no part of the start are only counted.
    pub fn counting_all(place: &Place) -> Self {
        Self::counting(place, Reach::All)
    }

    /// A run in which calls are only counted.
    fn counting(place: &Place, reach: Reach) -> Self {
        let calls: Vec<Call> = CALLS.into_iter().filter(|call| call.reach == reach).collect();
        Self::of(place, reach, &calls)
    }

    fn of(place: &Place, reach: Reach, calls: &[Call]) -> Self {
        let log = place.path().join("strace.log");
        // As a grandchild (-D), so that the process of the test is the executable itself.
        let mut words = vec![text(&strace()).to_owned()];
        words.extend(["-D", "-f", "-y", "-Y", "-o", text(&log)].map(str::to_owned));
        if reach == Reach::Store {
            let files = ["", "-wal", "-shm", "-journal"].map(|end| text(&beside(&place.db(), end)).to_owned());
            // The executable, too, so that its start is seen.
            let files = files.into_iter().chain([BINARY.to_owned()]);
            words.extend(files.flat_map(|file| ["-P".to_owned(), file]));
        }
        let names: Vec<String> = calls.iter().map(|call| format!("?{}", call.name)).collect();
        words.extend(["-e".to_owned(), format!("trace=execve,{}", names.join(","))]);
        Self {
            fault: None,
            log,
            words,
        }
    }

    /// The same process under strace.
    pub fn wrap(&self, start: Start) -> Start {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        start.through(&words)
    }

    /// Whether the process ends at the fault.
    pub fn kills(&self) -> bool {
        self.fault.is_some_and(|fault| fault.harm == Harm::Kill)
    }

    /// What strace has written so far, each line without its number.
    pub fn written(&self) -> Vec<String> {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        log.lines().map(str::to_owned).collect()
    }

    /// All that strace wrote, once the process has ended.
    fn ended(&self) -> Vec<String> {
        let mut lines = Vec::new();
        eventually("strace has written everything", || {
            lines = self.written();
            // The first line is the start of the process, and its first thread is the last to be told of.
            let first = lines.first().and_then(|line| line.split('<').next());
            let gone = |line: &String| line.contains(" +++ ") && line.split('<').next() == first;
            lines.iter().any(gone)
        });
        lines
    }

    /// Every call that was made, each as one line. One that another thread's came between stands in the log in two parts.
    fn calls(&self) -> Vec<Made> {
        let mut open: BTreeMap<String, usize> = BTreeMap::new();
        let mut made: Vec<Made> = Vec::new();
        for line in self.ended() {
            let thread = line.split('<').next().unwrap_or_default().to_owned();
            if let Some((_, rest)) = line.split_once(" resumed>") {
                if let Some(at) = open.remove(&thread) {
                    made[at].line.push_str(rest);
                }
            } else if let Some(call) = CALLS.iter().find(|call| line.contains(&format!(" {}(", call.name))) {
                let begun = line.strip_suffix(" <unfinished ...>");
                if begun.is_some() {
                    open.insert(thread.clone(), made.len());
                }
                made.push(Made {
                    thread,
                    name: call.name,
                    counts: call.counts(&line),
                    line: begun.unwrap_or(&line).to_owned(),
                });
            }
        }
        made
    }

    /// Whether the fault happened.
    fn met(&self) -> bool {
        let Some(fault) = self.fault else {
            return false;
        };
        let killed = self.ended().iter().any(|line| line.contains("killed by SIGKILL"));
        self.calls().iter().any(|made| {
            made.name == fault.call.name
                && made.counts
                && match fault.harm {
                    Harm::Error(_) => made.line.ends_with("(INJECTED)"),
                    // The call that was never made has no result.
                    Harm::Kill => killed && (made.line.ends_with(" = ?") || !made.line.contains(" = ")),
                    Harm::Stop => true,
                }
        })
    }

    /// Of each call, at which numbers of a thread it was made.
    pub fn numbers(&self) -> BTreeSet<(&'static str, usize)> {
        let mut so_far: BTreeMap<(String, &str), usize> = BTreeMap::new();
        let mut found = BTreeSet::new();
        for made in self.calls() {
            let number = so_far.entry((made.thread, made.name)).or_default();
            *number += 1;
            if made.counts {
                found.insert((made.name, *number));
            }
        }
        found
    }

    /// Asserts that a refusal is one that this fault may be answered with: what happened and what to do, in plain words.
    #[track_caller]
    pub fn explains(&self, refusal: &Refusal) {
        let Some(Fault {
            call,
            harm: Harm::Error(error),
            ..
        }) = self.fault
        else {
            panic!("nothing failed, and yet: {refusal:?}");
        };
        let codes: &[&str] = match (call.name, error) {
            ("write", "ENOSPC") => &["disk_full"],
            // Whether the disk is full is asked of the disk where SQLite does not say so, and this one is not.
            (_, "ENOSPC") => &["disk_full", "corrupt", "read_only"],
            _ => &["corrupt", "read_only"],
        };
        assert!(
            codes.contains(&refusal.code.as_str()),
            "{error} at {}: {refusal:?}",
            call.name
        );
        assert!(
            !refusal.hint.is_empty() && !refusal.message.contains('\n'),
            "{refusal:?}"
        );
        for inside in ["os error", "SQLITE", "IoErr", "Error("] {
            assert!(!refusal.text().contains(inside), "{inside} in {refusal:?}");
        }
        refusal.hides_the_inside();
    }
}

/// Runs `act` on what `prepare` makes: as it is, and then once for each fault that can happen in it. `act` does the work
/// under the trace and makes sure that what was answered is so. All of them with `LONG_TESTS=1`, otherwise an error and an end
/// for each name of a call.
#[track_caller]
pub fn walk(name: &str, prepare: impl Fn() -> Place, act: impl Fn(&Place, &Trace)) {
    let mut dice = Dice(
        name.bytes()
            .fold(20_261_201, |sum, byte| sum * 31 % 1_000_003 + u64::from(byte)),
    );
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let mut again = 0;
    for reach in [Reach::All, Reach::Store, Reach::Part] {
        let calm = || {
            let place = prepare();
            let trace = Trace::counting(&place, reach);
            act(&place, &trace);
            trace.numbers()
        };
        // What is done by which thread may differ between two runs: what both do can be met for sure.
        let numbers: BTreeSet<_> = calm().intersection(&calm()).copied().collect();
        for call in CALLS.into_iter().filter(|call| call.reach == reach) {
            let mut numbers: Vec<usize> = numbers
                .iter()
                .filter(|(n, _)| *n == call.name)
                .map(|(_, n)| *n)
                .collect();
            if reach == Reach::Part {
                // Before and after come writes to threads and to people, not always as many: they are none of ours.
                numbers = numbers
                    .iter()
                    .copied()
                    .filter(|n| (4..numbers.len() - 1).contains(n))
                    .collect();
            }
            if numbers.is_empty() {
                continue;
            }
            let mut faults: Vec<(Harm, usize)> = Vec::new();
            if is_long() {
                faults.extend(
                    call.harms()
                        .iter()
                        .flat_map(|harm| numbers.iter().map(|nth| (*harm, *nth))),
                );
            } else {
                let mut any = || numbers[dice.below(numbers.len() as u64) as usize];
                faults.extend([(Harm::Kill, any()), (Harm::Kill, any())]);
                faults[0].0 = Harm::Error(call.errors[dice.below(call.errors.len() as u64) as usize]);
            }
            for (harm, nth) in faults {
                again += meet(name, Fault { call, harm, nth }, &prepare, &act);
                *met.entry(call.name).or_default() += 1;
            }
        }
    }
    assert!(met.len() >= 5, "{name}: {met:?}");
    let sum: usize = met.values().sum();
    println!("{name}: {sum} faults, {met:?}; {again} were tried again");
}

/// Makes one fault happen; gives how often it had to be tried again.
fn meet(name: &str, fault: Fault, prepare: &impl Fn() -> Place, act: &impl Fn(&Place, &Trace)) -> usize {
    let mut last = Vec::new();
    for again in 0..5 {
        let place = prepare();
        let trace = Trace::with(&place, fault);
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| act(&place, &trace)));
        if let Err(panic) = done {
            eprintln!("{name}: {fault}; strace said last:");
            let lines = trace.written();
            for line in &lines[lines.len().saturating_sub(12)..] {
                eprintln!("  {line}");
            }
            std::panic::resume_unwind(panic);
        }
        if trace.met() {
            return again;
        }
        last = trace.written();
    }
    panic!("{name}: {fault}: it never happened: {last:#?}");
}
