//! Carries rows from old parts into new ones, for `repair` and `export --rebuild`: each with its ids, its host and the path of
//! its source, in the columns of the current schema version.

use std::collections::BTreeMap;
use std::path::PathBuf;

use arrow::array::{Array as _, ArrayRef, BooleanArray, RecordBatch, new_null_array};

use super::disk::{create_private_dirs, sync_all};
use super::layout::Layout;
use super::part_file::{integer, integers, text, texts};
use super::parts::{self, TableRows};
use super::state::Part;
use super::{LakeError, Result};
use crate::model::tables::{RECORD_COLUMNS, TABLES, TableSpec};

/// Rows that may wait in memory before they are written.
const WAITING_ROWS: usize = 100_000;
/// Where the numbers of parts begin that are added to a batch which has parts already.
const ADDED_FROM: usize = 9000;

/// Which batch carried rows belong to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbering {
    /// The one that they had.
    Keep,
    /// Batches of a new lake, from this number on.
    From(i64),
}

/// Collects rows and writes them.
#[derive(Debug)]
pub struct Carrier<'a> {
    layout: &'a Layout,
    lake_id: &'a str,
    numbering: Numbering,
    /// By batch and host: rows of one call of [`parts::write`] share both.
    waiting: BTreeMap<(i64, String), BTreeMap<&'static str, Vec<TableRows>>>,
    waiting_rows: usize,
    providers: Vec<&'static str>,
    written: Vec<Part>,
}

impl<'a> Carrier<'a> {
    /// Carries into the lake of `layout`, whose staging folder must be empty.
    #[must_use]
    pub fn new(layout: &'a Layout, lake_id: &'a str, numbering: Numbering) -> Self {
        let (waiting, providers, written) = (BTreeMap::new(), Vec::new(), Vec::new());
        Self { layout, lake_id, numbering, waiting, waiting_rows: 0, providers, written }
    }

    /// Takes the rows of one part of `table` that `keep` names.
    ///
    /// # Errors
    /// A column has another type than the table's, or what waits cannot be written.
    pub fn add(
        &mut self,
        table: &'static TableSpec,
        provider: &str,
        rows: &RecordBatch,
        keep: &BooleanArray,
    ) -> Result<()> {
        let rows = arrow::compute::filter_record_batch(rows, keep)?;
        let missing = || LakeError::Internal("a part without batch, host or source_path");
        let batches = integers(&rows, "batch").ok_or_else(missing)?;
        let hosts = texts(&rows, "host").ok_or_else(missing)?;
        let paths = texts(&rows, "source_path").ok_or_else(missing)?;
        let columns = columns_of(table, &rows)?;
        let provider = self.provider(provider);
        let place = |row: usize| {
            let batch = if self.numbering == Numbering::Keep { integer(batches, row).unwrap_or_default() } else { 0 };
            (batch, text(hosts, row).unwrap_or_default(), text(paths, row).unwrap_or_default())
        };
        let mut start = 0;
        for end in 1..=rows.num_rows() {
            if end < rows.num_rows() && place(end) == place(start) {
                continue;
            }
            let (batch, host, path) = place(start);
            let run = TableRows {
                provider,
                path: path.to_owned(),
                host: None,
                columns: columns.iter().map(|column| column.slice(start, end - start)).collect(),
            };
            self.waiting.entry((batch, host.to_owned())).or_default().entry(table.name).or_default().push(run);
            start = end;
        }
        self.waiting_rows += rows.num_rows();
        if self.waiting_rows > WAITING_ROWS { self.write() } else { Ok(()) }
    }

    /// Writes what waits, and returns all parts that were written; they are in place and durable.
    ///
    /// # Errors
    /// The file system refuses.
    pub fn finish(mut self) -> Result<Vec<Part>> {
        self.write()?;
        Ok(self.written)
    }

    fn write(&mut self) -> Result<()> {
        self.waiting_rows = 0;
        for ((kept, host), tables) in std::mem::take(&mut self.waiting) {
            let batch = match &mut self.numbering {
                Numbering::Keep => kept,
                Numbering::From(next) => {
                    *next = next.saturating_add(1);
                    next.saturating_sub(1)
                }
            };
            let parts = parts::write(self.layout, self.lake_id, batch, &host, &tables)?;
            let mut folders: Vec<PathBuf> = Vec::new();
            for mut part in parts {
                let staged = self.layout.staged(batch, &part.path);
                if self.numbering == Numbering::Keep {
                    part.path = self.free_name(&part)?;
                }
                let target = self.layout.root().join(&part.path);
                if let Some(folder) = target.parent() {
                    create_private_dirs(self.layout.disk(), folder)?;
                    folders.extend(
                        folder.ancestors().take_while(|above| above.starts_with(self.layout.root())).map(PathBuf::from),
                    );
                }
                self.layout.disk().rename_new(&staged, &target)?;
                self.written.push(part);
            }
            folders.sort();
            folders.dedup();
            sync_all(self.layout.disk(), &folders)?;
            self.layout.disk().remove_dir_all(&self.layout.staging_of(batch))?;
        }
        Ok(())
    }

    /// A name that no part of the batch has.
    fn free_name(&self, part: &Part) -> Result<String> {
        let stem = part.path.rsplit_once('-').map_or(part.path.as_str(), |(stem, _)| stem);
        let name = |number: usize| format!("{stem}-{number:04}.parquet");
        let free = (ADDED_FROM..ADDED_FROM * 100).map(name).find(|name| !self.layout.root().join(name).exists());
        free.ok_or(LakeError::Internal("a batch with too many parts"))
    }

    /// The slug as the rest of the program holds it. Old lakes may hold providers that this version does not know; there
    /// are few, so their names may live as long as the process.
    fn provider(&mut self, slug: &str) -> &'static str {
        if let Some(known) = self.providers.iter().find(|known| **known == slug) {
            return known;
        }
        let known: &'static str = Box::leak(slug.to_owned().into_boxed_str());
        self.providers.push(known);
        known
    }
}

/// The columns that [`TableRows`] holds; those that an old part does not have are NULL.
fn columns_of(table: &'static TableSpec, rows: &RecordBatch) -> Result<Vec<ArrayRef>> {
    let mut columns = Vec::with_capacity(RECORD_COLUMNS.len() + table.columns.len());
    for spec in RECORD_COLUMNS.iter().chain(table.columns) {
        let data_type = spec.kind.data_type();
        match rows.column_by_name(spec.name) {
            None => columns.push(new_null_array(&data_type, rows.num_rows())),
            Some(column) if *column.data_type() == data_type => columns.push(column.clone()),
            Some(_) => return Err(LakeError::Internal("a column of an old part has another type")),
        }
    }
    Ok(columns)
}

/// The table of this name.
#[must_use]
pub fn table_of(name: &str) -> Option<&'static TableSpec> {
    TABLES.into_iter().find(|table| table.name == name)
}
