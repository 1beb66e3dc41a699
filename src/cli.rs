//! Command line definitions, and nothing else. What the arguments mean is in `commands/`.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Session files of AI coding agents, as a lake of Parquet files and a DuckDB database with priced rollups.
#[derive(Debug, Parser)]
#[command(name = "agentlake", version, max_term_width = 110)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Bring everything new from this machine's agents into the lake.
    Export(ExportArgs),
    /// Ask a bundled question, or one of your own, over the lake.
    #[cfg(feature = "duckdb")]
    Query(QueryArgs),
    /// Merge the parts of days that are over, and of days with many parts.
    Compact(CompactArgs),
    /// Bring the rows of other lakes, from other machines, into this one.
    Merge(MergeArgs),
    /// Show what was found where, and how much of it is new.
    Sources(SourcesArgs),
    /// Describe the tables: columns, types, units, meaning.
    Schema(SchemaArgs),
    /// Look at prices, find models without one, check and update your own.
    Prices(PricesCommandArgs),
}

/// Which lake.
#[derive(Debug, Args)]
pub struct LakeArgs {
    /// The lake's folder [default: agentlake/ in the XDG data directory].
    #[arg(long, value_name = "DIR", env = "AGENTLAKE_LAKE", hide_env_values = true)]
    pub lake: Option<PathBuf>,
}

/// Which prices.
#[derive(Debug, Clone, Default, Args)]
pub struct PricesArgs {
    /// Your own prices [default: agentlake/prices.toml in the XDG config directory, if there is one].
    #[arg(long, value_name = "FILE", env = "AGENTLAKE_PRICES", hide_env_values = true)]
    pub prices: Option<PathBuf>,
}

/// Arguments of `prices`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  agentlake prices show claude-opus-5\n  agentlake prices missing\n  \
                        agentlake prices update --from api.json")]
pub struct PricesCommandArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: PricesCommand,
}

/// The subcommands of `prices`.
#[derive(Debug, Subcommand)]
pub enum PricesCommand {
    /// List what models cost on a day.
    List(PricesListArgs),
    /// Show what a model id is priced as, and its prices through time.
    Show(PricesShowArgs),
    /// List the models in the lake that have no price, with the nearest names.
    #[cfg(feature = "duckdb")]
    Missing(PricesMissingArgs),
    /// Check a file of your own prices.
    Check(PricesCheckArgs),
    /// Take present prices from a price list; they hold from now on, and the past stays.
    Update(PricesUpdateArgs),
}

/// Arguments of `prices list`.
#[derive(Debug, Args)]
pub struct PricesListArgs {
    /// Only this vendor.
    #[arg(long, value_name = "VENDOR")]
    pub vendor: Option<String>,
    /// The day [default: today].
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub at: Option<chrono::NaiveDate>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}

/// Arguments of `prices show`.
#[derive(Debug, Args)]
pub struct PricesShowArgs {
    /// A model id as recorded, or a price key.
    #[arg(value_name = "MODEL")]
    pub model: String,
    /// The tool that recorded it: some names mean another model there.
    #[arg(long, value_name = "SLUG", default_value = "")]
    pub provider: String,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}

/// Arguments of `prices missing`.
#[cfg(feature = "duckdb")]
#[derive(Debug, Args)]
pub struct PricesMissingArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}

/// Arguments of `prices check`.
#[derive(Debug, Args)]
pub struct PricesCheckArgs {
    /// The file.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `prices update`.
#[derive(Debug, Args)]
pub struct PricesUpdateArgs {
    /// A price list in the form of LiteLLM, genai-prices or models.dev. Nothing is fetched.
    #[arg(long, value_name = "FILE")]
    pub from: PathBuf,
    /// First day that changed prices hold [default: from this instant on].
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub at: Option<chrono::NaiveDate>,
    /// Only say what would change.
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
}

/// Which sources.
#[derive(Debug, Args)]
pub struct RootArgs {
    /// Look into this home directory instead of your own; environment variables of agents are then ignored.
    #[arg(long, value_name = "DIR")]
    pub home: Option<PathBuf>,
    /// Add a file or folder of a provider.
    #[arg(long, value_name = "PROVIDER=PATH", value_parser = named_source)]
    pub source: Vec<(String, PathBuf)>,
    /// Only these providers.
    #[arg(long, value_name = "SLUG")]
    pub provider: Vec<String>,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agentlake export\n  agentlake export --lake /data/lake --provider claude --quiet\n  \
                        agentlake export --source claude=/backup/projects --format json"
)]
pub struct ExportArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub roots: RootArgs,
    /// Keep each line as it stood, in the column `raw` of `messages`.
    #[arg(long)]
    pub raw: bool,
    /// Do not refresh agentlake.duckdb.
    #[cfg(feature = "duckdb")]
    #[arg(long)]
    pub no_duckdb: bool,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Threads that read and write [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Source bytes per batch: bounds memory, and what a killed run must read again. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "32M")]
    pub wave_bytes: u64,
    /// A longer line becomes an issue. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "128M")]
    pub max_line_bytes: u64,
    /// Only say what would be read.
    #[arg(long)]
    pub dry_run: bool,
    /// Form of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
    /// Write the summary, as JSON, to this file too.
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// No progress and no summary; errors only.
    #[arg(long, short)]
    pub quiet: bool,
    /// Leave the parts as they are, also where a day has many.
    #[arg(long)]
    pub no_compact: bool,
    /// Name of this machine in the column `host`, from now on [default: the name it had when it first wrote to the lake].
    #[arg(long, value_name = "NAME", env = "AGENTLAKE_HOST", hide_env_values = true, value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub host: Option<String>,
    /// If no session is found, read the sample sessions in this folder into a temporary lake instead.
    #[arg(long, value_name = "DIR", hide = true)]
    pub demo_if_empty: Option<PathBuf>,
}

/// Forms of a summary.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SummaryFormat {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// Arguments of `compact`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  agentlake compact\n  agentlake compact --provider claude --before 2026-11-01")]
pub struct CompactArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    /// Only these providers.
    #[arg(long, value_name = "SLUG")]
    pub provider: Vec<String>,
    /// Only days before this one.
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub before: Option<chrono::NaiveDate>,
    /// Threads that read and write [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Form of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
    /// No summary; errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `merge`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agentlake merge /mnt/laptop/lake\n  agentlake merge --lake /data/all laptop/lake desktop/lake"
)]
pub struct MergeArgs {
    /// Folders of the lakes; they are only read.
    #[arg(value_name = "LAKE", required = true)]
    pub lakes: Vec<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    /// Do not refresh agentlake.duckdb.
    #[cfg(feature = "duckdb")]
    #[arg(long)]
    pub no_duckdb: bool,
    #[cfg(feature = "duckdb")]
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Form of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
    /// No summary; errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `sources`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agentlake sources\n  agentlake sources --home /mnt/old-laptop/home/me --format json"
)]
pub struct SourcesArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub roots: RootArgs,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  agentlake schema usage\n  agentlake schema --format markdown > docs/schema.md")]
pub struct SchemaArgs {
    /// Only this table.
    #[arg(value_name = "TABLE")]
    pub table: Option<String>,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SchemaFormat,
}

/// Forms of a schema.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum SchemaFormat {
    /// For a terminal.
    #[default]
    Table,
    /// For docs.
    Markdown,
    /// For programs.
    Json,
}

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

/// `PROVIDER=PATH`.
fn named_source(text: &str) -> Result<(String, PathBuf), String> {
    match text.split_once('=') {
        Some((provider, path)) if !provider.is_empty() && !path.is_empty() => {
            Ok((provider.to_owned(), PathBuf::from(path)))
        }
        _ => Err("write it as PROVIDER=PATH, for example claude=/backup/projects".to_owned()),
    }
}

/// A number of bytes with an optional K, M or G (powers of 1,024).
fn bytes(text: &str) -> Result<u64, String> {
    let (digits, unit) = match text.trim().to_ascii_uppercase().trim_end_matches("IB").trim_end_matches('B') {
        text if text.ends_with('K') => (text.trim_end_matches('K').to_owned(), 1 << 10),
        text if text.ends_with('M') => (text.trim_end_matches('M').to_owned(), 1 << 20),
        text if text.ends_with('G') => (text.trim_end_matches('G').to_owned(), 1 << 30),
        text => (text.to_owned(), 1),
    };
    let count: u64 = digits.trim().parse().map_err(|_| "write a number of bytes such as 4096, 64M or 1G".to_owned())?;
    count.checked_mul(unit).filter(|&bytes| bytes > 0).ok_or_else(|| "the number is zero or too large".to_owned())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("64M"), Ok(64 << 20));
        assert_eq!(bytes("1 GiB"), Ok(1 << 30));
        assert_eq!(bytes("17"), Ok(17));
        assert!(bytes("0").is_err());
        assert!(bytes("many").is_err());
    }
}
