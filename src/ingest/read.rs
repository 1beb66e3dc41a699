//! Reads the sources of a wave in parallel.

use rayon::prelude::*;

use super::plan::Work;
use crate::lake::wave::ReadSource;
use crate::lake::{Result, State};
use crate::model::Rows;
use crate::source::walk::Problem;
use crate::source::{Checkpoint, ReadLimits};

/// What became of one source of a wave.
pub enum Outcome {
    /// It gave rows, or at least a new place to go on from.
    Read(Box<ReadSource>),
    /// It had nothing new; only what the file system says of it changed.
    Unchanged(Box<Work>, Box<Checkpoint>),
    /// Nothing of it can be read yet.
    NotYet,
    /// It could not be read.
    Failed(&'static str, Problem),
}

/// A source after its read.
pub struct WaveRead {
    /// What became of it.
    pub outcome: Outcome,
    /// The work that is left, if a next slice can be read.
    pub rest: Option<Work>,
}

/// A source with the place to go on from, and whether it was ever read again from its start.
pub type Task = (Work, Option<(Checkpoint, bool)>);

/// Looks up where each source of `wave` is to be read on.
///
/// # Errors
/// The state cannot be read.
pub fn with_checkpoints(wave: Vec<Work>, state: &State) -> Result<Vec<Task>> {
    let task = |mut work: Work| {
        let checkpoint = match work.begun.take() {
            Some(begun) => Some(*begun),
            None => work.id.map(|id| state.checkpoint(id)).transpose()?.flatten(),
        };
        Ok((work, checkpoint))
    };
    wave.into_iter().map(task).collect()
}

/// Reads the sources of a wave in parallel, without asking the state.
#[must_use]
pub fn read_wave(tasks: &[Task], limits: &ReadLimits, keep_raw: bool) -> Vec<WaveRead> {
    // The largest first, so that no processor waits at the end for one that began late. The order of the results is that
    // of the wave again.
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(tasks.get(at).map_or(0, |(work, _)| work.new_bytes)));
    let mut done: Vec<(usize, WaveRead)> = order
        .into_par_iter()
        .with_max_len(1)
        .filter_map(|at| {
            let (work, checkpoint) = tasks.get(at)?;
            Some((at, read_source(work, checkpoint.as_ref(), limits, keep_raw)))
        })
        .collect();
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, read)| read).collect()
}

fn read_source(work: &Work, before: Option<&(Checkpoint, bool)>, limits: &ReadLimits, keep_raw: bool) -> WaveRead {
    let mut rows = Rows::new(work.source.provider, keep_raw);
    let checkpoint = before.map(|(checkpoint, _)| checkpoint);
    let progress = match work.adapter.read(&work.source, checkpoint, limits, &mut rows) {
        Ok(progress) => progress,
        Err(error) => {
            let problem = Problem {
                path: work.source.path.clone(),
                reason: format!("cannot be read: {error}"),
                not_a_file: false,
            };
            return WaveRead { outcome: Outcome::Failed(work.source.provider, problem), rest: None };
        }
    };
    let Some(next) = progress.checkpoint else { return WaveRead { outcome: Outcome::NotYet, rest: None } };
    let was_rewritten = progress.reread || before.is_some_and(|(_, was_rewritten)| *was_rewritten);
    let rest = progress.more.then(|| {
        let new_bytes = work.source.stat.size.saturating_sub(next.offset);
        Work { new_bytes, begun: Some(Box::new((next.clone(), was_rewritten))), ..work.clone() }
    });
    let mut read = ReadSource::new(work.source.path.clone(), work.source.kind.as_str(), work.id, next, rows);
    read.was_rewritten = was_rewritten;
    read.reread_ends = progress.reread && !progress.more;
    let is_new = checkpoint.is_none_or(|before| {
        before.offset != read.checkpoint.offset
            || work.source.kind.is_restated() && before.head_hash != read.checkpoint.head_hash
    });
    let outcome = if !is_new && read.tables.is_empty() && read.claims.is_empty() && !progress.reread {
        Outcome::Unchanged(Box::new(work.clone()), Box::new(read.checkpoint))
    } else {
        Outcome::Read(Box::new(read))
    };
    WaveRead { outcome, rest }
}
