//! Whether checkpoints still fit the sources that they speak of, for `agentlake verify`.

use std::path::Path;

use rayon::prelude::*;

use crate::adapters;
use crate::lake::verify::{Audit, FindingKind};
use crate::lake::{Result, State};
use crate::source::{Checkpoint, FileStat, Source, SourceKind};

/// Compares the checkpoint of every plain line source with its file. A file that changed since is the next export's
/// business; one that did not must still begin and end as it was read.
///
/// # Errors
/// The state cannot be read.
pub fn check(state: &State, now: i64, audit: &mut Audit) -> Result<()> {
    let mut to_read = Vec::new();
    let mut shrunk = 0_u64;
    for known in state.sources()? {
        let Some(adapter) = adapters::by_slug(&known.provider) else { continue };
        let is_plain = known.path.extension().is_some_and(|extension| extension == "jsonl");
        let Ok(metadata) = fs_err::metadata(&known.path) else { continue };
        if !is_plain || !metadata.is_file() {
            continue;
        }
        let stat = FileStat::of(&metadata);
        let Some((checkpoint, _)) = state.checkpoint(known.id)? else { continue };
        if checkpoint.is_unknown() || checkpoint.head_len == 0 {
            continue;
        }
        shrunk += u64::from(stat.size < checkpoint.offset);
        if stat == known.stat {
            let provider = adapter.info().slug;
            let family = known.path.parent().unwrap_or(Path::new("")).to_owned();
            let source = Source { provider, path: known.path, kind: SourceKind::Lines, stat, family };
            let marks = Checkpoint { carry: String::new(), seen: Vec::new(), ..checkpoint };
            to_read.push((source, marks));
        }
    }
    let differing: Vec<&(Source, Checkpoint)> = to_read
        .par_iter()
        // A file that cannot be opened any more says nothing about its checkpoint.
        .filter(|(source, checkpoint)| !is_as_remembered(source, checkpoint, now))
        .collect();
    for (source, checkpoint) in differing {
        let detail = format!(
            "by size and times it is as it was read, but its bytes before {} are not those that the state remembers",
            checkpoint.offset
        );
        audit.findings.add(FindingKind::CheckpointMismatch, &source.path, &detail);
    }
    if shrunk > 0 {
        audit.notes.push(format!("{shrunk} sources are shorter than when they were read; the next export tells more"));
    }
    Ok(())
}

/// Whether a file is as its checkpoint says. Some tools replay their lines as one document; which way a file was read, its
/// adapter knows and the state does not, so either will do.
fn is_as_remembered(source: &Source, checkpoint: &Checkpoint, now: i64) -> bool {
    let as_kind = |kind| adapters::matches(&Source { kind, ..source.clone() }, checkpoint, now).unwrap_or(true);
    as_kind(SourceKind::Lines) || as_kind(SourceKind::ReplayedLines)
}
