//! The claim for a request, or for a sum of requests, of either generation.

use super::discovery::Member;
use super::usage::Prompt;
use crate::adapters::buffers::Attributes;
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::UsageRow;
use crate::model::{Claim, CopyReason, Counters, Record, RequestKey, Rows, Standing, money};

/// What a request, or a sum of some, cost.
#[derive(Debug)]
pub(super) struct Spent<'a> {
    /// Names the request.
    pub key: String,
    /// The tool's id of the record.
    pub uuid: Option<&'a str>,
    pub model: Option<&'a str>,
    /// Service that was asked, as the extension names it.
    pub service: Option<&'a str>,
    pub counters: Counters,
    pub prompt: Prompt,
    /// USD.
    pub cost: Option<f64>,
    pub grain: &'static str,
    pub never: Option<CopyReason>,
    pub reported: &'a str,
    pub cwd: Option<&'a str>,
    pub agent_id: Option<&'a str>,
}

/// Claims it.
pub(super) fn claim(spent: &Spent<'_>, member: &Member, record: &Record<'_>, out: &mut Rows) {
    let counters = spent.counters;
    let total = counters.to_array().iter().take(5).flatten().fold(0_i64, |sum, &n| sum.saturating_add(n));
    let claim = Claim {
        request: RequestKey::new(member.slug, &spent.key),
        standing: Standing { class: 1, rank: [total, i64::from(spent.model.is_some()), 0] },
        counters,
        variant: variant_of([spent.model, None, None, None]),
        guard: None,
        never: spent.never,
    };
    let mut attributes = Attributes::default();
    attributes.text("provider", spent.service);
    attributes.text("prompt", Some(spent.prompt.as_str()));
    let _ = attributes.finish();
    let cost = spent.cost.and_then(money::from_f64);
    let row = UsageRow {
        request_key: Some(&spent.key),
        message_uuid: spent.uuid,
        model: spent.model,
        vendor: spent.model.and_then(vendor_of),
        reported_cost: cost,
        reported_cost_unit: cost.map(|_| "USD"),
        grain: Some(spent.grain),
        count_basis: Some(if spent.grain == "request" { "exact" } else { "rollup" }),
        cache_write_basis: counters.cache_write_5m.map(|writes| if writes > 0 { "assumed_5m" } else { "recorded" }),
        reported: Some(spent.reported),
        project: spent.cwd,
        cwd: spent.cwd,
        agent_id: spent.agent_id,
        attributes: attributes.written(),
        ..UsageRow::default()
    };
    out.claim(record, 0, claim, &row);
}
