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

mod anthropic;
mod google;
mod names;
mod openai;
mod table;

use thiserror::Error;

use crate::model::Counters;

pub use anthropic::Anthropic;
pub use google::Google;
pub use names::{Canonical, MatchKind};
pub use openai::OpenAi;
pub use table::{API, Alias, Cell, NO_PROMPT, OPEN_FROM, OPEN_TO, PriceTable, Rate};

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
    /// A rate below zero.
    #[error("{cell} has a negative rate")]
    Negative {
        /// The cell.
        cell: String,
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
    /// How the vendor was reached.
    pub channel: String,
    /// `standard`, `fast` …; a tier that is not known stands as recorded, and no cell has it.
    pub mode: String,
    /// How the name was matched, e.g. `exact` or `prefix+date`; `not_billable`, `unknown`.
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

    /// What a model id means over time, most often one answer for all of time. Empty: not known.
    fn canonicalize(&self, table: &PriceTable, model_id: &str) -> Vec<Canonical>;

    /// The price mode of a response, given what was recorded and what the name said.
    fn mode(&self, model_use: &ModelUse, named: Option<&str>) -> String;

    /// Makes the vendor's own counters disjoint.
    fn normalize_tokens(&self, raw: &RawTokens) -> Counters;

    /// The prices at an instant: one cell, or one per band of prompt sizes.
    fn rates_for<'a>(&self, table: &'a PriceTable, canonical: &'a Canonical, mode: &'a str, at: i64) -> Vec<&'a Cell> {
        table.rates_for(&canonical.price_key, &canonical.channel, mode, at).collect()
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

static PRICERS: [&dyn ProviderPricer; 3] = [&Anthropic, &OpenAi, &Google];

/// The pricer of a use: by the recorded vendor, else by the family that the name belongs to.
#[must_use]
pub fn pricer_for(model_use: &ModelUse) -> Option<&'static dyn ProviderPricer> {
    let vendor = match model_use.vendor.as_str() {
        "" => names::family(&model_use.model)?,
        vendor => vendor,
    };
    PRICERS.into_iter().find(|pricer| pricer.vendor() == vendor)
}

/// What a use is priced as: rows that do not overlap in time. A span that no alias covers has a row without price key.
#[must_use]
pub fn resolve(table: &PriceTable, model_use: &ModelUse) -> Vec<ModelPrice> {
    let row = |price_key, channel: &str, mode: &str, match_kind: String, valid_from, valid_to| ModelPrice {
        model_use: model_use.clone(),
        price_key,
        channel: channel.to_owned(),
        mode: mode.to_owned(),
        match_kind,
        valid_from,
        valid_to,
    };
    let nothing = |kind: MatchKind, from, to| row(None, API, "standard", kind.to_string(), from, to);
    if names::is_not_billable(&model_use.model) {
        return vec![nothing(MatchKind::NOT_BILLABLE, OPEN_FROM, OPEN_TO)];
    }
    let Some(pricer) = pricer_for(model_use) else {
        return vec![nothing(MatchKind::UNKNOWN, OPEN_FROM, OPEN_TO)];
    };
    let mut found = pricer.canonicalize(table, &model_use.model);
    found.sort_by_key(|canonical| canonical.valid_from);
    let mut rows = Vec::new();
    let mut reached = OPEN_FROM;
    for canonical in found {
        if canonical.valid_from > reached {
            rows.push(nothing(MatchKind::UNKNOWN, reached, canonical.valid_from));
        }
        reached = canonical.valid_to;
        let mode = pricer.mode(model_use, canonical.mode.as_deref());
        let Canonical { price_key, channel, match_kind, valid_from, valid_to, .. } = canonical;
        rows.push(row(Some(price_key), &channel, &mode, match_kind.to_string(), valid_from, valid_to));
    }
    if reached < OPEN_TO {
        rows.push(nothing(MatchKind::UNKNOWN, reached, OPEN_TO));
    }
    rows
}

/// Cost of one request in pico-dollars, for summaries that must not need a database; `None` if it has no price.
///
/// `at` is in microseconds since the epoch. `prompt` is the whole prompt in tokens; where it is not recorded, that of
/// `counters` is taken.
#[must_use]
pub fn cost_of(
    table: &PriceTable,
    model_use: &ModelUse,
    geo: Option<&str>,
    at: i64,
    prompt: Option<i64>,
    counters: &Counters,
) -> Option<i128> {
    let price = resolve(table, model_use).into_iter().find(|row| row.valid_from <= at && at < row.valid_to)?;
    if price.match_kind == MatchKind::NOT_BILLABLE.to_string() {
        return Some(0);
    }
    let prompt = prompt.or_else(|| counters.context()).unwrap_or(0);
    let key = price.price_key?;
    let cell = table.rates_for(&key, &price.channel, &price.mode, at).find(|cell| cell.holds(at, prompt))?;
    Some(cell.cost(counters, geo == Some("us")))
}

#[cfg(test)]
mod tests;
