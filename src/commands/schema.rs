//! `agentlake schema`: the tables as text, Markdown (docs/schema.md) or JSON.

use std::fmt::Write as _;
use std::io::Write as _;

use anyhow::{Result, bail};

use crate::cli::{SchemaArgs, SchemaFormat};
use crate::model::tables::{BATCH_COLUMNS, ColumnSpec, RECORD_COLUMNS, TABLES, TableSpec};

/// Prints the schema.
///
/// # Errors
/// There is no such table, or standard output is closed.
pub fn run(arguments: &SchemaArgs) -> Result<()> {
    let tables: Vec<&TableSpec> = match &arguments.table {
        None => TABLES.to_vec(),
        Some(name) => match TABLES.into_iter().find(|table| table.name == name) {
            Some(table) => vec![table],
            None => {
                let names: Vec<&str> = TABLES.iter().map(|table| table.name).collect();
                bail!("there is no table {name}; there are {}", names.join(", "))
            }
        },
    };
    let text = match arguments.format {
        SchemaFormat::Table => as_text(&tables),
        SchemaFormat::Markdown => as_markdown(&tables),
        SchemaFormat::Json => as_json(&tables),
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn as_text(tables: &[&TableSpec]) -> String {
    let mut text = String::new();
    for table in tables {
        let _ = writeln!(text, "{}: {}\n", table.name, table.meaning.trim());
        for column in partition_columns().iter().chain(table.all_columns()) {
            let _ = writeln!(text, "  {:<22} {:<25} {}", column.name, column.kind.sql_type(), column.meaning.trim());
        }
        text.push('\n');
    }
    text
}

/// `date` is a DATE, but stands in the path only; it is listed as text because of that.
fn partition_columns() -> &'static [ColumnSpec] {
    use crate::model::columns::ColumnKind::Text;
    &[
        ColumnSpec {
            name: "provider",
            kind: Text,
            meaning: "Slug of the tool whose files were read. In the path only (hive partition).",
        },
        ColumnSpec {
            name: "date",
            kind: Text,
            meaning: "UTC day of `ts`, `YYYY-MM-DD`. In the path only (hive partition); most engines read it as DATE.",
        },
    ]
}

/// The content of docs/schema.md.
#[must_use]
pub fn as_markdown(tables: &[&TableSpec]) -> String {
    let mut text = String::from(INTRODUCTION);
    section(
        &mut text,
        "Columns of every table",
        "",
        partition_columns().iter().chain(RECORD_COLUMNS).chain(BATCH_COLUMNS),
    );
    for table in tables {
        section(&mut text, &format!("`{}`", table.name), table.meaning.trim(), table.columns.iter());
    }
    text
}

const INTRODUCTION: &str = "# Tables of the lake

This page is made by `agentlake schema --format markdown`; a test keeps it current.

Each table is a folder of Parquet files, `<table>/provider=…/date=…/part-….parquet`. `provider` and `date` stand in the
path only. NULL is \"not recorded\", zero is \"recorded as zero\". Every part has every column of its schema version;
columns are only added, nullable, at the end.

- Add up the counters of `usage` in any engine: they are disjoint and de-duplicated. Do not add `usage_copies`,
  `reasoning_tokens` (a part of `output_tokens`) or `context_tokens` (the size of one prompt).
- A request may have several rows in `usage` (`rev` 0, 1, 2 …) whose counters add up; the view `requests` has one row each.
- `messages` and `tool_calls` hold what each session's file holds. A fork's file repeats records of its original, so a
  plain COUNT counts those twice; the views `messages_unique` and `tool_calls_unique` keep one row per `record_key`.
- `sessions` gets a row whenever a fact changed: the newest `batch` wins. The view `sessions` keeps that one.
";

fn section<'a>(text: &mut String, title: &str, meaning: &str, columns: impl Iterator<Item = &'a ColumnSpec>) {
    let _ = writeln!(text, "\n## {title}\n");
    if !meaning.is_empty() {
        let _ = writeln!(text, "{meaning}\n");
    }
    text.push_str("| column | type | meaning |\n|---|---|---|\n");
    for column in columns {
        let _ = writeln!(text, "| `{}` | {} | {} |", column.name, column.kind.sql_type(), column.meaning.trim());
    }
}

fn as_json(tables: &[&TableSpec]) -> String {
    let column = |column: &ColumnSpec| serde_json::json!({ "name": column.name, "type": column.kind.sql_type(), "meaning": column.meaning.trim() });
    let tables: Vec<serde_json::Value> = tables
        .iter()
        .map(|table| {
            let columns: Vec<serde_json::Value> =
                partition_columns().iter().chain(table.all_columns()).map(column).collect();
            serde_json::json!({ "table": table.name, "meaning": table.meaning.trim(), "columns": columns })
        })
        .collect();
    format!("{:#}\n", serde_json::Value::Array(tables))
}
