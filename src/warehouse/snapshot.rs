//! What the warehouse is told of the lake: which parts make up its published batches. Filled from the lake's state, never by
//! listing folders, so that a query sees whole batches only.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chrono::NaiveDate;

use crate::model::tables::SCHEMA_VERSION;
use crate::pricing::{PriceTable, PricingError};

/// The committed parts of a lake.
#[derive(Debug, Clone, Default)]
pub struct LakeSnapshot {
    /// The lake's own id: a database filled from another lake is not added to.
    pub lake_id: String,
    /// Raised whenever rows of published batches changed (forget, redact, repair): then batch numbers alone do not tell what
    /// a database lacks, and it is built anew. Compaction does not raise it: its rows are the same rows, with the batch they
    /// had.
    pub generation: i64,
    /// Every part, of all tables.
    pub parts: Vec<Part>,
    /// Batches whose rows stand in merged parts, of which the part's own numbers name the oldest and the newest only.
    pub merged_batches: BTreeSet<i64>,
    /// Providers whose records can be appended again with the same `event_id` (documents, databases). Only the newest
    /// version of those is shown; for append-only files there is nothing to look for, which saves a pass over the ids.
    pub revising_providers: BTreeSet<String>,
    /// The database for notebooks, if the lake has one. Where it is up to date, bundled queries are answered from it, which
    /// is faster than opening hundreds of parts.
    pub database: Option<PathBuf>,
    /// Prices to use, if not those that the build carries: a user's own are in there too.
    pub prices: Option<Arc<PriceTable>>,
}

/// One Parquet file.
#[derive(Debug, Clone)]
pub struct Part {
    /// Table that it belongs to.
    pub table: String,
    /// Provider, as in its path.
    pub provider: String,
    /// Where it is; the folder's name is `date=YYYY-MM-DD`.
    pub path: PathBuf,
    /// The newest batch that its rows are of.
    pub batch: i64,
    /// The oldest batch that its rows are of: the same, unless it was merged from parts of several.
    pub first_batch: i64,
    /// [`SCHEMA_VERSION`] that it was written with.
    pub schema_version: i64,
}

impl Part {
    /// The UTC day of its rows, from its folder's name.
    #[must_use]
    pub fn date(&self) -> Option<NaiveDate> {
        let folder = self.path.parent().and_then(Path::file_name)?.to_str()?;
        NaiveDate::parse_from_str(folder.strip_prefix("date=")?, "%Y-%m-%d").ok()
    }

    /// Whether it may hold rows of one of these batches.
    #[must_use]
    pub fn may_hold(&self, batches: &BTreeSet<i64>) -> bool {
        batches.range(self.first_batch..=self.batch).next().is_some()
    }

    /// Whether it was merged from parts of several batches.
    #[must_use]
    pub fn is_merged(&self) -> bool {
        self.first_batch < self.batch
    }

    /// Whether it has every column that this build knows.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.schema_version == SCHEMA_VERSION
    }
}

impl LakeSnapshot {
    /// The prices to use.
    ///
    /// # Errors
    /// The table that the build carries cannot be read.
    pub fn price_table(&self) -> Result<&PriceTable, PricingError> {
        match &self.prices {
            Some(prices) => Ok(prices),
            None => PriceTable::builtin(),
        }
    }

    /// The numbers of all batches.
    #[must_use]
    pub fn batches(&self) -> BTreeSet<i64> {
        let batches = self.parts.iter().flat_map(|part| [part.first_batch, part.batch]);
        batches.chain(self.merged_batches.iter().copied()).collect()
    }

    /// The parts of one table.
    pub fn parts_of<'a>(&'a self, table: &'a str) -> impl Iterator<Item = &'a Part> {
        self.parts.iter().filter(move |part| part.table == table)
    }

    /// Keeps the parts that a question about some days and providers needs.
    #[must_use]
    pub fn pruned(mut self, wanted: &Wanted) -> Self {
        self.parts.retain(|part| wanted.needs(part));
        self
    }
}

/// Which part of the lake a question is about.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// First UTC day.
    pub first: Option<NaiveDate>,
    /// Last UTC day.
    pub last: Option<NaiveDate>,
    /// Providers; empty: all.
    pub providers: Vec<String>,
}

impl Wanted {
    /// Sessions are kept whatever their day, since they began before the rows that belong to them; so are later results,
    /// since a result can come on a later day than its call.
    fn needs(&self, part: &Part) -> bool {
        if !self.providers.is_empty() && !self.providers.contains(&part.provider) {
            return false;
        }
        let Some(date) = part.date() else { return true };
        if part.table == "sessions" {
            return true;
        }
        let late = self.last.is_some_and(|last| date > last) && part.table != "tool_results";
        let early = self.first.is_some_and(|first| date < first);
        !late && !early
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(table: &str, provider: &str, date: &str) -> Part {
        let path = format!("/lake/{table}/provider={provider}/date={date}/part-1f3a9c02-b000001-0000.parquet");
        Part {
            table: table.into(),
            provider: provider.into(),
            path: path.into(),
            batch: 1,
            first_batch: 1,
            schema_version: SCHEMA_VERSION,
        }
    }

    #[test]
    fn parts_are_pruned_by_day_and_provider() {
        let snapshot = LakeSnapshot {
            parts: vec![
                part("usage", "claude", "2026-11-01"),
                part("usage", "claude", "2026-11-02"),
                part("usage", "codex", "2026-11-02"),
                part("usage", "claude", "2026-11-03"),
                part("sessions", "claude", "2026-10-01"),
                part("tool_results", "claude", "2026-11-01"),
                part("tool_results", "claude", "2026-11-03"),
            ],
            ..LakeSnapshot::default()
        };
        let day = NaiveDate::from_ymd_opt(2026, 11, 2);
        let kept = snapshot.pruned(&Wanted { first: day, last: day, providers: vec!["claude".into()] });
        let kept: Vec<(&str, String)> =
            kept.parts.iter().map(|part| (part.table.as_str(), part.date().unwrap().to_string())).collect();
        let expected = [("usage", "2026-11-02"), ("sessions", "2026-10-01"), ("tool_results", "2026-11-03")];
        assert_eq!(kept, expected.map(|(table, date)| (table, date.to_owned())));
    }

    #[test]
    fn a_part_without_a_date_is_never_pruned() {
        let mut odd = part("usage", "claude", "2026-11-01");
        odd.path = "/lake/usage/odd.parquet".into();
        let day = NaiveDate::from_ymd_opt(2026, 11, 2);
        let snapshot = LakeSnapshot { parts: vec![odd], ..LakeSnapshot::default() };
        assert_eq!(snapshot.pruned(&Wanted { first: day, ..Wanted::default() }).parts.len(), 1);
    }
}
