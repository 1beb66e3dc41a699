//! One record under construction: its texts, blocks, tool calls and results, gathered block by block and then written as
//! rows. For adapters whose records are few; those of Claude Code and Codex write without gathering.

use super::buffers::{Buffers, append_line, filled};
use super::tool_facts::ToolFacts;
use crate::model::tables::{MessagesRow, ToolCallsRow, ToolResultsRow};
use crate::model::{Record, Rows};
use crate::source::Json;

/// A record under construction. Used again for the next one after [`clear`](Self::clear).
#[derive(Debug, Default)]
pub struct Draft {
    /// Texts, blocks and attributes.
    pub buffers: Buffers,
    calls: Vec<Call>,
    results: Vec<ToolResult>,
}

/// A tool call.
#[derive(Debug, Clone, Default)]
struct Call {
    id: Option<String>,
    name: Option<String>,
    mcp_server: Option<String>,
    input: Option<String>,
    file_path: Option<String>,
    lines_added: Option<i64>,
    lines_removed: Option<i64>,
}

/// The result of a tool call.
#[derive(Debug, Clone, Default)]
pub struct ToolResult {
    /// Links it to its call.
    pub id: Option<String>,
    /// Whether the tool failed.
    pub is_error: Option<bool>,
    /// What it returned.
    pub output: Option<String>,
    /// Exit code of a command.
    pub exit_code: Option<i64>,
    /// Milliseconds that it ran.
    pub duration_ms: Option<i64>,
}

impl Draft {
    /// Starts over.
    pub fn clear(&mut self) {
        self.buffers.clear();
        self.calls.clear();
        self.results.clear();
    }

    /// Adds visible text.
    pub fn text(&mut self, text: &str) {
        self.buffers.block("text", None);
        if !text.is_empty() {
            append_line(&mut self.buffers.text, text);
        }
    }

    /// Adds reasoning text.
    pub fn thinking(&mut self, text: &str) {
        self.buffers.block("thinking", None);
        if !text.is_empty() {
            append_line(&mut self.buffers.thinking, text);
        }
    }

    /// Adds a block that has neither text nor a tool, such as a picture.
    pub fn other(&mut self, kind: &str) {
        self.buffers.block(kind, None);
    }

    /// Adds a tool call.
    pub fn call(&mut self, id: Option<&str>, name: Option<&str>, mcp_server: Option<&str>, input: Option<Json<'_>>) {
        self.buffers.block("tool_call", id);
        let owned = |text: Option<&str>| text.map(str::to_owned);
        let name_here = name.unwrap_or_default();
        let server = mcp_server.or_else(|| Some(name_here.strip_prefix("mcp__")?.split_once("__")?.0));
        let facts = input.map(|input| ToolFacts::of(name_here, input)).unwrap_or_default();
        self.calls.push(Call {
            id: owned(id),
            name: owned(name),
            mcp_server: owned(server.filter(|server| !server.is_empty())),
            input: input.filter(|input| !input.is_null()).map(text_of),
            file_path: owned(facts.file_path),
            lines_added: facts.lines_added,
            lines_removed: facts.lines_removed,
        });
    }

    /// Adds the result of a tool call.
    pub fn result(&mut self, result: ToolResult) {
        self.buffers.block("tool_result", result.id.as_deref());
        self.results.push(result);
    }

    /// Whether the record has a result.
    #[must_use]
    pub fn has_result(&self) -> bool {
        !self.results.is_empty()
    }

    /// Visible text so far.
    #[must_use]
    pub fn visible(&self) -> &str {
        &self.buffers.text
    }

    /// Writes the rows of the record: the message, with the texts, blocks, tool names and attributes of the draft put into
    /// `row`, and every call and result.
    pub fn write(&mut self, record: &Record<'_>, row: &MessagesRow<'_>, out: &mut Rows) {
        let names: Vec<&str> = self.calls.iter().filter_map(|call| call.name.as_deref()).collect();
        self.buffers.finish_blocks();
        let _ = self.buffers.attributes.finish();
        let row = MessagesRow {
            content_text: filled(&self.buffers.text),
            thinking_text: filled(&self.buffers.thinking),
            tool_names: (!names.is_empty()).then_some(names.as_slice()),
            blocks: filled(&self.buffers.blocks),
            attributes: self.buffers.attributes.written(),
            ..*row
        };
        out.message(record, &row);
        for (index, call) in (0_u32..).zip(&self.calls) {
            let row = ToolCallsRow {
                tool_use_id: call.id.as_deref(),
                name: call.name.as_deref(),
                mcp_server: call.mcp_server.as_deref(),
                input: call.input.as_deref(),
                file_path: call.file_path.as_deref(),
                lines_added: call.lines_added,
                lines_removed: call.lines_removed,
                block_index: Some(i64::from(index)),
            };
            out.tool_call(record, index, &row);
        }
        for (index, result) in (0_u32..).zip(&self.results) {
            let row = ToolResultsRow {
                tool_use_id: result.id.as_deref(),
                is_error: result.is_error,
                output: result.output.as_deref(),
                exit_code: result.exit_code,
                duration_ms: result.duration_ms,
            };
            out.tool_result(record, index, &row);
        }
    }
}

/// A value as text: strings as they are, everything else as JSON.
#[must_use]
pub fn text_of(value: Json<'_>) -> String {
    value.as_str().map_or_else(|| value.to_text(), str::to_owned)
}

/// The texts in a content that is a string or an array of parts with a `text`; pictures by their name.
#[must_use]
pub fn content_text(content: Json<'_>) -> String {
    if !content.is_array() {
        return text_of(content);
    }
    let mut text = String::new();
    for part in content.items() {
        match part.as_str().or_else(|| part.str("text")) {
            Some(piece) => append_line(&mut text, piece),
            None => append_line(&mut text, &format!("[{}]", part.str("type").unwrap_or("content"))),
        }
    }
    text
}
