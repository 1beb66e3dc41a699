//! The header of a query file: a comment of fixed form that says what the file answers.
//!
//! ```sql
//! -- title: Daily cost
//! -- question: What did each day cost?
//! -- theme: cost over time
//! -- parameters: tz, since
//! -- days: all
//! -- materialize: daily_cost
//! -- columns:
//! --   day DATE: local day in tz
//! ```
//!
//! `days: all` is for queries that must look beyond the days asked for, such as at the prompt of the evening before; without
//! it only the parts of those days are read. `materialize` has `export` write the answer to `rollups/`. Owned here: reading
//! that form, for the bundled files and for those of a user's own folder alike; a file without a header has empty fields.

/// A query with a name: bundled, or of a folder of one's own.
#[derive(Debug, Clone, Copy)]
pub struct NamedQuery<'a> {
    /// What it is called by.
    pub name: &'a str,
    /// Header and statement.
    pub sql: &'a str,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type in DuckDB.
    pub sql_type: &'a str,
    /// What it holds, with its unit.
    pub meaning: &'a str,
}

impl<'a> NamedQuery<'a> {
    /// What it is about, in a few words.
    #[must_use]
    pub fn title(&self) -> &'a str {
        self.field("title")
    }

    /// What it answers.
    #[must_use]
    pub fn question(&self) -> &'a str {
        self.field("question")
    }

    /// Under which heading it is listed.
    #[must_use]
    pub fn theme(&self) -> &'a str {
        self.field("theme")
    }

    /// The variables that it reads.
    pub fn parameters(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.field("parameters").split(',').map(str::trim).filter(|name| !name.is_empty())
    }

    /// Whether it must see parts of all days, whichever are asked for.
    #[must_use]
    pub fn looks_at_all_days(&self) -> bool {
        self.field("days") == "all"
    }

    /// The columns of its answer.
    pub fn columns(&self) -> impl Iterator<Item = Column<'a>> + use<'a> {
        comments(self.sql).filter_map(|line| line.strip_prefix("  ")).filter_map(|line| {
            let (declared, meaning) = line.split_once(": ")?;
            let (name, sql_type) = declared.split_once(' ')?;
            Some(Column { name, sql_type, meaning })
        })
    }

    /// The statement without header and semicolon.
    #[must_use]
    pub fn statement(&self) -> &'a str {
        let header: usize =
            self.sql.split_inclusive('\n').take_while(|line| line.starts_with("-- ")).map(str::len).sum();
        self.sql.get(header..).unwrap_or_default().trim().trim_end_matches(';').trim_end()
    }

    fn field(&self, name: &str) -> &'a str {
        comments(self.sql).find_map(|line| line.strip_prefix(name)?.strip_prefix(": ")).map_or("", str::trim)
    }
}

/// The comment lines that a file begins with, without the marks.
fn comments(sql: &str) -> impl Iterator<Item = &str> {
    sql.lines().map_while(|line| line.strip_prefix("-- "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "-- title: A title\n-- question: Why?\n-- theme: tools\n-- parameters: tz, top\n-- days: all\n\
                        -- columns:\n--   day DATE: local day: in tz\n--   usd DECIMAL(38,12): money\n\nSELECT 1 -- one\n;\n";

    #[test]
    fn a_header_is_read_and_left_off() {
        let query = NamedQuery { name: "q", sql: FILE };
        assert_eq!((query.title(), query.question(), query.theme()), ("A title", "Why?", "tools"));
        assert_eq!(query.parameters().collect::<Vec<_>>(), ["tz", "top"]);
        assert!(query.looks_at_all_days());
        let columns: Vec<_> = query.columns().map(|column| (column.name, column.sql_type, column.meaning)).collect();
        assert_eq!(columns, [("day", "DATE", "local day: in tz"), ("usd", "DECIMAL(38,12)", "money")]);
        assert_eq!(query.statement(), "SELECT 1 -- one");
    }

    #[test]
    fn a_file_without_a_header_is_all_statement() {
        let query = NamedQuery { name: "q", sql: "SELECT 'ü';" };
        assert_eq!((query.title(), query.parameters().count(), query.columns().count()), ("", 0, 0));
        assert!(!query.looks_at_all_days());
        assert_eq!(query.statement(), "SELECT 'ü'");
    }
}
