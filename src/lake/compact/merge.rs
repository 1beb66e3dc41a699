//! Merges sorted parts into one sorted stream of rows, with bounded memory.
//!
//! Each part is sorted by (session, time, position), so the next row is the smallest among the parts' next rows. Sessions
//! seldom interleave, so rows are taken in runs: from the part with the smallest row, as long as it stays the smallest.

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, AsArray as _, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow::datatypes::{Int64Type, TimestampMicrosecondType};
use parquet::arrow::arrow_reader::ParquetRecordBatchReader;

use super::inputs::{self, Inputs};
use super::output::{Output, Target};
use crate::lake::arrow_schema::schema_of;
use crate::lake::state::Part;
use crate::lake::{LakeError, Result};
use crate::model::tables::TableSpec;

/// Rows that are written together.
const CHUNK_ROWS: usize = 4096;
/// Rows that wait in memory, over all parts that are open.
const WAITING_ROWS: usize = 128 * 1024;
/// Parts that are open at once, where they are large: each holds a page of every column.
const FAN_IN: usize = 16;
/// Pages up to this size are small enough to have all of them in memory at once.
const SMALL_PAGE_BYTES: i64 = 128 << 20;

/// Writes the remaining rows of all inputs as new parts of the target's partition, in order.
///
/// # Errors
/// A part cannot be read or written.
pub fn merge(inputs: &Inputs, table: &'static TableSpec, target: &Target<'_>) -> Result<Vec<Part>> {
    let fan_in = if inputs.page_bytes() <= SMALL_PAGE_BYTES { usize::MAX } else { FAN_IN };
    let mut paths = inputs.paths().to_vec();
    let mut round = 0;
    while paths.len() > fan_in {
        let mut next: Vec<PathBuf> = Vec::with_capacity(paths.len().div_ceil(fan_in));
        for group in paths.chunks(fan_in) {
            let (path, mut output) = Output::to_pass_on(inputs, table, target, round, next.len())?;
            merge_files(inputs, group, table, &mut output)?;
            output.finish()?;
            next.push(path);
        }
        if round > 0 {
            paths.iter().try_for_each(|path| target.layout.disk().remove_file(path))?;
        }
        paths = next;
        round += 1;
    }
    let mut output = Output::new(inputs, table, target);
    merge_files(inputs, &paths, table, &mut output)?;
    output.finish()
}

fn merge_files(inputs: &Inputs, paths: &[PathBuf], table: &TableSpec, output: &mut Output<'_>) -> Result<()> {
    let rows = (WAITING_ROWS / paths.len().max(1)).clamp(64, CHUNK_ROWS);
    let mut cursors = Vec::with_capacity(paths.len());
    for path in paths {
        cursors.extend(Cursor::open(inputs, path, rows)?);
    }
    let mut chunk = Chunk::default();
    while let Some((first, second)) = smallest_two(&cursors) {
        let end = match (cursors.get(first), second.and_then(|second| cursors.get(second))) {
            (Some(cursor), Some(next)) => cursor.run_up_to(next, first < second.unwrap_or(first)),
            (Some(cursor), None) => cursor.rows(),
            (None, _) => break,
        };
        let Some(cursor) = cursors.get_mut(first) else { break };
        let end = end.min(cursor.row + (CHUNK_ROWS - chunk.rows));
        chunk.take(cursor, end);
        cursor.row = end;
        if cursor.row == cursor.rows() && !cursor.refill(inputs)? {
            cursors.remove(first);
        }
        if chunk.rows >= CHUNK_ROWS {
            output.write(&chunk.finish(table)?)?;
        }
    }
    if chunk.rows > 0 {
        output.write(&chunk.finish(table)?)?;
    }
    Ok(())
}

/// The part with the smallest next row, and the one that comes after it. Of equals the first.
fn smallest_two(cursors: &[Cursor]) -> Option<(usize, Option<usize>)> {
    let mut best = (0, cursors.first()?);
    let mut second: Option<(usize, &Cursor)> = None;
    for (at, cursor) in cursors.iter().enumerate().skip(1) {
        if cursor.compare(best.1) == Ordering::Less {
            second = Some(best);
            best = (at, cursor);
        } else if second.is_none_or(|(_, second)| cursor.compare(second) == Ordering::Less) {
            second = Some((at, cursor));
        }
    }
    Some((best.0, second.map(|(at, _)| at)))
}

/// Where the merge stands in one part.
struct Cursor {
    reader: ParquetRecordBatchReader,
    batch: RecordBatch,
    session: StringArray,
    ts: TimestampMicrosecondArray,
    seq: Int64Array,
    row: usize,
}

impl Cursor {
    /// `None` if no row of the part remains.
    fn open(inputs: &Inputs, path: &Path, rows: usize) -> Result<Option<Self>> {
        let mut reader = inputs::read(path, rows)?;
        let Some(batch) = next_rows(inputs, &mut reader)? else { return Ok(None) };
        let (session, ts, seq) = keys(&batch)?;
        Ok(Some(Self { reader, batch, session, ts, seq, row: 0 }))
    }

    /// Reads on; `false` at the end of the part.
    fn refill(&mut self, inputs: &Inputs) -> Result<bool> {
        let Some(batch) = next_rows(inputs, &mut self.reader)? else { return Ok(false) };
        (self.session, self.ts, self.seq) = keys(&batch)?;
        self.batch = batch;
        self.row = 0;
        Ok(true)
    }

    fn rows(&self) -> usize {
        self.batch.num_rows()
    }

    /// What rows are sorted by; no session comes before all others.
    fn key(&self, row: usize) -> (Option<&str>, i64, i64) {
        let session = self.session.is_valid(row).then(|| self.session.value(row));
        (session, self.ts.value(row), self.seq.value(row))
    }

    fn compare(&self, other: &Self) -> Ordering {
        self.key(self.row).cmp(&other.key(other.row))
    }

    /// The first row from here on that comes after the next row of `other`; an equal one belongs to whoever comes first.
    fn run_up_to(&self, other: &Self, wins_ties: bool) -> usize {
        let limit = other.key(other.row);
        let is_mine = |row: &usize| match self.key(*row).cmp(&limit) {
            Ordering::Less => true,
            Ordering::Equal => wins_ties,
            Ordering::Greater => false,
        };
        // The next row was chosen, so it is taken whatever it compares to: a part that is not sorted must not stall the merge.
        let next = self.row + 1;
        (next..self.rows()).find(|row| !is_mine(row)).unwrap_or(self.rows())
    }
}

fn next_rows(inputs: &Inputs, reader: &mut ParquetRecordBatchReader) -> Result<Option<RecordBatch>> {
    for batch in reader.by_ref() {
        let batch = inputs.conform(&batch?)?;
        if batch.num_rows() > 0 {
            return Ok(Some(batch));
        }
    }
    Ok(None)
}

fn keys(batch: &RecordBatch) -> Result<(StringArray, TimestampMicrosecondArray, Int64Array)> {
    let session = batch.column_by_name("session_id").and_then(|column| column.as_string_opt::<i32>());
    let ts = batch.column_by_name("ts").and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
    let seq = batch.column_by_name("seq").and_then(|column| column.as_primitive_opt::<Int64Type>());
    match (session, ts, seq) {
        (Some(session), Some(ts), Some(seq)) => Ok((session.clone(), ts.clone(), seq.clone())),
        _ => Err(LakeError::Internal("a part without the columns that it is sorted by")),
    }
}

/// Runs of rows that are written together.
#[derive(Default)]
struct Chunk {
    batches: Vec<RecordBatch>,
    /// Index into `batches`, first row, end.
    runs: Vec<(usize, usize, usize)>,
    rows: usize,
}

impl Chunk {
    fn take(&mut self, cursor: &Cursor, end: usize) {
        let at = self.batches.iter().position(|batch| is_same(batch, &cursor.batch)).unwrap_or_else(|| {
            self.batches.push(cursor.batch.clone());
            self.batches.len() - 1
        });
        self.runs.push((at, cursor.row, end));
        self.rows += end - cursor.row;
    }

    fn finish(&mut self, table: &TableSpec) -> Result<RecordBatch> {
        let schema = schema_of(table);
        let mut columns = Vec::with_capacity(schema.fields().len());
        // Short runs cost a call each; there, rows are picked one by one.
        let pick: Option<Vec<(usize, usize)>> = (self.rows < self.runs.len() * 8)
            .then(|| self.runs.iter().flat_map(|&(at, from, to)| (from..to).map(move |row| (at, row))).collect());
        for at in 0..schema.fields().len() {
            columns.push(self.column(at, pick.as_deref())?);
        }
        self.batches.clear();
        self.runs.clear();
        self.rows = 0;
        Ok(RecordBatch::try_new(schema, columns)?)
    }

    fn column(&self, at: usize, pick: Option<&[(usize, usize)]>) -> Result<ArrayRef> {
        let whole: Vec<&dyn Array> =
            self.batches.iter().filter_map(|batch| batch.columns().get(at)).map(|column| column.as_ref()).collect();
        if let Some(indices) = pick {
            return Ok(arrow::compute::interleave(&whole, indices)?);
        }
        let slices: Vec<ArrayRef> =
            self.runs.iter().filter_map(|&(batch, from, to)| Some(whole.get(batch)?.slice(from, to - from))).collect();
        match slices.as_slice() {
            [only] => Ok(ArrayRef::clone(only)),
            slices => Ok(arrow::compute::concat(&slices.iter().map(|slice| slice.as_ref()).collect::<Vec<_>>())?),
        }
    }
}

/// Whether two batches are one: their first columns share memory.
fn is_same(left: &RecordBatch, right: &RecordBatch) -> bool {
    match (left.columns().first(), right.columns().first()) {
        (Some(left), Some(right)) => std::sync::Arc::ptr_eq(left, right),
        _ => false,
    }
}
