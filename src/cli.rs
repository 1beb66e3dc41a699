//! Command line definitions, and nothing else. What the arguments mean is in `commands/`.
//!
//! Here are the arguments that commands share and those of reading; [`query`], [`prices`] and [`upkeep`] have their own.

pub mod prices;
#[cfg(feature = "duckdb")]
pub mod query;
pub mod upkeep;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use prices::PricesCommandArgs;
#[cfg(feature = "duckdb")]
use query::QueryArgs;
use upkeep::{CompactArgs, MergeArgs, RepairArgs, VerifyArgs};

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
    /// Look whether the lake is as it was committed; changes nothing.
    Verify(VerifyArgs),
    /// Mend what verify finds, from the parts and from the sources that are still there.
    Repair(RepairArgs),
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
    /// Also providers whose readers are new; `AGENTLAKE_BETA_<NAME>=1` turns one on.
    #[arg(long)]
    pub beta: bool,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  agentlake export\n  agentlake export --lake /data/lake --provider claude --quiet\n  \
                        agentlake export --source claude=/backup/projects --format json\n  \
                        agentlake export --rebuild"
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
    /// Read everything again into a new lake that takes the place of the old one when it is whole. Rows of sources that are
    /// gone are carried over.
    #[arg(long, conflicts_with = "dry_run")]
    pub rebuild: bool,
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
