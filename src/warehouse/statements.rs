//! Enough of SQL's lexical rules to cut a text into statements and to see the strings in it.
//!
//! DuckDB itself parses every statement; this only finds where one ends, so that the last can be wrapped in a `COPY`.

/// The statements of a text without their semicolons; comments alone are no statement.
pub(super) fn split(sql: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let mut rest = sql;
    loop {
        let end = tokens(rest).find(|token| token.kind == Kind::Semicolon);
        let (statement, after) = match end {
            Some(token) => (rest.get(..token.start), rest.get(token.end..)),
            None => (Some(rest), None),
        };
        if let Some(statement) =
            statement.filter(|statement| tokens(statement).any(|token| token.kind != Kind::Comment))
        {
            statements.push(statement.trim());
        }
        match after {
            Some(after) => rest = after,
            None => return statements,
        }
    }
}

/// The contents of the string literals of a text.
pub(super) fn literals(sql: &str) -> impl Iterator<Item = &str> {
    tokens(sql)
        .filter(|token| token.kind == Kind::Literal)
        .filter_map(move |token| sql.get(token.start..token.end)?.strip_prefix('\'')?.strip_suffix('\''))
}

/// A text without its comments.
pub(super) fn without_comments(sql: &str) -> String {
    rewritten(sql, |token| if token.kind == Kind::Comment { Some(" ") } else { None })
}

/// A text without its comments and the contents of its strings, for looking at the code alone.
#[cfg(test)]
pub(super) fn code(sql: &str) -> String {
    rewritten(sql, |token| match token.kind {
        Kind::Comment => Some(" "),
        Kind::Literal => Some("''"),
        _ => None,
    })
}

fn rewritten(sql: &str, instead: impl Fn(Token) -> Option<&'static str>) -> String {
    tokens(sql)
        .map(|token| instead(token).unwrap_or_else(|| sql.get(token.start..token.end).unwrap_or_default()))
        .collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Comment,
    Literal,
    Semicolon,
    Code,
}

/// A stretch of text from byte `start` to before byte `end`; white space alone is a comment.
#[derive(Debug, Clone, Copy)]
struct Token {
    kind: Kind,
    start: usize,
    end: usize,
}

fn tokens(sql: &str) -> impl Iterator<Item = Token> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = sql.get(start..).filter(|rest| !rest.is_empty())?;
        let (kind, length) = first_token(rest);
        let token = Token { kind, start, end: start + length };
        start = token.end;
        Some(token)
    })
}

/// Kind and length in bytes of the token that a text begins with.
fn first_token(text: &str) -> (Kind, usize) {
    if text.starts_with("--") {
        return (Kind::Comment, text.find('\n').unwrap_or(text.len()));
    }
    if text.starts_with("/*") {
        return (Kind::Comment, text.find("*/").map_or(text.len(), |at| at + 2));
    }
    if let Some(length) = dollar_quoted(text) {
        return (Kind::Literal, length);
    }
    let Some(first) = text.chars().next() else { return (Kind::Code, 0) };
    match first {
        ';' => (Kind::Semicolon, 1),
        // A doubled quote inside is one string ending and another beginning, which cuts at the same places.
        '\'' => (Kind::Literal, quoted_length(text, '\'')),
        '"' => (Kind::Code, quoted_length(text, '"')),
        space if space.is_whitespace() => (Kind::Comment, space.len_utf8()),
        letter if letter.is_alphanumeric() || letter == '_' => {
            let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
            (Kind::Code, text.find(|letter| !is_part(letter)).unwrap_or(text.len()))
        }
        other => (Kind::Code, other.len_utf8()),
    }
}

fn quoted_length(text: &str, quote: char) -> usize {
    text.char_indices().skip(1).find(|(_, letter)| *letter == quote).map_or(text.len(), |(at, _)| at + 1)
}

/// Length of a `$tag$ … $tag$` string at the beginning of a text.
fn dollar_quoted(text: &str) -> Option<usize> {
    let (tag, _) = text.strip_prefix('$')?.split_once('$')?;
    if tag.starts_with(|letter: char| letter.is_ascii_digit())
        || !tag.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
    {
        return None;
    }
    let open = tag.len() + 2;
    let closing = text.get(..open)?;
    let body = text.get(open..)?;
    Some(body.find(closing).map_or(text.len(), |at| open + at + open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn semicolons_end_statements_only_in_code() {
        let sql = "-- a; comment\nSET x = 'a;b'; /* c; */ SELECT \"d;e\", 'it''s;' , $$f;$$, $t$g;$t$; -- done;\n";
        let statements = split(sql);
        assert_eq!(statements.len(), 2, "{statements:?}");
        assert!(statements[0].ends_with("SET x = 'a;b'"));
        assert!(statements[1].ends_with("$t$g;$t$"));
    }

    #[test]
    fn nothing_is_no_statement() {
        assert!(split("").is_empty());
        assert!(split(" ; -- only this\n;").is_empty());
        assert_eq!(split("SELECT 1"), ["SELECT 1"]);
    }

    #[test]
    fn unfinished_quotes_reach_to_the_end() {
        assert_eq!(split("SELECT 'a; b").len(), 1);
        assert_eq!(split("SELECT /* a; b").len(), 1);
        assert_eq!(split("SELECT $x$ a; b").len(), 1);
        assert_eq!(split("SELECT $1; SELECT $2").len(), 2);
    }

    #[test]
    fn strings_are_seen_and_code_is_left() {
        let sql = "SELECT 'Europe/Berlin' -- 'not this'\n, ts";
        assert_eq!(literals(sql).collect::<Vec<_>>(), ["Europe/Berlin"]);
        assert_eq!(code(sql).split_whitespace().collect::<Vec<_>>(), ["SELECT", "''", ",", "ts"]);
    }
}
