//! Rows of another lake as sources of a wave: one per machine and file that they were read from.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow::array::{Array as _, ArrayRef, AsArray as _, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow::datatypes::{DataType, Int64Type};

use crate::lake::ledger::{Entry, with_counters};
use crate::lake::wave::ReadSource;
use crate::lake::{LakeError, Result, State, rebuilt};
use crate::model::rows::PlacedClaim;
use crate::model::tables::{
    BATCH_COLUMNS, RECORD_COLUMNS, SESSIONS, TableColumns as _, TableSpec, USAGE, UsageColumns, UsageReader, UsageRow,
};
use crate::model::{Claim, RequestKey, Rows, SessionFacts};
use crate::source::{Checkpoint, SourceKind};

/// Rows that will come in with the next batch.
#[derive(Debug, Default)]
pub struct Collector {
    sources: BTreeMap<(&'static str, String, String), Collected>,
    bytes: usize,
}

/// Rows of one source.
#[derive(Debug, Default)]
struct Collected {
    tables: BTreeMap<&'static str, Vec<Vec<ArrayRef>>>,
    claims: Vec<PlacedClaim>,
    claim_rows: UsageColumns,
    sessions: BTreeMap<String, SessionFacts>,
    /// Of the newest session row, if there was one.
    file_size: Option<i64>,
}

impl Collector {
    /// Bytes of the rows in memory, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Adds rows of one table.
    ///
    /// # Errors
    /// One of the states cannot be read, or the other lake's ledger does not know a request.
    pub fn add(
        &mut self,
        ours: &State,
        theirs: &State,
        provider: &'static str,
        table: &'static TableSpec,
        rows: &RecordBatch,
    ) -> Result<()> {
        self.bytes += rows.get_array_memory_size();
        let (hosts, paths) = (text(rows, "host")?, text(rows, "source_path")?);
        for run in runs(hosts, paths) {
            let key = (provider, text_at(paths, run.start), text_at(hosts, run.start));
            let collected = self.sources.entry(key).or_default();
            let rows = rows.slice(run.start, run.len());
            collected.know_sessions(ours, theirs, provider, &rows)?;
            if table.name == SESSIONS.name {
                let sizes = rows.column_by_name("file_size").and_then(|sizes| sizes.as_primitive_opt::<Int64Type>());
                collected.file_size = sizes.and_then(|sizes| sizes.iter().flatten().next_back());
            } else if table.name == USAGE.name {
                collected.claim(theirs, provider, &rows)?;
            } else {
                let is_own =
                    |at: &usize| !(RECORD_COLUMNS.len()..RECORD_COLUMNS.len() + BATCH_COLUMNS.len()).contains(at);
                let columns = rows.columns().iter().enumerate().filter(|(at, _)| is_own(at)).map(|(_, column)| column);
                collected.tables.entry(table.name).or_default().push(columns.map(Arc::clone).collect());
            }
        }
        Ok(())
    }

    /// Takes the sources of the next wave.
    ///
    /// # Errors
    /// Arrow refuses to join the rows.
    pub fn take(&mut self) -> Result<Vec<ReadSource>> {
        self.bytes = 0;
        std::mem::take(&mut self.sources)
            .into_iter()
            .map(|((provider, path, host), collected)| collected.finish(provider, path, host))
            .collect()
    }
}

impl Collected {
    /// Notes what the other lake knows of the sessions of some rows.
    fn know_sessions(
        &mut self,
        ours: &State,
        theirs: &State,
        provider: &'static str,
        rows: &RecordBatch,
    ) -> Result<()> {
        let sessions = text(rows, "session_id")?;
        let mut last = None;
        for session_id in sessions.iter().flatten() {
            if last.replace(session_id) == Some(session_id) || self.sessions.contains_key(session_id) {
                continue;
            }
            let mut facts = theirs.session(provider, session_id)?.map(|(facts, _)| facts).unwrap_or_default();
            // Of two that know the same thing, the later one wins: ours, if it saw the newer record.
            if let Some((held, _)) = ours.session(provider, session_id)?
                && held.updated_at > facts.updated_at
            {
                facts.absorb(held);
            }
            self.sessions.insert(session_id.to_owned(), facts);
        }
        Ok(())
    }

    /// Claims the requests whose newest row is among some rows of `usage`.
    fn claim(&mut self, theirs: &State, provider: &'static str, rows: &RecordBatch) -> Result<()> {
        let mut columns: Vec<ArrayRef> = rows.columns().to_vec();
        columns.drain(RECORD_COLUMNS.len()..RECORD_COLUMNS.len() + BATCH_COLUMNS.len());
        columns.push(new_null_array(&DataType::Utf8, rows.num_rows())); // `why` is a column of the copies only
        let (Some(reader), Some(seq)) = (UsageReader::new(&columns), integers(rows, "seq")) else {
            return Err(LakeError::Internal("rows of usage without the columns of usage"));
        };
        for row in 0..rows.num_rows() {
            let (event_id, record_key, session_id) = reader.ids(row);
            let usage = reader.row(row);
            let (request, entry) = standing(theirs, provider, usage.request_key.unwrap_or_default(), session_id)?;
            // The rows of a request add up to what its entry says; the newest of them speaks for all.
            if usage.rev != Some(entry.rev) || usage.status == Some("reversal") {
                continue;
            }
            let claim = Claim {
                request,
                standing: rebuilt::claimed(&entry),
                counters: entry.counters,
                variant: entry.variant,
                guard: entry.guard,
                never: None,
            };
            let usage = UsageRow { rev: None, status: None, why: None, ..with_counters(&usage, entry.counters) };
            let seq = seq.value(row);
            self.claim_rows.push_with_ids(event_id, record_key, Some(session_id), seq, entry.first_ts, &usage);
            self.claims.push(PlacedClaim { claim, seq, ts: entry.first_ts, is_restated: false });
        }
        Ok(())
    }

    fn finish(self, provider: &'static str, path: String, host: String) -> Result<ReadSource> {
        let Self { tables, claims, mut claim_rows, sessions, file_size } = self;
        let mut checkpoint = Checkpoint::default();
        checkpoint.stat.size = file_size.and_then(|size| u64::try_from(size).ok()).unwrap_or(0);
        let rows = Rows::new(provider, false);
        let mut read = ReadSource::new(PathBuf::from(path), SourceKind::Lines.as_str(), None, checkpoint, rows);
        for (table, pieces) in tables {
            let width = pieces.first().map_or(0, Vec::len);
            let column = |at: usize| -> Result<ArrayRef> {
                let pieces: Vec<_> =
                    pieces.iter().filter_map(|piece| piece.get(at)).map(|piece| piece.as_ref()).collect();
                Ok(arrow::compute::concat(&pieces)?)
            };
            read.tables.insert(table, (0..width).map(column).collect::<Result<_>>()?);
        }
        if !claim_rows.is_empty() {
            read.claim_rows = UsageReader::new(&claim_rows.finish());
            read.claims = claims;
        }
        read.sessions = sessions;
        read.host = Some(host);
        // The lake may have any of its rows.
        read.was_rewritten = true;
        Ok(read)
    }
}

/// The other lake's entry for a request. Where sessions reused an id, the text that names the request ends with the session.
fn standing(theirs: &State, provider: &str, key: &str, session_id: &str) -> Result<(RequestKey, Entry)> {
    let request = RequestKey::new(provider, key);
    if let Some(entry) = theirs.request(request)? {
        return Ok((request, entry));
    }
    let reused = key.strip_suffix(session_id).and_then(|key| key.strip_suffix('@'));
    let scoped = reused.map(|native| RequestKey::new(provider, native).scoped(session_id));
    match scoped.map(|scoped| theirs.request(scoped)).transpose()?.flatten().zip(scoped) {
        Some((entry, scoped)) => Ok((scoped, entry)),
        None => Err(LakeError::LedgerGap { request: key.to_owned() }),
    }
}

/// Neighbouring rows of one machine and file.
fn runs(hosts: &StringArray, paths: &StringArray) -> Vec<Range<usize>> {
    let is_same = |left: usize, right: usize| {
        text_at(paths, left) == text_at(paths, right) && text_at(hosts, left) == text_at(hosts, right)
    };
    let mut runs: Vec<Range<usize>> = Vec::new();
    for row in 0..hosts.len() {
        match runs.last_mut() {
            Some(run) if is_same(run.start, row) => run.end = row + 1,
            _ => runs.push(row..row + 1),
        }
    }
    runs
}

fn text<'a>(rows: &'a RecordBatch, name: &str) -> Result<&'a StringArray> {
    let column = rows.column_by_name(name).and_then(|column| column.as_string_opt::<i32>());
    column.ok_or(LakeError::Internal("a part without the columns of every part"))
}

fn integers<'a>(rows: &'a RecordBatch, name: &str) -> Option<&'a Int64Array> {
    rows.column_by_name(name).and_then(|column| column.as_primitive_opt::<Int64Type>())
}

fn text_at(column: &StringArray, row: usize) -> String {
    if column.is_valid(row) { column.value(row).to_owned() } else { String::new() }
}
