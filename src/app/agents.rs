//! Who works in a project, and on what: read off the newest entries of its ledger.

use std::collections::{BTreeMap, BTreeSet};

use super::{App, AppError, Caller};
use crate::domain::ledger::Told;
use crate::domain::name::fold;

/// How many entries are looked at.
pub const NEWEST: u64 = 5_000;

/// An agent, as far as the newest entries tell.
#[derive(Debug, Clone)]
pub struct Acting {
    /// Its name, as it was written last.
    pub name: String,
    /// How many sessions it had.
    pub sessions: usize,
    /// How many entries of each kind it made.
    pub kinds: BTreeMap<String, u64>,
    /// Its newest entries as the caller may read them, the newest first.
    pub latest: Vec<Told>,
    /// When it did something last.
    pub last_at: String,
}

impl App {
    /// The agents of the caller's project, the one that did something last first. Only what the caller may know of counts.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn agents(&self, caller: &Caller) -> Result<Vec<Acting>, AppError> {
        let last = self.last_entry(caller).await?;
        let entries = self
            .entries(caller, last.saturating_sub(NEWEST), NEWEST as usize)
            .await?;
        let mut agents: BTreeMap<String, (Acting, BTreeSet<String>)> = BTreeMap::new();
        for told in entries.into_iter().rev() {
            let (Told::Whole(entry, _) | Told::Outlined(entry)) = &told else {
                continue;
            };
            let (acting, sessions) = agents.entry(fold(&entry.agent)).or_insert_with(|| {
                let acting = Acting {
                    name: entry.agent.clone(),
                    sessions: 0,
                    kinds: BTreeMap::new(),
                    latest: Vec::new(),
                    last_at: entry.at.clone(),
                };
                (acting, BTreeSet::new())
            });
            *acting.kinds.entry(entry.kind.clone()).or_default() += 1;
            if let Some(session) = &entry.session {
                sessions.insert(session.clone());
                acting.sessions = sessions.len();
            }
            if acting.latest.len() < 12 {
                acting.latest.push(told);
            }
        }
        let mut agents: Vec<Acting> = agents.into_values().map(|(acting, _)| acting).collect();
        agents.sort_by(|a, b| b.last_at.cmp(&a.last_at).then(a.name.cmp(&b.name)));
        Ok(agents)
    }
}
