//! Text buffers that are used again for every line.

use crate::source::Json;
use crate::source::json::write_string;

/// Texts of the row that is being written.
#[derive(Debug, Default)]
pub struct Buffers {
    /// Visible text.
    pub text: String,
    /// Reasoning text.
    pub thinking: String,
    /// JSON array of blocks.
    pub blocks: String,
    /// JSON object of what only one provider knows.
    pub attributes: Attributes,
    /// Name of a tool that is made of parts.
    pub name: String,
    /// JSON text of a tool's input.
    pub input: String,
}

impl Buffers {
    /// Empties what a row is made of.
    pub fn clear(&mut self) {
        self.text.clear();
        self.thinking.clear();
        self.blocks.clear();
        self.attributes.clear();
        self.name.clear();
        self.input.clear();
    }

    /// Adds a block to the ordered list.
    pub fn block(&mut self, kind: &str, id: Option<&str>) {
        self.blocks.push(if self.blocks.is_empty() { '[' } else { ',' });
        self.blocks.push_str("{\"type\":");
        write_string(kind, &mut self.blocks);
        if let Some(id) = id {
            self.blocks.push_str(",\"id\":");
            write_string(id, &mut self.blocks);
        }
        self.blocks.push('}');
    }

    /// Ends the list of blocks, once; `None` if there are none.
    pub fn finish_blocks(&mut self) -> Option<&str> {
        if self.blocks.is_empty() {
            return None;
        }
        self.blocks.push(']');
        Some(&self.blocks)
    }
}

/// Appends a paragraph.
pub fn append_line(text: &mut String, line: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// `None` for an empty text.
#[must_use]
pub fn filled(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// A JSON object under construction.
#[derive(Debug, Default)]
pub struct Attributes(String);

impl Attributes {
    /// Starts over.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn name(&mut self, name: &str) -> &mut String {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        write_string(name, &mut self.0);
        self.0.push(':');
        &mut self.0
    }

    /// Adds a text, if there is one.
    pub fn text(&mut self, name: &str, value: Option<&str>) {
        if let Some(value) = value {
            write_string(value, self.name(name));
        }
    }

    /// Adds a JSON value, if there is one that is not `null`.
    pub fn json(&mut self, name: &str, value: Option<Json<'_>>) {
        if let Some(value) = value.filter(|value| !value.is_null()) {
            value.write_to(self.name(name));
        }
    }

    /// Adds a number.
    pub fn number(&mut self, name: &str, value: Option<i64>) {
        use std::fmt::Write as _;
        if let Some(value) = value {
            let _ = write!(self.name(name), "{value}");
        }
    }

    /// Adds `true` where it holds.
    pub fn flag(&mut self, name: &str, holds: bool) {
        if holds {
            self.name(name).push_str("true");
        }
    }

    /// The object, once it is ended; `None` if it is empty.
    #[must_use]
    pub fn written(&self) -> Option<&str> {
        filled(&self.0)
    }

    /// Ends the object, once; `None` if it is empty.
    pub fn finish(&mut self) -> Option<&str> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push('}');
        Some(&self.0)
    }
}
