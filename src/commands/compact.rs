//! `agentlake compact`: merges the parts of days that are over, and of days with many parts.

use std::io::{self, Write as _};

use anyhow::{Result, bail};

use super::{places, summary};
use crate::cli::SummaryFormat;
use crate::cli::upkeep::CompactArgs;
use crate::lake::compact::{self, Choice, Compacted};
use crate::lake::{Lake, Layout, commit};

/// Runs a compaction.
///
/// # Errors
/// There is no lake, another run writes to it, a part is damaged or foreign, or the lake cannot be written.
pub fn run(arguments: &CompactArgs) -> Result<()> {
    if let Some(threads) = arguments.threads {
        // Fails only if a pool exists, which nothing before this line makes.
        let _ = rayon::ThreadPoolBuilder::new().num_threads(usize::from(threads)).build_global();
    }
    let root = places::lake(&arguments.lake)?;
    if !Layout::new(&root).state_file().exists() {
        bail!("there is no lake in {}; run `agentlake export` first, or name one with --lake", places::short(&root));
    }
    let mut lake = Lake::open(&root)?;
    commit::check_parts(&lake.layout, &lake.state)?;
    let choice = Choice::Asked {
        // Not checked against the adapters of this build: a lake may hold providers that it does not know.
        providers: arguments.provider.clone(),
        before: arguments.before.map(|day| day.to_string()),
    };
    let now = chrono::Utc::now().timestamp_micros();
    let due = compact::choose::choose(&lake.state, &choice, now)?;
    let done = compact::compact(&mut lake, &due, now, &|_| {})?;
    if arguments.quiet {
        return Ok(());
    }
    io::stdout().write_all(text(&done, &lake, arguments.format).as_bytes())?;
    Ok(())
}

fn text(done: &Compacted, lake: &Lake, format: SummaryFormat) -> String {
    match format {
        SummaryFormat::Table => {
            let mut lines: Vec<String> =
                lake.recovered.iter().map(|batch| format!("finished batch {batch} of a run that was killed")).collect();
            lines.push(summary::merged(done).unwrap_or_else(|| "nothing to merge".to_owned()));
            lines.join("\n") + "\n"
        }
        SummaryFormat::Json => {
            let mut value = summary::merged_as_json(done);
            if let Some(object) = value.as_object_mut() {
                object.insert("recovered_batches".to_owned(), lake.recovered.clone().into());
            }
            format!("{value:#}\n")
        }
    }
}
