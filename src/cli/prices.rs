//! The command line of `prices` and its subcommands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[cfg(feature = "duckdb")]
use super::LakeArgs;
use super::{PricesArgs, SummaryFormat};

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
