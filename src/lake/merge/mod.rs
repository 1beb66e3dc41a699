//! Merging: the rows of another lake, from another machine, brought into this one.
//!
//! The other lake is only read, by the part list of its state; each of its parts must have its size and hash. Its rows go
//! through the same waves as rows that were read from sources, so they are committed, killed and recovered alike:
//!
//! - Records (messages, tool calls and results, issues, copies of usage) come in unless their `event_id` is here.
//! - Each request of the other lake's ledger is one claim, with the counters, the worth and the variant of the record that
//!   stands there. Our ledger settles it: a request that stands in both lakes counts once, by the better record.
//! - What is known of a session is merged; where both know something, the lake wins that saw the newer record of it.
//! - `host` and `source_path` stay; `batch` is of this lake, since it says when the row came here.
//!
//! Doing it again adds nothing. Checkpoints are not taken over: paths of another machine mean nothing here. If a source of the
//! other lake is read here some day, its rows are recognised by their `event_id`.

mod collect;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::compact::inputs::{self, Inputs};
use super::layout::Layout;
use super::state::Part;
use super::wave::{WaveContext, WaveSummary, commit_wave};
use super::{Lake, LakeError, Result, State, commit};
use crate::model::tables::{SCHEMA_VERSION, TABLES, TableSpec};
use collect::Collector;

/// Bytes of rows, as they stand in memory, that come in with one batch.
const WAVE_BYTES: usize = 64 << 20;
/// Rows that are read together.
const READ_ROWS: usize = 4096;

/// Brings the rows of the lake at `other` into `lake`. `slug_of` names the provider of a folder, if this build knows it;
/// `on_wave` is told of each batch.
///
/// # Errors
/// The other lake is none, is this one, is damaged or newer, or this one cannot be written. Batches that were published stay;
/// merging again goes on.
pub fn merge(
    lake: &mut Lake,
    other: &Path,
    slug_of: &dyn Fn(&str) -> Option<&'static str>,
    now: i64,
    on_wave: &mut dyn FnMut(&WaveSummary),
) -> Result<()> {
    let layout = Layout::new(other);
    let cannot = |reason: &str| LakeError::CannotMerge { path: other.to_owned(), reason: reason.to_owned() };
    if !layout.state_file().exists() {
        return Err(cannot("there is no lake"));
    }
    let theirs = State::open_read_only(&layout)?;
    if theirs.lake_id() == lake.state.lake_id() {
        return Err(cannot("it is this lake, or a copy of it"));
    }
    if !theirs.unpublished()?.is_empty() {
        return Err(cannot("a run died in it; run any command that writes to it first"));
    }
    commit::check_parts(&lake.layout, &lake.state)?;
    let mut partitions: BTreeMap<(String, String), Vec<Part>> = BTreeMap::new();
    for part in theirs.parts()? {
        partitions.entry((part.provider.clone(), part.date.clone())).or_default().push(part);
    }
    for (provider, _) in partitions.keys() {
        if slug_of(provider).is_none() {
            return Err(cannot(&format!("this agentlake does not know the provider {provider}; update it")));
        }
    }
    let context = WaveContext { host: String::new(), now, problems: Vec::new() };
    let mut collector = Collector::default();
    for ((provider, _), parts) in partitions {
        let Some(provider) = slug_of(&provider) else { continue };
        for table in TABLES {
            let parts: Vec<Part> = parts.iter().filter(|part| part.table == table.name).cloned().collect();
            for rows in rows_of(&layout, table, &parts)? {
                collector.add(&lake.state, &theirs, provider, table, &rows?)?;
                if collector.bytes() >= WAVE_BYTES {
                    on_wave(&commit_wave(lake, collector.take()?, &context)?);
                }
            }
        }
    }
    if !collector.is_empty() {
        on_wave(&commit_wave(lake, collector.take()?, &context)?);
    }
    Ok(())
}

/// The rows of one table's parts of a day, each record in its newest version, in the columns of today.
fn rows_of(
    layout: &Layout,
    table: &'static TableSpec,
    parts: &[Part],
) -> Result<impl Iterator<Item = Result<arrow::array::RecordBatch>>> {
    for part in parts {
        let path = layout.root().join(&part.path);
        if part.schema_version > SCHEMA_VERSION {
            return Err(LakeError::NewerPart { path, found: part.schema_version, known: SCHEMA_VERSION });
        }
        commit::check(&path, part)?;
    }
    let inputs = Inputs::open(layout, table, parts)?;
    let paths: Vec<PathBuf> = inputs.paths().to_vec();
    let mut readers = paths.into_iter();
    let mut open = None;
    Ok(std::iter::from_fn(move || {
        loop {
            if open.is_none() {
                match inputs::read(&readers.next()?, READ_ROWS) {
                    Ok(reader) => open = Some(reader),
                    Err(error) => return Some(Err(error)),
                }
            }
            match open.as_mut().and_then(Iterator::next) {
                Some(rows) => return Some(rows.map_err(Into::into).and_then(|rows| inputs.conform(&rows))),
                None => open = None,
            }
        }
    }))
}
