//! `agentlake verify --against-sources`: reads every source again, as an export without a lake would, and compares rows and
//! requests both ways.
//!
//! Nothing is written: the ledger stands in a scratch state. Of what was read only ids and sums are
//! kept, so memory is that of a wave and some bytes per row of the lake.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};

use arrow::array::AsArray as _;
use arrow::datatypes::Int64Type;

use super::plan::{Plan, Work};
use super::read::{Outcome, WaveRead, read_wave, with_checkpoints};
use super::run::RunOptions;
use crate::adapters::{self, SourceAdapter};
use crate::lake::lake_ids::{LakeIds, ROW_TABLES};
use crate::lake::lake_requests::LakeRequests;
use crate::lake::part_file::id;
use crate::lake::session_rows::event_id_of;
use crate::lake::settle::settle;
use crate::lake::state::SourceMark;
use crate::lake::verify::{Audit, Finding, FindingKind};
use crate::lake::wave::ReadSource;
use crate::lake::{Layout, Result, State};
use crate::model::tables::{SESSIONS, USAGE};
use crate::model::{CopyReason, RequestKey};
use crate::source::{ReadLimits, Roots, SourceKind};

/// What the comparison covered.
#[derive(Debug, Default)]
pub struct AgainstSources {
    /// Sources read.
    pub sources: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Rows of sources that were looked for in the lake.
    pub compared: u64,
    /// Rows that no export has read yet.
    pub not_exported: u64,
    /// Rows that only the lake has, by the source that is gone from disk.
    pub vanished: BTreeMap<String, u64>,
}

/// Reads all sources of `adapters` and adds what differs to the audit.
///
/// # Errors
/// A part or the state cannot be read. A source that cannot be is told and left out.
pub fn check(
    layout: &Layout,
    state: &State,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    options: &RunOptions,
    audit: &mut Audit,
) -> Result<AgainstSources> {
    let mut result = AgainstSources::default();
    if audit.findings.has(FindingKind::MissingPart) || audit.findings.has(FindingKind::DamagedPart) {
        audit
            .notes
            .push("the sources were not compared, since parts are not whole; run `agentlake repair` first".to_owned());
        return Ok(result);
    }
    if !state.unpublished()?.is_empty() {
        audit
            .notes
            .push("the sources were not compared, since a batch is not published; run an export first".to_owned());
        return Ok(result);
    }
    let plan = Plan::make(adapters, roots, None, options.now)?;
    let (plan, marks) = comparable(plan, state, options.now, audit)?;
    let parts = state.parts()?;
    let mut comparison = Comparison {
        ids: LakeIds::read(layout, &parts)?,
        marks,
        missing: BTreeMap::new(),
        natives: HashMap::new(),
        ledger: State::scratch()?,
        result: AgainstSources::default(),
    };
    comparison.read_all(plan, options, audit)?;
    let Comparison { ids, marks, missing, natives, ledger, result: read } = comparison;
    result = AgainstSources { vanished: result.vanished, ..read };
    for ((path, table), count) in missing {
        let detail = format!("{count} rows of {table} that an export has read are not in the lake");
        audit.findings.push(Finding { kind: FindingKind::MissingRows, subject: path, detail });
    }

    // What only the lake has.
    let paths: HashMap<String, bool> =
        marks.iter().map(|(path, mark)| (path.display().to_string(), mark.was_rewritten)).collect();
    let mut unknown: BTreeMap<String, u64> = BTreeMap::new();
    let mut kept = 0_u64;
    ids.each_unseen(layout, &parts, |source_path, host| match paths.get(source_path) {
        _ if host != options.host => {}
        Some(false) => *unknown.entry(source_path.to_owned()).or_default() += 1,
        Some(true) => kept += 1,
        None if !Path::new(source_path).exists() => *result.vanished.entry(source_path.to_owned()).or_default() += 1,
        None => {}
    })?;
    if kept > 0 {
        audit.notes.push(format!("{kept} rows are kept of sources that were rewritten and have them no more"));
    }
    for (path, count) in unknown {
        let detail = format!("the lake has {count} rows of it that it does not hold, though it was never rewritten");
        audit.findings.push(Finding { kind: FindingKind::UnknownRows, subject: path, detail });
    }

    let comparable = |path: &str, host: &str| host == options.host && paths.get(path) == Some(&false);
    let mut requests = LakeRequests::read(layout, &parts, &comparable)?;
    ledger.each_request(|request, counters, _| {
        requests.claimed(natives.get(&request).copied().unwrap_or(request), counters);
    })?;
    for (request, detail) in requests.differences() {
        audit.findings.push(Finding { kind: FindingKind::UsageMismatch, subject: request, detail });
    }
    Ok(result)
}

/// Leaves in the plan what an export has read and what is still as it was then, with how far it was read.
fn comparable(
    mut plan: Plan,
    state: &State,
    now: i64,
    audit: &mut Audit,
) -> Result<(Plan, HashMap<PathBuf, SourceMark>)> {
    let mut by_path = HashMap::new();
    let mut by_inode = HashMap::new();
    for mark in state.source_marks()? {
        by_inode.insert((mark.provider.clone(), mark.device, mark.inode), mark.path.clone());
        by_path.insert((mark.provider.clone(), mark.path.clone()), mark);
    }
    let (mut unread, mut changed) = (0_u64, 0_u64);
    let mut marks = HashMap::new();
    let mut work = std::mem::take(&mut plan.work);
    work.retain_mut(|work| {
        let provider = work.source.provider.to_owned();
        let inode = (provider.clone(), work.source.stat.device, work.source.stat.inode);
        // The name under which the lake knows it, if a file has several.
        if !by_path.contains_key(&(provider.clone(), work.source.path.clone()))
            && let Some(path) = by_inode.get(&inode)
            && path.exists()
        {
            work.source.path.clone_from(path);
        }
        let Some(mark) = by_path.remove(&(provider, work.source.path.clone())).filter(|mark| !mark.is_unknown) else {
            unread += 1;
            return false;
        };
        if !is_as_read(work, &mark, state, now) {
            changed += 1;
            return false;
        }
        marks.insert(work.source.path.clone(), mark);
        true
    });
    plan.work = work;
    if unread > 0 {
        audit.notes.push(format!("{unread} sources were never exported and not compared"));
    }
    if changed > 0 {
        audit.notes.push(format!("{changed} sources were rewritten since they were exported and not compared"));
    }
    Ok((plan, marks))
}

/// Whether a source still begins as it did when it was exported, or is the same document with nothing held back. Compressed
/// lines cannot tell without being read whole.
fn is_as_read(work: &Work, mark: &SourceMark, state: &State, now: i64) -> bool {
    if work.source.kind == SourceKind::ZstdLines {
        return true;
    }
    let Ok(Some((checkpoint, _))) = state.checkpoint(mark.id) else { return false };
    let is_final = checkpoint.settled || !work.source.kind.is_restated();
    is_final && adapters::matches(&work.source, &checkpoint, now).unwrap_or(false)
}

struct Comparison {
    ids: LakeIds,
    /// How far each source was exported.
    marks: HashMap<PathBuf, SourceMark>,
    /// Rows that the lake does not have, by source and table.
    missing: BTreeMap<(String, &'static str), u64>,
    /// The native request of each that settling scoped by a session.
    natives: HashMap<RequestKey, RequestKey>,
    ledger: State,
    result: AgainstSources,
}

impl Comparison {
    fn read_all(&mut self, mut plan: Plan, options: &RunOptions, audit: &mut Audit) -> Result<()> {
        self.result.sources = plan.work.len() as u64;
        self.result.bytes = plan.work.iter().map(|work| work.source.stat.size).sum();
        let limits =
            ReadLimits { slice_bytes: options.wave_bytes, max_line_bytes: options.max_line_bytes, now: options.now };
        loop {
            let wave = plan.next_wave(options.wave_bytes);
            if wave.is_empty() {
                return Ok(());
            }
            let tasks = with_checkpoints(wave, &self.ledger)?;
            let mut sources = Vec::new();
            for WaveRead { outcome, rest } in read_wave(&tasks, &limits, false) {
                if let Some(rest) = rest {
                    plan.work.push_front(rest);
                }
                match outcome {
                    Outcome::Read(read) => sources.push(*read),
                    Outcome::Failed(_, problem) => {
                        audit.notes.push(format!("{} {}", problem.path.display(), problem.reason));
                    }
                    Outcome::Unchanged(..) | Outcome::NotYet => {}
                }
            }
            self.wave(sources)?;
        }
    }

    /// Compares the rows of a wave, and settles its claims in the scratch ledger.
    fn wave(&mut self, mut sources: Vec<ReadSource>) -> Result<()> {
        for source in &mut sources {
            let mark = self.marks.get(&source.path);
            // Positions in documents and databases are no byte offsets; those are compared whole or not at all.
            let is_lines =
                [SourceKind::Lines, SourceKind::ZstdLines].iter().any(|kind| kind.as_str() == source.source_kind);
            let offset = mark.filter(|_| is_lines).map(|mark| mark.offset);
            let end = offset.map_or(i64::MAX, |offset| i64::try_from(offset).unwrap_or(i64::MAX));
            self.rows(source, end);
            // What no export has read does not count yet.
            for placed in source.claims.iter_mut().filter(|placed| placed.seq >= end) {
                placed.claim.never = Some(CopyReason::Repeat);
            }
        }
        let settled = settle(&sources, &self.ledger)?;
        self.remember_natives(&sources, settled.entries.iter().map(|entry| entry.request));
        self.ledger.transaction(|ledger| ledger.put_requests(&settled.entries, false, 1))
    }

    fn rows(&mut self, source: &ReadSource, end: i64) {
        let mut missing: BTreeMap<&'static str, u64> = BTreeMap::new();
        let (mut compared, mut later) = (0_u64, 0_u64);
        for table in ROW_TABLES {
            let Some(columns) = source.tables.get(table.name) else { continue };
            let events = columns.first().and_then(|column| column.as_string_opt::<i32>());
            let places = columns.get(3).and_then(|column| column.as_primitive_opt::<Int64Type>());
            let (Some(events), Some(places)) = (events, places) else { continue };
            for (event, seq) in events.iter().zip(places) {
                if seq.is_some_and(|seq| seq >= end) {
                    later += 1;
                    continue;
                }
                compared += 1;
                if !self.ids.see(table.name, id(event.unwrap_or_default())) {
                    *missing.entry(table.name).or_default() += 1;
                }
            }
        }
        if let Some(claims) = &source.claim_rows {
            for (row, placed) in source.claims.iter().enumerate() {
                if placed.seq >= end {
                    later += 1;
                    continue;
                }
                compared += 1;
                if !self.ids.see(USAGE.name, id(claims.ids(row).0)) {
                    *missing.entry("usage or usage_copies").or_default() += 1;
                }
            }
        }
        // Sessions of which some rows are still to be exported may not be known yet.
        if later == 0 {
            for session_id in source.sessions.keys() {
                compared += 1;
                if !self.ids.see(SESSIONS.name, id(event_id_of(source.provider, session_id).as_str())) {
                    *missing.entry(SESSIONS.name).or_default() += 1;
                }
            }
        }
        self.result.compared += compared;
        self.result.not_exported += later;
        let path = source.path.display().to_string();
        for (table, count) in missing {
            *self.missing.entry((path.clone(), table)).or_default() += count;
        }
    }

    /// Settling scopes an id that sessions reused, and which of them keeps the plain id depends on who was read first.
    /// Sums are therefore compared by native id.
    fn remember_natives(&mut self, sources: &[ReadSource], settled: impl Iterator<Item = RequestKey>) {
        let guarded = || {
            sources.iter().flat_map(|source| {
                let rows = source.claim_rows.as_ref();
                source.claims.iter().enumerate().filter_map(move |(row, placed)| {
                    placed.claim.guard?;
                    Some((placed.claim.request, rows?.ids(row).2))
                })
            })
        };
        if guarded().next().is_none() {
            return;
        }
        let settled: HashSet<RequestKey> = settled.collect();
        for (native, session_id) in guarded() {
            let scoped = native.scoped(session_id);
            if settled.contains(&scoped) {
                self.natives.insert(scoped, native);
            }
        }
    }
}
