//! Sessions: what each one touched, and whether the process behind one is still there.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::Caller;
use crate::domain::{Address, Hash, Home, Owner, Session};

/// The most records that are kept in mind of one session; the oldest touch is forgotten first.
const TOUCHES: usize = 4_096;

/// The most sessions that are kept in mind; the one that was quiet for longest is forgotten first.
const SESSIONS: usize = 1_024;

/// What the sessions of this process touched, and which of them have ended.
#[derive(Default)]
pub struct Sessions {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    touches: HashMap<Who, Touches>,
    ended: VecDeque<Session>,
    turn: u64,
}

/// A session names itself, so that it is the same one only for the same agent of the same owner.
#[derive(PartialEq, Eq, Hash)]
struct Who(Home, String, Option<Owner>, Session);

impl Who {
    fn of(caller: &Caller) -> Option<Self> {
        let session = caller.session.clone()?;
        Some(Self(
            caller.home.clone(),
            caller.agent.folded(),
            caller.owner.clone(),
            session,
        ))
    }
}

#[derive(Default)]
struct Touches {
    /// Each record with the newest version touched, and the turn of the last touch.
    records: HashMap<Address, (u64, u64)>,
    last: u64,
}

impl Sessions {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the caller's session wrote the version, or read it while it was current.
    pub fn touch(&self, caller: &Caller, at: &Address, version: u64) {
        let Some(who) = Who::of(caller) else { return };
        let mut kept = self.kept();
        kept.turn += 1;
        let turn = kept.turn;
        let touches = kept.touches.entry(who).or_default();
        touches.last = turn;
        let entry = touches.records.entry(at.clone()).or_insert((version, turn));
        *entry = (entry.0.max(version), turn);
        if touches.records.len() > TOUCHES {
            let oldest = touches.records.values().map(|(_, turn)| *turn).min();
            touches.records.retain(|_, (_, turn)| Some(*turn) != oldest);
        }
        if kept.touches.len() > SESSIONS {
            let quiet = kept.touches.values().map(|touches| touches.last).min();
            kept.touches.retain(|_, touches| Some(touches.last) != quiet);
        }
    }

    /// Each record that the caller's session touched at its newest version, the oldest touch first.
    pub fn touched(&self, caller: &Caller) -> Vec<(Address, u64)> {
        let Some(who) = Who::of(caller) else { return Vec::new() };
        let kept = self.kept();
        let Some(touches) = kept.touches.get(&who) else {
            return Vec::new();
        };
        let mut records: Vec<_> = touches
            .records
            .iter()
            .map(|(at, (version, turn))| (*turn, at, *version))
            .collect();
        records.sort_by_key(|(turn, ..)| *turn);
        records
            .into_iter()
            .map(|(_, at, version)| (at.clone(), version))
            .collect()
    }

    /// The version of a record that the caller's session touched last.
    pub fn seen(&self, caller: &Caller, at: &Address) -> Option<u64> {
        let who = Who::of(caller)?;
        let kept = self.kept();
        kept.touches.get(&who)?.records.get(at).map(|(version, _)| *version)
    }

    /// Notes that a session has ended: what it held is free for another one of its agent.
    pub fn end(&self, session: Session) {
        let mut kept = self.kept();
        kept.touches.retain(|who, _| who.3 != session);
        kept.ended.push_back(session);
        if kept.ended.len() > SESSIONS {
            kept.ended.pop_front();
        }
    }

    /// Whether a session is known to have ended: it was said so, or its process is gone.
    pub fn gone(&self, session: &Session) -> bool {
        self.kept().ended.contains(session) || gone(session)
    }
}

/// A name for this process that tells later, on the same machine, whether it still runs:
/// `p-<machine>-<boot>-<pid>-<start>`. The first two are digests, so that no host name enters the store.
pub fn of_process() -> Option<Session> {
    let pid = std::process::id();
    let start = start_of(pid).unwrap_or_default();
    Session::new(&format!("p-{}-{}-{pid}-{start}", machine(), boot())).ok()
}

/// A name for one of the sessions that this process keeps for others, which tells whether the process still runs.
pub fn within_process() -> Option<Session> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).ok()?;
    let name: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    Session::new(&format!("{}.{name}", of_process()?)).ok()
}

/// Whether the process that a session is named after is known to be gone. A session of another kind, or of another
/// machine, is not known to be.
fn gone(session: &Session) -> bool {
    let process = session.as_str().split('.').next().unwrap_or_default();
    let mut parts = process.split('-');
    let named = (
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
        parts.next(),
    );
    let (Some("p"), Some(machine_part), Some(boot_part), Some(pid), Some(start), None) = named else {
        return false;
    };
    if machine_part != machine() {
        return false;
    }
    if boot_part != boot() {
        // The machine has been started anew since.
        return true;
    }
    let Ok(pid) = pid.parse::<u32>() else { return false };
    !alive(pid) || start_of(pid).is_some_and(|now| now != start)
}

fn digest(text: &str) -> String {
    Hash::of(&[text.as_bytes()]).to_string()[..6].to_owned()
}

/// The machine, or the container: a process id means something only inside one process namespace.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let space = std::fs::read_link("/proc/self/ns/pid")
        .map(|link| link.display().to_string())
        .unwrap_or_default();
    let host = ["/etc/machine-id", "/proc/sys/kernel/hostname"].map(read).concat();
    let named = std::env::var("HOSTNAME")
        .or_else(|_| std::env::var("COMPUTERNAME"))
        .unwrap_or_default();
    digest(&if host.trim().is_empty() {
        named
    } else {
        format!("{}{space}", host.trim())
    })
}

fn boot() -> String {
    digest(
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .unwrap_or_default()
            .trim(),
    )
}

/// When a process started, in clock ticks since the machine did (field 22 of `/proc/PID/stat`).
fn start_of(pid: u32) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is a name in brackets and may hold anything, blanks and brackets too.
    let rest = stat.rsplit_once(')')?.1;
    rest.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(unix)]
fn alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return true;
    };
    // "Not permitted" is an answer of a process that lives.
    !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn alive(_: u32) -> bool {
    // Without a way to ask, a holder counts as alive until its lease lapses.
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Key, Scope};

    #[test]
    fn this_process_is_here_and_a_past_one_is_gone() {
        let me = of_process().unwrap();
        assert!(!gone(&me));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let past = me
            .as_str()
            .replace(&format!("-{}-", std::process::id()), &format!("-{pid}-"));
        assert!(gone(&Session::new(&past).unwrap()));
        assert!(!gone(&Session::new("my own name").unwrap()));
        assert!(!gone(&Session::new("p-other1-boot-1-1").unwrap()));
    }

    #[test]
    fn touches_keep_the_newest_version_and_the_order_of_the_last_touch() {
        let sessions = Sessions::default();
        let mut caller = Caller::new("scout").unwrap();
        caller.session = Session::new("s").ok();
        let at = |key: &str| Address {
            scope: Scope::new("a").unwrap(),
            key: Key::new(key).unwrap(),
        };
        for (key, version) in [("x", 2), ("y", 1), ("x", 1)] {
            sessions.touch(&caller, &at(key), version);
        }
        assert_eq!(sessions.touched(&caller), [(at("y"), 1), (at("x"), 2)]);
        assert_eq!(sessions.seen(&caller, &at("x")), Some(2));
        for other in [
            Caller {
                session: None,
                ..caller.clone()
            },
            Caller {
                agent: crate::domain::Agent::new("codex").unwrap(),
                ..caller.clone()
            },
            Caller {
                owner: Owner::new("ann").ok(),
                ..caller.clone()
            },
        ] {
            assert_eq!(sessions.touched(&other), [], "{other:?}");
        }
        for number in 0..SESSIONS {
            let quiet = Caller {
                session: Session::new(&format!("s{number}")).ok(),
                ..caller.clone()
            };
            sessions.touch(&quiet, &at("x"), 1);
        }
        assert_eq!(sessions.touched(&caller), [], "the quietest session was forgotten");
    }

    #[test]
    fn a_session_within_a_process_ends_with_it_or_before() {
        let sessions = Sessions::default();
        let session = within_process().unwrap();
        assert!(!sessions.gone(&session));
        sessions.end(session.clone());
        assert!(sessions.gone(&session));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let past = within_process()
            .unwrap()
            .as_str()
            .replace(&format!("-{}-", std::process::id()), &format!("-{pid}-"));
        assert!(sessions.gone(&Session::new(&past).unwrap()));
    }
}
