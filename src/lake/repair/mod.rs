//! `agentlake repair`: from parts in whatever condition to a lake whose state fits them.
//!
//! Parts are the truth, sources the second witness. What is no part of the lake goes to quarantine; the state is made anew in
//! one transaction from the parts that stay ([`crate::lake::recollect`]); every source is forgotten but for its name. The
//! export that follows reads the sources that are still there from their start and keeps only rows whose `event_id` is new.
//!
//! | dies | what is there | what the next repair does |
//! |---|---|---|
//! | while files move | a state that lists parts which are in quarantine | the same again |
//! | before the transaction ends | the old state, or an empty one | the same again |
//! | after it | a sound lake that reads its sources again | nothing but that, as would an export |

mod quarantine;
mod survey;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};

use quarantine::Quarantine;

use super::carry::{Carrier, Numbering};
use super::lock::WriterLock;
use super::part_file::{PartReader, text, texts};
use super::recollect::Recollection;
use super::state::State;
use super::verify::{FindingKind, Findings};
use super::{Lake, LakeError, Layout, Result, commit, crash, suspect};

/// What became of the lake, before its sources are read again.
#[derive(Debug, Default)]
pub struct Repaired {
    /// What was wrong with the state itself; `None` if it could be used.
    pub state: Option<String>,
    /// Whether the state was made anew from the parts.
    pub is_rebuilt: bool,
    /// Files in quarantine, with the reason.
    pub quarantined: Vec<(PathBuf, String)>,
    /// Parts of the lake that the state did not list and now does.
    pub adopted: u64,
    /// Parts that the state listed and that are gone.
    pub missing: u64,
    /// Rows taken over from parts in quarantine, since their sources are gone.
    pub salvaged: u64,
    /// Rows of sources that are gone from disk, by source: they stay.
    pub vanished: BTreeMap<String, u64>,
}

/// Makes the lake at `root` one that can be written to. `findings` are those of `verify`, `host` is the name of this
/// machine, `now` the time in microseconds.
///
/// # Errors
/// There is no lake, another run writes to it, something in it was written by a newer version, or the file system refuses.
pub fn repair(root: &Path, findings: &Findings, host: &str, now: i64) -> Result<(Lake, Repaired)> {
    let layout = Layout::new(root);
    if !layout.state_file().exists() && !layout.has_parts()? {
        return Err(LakeError::NoLake { path: root.to_owned() });
    }
    layout.create()?;
    let lock = WriterLock::take(&layout)?;
    let mut quarantine = Quarantine::new(&layout, now);
    let mut repaired = Repaired::default();
    let mut state = open_state(&layout, &mut quarantine, &mut repaired)?;
    let recovered = recover(&layout, &mut state, &mut quarantine, repaired.state.is_some())?;

    let survey = survey::survey(&layout, &state)?;
    repaired.adopted = survey.adopted;
    repaired.missing = survey.missing.len() as u64;
    if !survey.is_own_state && repaired.state.is_none() {
        repaired.state = Some(format!("it was of the lake {}, the parts are of {}", state.lake_id(), survey.lake_id));
    }
    let lost_parts = survey.discarded.iter().any(|discarded| discarded.readable.is_some()) || repaired.missing > 0;
    let other =
        |(kind, _): (&FindingKind, &u64)| !matches!(kind, FindingKind::ForeignPart | FindingKind::DuplicatedPart);
    repaired.is_rebuilt =
        repaired.state.is_some() || lost_parts || survey.adopted > 0 || findings.counts().iter().any(other);
    let mut kept = survey.kept;
    let sources = state.sources()?.into_iter().map(|known| known.path.display().to_string()).collect();
    repaired.salvaged = salvage(&layout, &survey.lake_id, &survey.discarded, &mut kept, host, &sources)?;
    for discarded in &survey.discarded {
        quarantine.take(&discarded.path, &discarded.reason)?;
    }
    if repaired.is_rebuilt {
        let recollection = Recollection::read(&layout, &kept, host)?;
        state.rebuild(&survey.lake_id, repaired.state.is_none(), &kept, &recollection, now)?;
        crash::point("rebuilt");
        drop(state);
        state = State::open(&layout)?;
    }
    repaired.quarantined = quarantine.moved;
    repaired.vanished = vanished(&layout, &kept)?;
    Ok((Lake { layout, state, recovered, lock }, repaired))
}

/// Opens the state; one that cannot be used goes to quarantine, and an empty one takes its place.
fn open_state(layout: &Layout, quarantine: &mut Quarantine, repaired: &mut Repaired) -> Result<State> {
    let path = layout.state_file();
    if !path.exists() {
        repaired.state = Some("it was gone".to_owned());
        return State::open(layout);
    }
    let fault = match State::open(layout) {
        Err(newer @ LakeError::NewerState { .. }) => return Err(newer),
        Err(error) => error.to_string(),
        Ok(state) => match state.faults().and_then(|faults| {
            state.broken_references()?;
            state.sources()?;
            state.parts().map(|_| faults)
        }) {
            Ok(faults) if faults.is_empty() => return Ok(state),
            Ok(faults) => faults.join("; "),
            Err(error) => error.to_string(),
        },
    };
    // The log must never be applied to another database of the same name, so it goes first.
    for name in ["state.db-wal", "state.db-shm", "state.db"] {
        quarantine.take(&layout.private().join(name), &fault)?;
    }
    repaired.state = Some(fault);
    State::open(layout)
}

/// Finishes or undoes batches of a killed run, as every command does; a part in the way that is not the committed one goes
/// to quarantine. What lies in staging under a state that is not this lake's goes there too: nobody knows what it is.
fn recover(layout: &Layout, state: &mut State, quarantine: &mut Quarantine, is_lost: bool) -> Result<Vec<i64>> {
    if is_lost {
        for leftover in fs_err::read_dir(layout.staging())? {
            quarantine.take(&leftover?.path(), "it was not committed, as far as anybody knows")?;
        }
    }
    loop {
        match commit::recover(layout, state) {
            Err(LakeError::DamagedPart { path, reason }) if path.exists() => quarantine.take(&path, &reason)?,
            // A compaction whose parts are nowhere: the state lists them, so they are missed, and it is made anew.
            Err(LakeError::DamagedPart { reason, .. }) => {
                for leftover in fs_err::read_dir(layout.staging())? {
                    quarantine.take(&leftover?.path(), &reason)?;
                }
                return Ok(Vec::new());
            }
            recovered => return recovered,
        }
    }
}

/// Takes over rows of discarded parts that stand nowhere else; `kept` grows by the parts that hold them now.
fn salvage(
    layout: &Layout,
    lake_id: &str,
    discarded: &[survey::Discarded],
    kept: &mut Vec<super::state::Part>,
    host: &str,
    sources: &HashSet<String>,
) -> Result<u64> {
    let is_known = |path: &str| sources.contains(path);
    let mut carrier = Carrier::new(layout, lake_id, Numbering::Keep);
    let mut rows_taken = 0_u64;
    for discarded in discarded {
        let Some(name) = &discarded.readable else { continue };
        let known = survey::kept_rows(layout, kept, name.table.name)?;
        // Damaged pages may stop the reader anywhere: what came before is taken only if all can be read.
        let Ok(batches) = suspect::read(|| read_all(&discarded.path)) else { continue };
        for rows in &batches {
            let keep = survey::worth_carrying(rows, discarded, &known, host, &is_known);
            if keep.true_count() > 0 {
                rows_taken += keep.true_count() as u64;
                carrier.add(name.table, &name.provider, rows, &keep)?;
            }
        }
    }
    kept.extend(carrier.finish()?);
    crash::point("salvaged");
    Ok(rows_taken)
}

fn read_all(path: &Path) -> Result<Vec<arrow::array::RecordBatch>> {
    let mut batches = Vec::new();
    for rows in PartReader::open(path)?.all()? {
        batches.push(rows?);
    }
    Ok(batches)
}

/// Rows of sources whose file is not there, by path.
fn vanished(layout: &Layout, parts: &[super::state::Part]) -> Result<BTreeMap<String, u64>> {
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for part in parts {
        for rows in PartReader::open(&layout.root().join(&part.path))?.columns(&["source_path"])? {
            let rows = rows?;
            let Some(paths) = texts(&rows, "source_path") else { continue };
            for path in (0..rows.num_rows()).filter_map(|row| text(paths, row)) {
                match counts.get_mut(path) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(path.to_owned(), 1)),
                }
            }
        }
    }
    counts.retain(|path, _| !Path::new(path).exists());
    Ok(counts)
}
