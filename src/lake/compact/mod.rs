//! Compaction: the parts of a partition merged into one, as many as ever needed.
//!
//! A nightly job leaves a part per table, provider and day each time it runs. Compaction merges the parts of such a
//! partition, keeps the order of rows (session, time, position) and each row's `batch`, drops versions of records that a newer
//! batch has replaced, and brings all rows to the current schema version.
//!
//! - Every input is read only after its size and hash were checked, so damage is not passed on under a fresh hash.
//! - What was written is read back and compared with what went in: number of rows, every (`event_id`, `batch`), and the sum of
//!   each counter. Nothing is committed unless they are equal.
//! - Rows of `usage` and `usage_copies` are never dropped: they add up, or are of different claims.
//!
//! ```text
//! lake/.agentlake/staging/b000043/usage/provider=claude/date=2026-11-29/part-….parquet    1 written, read back, synced
//! lake/.agentlake/state.db                                                                2 committed: new parts count, old do not
//! lake/usage/provider=claude/date=2026-11-29/  ⇄  its twin in staging                     3 folders exchanged, parents synced
//! lake/.agentlake/state.db                                                                4 published: old parts forgotten
//! lake/.agentlake/staging/b000043/                                                        5 removed, the old parts with it
//! ```
//!
//! Whoever goes by the state sees the new parts from 2 on, in staging or in place. A glob sees the old folder or the new one,
//! never both and never neither, except that a listing made before 3 names files that are gone after 5; [`publish`] tells more,
//! also of file systems that cannot exchange folders.

pub mod choose;
mod digest;
pub(super) mod inputs;
mod merge;
mod output;
pub mod publish;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

pub use choose::{Choice, Partition};

use super::disk::{create_private_dirs, sync_all};
use super::state::Part;
use super::{Lake, LakeError, Layout, Result, commit, crash};
use crate::model::tables::{SCHEMA_VERSION, TABLES};

/// Bytes of old parts whose compaction is committed at once: bounds the disk that staging takes, and what a killed compaction
/// does again.
pub const DEFAULT_COMMIT_BYTES: i64 = 256 << 20;

/// What compaction did.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Compacted {
    /// Partitions whose parts were merged.
    pub partitions: u64,
    /// Their parts before.
    pub parts_before: u64,
    /// Their parts after.
    pub parts_after: u64,
    /// Bytes of the parts before.
    pub bytes_before: u64,
    /// Bytes of the parts after.
    pub bytes_after: u64,
    /// Rows that a newer version of the same record had replaced.
    pub rows_dropped: u64,
    /// Parts that were brought to the current schema version.
    pub upgraded: u64,
}

impl Compacted {
    /// Adds what was done besides.
    pub fn absorb(&mut self, other: Self) {
        self.partitions += other.partitions;
        self.parts_before += other.parts_before;
        self.parts_after += other.parts_after;
        self.bytes_before += other.bytes_before;
        self.bytes_after += other.bytes_after;
        self.rows_dropped += other.rows_dropped;
        self.upgraded += other.upgraded;
    }

    fn add(&mut self, partition: &Partition, fresh: &[Part]) {
        let bytes = |parts: &[Part]| parts.iter().map(|part| u64::try_from(part.bytes).unwrap_or(0)).sum::<u64>();
        let rows = |parts: &[Part]| parts.iter().map(|part| u64::try_from(part.rows).unwrap_or(0)).sum::<u64>();
        self.absorb(Self {
            partitions: 1,
            parts_before: partition.parts.len() as u64,
            parts_after: fresh.len() as u64,
            bytes_before: bytes(&partition.parts),
            bytes_after: bytes(fresh),
            rows_dropped: rows(&partition.parts).saturating_sub(rows(fresh)),
            upgraded: partition.parts.iter().filter(|part| part.schema_version < SCHEMA_VERSION).count() as u64,
        });
    }
}

/// Merges the parts of each of the partitions. `now` is the time of the run in microseconds; `on_progress` is told how many
/// bytes of old parts are done.
///
/// # Errors
/// A part is damaged, foreign or newer, or the file system refuses. Partitions that were published stay so; the others are as
/// they were.
pub fn compact(lake: &mut Lake, partitions: &[Partition], now: i64, on_progress: &dyn Fn(u64)) -> Result<Compacted> {
    let mut done = Compacted::default();
    let mut rest = partitions;
    while !rest.is_empty() {
        let mut bytes = 0_i64;
        let fits = |partition: &&Partition| {
            bytes = bytes.saturating_add(partition.bytes());
            bytes <= DEFAULT_COMMIT_BYTES
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (group, after) = rest.split_at(count);
        done.absorb(compact_group(lake, group, now)?);
        on_progress(group.iter().map(|partition| u64::try_from(partition.bytes()).unwrap_or(0)).sum());
        rest = after;
    }
    Ok(done)
}

/// Merges some partitions in one commit.
fn compact_group(lake: &mut Lake, partitions: &[Partition], now: i64) -> Result<Compacted> {
    let batch = lake.state.next_batch()?;
    let staging = lake.layout.staging_of(batch);
    let staged = stage(lake, partitions, batch);
    let fresh = match staged {
        Ok(fresh) => fresh,
        Err(error) => {
            // Best effort: the next run empties staging anyway, and the first error is the one to tell.
            let _ = lake.layout.disk().remove_dir_all(&staging);
            return Err(error);
        }
    };
    crash::point("compaction-staged");
    let parts: Vec<Part> = fresh.iter().flatten().cloned().collect();
    let committed = lake.state.transaction(|state| {
        state.put_compaction(batch, &parts, partitions.iter().flat_map(|partition| &partition.parts), now)?;
        crash::point("compaction-committing");
        Ok(())
    });
    if let Err(error) = committed {
        let _ = lake.layout.disk().remove_dir_all(&staging);
        return Err(error);
    }
    crash::point("compaction-committed");
    publish::publish(&lake.layout, &mut lake.state, batch)?;
    let mut done = Compacted::default();
    for (partition, fresh) in partitions.iter().zip(&fresh) {
        done.add(partition, fresh);
    }
    Ok(done)
}

/// Writes the merged parts of each partition into staging, reads them back, and syncs them.
fn stage(lake: &Lake, partitions: &[Partition], batch: i64) -> Result<Vec<Vec<Part>>> {
    let (layout, lake_id) = (&lake.layout, lake.state.lake_id());
    let staging = layout.staging_of(batch);
    create_private_dirs(layout.disk(), &staging)?;
    let mut order: Vec<(usize, &Partition)> = partitions.iter().enumerate().collect();
    // The largest first, so that no processor waits at the end for one that began late.
    order.sort_by_key(|(_, partition)| std::cmp::Reverse(partition.bytes()));
    let mut fresh = order
        .into_par_iter()
        .with_max_len(1)
        .map(|(at, partition)| Ok((at, merge_partition(layout, lake_id, partition, batch, at)?)))
        .collect::<Result<Vec<_>>>()?;
    fresh.sort_by_key(|(at, _)| *at);
    let fresh: Vec<Vec<Part>> = fresh.into_iter().map(|(_, parts)| parts).collect();
    crash::point("compaction-written");
    sync(layout, &staging, &fresh.concat())?;
    Ok(fresh)
}

/// Syncs the parts side by side, then each folder below staging: they are exchanged as they are.
fn sync(layout: &Layout, staging: &Path, parts: &[Part]) -> Result<()> {
    let files: Vec<PathBuf> = parts.iter().map(|part| staging.join(&part.path)).collect();
    sync_all(layout.disk(), &files)?;
    let mut folders = BTreeSet::new();
    for file in &files {
        folders.extend(file.ancestors().skip(1).take_while(|folder| folder.starts_with(staging)).map(Path::to_owned));
    }
    folders.extend(staging.parent().map(Path::to_owned));
    Ok(sync_all(layout.disk(), &folders.into_iter().collect::<Vec<_>>())?)
}

fn merge_partition(
    layout: &Layout,
    lake_id: &str,
    partition: &Partition,
    batch: i64,
    number: usize,
) -> Result<Vec<Part>> {
    let Some(table) = TABLES.into_iter().find(|table| table.name == partition.table) else {
        return Err(LakeError::Internal("a part of an unknown table"));
    };
    partition.check_folder(layout)?;
    for part in &partition.parts {
        let path = layout.root().join(&part.path);
        if part.schema_version > SCHEMA_VERSION {
            return Err(LakeError::NewerPart { path, found: part.schema_version, known: SCHEMA_VERSION });
        }
        commit::check(&path, part)?;
    }
    let inputs = inputs::Inputs::open(layout, table, &partition.parts)?;
    let target = output::Target { layout, lake_id, batch, partition, number };
    let fresh = merge::merge(&inputs, table, &target)?;
    let written = digest::of_parts(table, fresh.iter().map(|part| layout.staging_of(batch).join(&part.path)))?;
    inputs.expected().compare(&written).map_err(|what| LakeError::Unequal { partition: partition.name(), what })?;
    Ok(fresh)
}
