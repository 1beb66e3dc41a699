//! The content of a message: a text, or blocks. Gathers the texts and writes the rows of tool calls and results.

use super::prompt::written_by_person;
use super::tools::{CallFacts, ResultFacts};
use crate::model::tables::{ToolCallsRow, ToolResultsRow};
use crate::model::{Record, Rows};
use crate::source::Json;
use crate::source::json::write_string;

/// Buffers that are used again for every line.
#[derive(Debug, Default)]
pub(super) struct Scratch {
    blocks: String,
    text: String,
    thinking: String,
    input: String,
    output: String,
}

/// Texts joined by a newline; a single one is never copied.
#[derive(Debug, Clone, Copy, Default)]
struct Joined<'t> {
    first: Option<&'t str>,
    is_copied: bool,
}

impl<'t> Joined<'t> {
    fn push(&mut self, text: &'t str, buffer: &mut String) {
        let Some(first) = self.first else {
            self.first = Some(text);
            return;
        };
        if !self.is_copied {
            buffer.clear();
            buffer.push_str(first);
            self.is_copied = true;
        }
        buffer.push('\n');
        buffer.push_str(text);
    }

    fn get<'b>(self, buffer: &'b str) -> Option<&'b str>
    where
        't: 'b,
    {
        if self.is_copied { Some(buffer) } else { self.first }
    }
}

/// The members of a block that rows are made of.
#[derive(Debug, Clone, Copy, Default)]
struct Block<'t> {
    kind: &'t str,
    id: Option<&'t str>,
    tool_use_id: Option<&'t str>,
    name: Option<&'t str>,
    text: Option<&'t str>,
    thinking: Option<&'t str>,
    input: Option<Json<'t>>,
    content: Option<Json<'t>>,
    is_error: Option<bool>,
    server_name: Option<&'t str>,
}

impl<'t> Block<'t> {
    fn read(block: Json<'t>) -> Self {
        let mut read = Self::default();
        for (key, value) in block.fields() {
            match key {
                "type" => read.kind = value.as_str().unwrap_or_default(),
                "id" => read.id = value.as_str(),
                "tool_use_id" => read.tool_use_id = value.as_str(),
                "name" => read.name = value.as_str(),
                "text" => read.text = value.as_str(),
                "thinking" => read.thinking = value.as_str(),
                "input" => read.input = Some(value),
                "content" => read.content = Some(value),
                "is_error" => read.is_error = value.as_bool(),
                "server_name" => read.server_name = value.as_str(),
                _ => {}
            }
        }
        read
    }

    /// `tool_use`, `server_tool_use`, `mcp_tool_use`.
    fn is_call(&self) -> bool {
        self.kind.ends_with("tool_use")
    }

    /// `tool_result`, `web_search_tool_result`, `mcp_tool_result` …
    fn is_result(&self) -> bool {
        self.kind.ends_with("tool_result")
    }
}

/// What was gathered from the content of one line.
#[derive(Debug, Default)]
pub(super) struct Content<'t> {
    text: Joined<'t>,
    thinking: Joined<'t>,
    only_name: Option<&'t str>,
    names: Vec<&'t str>,
    has_blocks: bool,
    /// Whether there is a result of a tool that ran here.
    pub has_tool_result: bool,
    /// Whether there is a picture or a document.
    pub has_media: bool,
    /// The first text that a person wrote some of.
    pub prompt: Option<&'t str>,
}

impl<'t> Content<'t> {
    /// Reads `content` and writes the rows of the calls and results in it. `note` is the line's `toolUseResult`.
    pub fn read(
        content: Option<Json<'t>>,
        note: Option<Json<'t>>,
        record: &Record<'_>,
        scratch: &mut Scratch,
        out: &mut Rows,
    ) -> Self {
        let mut gathered = Self::default();
        scratch.blocks.clear();
        let Some(content) = content else { return gathered };
        if let Some(text) = content.as_str() {
            gathered.block("text", None, scratch);
            gathered.text(text, scratch);
        }
        let results = content.items().filter(|block| block.str("type") == Some("tool_result")).count();
        let facts = note.filter(|_| results == 1).map(ResultFacts::of).unwrap_or_default();
        for (index, block) in (0u32..).zip(content.items()) {
            let block = match block.as_str() {
                Some(text) => Block { kind: "text", text: Some(text), ..Block::default() },
                None => Block::read(block),
            };
            gathered.block(block.kind, block.id.or(block.tool_use_id), scratch);
            match block.kind {
                "text" => {
                    if let Some(text) = block.text {
                        gathered.text(text, scratch);
                    }
                }
                "thinking" => {
                    if let Some(text) = block.thinking.filter(|text| !text.is_empty()) {
                        gathered.thinking.push(text, &mut scratch.thinking);
                    }
                }
                "image" | "document" => gathered.has_media = true,
                _ if block.is_call() => gathered.call(&block, index, record, scratch, out),
                _ if block.is_result() => gathered.result(&block, facts, index, record, scratch, out),
                _ => {}
            }
        }
        if gathered.has_blocks {
            scratch.blocks.push(']');
        }
        gathered
    }

    /// Visible text.
    pub fn text_in<'b>(&self, scratch: &'b Scratch) -> Option<&'b str>
    where
        't: 'b,
    {
        self.text.get(&scratch.text)
    }

    /// Reasoning text.
    pub fn thinking_in<'b>(&self, scratch: &'b Scratch) -> Option<&'b str>
    where
        't: 'b,
    {
        self.thinking.get(&scratch.thinking)
    }

    /// Kinds and ids of the blocks, JSON.
    pub fn blocks_in<'b>(&self, scratch: &'b Scratch) -> Option<&'b str> {
        self.has_blocks.then_some(scratch.blocks.as_str())
    }

    /// Names of the tools that are called.
    pub fn tool_names(&self) -> Option<&[&'t str]> {
        match &self.only_name {
            Some(name) if self.names.is_empty() => Some(std::slice::from_ref(name)),
            Some(_) => Some(&self.names),
            None => None,
        }
    }

    fn block(&mut self, kind: &str, id: Option<&str>, scratch: &mut Scratch) {
        let blocks = &mut scratch.blocks;
        blocks.push_str(if self.has_blocks { ",{\"kind\":" } else { "[{\"kind\":" });
        self.has_blocks = true;
        write_string(kind, blocks);
        if let Some(id) = id {
            blocks.push_str(",\"id\":");
            write_string(id, blocks);
        }
        blocks.push('}');
    }

    fn text(&mut self, text: &'t str, scratch: &mut Scratch) {
        if self.prompt.is_none() && !written_by_person(text).is_empty() {
            self.prompt = Some(text);
        }
        self.text.push(text, &mut scratch.text);
    }

    fn call(&mut self, block: &Block<'t>, index: u32, record: &Record<'_>, scratch: &mut Scratch, out: &mut Rows) {
        if let Some(name) = block.name {
            if let Some(first) = self.only_name {
                if self.names.is_empty() {
                    self.names.push(first);
                }
                self.names.push(name);
            } else {
                self.only_name = Some(name);
            }
        }
        let facts = block.input.map(|input| CallFacts::of(block.name.unwrap_or_default(), input)).unwrap_or_default();
        scratch.input.clear();
        if let Some(input) = block.input {
            input.write_to(&mut scratch.input);
        }
        let row = ToolCallsRow {
            tool_use_id: block.id,
            name: block.name,
            mcp_server: block.server_name.or(facts.mcp_server),
            input: block.input.map(|_| scratch.input.as_str()),
            file_path: facts.file_path,
            lines_added: facts.lines_added,
            lines_removed: facts.lines_removed,
            block_index: Some(i64::from(index)),
        };
        out.tool_call(record, index, &row);
    }

    fn result(
        &mut self,
        block: &Block<'t>,
        facts: ResultFacts,
        index: u32,
        record: &Record<'_>,
        scratch: &mut Scratch,
        out: &mut Rows,
    ) {
        let own = block.kind == "tool_result";
        self.has_tool_result |= own;
        let output = block.content.filter(|content| !content.is_null()).map(|content| Output::of(content, scratch));
        let has_failed = output.as_ref().is_some_and(|output| output.is_error);
        let is_error = block.is_error.unwrap_or(has_failed);
        let text = output.and_then(|output| output.text.get(&scratch.output));
        let facts = if own { facts } else { ResultFacts::default() };
        let facts = if is_error { facts.with_failure(text) } else { facts };
        let row = ToolResultsRow {
            tool_use_id: block.tool_use_id,
            is_error: Some(is_error),
            output: text,
            exit_code: facts.exit_code,
            duration_ms: facts.duration_ms,
        };
        out.tool_result(record, index, &row);
    }
}

/// The text of a result.
struct Output<'t> {
    text: Joined<'t>,
    is_error: bool,
}

impl<'t> Output<'t> {
    fn of(content: Json<'t>, scratch: &mut Scratch) -> Self {
        let mut text = Joined::default();
        if let Some(only) = content.as_str() {
            text.push(only, &mut scratch.output);
            return Self { text, is_error: false };
        }
        if !content.is_array() {
            scratch.output.clear();
            content.write_to(&mut scratch.output);
            let is_error = content.str("type").is_some_and(|kind| kind.ends_with("_error"));
            return Self { text: Joined { first: Some(""), is_copied: true }, is_error };
        }
        for part in content.items() {
            match part.str("type") {
                Some("image") => text.push("[image]", &mut scratch.output),
                Some("document") => text.push("[document]", &mut scratch.output),
                _ => {
                    // Text; or a reference to a tool, a search hit, and what else the API comes to return.
                    for key in ["text", "tool_name", "title", "url"] {
                        if let Some(piece) = part.str(key) {
                            text.push(piece, &mut scratch.output);
                            if key == "text" {
                                break;
                            }
                        }
                    }
                }
            }
        }
        Self { text, is_error: false }
    }
}

/// Names of the tools that are called in the content of a message.
pub(super) fn call_names(content: Json<'_>) -> impl Iterator<Item = &str> {
    content.items().map(Block::read).filter(Block::is_call).filter_map(|block| block.name)
}
