//! Google: cached tokens are part of the prompt, thoughts stand beside the candidates and are billed as output.

use crate::model::Counters;

use super::names::{self, Canonical, Scope};
use super::{ModelUse, PriceTable, ProviderPricer, RawTokens};

/// Efforts and the thinking switch, as tools append them to a name.
const EFFORTS: &[&str] = &["thinking", "low", "medium", "high"];

/// Prices Gemini models.
#[derive(Debug, Clone, Copy)]
pub struct Google;

impl ProviderPricer for Google {
    fn vendor(&self) -> &'static str {
        "google"
    }

    fn canonicalize(&self, table: &PriceTable, provider: &str, model_id: &str) -> Vec<Canonical> {
        let endings = names::Endings { efforts: EFFORTS, modes: &[] };
        names::lookup(table, Scope { vendor: Some(self.vendor()), provider }, model_id, endings)
    }

    fn mode(&self, model_use: &ModelUse, named: Option<&str>) -> String {
        let mode = match model_use.service_tier.as_str() {
            "" => named.unwrap_or("standard"),
            "default" | "standard" => "standard",
            // The price lists call it so, and the table does as they do.
            "priority" => "fast",
            other => other,
        };
        mode.to_owned()
    }

    fn normalize_tokens(&self, raw: &RawTokens) -> Counters {
        let output = match (raw.output, raw.reasoning) {
            (None, None) => None,
            (output, reasoning) => Some(output.unwrap_or(0).saturating_add(reasoning.unwrap_or(0))),
        };
        Counters {
            input: raw.input.map(|input| input.saturating_sub(raw.cache_read.unwrap_or(0)).max(0)),
            cache_read: raw.cache_read,
            cache_write_5m: raw.cache_write,
            cache_write_1h: None,
            output,
            web_search_requests: None,
            reasoning: raw.reasoning,
        }
    }
}
