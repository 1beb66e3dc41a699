//! What must be the same before and after: how many rows, which (`event_id`, `batch`), and the sum of each counter.

use std::path::{Path, PathBuf};

use arrow::array::{AsArray as _, BooleanArray, Int64Array, RecordBatch, StringArray};
use arrow::datatypes::Int64Type;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use xxhash_rust::xxh3::xxh3_128;

use crate::lake::Result;
use crate::model::tables::TableSpec;

/// The counters of `usage` and `usage_copies`.
const COUNTERS: [&str; 7] = [
    "input_tokens",
    "cache_read_tokens",
    "cache_write_5m_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "web_search_requests",
    "reasoning_tokens",
];
/// Rows that are looked at together.
const BATCH_ROWS: usize = 8192;

/// A summary of rows in which their order does not matter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Digest {
    rows: u64,
    /// Sum of the hashes of (`event_id`, `batch`); one row too few, too many or another changes it.
    ids: u128,
    counters: [i128; COUNTERS.len()],
}

impl Digest {
    /// Rows seen.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Adds the rows of `batch` that `kept` keeps; without it, all.
    pub fn add(&mut self, batch: &RecordBatch, kept: Option<&BooleanArray>) {
        let (Some(ids), Some(batches)) = (ids_of(batch), batches_of(batch)) else { return };
        let is_kept = |row: usize| kept.is_none_or(|kept| kept.value(row));
        for row in (0..batch.num_rows()).filter(|&row| is_kept(row)) {
            let mut bytes = [0; 24];
            let (left, right) = bytes.split_at_mut(16);
            left.copy_from_slice(&id_at(ids, row).to_le_bytes());
            right.copy_from_slice(&batches.value(row).to_le_bytes());
            self.rows += 1;
            self.ids = self.ids.wrapping_add(xxh3_128(&bytes));
        }
        for (sum, name) in self.counters.iter_mut().zip(COUNTERS) {
            let column = batch.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>());
            let Some(column) = column else { continue };
            for (_, value) in column.iter().enumerate().filter(|(row, _)| is_kept(*row)) {
                *sum += i128::from(value.unwrap_or(0));
            }
        }
    }

    /// Says what differs from `other`, if anything does.
    pub fn compare(&self, other: &Self) -> std::result::Result<(), String> {
        if self.rows != other.rows {
            return Err(format!("{} rows became {}", self.rows, other.rows));
        }
        if self.ids != other.ids {
            return Err("an event_id or batch changed".to_owned());
        }
        let mut counters = COUNTERS.iter().zip(self.counters).zip(other.counters);
        match counters.find(|((_, before), after)| before != after) {
            Some(((name, before), after)) => Err(format!("the sum of {name} was {before} and became {after}")),
            None => Ok(()),
        }
    }
}

/// The digest of all rows of some files.
///
/// # Errors
/// One of them cannot be read.
pub fn of_parts(table: &TableSpec, paths: impl IntoIterator<Item = PathBuf>) -> Result<Digest> {
    let mut digest = Digest::default();
    for path in paths {
        for batch in read_keys(table, &path)? {
            digest.add(&batch?, None);
        }
    }
    Ok(digest)
}

/// The columns that a digest is made of.
///
/// # Errors
/// The file cannot be read.
pub fn read_keys(table: &TableSpec, path: &Path) -> Result<ParquetRecordBatchReader> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(fs_err::File::open(path)?.into_parts().0)?;
    let has_counters = table.columns.iter().any(|column| column.name == COUNTERS[0]);
    let counters = COUNTERS.iter().copied().filter(|_| has_counters);
    let mask = ProjectionMask::columns(builder.parquet_schema(), ["event_id", "batch"].into_iter().chain(counters));
    Ok(builder.with_projection(mask).with_batch_size(BATCH_ROWS).build()?)
}

/// The column of ids.
pub fn ids_of(batch: &RecordBatch) -> Option<&StringArray> {
    batch.column_by_name("event_id").and_then(|column| column.as_string_opt())
}

/// The column of batches.
pub fn batches_of(batch: &RecordBatch) -> Option<&Int64Array> {
    batch.column_by_name("batch").and_then(|column| column.as_primitive_opt::<Int64Type>())
}

/// An id as a number; something that is no id as its hash, so that it is told apart all the same.
pub fn id_at(ids: &StringArray, row: usize) -> u128 {
    let text = ids.value(row);
    u128::from_str_radix(text, 16).unwrap_or_else(|_| xxh3_128(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn rows(ids: &[&str], batches: &[i64], output: &[i64]) -> RecordBatch {
        let columns: [(&str, arrow::array::ArrayRef); 3] = [
            ("event_id", Arc::new(StringArray::from(ids.to_vec()))),
            ("batch", Arc::new(Int64Array::from(batches.to_vec()))),
            ("output_tokens", Arc::new(Int64Array::from(output.to_vec()))),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    fn digest(batch: &RecordBatch) -> Digest {
        let mut digest = Digest::default();
        digest.add(batch, None);
        digest
    }

    #[test]
    fn order_does_not_matter_and_everything_else_does() {
        let base = digest(&rows(&["a1", "b2"], &[1, 2], &[10, 20]));
        base.compare(&digest(&rows(&["b2", "a1"], &[2, 1], &[20, 10]))).unwrap();
        for (other, what) in [
            (rows(&["a1"], &[1], &[30]), "2 rows became 1"),
            (rows(&["a1", "b2"], &[1, 1], &[10, 20]), "an event_id or batch changed"),
            (rows(&["a1", "b3"], &[1, 2], &[10, 20]), "an event_id or batch changed"),
            (rows(&["a1", "b2"], &[1, 2], &[10, 21]), "the sum of output_tokens was 30 and became 31"),
        ] {
            assert_eq!(base.compare(&digest(&other)), Err(what.to_owned()));
        }
    }

    #[test]
    fn only_kept_rows_count() {
        let batch = rows(&["a1", "b2"], &[1, 2], &[10, 20]);
        let mut kept = Digest::default();
        kept.add(&batch, Some(&BooleanArray::from(vec![false, true])));
        assert_eq!(kept, digest(&rows(&["b2"], &[2], &[20])));
    }
}
