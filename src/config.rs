//! Settings: flags before environment before defaults, each checked once.

mod repository;
pub mod serve;

use std::path::{Path, PathBuf};

use etcetera::BaseStrategy as _;

use crate::domain::handoff::place::Cwd;
use crate::domain::invalid::shown;
use crate::domain::{Agent, Home, Invalid, Owner, Project, Session, Span, Workspace};
use crate::store::Durability;

/// The settings as they were given by flags; what is absent comes from the environment.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--db`.
    pub db: Option<String>,
    /// `--agent`.
    pub agent: Option<String>,
    /// `--session`.
    pub session: Option<String>,
    /// `--owner`.
    pub owner: Option<String>,
    /// `--workspace`.
    pub workspace: Option<String>,
    /// `--project`.
    pub project: Option<String>,
    /// `--handoff-ttl`.
    pub handoff_ttl: Option<String>,
    /// `--claim-lease`.
    pub claim_lease: Option<String>,
    /// `--durability`.
    pub durability: Option<String>,
}

/// Every variable that is read, so that one with nearly such a name can be pointed out.
pub const VARIABLES: [&str; 9] = [
    "MEMORY_DB",
    "AGENT_ID",
    "SESSION_ID",
    "MEMORY_OWNER",
    "MEMORY_WORKSPACE",
    "MEMORY_PROJECT",
    "MEMORY_HANDOFF_TTL",
    "MEMORY_CLAIM_LEASE",
    "MEMORY_DURABILITY",
];

/// Every variable that is read by any command.
fn known_variables() -> impl Iterator<Item = &'static str> {
    VARIABLES.into_iter().chain(serve::VARIABLES)
}

/// Where the process runs: its environment and working directory.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The environment.
    pub variables: Vec<(String, String)>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The user's home folder.
    pub home: Option<PathBuf>,
    /// Settings whose value is no Unicode, by name.
    pub unreadable: Vec<&'static str>,
}

impl Surroundings {
    /// Those of this process. Another variable that is no Unicode is left out.
    pub fn of_process() -> Self {
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            variables,
            cwd: std::env::current_dir().unwrap_or_default(),
            home: etcetera::home_dir().ok(),
            unreadable: known_variables()
                .filter(|name| std::env::var_os(name).is_some_and(|value| value.into_string().is_err()))
                .collect(),
        }
    }

    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let found = self.variables.iter().find(|(known, _)| known == name);
        found
            .map(|(_, value)| value.as_str())
            .filter(|value| !value.trim().is_empty())
    }
}

/// Checked settings.
#[derive(Debug, Clone)]
pub struct Config {
    /// The database file, absolute.
    pub db: PathBuf,
    /// Where that path comes from: `--db`, `MEMORY_DB` or `default`.
    pub db_from: &'static str,
    /// Who acts; absent: the client's name, else `agent`.
    pub agent: Option<Agent>,
    /// Whether the agent's name came from `--agent` or `AGENT_ID`.
    pub agent_from: &'static str,
    /// This run of it; absent: the face decides.
    pub session: Option<Session>,
    /// For whom the agent acts.
    pub owner: Option<Owner>,
    /// Where it acts.
    pub home: Home,
    /// How long a packet waits when it does not say; zero: for ever.
    pub handoff_ttl: Span,
    /// How long a claim holds without activity; zero: for ever.
    pub claim_lease: Span,
    /// How much a commit waits for.
    pub durability: Durability,
    /// The working directory, unless it is `/` or the home folder, which say nothing about the work.
    pub cwd: Option<Cwd>,
    /// What the user should know about these settings; each is one line for stderr.
    pub notices: Vec<String>,
}

impl Config {
    /// The defaults, on the database file at `path`, in no particular directory.
    ///
    /// # Errors
    /// When the path is a folder or no Unicode.
    pub fn at(path: impl AsRef<Path>) -> Result<Self, Invalid> {
        let path = path.as_ref();
        let text = path
            .to_str()
            .ok_or_else(|| Invalid::new("path", "no Unicode", "a path that is"))?;
        let flags = Flags {
            db: Some(text.to_owned()),
            ..Flags::default()
        };
        let around = Surroundings {
            cwd: std::env::current_dir().unwrap_or_default(),
            ..Surroundings::default()
        };
        Ok(Self {
            cwd: None,
            ..Self::resolve(flags, &around)?
        })
    }

    /// Resolves the settings. Touches no database.
    ///
    /// # Errors
    /// Names the flag or variable that cannot be taken.
    pub fn resolve(flags: Flags, around: &Surroundings) -> Result<Self, Invalid> {
        let pick = |flag: Option<String>, flag_name: &'static str, variable: &'static str| match flag
            .filter(|value| !value.trim().is_empty())
        {
            Some(value) => Some((value, flag_name)),
            None => around.variable(variable).map(|value| (value.to_owned(), variable)),
        };
        if let Some(name) = around.unreadable.first() {
            return Err(Invalid::new(*name, "no Unicode", "a value in UTF-8"));
        }
        let mut notices = near_misses(around);

        let (db, db_from) = match pick(flags.db, "--db", "MEMORY_DB") {
            Some((text, from)) => {
                let path = absolute(&text, from, around)?;
                if !Path::new(text.trim()).is_absolute() && !text.trim().starts_with(['~', '$']) {
                    notices.push(format!("{from} is relative; the database is {}", path.display()));
                }
                (path, from)
            }
            None => (default_db(around)?, "default"),
        };
        notices.extend(synced(&db));

        let agent = pick(flags.agent, "--agent", "AGENT_ID");
        let agent_from = agent.as_ref().map_or("client", |(_, from)| *from);
        let agent = agent.map(|(text, from)| Agent::named(from, &text)).transpose()?;
        let session = pick(flags.session, "--session", "SESSION_ID")
            .map(|(text, from)| Session::named(from, &text))
            .transpose()?;
        let owner = pick(flags.owner, "--owner", "MEMORY_OWNER")
            .map(|(text, from)| Owner::named(from, &text))
            .transpose()?;
        let workspace = match pick(flags.workspace, "--workspace", "MEMORY_WORKSPACE") {
            Some((text, from)) => Workspace::named(from, &text)?,
            None => Workspace::new("default")?,
        };
        let project = match pick(flags.project, "--project", "MEMORY_PROJECT") {
            Some((text, _)) if text.trim() == "auto" => {
                Project::new(&repository::name(&around.cwd).unwrap_or_else(|| "default".to_owned()))?
            }
            Some((text, from)) => Project::named(from, &text)?,
            None => Project::new("default")?,
        };
        let span = |picked: Option<(String, &'static str)>, default: &str| match picked {
            Some((text, from)) => Span::parse(from, &text),
            None => Span::parse("default", default),
        };
        let durability = match pick(flags.durability, "--durability", "MEMORY_DURABILITY") {
            None => Durability::Full,
            Some((text, _)) if text.trim().eq_ignore_ascii_case("full") => Durability::Full,
            Some((text, _)) if text.trim().eq_ignore_ascii_case("normal") => Durability::Normal,
            Some((text, from)) => return Err(Invalid::new(from, shown(&text), "full or normal")),
        };
        Ok(Self {
            db,
            db_from,
            agent,
            agent_from,
            session,
            owner,
            home: Home { workspace, project },
            handoff_ttl: span(pick(flags.handoff_ttl, "--handoff-ttl", "MEMORY_HANDOFF_TTL"), "14d")?,
            claim_lease: span(pick(flags.claim_lease, "--claim-lease", "MEMORY_CLAIM_LEASE"), "8h")?,
            durability,
            cwd: telling(&around.cwd, around),
            notices,
        })
    }
}

/// The directory as a packet's place, unless it says nothing about the work.
fn telling(cwd: &Path, around: &Surroundings) -> Option<Cwd> {
    let nowhere = cwd.parent().is_none() || around.home.as_deref() == Some(cwd);
    if nowhere { None } else { Cwd::new(cwd.to_str()?).ok() }
}

/// Expands a home folder at the front and takes a relative path from the working directory.
fn absolute(text: &str, from: &str, around: &Surroundings) -> Result<PathBuf, Invalid> {
    let text = text.trim();
    let rest = ["~", "${HOME}", "$HOME"].into_iter().find_map(|prefix| {
        text.strip_prefix(prefix)
            .filter(|rest| rest.is_empty() || rest.starts_with(['/', std::path::MAIN_SEPARATOR]))
    });
    let path = match rest {
        Some(rest) => {
            let home = around
                .home
                .as_ref()
                .ok_or_else(|| Invalid::new(from, shown(text), "an absolute path, as no home folder is known"))?;
            home.join(rest.trim_start_matches(['/', std::path::MAIN_SEPARATOR]))
        }
        None if text.contains("${") || text.starts_with(['~', '$']) => {
            return Err(Invalid::new(
                from,
                shown(text),
                "a path without variables, which only a shell expands",
            ));
        }
        None => around.cwd.join(text),
    };
    if path.is_dir() || text.ends_with(['/', std::path::MAIN_SEPARATOR]) {
        return Err(Invalid::new(
            from,
            format!("{}, a folder", shown(text)),
            "the path of a file",
        ));
    }
    Ok(path)
}

/// One fixed file for each user; never in the working directory.
fn default_db(around: &Surroundings) -> Result<PathBuf, Invalid> {
    let named = around
        .variable("XDG_DATA_HOME")
        .map(PathBuf::from)
        .filter(|path| path.is_absolute());
    let data = match named {
        Some(path) => Some(path),
        None => etcetera::base_strategy::choose_native_strategy()
            .ok()
            .and_then(|strategy| {
                // On macOS the native strategy is the platform's own; on Linux it is the XDG default.
                let data = strategy.data_dir();
                data.is_absolute().then_some(data)
            }),
    };
    data.map(|data| data.join("handoff-memory").join("memory.db"))
        .ok_or_else(|| {
            Invalid::new(
                "MEMORY_DB",
                "not set, and no home folder is known",
                "the path of the database",
            )
        })
}

/// Variables whose names are nearly ours: whoever set them meant something that does not happen.
fn near_misses(around: &Surroundings) -> Vec<String> {
    let mut notices = Vec::new();
    for (name, value) in &around.variables {
        if value.trim().is_empty() || known_variables().any(|known| known == name) {
            continue;
        }
        let upper = name.to_uppercase();
        let bare = upper.strip_prefix("HANDOFF_").unwrap_or(&upper);
        let ours = bare.starts_with("MEMORY_") || bare == "MEMORYDB";
        // Each start looks at each variable, so that what is too long or too short is not compared at all.
        let near = known_variables()
            .filter(|known| ours || known.len().abs_diff(bare.len()) <= 1)
            .filter(|known| ours || known.as_bytes().first() == bare.as_bytes().first())
            .map(|known| (strsim::damerau_levenshtein(bare, known), known))
            .min()
            .filter(|(distance, _)| *distance <= 1 || ours);
        if let Some((_, known)) = near {
            // What it is about says more than how many letters differ.
            let known = match bare {
                _ if bare.contains("DB") || bare.contains("FILE") || bare.contains("PATH") => "MEMORY_DB",
                _ if bare.contains("AGENT") => "AGENT_ID",
                _ if bare.contains("SESSION") => "SESSION_ID",
                _ => known,
            };
            notices.push(format!(
                "{name} is set but is not a setting of this program; did you mean {known}?"
            ));
        }
    }
    notices
}

/// Folders that a program copies between machines behind SQLite's back.
fn synced(db: &Path) -> Option<String> {
    let service = db.components().find_map(|part| {
        let part = part.as_os_str().to_str()?.to_lowercase();
        [
            "dropbox",
            "onedrive",
            "icloud",
            "google drive",
            "googledrive",
            "syncthing",
            "nextcloud",
        ]
        .into_iter()
        .find(|service| part.starts_with(service))
        .or((part == "mobile documents").then_some("icloud"))
    });
    let conflict = db
        .parent()
        .and_then(|folder| std::fs::read_dir(folder).ok())
        .is_some_and(|entries| {
            entries.filter_map(Result::ok).take(1_000).any(|entry| {
                entry
                    .file_name()
                    .to_str()
                    .is_some_and(|name| name.contains(".sync-conflict"))
            })
        });
    let why = match service {
        Some(service) => format!("lies in a folder that {service} copies between machines"),
        None if conflict => "has a sync conflict beside it".to_owned(),
        None => return None,
    };
    Some(format!(
        "the database {} {why}, which can damage or fork it; keep it on a local disk and move it by copying the closed file",
        db.display()
    ))
}

#[cfg(test)]
mod tests;
