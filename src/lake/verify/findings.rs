//! What `verify` can find, and the remedy of each.

use std::collections::BTreeMap;
use std::path::Path;

/// Findings of one kind that are kept one by one; the rest is counted.
const KEPT_PER_KIND: usize = 100;

/// What is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// Parts without a state.
    StateMissing,
    /// A state that `SQLite` cannot read.
    StateDamaged,
    /// A state that contradicts itself.
    StateContradiction,
    /// A state that was made for other parts.
    ForeignState,
    /// A listed part that is not there.
    MissingPart,
    /// A listed part whose bytes are not those that were committed.
    DamagedPart,
    /// A listed part that is not what the state says of it.
    PartContradiction,
    /// A file in a table folder that the state does not list.
    ForeignPart,
    /// The same, and its bytes are those of a listed part.
    DuplicatedPart,
    /// Rows of one table with the same `event_id` and batch.
    DuplicatedRows,
    /// A part of a schema that this version does not know.
    NewerPart,
    /// A request whose ledger entry and rows in `usage` do not add up to the same.
    LedgerMismatch,
    /// A checkpoint that its unchanged source contradicts.
    CheckpointMismatch,
    /// Rows of a source that was read, and that the lake does not have.
    MissingRows,
    /// Rows that the lake has and their source does not.
    UnknownRows,
    /// A request whose rows do not add up to what its sources say.
    UsageMismatch,
}

impl FindingKind {
    /// The kind as programs see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::StateMissing => "state_missing",
            Self::StateDamaged => "state_damaged",
            Self::StateContradiction => "state_contradiction",
            Self::ForeignState => "foreign_state",
            Self::MissingPart => "missing_part",
            Self::DamagedPart => "damaged_part",
            Self::PartContradiction => "part_contradiction",
            Self::ForeignPart => "foreign_part",
            Self::DuplicatedPart => "duplicated_part",
            Self::DuplicatedRows => "duplicated_rows",
            Self::NewerPart => "newer_part",
            Self::LedgerMismatch => "ledger_mismatch",
            Self::CheckpointMismatch => "checkpoint_mismatch",
            Self::MissingRows => "missing_rows",
            Self::UnknownRows => "unknown_rows",
            Self::UsageMismatch => "usage_mismatch",
        }
    }

    /// What to do, a sentence.
    #[must_use]
    pub fn remedy(self) -> &'static str {
        match self {
            Self::StateMissing | Self::StateDamaged => {
                "restore .agentlake/state.db from a backup, or run `agentlake repair`, which makes it anew from the parts"
            }
            Self::StateContradiction | Self::LedgerMismatch | Self::CheckpointMismatch | Self::PartContradiction => {
                "run `agentlake repair`, which makes the state anew from the parts"
            }
            Self::ForeignState => {
                "put the lake's own .agentlake/state.db back, or run `agentlake repair`, which makes it anew from the parts"
            }
            Self::MissingPart | Self::DamagedPart => {
                "put the part back from a backup, or run `agentlake repair`, which reads the sources again that are still there"
            }
            Self::ForeignPart | Self::DuplicatedPart => {
                "run `agentlake repair`: it takes the file in if it belongs to this lake, else moves it to .agentlake/quarantine"
            }
            Self::DuplicatedRows => "run `agentlake repair`, which keeps one of each row",
            Self::NewerPart => "update agentlake",
            Self::MissingRows | Self::UsageMismatch | Self::UnknownRows => {
                "run `agentlake export --rebuild`, which reads every source again and keeps the rows of those that are gone"
            }
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// What kind of thing.
    pub kind: FindingKind,
    /// The file, request or source it is about.
    pub subject: String,
    /// More of it, for people.
    pub detail: String,
}

/// Findings in the order they were made; of one kind only the first hundred are kept, all are counted.
#[derive(Debug, Default)]
pub struct Findings {
    kept: Vec<Finding>,
    counts: BTreeMap<FindingKind, u64>,
}

impl Findings {
    /// Adds one about a file.
    pub fn add(&mut self, kind: FindingKind, subject: impl AsRef<Path>, detail: &str) {
        let subject = subject.as_ref().display().to_string();
        self.push(Finding { kind, subject, detail: detail.to_owned() });
    }

    /// Adds one.
    pub fn push(&mut self, finding: Finding) {
        let count = self.counts.entry(finding.kind).or_default();
        *count = count.saturating_add(1);
        if usize::try_from(*count).is_ok_and(|count| count <= KEPT_PER_KIND) {
            self.kept.push(finding);
        }
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether one of this kind was made.
    #[must_use]
    pub fn has(&self, kind: FindingKind) -> bool {
        self.counts.contains_key(&kind)
    }

    /// Those that were kept.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.kept.iter()
    }

    /// How many of each kind there are.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<FindingKind, u64> {
        &self.counts
    }
}
