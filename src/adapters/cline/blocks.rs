//! Content in the form of Anthropic's API, which histories and the newer generation keep.

use crate::adapters::draft::{Draft, ToolResult, content_text};
use crate::source::Json;

/// Adds a content, a text or blocks, to a record.
pub(super) fn read(draft: &mut Draft, content: Json<'_>) {
    if let Some(text) = content.as_str() {
        draft.text(text);
    }
    for block in content.items() {
        match block.str("type").unwrap_or_default() {
            "text" => draft.text(block.str("text").unwrap_or_default()),
            "thinking" | "reasoning" => draft.thinking(block.str("thinking").or(block.str("text")).unwrap_or_default()),
            "tool_use" => draft.call(block.str("id"), block.str("name"), None, block.get("input")),
            "tool_result" => draft.result(ToolResult {
                id: block.str("tool_use_id").map(str::to_owned),
                is_error: block.get("is_error").and_then(Json::as_bool).or(Some(false)),
                output: block.get("content").filter(|content| !content.is_null()).map(content_text),
                ..ToolResult::default()
            }),
            kind => draft.other(if kind.is_empty() { "unknown" } else { kind }),
        }
    }
}

/// Role and kind of a message of the API, once its content is read.
pub(super) fn kinds(role: &str, draft: &Draft) -> (&'static str, &'static str) {
    match role {
        "assistant" => ("assistant", "assistant"),
        "user" if draft.has_result() => ("user", "tool_result"),
        "user" => ("user", "human"),
        _ => ("system", "system"),
    }
}
