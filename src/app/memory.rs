//! Remembering and recalling.

use super::{App, AppError, Caller};
use crate::domain::record::{NewVersion, Version, version_number};
use crate::domain::sought::{Page, Sought};
use crate::domain::{Address, Refusal, limits};
use crate::store::sqlite::{Budget, Remembered};

/// What became of a write, with what its writer should know.
#[derive(Debug, Clone)]
pub struct Written {
    /// The version, and whether it was there before.
    pub remembered: Remembered,
    /// What the writer should know.
    pub warnings: Vec<String>,
}

/// How much of what is stored one answer may hold, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Room {
    /// Whole values, up to this many bytes in all.
    pub values: usize,
    /// Everything, up to this many bytes.
    pub all: usize,
}

impl Room {
    /// No bound: the reader takes it whole.
    pub const UNBOUNDED: Room = Room {
        values: usize::MAX,
        all: usize::MAX,
    };
}

impl App {
    /// Appends a version of a record.
    ///
    /// # Errors
    /// A conflict when `expected_version` does not hold; whatever keeps the store from being written.
    pub async fn remember(&self, caller: &Caller, new: NewVersion) -> Result<Written, AppError> {
        caller.reach.may_change()?;
        let seen = self.sessions.seen(caller, &new.at);
        let counted_on = new.expected_version.is_some();
        let at = new.at.clone();
        let remembered = self.store.remember(self.actor(caller), new).await?;
        self.sessions.touch(caller, &at, remembered.version.version);
        let mut warnings = Vec::new();
        if let Some((number, author)) = &remembered.over
            && !counted_on
            && *author != caller.agent
            && seen.is_none_or(|seen| seen < *number)
        {
            warnings.push(format!(
                "version {number} by {author} was current and this session had not read it; it stays in the history as \
                 version {number}. A write that gives the version it expects is told before"
            ));
        }
        Ok(Written { remembered, warnings })
    }

    /// One version of a record, the current one unless a number is given; none when there is none for this caller.
    ///
    /// # Errors
    /// When the number is 0; whatever keeps the store from being read.
    pub async fn recall(
        &self,
        caller: &Caller,
        at: &Address,
        version: Option<u64>,
    ) -> Result<Option<Version>, AppError> {
        let number = version.map(|number| version_number("version", number)).transpose()?;
        let found = self
            .store
            .version(self.actor(caller), at.clone(), number, Budget::ALL)
            .await?;
        if let Some(found) = &found
            && found.superseded_at.is_none()
        {
            self.sessions.touch(caller, at, found.version);
        }
        Ok(caller.reads(found))
    }

    /// One page of a search over the current versions.
    ///
    /// # Errors
    /// When the query is too long; whatever keeps the store from being read.
    pub async fn search(&self, caller: &Caller, sought: Sought, room: Room) -> Result<Page, AppError> {
        if let Some(query) = &sought.query
            && query.len() > limits::QUERY_BYTES
        {
            return Err(crate::domain::Invalid::new(
                "query",
                format!("{} bytes", query.len()),
                format!("at most {} bytes", limits::QUERY_BYTES),
            )
            .into());
        }
        if sought.query.is_some() || sought.tag.is_some() {
            caller.reach.may_search()?;
        }
        let page = self
            .store
            .search(self.actor(caller), sought, Budget(room.values), room.all)
            .await?;
        Ok(caller.reads(page))
    }

    /// A record's versions after number `after`, oldest first, and how many there are in all.
    ///
    /// # Errors
    /// Not found when there is no such record for this caller.
    pub async fn history(
        &self,
        caller: &Caller,
        at: &Address,
        after: u64,
        limit: usize,
        room: Room,
    ) -> Result<(Vec<Version>, u64), AppError> {
        let (versions, total) = self
            .store
            .history(self.actor(caller), at.clone(), after, limit, Budget(room.values))
            .await?;
        if total == 0 {
            return Err(Refusal::not_found(
                format!("there is no record {at}"),
                "recall with a scope or a query shows what there is",
            )
            .into());
        }
        Ok((caller.reads(versions), total))
    }
}
