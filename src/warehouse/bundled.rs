//! The bundled queries: one SQL file each under `queries/`, with a header that says what it answers.
//!
//! The header is a comment of fixed form, which `agentlake query` lists and docs/queries.md is made of:
//!
//! ```sql
//! -- title: Daily cost
//! -- question: What did each day cost?
//! -- parameters: tz, since
//! -- columns:
//! --   day DATE: local day in tz
//! ```
//!
//! Parameters are DuckDB variables, so that a file also runs as pasted into a notebook, with `SET VARIABLE since = …` or
//! without.

use super::{Result, WarehouseError};

/// A query that ships.
#[derive(Debug, Clone, Copy)]
pub struct BundledQuery {
    /// What it is called by.
    pub name: &'static str,
    /// Header and statement.
    pub sql: &'static str,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in DuckDB.
    pub sql_type: &'static str,
    /// What it holds, with its unit.
    pub meaning: &'static str,
}

macro_rules! bundled {
    ($($name:literal)+) => {
        /// All bundled queries, in the order they are listed.
        pub const BUNDLED: &[BundledQuery] = &[
            $(BundledQuery { name: $name, sql: include_str!(concat!("../../queries/", $name, ".sql")) },)+
        ];
    };
}

bundled! { "daily_cost" "model_cost" "project_cost" "session_cost" "tool_use" "data_health" }

impl BundledQuery {
    /// The query of a name.
    ///
    /// # Errors
    /// Names those that there are.
    pub fn named(name: &str) -> Result<&'static Self> {
        BUNDLED.iter().find(|query| query.name == name).ok_or_else(|| WarehouseError::UnknownQuery {
            name: name.to_owned(),
            known: BUNDLED.iter().map(|query| query.name).collect::<Vec<_>>().join(", "),
        })
    }

    /// What it is about, in a few words.
    #[must_use]
    pub fn title(&self) -> &'static str {
        self.header("title")
    }

    /// What it answers.
    #[must_use]
    pub fn question(&self) -> &'static str {
        self.header("question")
    }

    /// The variables that it reads.
    pub fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.header("parameters").split(", ").filter(|name| !name.is_empty())
    }

    /// The columns of its answer.
    pub fn columns(&self) -> impl Iterator<Item = Column> {
        comments(self.sql).filter_map(|line| line.strip_prefix("  ")).filter_map(|line| {
            let (declared, meaning) = line.split_once(": ")?;
            let (name, sql_type) = declared.split_once(' ')?;
            Some(Column { name, sql_type, meaning })
        })
    }

    fn section(&self) -> String {
        let parameters = self.parameters().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let columns = self
            .columns()
            .map(|Column { name, sql_type, meaning }| format!("| {name} | {sql_type} | {meaning} |\n"))
            .collect::<String>();
        format!(
            "\n## {}\n\n{}. {}\n\nParameters: {parameters}.\n\n| column | type | meaning |\n|---|---|---|\n{columns}",
            self.name,
            self.title(),
            self.question(),
        )
    }

    fn header(&self, field: &str) -> &'static str {
        comments(self.sql).find_map(|line| line.strip_prefix(field)?.strip_prefix(": ")).unwrap_or_default()
    }
}

/// The comment lines that a file begins with, without the marks.
fn comments(sql: &'static str) -> impl Iterator<Item = &'static str> {
    sql.lines().map_while(|line| line.strip_prefix("-- "))
}

/// The text of docs/queries.md.
#[must_use]
pub fn markdown() -> String {
    let sections = BUNDLED.iter().map(BundledQuery::section).collect::<String>();
    INTRODUCTION.to_owned() + &sections
}

const INTRODUCTION: &str = include_str!("queries_introduction.md");
