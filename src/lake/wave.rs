//! A wave: what was read from some sources, from finished Arrow columns to a published batch.
//!
//! One wave is one batch. The steps, in order: drop rows that the lake has, settle claims, write session rows, write parts,
//! commit, publish.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use arrow::array::{Array as _, ArrayRef, AsArray as _};

use super::commit::{self, Changes};
use super::parts::{self, TableRows};
use super::settle::{self, Added};
use super::{Lake, Result, known, session_rows};
use crate::model::rows::PlacedClaim;
use crate::model::tables::{
    ISSUES, MESSAGES, RECORD_COLUMNS, SESSIONS, TABLES, TOOL_CALLS, TOOL_RESULTS, TableColumns as _, TableSpec, USAGE,
    USAGE_COPIES, UsageReader,
};
use crate::model::{Rows, SessionFacts};
use crate::source::Checkpoint;
use crate::source::walk::Problem;

/// What one read of one source gave, with its columns finished.
#[derive(Debug)]
pub struct ReadSource {
    /// Slug of the provider.
    pub provider: &'static str,
    /// Path as found.
    pub path: PathBuf,
    /// The text of the `source_kind` column.
    pub source_kind: &'static str,
    /// The row of the state, if it was read before.
    pub id: Option<i64>,
    /// Where to go on.
    pub checkpoint: Checkpoint,
    /// Whether it was ever read from its start though the lake had rows of it. From then on the lake may have what it
    /// brings, even beyond its end: a file cut short can grow again as it was.
    pub was_rewritten: bool,
    /// Whether this was the last slice of such a reading, and the first was in this run too.
    pub reread_ends: bool,
    /// The machine that it was read on, if it comes from another lake. Then the state keeps no checkpoint of it.
    pub host: Option<String>,
    /// Columns of `messages`, `tool_calls`, `tool_results` and `issues`; empty where there are no rows.
    pub tables: BTreeMap<&'static str, Vec<ArrayRef>>,
    /// Usage claims.
    pub claims: Vec<PlacedClaim>,
    /// Their rows.
    pub claim_rows: Option<UsageReader>,
    /// Whether the lake holds the claim's record already; empty: none.
    pub known_claims: Vec<bool>,
    /// What was learned of sessions.
    pub sessions: BTreeMap<String, SessionFacts>,
    /// Event ids of rows whose record changed in the source: they land though the lake has them.
    pub restated: HashSet<u128>,
}

impl ReadSource {
    /// Finishes the columns of `rows`.
    #[must_use]
    pub fn new(
        path: PathBuf,
        source_kind: &'static str,
        id: Option<i64>,
        checkpoint: Checkpoint,
        mut rows: Rows,
    ) -> Self {
        let mut tables = BTreeMap::new();
        let mut finish = |table: &TableSpec, is_empty: bool, finish: &mut dyn FnMut() -> Vec<ArrayRef>| {
            if !is_empty {
                let mut columns = finish();
                // Builders double as they grow; half of a wave's memory would be room that nothing will fill.
                for column in &mut columns {
                    column.shrink_to_fit();
                }
                tables.insert(table.name, columns);
            }
        };
        finish(&MESSAGES, rows.messages.is_empty(), &mut || rows.messages.finish());
        finish(&TOOL_CALLS, rows.tool_calls.is_empty(), &mut || rows.tool_calls.finish());
        finish(&TOOL_RESULTS, rows.tool_results.is_empty(), &mut || rows.tool_results.finish());
        finish(&ISSUES, rows.issues.is_empty(), &mut || rows.issues.finish());
        let claim_rows = (!rows.claim_rows.is_empty()).then(|| UsageReader::new(&rows.claim_rows.finish())).flatten();
        Self {
            provider: rows.provider(),
            path,
            source_kind,
            id,
            checkpoint,
            was_rewritten: false,
            reread_ends: false,
            host: None,
            tables,
            claims: std::mem::take(&mut rows.claims),
            claim_rows,
            known_claims: Vec::new(),
            sessions: std::mem::take(&mut rows.sessions),
            restated: std::mem::take(&mut rows.restated),
        }
    }
}

/// What a wave brings besides its sources.
#[derive(Debug, Default)]
pub struct WaveContext {
    /// Name of this machine.
    pub host: String,
    /// Time of the run, microseconds.
    pub now: i64,
    /// Paths that could not be taken, each told for the first time.
    pub problems: Vec<(&'static str, Problem)>,
}

/// What a wave added to the lake.
#[derive(Debug, Default, Clone)]
pub struct WaveSummary {
    /// The batch, if anything was written.
    pub batch: i64,
    /// Rows per table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Requests and counters added.
    pub added: Added,
    /// New issues by kind.
    pub issues: BTreeMap<String, u64>,
    /// Parts written.
    pub parts: u64,
    /// Bytes of the parts.
    pub bytes: u64,
}

/// Writes, commits and publishes a wave.
///
/// # Errors
/// The file system or the state refuses. Before the commit point nothing has changed and staging is empty again; after
/// it, the next run finishes the batch.
pub fn commit_wave(lake: &mut Lake, mut sources: Vec<ReadSource>, context: &WaveContext) -> Result<WaveSummary> {
    let batch = lake.state.next_batch()?;
    let (settled, sessions) = lake.state.snapshot(|state| {
        // A source read in slices may have got its row with the wave before, after this slice was planned.
        for source in sources.iter_mut().filter(|source| source.id.is_none() && source.host.is_none()) {
            source.id = state.source_id(source.provider, &source.path)?;
        }
        known::drop_known(lake, &mut sources, context)?;
        Ok((settle::settle(&sources, state)?, session_rows::of_wave(state, &sources)?))
    })?;

    let mut tables: BTreeMap<&'static str, Vec<TableRows>> = BTreeMap::new();
    let mut place = |table: &TableSpec, source: &ReadSource, columns: Vec<ArrayRef>| {
        let (path, host) = (source.path.display().to_string(), source.host.clone());
        let rows = TableRows { provider: source.provider, path, host, columns };
        tables.entry(table.name).or_default().push(rows);
    };
    for (source, mut settled) in sources.iter_mut().zip(settled.rows) {
        for table in TABLES {
            if let Some(columns) = source.tables.remove(table.name) {
                place(table, source, columns);
            }
        }
        if !settled.usage.is_empty() {
            let mut columns = settled.usage.finish();
            columns.truncate(columns.len() - 1); // `why` is a column of the copies only
            place(&USAGE, source, columns);
        }
        if !settled.copies.is_empty() {
            place(&USAGE_COPIES, source, settled.copies.finish());
        }
    }
    for (source, mut rows) in sources.iter().zip(sessions.rows) {
        if !rows.is_empty() {
            place(&SESSIONS, source, rows.finish());
        }
    }
    for (provider, problem) in &context.problems {
        let rows = known::problem_rows(provider, problem, context.now);
        tables.entry(ISSUES.name).or_default().push(rows);
    }

    let issues = count_issues(tables.get(ISSUES.name).map(Vec::as_slice).unwrap_or_default());
    let staged = match parts::write(&lake.layout, lake.state.lake_id(), batch, &context.host, &tables) {
        Ok(staged) => staged,
        Err(error) => {
            let _ = fs_err::remove_dir_all(lake.layout.staging_of(batch));
            return Err(error);
        }
    };
    let mut summary =
        WaveSummary { batch, added: settled.added, issues, parts: staged.len() as u64, ..WaveSummary::default() };
    for part in &staged {
        let table = TABLES.iter().find(|table| table.name == part.table).map_or("", |table| table.name);
        *summary.rows.entry(table).or_default() += u64::try_from(part.rows).unwrap_or(0);
        summary.bytes += u64::try_from(part.bytes).unwrap_or(0);
    }
    let changes = Changes {
        batch,
        parts: &staged,
        sources: &sources,
        sessions: &sessions.changed,
        requests: &settled.entries,
        replaces_requests: settled.replaces,
        problems: &context.problems,
        now: context.now,
    };
    commit::commit(lake, &changes)?;
    Ok(summary)
}

/// Issues by kind, counted from the rows that land.
fn count_issues(sources: &[TableRows]) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for rows in sources {
        let kinds = rows.columns.get(RECORD_COLUMNS.len()).and_then(|column| column.as_string_opt::<i32>());
        for kind in kinds.into_iter().flatten().flatten() {
            *counts.entry(kind.to_owned()).or_default() += 1;
        }
    }
    counts
}
