//! Pi, and OpenClaw, which writes the same entries: one file per session, lines of JSON that form a tree.
//!
//! What an entry looks like and which rules turn it into rows stands in `docs/formats/pi.md` and `docs/formats/openclaw.md`.
//! [`fold`] carries what entries say of the ones after them, [`entries`] writes rows, [`usage`] claims what calls cost.

mod discovery;
mod entries;
mod fold;
#[cfg(test)]
mod tests;
mod usage;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, append_only};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

use fold::Fold;

/// Reads the sessions of Pi.
#[derive(Debug)]
pub struct Pi;

/// Reads the sessions of OpenClaw.
#[derive(Debug)]
pub struct OpenClaw;

impl SourceAdapter for Pi {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: discovery::PI,
            name: "Pi",
            beta: false,
            restates: false,
            numbers: "The API's own counters of each response, also of branches that were left; versions before 0.70 \
                      counted reasoning twice for some OpenAI-compatible services.",
            keeps_days: None,
        }
    }

    fn enumerate(&self, roots: &Roots) -> Enumeration {
        discovery::enumerate(discovery::PI, roots)
    }

    fn read(
        &self,
        source: &Source,
        checkpoint: Option<&Checkpoint>,
        limits: &ReadLimits,
        out: &mut Rows,
    ) -> io::Result<Progress> {
        read(source, checkpoint, limits, out)
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::roots(discovery::PI, roots)
    }
}

impl SourceAdapter for OpenClaw {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: discovery::OPENCLAW,
            name: "OpenClaw",
            beta: false,
            restates: false,
            numbers: "The API's own counters of each response; messages that the gateway wrote itself are no requests.",
            keeps_days: None,
        }
    }

    fn enumerate(&self, roots: &Roots) -> Enumeration {
        discovery::enumerate(discovery::OPENCLAW, roots)
    }

    fn read(
        &self,
        source: &Source,
        checkpoint: Option<&Checkpoint>,
        limits: &ReadLimits,
        out: &mut Rows,
    ) -> io::Result<Progress> {
        read(source, checkpoint, limits, out)
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::roots(discovery::OPENCLAW, roots)
    }
}

fn read(source: &Source, checkpoint: Option<&Checkpoint>, limits: &ReadLimits, out: &mut Rows) -> io::Result<Progress> {
    let name_id = discovery::session_id_of(&source.path);
    let agent = discovery::agent_of(&source.path);
    append_only::read(source, checkpoint, limits, out, |carry| {
        Fold::new(source.provider, &name_id, agent.as_deref(), carry)
    })
}
