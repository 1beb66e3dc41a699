//! One price: what it holds for, and what a request costs by it.
//!
//! A cell is one price for (price key, channel, mode) between two instants and for one band of prompt sizes. Nothing is
//! multiplied at run time except the surcharge for inference in the US: each of the five rates is written out, because
//! vendors do not keep their ratios (Anthropic's cache reads cost 0.1, 0.05 or 0.025 of the input, depending on the
//! model).

use std::collections::BTreeMap;

use crate::model::{Counters, time};

use super::PricingError;

/// Where an open `valid_from` begins: before any of the models existed. 1970-01-01, in microseconds.
pub const OPEN_FROM: i64 = 0;
/// Where an open `valid_to` ends: 9999-01-01T00:00:00Z, in microseconds.
pub const OPEN_TO: i64 = 253_370_764_800_000_000;
/// The `prompt_over` of a band that begins at an empty prompt (the bound is exclusive).
pub const NO_PROMPT: i64 = -1;
/// The channel of the vendor's own API.
pub const API: &str = "api";
/// The mode of a request that asked for nothing special.
pub const STANDARD: &str = "standard";

/// Decimal places of a rate: a micro-dollar per million tokens is a pico-dollar per token.
const RATE_SCALE: u32 = 6;

/// The dearest rate that is believed, USD per million tokens. Nothing on any list comes near.
const DEAREST: Rate = 1_000 * 1_000_000;

/// One price: micro-dollars per million tokens, which is the same as pico-dollars per token.
pub type Rate = i64;

/// Prices of one (key, channel, mode) for a span of time and a band of prompt sizes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// `vendor/model`.
    pub price_key: String,
    /// How the vendor was reached: `api`, `bedrock`, `bedrock-global`, `bedrock-regional`, `vertex`, `azure`.
    pub channel: String,
    /// `standard`, `thinking`, `batch`, `flex`, `fast`, `ultrafast`, `peak` or `off_peak`.
    pub mode: String,
    /// First instant that it holds for, microseconds since the epoch.
    pub valid_from: i64,
    /// First instant that it no longer holds for.
    pub valid_to: i64,
    /// Holds for prompts of more tokens than this …
    pub prompt_over: i64,
    /// … and of at most as many as this.
    pub prompt_upto: i64,
    /// Uncached prompt tokens.
    pub input: Rate,
    /// Prompt tokens read from a cache.
    pub cache_read: Rate,
    /// Prompt tokens written to a cache for five minutes or an unrecorded time.
    pub cache_write_5m: Rate,
    /// Prompt tokens written to a cache for an hour (OpenAI: for twelve).
    pub cache_write_1h: Rate,
    /// Generated tokens, reasoning included.
    pub output: Rate,
    /// Micro-dollars per thousand web searches.
    pub web_search_per_1k: Rate,
    /// Millionths by which the five rates grow for inference in the US: 1,100,000 is ten per cent more.
    pub geo_us_mult: Rate,
    /// How the price is known: `documented` by the vendor, `observed` in a price list, the `commit` that listed it,
    /// `estimated` by us; `update` and `override` come from a user's files.
    pub basis: String,
    /// Where it can be looked up.
    pub source: String,
}

impl Cell {
    /// Whether the cell prices a request at `at` (microseconds) with `prompt` tokens of context.
    #[must_use]
    pub fn holds(&self, at: i64, prompt: i64) -> bool {
        self.holds_at(at) && self.prompt_over < prompt && prompt <= self.prompt_upto
    }

    /// Whether the cell holds at an instant, for some size of prompt.
    #[must_use]
    pub fn holds_at(&self, at: i64) -> bool {
        self.valid_from <= at && at < self.valid_to
    }

    /// Cost in pico-dollars (10^-12 USD), the exact twin of what `priced_requests` computes in SQL. A counter that is
    /// not recorded costs nothing.
    #[must_use]
    pub fn cost(&self, counters: &Counters, in_us: bool) -> i128 {
        let counts =
            [counters.input, counters.cache_read, counters.cache_write_5m, counters.cache_write_1h, counters.output];
        let multiplier = if in_us { i128::from(self.geo_us_mult) } else { 1_000_000 };
        let rated: i128 = counts
            .iter()
            .zip(self.rates())
            .map(|(count, rate)| i128::from(count.unwrap_or(0)) * (i128::from(rate) * multiplier / 1_000_000))
            .sum();
        // Micro-dollars per thousand searches are 1,000 pico-dollars per search each.
        let searches =
            i128::from(counters.web_search_requests.unwrap_or(0)) * i128::from(self.web_search_per_1k) * 1_000;
        rated + searches
    }

    /// The five rates per million tokens: input, cache read, writes for five minutes and an hour, output.
    #[must_use]
    pub fn rates(&self) -> [Rate; 5] {
        [self.input, self.cache_read, self.cache_write_5m, self.cache_write_1h, self.output]
    }

    /// Where the cell is, for messages.
    #[must_use]
    pub fn place(&self) -> String {
        let Self { price_key, channel, mode, valid_from, prompt_over, .. } = self;
        format!("{price_key} {channel} {mode} from {} over {prompt_over}", time::text(*valid_from))
    }

    /// What makes the rates impossible, for messages; `None` if nothing does.
    pub(super) fn impossible(&self) -> Option<&'static str> {
        if self.rates().iter().any(|&rate| rate < 0) || self.web_search_per_1k < 0 || self.geo_us_mult <= 0 {
            return Some("has a negative rate");
        }
        // SQL casts the surcharged rate back to six decimals; it must not round there.
        if self.rates().iter().any(|&rate| i128::from(rate) * i128::from(self.geo_us_mult) % 1_000_000 != 0) {
            return Some("has a rate that the US surcharge would round");
        }
        None
    }

    /// What is doubtful about the rates though not impossible, such as an output that costs less than the input.
    #[must_use]
    pub fn doubtful(&self) -> Option<&'static str> {
        if self.cache_read > self.input {
            Some("reads from the cache cost more than input")
        } else if self.cache_write_1h < self.cache_write_5m {
            Some("writes for an hour cost less than for five minutes")
        } else if self.output < self.input {
            Some("output costs less than input")
        } else if self.input == 0 || self.output == 0 {
            Some("input or output costs nothing")
        } else if self.rates().iter().any(|&rate| rate > DEAREST) {
            Some("costs more than 1,000 USD per million tokens")
        } else {
            None
        }
    }
}

/// Cells of one (key, channel, mode) must not overlap; `whole` asks that they cover all of time and, at each time, all
/// prompt sizes too. Then a join on them returns exactly one row per request.
pub(super) fn check_partition(group: &[&Cell], whole: bool) -> Result<(), PricingError> {
    let broken = |cell: String, axis, expected| Err(PricingError::NotAPartition { cell, axis, expected });
    let mut spans: BTreeMap<(i64, i64), Vec<&Cell>> = BTreeMap::new();
    for cell in group {
        spans.entry((cell.valid_from, cell.valid_to)).or_default().push(cell);
    }
    let mut reached = OPEN_FROM;
    for ((from, to), bands) in &mut spans {
        let at = bands.first().map(|cell| cell.place()).unwrap_or_default();
        if *from < reached || (whole && *from != reached) || to <= from {
            return broken(at, "time", time::text(reached));
        }
        reached = *to;
        bands.sort_unstable_by_key(|cell| cell.prompt_over);
        let mut covered = NO_PROMPT;
        for band in bands.iter() {
            if band.prompt_over != covered || band.prompt_upto <= band.prompt_over {
                return broken(band.place(), "prompt size", covered.to_string());
            }
            covered = band.prompt_upto;
        }
        if covered != i64::MAX {
            return broken(at, "prompt size", covered.to_string());
        }
    }
    if whole && reached != OPEN_TO {
        return broken(group.first().map(|cell| cell.place()).unwrap_or_default(), "time", time::text(reached));
    }
    Ok(())
}

/// Reads `3.75` as 3,750,000. Prices are never read as floating point: `2.8e-09` is not exact there.
pub(super) fn parse_rate(text: &str) -> Option<Rate> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let decimals = u32::try_from(fraction.len()).ok().filter(|&decimals| decimals <= RATE_SCALE)?;
    let unscaled: Rate = format!("{whole}{fraction}").parse().ok()?;
    let scaled = unscaled.checked_mul(10_i64.pow(RATE_SCALE - decimals))?;
    Some(if negative { -scaled } else { scaled })
}

/// Writes 3,750,000 as `3.75`.
#[must_use]
pub fn rate_text(rate: Rate) -> String {
    let text = format!(
        "{}{}.{:06}",
        if rate < 0 { "-" } else { "" },
        rate.unsigned_abs() / 1_000_000,
        rate.unsigned_abs() % 1_000_000
    );
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact_text() {
        for (text, rate) in [("3.75", 3_750_000), ("0.0025", 2_500), ("10", 10_000_000), ("0", 0), ("-1.5", -1_500_000)]
        {
            assert_eq!(parse_rate(text), Some(rate));
            assert_eq!(rate_text(rate), text);
        }
        for text in ["", ".5", "1e3", "0.0000001", "1.2.3", "∞", "9223372036854.775808"] {
            assert_eq!(parse_rate(text), None, "{text}");
        }
    }
}
