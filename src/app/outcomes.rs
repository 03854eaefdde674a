//! Reporting what came of it.

use super::{App, AppError, Caller};
use crate::domain::Address;
use crate::domain::handoff::seen::Recorded;
use crate::domain::outcome::{NewOutcome, Reported};

impl App {
    /// Records a report: moves opinions, and ends or returns the packet.
    ///
    /// # Errors
    /// When a ref or the packet is unknown, the run reported the opposite before, or the packet is another's.
    pub async fn record_outcome(&self, caller: &Caller, new: NewOutcome) -> Result<(Recorded, Vec<String>), AppError> {
        caller.reach.may_change()?;
        let ttl = self.config.handoff_ttl;
        let recorded = self
            .store
            .record(self.actor(caller), new, ttl, caller.reach.is_root())
            .await?;
        let mut warnings = Vec::new();
        if let Some(why) = recorded.packet.as_ref().and_then(|packet| packet.left_alone.clone()) {
            warnings.push(why);
        }
        for moved in recorded.moved.iter().filter(|moved| moved.superseded) {
            warnings.push(format!(
                "{} version {} has been superseded: its confidence moved, the newer version's did not",
                moved.at, moved.version
            ));
        }
        Ok((recorded, warnings))
    }

    /// The reports on any version of a record, oldest first; the newest 500 when there are more.
    ///
    /// # Errors
    /// Whatever keeps the store from being read.
    pub async fn reported(&self, caller: &Caller, at: &Address) -> Result<Vec<Reported>, AppError> {
        let reported = self.store.reported(self.actor(caller), at.clone(), 500).await?;
        Ok(caller.reads(reported))
    }
}
