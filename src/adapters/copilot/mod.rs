//! GitHub Copilot: event logs of the CLI, one per session, and the chats of VS Code, documents or logs of changes.
//!
//! What they look like and which rules turn them into rows stands in `docs/formats/copilot.md`. Of the CLI, [`fold`] carries
//! what events say of later ones, [`events`] writes rows and [`calls`] tells what model calls cost; [`chat`] is VS Code's.

mod calls;
mod chat;
mod discovery;
mod events;
mod fold;
#[cfg(test)]
mod tests;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, append_only};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Roots, Source, SourceKind};

use discovery::Workspace;
use fold::Fold;

/// The slug of the provider.
const SLUG: &str = "copilot";

/// Reads the sessions of GitHub Copilot.
#[derive(Debug)]
pub struct Copilot;

impl SourceAdapter for Copilot {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: SLUG,
            name: "GitHub Copilot",
            beta: false,
            restates: true,
            numbers: "CLI: output of each call; prompts only as a sum per model when a session ends, so NULL for sessions \
                      that were killed. VS Code: output of each turn, the prompt only where the turn was one call.",
            keeps_days: None,
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
        if source.kind.is_restated() {
            return chat::read(source, checkpoint, limits, out);
        }
        let name_id = discovery::session_id_of(&source.path);
        let workspace = Workspace::beside(&source.path);
        append_only::read(source, checkpoint, limits, out, |carry| Fold::new(&name_id, &workspace, carry))
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::roots(roots)
    }
}

/// Whether a source of VS Code is a log of changes rather than a document.
fn is_log(kind: SourceKind) -> bool {
    kind == SourceKind::ReplayedLines
}
