//! Sessions: what each one touched, and whether the process behind one is still there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use crate::domain::{Address, Hash, Home, Session};

/// The most records that are kept in mind of one session; the oldest touch is forgotten first.
const TOUCHES: usize = 4_096;

/// What the sessions of this process touched.
#[derive(Default)]
pub struct Sessions {
    touches: Mutex<HashMap<(Home, Session), Touches>>,
}

#[derive(Default)]
struct Touches {
    /// Each record with the newest version touched, and the turn of the last touch.
    records: HashMap<Address, (u64, u64)>,
    turn: u64,
}

impl Sessions {
    /// Notes that the session wrote the version, or read it while it was current.
    pub fn touch(&self, home: &Home, session: Option<&Session>, at: &Address, version: u64) {
        let Some(session) = session else { return };
        let mut all = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
        let touches = all.entry((home.clone(), session.clone())).or_default();
        touches.turn += 1;
        let turn = touches.turn;
        let entry = touches.records.entry(at.clone()).or_insert((version, turn));
        *entry = (entry.0.max(version), turn);
        if touches.records.len() > TOUCHES
            && let Some(oldest) = touches
                .records
                .iter()
                .min_by_key(|(_, (_, turn))| *turn)
                .map(|(at, _)| at.clone())
        {
            touches.records.remove(&oldest);
        }
    }

    /// Each record that the session touched at its newest version, the oldest touch first.
    pub fn touched(&self, home: &Home, session: Option<&Session>) -> Vec<(Address, u64)> {
        let Some(session) = session else { return Vec::new() };
        let all = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(touches) = all.get(&(home.clone(), session.clone())) else {
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

    /// The version of a record that the session touched last.
    pub fn seen(&self, home: &Home, session: Option<&Session>, at: &Address) -> Option<u64> {
        let all = self.touches.lock().unwrap_or_else(PoisonError::into_inner);
        let touches = all.get(&(home.clone(), session?.clone()))?;
        touches.records.get(at).map(|(version, _)| *version)
    }
}

/// A name for this process that tells later, on the same machine, whether it still runs:
/// `p-<machine>-<boot>-<pid>-<start>`. The first two are digests, so that no host name enters the store.
pub fn of_process() -> Option<Session> {
    let pid = std::process::id();
    let start = start_of(pid).unwrap_or_default();
    Session::new(&format!("p-{}-{}-{pid}-{start}", machine(), boot())).ok()
}

/// Whether the process that a session is named after is known to be gone. A session of another kind, or of another
/// machine, is not known to be.
pub fn gone(session: &Session) -> bool {
    let mut parts = session.as_str().split('-');
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
    use crate::domain::{Key, Project, Scope, Workspace};

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
        let home = Home {
            workspace: Workspace::new("w").unwrap(),
            project: Project::new("p").unwrap(),
        };
        let session = Session::new("s").unwrap();
        let at = |key: &str| Address {
            scope: Scope::new("a").unwrap(),
            key: Key::new(key).unwrap(),
        };
        for (key, version) in [("x", 2), ("y", 1), ("x", 1)] {
            sessions.touch(&home, Some(&session), &at(key), version);
        }
        assert_eq!(sessions.touched(&home, Some(&session)), [(at("y"), 1), (at("x"), 2)]);
        assert_eq!(sessions.touched(&home, None), []);
        assert_eq!(sessions.seen(&home, Some(&session), &at("x")), Some(2));
    }
}
