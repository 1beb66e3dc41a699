//! What the parts of `usage` say of themselves, read from their footers: which models were used, and where requests have
//! more than one row.
//!
//! Most columns that choose a price hold one value in a part, and then its statistics name it: no page is read. Asking
//! DuckDB instead would open every part twice.

use std::collections::BTreeSet;

use arrow::array::{Array, AsArray, StringArray};
use chrono::NaiveDate;
use fs_err::File;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::Statistics;

use crate::pricing::ModelUse;

use super::{LakeSnapshot, Part, Result, WarehouseError};

/// What chooses a price, as columns of `usage`; a missing value is an empty text in [`ModelUse`].
pub(super) const USE_COLUMNS: [&str; 4] = ["vendor", "model", "speed", "service_tier"];

/// A provider and a day.
pub(super) type Partition = (String, Option<NaiveDate>);

/// What the parts of `usage` hold.
#[derive(Debug, Default)]
pub(super) struct UsageParts {
    /// Every way in which a model was used.
    pub uses: BTreeSet<ModelUse>,
    /// Partitions that hold growth or reversals.
    pub revised: BTreeSet<Partition>,
}

impl UsageParts {
    /// Looks into the parts of `usage`.
    pub fn of(lake: &LakeSnapshot) -> Result<Self> {
        let mut found = Self::default();
        for part in lake.parts_of("usage") {
            let file = File::open(&part.path)?;
            found.add(part, file).map_err(|source| WarehouseError::Part { path: part.path.clone(), source })?;
        }
        Ok(found)
    }

    fn add(&mut self, part: &Part, file: File) -> Result<(), ParquetError> {
        let builder = ParquetRecordBatchReaderBuilder::try_new(file.into_parts().0)?;
        let groups = builder.metadata().row_groups();
        // A request that moved to another day stands there as counted, but with a later revision.
        let single =
            |group: &RowGroupMetaData| only_value(group, "status") == Some("counted") && is_first_revision(group);
        if !groups.iter().all(single) {
            self.revised.insert(partition(part));
        }
        let constant = |group: &RowGroupMetaData| {
            let [vendor, model, speed, service_tier] = USE_COLUMNS.map(|column| only_value(group, column));
            Some([vendor?, model?, speed?, service_tier?].map(str::to_owned))
        };
        if let Some(uses) = groups.iter().map(constant).collect::<Option<Vec<_>>>() {
            self.uses.extend(uses.into_iter().map(|values| model_use(part, values)));
            return Ok(());
        }
        let wanted = ProjectionMask::columns(builder.parquet_schema(), USE_COLUMNS);
        let mut last: Option<[String; 4]> = None;
        for batch in builder.with_projection(wanted).build()? {
            let batch = batch?;
            let columns =
                USE_COLUMNS.map(|name| batch.column_by_name(name).and_then(|column| column.as_string_opt::<i32>()));
            for row in 0..batch.num_rows() {
                let values = columns.map(|column| text_at(column, row));
                // Neighbours are mostly alike, so most rows cost four comparisons.
                if last.as_ref().is_none_or(|last| last.iter().zip(values).any(|(last, value)| last != value)) {
                    let values = values.map(str::to_owned);
                    last = Some(values.clone());
                    self.uses.insert(model_use(part, values));
                }
            }
        }
        Ok(())
    }
}

/// The partition of a part.
pub(super) fn partition(part: &Part) -> Partition {
    (part.provider.clone(), part.date())
}

fn model_use(part: &Part, [vendor, model, speed, service_tier]: [String; 4]) -> ModelUse {
    ModelUse { provider: part.provider.clone(), vendor, model, speed, service_tier }
}

/// Whether every row of a row group is the first of its request, as far as the statistics tell.
fn is_first_revision(group: &RowGroupMetaData) -> bool {
    matches!(statistics_of(group, "rev"), Some(Statistics::Int64(revisions)) if revisions.max_opt() == Some(&0))
}

fn statistics_of<'a>(group: &'a RowGroupMetaData, name: &str) -> Option<&'a Statistics> {
    group.columns().iter().find(|column| column.column_path().string() == name)?.statistics()
}

/// The value that a text column holds in all rows of a row group (empty: NULL in all), as far as the statistics tell.
fn only_value<'a>(group: &'a RowGroupMetaData, name: &str) -> Option<&'a str> {
    let statistics = statistics_of(group, name)?;
    let nulls = statistics.null_count_opt()?;
    if i64::try_from(nulls).ok()? == group.num_rows() {
        return Some("");
    }
    let (low, high) = (statistics.min_bytes_opt()?, statistics.max_bytes_opt()?);
    let is_exact = statistics.min_is_exact() && statistics.max_is_exact();
    (nulls == 0 && is_exact && low == high).then(|| std::str::from_utf8(low).ok()).flatten()
}

fn text_at(column: Option<&StringArray>, row: usize) -> &str {
    column.filter(|column| column.is_valid(row)).map_or("", |column| column.value(row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warehouse::tests::mock::{MockLake, Usage, union};

    #[test]
    fn footers_tell_models_and_revisions() {
        let mut lake = MockLake::new();
        let usage = |ts, model| Usage { ts, model, rest: ", 'standard' AS speed" };
        let opus = usage("2026-11-01 12:00:00", "claude-opus-5");
        let sonnet = usage("2026-11-02 12:00:00", "claude-sonnet-5");
        let sol = usage("2026-11-02 13:00:00", "gpt-6-sol");
        let growth = format!("SELECT * REPLACE ('growth' AS status, 1 AS rev) FROM ({})", sonnet.select("b"));
        lake.part("usage", "claude", "2026-11-01", 1, &opus.select("a"))
            .part("usage", "claude", "2026-11-02", 1, &union(&[sonnet.select("b"), sol.select("c")]))
            .part("usage", "claude", "2026-11-02", 2, &growth);
        let found = UsageParts::of(&lake.snapshot).unwrap();
        let models: Vec<&str> = found.uses.iter().map(|model_use| model_use.model.as_str()).collect();
        assert_eq!(models, ["claude-opus-5", "claude-sonnet-5", "gpt-6-sol"]);
        assert!(found.uses.iter().all(|model_use| model_use.speed == "standard" && model_use.service_tier.is_empty()));
        let day = NaiveDate::from_ymd_opt(2026, 11, 2);
        assert_eq!(found.revised, BTreeSet::from([("claude".to_owned(), day)]));
    }

    #[test]
    fn a_damaged_part_is_named() {
        let mut lake = MockLake::new();
        let opus = Usage { ts: "2026-11-01 12:00:00", model: "claude-opus-5", rest: "" };
        lake.part("usage", "claude", "2026-11-01", 1, &opus.select("a"));
        let path = lake.snapshot.parts.first().unwrap().path.clone();
        fs_err::write(&path, "not Parquet").unwrap();
        let error = UsageParts::of(&lake.snapshot).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}
