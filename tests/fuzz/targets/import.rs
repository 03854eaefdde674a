//! Any bytes as an export, and a whole one with its lines changed: what is taken leaves a store that proves itself and goes
//! on its way again as it came; what is refused is refused in plain words.

#![no_main]

use std::io::Cursor;
use std::sync::LazyLock;

use handoff_memory::app::transfer::Imported;
use handoff_memory::app::{App, AppError};
use handoff_memory_fuzz::bytes::Bytes;
use handoff_memory_fuzz::export::changed;
use handoff_memory_fuzz::place::{FILE, Place, RUNTIME, intact, plain, root};
use libfuzzer_sys::fuzz_target;

static PLACES: LazyLock<[Place; 2]> = LazyLock::new(|| [Place::new(), Place::new()]);

fuzz_target!(|input: &[u8]| {
    // A control character begins no line of an export: it marks an input that is read as changes.
    let made = matches!(input.first(), Some(1..=8)).then(|| changed(&mut Bytes::new(&input[1..])));
    let lines = made.as_deref().unwrap_or(input);
    let given = String::from_utf8_lossy(lines);
    let [here, there] = &*PLACES;
    here.clear();
    // Into nothing, or into a store that has the unchanged export: there, ledgers go on or part.
    if input.first() == Some(&2) {
        here.put(&FILE);
    }
    let app = here.app();
    let taken = import(&app, lines);
    if let Err(error) = &taken {
        plain(error, &given);
        assert_ne!(error.code(), "corrupt", "{error}");
    }
    if !here.db().exists() {
        return;
    }
    intact(&app);
    let checkpoints = |app: &App| -> Vec<String> {
        let projects = RUNTIME.block_on(app.projects()).expect("the projects");
        projects.iter().map(|project| project.checkpoint.to_string()).collect()
    };
    let were = checkpoints(&app);
    if !were.is_empty() {
        // The same again changes nothing.
        let again = import(&app, lines);
        assert_eq!(taken.is_ok(), again.is_ok(), "{taken:?} {again:?}");
        assert_eq!(checkpoints(&app), were, "an import that comes twice changes something");
        let mut export = String::new();
        let line = |line: &str| -> Result<(), AppError> {
            export.push_str(line);
            export.push('\n');
            Ok(())
        };
        RUNTIME
            .block_on(app.export(None, line, |_, _| {}))
            .expect("what was taken is exported");
        there.clear();
        let other = there.app();
        let back = import(&other, export.as_bytes()).expect("what was exported is taken");
        assert!(back.complete, "{back:?}");
        assert_eq!(checkpoints(&other), were);
        intact(&other);
        RUNTIME.block_on(other.close());
    }
    RUNTIME.block_on(app.close());
});

fn import(app: &App, lines: &[u8]) -> Result<Imported, AppError> {
    RUNTIME.block_on(app.import(&root("fuzz"), Cursor::new(lines), None, |_, _| {}))
}
