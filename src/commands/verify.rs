//! `agentlake verify`: is the lake as it was committed, and does it hold what the sources hold? Changes nothing.

use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;

use super::summary::{count, size};
use super::{Ending, places};
use crate::cli::SummaryFormat;
use crate::cli::upkeep::VerifyArgs;
use crate::ingest::{AgainstSources, RunOptions, against_sources, checkpoints};
use crate::lake::lock::WriterLock;
use crate::lake::verify::{Audit, verify};
use crate::lake::{LakeError, Layout};

/// Verifies a lake.
///
/// # Errors
/// There is no lake, another run writes to it, or it cannot be read.
pub fn run(arguments: &VerifyArgs) -> Result<Ending> {
    places::set_threads(arguments.threads);
    let layout = Layout::new(&places::lake(&arguments.lake)?);
    let adapters = places::adapters(&arguments.roots)?;
    let roots = places::roots(&arguments.roots)?;
    if !layout.private().is_dir() && !layout.has_parts()? {
        return Err(LakeError::NoLake { path: layout.root().to_owned() }.into());
    }
    // Nobody may write while the parts are compared with the state; where this user cannot write, nobody waits for us.
    let _lock = match WriterLock::take(&layout) {
        Ok(lock) => Some(lock),
        Err(locked @ LakeError::Locked { .. }) => return Err(locked.into()),
        Err(_) => None,
    };
    let started = Instant::now();
    let now = chrono::Utc::now().timestamp_micros();
    let (mut audit, state) = verify(&layout)?;
    let mut against = None;
    if let Some(state) = &state {
        checkpoints::check(state, now, &mut audit)?;
        if arguments.against_sources {
            let options = RunOptions {
                wave_bytes: arguments.wave_bytes,
                max_line_bytes: arguments.max_line_bytes,
                keep_raw: false,
                host: places::host_in(&layout),
                now,
            };
            against = Some(against_sources::check(&layout, state, &adapters, &roots, &options, &mut audit)?);
        }
    }
    let text = match arguments.format {
        SummaryFormat::Table => as_text(&layout, &audit, against.as_ref(), started.elapsed().as_secs_f64()),
        SummaryFormat::Json => format!("{:#}\n", as_json(&layout, &audit, against.as_ref())),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(if audit.findings.is_empty() { Ending::Done } else { Ending::DoneWithFindings })
}

fn as_text(layout: &Layout, audit: &Audit, against: Option<&AgainstSources>, seconds: f64) -> String {
    let mut lines = vec![format!(
        "{}: {} parts, {}, {} rows, {} requests, read in {seconds:.1} s",
        places::short(layout.root()),
        count(audit.parts),
        size(audit.bytes),
        count(audit.rows),
        count(audit.requests),
    )];
    if let Some(against) = against {
        lines.push(format!(
            "{} sources read again, {}: {} rows compared, {} not exported yet",
            count(against.sources),
            size(against.bytes),
            count(against.compared),
            count(against.not_exported),
        ));
        for (path, rows) in &against.vanished {
            lines.push(format!("gone from disk, {} rows kept: {path}", count(*rows)));
        }
    }
    lines.extend(audit.notes.iter().map(|note| format!("note: {note}")));
    for finding in audit.findings.iter() {
        lines.push(format!("{}: {}\n  {}", finding.kind.as_str(), finding.subject, finding.detail));
    }
    for (kind, number) in audit.findings.counts() {
        lines.push(format!("{} × {}: {}", kind.as_str(), count(*number), kind.remedy()));
    }
    if audit.findings.is_empty() {
        lines.push("nothing is wrong".to_owned());
    }
    lines.join("\n") + "\n"
}

fn as_json(layout: &Layout, audit: &Audit, against: Option<&AgainstSources>) -> serde_json::Value {
    let findings: Vec<serde_json::Value> = audit
        .findings
        .iter()
        .map(|finding| {
            serde_json::json!({
                "kind": finding.kind.as_str(),
                "subject": finding.subject,
                "detail": finding.detail,
                "remedy": finding.kind.remedy(),
            })
        })
        .collect();
    let counts: serde_json::Map<String, serde_json::Value> =
        audit.findings.counts().iter().map(|(kind, number)| (kind.as_str().to_owned(), (*number).into())).collect();
    serde_json::json!({
        "lake": layout.root().display().to_string(),
        "lake_id": audit.lake_id,
        "ok": audit.findings.is_empty(),
        "parts": audit.parts,
        "bytes": audit.bytes,
        "rows": audit.rows,
        "requests": audit.requests,
        "findings": findings,
        "finding_counts": counts,
        "notes": audit.notes,
        "against_sources": against.map(|against| serde_json::json!({
            "sources": against.sources,
            "bytes": against.bytes,
            "rows_compared": against.compared,
            "rows_not_exported": against.not_exported,
            "vanished_sources": against.vanished,
        })),
    })
}
