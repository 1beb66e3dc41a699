//! Cline, Roo Code and Kilo Code: extensions of one family that keep each task as JSON documents.
//!
//! What the documents look like and which rules turn them into rows stands in `docs/formats/cline.md`. [`classic`] reads
//! `ui_messages.json`, which all three write, or wrote; [`sdk`] the sessions of Cline's newer generation and [`history`] a
//! task of which only the model's side is left. [`usage`] knows what `tokensIn` means where, and [`claims`]
//! claims it.

mod blocks;
mod claims;
mod classic;
mod discovery;
mod history;
mod sdk;
mod sidecars;
#[cfg(test)]
mod tests;
mod usage;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, document};
use crate::model::Rows;
use crate::source::{Checkpoint, QUIET, ReadLimits, Roots, Source};

use discovery::{CLINE, Form, KILO, Member, ROO};

macro_rules! member {
    ($(#[$meta:meta])* $adapter:ident, $member:expr, $name:literal, $numbers:literal) => {
        $(#[$meta])*
        #[derive(Debug)]
        pub struct $adapter;

        impl SourceAdapter for $adapter {
            fn info(&self) -> ProviderInfo {
                ProviderInfo {
                    slug: $member.slug,
                    name: $name,
                    beta: true,
                    restates: true,
                    numbers: $numbers,
                    keeps_days: None,
                }
            }

            fn enumerate(&self, roots: &Roots) -> Enumeration {
                discovery::enumerate(&$member, roots)
            }

            fn read(
                &self,
                source: &Source,
                checkpoint: Option<&Checkpoint>,
                limits: &ReadLimits,
                out: &mut Rows,
            ) -> io::Result<Progress> {
                read(&$member, source, checkpoint, limits, out)
            }

            fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
                discovery::roots(&$member, roots)
            }
        }
    };
}

member!(
    /// Reads the tasks of Cline.
    Cline,
    CLINE,
    "Cline",
    "Counters of each request as the extension shows them. Whether a prompt includes what came from the cache depends on the \
     service and is not recorded before 4.1; costs are the service's or an estimate, which cannot be told apart."
);
member!(
    /// Reads the tasks of Roo Code.
    Roo,
    ROO,
    "Roo Code",
    "Counters of each request as the extension shows them: whole prompts since November 2025, before that by protocol. Costs \
     are the service's or an estimate."
);
member!(
    /// Reads the tasks of Kilo Code up to version 5.
    Kilo,
    KILO,
    "Kilo Code",
    "Counters of each request as the extension shows them: whole prompts since November 2025, before that by protocol. \
     Sessions of version 7 and of the CLI are in a database that is not read yet."
);

fn read(
    member: &'static Member,
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    limits: &ReadLimits,
    out: &mut Rows,
) -> io::Result<Progress> {
    let form = Form::of(&source.path);
    // A task that begins may have its history before the file that people see, which says all of it better.
    if form == Form::History && limits.now.saturating_sub(source.stat.mtime) < QUIET {
        return Ok(Progress::default());
    }
    let is_first = checkpoint.is_none_or(|before| before.offset == 0);
    document::read(source, checkpoint, limits, out, |bytes, open, out| {
        open.parse(bytes, out, |json, open, out| match form {
            Form::Classic => classic::write(json, member, &source.path, is_first, open, out),
            Form::Sdk => sdk::write(json, member, &source.path, open, out),
            Form::History => history::write(json, member, &source.path, open, out),
        })
    })
}
