//! Qwen Code: chats below `projects/<project>/chats/`, one line of JSON per record, and those of its subagents.
//!
//! What a record looks like and which rules turn it into rows stands in `docs/formats/qwen.md`. [`fold`] carries what
//! records say of later ones and writes rows, [`usage`] claims what responses cost.

mod discovery;
mod fold;
mod usage;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, append_only};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

/// The slug of the provider.
const SLUG: &str = "qwen";

/// Reads the sessions of Qwen Code.
#[derive(Debug)]
pub struct Qwen;

impl SourceAdapter for Qwen {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: SLUG,
            name: "Qwen Code",
            beta: false,
            restates: false,
            numbers: "The API's own counters of each response. Whether reasoning is in the output differs between services \
                      and is told by their totals; some services' reasoning is an estimate of the tool.",
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
        let place = discovery::Place::of(&source.path);
        append_only::read(source, checkpoint, limits, out, |carry| fold::Fold::new(&place, carry))
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::root(roots).into_iter().collect()
    }
}
