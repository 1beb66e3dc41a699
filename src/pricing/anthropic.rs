//! Anthropic: counters are disjoint already, and the response says at which speed it was served.

use crate::model::Counters;

use super::names::{self, Canonical, Scope};
use super::{ModelUse, PriceTable, ProviderPricer, RawTokens};

/// Efforts and the thinking switch, as tools append them to a name.
const EFFORTS: &[&str] = &["thinking", "none", "low", "medium", "high", "xhigh", "max"];

/// Prices Claude models.
#[derive(Debug, Clone, Copy)]
pub struct Anthropic;

impl ProviderPricer for Anthropic {
    fn vendor(&self) -> &'static str {
        "anthropic"
    }

    fn canonicalize(&self, table: &PriceTable, provider: &str, model_id: &str) -> Vec<Canonical> {
        let endings = names::Endings { efforts: EFFORTS, modes: &[("fast-mode", "fast"), ("fast", "fast")] };
        names::lookup(table, Scope { vendor: Some(self.vendor()), provider }, model_id, endings)
    }

    /// The recorded speed decides over a `-fast` name: Opus 4.6 served such requests at standard speed and price after
    /// 2026-06-29. Priority Tier is bought in advance, so the list price stands for it.
    fn mode(&self, model_use: &ModelUse, named: Option<&str>) -> String {
        let tier = match model_use.service_tier.as_str() {
            "" | "standard" | "priority" => "standard",
            tier => tier,
        };
        let mode = match (model_use.speed.as_str(), tier) {
            ("", "standard") => named.unwrap_or("standard"),
            ("" | "standard", tier) => tier,
            (speed, _) => speed,
        };
        mode.to_owned()
    }

    fn normalize_tokens(&self, raw: &RawTokens) -> Counters {
        let cache_write_5m = match (raw.cache_write, raw.cache_write_1h) {
            (Some(all), Some(hour)) => Some(all.saturating_sub(hour).max(0)),
            (all, _) => all,
        };
        Counters {
            input: raw.input,
            cache_read: raw.cache_read,
            cache_write_5m,
            cache_write_1h: raw.cache_write_1h,
            output: raw.output,
            web_search_requests: None,
            reasoning: raw.reasoning,
        }
    }
}
