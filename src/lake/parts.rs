//! Rows of a wave as Parquet parts: one per (table, provider, day), sorted by session and time, written to staging, synced.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray as _, Int64Array, RecordBatch, StringArray, StringBuilder, new_null_array,
};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use parquet::arrow::ArrowWriter;
use rayon::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

use super::arrow_schema::{properties_of, schema_of};
use super::disk::{create_private_dirs, sync_all};
use super::layout::{Layout, part_path};
use super::state::Part;
use super::{LakeError, Result, crash};
use crate::model::tables::{RECORD_COLUMNS, SCHEMA_VERSION, TABLES, TableSpec};
use crate::model::time;

/// Rows that are arranged at once.
const CHUNK_ROWS: usize = 4096;

/// Rows of one table read from one source.
#[derive(Debug)]
pub struct TableRows {
    /// Slug of the provider.
    pub provider: &'static str,
    /// The text of the `source_path` column.
    pub path: String,
    /// The text of the `host` column, if it is not that of the batch.
    pub host: Option<String>,
    /// [`RECORD_COLUMNS`], then the table's own.
    pub columns: Vec<ArrayRef>,
}

/// Where a row stands, and what it is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct RowPlace {
    provider: &'static str,
    day: i32,
    session: u32,
    ts: i64,
    seq: i64,
    source: u32,
    row: u32,
}

/// One part to write.
struct Job<'a> {
    table: &'static TableSpec,
    sources: &'a [TableRows],
    rows: &'a [RowPlace],
    number: usize,
}

/// Writes the rows of all tables into the staging folder of `batch`, and syncs them.
///
/// # Errors
/// The file system refuses. What was written so far stays in staging.
pub fn write(
    layout: &Layout,
    lake_id: &str,
    batch: i64,
    host: &str,
    tables: &BTreeMap<&'static str, Vec<TableRows>>,
) -> Result<Vec<Part>> {
    let staging = layout.staging_of(batch);
    create_private_dirs(layout.disk(), &staging)?;
    let placed: Vec<(&'static TableSpec, &[TableRows], Vec<RowPlace>)> = tables
        .par_iter()
        .filter_map(|(name, sources)| {
            let table = TABLES.into_iter().find(|table| table.name == *name)?;
            Some((table, sources.as_slice(), places(sources)))
        })
        .collect();
    let mut jobs: Vec<Job<'_>> = placed
        .iter()
        .flat_map(|(table, sources, places)| {
            let parts = places.chunk_by(|left, right| (left.provider, left.day) == (right.provider, right.day));
            parts.map(|rows| Job { table, sources, rows, number: 0 })
        })
        .collect();
    for (number, job) in jobs.iter_mut().enumerate() {
        job.number = number;
    }
    // The largest first, so that no processor waits at the end for one that began late.
    jobs.sort_by_key(|job| std::cmp::Reverse(job.rows.len()));
    let mut parts = jobs
        .par_iter()
        .with_max_len(1)
        .map(|job| job.write(layout, lake_id, batch, host))
        .collect::<Result<Vec<Part>>>()?;
    parts.sort_by(|left, right| left.path.cmp(&right.path));
    crash::point("written");
    let staged: Vec<PathBuf> = parts.iter().map(|part| layout.staged(batch, &part.path)).collect();
    sync_all(layout.disk(), &staged)?;
    sync_all(layout.disk(), &[staging, layout.staging()])?;
    Ok(parts)
}

/// Every row of a table's sources, in the order of the parts.
fn places(sources: &[TableRows]) -> Vec<RowPlace> {
    let texts = |rows: &TableRows| rows.columns.get(2).and_then(|column| column.as_string_opt::<i32>()).cloned();
    let sessions: Vec<Option<StringArray>> = sources.iter().map(texts).collect();
    let mut names: Vec<&str> = sessions
        .iter()
        .flatten()
        .flat_map(|array| {
            let mut last = None;
            array.iter().flatten().filter(move |name| last.replace(*name) != Some(*name))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    let ranks: HashMap<&str, u32> = names.iter().zip(1..).map(|(&name, rank)| (name, rank)).collect();
    let mut places =
        Vec::with_capacity(sources.iter().filter_map(|rows| rows.columns.first()).map(|column| column.len()).sum());
    for ((source, rows), sessions) in (0..).zip(sources).zip(&sessions) {
        let seq = rows.columns.get(3).and_then(|column| column.as_primitive_opt::<Int64Type>());
        let ts = rows.columns.get(4).and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        let (Some(sessions), Some(seq), Some(ts)) = (sessions, seq, ts) else { continue };
        let mut last: (Option<&str>, u32) = (None, 0);
        for ((row, session), (&seq, &ts)) in (0..).zip(sessions.iter()).zip(seq.values().iter().zip(ts.values())) {
            if session != last.0 {
                last = (session, session.and_then(|session| ranks.get(session).copied()).unwrap_or(0));
            }
            places.push(RowPlace {
                provider: rows.provider,
                day: time::day(ts),
                session: last.1,
                ts,
                seq,
                source,
                row,
            });
        }
    }
    places.sort_unstable();
    places
}

impl Job<'_> {
    fn write(&self, layout: &Layout, lake_id: &str, batch: i64, host: &str) -> Result<Part> {
        let Some(first) = self.rows.first() else { return Err(LakeError::Internal("a part without rows")) };
        let date = time::day_text(first.day);
        let path = part_path(lake_id, self.table.name, first.provider, &date, batch, self.number);
        let file = HashingFile::new(layout.disk().create(&layout.staged(batch, &path))?);
        let properties = properties_of(self.table, lake_id, batch, self.rows.len(), |column| self.is_blank(column));
        let mut writer = ArrowWriter::try_new(file, schema_of(self.table), Some(properties))?;
        for rows in self.rows.chunks(CHUNK_ROWS) {
            writer.write(&self.chunk(rows, batch, host)?)?;
        }
        let file = writer.into_inner()?;
        Ok(Part {
            path,
            table: self.table.name.to_owned(),
            provider: first.provider.to_owned(),
            date,
            batch,
            rows: i64::try_from(self.rows.len()).unwrap_or(i64::MAX),
            bytes: file.bytes(),
            xxh3: file.xxh3(),
            schema_version: SCHEMA_VERSION,
            first_batch: batch,
            last_batch: batch,
        })
    }

    /// Whether none of the part's sources has a value in one of the table's own columns.
    fn is_blank(&self, column: usize) -> bool {
        let mut last = None;
        let mut sources =
            self.rows.iter().map(|place| place.source).filter(|source| last.replace(*source) != Some(*source));
        sources.all(|source| {
            let array =
                self.sources.get(source as usize).and_then(|rows| rows.columns.get(RECORD_COLUMNS.len() + column));
            array.is_none_or(|array| array.null_count() == array.len())
        })
    }

    /// Arranges some rows: the columns of their sources, and those that are the same for a batch or a source.
    fn chunk(&self, rows: &[RowPlace], batch: i64, host: &str) -> Result<RecordBatch> {
        let mut used: Vec<u32> = rows.iter().map(|place| place.source).collect();
        used.sort_unstable();
        used.dedup();
        let slot = |source: u32| used.binary_search(&source).unwrap_or(0);
        let indices: Vec<(usize, usize)> = rows.iter().map(|place| (slot(place.source), place.row as usize)).collect();
        let run = contiguous(rows);
        let column = |at: usize| -> Result<ArrayRef> {
            let arrays: Vec<&ArrayRef> =
                used.iter().filter_map(|&source| self.sources.get(source as usize)?.columns.get(at)).collect();
            if let Some(first) = arrays.first()
                && arrays.iter().all(|array| array.null_count() == array.len())
            {
                return Ok(new_null_array(first.data_type(), rows.len()));
            }
            if let (Some((start, len)), [only]) = (run, arrays.as_slice()) {
                return Ok(only.slice(start, len));
            }
            let arrays: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
            Ok(arrow::compute::interleave(&arrays, &indices)?)
        };
        let mut columns = Vec::with_capacity(RECORD_COLUMNS.len() + 3 + self.table.columns.len());
        for at in 0..RECORD_COLUMNS.len() {
            columns.push(column(at)?);
        }
        columns.push(Arc::new(Int64Array::from_value(batch, rows.len())));
        let host_of = |place: &RowPlace| self.sources.get(place.source as usize)?.host.as_deref();
        columns.push(Arc::new(StringArray::from_iter_values(rows.iter().map(|place| host_of(place).unwrap_or(host)))));
        let mut paths = StringBuilder::new();
        for place in rows {
            paths.append_option(self.sources.get(place.source as usize).map(|source| source.path.as_str()));
        }
        columns.push(Arc::new(paths.finish()));
        for at in 0..self.table.columns.len() {
            columns.push(column(RECORD_COLUMNS.len() + at)?);
        }
        Ok(RecordBatch::try_new(schema_of(self.table), columns)?)
    }
}

/// Start and length, if the rows are neighbours in one source.
fn contiguous(rows: &[RowPlace]) -> Option<(usize, usize)> {
    let first = rows.first()?;
    let neighbours = rows.iter().zip(first.row..).all(|(place, row)| place.source == first.source && place.row == row);
    neighbours.then_some((first.row as usize, rows.len()))
}

/// A file that hashes what is written to it.
pub(super) struct HashingFile {
    file: Box<dyn Write + Send>,
    hash: Xxh3Default,
    bytes: i64,
}

impl HashingFile {
    /// Hashes what goes into `file` from here on.
    pub(super) fn new(file: Box<dyn Write + Send>) -> Self {
        Self { file, hash: Xxh3Default::new(), bytes: 0 }
    }

    /// Bytes written.
    pub(super) fn bytes(&self) -> i64 {
        self.bytes
    }

    /// xxh3-128 of what was written, little-endian.
    pub(super) fn xxh3(&self) -> [u8; 16] {
        self.hash.digest128().to_le_bytes()
    }
}

impl Write for HashingFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.file.write(bytes)?;
        self.hash.update(bytes.get(..count).unwrap_or(bytes));
        self.bytes = self.bytes.saturating_add(i64::try_from(count).unwrap_or(i64::MAX));
        Ok(count)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}
