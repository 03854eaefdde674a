//! What the promises cost, as ratios against floors that are taken in the same run.
//!
//! `cargo bench` builds everything and prints one table; `cargo bench -- stdio verify` runs only these parts, `--sizes 1000,20000`
//! makes smaller stores, `--json FILE` writes the same as JSON. Pairs are timed in turn, A B A B, so that a machine that slows down
//! slows both; medians are compared, never single times. The stores come from a seed: everybody gets the same records.

mod calls;
mod grown;
mod stdio;
mod table;
mod world;
mod writers;

use std::path::Path;

use handoff_memory::app::App;
use handoff_memory::config::Config;
use handoff_memory::store::Durability;
use table::Table;

type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The parts, in the order in which they run.
const PARTS: [&str; 9] = [
    "in-process",
    "stdio",
    "start",
    "memory",
    "writers",
    "deep",
    "search",
    "growth",
    "verify",
];

fn main() -> Fallible<()> {
    let (mut parts, mut sizes, mut json) = (Vec::new(), vec![1_000, 20_000, 100_000, 1_000_000], None);
    let mut args = std::env::args().skip(1).filter(|arg| arg != "--bench");
    while let Some(arg) = args.next() {
        match &*arg {
            "--json" => json = Some(args.next().ok_or("--json takes a file")?),
            "--sizes" => {
                let given = args.next().ok_or("--sizes takes numbers, parted by commas")?;
                sizes = given.split(',').map(str::parse).collect::<Result<_, _>>()?;
            }
            part if PARTS.contains(&part) => parts.push(part.to_owned()),
            other => return Err(format!("{other} is no part; there are {}", PARTS.join(", ")).into()),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let folder = folder.path();
    let mut table = Table::default();
    Table::head();
    if wanted("in-process") {
        calls::in_process(&mut table, folder)?;
    }
    if wanted("stdio") {
        calls::over_stdio(&mut table, folder)?;
    }
    if wanted("start") {
        calls::starting(&mut table, folder)?;
    }
    if wanted("memory") {
        calls::resident(&mut table, folder)?;
    }
    if wanted("writers") {
        writers::writers(&mut table, folder)?;
    }
    if wanted("deep") {
        grown::deep(&mut table, folder)?;
    }
    if ["search", "growth", "verify", "memory"].into_iter().any(wanted) {
        let stores = sizes
            .iter()
            .map(|records| grown::grow(folder, *records))
            .collect::<Fallible<Vec<_>>>()?;
        if wanted("search") {
            grown::search(&mut table, &stores)?;
        }
        if wanted("verify") {
            grown::verify(&mut table, &stores)?;
        }
        let (Some(small), Some(large)) = (stores.first(), stores.last()) else {
            return Err("--sizes names no size".into());
        };
        if wanted("growth") {
            grown::growth(&mut table, small, large)?;
        }
        if wanted("memory") {
            grown::resident(&mut table, large)?;
        }
    }
    if let Some(file) = json {
        std::fs::write(file, format!("{:#}\n", table.json()))?;
    }
    Ok(())
}

fn app(db: &Path, durability: Durability) -> Fallible<App> {
    Ok(App::new(Config {
        durability,
        ..Config::at(db)?
    }))
}
