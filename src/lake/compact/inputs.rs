//! The parts that are merged: which of their rows remain, and their rows in the columns of today.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow::datatypes::SchemaRef;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::file::metadata::ParquetMetaData;

use super::digest::{self, Digest, batches_of, id_at, ids_of};
use crate::lake::Result;
use crate::lake::arrow_schema::schema_of;
use crate::lake::layout::Layout;
use crate::lake::state::Part;
use crate::model::tables::{TableSpec, USAGE, USAGE_COPIES};

/// The parts of a partition, looked through once.
#[derive(Debug)]
pub struct Inputs {
    paths: Vec<PathBuf>,
    schema: SchemaRef,
    /// Records with several versions: the newest batch of each.
    newest: HashMap<u128, i64>,
    expected: Digest,
    /// Bytes of all pages before compression.
    page_bytes: i64,
    /// Columns of which no part has a value, as far as the statistics tell.
    blank: Vec<&'static str>,
}

impl Inputs {
    /// Looks through the ids of `parts`.
    ///
    /// # Errors
    /// A part cannot be read.
    pub fn open(layout: &Layout, table: &'static TableSpec, parts: &[Part]) -> Result<Self> {
        let paths: Vec<PathBuf> = parts.iter().map(|part| layout.root().join(&part.path)).collect();
        let schema = schema_of(table);
        let mut inputs = Self {
            paths,
            schema,
            newest: HashMap::new(),
            expected: Digest::default(),
            page_bytes: 0,
            blank: Vec::new(),
        };
        // Rows of these add up, or stand for different claims: none replaces another.
        let has_versions = table.name != USAGE.name && table.name != USAGE_COPIES.name;
        let mut seen: Vec<(u128, i64)> = Vec::new();
        for path in &inputs.paths {
            for batch in digest::read_keys(table, path)? {
                let batch = batch?;
                inputs.expected.add(&batch, None);
                if let (true, Some(ids), Some(batches)) = (has_versions, ids_of(&batch), batches_of(&batch)) {
                    seen.extend((0..batch.num_rows()).map(|row| (id_at(ids, row), batches.value(row))));
                }
            }
        }
        inputs.newest = newest_of_several(seen);
        if !inputs.newest.is_empty() {
            inputs.expected = Digest::default();
            for path in &inputs.paths {
                for batch in digest::read_keys(table, path)? {
                    let batch = batch?;
                    let kept = newest_only(&inputs.newest, &batch);
                    inputs.expected.add(&batch, kept.as_ref());
                }
            }
        }
        inputs.look_at_footers(table)?;
        Ok(inputs)
    }

    fn look_at_footers(&mut self, table: &'static TableSpec) -> Result<()> {
        let mut blank: Vec<&'static str> = table.columns.iter().map(|column| column.name).collect();
        for path in &self.paths {
            let file = fs_err::File::open(path)?.into_parts().0;
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?;
            let metadata = builder.metadata();
            self.page_bytes += metadata.row_groups().iter().map(|group| group.total_byte_size()).sum::<i64>();
            blank.retain(|name| is_blank(metadata, name));
        }
        self.blank = blank;
        Ok(())
    }

    /// The files.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// Bytes of all pages before compression.
    pub fn page_bytes(&self) -> i64 {
        self.page_bytes
    }

    /// What the merged parts must hold.
    pub fn expected(&self) -> &Digest {
        &self.expected
    }

    /// Whether no part has a value in a column.
    pub fn is_blank(&self, name: &str) -> bool {
        self.blank.contains(&name)
    }

    /// The remaining rows of some that [`read`] gave, in the columns of the current schema version: a column that
    /// an older version lacks is NULL.
    ///
    /// # Errors
    /// A column has another type, or one that must have values is missing.
    pub fn conform(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let columns: Vec<ArrayRef> = self
            .schema
            .fields()
            .iter()
            .map(|field| match batch.column_by_name(field.name()) {
                Some(column) => Arc::clone(column),
                None => new_null_array(field.data_type(), batch.num_rows()),
            })
            .collect();
        let whole = RecordBatch::try_new(Arc::clone(&self.schema), columns)?;
        match newest_only(&self.newest, &whole) {
            Some(kept) => Ok(arrow::compute::filter_record_batch(&whole, &kept)?),
            None => Ok(whole),
        }
    }
}

/// Opens a file for its rows, `rows` at a time.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path, rows: usize) -> Result<ParquetRecordBatchReader> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(fs_err::File::open(path)?.into_parts().0)?;
    Ok(builder.with_batch_size(rows).build()?)
}

/// Of the ids that stand in several batches, the newest batch.
fn newest_of_several(mut seen: Vec<(u128, i64)>) -> HashMap<u128, i64> {
    seen.sort_unstable();
    seen.dedup();
    let several = seen.chunk_by(|left, right| left.0 == right.0).filter(|versions| versions.len() > 1);
    several.filter_map(|versions| versions.last().copied()).collect()
}

/// Which rows are of the newest version; `None`: all.
fn newest_only(newest: &HashMap<u128, i64>, batch: &RecordBatch) -> Option<BooleanArray> {
    if newest.is_empty() {
        return None;
    }
    let (ids, batches) = (ids_of(batch)?, batches_of(batch)?);
    let is_newest = |row| newest.get(&id_at(ids, row)).is_none_or(|newest| *newest == batches.value(row));
    Some((0..batch.num_rows()).map(|row| Some(is_newest(row))).collect())
}

/// Whether a file has no value in a column. Free text has no statistics: it counts as filled.
fn is_blank(metadata: &ParquetMetaData, name: &str) -> bool {
    metadata.row_groups().iter().all(|group| {
        let mut leaves = group
            .columns()
            .iter()
            .filter(|column| column.column_path().parts().first().is_some_and(|part| part == name));
        leaves.all(|column| {
            let nulls = column.statistics().and_then(|statistics| statistics.null_count_opt());
            nulls.is_some_and(|nulls| i64::try_from(nulls).is_ok_and(|nulls| nulls == group.num_rows()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_of_several_versions_is_kept() {
        let newest = newest_of_several(vec![(7, 1), (8, 1), (7, 3), (7, 2), (8, 1)]);
        assert_eq!(newest, HashMap::from([(7, 3)]));
    }
}
