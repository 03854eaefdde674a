//! A folder of this process, the store made of the export, and what must hold of a store.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use handoff_memory::app::{App, AppError, Caller};
use handoff_memory::config::Config;
use handoff_memory::domain::{Agent, Home, Project, Reach, Workspace};
use handoff_memory::store::Durability;
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::export::EXPORT;

/// What every target runs on. One worker, as the machine's cores are for other targets.
pub static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().build().expect("a runtime")
});

/// The bytes of a database file that holds the export. They are the same in every process, since every number in them comes
/// from the export: so an input that damages the file means the same tomorrow.
pub static FILE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let place = Place::new();
    let app = place.app();
    let caller = root("fuzz");
    let import = app.import(&caller, std::io::Cursor::new(EXPORT.as_bytes()), None, |_, _| {});
    let done = RUNTIME.block_on(import).expect("the export is taken");
    assert!(done.complete && done.projects.len() == 3, "{done:?}");
    RUNTIME.block_on(app.close());
    std::fs::read(place.db()).expect("the file")
});

/// A folder that goes when this goes, and a database in it that is made by the first write.
pub struct Place(TempDir);

impl Place {
    /// An empty one below the system's folder for such files.
    #[expect(clippy::new_without_default, reason = "it does I/O")]
    pub fn new() -> Self {
        Self(TempDir::with_prefix("handoff-memory-fuzz-").expect("a temporary folder"))
    }

    /// The database.
    pub fn db(&self) -> PathBuf {
        self.0.path().join("memory.db")
    }

    /// Puts a file with these bytes in the place of the database, and nothing beside it.
    pub fn put(&self, bytes: &[u8]) {
        self.clear();
        std::fs::write(self.db(), bytes).expect("a file");
    }

    /// Takes the database away.
    pub fn clear(&self) {
        for ending in ["", "-wal", "-shm", "-journal"] {
            let _ = std::fs::remove_file(self.0.path().join(format!("memory.db{ending}")));
        }
    }

    /// The program's use cases on the database.
    pub fn app(&self) -> App {
        App::new(config(&self.db()))
    }
}

/// Settings for the database at `db`. A commit waits for the operating system alone: there is no power to be cut.
pub fn config(db: &Path) -> Config {
    let mut config = Config::at(db).expect("a path");
    config.durability = Durability::Normal;
    config
}

/// One who sees everything.
pub fn root(agent: &str) -> Caller {
    Caller {
        reach: Reach::Root,
        agent: Agent::new(agent).expect("a name"),
        ..Caller::new("fuzz").expect("a name")
    }
}

/// The same in another project.
pub fn at_home(home: &Home) -> Caller {
    Caller {
        home: home.clone(),
        ..root("fuzz")
    }
}

/// The homes of the export.
pub fn homes() -> [Home; 3] {
    [
        ("default", "default"),
        ("gr\u{f6}\u{df}e \"q\"", "a b/\u{fc}:\\%"),
        ("default", "second"),
    ]
    .map(|(workspace, project)| Home {
        workspace: Workspace::new(workspace).expect("a name"),
        project: Project::new(project).expect("a name"),
    })
}

/// Fails unless the store proves itself.
pub fn intact(app: &App) {
    let report = RUNTIME
        .block_on(app.verify(Vec::new(), |_, _| {}))
        .expect("the file is read");
    assert!(report.ok(), "{:?}", report.faults);
}

/// Fails when a refusal is a fault of the program, says nothing, or tells what is nobody's business. `given` is what was asked:
/// a refusal may repeat some of it.
pub fn plain(error: &AppError, given: &str) {
    assert_ne!(error.code(), "internal", "{error}");
    told(&error.to_string(), &error.hint(), given);
}

/// The same of its texts.
pub fn told(message: &str, hint: &str, given: &str) {
    assert!(
        !message.trim().is_empty() && !hint.trim().is_empty(),
        "{message:?} {hint:?}"
    );
    // A directory that the export speaks of.
    let text = format!("{message} {hint}").replace("/src/app", "");
    for word in ["SELECT", "INSERT", "src/", ".rs:", "rusqlite", "serde_json", "panicked"] {
        let told = text.contains(word);
        assert!(!told || given.contains(word), "it tells {word:?}: {message} {hint}");
    }
}
