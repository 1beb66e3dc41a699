//! One run: plan, then wave after wave until nothing is left. A wave is read while the one before it is settled, written and
//! committed: the first needs processors, the second waits for the disk.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Plan;
use super::read::{Outcome, WaveRead, read_wave, with_checkpoints};
use crate::adapters::SourceAdapter;
use crate::lake::commit::check_parts;
use crate::lake::settle::Added;
use crate::lake::wave::{ReadSource, WaveContext, WaveSummary, commit_wave};
use crate::lake::{Lake, LakeError, Result};
use crate::model::IssueKind;
use crate::source::walk::Problem;
use crate::source::{ReadLimits, Roots};

/// Source bytes of a wave: bounds the memory of a run, and what a killed run must read again.
pub const DEFAULT_WAVE_BYTES: u64 = 32 << 20;
/// Longest line that is read.
pub const DEFAULT_MAX_LINE_BYTES: u64 = 128 << 20;

/// How a run reads.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Source bytes of a wave.
    pub wave_bytes: u64,
    /// Longest line that is read.
    pub max_line_bytes: u64,
    /// Whether the `raw` column is filled.
    pub keep_raw: bool,
    /// Name of this machine.
    pub host: String,
    /// Time of the run, microseconds.
    pub now: i64,
}

/// What a run did.
#[derive(Debug, Default, Clone)]
pub struct RunSummary {
    /// Sources found.
    pub sources: u64,
    /// Sources that were opened.
    pub changed: u64,
    /// Bytes that were new.
    pub bytes: u64,
    /// Batches published.
    pub batches: BTreeSet<i64>,
    /// Rows per table.
    pub rows: BTreeMap<&'static str, u64>,
    /// Requests and counters added.
    pub added: Added,
    /// New issues by kind.
    pub issues: BTreeMap<String, u64>,
    /// Parts written.
    pub parts: u64,
    /// Bytes of the parts.
    pub part_bytes: u64,
}

impl RunSummary {
    /// Whether something could not be read that an earlier run did not meet.
    #[must_use]
    pub fn met_unreadable(&self) -> bool {
        IssueKind::UNREADABLE.iter().any(|kind| self.issues.contains_key(kind.as_str()))
    }
}

/// Brings everything new into the lake. `on_progress` is told how many bytes are done.
///
/// # Errors
/// The lake cannot be written. Waves that were published stay.
pub fn run(
    lake: &mut Lake,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    options: &RunOptions,
    on_plan: &dyn Fn(&Plan),
    on_progress: &dyn Fn(u64),
) -> Result<RunSummary> {
    let mut plan = Plan::make(adapters, roots, Some(&lake.state), options.now)?;
    on_plan(&plan);
    let mut summary =
        RunSummary { sources: plan.found.len() as u64, changed: plan.work.len() as u64, ..RunSummary::default() };
    let mut pending = Pending::default();
    for (provider, problem) in std::mem::take(&mut plan.problems) {
        pending.add_problem(lake, provider, problem)?;
    }
    if !plan.work.is_empty() || !pending.problems.is_empty() {
        check_parts(&lake.layout, &lake.state)?;
    }
    let limits =
        ReadLimits { slice_bytes: options.wave_bytes, max_line_bytes: options.max_line_bytes, now: options.now };
    loop {
        let wave = plan.next_wave(options.wave_bytes);
        let expected = wave.iter().map(|work| work.new_bytes.min(options.wave_bytes)).sum();
        let tasks = with_checkpoints(wave, &lake.state)?;
        let reads = std::thread::scope(|scope| {
            let reading = scope.spawn(|| read_wave(&tasks, &limits, options.keep_raw));
            if let Some(wave) = pending.commit(lake, options)? {
                summary.add(&wave);
            }
            reading.join().map_err(|_| LakeError::Internal("reading a wave ended early"))
        })?;
        summary.bytes += pending.bytes;
        on_progress(pending.bytes);
        if tasks.is_empty() {
            return Ok(summary);
        }
        pending = Pending { bytes: expected, ..Pending::default() };
        for WaveRead { outcome, rest } in reads {
            if let Some(rest) = rest {
                plan.work.push_front(rest);
            }
            pending.add(lake, outcome, options.now)?;
        }
    }
}

/// What was read and is not committed yet.
#[derive(Default)]
struct Pending {
    sources: Vec<ReadSource>,
    /// Paths that could not be taken, each told for the first time.
    problems: Vec<(&'static str, Problem)>,
    /// Source bytes.
    bytes: u64,
}

impl Pending {
    fn add(&mut self, lake: &Lake, outcome: Outcome, now: i64) -> Result<()> {
        match outcome {
            Outcome::Read(read) => self.sources.push(*read),
            Outcome::Unchanged(work, checkpoint) => {
                if let Some(id) = work.id {
                    lake.state.touch_source(id, &work.source.path, checkpoint.stat, checkpoint.settled, now)?;
                }
            }
            Outcome::NotYet => {}
            Outcome::Failed(provider, problem) => self.add_problem(lake, provider, problem)?,
        }
        Ok(())
    }

    fn add_problem(&mut self, lake: &Lake, provider: &'static str, problem: Problem) -> Result<()> {
        if !lake.state.knows_problem(provider, &problem.path, &problem.reason)? {
            self.problems.push((provider, problem));
        }
        Ok(())
    }

    /// Commits what there is, as one batch.
    fn commit(&mut self, lake: &mut Lake, options: &RunOptions) -> Result<Option<WaveSummary>> {
        let sources = std::mem::take(&mut self.sources);
        let problems = std::mem::take(&mut self.problems);
        if sources.is_empty() && problems.is_empty() {
            return Ok(None);
        }
        let context = WaveContext { host: options.host.clone(), now: options.now, problems };
        commit_wave(lake, sources, &context).map(Some)
    }
}

impl RunSummary {
    /// Adds what a wave did.
    pub fn add(&mut self, wave: &WaveSummary) {
        self.batches.insert(wave.batch);
        self.parts += wave.parts;
        self.part_bytes += wave.bytes;
        self.added.requests += wave.added.requests;
        for (sum, count) in self.added.counters.iter_mut().zip(wave.added.counters) {
            *sum = sum.saturating_add(count);
        }
        for (table, rows) in &wave.rows {
            *self.rows.entry(table).or_default() += rows;
        }
        for (kind, count) in &wave.issues {
            *self.issues.entry(kind.clone()).or_default() += count;
        }
    }
}
