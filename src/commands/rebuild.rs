//! `agentlake export --rebuild`: everything read again into a new lake, which replaces the old one when it is whole.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::Result;

use super::summary::{Carried, ExportSummary};
use super::{Ending, export, places};
use crate::adapters::SourceAdapter;
use crate::cli::ExportArgs;
use crate::ingest::Plan;
use crate::lake::compact::Compacted;
use crate::lake::lock::WriterLock;
use crate::lake::successor::{self, Sources};
use crate::lake::verify::verify;
use crate::lake::{LakeError, Layout};
use crate::source::Roots;

/// Rebuilds the lake at `root`.
///
/// # Errors
/// The lake is not sound, another run writes to it, or the file system refuses: then the old lake stays as it was.
pub fn run(
    arguments: &ExportArgs,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    root: &Path,
) -> Result<Ending> {
    check(root)?;
    let host = arguments.host.clone().unwrap_or_else(|| places::host_in(&Layout::new(root)));
    let options = export::options(arguments, host);
    let plan = Plan::make(adapters, roots, None, options.now)?;
    let read: HashSet<(&str, PathBuf)> =
        plan.work.iter().map(|work| (work.source.provider, work.source.path.clone())).collect();
    let is_read = |provider: &str, path: &Path| read.contains(&(provider, path.to_owned()));
    let mut successor = successor::begin(root, &Sources { is_read: &is_read, host: &options.host }, options.now)?;
    places::host(Some(&options.host), &successor.lake.state)?;
    let carried = Carried {
        rows: successor.carried,
        vanished_rows: successor.vanished.values().sum(),
        vanished_sources: successor.vanished.len() as u64,
    };
    let progress = export::progress_bar(arguments);
    let run = crate::ingest::run(
        &mut successor.lake,
        adapters,
        roots,
        &options,
        &|plan| progress.set_length(plan.work.iter().map(|work| work.new_bytes).sum()),
        &|bytes| progress.inc(bytes),
    );
    progress.finish_and_clear();
    let run = run?;
    let mut lake = successor.replace()?;
    let cost = export::refresh(arguments, &lake, &run)?;
    let mut warnings = Vec::new();
    let compacted = export::compact(arguments, &mut lake, &run, None, options.now).unwrap_or_else(|error| {
        warnings.push(format!("parts were not merged: {error}"));
        Compacted::default()
    });
    let summary = ExportSummary {
        layout: &Layout::new(root),
        run: &run,
        recovered: &lake.recovered,
        cost,
        compacted,
        carried: Some(carried),
        warnings: &warnings,
    };
    export::report(arguments, &summary)?;
    Ok(if run.met_unreadable() { Ending::DoneWithUnreadable } else { Ending::Done })
}

/// A lake that lost something must be repaired first: its rows are all that is left of sources that are gone.
fn check(root: &Path) -> Result<()> {
    let layout = Layout::new(root);
    if !layout.state_file().exists() && !layout.has_parts()? {
        return Ok(());
    }
    let _lock = WriterLock::take(&layout)?;
    let (audit, _) = verify(&layout)?;
    if audit.findings.is_empty() { Ok(()) } else { Err(LakeError::NotSound { path: root.to_owned() }.into()) }
}
