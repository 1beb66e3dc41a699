//! A task of which only the model's side is left: messages and tools, without times and counters.

use std::path::Path;

use xxhash_rust::xxh3::xxh3_64;

use super::blocks;
use super::discovery::{Member, task_id, task_start};
use super::sidecars::Sidecars;
use crate::adapters::document::{Open, Shown};
use crate::adapters::draft::Draft;
use crate::model::tables::MessagesRow;
use crate::model::{Identity, IssueKind, Rows, SessionFacts, time};
use crate::source::Json;

/// Writes everything new of a history; returns the task's id.
pub(super) fn write(json: Json<'_>, _: &Member, path: &Path, open: &mut Open, out: &mut Rows) -> Option<String> {
    let session_id = task_id(path);
    if !json.is_array() {
        open.issue(None, 0, IssueKind::UnknownRecord, "the document is no list of messages", out);
        return None;
    }
    open.session_starts(task_start(&session_id));
    let mut sidecars = Sidecars::default();
    sidecars.read_history(json);
    let facts = out.session(&session_id);
    SessionFacts::set_once(&mut facts.cwd, sidecars.cwd.as_deref());
    SessionFacts::set_once(&mut facts.project, sidecars.cwd.as_deref());
    let mut draft = Draft::default();
    for (seq, message) in (0..).zip(json.items()) {
        let text = message.to_text();
        let shown = Shown {
            session_id: &session_id,
            identity: Identity::Content(text.as_bytes()),
            seq,
            ts: message.get("ts").and_then(Json::as_i64).and_then(time::from_millis),
            content: xxh3_64(text.as_bytes()),
            is_final: true,
        };
        let Some(begun) = open.begin(&shown, out) else { continue };
        draft.clear();
        if let Some(content) = message.get("content") {
            blocks::read(&mut draft, content);
        }
        let (role, kind) = blocks::kinds(message.str("role").unwrap_or_default(), &draft);
        let row = MessagesRow {
            ts_basis: Some(begun.ts_basis.as_str()),
            role: Some(role),
            kind: Some(kind),
            model: sidecars.model_at(begun.record.ts).filter(|_| role == "assistant"),
            cwd: sidecars.cwd.as_deref(),
            ..MessagesRow::default()
        };
        draft.write(&begun.record, &row, out);
    }
    Some(session_id)
}
