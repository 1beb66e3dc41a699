//! What an entry says that model calls cost, and the claims for them.

use std::fmt::Write as _;

use xxhash_rust::xxh3::Xxh3Default;

use super::fold::{Fold, message_time};
use crate::adapters::append_only::TimedLine;
use crate::adapters::counters::{Faults, sum};
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::UsageRow;
use crate::model::{Claim, Counters, Record, RequestKey, Rows, Standing, money};
use crate::source::Json;

/// Messages that OpenClaw's gateway writes in the model's name; no model was asked.
const NO_MODELS: [&str; 2] = ["delivery-mirror", "gateway-injected"];

/// A usage object and the call that it is of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent<'t> {
    /// The usage object.
    pub usage: Json<'t>,
    /// Where it stands: `response`, `tool`, `compaction`, `branch_summary` or the kind of a `usage` entry.
    pub what: &'t str,
    /// The message, or the entry, that the call belongs to.
    pub holder: Json<'t>,
    /// Id of the entry.
    pub entry_id: Option<&'t str>,
    /// Names the claims of one entry apart.
    pub block: u32,
}

/// Disjoint counters of a usage object, and how long its cache writes live.
fn counters(usage: Json<'_>, faults: &mut Faults) -> (Counters, Option<&'static str>) {
    let mut counter = |name| faults.counter(usage, name);
    let [input, output, cache_read] = ["input", "output", "cacheRead"].map(&mut counter);
    let [writes, one_hour, reasoning] = ["cacheWrite", "cacheWrite1h", "reasoning"].map(&mut counter);
    let five_minutes = match (writes, one_hour) {
        (Some(writes), Some(one_hour)) if one_hour > writes => {
            faults.contradiction(format!("{one_hour} hour-long cache writes are more than {writes} cache writes"));
            None
        }
        (Some(writes), one_hour) => Some(writes - one_hour.unwrap_or(0)),
        (None, _) => None,
    };
    let basis = match (writes, one_hour) {
        (_, Some(_)) => Some("recorded"),
        (Some(writes), None) => Some(if writes > 0 { "assumed_5m" } else { "recorded" }),
        (None, None) => None,
    };
    let reasoning = faults.reasoning(reasoning, output);
    let counters = Counters {
        input,
        cache_read,
        cache_write_5m: five_minutes,
        cache_write_1h: one_hour,
        output,
        reasoning,
        ..Counters::default()
    };
    (counters, basis)
}

/// Claims a call.
pub(super) fn claim(fold: &mut Fold, spent: &Spent<'_>, record: &Record<'_>, line: &TimedLine<'_>, out: &mut Rows) {
    if !spent.usage.is_object() {
        return;
    }
    let (counters, cache_write_basis) = counters(spent.usage, &mut fold.faults);
    let own = |name: &str| spent.holder.str(name).filter(|text| !text.is_empty());
    let model = own("model").or(own("modelId")).or(fold.carry.model.as_deref());
    let provider = own("provider").or(fold.carry.provider.as_deref());
    let stop_reason = own("stopReason").filter(|_| spent.what == "response");
    let has_failed = matches!(stop_reason, Some("error" | "aborted"));
    let is_nothing = counters.is_empty() && (has_failed || model.is_some_and(|model| NO_MODELS.contains(&model)));
    if !is_nothing {
        let response_id = own("responseId").filter(|_| spent.what == "response");
        let request_key = key(spent, response_id, provider, model, counters, line.ts);
        let usage_text = spent.usage.to_text();
        let cost = spent.usage.path(&["cost", "total"]).and_then(Json::as_f64).and_then(money::from_f64);
        let claim = Claim {
            request: RequestKey::new(fold.slug, &request_key),
            standing: Standing {
                class: 1,
                rank: [counters.output.unwrap_or(-1), sum([counters.input, counters.cache_read]).unwrap_or(-1), 0],
            },
            counters,
            variant: variant_of([model, None, None, None]),
            // Services that answer in OpenAI's way may count their ids anew for every client.
            guard: response_id.map(|_| guard(model, counters)),
            never: None,
        };
        let attributes = &mut fold.draft.buffers.attributes;
        attributes.clear();
        attributes.text("provider", provider);
        attributes.text("call", Some(spent.what).filter(|what| *what != "response"));
        attributes.text("response_model", own("responseModel"));
        let _ = attributes.finish();
        let row = UsageRow {
            request_key: Some(&request_key),
            message_uuid: spent.entry_id,
            response_id,
            model,
            vendor: model.and_then(vendor_of),
            effort: own("thinkingLevel").or(fold.carry.thinking_level.as_deref()),
            finish_reason: stop_reason,
            reported_cost: cost,
            reported_cost_unit: cost.map(|_| "USD"),
            grain: Some("request"),
            count_basis: Some("exact"),
            cache_write_basis,
            reported: Some(&usage_text),
            project: fold.carry.cwd.as_deref(),
            cwd: fold.carry.cwd.as_deref(),
            agent_id: fold.agent.as_deref(),
            attributes: attributes.written(),
            ..UsageRow::default()
        };
        out.claim(record, spent.block, claim, &row);
    }
    let name = spent.entry_id.unwrap_or("without an id");
    for (kind, detail) in fold.faults.take(&format!("entry {name}")) {
        out.issue(Some(record.session_id), record.seq.unsigned_abs(), record.ts, kind, &detail);
    }
}

/// Names a call across copies: the vendor's id of the response; else when it ended, who answered, and every counter.
fn key(
    spent: &Spent<'_>,
    response_id: Option<&str>,
    provider: Option<&str>,
    model: Option<&str>,
    counters: Counters,
    ts: i64,
) -> String {
    let provider = provider.unwrap_or_default();
    if let Some(id) = response_id {
        return format!("{provider}:{id}");
    }
    let ts = message_time(spent.holder).unwrap_or(ts);
    let mut key = format!("{}@{ts}:{provider}:{}", spent.what, model.unwrap_or_default());
    for counter in counters.to_array() {
        let _ = write!(key, ":{}", counter.unwrap_or(0));
    }
    key
}

/// Hash of what the records of one response share on the prompt side.
fn guard(model: Option<&str>, counters: Counters) -> u64 {
    let mut hasher = Xxh3Default::new();
    hasher.update(model.unwrap_or_default().as_bytes());
    for counter in [counters.input, counters.cache_read, counters.cache_write_5m, counters.cache_write_1h] {
        hasher.update(&counter.unwrap_or(-1).to_le_bytes());
    }
    hasher.digest()
}
