//! Parsed JSON as a view over simd-json's tape, and the parser that fills it.
//!
//! The tape's own value type finds the *first* of duplicate keys; every agent's own reader takes the last, and so does
//! [`Json::get`]. Numbers keep their exact value; nothing is converted through floating point.

use simd_json::value::StaticNode;
use simd_json::value::tape::{Node, Tape};
use simd_json::{Buffers, INPUT_PADDING};

/// A JSON value on the tape; a slice that begins at the value's node and holds all of it.
#[derive(Clone, Copy)]
pub struct Json<'t>(&'t [Node<'t>]);

/// A token count as a source wrote it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Count {
    /// Absent or `null`.
    Missing,
    /// A whole number from 0 to 2^53, be it written `12`, `12.0` or `"12"`.
    Value(i64),
    /// Anything else: negative, fractional, too large, no number.
    Bad,
}

/// Largest integer that every JSON writer can hold exactly.
const MAX_EXACT: i64 = 1 << 53;

impl<'t> Json<'t> {
    fn head(self) -> Option<&'t Node<'t>> {
        self.0.first()
    }

    /// The text of a string.
    #[must_use]
    pub fn as_str(self) -> Option<&'t str> {
        match self.head()? {
            Node::String(text) => Some(text),
            _ => None,
        }
    }

    /// The value of a boolean.
    #[must_use]
    pub fn as_bool(self) -> Option<bool> {
        match self.head()? {
            Node::Static(StaticNode::Bool(value)) => Some(*value),
            _ => None,
        }
    }

    /// The value of an integer, or of a float without a fraction.
    #[must_use]
    pub fn as_i64(self) -> Option<i64> {
        match self.head()? {
            Node::Static(StaticNode::I64(value)) => Some(*value),
            Node::Static(StaticNode::U64(value)) => i64::try_from(*value).ok(),
            Node::Static(StaticNode::F64(value)) => whole(*value),
            _ => None,
        }
    }

    /// The value of any number.
    #[must_use]
    pub fn as_f64(self) -> Option<f64> {
        match self.head()? {
            #[allow(clippy::cast_precision_loss, reason = "a float is asked for")]
            Node::Static(StaticNode::I64(value)) => Some(*value as f64),
            #[allow(clippy::cast_precision_loss, reason = "a float is asked for")]
            Node::Static(StaticNode::U64(value)) => Some(*value as f64),
            Node::Static(StaticNode::F64(value)) => Some(*value),
            _ => None,
        }
    }

    /// The value as a token count.
    #[must_use]
    pub fn as_count(self) -> Count {
        let value = match self.head() {
            None | Some(Node::Static(StaticNode::Null)) => return Count::Missing,
            Some(Node::String(text)) => {
                let text = text.trim();
                text.parse().ok().or_else(|| whole(text.parse().ok()?))
            }
            Some(_) => self.as_i64(),
        };
        match value {
            Some(value) if (0..=MAX_EXACT).contains(&value) => Count::Value(value),
            _ => Count::Bad,
        }
    }

    /// Whether the value is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        matches!(self.head(), Some(Node::Static(StaticNode::Null)))
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(self) -> bool {
        matches!(self.head(), Some(Node::Object { .. }))
    }

    /// Whether the value is an array.
    #[must_use]
    pub fn is_array(self) -> bool {
        matches!(self.head(), Some(Node::Array { .. }))
    }

    /// Elements of an array or members of an object.
    #[must_use]
    pub fn len(self) -> usize {
        match self.head() {
            Some(Node::Array { len, .. } | Node::Object { len, .. }) => *len,
            _ => 0,
        }
    }

    /// Whether there are no elements or members.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The members of an object in their order, duplicates included; nothing for other values.
    pub fn fields(self) -> impl Iterator<Item = (&'t str, Json<'t>)> {
        let mut rest = match self.head() {
            Some(Node::Object { .. }) => self.0.get(1..self.span()).unwrap_or_default(),
            _ => &[],
        };
        std::iter::from_fn(move || {
            let (Node::String(key), after) = rest.split_first()? else { return None };
            let value = Json(after);
            let (value, after) = after.split_at_checked(value.span())?;
            rest = after;
            Some((*key, Json(value)))
        })
    }

    /// The elements of an array; nothing for other values.
    pub fn items(self) -> impl Iterator<Item = Json<'t>> {
        let mut rest = match self.head() {
            Some(Node::Array { .. }) => self.0.get(1..self.span()).unwrap_or_default(),
            _ => &[],
        };
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (value, after) = rest.split_at_checked(Json(rest).span())?;
            rest = after;
            Some(Json(value))
        })
    }

    /// A member of an object; of duplicate keys the last.
    #[must_use]
    pub fn get(self, key: &str) -> Option<Json<'t>> {
        let mut found = None;
        for (name, value) in self.fields() {
            if name == key {
                found = Some(value);
            }
        }
        found
    }

    /// A member reached through nested objects.
    #[must_use]
    pub fn path(self, keys: &[&str]) -> Option<Json<'t>> {
        keys.iter().try_fold(self, |value, key| value.get(key))
    }

    /// The text of a string member.
    #[must_use]
    pub fn str(self, key: &str) -> Option<&'t str> {
        self.get(key)?.as_str()
    }

    /// Appends the value as compact JSON text; integers and strings exactly, duplicate keys as they stand.
    pub fn write_to(self, out: &mut String) {
        match self.head() {
            None | Some(Node::Static(StaticNode::Null)) => out.push_str("null"),
            Some(Node::Static(StaticNode::Bool(value))) => out.push_str(if *value { "true" } else { "false" }),
            Some(Node::Static(StaticNode::F64(value))) if !value.is_finite() => out.push_str("null"),
            Some(Node::Static(number)) => {
                use std::fmt::Write as _;
                let _ = write!(out, "{number}");
            }
            Some(Node::String(text)) => write_string(text, out),
            Some(Node::Array { .. }) => {
                out.push('[');
                for (index, item) in self.items().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write_to(out);
                }
                out.push(']');
            }
            Some(Node::Object { .. }) => {
                out.push('{');
                for (index, (key, value)) in self.fields().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(key, out);
                    out.push(':');
                    value.write_to(out);
                }
                out.push('}');
            }
        }
    }

    /// The value as compact JSON text.
    #[must_use]
    pub fn to_text(self) -> String {
        let mut text = String::new();
        self.write_to(&mut text);
        text
    }

    /// Nodes of the value, itself included.
    fn span(self) -> usize {
        match self.head() {
            None => 0,
            Some(Node::Array { count, .. } | Node::Object { count, .. }) => count + 1,
            Some(_) => 1,
        }
    }
}

impl std::fmt::Debug for Json<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.to_text())
    }
}

/// A float without a fraction, as an integer, where it can be held exactly.
fn whole(value: f64) -> Option<i64> {
    #[allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, reason = "up to 2^53 both are exact")]
    (value.fract() == 0.0 && value.abs() <= MAX_EXACT as f64).then_some(value as i64)
}

/// Appends `text` as a JSON string.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut rest = text;
    while let Some(at) = first_escaped(rest.as_bytes()) {
        let (clean, after) = rest.split_at(at);
        out.push_str(clean);
        match after.as_bytes().first() {
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(b'\n') => out.push_str("\\n"),
            Some(b'\r') => out.push_str("\\r"),
            Some(b'\t') => out.push_str("\\t"),
            byte => {
                use std::fmt::Write as _;
                let _ = write!(out, "\\u{:04x}", byte.copied().unwrap_or_default());
            }
        }
        rest = after.get(1..).unwrap_or_default();
    }
    out.push_str(rest);
    out.push('"');
}

/// Position of the first byte that JSON does not allow in a string as it is.
fn first_escaped(bytes: &[u8]) -> Option<usize> {
    let is_escaped = |byte: &u8| (*byte < 0x20) | (*byte == b'"') | (*byte == b'\\');
    let mut done = 0;
    // Whole chunks are tested without a branch per byte, which becomes vector code.
    for chunk in bytes.chunks(16) {
        if chunk.iter().fold(false, |any, byte| any | is_escaped(byte)) {
            return chunk.iter().position(is_escaped).map(|at| done + at);
        }
        done += chunk.len();
    }
    None
}

/// Why a text is no JSON.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ParseError(simd_json::Error);

/// A simd-json parser with buffers that are used again for every line.
pub struct Parser {
    scratch: Vec<u8>,
    buffers: Buffers,
    nodes: Vec<Node<'static>>,
}

impl Default for Parser {
    fn default() -> Self {
        Self { scratch: Vec::new(), buffers: Buffers::new(64 * 1024), nodes: Vec::new() }
    }
}

impl std::fmt::Debug for Parser {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Parser").finish_non_exhaustive()
    }
}

impl Parser {
    /// Parses one JSON text and hands it to `use_it`. The text is copied first, since simd-json works in place.
    ///
    /// # Errors
    /// The text is no JSON, nests deeper than 1,024, or is not valid UTF-8.
    pub fn parse<T>(&mut self, text: &[u8], use_it: impl FnOnce(Json<'_>) -> T) -> Result<T, ParseError> {
        self.scratch.clear();
        self.scratch.extend_from_slice(text);
        self.scratch.resize(text.len() + INPUT_PADDING, b' ');
        let mut tape = Tape(std::mem::take(&mut self.nodes));
        let result = simd_json::fill_tape_padded(&mut self.scratch, text.len(), &mut self.buffers, &mut tape)
            .map_err(ParseError)
            .map(|()| use_it(Json(&tape.0)));
        self.nodes = tape.reset().0;
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with<T>(text: &str, use_it: impl FnOnce(Json<'_>) -> T) -> T {
        Parser::default().parse(text.as_bytes(), use_it).unwrap()
    }

    #[test]
    fn the_last_of_duplicate_keys_wins() {
        with(r#"{"a":1,"b":{"a":5},"a":2}"#, |json| assert_eq!(json.get("a").unwrap().as_i64(), Some(2)));
    }

    #[test]
    fn values_are_walked_over_nested_ones() {
        with(r#"{"x":{"y":[1,[2,{"z":3}],"s"]},"after":true}"#, |json| {
            assert_eq!(json.path(&["x", "y"]).unwrap().items().count(), 3);
            assert_eq!(json.get("after").unwrap().as_bool(), Some(true));
            assert_eq!(json.to_text(), r#"{"x":{"y":[1,[2,{"z":3}],"s"]},"after":true}"#);
        });
    }

    #[test]
    fn counts_are_whole_and_exact() {
        with(r#"[12, 12.0, "12", "12.0", -1, 1.5, 1152921504606846976, "x", null, true, {}]"#, |json| {
            let counts: Vec<Count> = json.items().map(Json::as_count).collect();
            let twelve = Count::Value(12);
            assert_eq!(
                counts,
                [
                    twelve,
                    twelve,
                    twelve,
                    twelve,
                    Count::Bad,
                    Count::Bad,
                    Count::Bad,
                    Count::Bad,
                    Count::Missing,
                    Count::Bad,
                    Count::Bad
                ]
            );
        });
    }

    #[test]
    fn text_round_trips_through_escapes() {
        let text = r#"{"a":"\u0001\"\\\n\ud83d\ude00"}"#;
        let written = with(text, |json| json.to_text());
        let again = with(&written, |json| json.str("a").unwrap().to_owned());
        assert_eq!(again, "\u{1}\"\\\n😀");
    }

    #[test]
    fn a_lone_surrogate_and_deep_nesting_are_errors_not_damage() {
        let mut parser = Parser::default();
        assert!(parser.parse(br#"{"a":"\ud83d"}"#, |_| ()).is_err());
        let deep = "[".repeat(10_000) + &"]".repeat(10_000);
        assert!(parser.parse(deep.as_bytes(), |_| ()).is_err());
        assert!(parser.parse(b"{}", |json| assert!(json.is_object())).is_ok());
    }
}
