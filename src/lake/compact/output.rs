//! Writes merged rows as parts in staging; a new part begins where one grows too large.

use std::path::PathBuf;

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;

use super::choose::Partition;
use super::digest::batches_of;
use super::inputs::Inputs;
use crate::lake::Result;
use crate::lake::arrow_schema::{properties_of, schema_of};
use crate::lake::disk::create_private_dirs;
use crate::lake::layout::{Layout, part_path};
use crate::lake::parts::HashingFile;
use crate::lake::state::Part;
use crate::model::tables::{SCHEMA_VERSION, TableSpec};

/// A merged part that is larger than this is followed by another one.
pub const DEFAULT_PART_BYTES: usize = 256 << 20;
/// A row group is closed when this much of it waits in memory, however few rows that are.
const ROW_GROUP_BYTES: usize = 64 << 20;
/// Part numbers of a partition's second and later files lie this far apart: more than there are partitions in one commit.
const NUMBER_STEP: usize = 10_000;

/// Where the parts of one partition go.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The lake.
    pub layout: &'a Layout,
    /// Its id.
    pub lake_id: &'a str,
    /// Number of the compaction.
    pub batch: i64,
    /// The partition.
    pub partition: &'a Partition,
    /// Which partition of the compaction it is.
    pub number: usize,
}

/// A writer of parts.
pub struct Output<'a> {
    inputs: &'a Inputs,
    table: &'static TableSpec,
    target: &'a Target<'a>,
    /// A file that is merged again, instead of parts.
    passing: Option<PathBuf>,
    open: Option<OpenPart>,
    done: Vec<Part>,
}

struct OpenPart {
    writer: ArrowWriter<HashingFile>,
    path: String,
    rows: i64,
    first_batch: i64,
    last_batch: i64,
}

impl<'a> Output<'a> {
    /// Writes parts of the target's partition.
    pub fn new(inputs: &'a Inputs, table: &'static TableSpec, target: &'a Target<'a>) -> Self {
        Self { inputs, table, target, passing: None, open: None, done: Vec::new() }
    }

    /// Writes one file that is read again in the next round.
    ///
    /// # Errors
    /// Its folder cannot be made.
    pub fn to_pass_on(
        inputs: &'a Inputs,
        table: &'static TableSpec,
        target: &'a Target<'a>,
        round: usize,
        number: usize,
    ) -> Result<(PathBuf, Self)> {
        let folder = target.layout.staging_of(target.batch).join(format!("passing-{}", target.number));
        create_private_dirs(target.layout.disk(), &folder)?;
        let path = folder.join(format!("{round}-{number}.parquet"));
        Ok((path.clone(), Self { passing: Some(path), ..Self::new(inputs, table, target) }))
    }

    /// Appends rows.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<()> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => self.begin()?,
        };
        open.writer.write(rows)?;
        open.rows = open.rows.saturating_add(i64::try_from(rows.num_rows()).unwrap_or(i64::MAX));
        for &batch in batches_of(rows).map(|batches| batches.values().as_ref()).unwrap_or_default() {
            open.first_batch = open.first_batch.min(batch);
            open.last_batch = open.last_batch.max(batch);
        }
        if open.writer.in_progress_size() > ROW_GROUP_BYTES {
            open.writer.flush()?;
        }
        if self.passing.is_none() && open.writer.bytes_written() > DEFAULT_PART_BYTES {
            let part = self.close(open)?;
            self.done.push(part);
        } else {
            self.open = Some(open);
        }
        Ok(())
    }

    /// Closes the last file; returns the parts.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(mut self) -> Result<Vec<Part>> {
        if let Some(open) = self.open.take() {
            let part = self.close(open)?;
            self.done.push(part);
        }
        Ok(self.done)
    }

    fn begin(&self) -> Result<OpenPart> {
        let Target { layout, lake_id, batch, partition, number } = *self.target;
        let number = number + self.done.len() * NUMBER_STEP;
        let path = part_path(lake_id, self.table.name, &partition.provider, &partition.date, batch, number);
        let file = self.passing.clone().unwrap_or_else(|| layout.staging_of(batch).join(&path));
        if let Some(folder) = file.parent() {
            create_private_dirs(layout.disk(), folder)?;
        }
        let rows = usize::try_from(self.inputs.expected().rows()).unwrap_or(usize::MAX);
        let is_blank = |at: usize| self.table.columns.get(at).is_some_and(|column| self.inputs.is_blank(column.name));
        let properties = properties_of(self.table, lake_id, batch, rows, is_blank);
        let file = HashingFile::new(layout.disk().create(&file)?);
        let writer = ArrowWriter::try_new(file, schema_of(self.table), Some(properties))?;
        Ok(OpenPart { writer, path, rows: 0, first_batch: i64::MAX, last_batch: i64::MIN })
    }

    fn close(&self, open: OpenPart) -> Result<Part> {
        let OpenPart { writer, path, rows, first_batch, last_batch } = open;
        let file = writer.into_inner()?;
        Ok(Part {
            path,
            table: self.table.name.to_owned(),
            provider: self.target.partition.provider.clone(),
            date: self.target.partition.date.clone(),
            batch: self.target.batch,
            rows,
            bytes: file.bytes(),
            xxh3: file.xxh3(),
            schema_version: SCHEMA_VERSION,
            first_batch,
            last_batch,
        })
    }
}
