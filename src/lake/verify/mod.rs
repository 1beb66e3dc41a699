//! `agentlake verify`, as far as the lake can tell by itself: parts against the state, and the ledger against the parts.
//!
//! Nothing is changed. What the sources say is [`crate::ingest::against_sources`]'s business, mending is
//! [`super::repair`]'s.

mod findings;
mod ledger;
mod parts;

pub use findings::{Finding, FindingKind, Findings};
pub(crate) use ledger::told;

use super::state::State;
use super::{LakeError, Layout, Result};

/// What was looked at, and what was found.
#[derive(Debug, Default)]
pub struct Audit {
    /// The lake's id by its state.
    pub lake_id: Option<String>,
    /// Parts that the state lists.
    pub parts: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Their rows.
    pub rows: u64,
    /// Requests in the ledger.
    pub requests: u64,
    /// What is wrong.
    pub findings: Findings,
    /// What is worth telling and not wrong.
    pub notes: Vec<String>,
}

/// Checks a lake whose state may be in any condition. With the audit comes the state, if it can be used.
///
/// # Errors
/// There is no lake, its state was written by a newer version, or a folder cannot be read.
pub fn verify(layout: &Layout) -> Result<(Audit, Option<State>)> {
    let mut audit = Audit::default();
    let Some(state) = open(layout, &mut audit)? else {
        return Ok((audit, None));
    };
    state.begin_snapshot()?;
    audit.lake_id = Some(state.lake_id().to_owned());
    check_structure(&state, &mut audit)?;
    let listed = state.parts()?;
    let whole = parts::check(layout, &state, &listed, &mut audit)?;
    ledger::check(layout, &state, &listed, whole, &mut audit)?;
    Ok((audit, Some(state)))
}

/// Opens the state to read from it, or says what is wrong with it.
fn open(layout: &Layout, audit: &mut Audit) -> Result<Option<State>> {
    let path = layout.state_file();
    if !path.exists() {
        if !layout.has_parts()? {
            return Err(LakeError::NoLake { path: layout.root().to_owned() });
        }
        audit.findings.add(FindingKind::StateMissing, &path, "the table folders hold parts, but there is no state");
        return Ok(None);
    }
    let state = match State::open_read_only(layout) {
        Ok(state) => state,
        Err(newer @ LakeError::NewerState { .. }) => return Err(newer),
        Err(error) => {
            audit.findings.add(FindingKind::StateDamaged, &path, &error.to_string());
            return Ok(None);
        }
    };
    match state.faults() {
        Ok(faults) if faults.is_empty() => Ok(Some(state)),
        Ok(faults) => {
            audit.findings.add(FindingKind::StateDamaged, &path, &faults.join("; "));
            Ok(None)
        }
        Err(error) => {
            audit.findings.add(FindingKind::StateDamaged, &path, &error.to_string());
            Ok(None)
        }
    }
}

/// What must hold inside the state, whatever the parts say.
fn check_structure(state: &State, audit: &mut Audit) -> Result<()> {
    for broken in state.broken_references()? {
        audit.findings.add(FindingKind::StateContradiction, "state.db", &broken);
    }
    for batch in state.unpublished()? {
        audit.notes.push(format!("batch {batch} is committed and not yet published; the next export finishes it"));
    }
    Ok(())
}
