//! `agentlake merge`: brings the rows of other lakes, from other machines, into this one.

use std::io::{self, Write as _};

use anyhow::Result;

use super::places;
use super::summary::{count, signed};
use crate::adapters;
use crate::cli::SummaryFormat;
use crate::cli::upkeep::MergeArgs;
use crate::ingest::RunSummary;
use crate::lake::{Lake, merge};

/// Runs a merge.
///
/// # Errors
/// One of the lakes is none, is this one, is damaged or newer; another run writes to this one, or it cannot be written.
pub fn run(arguments: &MergeArgs) -> Result<()> {
    let mut lake = Lake::open(&places::lake(&arguments.lake)?)?;
    let now = chrono::Utc::now().timestamp_micros();
    let mut summary = RunSummary::default();
    let slug_of = |slug: &str| adapters::by_slug(slug).map(|adapter| adapter.info().slug);
    for other in &arguments.lakes {
        merge::merge(&mut lake, other, &slug_of, now, &mut |wave| summary.add(wave))?;
    }
    refresh(arguments, &lake, &summary)?;
    if arguments.quiet {
        return Ok(());
    }
    let text = match arguments.format {
        SummaryFormat::Table => as_text(&summary),
        SummaryFormat::Json => format!(
            "{:#}\n",
            serde_json::json!({
                "batches": summary.batches,
                "rows": summary.rows,
                "requests_added": summary.added.requests,
                "recovered_batches": lake.recovered,
            })
        ),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn as_text(summary: &RunSummary) -> String {
    if summary.rows.is_empty() {
        return "nothing new\n".to_owned();
    }
    let rows: Vec<String> = summary.rows.iter().map(|(table, rows)| format!("{table} {}", count(*rows))).collect();
    let [input, read, write_5m, write_1h, output, ..] = summary.added.counters;
    format!(
        "rows: {}\n{} requests: input {}, cache write {}, cache read {}, output {}\n",
        rows.join(", "),
        count(summary.added.requests),
        signed(input),
        signed(write_5m.saturating_add(write_1h)),
        signed(read),
        signed(output),
    )
}

#[cfg(feature = "duckdb")]
fn refresh(arguments: &MergeArgs, lake: &Lake, summary: &RunSummary) -> Result<()> {
    if !arguments.no_duckdb {
        super::database::refresh(lake, summary, &arguments.prices)?;
    }
    Ok(())
}

#[cfg(not(feature = "duckdb"))]
#[allow(clippy::unnecessary_wraps, reason = "the same signature with and without DuckDB")]
fn refresh(_: &MergeArgs, _: &Lake, _: &RunSummary) -> Result<()> {
    Ok(())
}
