//! The `attributes` column: a JSON object of what no other column holds, written piece by piece into one buffer.

use crate::source::Json;
use crate::source::json::write_string;

/// Texts up to this length count as facts; longer ones are content that stands elsewhere.
const MAX_FACT_BYTES: usize = 200;
/// Members that hold content, however short: it stands in the text of a call or a result too.
const CONTENT: &[&str] = &[
    "content",
    "fullOutput",
    "newString",
    "oldString",
    "originalFile",
    "output",
    "prompt",
    "result",
    "stderr",
    "stdout",
    "text",
    "thinking",
];
/// How deep facts are looked for.
const MAX_FACT_DEPTH: usize = 3;

/// Writes one JSON object at a time; its buffer is used again.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    text: String,
}

impl Attributes {
    /// Begins a new object.
    pub fn begin(&mut self) {
        self.text.clear();
    }

    /// Adds a member; `null` is left out.
    pub fn put(&mut self, key: &str, value: Json<'_>) {
        if !value.is_null() {
            self.key(key);
            value.write_to(&mut self.text);
        }
    }

    /// Adds a text.
    pub fn put_text(&mut self, key: &str, value: &str) {
        self.key(key);
        write_string(value, &mut self.text);
    }

    /// Adds texts as an array.
    pub fn put_texts<'a>(&mut self, key: &str, values: impl Iterator<Item = &'a str>) {
        self.key(key);
        self.text.push('[');
        for (index, value) in values.enumerate() {
            if index > 0 {
                self.text.push(',');
            }
            write_string(value, &mut self.text);
        }
        self.text.push(']');
    }

    /// Adds the facts of an object: numbers, short texts and flags that are set, also of objects inside. Lists, long texts
    /// and [`CONTENT`] are left out.
    pub fn put_facts(&mut self, key: &str, value: Json<'_>) {
        let before = self.text.len();
        self.key(key);
        if !write_facts(value, 0, &mut self.text) {
            self.text.truncate(before);
        }
    }

    /// Adds an object without the members, at any depth, that `is_spared` accepts by name and value.
    pub fn put_without(&mut self, key: &str, value: Json<'_>, is_spared: &dyn Fn(&str, Json<'_>) -> bool) {
        self.key(key);
        write_without(value, is_spared, &mut self.text);
    }

    /// Ends the object. `None` if it is empty.
    pub fn finish(&mut self) -> Option<&str> {
        if self.text.is_empty() {
            return None;
        }
        self.text.push('}');
        Some(&self.text)
    }

    fn key(&mut self, key: &str) {
        self.text.push(if self.text.is_empty() { '{' } else { ',' });
        write_string(key, &mut self.text);
        self.text.push(':');
    }
}

/// Writes the facts of an object and tells whether there were any; on false, `out` may hold a part to be cut off.
fn write_facts(value: Json<'_>, depth: usize, out: &mut String) -> bool {
    let mut any = false;
    for (key, member) in value.fields() {
        let before = out.len();
        out.push(if any { ',' } else { '{' });
        write_string(key, out);
        out.push(':');
        let is_kept = if member.is_object() {
            depth + 1 < MAX_FACT_DEPTH && write_facts(member, depth + 1, out)
        } else if is_fact(key, member) {
            member.write_to(out);
            true
        } else {
            false
        };
        if is_kept {
            any = true;
        } else {
            out.truncate(before);
        }
    }
    if any {
        out.push('}');
    }
    any
}

/// Whether a member that is no object is a fact.
fn is_fact(key: &str, value: Json<'_>) -> bool {
    match value.as_str() {
        Some(text) => !text.is_empty() && text.len() <= MAX_FACT_BYTES && !CONTENT.contains(&key),
        None => !value.is_array() && !value.is_null() && value.as_bool() != Some(false),
    }
}

fn write_without(value: Json<'_>, is_spared: &dyn Fn(&str, Json<'_>) -> bool, out: &mut String) {
    if !value.is_object() {
        return value.write_to(out);
    }
    out.push('{');
    let mut any = false;
    for (key, member) in value.fields() {
        if member.is_null() || is_spared(key, member) {
            continue;
        }
        if any {
            out.push(',');
        }
        any = true;
        write_string(key, out);
        out.push(':');
        write_without(member, is_spared, out);
    }
    out.push('}');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    fn written(text: &str, write: impl FnOnce(Json<'_>, &mut Attributes)) -> Option<String> {
        let mut attributes = Attributes::default();
        attributes.begin();
        Parser::default().parse(text.as_bytes(), |json| write(json, &mut attributes)).unwrap();
        attributes.finish().map(str::to_owned)
    }

    #[test]
    fn facts_are_short_and_no_lists() {
        let long = "x".repeat(MAX_FACT_BYTES + 1);
        let text = format!(
            r#"{{"a":1,"b":"{long}","c":[1],"d":{{"e":"f","g":null}},"h":{{"i":[]}},"j":"","k":false,"stdout":"o"}}"#
        );
        let facts = written(&text, |json, out| out.put_facts("r", json));
        assert_eq!(facts.as_deref(), Some(r#"{"r":{"a":1,"d":{"e":"f"}}}"#));
        assert_eq!(written(r#"{"a":[]}"#, |json, out| out.put_facts("r", json)), None);
        let after_nothing = written(r#"{"a":[]}"#, |json, out| {
            out.put_text("k", "v");
            out.put_facts("r", json);
        });
        assert_eq!(after_nothing.as_deref(), Some(r#"{"k":"v"}"#));
    }

    #[test]
    fn a_spared_text_is_left_out_at_any_depth() {
        let text = r#"{"type":"file","content":{"file":{"content":"body","lines":1}},"x":"body"}"#;
        let attributes = written(text, |json, out| {
            out.put_without("attachment", json, &|_, value| value.as_str() == Some("body"));
        });
        assert_eq!(attributes.as_deref(), Some(r#"{"attachment":{"type":"file","content":{"file":{"lines":1}}}}"#));
    }
}
