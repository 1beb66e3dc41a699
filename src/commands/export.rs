//! `agentlake export`, the main job: reads what is new, writes the lake, refreshes the database, says what it did.

use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::summary::{ExportSummary, PricedRun, count, size};
use super::{Ending, places, rebuild};
use crate::adapters::SourceAdapter;
use crate::cli::{ExportArgs, SummaryFormat};
use crate::ingest::plan::FoundSource;
use crate::ingest::{Plan, RunOptions, RunSummary};
use crate::lake::compact::{self, Choice, Compacted};
use crate::lake::state::BatchSummary;
use crate::lake::{Lake, LakeError, Layout, State};
use crate::source::Roots;

/// Days before a tool's own clean-up at which people are warned.
const WARN_DAYS: i64 = 3;

/// Runs an export.
///
/// # Errors
/// Wrong arguments, another run, or a lake that cannot be written.
pub fn run(arguments: &ExportArgs) -> Result<Ending> {
    places::set_threads(arguments.threads);
    let root = places::lake(&arguments.lake)?;
    let adapters = places::adapters(&arguments.roots)?;
    let roots = places::roots(&arguments.roots)?;
    if let Some(samples) = &arguments.demo_if_empty
        && nothing_found(&adapters, &roots, &root)?
    {
        return demonstrate(arguments, &adapters, &roots, samples);
    }
    if arguments.dry_run {
        return dry_run(arguments, &adapters, &roots, &root);
    }
    if arguments.rebuild && root.exists() {
        return rebuild::run(arguments, &adapters, &roots, &root);
    }
    export(arguments, &adapters, &roots, &root)
}

fn export(
    arguments: &ExportArgs,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    root: &Path,
) -> Result<Ending> {
    let mut lake = Lake::open(root)?;
    let options = options(arguments, places::host(arguments.host.as_deref(), &lake.state)?);
    let before = lake.state.newest_batch()?;
    let progress = progress_bar(arguments);
    let warnings = std::cell::RefCell::new(Vec::new());
    let run = crate::ingest::run(
        &mut lake,
        adapters,
        roots,
        &options,
        &|plan| {
            progress.set_length(plan.work.iter().map(|work| work.new_bytes).sum());
            warnings.replace(clean_up_warnings(adapters, plan, options.now));
        },
        &|bytes| progress.inc(bytes),
    );
    progress.finish_and_clear();
    let run = run?;
    let cost = refresh(arguments, &lake, &run)?;
    let mut warnings = warnings.into_inner();
    let compacted = compact(arguments, &mut lake, &run, before, options.now).unwrap_or_else(|error| {
        warnings.push(format!("parts were not merged: {error}"));
        Compacted::default()
    });
    let summary = ExportSummary {
        layout: &lake.layout,
        run: &run,
        recovered: &lake.recovered,
        cost,
        compacted,
        carried: None,
        warnings: &warnings,
    };
    report(arguments, &summary)?;
    Ok(if run.met_unreadable() { Ending::DoneWithUnreadable } else { Ending::Done })
}

/// Merges the parts of crowded days and of days that are over. The rows are in the lake already, so a failure is a warning: the
/// next export finishes it or tries again.
pub(super) fn compact(
    arguments: &ExportArgs,
    lake: &mut Lake,
    run: &RunSummary,
    before: Option<BatchSummary>,
    now: i64,
) -> Result<Compacted, LakeError> {
    if arguments.no_compact || run.batches.is_empty() {
        return Ok(Compacted::default());
    }
    let due = compact::choose::choose(&lake.state, &Choice::AfterExport { before }, now)?;
    compact::compact(lake, &due, now, &|_| {})
}

/// How the run reads, by the command line.
pub(super) fn options(arguments: &ExportArgs, host: String) -> RunOptions {
    RunOptions {
        wave_bytes: arguments.wave_bytes,
        max_line_bytes: arguments.max_line_bytes,
        keep_raw: arguments.raw,
        host,
        now: chrono::Utc::now().timestamp_micros(),
    }
}

/// Brings the database up to date, and prices what was added.
#[cfg(feature = "duckdb")]
pub(super) fn refresh(arguments: &ExportArgs, lake: &Lake, run: &RunSummary) -> Result<Option<PricedRun>> {
    if arguments.no_duckdb {
        return Ok(None);
    }
    super::database::refresh(lake, run, &arguments.prices)
}

#[cfg(not(feature = "duckdb"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature with and without DuckDB")]
pub(super) fn refresh(_: &ExportArgs, _: &Lake, _: &RunSummary) -> Result<Option<PricedRun>> {
    Ok(None)
}

pub(super) fn report(arguments: &ExportArgs, summary: &ExportSummary<'_>) -> Result<()> {
    if let Some(file) = &arguments.report {
        fs_err::write(file, format!("{:#}\n", summary.as_json())).context("the --report file cannot be written")?;
    }
    if arguments.quiet {
        return Ok(());
    }
    let text = match arguments.format {
        SummaryFormat::Table => summary.as_text(),
        SummaryFormat::Json => format!("{:#}\n", summary.as_json()),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

pub(super) fn progress_bar(arguments: &ExportArgs) -> ProgressBar {
    let hidden = arguments.quiet || !io::stderr().is_terminal();
    let target = if hidden { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:30} {decimal_bytes}/{decimal_total_bytes}  {eta} left") {
        bar.set_style(style);
    }
    if !hidden {
        bar.enable_steady_tick(Duration::from_millis(250));
    }
    bar
}

/// Says what an export would read; nothing is written and no lock is taken.
fn dry_run(
    arguments: &ExportArgs,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    root: &Path,
) -> Result<Ending> {
    let plan = plan(adapters, roots, root)?;
    let bytes: u64 = plan.work.iter().map(|work| work.new_bytes).sum();
    let text = match arguments.format {
        SummaryFormat::Table => {
            let (found, work) = (count(plan.found.len() as u64), count(plan.work.len() as u64));
            let files: String =
                plan.work.iter().map(|work| format!("  {}\n", places::short(&work.source.path))).collect();
            format!("{found} sources; {work} would be read, {}\n{files}", size(bytes))
        }
        SummaryFormat::Json => {
            let files: Vec<String> = plan.work.iter().map(|work| work.source.path.display().to_string()).collect();
            format!("{:#}\n", serde_json::json!({ "sources": plan.found.len(), "would_read": files, "bytes": bytes }))
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(Ending::Done)
}

fn plan(adapters: &[&'static dyn SourceAdapter], roots: &Roots, root: &Path) -> Result<Plan> {
    let layout = Layout::new(root);
    let state = if layout.state_file().exists() { Some(State::open_read_only(&layout)?) } else { None };
    Ok(Plan::make(adapters, roots, state.as_ref(), chrono::Utc::now().timestamp_micros())?)
}

/// Whether there is neither a session on disk nor a lake that holds older ones.
fn nothing_found(adapters: &[&'static dyn SourceAdapter], roots: &Roots, root: &Path) -> Result<bool> {
    Ok(!Layout::new(root).state_file().exists() && plan(adapters, roots, root)?.found.is_empty())
}

/// Shows a newcomer without sessions what an export looks like: the sample sessions, in a temporary lake.
fn demonstrate(
    arguments: &ExportArgs,
    adapters: &[&'static dyn SourceAdapter],
    roots: &Roots,
    samples: &Path,
) -> Result<Ending> {
    let mut text = String::from("No agent sessions were found. Looked in:\n");
    for adapter in adapters {
        for root in adapter.enumerate(roots).roots {
            let _ = writeln!(text, "  {}", places::short(&root));
        }
    }
    let lake = std::env::temp_dir().join(format!("agentlake-demo-{}", std::process::id()));
    let _ = writeln!(text, "Reading the sample sessions in {} into {} instead:\n", samples.display(), lake.display());
    io::stdout().write_all(text.as_bytes())?;
    let mut sample_roots = Roots::default();
    for adapter in adapters {
        let slug = adapter.info().slug;
        for home in sample_homes(&samples.join(slug)) {
            sample_roots.add(slug, home);
        }
    }
    // Some samples are damaged on purpose: what cannot be read of them is told, but is no reason to fail.
    export(arguments, adapters, &sample_roots, &lake).map(|_| Ending::Done)
}

/// The homes of a provider's sample sessions: `<case>/home`, or `<case>/<step>/home`, in order.
fn sample_homes(provider: &Path) -> Vec<PathBuf> {
    let folders = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs_err::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect()
    };
    let cases = folders(provider);
    let steps: Vec<PathBuf> = cases.iter().flat_map(|case| folders(case)).collect();
    let mut homes: Vec<PathBuf> = cases.into_iter().chain(steps).map(|holder| holder.join("home")).collect();
    homes.retain(|home| home.is_dir());
    homes.sort();
    homes
}

/// Warns where a tool's own clean-up would outrun the runs: sessions that it deletes soon and that were not read yet.
fn clean_up_warnings(adapters: &[&'static dyn SourceAdapter], plan: &Plan, now: i64) -> Vec<String> {
    const DAY: i64 = crate::model::time::DAY;
    let mut warnings = Vec::new();
    for adapter in adapters {
        let info = adapter.info();
        let Some(days) = info.keeps_days else { continue };
        let old = |source: &&FoundSource| {
            source.provider == info.slug
                && source.new_bytes > 0
                && now - source.mtime > (i64::from(days) - WARN_DAYS) * DAY
        };
        let late = plan.found.iter().filter(old).count() as u64;
        if late > 0 {
            warnings.push(format!(
                "{} deletes sessions after {days} days by itself; {} were read at the last moment: run at least every {} days",
                info.name,
                count(late),
                i64::from(days) - WARN_DAYS,
            ));
        }
    }
    warnings
}
