//! What a tool returned: its text, exit code and duration, in the shapes that Codex has used over time.

use serde::{Deserialize, Serialize};

use crate::adapters::buffers::append_line;
use crate::source::Json;
use crate::source::json::Parser;

/// How a tool call ended. Told by the output itself, by an event before it, or by both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Outcome {
    /// Whether it failed.
    #[serde(rename = "e", skip_serializing_if = "Option::is_none")]
    pub is_error: Option<bool>,
    /// Exit code of a command.
    #[serde(rename = "x", skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// Milliseconds.
    #[serde(rename = "d", skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

impl Outcome {
    /// Fills what is not known from `other`; an exit code tells whether a command failed.
    pub fn or(self, other: Self) -> Self {
        let exit_code = self.exit_code.or(other.exit_code);
        Self {
            is_error: self.is_error.or(other.is_error).or(exit_code.map(|code| code != 0)),
            exit_code,
            duration_ms: self.duration_ms.or(other.duration_ms),
        }
    }
}

/// Reads the `output` of a call: a text, an array of content items, an object with `content` and `success`, or any JSON.
/// Answers the text where it stands as it is, and puts it into `text` where it does not.
pub fn read<'t>(output: Json<'t>, parser: &mut Parser, text: &mut String) -> (Outcome, Option<&'t str>) {
    if let Some(output) = output.as_str() {
        return match read_json(output, parser, text) {
            Some(outcome) => (outcome, None),
            None => (header(output), Some(output)),
        };
    }
    if output.is_array() {
        append_content(output, text);
        return (header(text), None);
    }
    let mut outcome = Outcome::default();
    let mut is_known = false;
    for (key, value) in output.fields() {
        match key {
            "content" | "content_items" => {
                is_known = true;
                match value.as_str() {
                    Some(content) => text.push_str(content),
                    None => append_content(value, text),
                }
            }
            "success" => outcome.is_error = value.as_bool().map(|success| !success),
            _ => {}
        }
    }
    if !is_known {
        output.write_to(text);
    }
    (outcome.or(header(text)), None)
}

/// A text may be a JSON object of its own: `{"output": …, "metadata": {"exit_code": …, "duration_seconds": …}}`.
fn read_json(output: &str, parser: &mut Parser, text: &mut String) -> Option<Outcome> {
    if !output.starts_with("{\"output\":") {
        return None;
    }
    let parsed = parser.parse(output.as_bytes(), |json| {
        let inner = json.str("output")?;
        let metadata = json.get("metadata");
        let seconds = metadata.and_then(|metadata| metadata.get("duration_seconds"));
        text.push_str(inner);
        Some(Outcome {
            is_error: None,
            exit_code: metadata.and_then(|metadata| metadata.get("exit_code")).and_then(Json::as_i64),
            duration_ms: seconds.and_then(Json::as_f64).and_then(milliseconds),
        })
    });
    parsed.ok().flatten()
}

/// The texts of content items; other items are named.
pub fn append_content(items: Json<'_>, text: &mut String) {
    for item in items.items() {
        if let Some(line) = item.str("text") {
            append_line(text, line);
        } else if let Some(line) = item.as_str() {
            append_line(text, line);
        }
    }
}

/// Reads the lines that Codex puts above a command's own output, up to `Output:`.
fn header(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    for line in text.lines().take(8) {
        if line == "Output:" || line == "Total output lines:" {
            break;
        }
        if let Some(code) = line.strip_prefix("Process exited with code ").or(line.strip_prefix("Exit code: ")) {
            outcome.exit_code = code.trim().parse().ok();
        } else if let Some(time) = line.strip_prefix("Wall time: ") {
            let seconds = time.split(' ').next().and_then(|seconds| seconds.parse().ok());
            outcome.duration_ms = seconds.and_then(milliseconds);
        } else if !line.starts_with("Chunk ID: ")
            && !line.starts_with("Process running")
            && !line.starts_with("Original token count: ")
            && !line.starts_with("Total output lines: ")
        {
            // The tool's own words: what looks like a header below them is none.
            break;
        }
    }
    outcome
}

/// Seconds as whole milliseconds; `None` for what is no duration.
fn milliseconds(seconds: f64) -> Option<i64> {
    const YEAR: f64 = 366.0 * 86_400.0;
    #[allow(clippy::cast_possible_truncation, reason = "the range is checked")]
    (0.0..YEAR).contains(&seconds).then(|| (seconds * 1000.0).round() as i64)
}

/// A duration of an event: `{"secs": …, "nanos": …}`, or a text such as `1.5s`.
pub fn duration_ms(json: Json<'_>) -> Option<i64> {
    let seconds = json.get("secs").and_then(Json::as_i64)?;
    let nanos = json.get("nanos").and_then(Json::as_i64).unwrap_or_default();
    seconds.checked_mul(1000)?.checked_add(nanos / 1_000_000).filter(|&millis| millis >= 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_json(json: &str) -> (Outcome, String) {
        let (mut parser, mut text) = (Parser::default(), String::new());
        Parser::default()
            .parse(json.as_bytes(), |json| {
                let (outcome, direct) = read(json, &mut parser, &mut text);
                (outcome.or(Outcome::default()), direct.map_or_else(|| text.clone(), str::to_owned))
            })
            .unwrap()
    }

    #[test]
    fn a_command_with_a_header() {
        let (outcome, text) = read_json(
            r#""Chunk ID: 1\nWall time: 0.7565 seconds\nProcess exited with code 2\nOriginal token count: 3\nOutput:\nExit code: 0\n""#,
        );
        assert_eq!(outcome, Outcome { is_error: Some(true), exit_code: Some(2), duration_ms: Some(757) });
        assert!(text.ends_with("Exit code: 0\n"));
    }

    #[test]
    fn a_command_as_json_in_a_text() {
        let (outcome, text) =
            read_json(r#""{\"output\":\"a.rs\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.1}}""#);
        assert_eq!(outcome, Outcome { is_error: Some(false), exit_code: Some(0), duration_ms: Some(100) });
        assert_eq!(text, "a.rs\n");
    }

    #[test]
    fn content_items_objects_and_plain_text() {
        assert_eq!(
            read_json(r#"[{"type":"input_text","text":"a"},{"type":"input_image"},{"type":"input_text","text":"b"}]"#)
                .1,
            "a\nb"
        );
        let (outcome, text) = read_json(r#"{"content":"no","success":false}"#);
        assert_eq!((outcome.is_error, text.as_str()), (Some(true), "no"));
        assert_eq!(read_json(r#""aborted""#), (Outcome::default(), "aborted".to_owned()));
        assert_eq!(read_json(r#"{"a":1}"#).1, r#"{"a":1}"#);
        assert_eq!(read_json(r#""my log\nExit code: 7""#).0, Outcome::default());
    }
}
