//! OpenAI: cached and newly cached tokens are part of the input, reasoning is part of the output.

use crate::model::Counters;

use super::names::{self, Canonical};
use super::{ModelUse, PriceTable, ProviderPricer, RawTokens};

/// Efforts and the thinking switch, as tools append them to a name.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];

/// Prices GPT and o-series models.
#[derive(Debug, Clone, Copy)]
pub struct OpenAi;

impl ProviderPricer for OpenAi {
    fn vendor(&self) -> &'static str {
        "openai"
    }

    fn canonicalize(&self, table: &PriceTable, model_id: &str) -> Vec<Canonical> {
        names::lookup(table, self.vendor(), model_id, names::Endings { efforts: EFFORTS, fast: &["fast"] })
    }

    /// Responses without a tier were standard: older rollouts do not name one, and today's configuration says nothing
    /// about them. `priority` was renamed `fast` on 2026-07-30 and is priced the same.
    fn mode(&self, model_use: &ModelUse, named: Option<&str>) -> String {
        let recorded = if model_use.service_tier.is_empty() { &model_use.speed } else { &model_use.service_tier };
        let mode = match recorded.as_str() {
            "" => named.unwrap_or("standard"),
            "default" | "standard" | "auto" => "standard",
            "priority" | "fast" => "fast",
            other => other,
        };
        mode.to_owned()
    }

    fn normalize_tokens(&self, raw: &RawTokens) -> Counters {
        let cached = raw.cache_read.unwrap_or(0) + raw.cache_write.unwrap_or(0);
        Counters {
            input: raw.input.map(|input| (input - cached).max(0)),
            cache_read: raw.cache_read,
            cache_write_5m: raw.cache_write,
            cache_write_1h: None,
            output: raw.output,
            web_search_requests: None,
            reasoning: raw.reasoning,
        }
    }
}
