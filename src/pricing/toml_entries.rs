//! The part of TOML that price files are written in: arrays of tables with plain values, each with its line.
//!
//! A reader of its own because two things matter here that general ones do not keep: a number stays the text that was
//! written (`0.1` is exact money, not a binary fraction), and every error and every entry knows its line.

use super::PricingError;

/// One `[[table]]` of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name between the brackets.
    pub table: String,
    /// Its line, from 1.
    pub line: usize,
    /// Its fields as written.
    pub fields: Vec<Field>,
}

/// One `name = value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// The name.
    pub name: String,
    /// The value.
    pub value: Value,
    /// Its line, from 1.
    pub line: usize,
}

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// In quotes.
    Text(String),
    /// A number, a day or a time, as written.
    Bare(String),
}

/// Reads a file.
///
/// # Errors
/// Names the line of what this part of TOML does not have, and of a field that an entry has twice.
pub fn parse(text: &str, file: &str) -> Result<Vec<Entry>, PricingError> {
    let mut entries: Vec<Entry> = Vec::new();
    for (line, content) in (1..).zip(text.lines()) {
        let wrong = |problem: String| PricingError::File { file: file.to_owned(), line, problem };
        let content = without_comment(content).trim();
        if content.is_empty() {
            continue;
        }
        if let Some(rest) = content.strip_prefix("[[") {
            let table = rest.strip_suffix("]]").map(str::trim).filter(|name| is_bare_key(name));
            let table = table.ok_or_else(|| wrong(format!("`{content}` is no table; write it as [[price]]")))?;
            entries.push(Entry { table: table.to_owned(), line, fields: Vec::new() });
            continue;
        }
        let (name, value) =
            content.split_once('=').ok_or_else(|| wrong(format!("`{content}` is no `name = value`")))?;
        let (name, value) = (name.trim(), value.trim());
        if !is_bare_key(name) {
            return Err(wrong(format!("`{name}` is no name of a field")));
        }
        let Some(entry) = entries.last_mut() else {
            return Err(wrong(format!(
                "`{name}` stands before the first [[price]], [[alias]], [[flat_rate]] or [[free]]"
            )));
        };
        if entry.fields.iter().any(|field| field.name == name) {
            return Err(wrong(format!("`{name}` is given twice")));
        }
        let value =
            parse_value(value).ok_or_else(|| wrong(format!("`{value}` is no text in quotes, number, day or time")))?;
        entry.fields.push(Field { name: name.to_owned(), value, line });
    }
    Ok(entries)
}

fn is_bare_key(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

/// A line up to a `#` that stands in no quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, letter) in line.char_indices() {
        match (quote, letter) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), letter) if open == letter => quote = None,
            (None, '"' | '\'') => quote = Some(letter),
            (None, '#') => return line.get(..at).unwrap_or(line),
            _ => {}
        }
    }
    line
}

fn parse_value(text: &str) -> Option<Value> {
    if let Some(rest) = text.strip_prefix('\'') {
        return rest
            .strip_suffix('\'')
            .filter(|inner| !inner.contains('\''))
            .map(|inner| Value::Text(inner.to_owned()));
    }
    if let Some(rest) = text.strip_prefix('"') {
        return unescaped(rest).map(Value::Text);
    }
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.' | b':' | b'_');
    let is_number_or_time =
        text.bytes().all(is_bare) && text.bytes().next()?.is_ascii_digit() | text.starts_with(['+', '-', '.']);
    is_number_or_time.then(|| Value::Bare(text.to_owned()))
}

/// The inside of a basic string, given everything behind its opening quote.
fn unescaped(rest: &str) -> Option<String> {
    let mut inner = String::new();
    let mut letters = rest.chars();
    loop {
        match letters.next()? {
            '"' => return letters.next().is_none().then_some(inner),
            '\\' => inner.push(match letters.next()? {
                'n' => '\n',
                't' => '\t',
                '"' => '"',
                '\\' => '\\',
                _ => return None,
            }),
            letter => inner.push(letter),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_know_their_lines_and_numbers_stay_text() {
        let text = "# mine\n\n[[price]] # one\nprice_key = \"v/m # 1\" # two\ninput = 0.10\n[[alias]]\nname = 'a\"b'\n";
        let entries = parse(text, "f").unwrap();
        assert_eq!(entries.len(), 2);
        assert_eq!((entries[0].table.as_str(), entries[0].line), ("price", 3));
        assert_eq!(entries[0].fields[0].value, Value::Text("v/m # 1".to_owned()));
        assert_eq!((&entries[0].fields[1].value, entries[0].fields[1].line), (&Value::Bare("0.10".to_owned()), 5));
        assert_eq!(entries[1].fields[0].value, Value::Text("a\"b".to_owned()));
    }

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        for (text, line) in [
            ("x = 1\n", 1),
            ("[[price]]\nx\n", 2),
            ("[price]\n", 1),
            ("[[price]\n", 1),
            ("[[price]]\nx = [1]\n", 2),
            ("[[price]]\nx = true\n", 2),
            ("[[price]]\nx = \"a\n", 2),
            ("[[price]]\nx = \"\\q\"\n", 2),
            ("[[price]]\nx = 1\n\nx = 2\n", 4),
            ("[[price]]\nx =\n", 2),
            ("[[price]]\na.b = 1\n", 2),
        ] {
            match parse(text, "f") {
                Err(PricingError::File { line: found, .. }) => assert_eq!(found, line, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
