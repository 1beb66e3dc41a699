//! Vendors whose API counts as OpenAI's does: cached tokens are part of the prompt, reasoning is part of the output.
//!
//! They differ in what the endings of their names mean, which is the table below. `-fast` is the clearest case: a mode of
//! OpenAI's and Cursor's models, but other models at xAI (`grok-4-fast`).

use crate::model::Counters;

use super::names::{self, Canonical, Endings, Scope};
use super::{ModelUse, PriceTable, ProviderPricer, RawTokens};

/// Efforts, as tools append them to a name.
const EFFORTS: &[&str] = &["none", "minimal", "low", "medium", "high", "xhigh"];
const FAST: &[(&str, &str)] = &[("fast", "fast")];

/// Prices the models of one such vendor.
#[derive(Debug, Clone, Copy)]
pub struct Compatible {
    vendor: &'static str,
    endings: Endings,
}

const fn vendor(vendor: &'static str, efforts: &'static [&'static str]) -> Compatible {
    Compatible { vendor, endings: Endings { efforts, modes: &[] } }
}

/// OpenAI itself.
pub static OPENAI: Compatible = Compatible { vendor: "openai", endings: Endings { efforts: EFFORTS, modes: FAST } };

/// The vendors that follow it.
pub static COMPATIBLE: [Compatible; 20] = [
    vendor("xai", EFFORTS),
    vendor("deepseek", &["thinking"]),
    // Some models think at a dearer output price.
    Compatible { vendor: "qwen", endings: Endings { efforts: &[], modes: &[("thinking", "thinking")] } },
    vendor("moonshot", &["low", "medium", "high", "max"]),
    vendor("zhipu", &["thinking", "low", "medium", "high", "max"]),
    vendor("minimax", &["thinking", "low", "medium", "high"]),
    vendor("mistral", EFFORTS),
    Compatible { vendor: "cursor", endings: Endings { efforts: EFFORTS, modes: FAST } },
    vendor("cognition", &[]),
    vendor("xiaomi", &["thinking"]),
    vendor("stepfun", &[]),
    vendor("tencent", &[]),
    vendor("bytedance", &["thinking"]),
    vendor("meta", EFFORTS),
    vendor("cohere", &[]),
    vendor("perplexity", &[]),
    vendor("ai21", &[]),
    vendor("upstage", &[]),
    vendor("inception", &[]),
    vendor("longcat", &[]),
];

impl ProviderPricer for Compatible {
    fn vendor(&self) -> &'static str {
        self.vendor
    }

    fn canonicalize(&self, table: &PriceTable, provider: &str, model_id: &str) -> Vec<Canonical> {
        names::lookup(table, Scope { vendor: Some(self.vendor), provider }, model_id, self.endings)
    }

    /// Responses without a tier were standard: older rollouts do not name one, and today's configuration says nothing
    /// about them. OpenAI renamed `priority` to `fast` on 2026-07-30 and prices it the same.
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
        let cached = raw.cache_read.unwrap_or(0).saturating_add(raw.cache_write.unwrap_or(0));
        Counters {
            input: raw.input.map(|input| input.saturating_sub(cached).max(0)),
            cache_read: raw.cache_read,
            cache_write_5m: raw.cache_write,
            cache_write_1h: None,
            output: raw.output,
            web_search_requests: None,
            reasoning: raw.reasoning,
        }
    }
}
