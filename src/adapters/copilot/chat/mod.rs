//! Chats of VS Code: a document, or a log of changes that is replayed to one. [`changes`] replays, [`requests`] writes rows.

mod changes;
mod requests;

use std::io;

use super::discovery::{chat_folder, session_id_of};
use crate::adapters::{Progress, document};
use crate::model::Rows;
use crate::source::{Checkpoint, ReadLimits, Source};

/// Reads what changed in a chat.
///
/// # Errors
/// The source cannot be opened or read.
pub(super) fn read(
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    limits: &ReadLimits,
    out: &mut Rows,
) -> io::Result<Progress> {
    let name_id = session_id_of(&source.path);
    let cwd = chat_folder(&source.path);
    document::read(source, checkpoint, limits, out, |bytes, open, out| {
        let place = requests::Place { name_id: &name_id, cwd: cwd.as_deref() };
        if !super::is_log(source.kind) {
            return open.parse(bytes, out, |json, open, out| requests::write(json, &place, open, out));
        }
        let Some(replayed) = changes::replay(bytes, &name_id, open, out) else { return Ok(None) };
        open.parse(replayed.as_bytes(), out, |json, open, out| requests::write(json, &place, open, out))
    })
}
