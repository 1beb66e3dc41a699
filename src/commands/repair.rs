//! `agentlake repair`: mends what `verify` finds, reads the sources again that are still there, and says what it did.

use std::io::Write as _;

use anyhow::Result;

use super::summary::{count, path_text};
use super::{Ending, places};
use crate::cli::SummaryFormat;
use crate::cli::upkeep::RepairArgs;
use crate::ingest::{RunOptions, RunSummary, checkpoints};
use crate::lake::Layout;
use crate::lake::repair::{Repaired, repair};
use crate::lake::verify::verify;

/// Repairs a lake.
///
/// # Errors
/// There is no lake, another run writes to it, or the file system refuses. A repair that was cut short can be run again.
pub fn run(arguments: &RepairArgs) -> Result<Ending> {
    places::set_threads(arguments.threads);
    let root = places::lake(&arguments.lake)?;
    let adapters = places::adapters(&arguments.roots)?;
    let roots = places::roots(&arguments.roots)?;
    let layout = Layout::new(&root);
    let options = RunOptions {
        wave_bytes: arguments.wave_bytes,
        max_line_bytes: arguments.max_line_bytes,
        keep_raw: arguments.raw,
        host: places::host_in(&layout),
        now: chrono::Utc::now().timestamp_micros(),
    };
    let findings = {
        let (mut audit, state) = verify(&layout)?;
        if let Some(state) = &state {
            checkpoints::check(state, options.now, &mut audit)?;
        }
        audit.findings
    };
    let (mut lake, repaired) = repair(&root, &findings, &options.host, options.now)?;
    places::host(Some(&options.host), &lake.state)?;
    let run = crate::ingest::run(&mut lake, &adapters, &roots, &options, &|_| {}, &|_| {})?;
    #[cfg(feature = "duckdb")]
    if !arguments.no_duckdb {
        super::database::reload(&lake, &arguments.prices)?;
    }
    let text = match arguments.format {
        SummaryFormat::Table => as_text(&repaired, &run),
        SummaryFormat::Json => format!("{:#}\n", as_json(&layout, &repaired, &run)),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if run.met_unreadable() { Ending::DoneWithUnreadable } else { Ending::Done })
}

fn as_text(repaired: &Repaired, run: &RunSummary) -> String {
    let mut lines = Vec::new();
    if let Some(fault) = &repaired.state {
        lines.push(format!("the state was not usable: {fault}"));
    }
    for (path, reason) in &repaired.quarantined {
        lines.push(format!("to .agentlake/quarantine: {}: {reason}", places::short(path)));
    }
    if repaired.missing > 0 {
        lines.push(format!("{} parts were gone", count(repaired.missing)));
    }
    if repaired.adopted > 0 {
        lines.push(format!("{} parts taken into the state", count(repaired.adopted)));
    }
    if repaired.is_rebuilt {
        lines.push("the state was made anew from the parts".to_owned());
    } else if repaired.quarantined.is_empty() {
        lines.push("nothing had to be repaired".to_owned());
    }
    if repaired.salvaged > 0 {
        lines.push(format!(
            "{} rows taken over from damaged parts, since their sources are gone; what was damaged in them is not known",
            count(repaired.salvaged)
        ));
    }
    let rows: Vec<String> = run.rows.iter().map(|(table, rows)| format!("{table} {}", count(*rows))).collect();
    let rows = if rows.is_empty() { "nothing new".to_owned() } else { format!("new rows: {}", rows.join(", ")) };
    lines.push(format!("{} sources, {} read again; {rows}", count(run.sources), count(run.changed)));
    if !repaired.vanished.is_empty() {
        let rows: u64 = repaired.vanished.values().sum();
        let sources = count(repaired.vanished.len() as u64);
        lines.push(format!("{} rows kept of {sources} sources that are gone from disk", count(rows)));
    }
    lines.join("\n") + "\n"
}

fn as_json(layout: &Layout, repaired: &Repaired, run: &RunSummary) -> serde_json::Value {
    let quarantined: Vec<serde_json::Value> = repaired
        .quarantined
        .iter()
        .map(|(path, reason)| serde_json::json!({ "path": path_text(path), "reason": reason }))
        .collect();
    serde_json::json!({
        "lake": path_text(layout.root()),
        "state_fault": repaired.state,
        "state_rebuilt": repaired.is_rebuilt,
        "quarantined": quarantined,
        "parts_missing": repaired.missing,
        "parts_adopted": repaired.adopted,
        "rows_salvaged": repaired.salvaged,
        "sources": run.sources,
        "sources_read": run.changed,
        "rows": run.rows,
        "vanished_sources": repaired.vanished.len(),
        "vanished_rows": repaired.vanished.values().sum::<u64>(),
    })
}
