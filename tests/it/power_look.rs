//! What must be found when the power is back: a store that proves itself, everything that was acknowledged, and of what was not
//! nothing by halves.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use handoff_memory::app::{App, Caller};
use handoff_memory::config::Config;
use handoff_memory::domain::JsonText;
use handoff_memory::domain::record::NewVersion;
use handoff_memory::store::{Durability, Store, StoreError};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::everything::{address, holds};
use crate::harness::{BINARY, PATIENCE, finished, open_sql};
use crate::power_check::{Case, Plan, Promise};
use crate::power_trace::{Tree, put};
use crate::storage::{beside, text};

/// Versions by their hash: the place in the ledger, and the value.
pub type Values = BTreeMap<String, (u64, String)>;

/// What was found on one disk.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Seen {
    entries: u64,
    /// Which of its states each file is in; one that is not there is in none.
    files: BTreeMap<PathBuf, usize>,
    secret: bool,
}

/// The ledger's hashes in order, and each version's value by its hash.
pub fn contents(db: &Path) -> (Vec<String>, Values) {
    let read = || -> rusqlite::Result<_> {
        let sql = open_sql(db);
        let mut entries = sql.prepare("SELECT hash FROM ledger ORDER BY project_id, seq")?;
        let entries = entries.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        let query = "SELECT v.hash, v.seq, c.body FROM version v JOIN content c ON c.id = v.content_id";
        let mut versions = sql.prepare(query)?;
        let versions = versions.query_map([], |row| {
            let seq: i64 = row.get(1)?;
            Ok((row.get(0)?, (seq.unsigned_abs(), row.get(2)?)))
        })?;
        Ok((entries, versions.collect::<Result<_, _>>()?))
    };
    read().unwrap_or_else(|e| panic!("{}: {e}", db.display()))
}

/// Looks at disks, at each different one once.
pub struct Eye<'a> {
    case: &'a Case,
    plan: Plan,
    runtime: Runtime,
    seen: HashMap<[u8; 32], Result<Seen, String>>,
    started: usize,
    folder: TempDir,
}

impl<'a> Eye<'a> {
    pub fn of(case: &'a Case, plan: Plan) -> Self {
        // Disks are made by the thousand: in memory, where there is such a place.
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            TempDir::new_in(memory)
        } else {
            TempDir::new()
        };
        Self {
            case,
            plan,
            runtime: Runtime::new().expect("a runtime"),
            seen: HashMap::new(),
            started: 0,
            folder: folder.expect("a temporary folder"),
        }
    }

    /// Whether a disk holds what was promised, and nothing else.
    pub fn judge(&mut self, image: &Tree, promised: &[&Promise]) -> Result<(), String> {
        let mut digest = Sha256::new();
        for (path, bytes) in image {
            digest.update(text(path));
            digest.update([0, u8::from(bytes.is_some())]);
            let bytes = bytes.as_deref().unwrap_or_default();
            digest.update((bytes.len() as u64).to_le_bytes());
            digest.update(bytes);
        }
        let name: [u8; 32] = digest.finalize().into();
        let seen = match self.seen.get(&name) {
            Some(seen) => seen.clone(),
            None => {
                let seen = self.look(image);
                self.seen.insert(name, seen.clone());
                seen
            }
        }?;
        for promise in promised {
            match promise {
                Promise::Entries(entries) if self.plan.durable && seen.entries < *entries => {
                    return Err(format!(
                        "entry {entries} was acknowledged, and {} are there",
                        seen.entries
                    ));
                }
                Promise::File(path, state) if seen.files.get(path) < Some(state) => {
                    return Err(format!("{} was acknowledged, and is not there", path.display()));
                }
                Promise::Purged if seen.secret => return Err("the purged text is there".to_owned()),
                _ => {}
            }
        }
        Ok(())
    }

    /// How many different disks were looked at, and on how many of them the real program was started.
    pub fn looked(&self) -> (usize, usize) {
        (self.seen.len(), self.started)
    }

    /// Puts a disk's files into a folder and looks at them.
    fn look(&mut self, image: &Tree) -> Result<Seen, String> {
        let nth = self.seen.len();
        let root = self.folder.path().join(nth.to_string());
        std::fs::create_dir(&root).expect("a folder");
        put(image, &root);
        let db = root.join(&self.case.db);
        if nth % 4 == 1 && db.exists() {
            // Of the memory that processes share anything may have come to the disk.
            let garbage: Vec<u8> = (0..32_768_u32).map(|n| ((n * n) >> 7) as u8).collect();
            std::fs::write(beside(&db, "-shm"), garbage).expect("a file");
        }
        let mut seen = Seen {
            secret: self.case.is_secret(image),
            ..Seen::default()
        };
        let looked = self.look_at(&root, &db, nth, &mut seen);
        let _ = std::fs::remove_dir_all(&root);
        looked.map(|()| seen)
    }

    fn look_at(&mut self, root: &Path, db: &Path, nth: usize, seen: &mut Seen) -> Result<(), String> {
        let start = nth.is_multiple_of(self.plan.started);
        if start {
            self.started += 1;
            started(root, db, &["verify", "--json"], true)?;
        }
        seen.entries = self.case.look_into(&self.runtime, db)?;
        for (name, states) in &self.case.files {
            let Ok(bytes) = std::fs::read(root.join(name)) else {
                continue;
            };
            let Some(state) = states.iter().position(|state| *state == bytes) else {
                return Err(format!("{} is there by halves", name.display()));
            };
            seen.files.insert(name.clone(), state + 1);
        }
        // Then work goes on.
        if start {
            let write = ["remember", "--scope", "later", "--key", "k", "--value", "1"];
            started(root, db, &write, false)?;
            started(root, db, &["verify", "--json"], false)?;
        } else if nth % 8 == 3 {
            written(&self.runtime, db)?;
            proved(&self.runtime, db)?;
        } else {
            return Ok(());
        }
        let (ledger, _) = contents(db);
        // The first entry of a project says that it was made.
        let more = if seen.entries == 0 { 2 } else { 1 };
        match ledger.len() as u64 == seen.entries + more {
            true => Ok(()),
            false => Err(format!("{} entries after a write upon {}", ledger.len(), seen.entries)),
        }
    }
}

impl Case {
    fn is_secret(&self, image: &Tree) -> bool {
        let Some(secret) = &self.secret else { return false };
        let stem = text(&self.db);
        let own = image.iter().filter(|(path, _)| text(path).starts_with(stem));
        own.filter_map(|(_, bytes)| bytes.as_ref())
            .any(|bytes| holds(bytes, secret))
    }

    /// Proves a database and gives how many entries of the ledger are there, which must be the first ones.
    fn look_into(&self, runtime: &Runtime, db: &Path) -> Result<u64, String> {
        if !proved(runtime, db)? {
            return Ok(0);
        }
        let (ledger, values) = contents(db);
        if !self.ledger.starts_with(&ledger) {
            return Err("the ledger is no beginning of what was written".to_owned());
        }
        for (hash, (seq, value)) in &values {
            let written = self.values.get(hash);
            let purged = self.secret.is_some() && value.is_empty();
            if !written.is_some_and(|(at, written)| at == seq && (written == value || purged)) {
                return Err(format!(
                    "{hash} is {value:.80} at {seq}, and {written:.80?} was written"
                ));
            }
        }
        Ok(ledger.len() as u64)
    }
}

/// Whether there is a store; it must prove itself then.
fn proved(runtime: &Runtime, db: &Path) -> Result<bool, String> {
    let store = Store::new(db, Durability::Normal);
    let report = runtime.block_on(store.verify(Vec::new(), |_, _| {}));
    runtime.block_on(store.close());
    match report {
        Ok(report) if report.ok() => Ok(true),
        Ok(report) => Err(format!("damaged: {:?}", report.faults)),
        Err(StoreError::Missing { .. }) => Ok(false),
        Err(error) => Err(format!("damaged: {error}")),
    }
}

/// Writes one more record.
fn written(runtime: &Runtime, db: &Path) -> Result<(), String> {
    let app = App::new(Config::at(db).expect("settings"));
    let later = Caller::new("later").expect("an agent");
    let at = address("later/k");
    let value = JsonText::value("value", "1").expect("a value");
    let done = runtime.block_on(app.remember(&later, NewVersion::new(at.scope, at.key, value)));
    runtime.block_on(app.close());
    done.map(drop).map_err(|error| format!("damaged: {error}"))
}

/// Runs the real program on a disk. It must end well, or say that there is no store yet.
fn started(root: &Path, db: &Path, args: &[&str], may_lack: bool) -> Result<(), String> {
    let mut command = Command::new(BINARY);
    let settings = [("HOME", root), ("MEMORY_DB", db), ("AGENT_ID", Path::new("later"))];
    command.args(args).env_clear().envs(settings);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let ran = finished(command, PATIENCE);
    match ran.code {
        Some(0) => Ok(()),
        Some(2) if may_lack && ran.stderr.contains("not_found") => Ok(()),
        _ => Err(format!("damaged: {args:?} gave {ran:?}")),
    }
}
