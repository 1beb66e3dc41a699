//! The command lines of what keeps a lake well: `compact`, `merge`, `verify` and `repair`.

use std::path::PathBuf;

use clap::Args;

#[cfg(feature = "duckdb")]
use super::PricesArgs;
use super::{LakeArgs, RootArgs, SummaryFormat, bytes};

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

/// Arguments of `verify`.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 if anything is wrong; each finding comes with its remedy.\n\nExamples:\n  agentlake verify\n  \
                        agentlake verify --against-sources --format json"
)]
pub struct VerifyArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub roots: RootArgs,
    /// Read every source again, in memory, and compare its rows and requests with the lake's.
    #[arg(long)]
    pub against_sources: bool,
    /// Threads that read [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Source bytes that are read at once. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "32M")]
    pub wave_bytes: u64,
    /// The bound that `export` was given. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "128M")]
    pub max_line_bytes: u64,
    /// Form of the answer.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}

/// Arguments of `repair`.
#[derive(Debug, Args)]
#[command(
    after_help = "Nothing is deleted: what is no part of the lake goes to .agentlake/quarantine in the lake.\n\n\
                        Examples:\n  agentlake repair\n  agentlake repair --lake /data/lake --format json"
)]
pub struct RepairArgs {
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub lake: LakeArgs,
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub roots: RootArgs,
    /// Keep each line as it stood in rows that are read again, as `export --raw` does.
    #[arg(long)]
    pub raw: bool,
    /// Do not refresh agentlake.duckdb.
    #[cfg(feature = "duckdb")]
    #[arg(long)]
    pub no_duckdb: bool,
    #[cfg(feature = "duckdb")]
    #[command(flatten)]
    #[allow(missing_docs, reason = "documented on the type")]
    pub prices: PricesArgs,
    /// Threads that read and write [default: one per processor].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub threads: Option<u16>,
    /// Source bytes per batch. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "32M")]
    pub wave_bytes: u64,
    /// The bound that `export` was given. Accepts K, M and G.
    #[arg(long, value_name = "BYTES", value_parser = bytes, default_value = "128M")]
    pub max_line_bytes: u64,
    /// Form of the summary.
    #[arg(long, value_enum, default_value_t)]
    pub format: SummaryFormat,
}
