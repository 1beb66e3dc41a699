//! One run: plan, then wave after wave until nothing is left.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::Plan;
use super::read::{Outcome, WaveRead, read_wave};
use crate::adapters::SourceAdapter;
use crate::lake::commit::check_parts;
use crate::lake::settle::Added;
use crate::lake::wave::{WaveContext, commit_wave};
use crate::lake::{Lake, Result};
use crate::model::IssueKind;
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
    let mut context = WaveContext { host: options.host.clone(), now: options.now, problems: Vec::new() };
    for (provider, problem) in std::mem::take(&mut plan.problems) {
        if !lake.state.knows_problem(provider, &problem.path, &problem.reason)? {
            context.problems.push((provider, problem));
        }
    }
    if !plan.work.is_empty() || !context.problems.is_empty() {
        check_parts(&lake.layout, &lake.state)?;
    }
    let limits =
        ReadLimits { slice_bytes: options.wave_bytes, max_line_bytes: options.max_line_bytes, now: options.now };
    loop {
        let wave = plan.next_wave(options.wave_bytes);
        if wave.is_empty() && context.problems.is_empty() {
            return Ok(summary);
        }
        let expected: u64 = wave.iter().map(|work| work.new_bytes.min(options.wave_bytes)).sum();
        let mut sources = Vec::new();
        for WaveRead { outcome, rest } in read_wave(wave, &lake.state, &limits, options.keep_raw)? {
            if let Some(rest) = rest {
                plan.work.push_front(rest);
            }
            match outcome {
                Outcome::Read(read) => sources.push(*read),
                Outcome::Unchanged(work, checkpoint) => {
                    if let Some(id) = work.id {
                        lake.state.touch_source(
                            id,
                            &work.source.path,
                            checkpoint.stat,
                            checkpoint.settled,
                            options.now,
                        )?;
                    }
                }
                Outcome::NotYet => {}
                Outcome::Failed(provider, problem) => {
                    if !lake.state.knows_problem(provider, &problem.path, &problem.reason)? {
                        context.problems.push((provider, problem));
                    }
                }
            }
        }
        if !sources.is_empty() || !context.problems.is_empty() {
            let wave = commit_wave(lake, sources, &context)?;
            context.problems.clear();
            summary.add(&wave);
        }
        plan.name_new_sources(&lake.state)?;
        summary.bytes += expected;
        on_progress(expected);
    }
}

impl RunSummary {
    fn add(&mut self, wave: &crate::lake::wave::WaveSummary) {
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
