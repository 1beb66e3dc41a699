//! The commit protocol.
//!
//! - A reader that goes by the state sees whole batches only.
//! - A record lands exactly once, whenever the process dies.
//! - A part is never overwritten, and its name is never used again.
//!
//! ```text
//! lake/.agentlake/staging/b000042/part-….parquet                              1 written, 2 synced
//! lake/.agentlake/state.db                                                                3 committed: the commit point
//! lake/usage/provider=claude/date=2026-11-29/part-….parquet                               4 renamed, folders synced
//! lake/.agentlake/state.db                                                                5 published
//! ```
//!
//! | dies after | what is there | what the next run does |
//! |---|---|---|
//! | 1, 2 | parts in staging that nobody knows | deletes them; the same bytes are read again |
//! | 3 | a committed batch, its parts in staging | finishes the renames |
//! | 4, at any rename | some parts in place, some in staging | finishes the renames; what is in place must have size and hash |
//! | 5 | an empty staging folder | deletes it |
//!
//! If a part of a committed batch is in neither place, the batch is undone from what it replaced, and its bytes are read
//! again.

use std::collections::{BTreeSet, HashSet};
use std::io;
use std::path::{Path, PathBuf};

use super::disk::{create_private_dirs, sync_all};
use super::layout::Layout;
use super::ledger::Entry;
use super::part_file::fingerprint;
use super::session_rows::{ChangedSession, NO_SOURCE};
use super::state::{Part, SourceRow, State};
use super::wave::ReadSource;
use super::{Lake, LakeError, Result, compact, crash};
use crate::source::walk::Problem;

/// What a batch changes in the state.
#[derive(Debug)]
pub struct Changes<'a> {
    /// Number of the batch.
    pub batch: i64,
    /// Parts in staging, synced.
    pub parts: &'a [Part],
    /// Sources with their new checkpoints.
    pub sources: &'a [ReadSource],
    /// Sessions of which something new is known.
    pub sessions: &'a [ChangedSession],
    /// New entries of the ledger.
    pub requests: &'a [Entry],
    /// Whether any of them replaces an older one.
    pub replaces_requests: bool,
    /// Paths that could not be taken.
    pub problems: &'a [(&'static str, Problem)],
    /// Time of the run, microseconds.
    pub now: i64,
}

/// Commits and publishes a batch whose parts are in staging.
///
/// # Errors
/// The state or the file system refuses. An error before the commit point leaves the lake as it was.
pub fn commit(lake: &mut Lake, changes: &Changes<'_>) -> Result<()> {
    crash::point("staged");
    let batch = changes.batch;
    let committed = lake.state.transaction(|state| {
        state.put_batch(batch, changes.parts, changes.now)?;
        let mut ids = Vec::with_capacity(changes.sources.len());
        for source in changes.sources {
            if source.host.is_some() {
                ids.push(NO_SOURCE);
                continue;
            }
            let row = SourceRow {
                id: source.id,
                provider: source.provider,
                path: &source.path,
                checkpoint: &source.checkpoint,
                was_rewritten: source.was_rewritten,
                read_at: changes.now,
            };
            ids.push(state.put_source(&row, batch)?);
        }
        for session in changes.sessions {
            let owner = session.owner.or(ids.get(session.source).copied()).unwrap_or_default();
            state.put_session(session.provider, &session.session_id, owner, &session.facts, batch)?;
        }
        state.put_requests(changes.requests, changes.replaces_requests, batch)?;
        for (provider, problem) in changes.problems {
            state.put_problem(provider, &problem.path, &problem.reason, batch)?;
        }
        crash::point("committing");
        Ok(())
    });
    if let Err(error) = committed {
        let _ = fs_err::remove_dir_all(lake.layout.staging_of(batch));
        return Err(error);
    }
    crash::point("committed");
    publish(&lake.layout, &mut lake.state, batch, changes.parts)
}

/// Moves the parts of a committed batch to where they belong and marks the batch as published.
fn publish(layout: &Layout, state: &mut State, batch: i64, parts: &[Part]) -> Result<()> {
    let (disk, staging) = (layout.disk(), layout.staging_of(batch));
    let mut folders = BTreeSet::new();
    for part in parts {
        let target = layout.root().join(&part.path);
        if let Some(folder) = target.parent()
            && folders.insert(folder.to_owned())
        {
            create_private_dirs(disk, folder)?;
        }
        let staged = layout.staged(batch, &part.path);
        match disk.rename_new(&staged, &target) {
            Ok(()) => {}
            // An earlier run got this far.
            Err(error) if error.kind() == io::ErrorKind::NotFound && target.exists() => check(&target, part)?,
            Err(error) => return Err(cannot_move(&staged, &error)),
        }
        crash::point("renamed");
    }
    let ancestors: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| folder.ancestors().take_while(|ancestor| ancestor.starts_with(layout.root())))
        .map(Path::to_owned)
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    sync_all(disk, &ancestors)?;
    crash::point("synced");
    state.publish(batch)?;
    crash::point("published");
    if staging.exists() {
        disk.remove_dir_all(&staging)?;
    }
    Ok(())
}

/// Says which file or folder could not be moved.
pub(super) fn cannot_move(from: &Path, error: &io::Error) -> LakeError {
    io::Error::new(error.kind(), format!("cannot move {} into the lake: {error}", from.display())).into()
}

/// Finishes or undoes what a killed run had committed, then empties staging. Returns the batches that were finished.
///
/// # Errors
/// The state or the file system refuses, or a part in place is not as it was committed.
pub fn recover(layout: &Layout, state: &mut State) -> Result<Vec<i64>> {
    let mut finished = Vec::new();
    for batch in state.unpublished()? {
        if state.is_compaction(batch)? {
            compact::publish::recover(layout, state, batch)?;
            finished.push(batch);
            continue;
        }
        let parts = state.parts_of(batch)?;
        let is_whole = parts
            .iter()
            .all(|part| layout.staged(batch, &part.path).exists() || layout.root().join(&part.path).exists());
        if is_whole {
            publish(layout, state, batch, &parts)?;
            finished.push(batch);
        } else {
            for part in &parts {
                let target = layout.root().join(&part.path);
                if target.exists() {
                    layout.disk().remove_file(&target)?;
                }
            }
            state.undo(batch)?;
        }
    }
    for leftover in fs_err::read_dir(layout.staging())? {
        let leftover = leftover?;
        if leftover.file_type()?.is_dir() {
            layout.disk().remove_dir_all(&leftover.path())?;
        } else {
            layout.disk().remove_file(&leftover.path())?;
        }
    }
    Ok(finished)
}

/// Makes sure that the table folders hold the parts that the state lists, and nothing else.
///
/// # Errors
/// A part is missing, or a file is foreign.
pub fn check_parts(layout: &Layout, state: &State) -> Result<()> {
    let listed: Vec<PathBuf> = state.parts()?.into_iter().map(|part| layout.root().join(part.path)).collect();
    let found: HashSet<PathBuf> = layout.files()?.into_iter().collect();
    if let Some(missing) = listed.iter().find(|path| !found.contains(*path)) {
        return Err(LakeError::DamagedPart { path: missing.clone(), reason: "it is gone".to_owned() });
    }
    let listed: HashSet<&PathBuf> = listed.iter().collect();
    match found.iter().find(|path| !listed.contains(path)) {
        Some(foreign) => Err(LakeError::ForeignPart { path: foreign.clone() }),
        None => Ok(()),
    }
}

/// Makes sure that a part in place is the one that was committed.
pub(super) fn check(path: &Path, part: &Part) -> Result<()> {
    let damaged = |reason: &str| Err(LakeError::DamagedPart { path: path.to_owned(), reason: reason.to_owned() });
    match fingerprint(path)? {
        (bytes, _) if bytes != part.bytes => damaged("its size differs"),
        (_, xxh3) if xxh3 != part.xxh3 => damaged("its content differs"),
        _ => Ok(()),
    }
}
