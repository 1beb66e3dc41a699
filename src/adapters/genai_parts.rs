//! Parts of a content in the form of Google's API (`text`, `functionCall`, `functionResponse`), which the tools made of
//! Gemini CLI keep in their sessions.

use super::draft::{Draft, ToolResult, text_of};
use crate::source::Json;

/// Adds one part to a record.
pub fn read(draft: &mut Draft, part: Json<'_>) {
    if let Some(text) = part.as_str() {
        draft.text(text);
    } else if let Some(text) = part.str("text") {
        if part.get("thought").and_then(Json::as_bool) == Some(true) {
            draft.thinking(text);
        } else {
            draft.text(text);
        }
    } else if let Some(call) = part.get("functionCall") {
        draft.call(call.str("id"), call.str("name"), None, call.get("args"));
    } else if let Some(response) = part.get("functionResponse") {
        let (output, is_error) = response_text(response);
        let id = response.str("id").map(str::to_owned);
        draft.result(ToolResult { id, is_error: Some(is_error), output: Some(output), ..ToolResult::default() });
    } else {
        let kind = part.fields().next().map_or("unknown", |(key, _)| key);
        draft.other(kind);
    }
}

/// The text of a `functionResponse`, and whether it is an error.
#[must_use]
pub fn response_text(response: Json<'_>) -> (String, bool) {
    let Some(response) = response.get("response") else { return (String::new(), false) };
    match (response.get("output"), response.get("error")) {
        (_, Some(error)) if !error.is_null() => (text_of(error), true),
        (Some(output), _) => (text_of(output), false),
        _ => (text_of(response), false),
    }
}
