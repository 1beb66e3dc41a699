//! What the arguments of a tool call say of files and lines, where tools of several providers name them alike.

use crate::source::Json;

/// Facts that a call's arguments hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ToolFacts<'t> {
    /// File that the call is about.
    pub file_path: Option<&'t str>,
    /// Lines that it adds, where it says so.
    pub lines_added: Option<i64>,
    /// Lines that it removes, where it says so.
    pub lines_removed: Option<i64>,
}

/// Names of tools that write a whole file.
const WRITERS: [&str; 6] = ["write", "write_file", "write_to_file", "create", "create_file", "newFileCreated"];

impl<'t> ToolFacts<'t> {
    /// Of a call of the tool `name`.
    #[must_use]
    pub fn of(name: &str, input: Json<'t>) -> Self {
        let mut facts = Self::default();
        let (mut path, mut old, mut new, mut content) = (None, None, None, None);
        for (key, value) in input.fields() {
            match key {
                "file_path" | "filePath" | "absolute_path" | "target_file" | "notebook_path" => {
                    facts.file_path = value.as_str();
                }
                "path" => path = value.as_str(),
                "old_string" | "old_str" | "oldText" | "old_text" => old = value.as_str(),
                "new_string" | "new_str" | "newText" | "new_text" => new = value.as_str(),
                "content" | "file_text" => content = value.as_str(),
                _ => {}
            }
        }
        facts.file_path = facts.file_path.or(path).filter(|path| !path.is_empty());
        if let (Some(old), Some(new)) = (old, new) {
            let (removed, added) = changed_lines(old, new);
            (facts.lines_added, facts.lines_removed) = (Some(added), Some(removed));
        } else if WRITERS.contains(&name) {
            facts.lines_added = content.map(|text| count(text.lines().count()));
        }
        facts
    }
}

/// Lines removed and added when `old` becomes `new`. Equal lines at both ends are context that the call quotes to find
/// the place, so they count as neither.
#[must_use]
pub fn changed_lines(old: &str, new: &str) -> (i64, i64) {
    let before = old.lines().zip(new.lines()).take_while(|(old, new)| old == new).count();
    let (old_count, new_count) = (old.lines().count(), new.lines().count());
    let left = old_count.min(new_count) - before;
    let after = old.lines().rev().zip(new.lines().rev()).take(left).take_while(|(old, new)| old == new).count();
    (count(old_count - before - after), count(new_count - before - after))
}

/// A number of lines as a column holds it.
#[must_use]
pub fn count(lines: usize) -> i64 {
    i64::try_from(lines).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    #[test]
    fn files_and_lines_are_found_under_the_names_that_tools_give_them() {
        let facts = |name: &str, text: &str| {
            let parsed = Parser::default().parse(text.as_bytes(), |json| {
                let facts = ToolFacts::of(name, json);
                (facts.file_path.map(str::to_owned), facts.lines_added, facts.lines_removed)
            });
            parsed.unwrap()
        };
        let path = Some("a".to_owned());
        let edit = r#"{"path":"a","old_str":"1\n2","new_str":"1\n3\n4"}"#;
        assert_eq!(facts("edit", edit), (path.clone(), Some(2), Some(1)));
        assert_eq!(facts("write_file", r#"{"file_path":"a","content":"1\n2\n"}"#), (path.clone(), Some(2), None));
        assert_eq!(facts("read_file", r#"{"absolute_path":"a","content":"1"}"#), (path, None, None));
        assert_eq!(facts("shell", r#"{"command":"ls"}"#), (None, None, None));
    }
}
