//! The command line of `query`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{LakeArgs, PricesArgs};

/// Arguments of `query`.
#[cfg(feature = "duckdb")]
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agentlake query\n  agentlake query daily_cost --since 2026-11-01 --provider claude\n  \
                        agentlake query --sql \"select model, sum(output_tokens) from usage group by 1\" --format csv"
)]
pub struct QueryArgs {
    /// A bundled query; without a name, lists what there is.
    #[arg(value_name = "NAME", conflicts_with_all = ["sql", "file"])]
    pub name: Option<String>,
    /// SQL to run instead.
    #[arg(long, value_name = "SQL", conflicts_with = "file")]
    pub sql: Option<String>,
    /// File with SQL to run instead.
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// First day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub since: Option<chrono::NaiveDate>,
    /// Last day, included.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub until: Option<chrono::NaiveDate>,
    /// Time zone whose days count, of the IANA database [default: the system's].
    #[arg(long, value_name = "ZONE")]
    pub tz: Option<String>,
    /// Day that weeks begin with [default: monday].
    #[arg(long, value_name = "DAY")]
    pub week_start: Option<chrono::Weekday>,
    /// Only these providers.
    #[arg(long, value_name = "SLUG")]
    pub provider: Vec<String>,
    /// Only this project: its directory, or the end of it.
    #[arg(long, value_name = "PATH")]
    pub project: Option<String>,
    /// Where costs come from.
    #[arg(long, value_enum, default_value_t)]
    pub cost: CostSource,
    /// Price all history as if on this day.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub prices_at: Option<chrono::NaiveDate>,
    /// Another parameter of the query, such as top=10.
    #[arg(long, value_name = "NAME=VALUE", value_parser = parameter)]
    pub param: Vec<(String, String)>,
    /// Folder with queries of your own, one SQL file each, listed and named like the bundled ones.
    #[arg(long, value_name = "DIR", env = "AGENTLAKE_QUERIES", hide_env_values = true)]
    pub queries: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Form of the answer [default: by the name of --output, else table].
    #[arg(long, value_enum)]
    pub format: Option<QueryFormat>,
    /// Write the answer to this file.
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
}

/// Where costs come from.
#[cfg(feature = "duckdb")]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum CostSource {
    /// What the tool reported, where it reported more than zero; else computed.
    #[default]
    Auto,
    /// From counters and prices alone.
    Computed,
    /// What the tool reported alone.
    Reported,
}

/// Forms of an answer.
#[cfg(feature = "duckdb")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Aligned columns.
    Table,
    /// Comma-separated values with a header.
    Csv,
    /// One JSON array.
    Json,
    /// One JSON object per line.
    Ndjson,
    /// A Markdown table.
    Markdown,
    /// A Parquet file (needs --output).
    Parquet,
}

/// `NAME=VALUE`.
#[cfg(feature = "duckdb")]
fn parameter(text: &str) -> Result<(String, String), String> {
    let is_name = |name: &str| {
        name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
    };
    match text.split_once('=') {
        Some((name, value)) if is_name(name) => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, for example top=10".to_owned()),
    }
}
