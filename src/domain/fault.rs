//! What `verify` finds.

/// One thing that is not as the store's own history says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Its kind, a short stable word (`version_hash`, `ledger_gap`, `head`, `search`, …).
    pub kind: String,
    /// Where: project and row, in the words of the domain.
    pub place: String,
    /// What was found and what was expected.
    pub what: String,
}

/// The result of a whole check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// How many versions, entries, packets and outcomes were checked.
    pub checked: u64,
    /// The first fault of each kind, in the order in which they were found.
    pub faults: Vec<Fault>,
}

impl Report {
    /// Whether nothing was found.
    pub fn ok(&self) -> bool {
        self.faults.is_empty()
    }

    /// Leaves the kinds alone, for a caller who may not know where each lies and what it is about.
    pub fn veil(&mut self) {
        for fault in &mut self.faults {
            super::redact::WORD.clone_into(&mut fault.place);
            "whoever runs the server is told more".clone_into(&mut fault.what);
        }
    }

    /// Notes a fault, unless one of its kind is noted already.
    pub fn note(&mut self, kind: &str, place: impl Into<String>, what: impl Into<String>) {
        if self.faults.iter().all(|known| known.kind != kind) {
            self.faults.push(Fault {
                kind: kind.to_owned(),
                place: place.into(),
                what: what.into(),
            });
        }
    }
}
