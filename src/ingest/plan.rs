//! Which sources must be read, by what the file system says and the state remembers; and how they are cut into waves.
//!
//! An unchanged source costs one stat and no open: same size, times and inode as when it was last read.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};

use crate::adapters::{self, SourceAdapter};
use crate::lake::state::KnownSource;
use crate::lake::{Result, State};
use crate::source::walk::Problem;
use crate::source::{Checkpoint, FileStat, QUIET, Roots, Source, SourceKind};

/// A change in the last two seconds before a read may have come after it: clocks of file systems are coarse.
const MTIME_TRUST: i64 = 2_000_000;
/// What a compressed source is assumed to grow to.
const ASSUMED_COMPRESSION: u64 = 8;

/// A source to read.
#[derive(Clone)]
pub struct Work {
    /// What reads it.
    pub adapter: &'static dyn SourceAdapter,
    /// What is read.
    pub source: Source,
    /// Its row in the state, if it was read before (perhaps under another path).
    pub id: Option<i64>,
    /// Bytes expected to be new.
    pub new_bytes: u64,
    /// Where its last slice in this run ended, and whether it was ever read again from its start; the state may not know
    /// of that slice yet.
    pub begun: Option<Box<(Checkpoint, bool)>>,
}

impl std::fmt::Debug for Work {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Work")
            .field("source", &self.source)
            .field("id", &self.id)
            .field("new_bytes", &self.new_bytes)
            .finish_non_exhaustive()
    }
}

/// What is to be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// Sources to read, in order: families that began to rest earliest come first.
    pub work: VecDeque<Work>,
    /// Sources found.
    pub found: Vec<FoundSource>,
    /// Paths that could not be taken.
    pub problems: Vec<(&'static str, Problem)>,
    /// Roots looked at, per provider.
    pub roots: Vec<(&'static str, Vec<PathBuf>)>,
    /// Sources of the state whose files are gone, per provider.
    pub vanished: HashMap<String, u64>,
}

/// A source on disk, for people.
#[derive(Debug, Clone)]
pub struct FoundSource {
    /// Slug of the provider.
    pub provider: &'static str,
    /// Bytes on disk.
    pub bytes: u64,
    /// Bytes expected to be new; 0 if it will not be opened.
    pub new_bytes: u64,
    /// Last change, microseconds.
    pub mtime: i64,
}

impl Plan {
    /// Looks at every root of the adapters and compares with the state, if there is one.
    ///
    /// # Errors
    /// The state cannot be read.
    pub fn make(
        adapters: &[&'static dyn SourceAdapter],
        roots: &Roots,
        state: Option<&State>,
        now: i64,
    ) -> Result<Self> {
        let mut plan = Self::default();
        let known = state.map(State::sources).transpose()?.unwrap_or_default();
        let mut by_path: HashMap<&str, HashMap<&Path, &KnownSource>> = HashMap::new();
        for known in &known {
            by_path.entry(&known.provider).or_default().insert(&known.path, known);
        }
        let mut vanished: Vec<&KnownSource> = Vec::new();
        let mut fresh = Vec::new();
        for &adapter in adapters {
            let provider = adapter.info().slug;
            let enumeration = adapter.enumerate(roots);
            plan.problems.extend(enumeration.problems.into_iter().map(|problem| (provider, problem)));
            plan.roots.push((provider, enumeration.roots));
            let mut known = by_path.remove(provider).unwrap_or_default();
            // Two names of one file are one source: the name that the state knows, else the first.
            let mut sources = enumeration.sources;
            sources.sort_by(|left, right| left.path.cmp(&right.path));
            let (old, new): (Vec<Source>, Vec<Source>) =
                sources.into_iter().partition(|source| known.contains_key(source.path.as_path()));
            let mut inodes = HashSet::new();
            for source in old.into_iter().chain(new) {
                let before = known.remove(source.path.as_path());
                if !inodes.insert((source.stat.device, source.stat.inode)) {
                    continue;
                }
                match before {
                    Some(before) => plan.consider(adapter, source, before, now),
                    None => fresh.push((adapter, source)),
                }
            }
            vanished.extend(known.into_values().filter(|known| !known.path.exists()));
        }
        vanished.sort_by_key(|known| known.id);
        for (adapter, source) in fresh {
            let moved = match state {
                Some(state) if !vanished.is_empty() => moved_from(&source, &vanished, state, now)?,
                _ => None,
            };
            if let Some(known) = moved {
                vanished.retain(|vanished| vanished.id != known.id);
            }
            plan.add(adapter, source, moved);
        }
        for known in vanished {
            *plan.vanished.entry(known.provider.clone()).or_default() += 1;
        }
        plan.order();
        Ok(plan)
    }

    fn consider(&mut self, adapter: &'static dyn SourceAdapter, source: Source, known: &KnownSource, now: i64) {
        if is_unchanged(&source.stat, known, now) {
            self.found.push(FoundSource {
                provider: source.provider,
                bytes: source.stat.size,
                new_bytes: 0,
                mtime: source.stat.mtime,
            });
        } else {
            self.add(adapter, source, Some(known));
        }
    }

    fn add(&mut self, adapter: &'static dyn SourceAdapter, source: Source, known: Option<&KnownSource>) {
        let size = match source.kind {
            SourceKind::ZstdLines => source.stat.size.saturating_mul(ASSUMED_COMPRESSION),
            _ => source.stat.size,
        };
        let new_bytes = match known {
            Some(known) if !source.kind.is_restated() && known.stat.size <= source.stat.size => {
                size.saturating_sub(known.stat.size)
            }
            _ => size,
        };
        self.found.push(FoundSource {
            provider: source.provider,
            bytes: source.stat.size,
            new_bytes,
            mtime: source.stat.mtime,
        });
        self.work.push_back(Work { adapter, source, id: known.map(|known| known.id), new_bytes, begun: None });
    }

    /// Families in the order of their oldest change, their sources together: a fork and its original share a folder, and
    /// who owns a request is best told when both are at hand.
    fn order(&mut self) {
        let mut oldest: HashMap<PathBuf, i64> = HashMap::new();
        for work in &self.work {
            let mtime = oldest.entry(work.source.family.clone()).or_insert(work.source.stat.mtime);
            *mtime = (*mtime).min(work.source.stat.mtime);
        }
        let key = |work: &Work| {
            (
                oldest.get(&work.source.family).copied(),
                work.source.family.clone(),
                work.source.stat.mtime,
                work.source.path.clone(),
            )
        };
        self.work.make_contiguous().sort_by_cached_key(key);
    }

    /// Takes the next wave off the work: sources of about `wave_bytes` in all, at least one.
    pub fn next_wave(&mut self, wave_bytes: u64) -> Vec<Work> {
        let mut wave: Vec<Work> = Vec::new();
        let mut bytes = 0_u64;
        while let Some(next) = self.work.front() {
            bytes = bytes.saturating_add(next.new_bytes);
            if !wave.is_empty() && bytes > wave_bytes {
                break;
            }
            wave.extend(self.work.pop_front());
        }
        wave
    }
}

fn is_unchanged(stat: &FileStat, known: &KnownSource, now: i64) -> bool {
    *stat == known.stat
        && stat.mtime.saturating_add(MTIME_TRUST) < known.read_at
        // What waited at the end of the file becomes final when the file has been quiet long enough.
        && (known.settled || now.saturating_sub(stat.mtime) < QUIET)
}

/// The vanished source that `source` was before it was renamed, archived or compressed: same first line, same bytes
/// before the offset.
fn moved_from<'a>(
    source: &Source,
    vanished: &[&'a KnownSource],
    state: &State,
    now: i64,
) -> Result<Option<&'a KnownSource>> {
    let Ok(Some(head_hash)) = adapters::head_hash(source, now) else { return Ok(None) };
    for id in state.sources_by_head(head_hash)? {
        let Some(&known) = vanished.iter().find(|known| known.id == id && known.provider == source.provider) else {
            continue;
        };
        let Some((checkpoint, _)) = state.checkpoint(id)? else { continue };
        if adapters::matches(source, &checkpoint, now).unwrap_or(false) {
            return Ok(Some(known));
        }
    }
    Ok(None)
}
