//! Gemini CLI: chats below `tmp/<project>/chats/`, one JSON document or, in newer versions, one log per session.
//!
//! What a chat looks like and which rules turn it into rows stands in `docs/formats/gemini.md`. [`conversation`] brings
//! both forms to one list of messages, [`messages`] writes their rows, [`usage`] claims what they cost.

mod conversation;
mod discovery;
mod messages;
#[cfg(test)]
mod tests;
mod usage;

use std::io;
use std::path::PathBuf;

use super::{Enumeration, Progress, ProviderInfo, SourceAdapter, document};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Roots, Source, SourceKind};

use conversation::Conversation;
use discovery::Place;

/// The slug of the provider.
const SLUG: &str = "gemini";

/// Reads the sessions of Gemini CLI.
#[derive(Debug)]
pub struct Gemini;

impl SourceAdapter for Gemini {
    fn info(&self) -> ProviderInfo {
        ProviderInfo {
            slug: SLUG,
            name: "Gemini CLI",
            beta: false,
            restates: true,
            numbers: "The API's own counters of each answered request, thoughts included in output. Failed and retried \
                      attempts are not written down, and a counter that the API left out is written as zero.",
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
        let place = Place::of(&source.path);
        document::read(source, checkpoint, limits, out, |bytes, open, out| {
            let conversation = if source.kind == SourceKind::ReplayedLines {
                Conversation::replay(bytes, &place, open, out)
            } else {
                Conversation::of_document(bytes, &place, open, out)?
            };
            Ok(messages::write(&conversation, &place, open, out))
        })
    }

    fn watch_paths(&self, roots: &Roots) -> Vec<PathBuf> {
        discovery::root(roots).into_iter().collect()
    }
}
