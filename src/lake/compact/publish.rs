//! Puts the folders of a committed compaction in their places, now or after a crash.
//!
//! | dies after | what is there | what the next run does |
//! |---|---|---|
//! | writing or syncing | folders in staging that nobody knows | deletes them |
//! | the commit | new parts count, in staging; old ones in place | exchanges the folders |
//! | any exchange | some folders exchanged, their old ones in staging | exchanges the rest |
//! | the first of two renames, where folders cannot be exchanged | one partition's folder is missing, its new one in staging | renames it |
//! | publishing | old folders in staging | deletes them |
//!
//! If staging was lost before an exchange, the old parts of that partition are all in place, and the compaction is taken back
//! there. Partitions are judged one by one: each is either new as a whole or old as a whole.
//!
//! Where the file system cannot exchange folders (`renameat2` with `RENAME_EXCHANGE`), the old folder is moved to staging and
//! the new one into its place; a glob can miss the partition for the instant between the two.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::lake::commit::{cannot_move, check};
use crate::lake::disk::{create_private_dirs, sync_all};
use crate::lake::layout::Layout;
use crate::lake::state::Part;
use crate::lake::{LakeError, Result, State, crash};

/// One partition of a compaction.
#[derive(Debug, Default)]
struct Exchange {
    fresh: Vec<Part>,
    replaced: Vec<Part>,
}

/// Moves the folders of a compaction to where they belong and marks it as published.
///
/// # Errors
/// The file system or the state refuses; the next run goes on.
pub fn publish(layout: &Layout, state: &mut State, batch: i64) -> Result<()> {
    for (folder, exchange) in exchanges(state, batch)? {
        swap(layout, batch, &folder, &exchange)?;
        crash::point("compaction-swapped");
    }
    finish(layout, state, batch)
}

/// The same after a crash. A partition whose new parts are lost is taken back.
///
/// # Errors
/// The file system or the state refuses, or a part in place is not as it was committed.
pub fn recover(layout: &Layout, state: &mut State, batch: i64) -> Result<()> {
    for (folder, exchange) in exchanges(state, batch)? {
        let staging = layout.staging_of(batch);
        let is_in_place = |part: &Part| layout.root().join(&part.path).exists();
        if exchange.fresh.iter().all(|part| is_in_place(part) || staging.join(&part.path).exists()) {
            swap(layout, batch, &folder, &exchange)?;
        } else if exchange.replaced.iter().all(is_in_place) {
            state.take_back(batch, &exchange.fresh, &exchange.replaced)?;
        } else {
            let lost = exchange.fresh.iter().find(|part| !is_in_place(part));
            let path = lost.map_or(folder, |part| layout.root().join(&part.path));
            return Err(LakeError::DamagedPart { path, reason: "it is gone".to_owned() });
        }
    }
    finish(layout, state, batch)
}

/// The partitions of a compaction, by folder below the lake's root.
fn exchanges(state: &State, batch: i64) -> Result<BTreeMap<PathBuf, Exchange>> {
    let mut exchanges: BTreeMap<PathBuf, Exchange> = BTreeMap::new();
    let folder = |part: &Part| Path::new(&part.path).parent().map(Path::to_owned).unwrap_or_default();
    for part in state.parts_of(batch)? {
        exchanges.entry(folder(&part)).or_default().fresh.push(part);
    }
    for part in state.replaced_by(batch)? {
        exchanges.entry(folder(&part)).or_default().replaced.push(part);
    }
    Ok(exchanges)
}

/// Puts the new folder of one partition in the place of the old one, unless it is there.
fn swap(layout: &Layout, batch: i64, folder: &Path, exchange: &Exchange) -> Result<()> {
    let (disk, staging) = (layout.disk(), layout.staging_of(batch));
    let (place, staged) = (layout.root().join(folder), staging.join(folder));
    // Where the old folder lies afterwards: it has changed places with the new one, or was moved aside.
    let aside = staging.join("replaced").join(folder);
    if exchange.fresh.iter().all(|part| layout.root().join(&part.path).exists()) {
        for part in &exchange.fresh {
            check(&layout.root().join(&part.path), part)?;
        }
    } else if place.exists() {
        match disk.exchange(&staged, &place) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                if let Some(parent) = aside.parent() {
                    create_private_dirs(disk, parent)?;
                }
                disk.rename_new(&place, &aside).map_err(|error| cannot_move(&place, &error))?;
                crash::point("compaction-aside");
                disk.rename_new(&staged, &place).map_err(|error| cannot_move(&staged, &error))?;
            }
            Err(error) => return Err(cannot_move(&staged, &error)),
        }
    } else {
        // The first of two renames was done, by a run that died.
        disk.rename_new(&staged, &place).map_err(|error| cannot_move(&staged, &error))?;
    }
    keep_strangers(layout, &staged, &place, exchange)?;
    keep_strangers(layout, &aside, &place, exchange)
}

/// Moves back what somebody else put into the old folder after it was looked at: it is not ours to delete. The next command
/// refuses it by name.
fn keep_strangers(layout: &Layout, old: &Path, place: &Path, exchange: &Exchange) -> Result<()> {
    if !old.exists() {
        return Ok(());
    }
    let ours: BTreeSet<PathBuf> = exchange.replaced.iter().map(|part| layout.root().join(&part.path)).collect();
    for entry in fs_err::read_dir(old)? {
        let entry = entry?;
        let back = place.join(entry.file_name());
        if !ours.contains(&back) {
            layout.disk().rename_new(&entry.path(), &back).map_err(|error| cannot_move(&entry.path(), &error))?;
        }
    }
    Ok(())
}

/// Makes the exchanges durable, forgets the old parts, and deletes them.
fn finish(layout: &Layout, state: &mut State, batch: i64) -> Result<()> {
    let staging = layout.staging_of(batch);
    let mut parents = BTreeSet::new();
    for folder in exchanges(state, batch)?.into_keys() {
        for base in [layout.root(), &staging] {
            parents.extend(base.join(&folder).parent().filter(|parent| parent.exists()).map(Path::to_owned));
        }
    }
    sync_all(layout.disk(), &parents.into_iter().collect::<Vec<_>>())?;
    crash::point("compaction-synced");
    state.publish(batch)?;
    crash::point("compaction-published");
    if staging.exists() {
        layout.disk().remove_dir_all(&staging)?;
    }
    Ok(())
}
