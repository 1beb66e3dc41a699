//! Which partitions are worth merging.

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::lake::layout::Layout;
use crate::lake::state::{BatchSummary, Part};
use crate::lake::{LakeError, Result, State};
use crate::model::tables::SCHEMA_VERSION;
use crate::model::time;

/// A partition of an open day is merged when it has more parts than this: often enough that queries open few files, seldom
/// enough that a day of hourly runs is written three times and not twenty-four.
pub const DEFAULT_MAX_PARTS: usize = 8;
/// A partition of a closed day is left alone up to this many parts, so that a late row does not rewrite a whole day each time.
pub const DEFAULT_CLOSED_PARTS: usize = 2;

/// The parts of one table, provider and day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Table.
    pub table: String,
    /// Slug of the provider.
    pub provider: String,
    /// Day, `YYYY-MM-DD`.
    pub date: String,
    /// All its parts, by path.
    pub parts: Vec<Part>,
}

/// Who asks, and for which partitions.
#[derive(Debug, Clone)]
pub enum Choice {
    /// Somebody wants all that can be merged.
    Asked {
        /// Only these providers; empty: all.
        providers: Vec<String>,
        /// Only days before this one, `YYYY-MM-DD`.
        before: Option<String>,
    },
    /// An export ends.
    AfterExport {
        /// The newest batch before the export; `None` if it was the first. The first export leaves closed days alone unless they
        /// have many parts: it has enough to do, and nobody waits for a second part.
        before: Option<BatchSummary>,
    },
}

impl Partition {
    /// Size of its parts.
    #[must_use]
    pub fn bytes(&self) -> i64 {
        self.parts.iter().map(|part| part.bytes).fold(0, i64::saturating_add)
    }

    /// Its folder below the lake's root.
    #[must_use]
    pub fn name(&self) -> String {
        format!("{}/provider={}/date={}", self.table, self.provider, self.date)
    }

    /// Makes sure that its folder holds its parts and nothing else, since the folder is replaced as a whole.
    ///
    /// # Errors
    /// A file is foreign, or the folder cannot be read.
    pub(super) fn check_folder(&self, layout: &Layout) -> Result<()> {
        let listed: Vec<PathBuf> = self.parts.iter().map(|part| layout.root().join(&part.path)).collect();
        for entry in fs_err::read_dir(layout.root().join(self.name()))? {
            let path = entry?.path();
            if !listed.contains(&path) {
                return Err(LakeError::ForeignPart { path });
            }
        }
        Ok(())
    }
}

/// The partitions that a choice takes, by name. `now` is the time of the run in microseconds.
///
/// # Errors
/// The state cannot be read.
pub fn choose(state: &State, choice: &Choice, now: i64) -> Result<Vec<Partition>> {
    let mut partitions: BTreeMap<(String, String, String), Vec<Part>> = BTreeMap::new();
    for part in state.parts()? {
        let key = (part.table.clone(), part.provider.clone(), part.date.clone());
        partitions.entry(key).or_default().push(part);
    }
    let today = time::day_text(time::day(now));
    let partitions = partitions
        .into_iter()
        .map(|((table, provider, date), parts)| Partition { table, provider, date, parts })
        .filter(|partition| choice.takes(partition, &today));
    Ok(partitions.collect())
}

impl Choice {
    fn takes(&self, partition: &Partition, today: &str) -> bool {
        let Partition { provider, date, parts, .. } = partition;
        let (count, is_closed) = (parts.len(), date.as_str() < today);
        match self {
            Self::Asked { providers, before } => {
                let is_old = parts.iter().any(|part| part.schema_version < SCHEMA_VERSION);
                (providers.is_empty() || providers.contains(provider))
                    && before.as_ref().is_none_or(|before| date < before)
                    && (is_old || (is_closed && count > 1) || count > DEFAULT_MAX_PARTS)
            }
            Self::AfterExport { before: None } => count > DEFAULT_MAX_PARTS,
            Self::AfterExport { before: Some(before) } => {
                // Days that the export wrote to, and those that closed since the one before it.
                let was_written = parts.iter().any(|part| part.last_batch > before.batch);
                let just_closed = *date >= time::day_text(time::day(before.committed_at));
                count > DEFAULT_MAX_PARTS || (is_closed && count > DEFAULT_CLOSED_PARTS && (was_written || just_closed))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(date: &str, batches: &[i64]) -> Partition {
        let part = |&batch: &i64| Part {
            path: format!("usage/provider=claude/date={date}/part-b{batch}.parquet"),
            table: "usage".to_owned(),
            provider: "claude".to_owned(),
            date: date.to_owned(),
            batch,
            rows: 1,
            bytes: 1,
            xxh3: [0; 16],
            schema_version: SCHEMA_VERSION,
            first_batch: batch,
            last_batch: batch,
        };
        Partition {
            table: "usage".to_owned(),
            provider: "claude".to_owned(),
            date: date.to_owned(),
            parts: batches.iter().map(part).collect(),
        }
    }

    #[test]
    fn who_asks_gets_closed_days_and_crowded_ones() {
        let all = Choice::Asked { providers: Vec::new(), before: None };
        assert!(all.takes(&partition("2026-11-01", &[1, 2]), "2026-11-02"));
        assert!(!all.takes(&partition("2026-11-01", &[1]), "2026-11-02"));
        assert!(!all.takes(&partition("2026-11-02", &[1, 2]), "2026-11-02"), "the day is not over");
        assert!(all.takes(&partition("2026-11-02", &[1, 2, 3, 4, 5, 6, 7, 8, 9]), "2026-11-02"));
        let mut old = partition("2026-11-02", &[1]);
        old.parts[0].schema_version = 0;
        assert!(all.takes(&old, "2026-11-02"));
        let some = Choice::Asked { providers: vec!["codex".to_owned()], before: None };
        assert!(!some.takes(&partition("2026-11-01", &[1, 2]), "2026-11-02"));
        let early = Choice::Asked { providers: Vec::new(), before: Some("2026-11-01".to_owned()) };
        assert!(!early.takes(&partition("2026-11-01", &[1, 2]), "2026-11-02"));
        assert!(early.takes(&partition("2026-10-31", &[1, 2]), "2026-11-02"));
    }

    #[test]
    fn an_export_merges_what_it_or_the_night_left_behind() {
        let noon = time::parse("2026-11-01T12:00:00Z").unwrap();
        let before = Some(BatchSummary { batch: 7, committed_at: noon, rows: 1 });
        let export = Choice::AfterExport { before };
        let today = "2026-11-02";
        assert!(!export.takes(&partition("2026-10-01", &[1, 2, 3]), today), "not of this run");
        assert!(export.takes(&partition("2026-10-01", &[1, 2, 8]), today), "written to");
        assert!(export.takes(&partition("2026-11-01", &[1, 2, 3]), today), "closed since the run before");
        assert!(!export.takes(&partition("2026-11-01", &[1, 8]), today), "two are few enough");
        assert!(!export.takes(&partition("2026-11-02", &[1, 2, 8]), today), "not over");
        assert!(export.takes(&partition("2026-11-02", &[1, 2, 3, 4, 5, 6, 7, 8, 9]), today));
        let first = Choice::AfterExport { before: None };
        assert!(!first.takes(&partition("2026-10-01", &[1, 2, 3]), today));
    }
}
