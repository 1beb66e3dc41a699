//! What model calls cost: dated prices, the names that models go by, and the rules of each vendor.
//!
//! Owned here: which price a recorded model id, speed and service tier mean at an instant. Left to others: adding up
//! (SQL over the tables of [`crate::warehouse`]) and reading counters (the adapters).
//!
//! A [`ProviderPricer`] runs once per distinct [`ModelUse`], never per row: its answers are a small table that SQL joins.
//! A model that nobody knows has no price. It is reported as a missing rate and never guessed, because a wrong model's
//! price is worse than none.
//!
//! Not modelled, and not to be found in session files: storage of explicit caches by the hour, OpenAI's reading of the
//! 272,000-token rule "for the full session", taxes, credits, committed-use discounts and free tiers. Totals are what the
//! vendor's API would have charged; most people pay a subscription.

mod aliases;
mod anthropic;
mod cell;
mod compatible;
mod data_files;
mod google;
mod names;
mod prefixes;
pub mod price_lists;
mod resolve;
mod schedules;
mod table;
mod toml_entries;
mod user_prices;

use thiserror::Error;

use crate::model::Counters;

pub use aliases::{Alias, Billing, Target};
pub use anthropic::Anthropic;
pub use cell::{API, Cell, NO_PROMPT, OPEN_FROM, OPEN_TO, Rate, STANDARD, rate_text};
pub use compatible::Compatible;
pub use google::Google;
pub use names::{Canonical, MatchKind};
pub use resolve::{Request, cost_of, nearest, pricer_for, resolve};
pub use schedules::{Holidays, Schedule};
pub use table::{Basis, DataFiles, PriceTable};
pub use user_prices::UserPrices;

/// What is wrong with a price table.
#[derive(Debug, Clone, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum PricingError {
    /// A line that cannot be read.
    #[error("line {line} of {file} {problem}")]
    Field {
        /// The data file.
        file: &'static str,
        /// Its line, from 1.
        line: usize,
        /// What is wrong, to follow "line 7 of prices.csv".
        problem: String,
    },
    /// A line of a user's file that cannot be read.
    #[error("line {line} of {file}: {problem}")]
    File {
        /// The file.
        file: String,
        /// Its line, from 1.
        line: usize,
        /// What is wrong, in a sentence.
        problem: String,
    },
    /// Cells that overlap or leave a gap, so that a request could have two prices or none.
    #[error("prices of {cell} do not continue at {expected} ({axis}): cells must neither overlap nor leave a gap")]
    NotAPartition {
        /// The cell at which it shows.
        cell: String,
        /// `time` or `prompt size`.
        axis: &'static str,
        /// Where the next cell should begin.
        expected: String,
    },
    /// An alias of something without a price.
    #[error("alias {name} points to {price_key}, which has no price")]
    DanglingAlias {
        /// The alias.
        name: String,
        /// What it points to.
        price_key: String,
    },
    /// An alias that means two models at one time.
    #[error("alias {name} has spans of time that overlap")]
    AmbiguousAlias {
        /// The alias.
        name: String,
    },
}

/// A way a model was used, as recorded: what chooses a price beside time and prompt size.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelUse {
    /// The tool: `claude`, `codex` …
    pub provider: String,
    /// Who made the model, if the adapter knows; else empty.
    pub vendor: String,
    /// The model id as recorded, or empty.
    pub model: String,
    /// Speed class of the response as recorded, or empty.
    pub speed: String,
    /// Service tier of the response as recorded, or empty.
    pub service_tier: String,
}

/// What a [`ModelUse`] is priced as during a span of time: one row of the table `model_prices`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelPrice {
    /// What was recorded.
    pub model_use: ModelUse,
    /// `vendor/model`; `None` if no price is known or none is due.
    pub price_key: Option<String>,
    /// How it is billed; [`Billing::Metered`] where nothing is known either.
    pub billing: Billing,
    /// How the vendor was reached.
    pub channel: String,
    /// `standard`, `fast` …; a tier that is not known stands as recorded, and no cell has it.
    pub mode: String,
    /// How the name was matched, e.g. `exact` or `prefix+date`; `not_billable`, `local`, `fallback`, `unknown`.
    pub match_kind: String,
    /// First instant that this holds for, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer holds for.
    pub valid_to: i64,
}

/// Prices the models of one vendor. A tool with rules of its own (credits, flat rates) gets one too.
pub trait ProviderPricer: Sync {
    /// The vendor whose names this pricer knows: the part of a price key before the slash.
    fn vendor(&self) -> &'static str;

    /// What a model id, recorded by the tool `provider`, means over time: most often one answer for all of time. Empty: not
    /// known.
    fn canonicalize(&self, table: &PriceTable, provider: &str, model_id: &str) -> Vec<Canonical>;

    /// The price mode of a response, given what was recorded and what the name said.
    fn mode(&self, model_use: &ModelUse, named: Option<&str>) -> String;

    /// Makes the vendor's own counters disjoint.
    fn normalize_tokens(&self, raw: &RawTokens) -> Counters;

    /// The prices at an instant: one cell, or one per band of prompt sizes.
    ///
    /// # Errors
    /// A line of the price table cannot be read.
    fn rates_for(
        &self,
        table: &PriceTable,
        canonical: &Canonical,
        mode: &str,
        at: i64,
    ) -> Result<Vec<Cell>, PricingError> {
        match &canonical.price_key {
            Some(key) => table.rates_for(key, &canonical.channel, mode, at),
            None => Ok(Vec::new()),
        }
    }

    /// Whether counters belong to single requests. If not, only session totals can be priced.
    fn supports_per_message_tokens(&self) -> bool {
        true
    }
}

/// Counters as a vendor's API reports them, before they are made disjoint; `None` is "not recorded".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RawTokens {
    /// Anthropic: uncached only. OpenAI and Google: the whole prompt.
    pub input: Option<i64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<i64>,
    /// Prompt tokens written to a cache, of any lifetime.
    pub cache_write: Option<i64>,
    /// Those of them written for an hour.
    pub cache_write_1h: Option<i64>,
    /// Generated tokens. Google: without reasoning.
    pub output: Option<i64>,
    /// Reasoning tokens.
    pub reasoning: Option<i64>,
}

#[cfg(test)]
pub(crate) mod golden;
#[cfg(test)]
mod tests;
