//! Claude Code: transcripts below `projects/`, one line of JSON per record, one line per content block of a response.
//!
//! What a line looks like and which rules turn it into rows stands in `docs/formats/claude.md`. This folder is split by
//! the parts of a line: [`envelope`] (what every line has), [`content`] and [`tools`] (blocks), [`usage`] and [`claims`]
//! (what a response cost), [`prompt`] (who wrote a text), [`records`] (one row per line) and [`fold`] (what is carried
//! from line to line). Which of several claims for one response counts is the ledger's matter, not this adapter's.

mod attributes;
mod claims;
mod content;
mod discovery;
mod envelope;
mod fold;
mod place;
mod progress;
mod prompt;
mod records;
mod session;
#[cfg(test)]
mod tests;
mod tools;
mod usage;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, append_only};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

use fold::Fold;
use place::{AgentMeta, Place};

/// The slug of the provider.
const SLUG: &str = "claude";

/// Reads the sessions of Claude Code.
#[derive(Debug)]
pub struct ClaudeCode;

impl SourceAdapter for ClaudeCode {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: SLUG,
            name: "Claude Code",
            beta: false,
            restates: false,
            numbers: "The API's own counters, one request per response id. Side calls that the tool does not write down \
                      (titles, compaction) are missing, and output of versions before 2.1.62 is often a lower bound.",
            keeps_days: Some(30),
        }
    }

    fn enumerate(&self, roots: &Roots) -> Enumeration {
        discovery::enumerate(roots)
    }

    fn read(
        &self,
        source: &Source,
        checkpoint: Option<&Checkpoint>,
        limits: &ReadLimits,
        out: &mut Rows,
    ) -> io::Result<Progress> {
        let place = Place::of(&source.path, &source.family);
        let meta = place.agent().and_then(|_| AgentMeta::beside(&source.path));
        append_only::read(source, checkpoint, limits, out, |carry| Fold::new(place.clone(), meta.clone(), carry))
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::roots(roots)
    }
}
