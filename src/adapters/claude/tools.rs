//! Facts of tool calls and results that their arguments and notes hold.

use std::ops::Range;

use crate::adapters::tool_facts::{changed_lines, count};
use crate::source::Json;

/// What the arguments of a call say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct CallFacts<'t> {
    /// MCP server, from a name of the form `mcp__server__tool`.
    pub mcp_server: Option<&'t str>,
    /// File that the call is about.
    pub file_path: Option<&'t str>,
    /// Lines that it adds.
    pub lines_added: Option<i64>,
    /// Lines that it removes.
    pub lines_removed: Option<i64>,
}

impl<'t> CallFacts<'t> {
    /// Of a call of the tool `name`.
    pub fn of(name: &'t str, input: Json<'t>) -> Self {
        let mut facts = Self { mcp_server: mcp_server(name), ..Self::default() };
        let (mut old, mut new, mut content, mut edits, mut all) = (None, None, None, None, false);
        for (key, value) in input.fields() {
            match key {
                "file_path" | "notebook_path" => facts.file_path = value.as_str(),
                "path" if matches!(name, "str_replace_editor" | "str_replace_based_edit_tool") => {
                    facts.file_path = value.as_str();
                }
                "old_string" => old = value.as_str(),
                "new_string" => new = value.as_str(),
                "content" => content = value.as_str(),
                "edits" => edits = Some(value),
                "replace_all" => all = value.as_bool() == Some(true),
                _ => {}
            }
        }
        match name {
            "Write" => facts.lines_added = content.map(|text| count(text.lines().count())),
            // How often a replacement of all occurrences happens, the call does not say.
            "Edit" if !all => facts.add(old.zip(new)),
            "MultiEdit" => {
                for edit in edits.into_iter().flat_map(Json::items) {
                    if edit.get("replace_all").and_then(Json::as_bool) == Some(true) {
                        (facts.lines_added, facts.lines_removed) = (None, None);
                        break;
                    }
                    facts.add(edit.str("old_string").zip(edit.str("new_string")));
                }
            }
            _ => {}
        }
        facts
    }

    fn add(&mut self, edit: Option<(&str, &str)>) {
        if let Some((old, new)) = edit {
            let (removed, added) = changed_lines(old, new);
            self.lines_removed = Some(self.lines_removed.unwrap_or(0) + removed);
            self.lines_added = Some(self.lines_added.unwrap_or(0) + added);
        }
    }
}

/// The server in `mcp__server__tool`.
fn mcp_server(name: &str) -> Option<&str> {
    let (server, _) = name.strip_prefix("mcp__")?.split_once("__")?;
    (!server.is_empty()).then_some(server)
}

/// What the tool notes of a result beside its text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ResultFacts {
    /// Exit code of a command.
    pub exit_code: Option<i64>,
    /// Milliseconds that the tool ran.
    pub duration_ms: Option<i64>,
}

impl ResultFacts {
    /// Of a line's `toolUseResult`, which belongs to the line's only result.
    pub fn of(note: Json<'_>) -> Self {
        let mut facts = Self::default();
        let mut seconds = None;
        for (key, value) in note.fields() {
            match key {
                "exitCode" | "exit_code" => facts.exit_code = value.as_i64(),
                "totalDurationMs" => facts.duration_ms = value.as_i64(),
                "durationMs" => facts.duration_ms = facts.duration_ms.or(value.as_i64()),
                "durationSeconds" => seconds = value.as_f64(),
                _ => {}
            }
        }
        let milliseconds = seconds.map(|seconds| seconds * 1000.0).filter(|value| PLAUSIBLE_MS.contains(value));
        #[allow(clippy::cast_possible_truncation, reason = "the range holds far less than an i64")]
        let milliseconds = milliseconds.map(|value| value.round() as i64);
        facts.duration_ms = facts.duration_ms.or(milliseconds).filter(|&value| value >= 0);
        facts
    }

    /// Adds the exit code that a failed command's text begins with: `Exit code 2`.
    pub fn with_failure(mut self, text: Option<&str>) -> Self {
        let code = text.and_then(|text| text.strip_prefix("Exit code ")).and_then(|rest| {
            let digits = rest.find(|character: char| !character.is_ascii_digit()).unwrap_or(rest.len());
            rest.get(..digits)?.parse().ok()
        });
        self.exit_code = self.exit_code.or(code);
        self
    }
}

/// Milliseconds of a run, up to 30 years.
const PLAUSIBLE_MS: Range<f64> = 0.0..1e12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    fn call(name: &'static str, input: &str) -> (Option<String>, Option<i64>, Option<i64>) {
        Parser::default()
            .parse(input.as_bytes(), |json| {
                let facts = CallFacts::of(name, json);
                (facts.file_path.map(str::to_owned), facts.lines_added, facts.lines_removed)
            })
            .unwrap()
    }

    #[test]
    fn an_edit_counts_the_lines_it_changes() {
        let path = Some("/w/a".to_owned());
        let edit = r#"{"file_path":"/w/a","old_string":"a\nb\nc","new_string":"a\nx\ny\nc"}"#;
        assert_eq!(call("Edit", edit), (path.clone(), Some(2), Some(1)));
        let same = r#"{"file_path":"/w/a","old_string":"a\na","new_string":"a\na\na"}"#;
        assert_eq!(call("Edit", same), (path.clone(), Some(1), Some(0)));
        let all = r#"{"file_path":"/w/a","old_string":"a","new_string":"b","replace_all":true}"#;
        assert_eq!(call("Edit", all), (path.clone(), None, None));
        assert_eq!(call("Write", r#"{"file_path":"/w/a","content":"1\n2\n"}"#), (path.clone(), Some(2), None));
        let edits = r#"{"file_path":"/w/a","edits":[{"old_string":"a","new_string":"b"},{"old_string":"","new_string":"c\nd"}]}"#;
        assert_eq!(call("MultiEdit", edits), (path.clone(), Some(3), Some(1)));
        assert_eq!(call("NotebookEdit", r#"{"notebook_path":"/w/a"}"#), (path, None, None));
        assert_eq!(call("Grep", r#"{"path":"/w","content":"x"}"#), (None, None, None));
    }

    #[test]
    fn an_mcp_tool_names_its_server() {
        assert_eq!(mcp_server("mcp__linear-server__get_issue"), Some("linear-server"));
        assert_eq!(mcp_server("mcp__x"), None);
        assert_eq!(mcp_server("Read"), None);
    }

    #[test]
    fn durations_and_exit_codes_are_those_recorded() {
        let facts = |text: &str| Parser::default().parse(text.as_bytes(), ResultFacts::of).unwrap();
        assert_eq!(facts(r#"{"durationMs":5,"totalDurationMs":9}"#).duration_ms, Some(9));
        assert_eq!(facts(r#"{"durationSeconds":1.2345}"#).duration_ms, Some(1235));
        assert_eq!(facts(r#"{"durationMs":-1}"#).duration_ms, None);
        assert_eq!(facts(r#"{"exitCode":3}"#).with_failure(Some("Exit code 1\nx")).exit_code, Some(3));
        assert_eq!(ResultFacts::default().with_failure(Some("Exit code 128\nfatal")).exit_code, Some(128));
        assert_eq!(ResultFacts::default().with_failure(Some("Exit codes")).exit_code, None);
    }
}
