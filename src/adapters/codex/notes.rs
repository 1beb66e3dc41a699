//! Lines that are neither items, nor events, nor usage: compactions, snapshots of Codex's own state, and what is not known.

use super::fold::{CodexFold, Envelope, Place};
use super::outputs::append_content;
use crate::adapters::append_only::TimedLine;
use crate::adapters::buffers::filled;
use crate::model::Rows;
use crate::model::tables::MessagesRow;
use crate::source::Json;

impl CodexFold {
    /// One line of another kind.
    pub(super) fn note(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let payload = envelope.payload;
        let Self { state, buffers, identity, .. } = self;
        buffers.clear();
        let mut text = None;
        let mut is_known = true;
        let kind = match envelope.kind {
            "compacted" => {
                // The record inside is a copy of one that has a line of its own; the history is a copy of the items.
                text = payload.str("message");
                let history = payload.get("replacement_history");
                let length = history.and_then(|history| i64::try_from(history.len()).ok());
                buffers.attributes.number("replacement_items", length);
                buffers.attributes.text("response_id", payload.str("compaction_response_id"));
                buffers.attributes.text("window_id", payload.str("window_id"));
                "summary"
            }
            "inter_agent_communication" => {
                for name in ["author", "recipient"] {
                    buffers.attributes.text(name, payload.str(name));
                }
                match payload.get("content") {
                    Some(content) if content.is_array() => append_content(content, &mut buffers.text),
                    content => text = content.and_then(Json::as_str),
                }
                "injected"
            }
            "world_state"
            | "inter_agent_communication_metadata"
            | "retained_context"
            | "security_risk_score"
            | "realtime_item" => "meta",
            _ => {
                is_known = false;
                "meta"
            }
        };
        buffers.block(if envelope.kind.is_empty() { "unknown" } else { envelope.kind }, None);
        buffers.finish_blocks();
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        let row = MessagesRow {
            role: Some("system"),
            kind: Some(kind),
            content_text: text.and_then(filled).or(filled(&buffers.text)),
            blocks: filled(&buffers.blocks),
            attributes: buffers.attributes.finish(),
            ..place.message(&state.context)
        };
        out.message(&place.record, &row);
        if !is_known {
            let kind = if envelope.kind.is_empty() { "(none)" } else { envelope.kind };
            self.unknown(kind, None, line, out);
        }
    }
}
