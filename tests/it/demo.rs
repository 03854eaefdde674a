//! The demo, run for real, against its transcript in `docs/`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of `MEMORY_DB` in the transcript; each run has one of its own.
const FOLDER: &str = "/home/you/demo";

/// Settings of whoever runs the tests must not reach the demo.
const SETTINGS: [&str; 12] = [
    "AGENT_ID",
    "HANDOFF_MEMORY_BIN",
    "MEMORY_CLAIM_LEASE",
    "MEMORY_DURABILITY",
    "MEMORY_HANDOFF_TTL",
    "MEMORY_OWNER",
    "MEMORY_PROJECT",
    "MEMORY_SECRETS",
    "MEMORY_WORKSPACE",
    "NO_COLOR",
    "RUST_LOG",
    "SESSION_ID",
];

#[test]
fn the_demo_prints_its_transcript() {
    let folder = tempfile::tempdir().expect("a folder for the run");
    let server = PathBuf::from(env!("CARGO_BIN_EXE_handoff-memory"));
    let scout = run(&example(&server, "scout"), &["--server", path(&server)], folder.path());
    let executor = run(
        &example(&server, "executor"),
        &["--server", path(&server)],
        folder.path(),
    );
    let verify = run(&server, &["verify"], folder.path());
    // What the demo is for, whatever else its output says.
    for sight in [
        "STALE: listing/553/assessment was pinned at v1 and is now v2",
        "so listing 553 is dropped",
        "source/boards-example/rate-limit v1  60% → 39%",
        "listing/482/assessment           v1  80% → 84%",
    ] {
        assert!(
            executor.contains(sight),
            "the executor should show: {sight}\n{executor}"
        );
    }
    let real = transcript(&scout, &executor, &verify);

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/demo-transcript.md");
    let kept = fs::read_to_string(&page).unwrap_or_default();
    if mask(&kept) == mask(&real) {
        return;
    }
    if std::env::var_os("UPDATE_TRANSCRIPT").is_some_and(|value| !value.is_empty()) {
        fs::write(&page, &real).expect("the transcript can be written");
        return;
    }
    let (kept, real) = (mask(&kept), mask(&real));
    let differs = kept.lines().zip(real.lines()).position(|(kept, real)| kept != real);
    let line = differs.unwrap_or_else(|| kept.lines().count().min(real.lines().count()));
    panic!(
        "docs/demo-transcript.md is not what the demo prints, from line {} on:\n  kept: {}\n  real: {}\n\
         If the new output is right: UPDATE_TRANSCRIPT=1 cargo test demo",
        line + 1,
        kept.lines().nth(line).unwrap_or("(the end)"),
        real.lines().nth(line).unwrap_or("(the end)"),
    );
}

#[test]
fn an_executor_without_a_packet_says_so_and_fails() {
    let folder = tempfile::tempdir().expect("a folder for the run");
    let server = PathBuf::from(env!("CARGO_BIN_EXE_handoff-memory"));
    let executor = command(
        &example(&server, "executor"),
        &["--server", path(&server)],
        folder.path(),
    );
    let output = { executor }.output().expect("the executor starts");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("nothing waits for the executor"), "stderr was: {said}");
}

/// Runs one program to its end and returns what it printed, with the run's folder under its public name.
fn run(program: &Path, arguments: &[&str], folder: &Path) -> String {
    let output = command(program, arguments, folder).output().unwrap_or_else(|error| {
        panic!("{} did not start: {error}", program.display());
    });
    let (stdout, stderr) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success(),
        "{} ended with {}\n{stdout}\n{stderr}",
        program.display(),
        output.status
    );
    assert_eq!(stderr, "", "{} had something to complain about", program.display());
    // The folder may be a link; the programs print what it leads to.
    let real = folder.canonicalize().expect("the folder is there");
    stdout.replace(path(&real), FOLDER).replace(path(folder), FOLDER)
}

fn command(program: &Path, arguments: &[&str], folder: &Path) -> Command {
    let mut command = Command::new(program);
    for setting in SETTINGS {
        command.env_remove(setting);
    }
    command
        .args(arguments)
        .current_dir(folder)
        .env("MEMORY_DB", folder.join("memory.db"));
    command
}

/// One of the two programs. `cargo test` builds them, but not when it is given a target or the name of a test: then
/// they may be missing, or older than their sources, and are built here.
fn example(server: &Path, name: &str) -> PathBuf {
    let folder = server.parent().expect("the server is in a folder");
    let path = folder
        .join("examples")
        .join(name)
        .with_extension(std::env::consts::EXE_EXTENSION);
    if !is_newer_than_its_sources(&path) {
        let profile = match folder.file_name().and_then(|name| name.to_str()) {
            None | Some("debug") => "dev",
            Some(profile) => profile,
        };
        let built = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--example", name, "--profile", profile])
            .arg("--target-dir")
            .arg(folder.parent().expect("a profile's folder is in the target folder"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status();
        assert!(built.is_ok_and(|status| status.success()), "{name} could not be built");
    }
    assert!(
        path.is_file(),
        "{} is missing: run cargo build --examples",
        path.display()
    );
    path
}

fn is_newer_than_its_sources(program: &Path) -> bool {
    let changed = |path: &Path| fs::metadata(path).and_then(|file| file.modified()).ok();
    let sources = fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("demo")).expect("the demo's folder");
    let newest = sources.flatten().filter_map(|source| changed(&source.path())).max();
    changed(program) >= newest
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn transcript(scout: &str, executor: &str, verify: &str) -> String {
    format!(
        "# The demo, as it ran\n\n\
         What `demo/run.sh` prints: two programs, one after the other, with nothing in common but the file in\n\
         `MEMORY_DB`. [demo/README.md](../demo/README.md) says what to look at. A test runs both again and compares,\n\
         ids, times and ages aside; `UPDATE_TRANSCRIPT=1 cargo test demo` rewrites this page.\n\n\
         ```console\n$ scout\n{scout}\n$ executor\n{executor}\n$ handoff-memory verify\n{verify}```\n"
    )
}

/// Puts one and the same in place of whatever differs from run to run: packet ids, times, ages, hashes.
fn mask(text: &str) -> String {
    text.lines()
        .map(mask_line)
        .fold(String::new(), |text, line| text + &line + "\n")
}

fn mask_line(line: &str) -> String {
    // An age is words, and only the executor prints one.
    let line = &match (line.strip_prefix("  age "), line.find("(written ")) {
        (Some(_), Some(end)) => format!("  age AGE {}", &line[end..]),
        _ => line.to_owned(),
    };
    let digits: String = line.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    let mut masked = String::new();
    let mut at = 0;
    while let Some(next) = line[at..].chars().next() {
        let hex = line[at..].bytes().take_while(u8::is_ascii_hexdigit).count();
        at += if digits[at..].starts_with("0000-00-00T00:00:00.000Z") {
            masked.push_str("TIME");
            24
        } else if hex >= 16 {
            masked.push_str("HEX");
            hex
        } else {
            masked.push(next);
            next.len_utf8()
        };
    }
    masked
}
