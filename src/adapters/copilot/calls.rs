//! What the CLI's model calls cost. A message tells the output of its call; only when the session ends, a sum per model
//! tells prompts, caches and reasoning, over all legs of the session so far.
//!
//! Where a sum is of one call that is known, it completes that call. Otherwise what the sum has beyond the calls is one
//! row more, of the grain `session`, so that totals hold and no call is given numbers that are not its own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::SLUG;
use crate::adapters::buffers::Attributes;
use crate::adapters::counters::Faults;
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::UsageRow;
use crate::model::{Claim, Counters, Record, RequestKey, Rows, Standing};
use crate::source::Json;

/// Tokens as the CLI counts them: `input` holds reads and writes of the cache.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Tokens {
    input: Option<i64>,
    cache_read: Option<i64>,
    cache_write: Option<i64>,
    output: Option<i64>,
    reasoning: Option<i64>,
    /// Calls, where they are counted.
    requests: Option<i64>,
    /// Cost in billionths of an AI unit.
    nano_aiu: Option<i64>,
}

/// Calls and sums of a session, carried.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Ledger {
    /// Calls since the last sum.
    calls: BTreeMap<String, Call>,
    /// Calls that summarised, since the last sum, by model.
    side_calls: BTreeMap<String, Tokens>,
    /// The last sum of each model.
    sums: BTreeMap<String, Tokens>,
}

/// A call that a message told.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Call {
    model: Option<String>,
    output: i64,
    message_id: Option<String>,
    agent_id: Option<String>,
}

/// What every usage row of a session repeats.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Context<'a> {
    pub session_id: &'a str,
    pub cwd: Option<&'a str>,
    pub git_branch: Option<&'a str>,
    pub effort: Option<&'a str>,
}

impl Tokens {
    /// Reads an object under the names of the sums, or those of a compaction.
    fn read(usage: Json<'_>, faults: &mut Faults) -> Self {
        let mut either = |names: [&str; 3]| names.into_iter().find_map(|name| faults.counter(usage, name));
        Self {
            input: either(["inputTokens", "input", "input_tokens"]),
            cache_read: either(["cacheReadTokens", "cachedInput", "cached_input"]),
            cache_write: either(["cacheWriteTokens", "cacheWrite", "cache_write"]),
            output: either(["outputTokens", "output", "output_tokens"]),
            reasoning: either(["reasoningTokens", "reasoning", "reasoning_tokens"]),
            requests: None,
            nano_aiu: None,
        }
    }

    fn to_array(self) -> [Option<i64>; 7] {
        [self.input, self.cache_read, self.cache_write, self.output, self.reasoning, self.requests, self.nano_aiu]
    }

    fn from_array([input, cache_read, cache_write, output, reasoning, requests, nano_aiu]: [Option<i64>; 7]) -> Self {
        Self { input, cache_read, cache_write, output, reasoning, requests, nano_aiu }
    }

    fn zip(self, other: Self, combine: impl Fn(i64, i64) -> i64) -> Self {
        let mut result = self.to_array();
        for (mine, theirs) in result.iter_mut().zip(other.to_array()) {
            *mine = match (*mine, theirs) {
                (None, None) => None,
                (mine, theirs) => Some(combine(mine.unwrap_or(0), theirs.unwrap_or(0))),
            };
        }
        Self::from_array(result)
    }

    /// `self` less `before`; `None` where any part would be negative.
    fn minus(self, before: Self) -> Option<Self> {
        let difference = self.zip(before, i64::saturating_sub);
        difference.to_array().iter().flatten().all(|&count| count >= 0).then_some(difference)
    }

    fn is_zero(self) -> bool {
        [self.input, self.cache_read, self.cache_write, self.output, self.reasoning].iter().flatten().all(|&n| n == 0)
    }

    fn counters(self, faults: &mut Faults) -> Counters {
        Counters {
            input: faults.uncached(self.input, [self.cache_read, self.cache_write]),
            cache_read: self.cache_read,
            cache_write_5m: self.cache_write,
            output: self.output,
            reasoning: self.reasoning,
            ..Counters::default()
        }
    }
}

impl Ledger {
    /// A message told the output of a call. `id` names the call: several messages can be of one.
    #[expect(clippy::too_many_arguments, reason = "the parts of one message, which its reader has at hand")]
    pub fn message(
        &mut self,
        id: &str,
        message_id: Option<&str>,
        agent_id: Option<&str>,
        model: Option<&str>,
        output: Option<i64>,
        context: &Context<'_>,
        record: &Record<'_>,
        out: &mut Rows,
    ) {
        let call = self.calls.entry(id.to_owned()).or_default();
        call.model = call.model.take().or_else(|| model.map(str::to_owned));
        call.message_id = call.message_id.take().or_else(|| message_id.map(str::to_owned));
        call.agent_id = call.agent_id.take().or_else(|| agent_id.map(str::to_owned));
        call.output = call.output.max(output.unwrap_or(0));
        let Some(output) = output else { return };
        let counters = Counters { output: Some(output), ..Counters::default() };
        Charge {
            key: id,
            grain: "request",
            basis: "exact",
            model,
            message_id,
            agent_id,
            counters,
            stage: 0,
            ..Charge::default()
        }
        .claim(0, context, record, out);
    }

    /// A compaction told what the call that summarised cost.
    #[expect(clippy::too_many_arguments, reason = "the parts of one event, which its reader has at hand")]
    pub fn compaction(
        &mut self,
        usage: Json<'_>,
        id: &str,
        model: Option<&str>,
        context: &Context<'_>,
        record: &Record<'_>,
        faults: &mut Faults,
        out: &mut Rows,
    ) {
        let mut tokens = Tokens::read(usage, faults);
        let side = self.side_calls.entry(model.unwrap_or_default().to_owned()).or_default();
        let counters = tokens.counters(faults);
        tokens.requests = Some(1);
        *side = side.zip(tokens, i64::saturating_add);
        let reported = usage.to_text();
        let key = format!("compaction:{id}");
        Charge {
            key: &key,
            grain: "request",
            basis: "exact",
            model,
            counters,
            reported: Some(&reported),
            stage: 1,
            ..Charge::default()
        }
        .claim(0, context, record, out);
    }

    /// The session ended, with sums per model over all its legs.
    pub fn shutdown(
        &mut self,
        metrics: Json<'_>,
        id: &str,
        context: &Context<'_>,
        record: &Record<'_>,
        faults: &mut Faults,
        out: &mut Rows,
    ) {
        let is_only = metrics.len() == 1;
        let calls = std::mem::take(&mut self.calls);
        let side_calls = std::mem::take(&mut self.side_calls);
        for (block, (model, metric)) in (0_u32..).zip(metrics.fields()) {
            let mut sum = metric.get("usage").map(|usage| Tokens::read(usage, faults)).unwrap_or_default();
            sum.requests = metric.get("requests").and_then(|requests| faults.counter(requests, "count"));
            sum.nano_aiu = metric.get("totalNanoAiu").and_then(Json::as_i64);
            // A sum below the last one began anew: a compaction resets it.
            let before = self.sums.insert(model.to_owned(), sum).unwrap_or_default();
            let leg = sum.minus(before).unwrap_or(sum);
            let side = side_calls.get(model).copied().unwrap_or_default();
            let leg = leg.minus(Tokens { nano_aiu: None, ..side }).unwrap_or(leg);
            let own: Vec<(&String, &Call)> =
                calls.iter().filter(|(_, call)| is_only || call.model.as_deref() == Some(model)).collect();
            let told: i64 = own.iter().map(|(_, call)| call.output).fold(0, i64::saturating_add);
            if leg.is_zero() && told > 0 {
                // A sum of nothing beside calls that gave something is no sum.
                continue;
            }
            let reported = metric.to_text();
            let charge = Charge {
                model: Some(model),
                reported: Some(&reported),
                aiu: leg.nano_aiu,
                stage: 1,
                ..Charge::default()
            };
            if let ([(key, call)], Some(1)) = (own.as_slice(), leg.requests) {
                let counters = Counters { output: Some(leg.output.unwrap_or(0).max(told)), ..leg.counters(faults) };
                let (message_id, agent_id) = (call.message_id.as_deref(), call.agent_id.as_deref());
                Charge { key, grain: "request", basis: "exact", message_id, agent_id, counters, ..charge }
                    .claim(block, context, record, out);
            } else if !leg.is_zero() {
                if leg.output.is_some_and(|output| output < told) {
                    faults.contradiction(format!(
                        "the calls of {model} gave {told} output tokens, their sum is {}",
                        leg.output.unwrap_or(0)
                    ));
                }
                let rest = leg.output.map(|output| output.saturating_sub(told).max(0));
                let counters = Counters { output: rest, ..leg.counters(faults) };
                let key = format!("shutdown:{id}:{model}");
                Charge { key: &key, grain: "session", basis: "rollup", counters, ..charge }
                    .claim(block, context, record, out);
            }
        }
    }
}

/// One claim.
#[derive(Debug, Clone, Copy, Default)]
struct Charge<'a> {
    key: &'a str,
    grain: &'static str,
    basis: &'static str,
    model: Option<&'a str>,
    message_id: Option<&'a str>,
    agent_id: Option<&'a str>,
    counters: Counters,
    reported: Option<&'a str>,
    aiu: Option<i64>,
    /// 0: what a message told; 1: what a sum completed.
    stage: i64,
}

impl Charge<'_> {
    fn claim(&self, block: u32, context: &Context<'_>, record: &Record<'_>, out: &mut Rows) {
        let request_key = format!("{}:{}", context.session_id, self.key);
        let total = self.counters.to_array().iter().take(5).flatten().fold(0_i64, |sum, &n| sum.saturating_add(n));
        let claim = Claim {
            request: RequestKey::new(SLUG, &request_key),
            standing: Standing { class: 1, rank: [self.stage, total, 0] },
            counters: self.counters,
            variant: variant_of([self.model, None, None, None]),
            guard: None,
            never: None,
        };
        let mut attributes = Attributes::default();
        attributes.flag("sum_of_session", self.grain == "session");
        let _ = attributes.finish();
        let row = UsageRow {
            request_key: Some(&request_key),
            message_uuid: self.message_id,
            model: self.model,
            vendor: self.model.and_then(vendor_of),
            effort: context.effort,
            // Billionths, as 10^-12 of a unit.
            reported_cost: self.aiu.map(|nano| i128::from(nano) * 1000),
            reported_cost_unit: self.aiu.map(|_| "aiu"),
            grain: Some(self.grain),
            count_basis: Some(self.basis),
            cache_write_basis: self
                .counters
                .cache_write_5m
                .map(|writes| if writes > 0 { "assumed_5m" } else { "recorded" }),
            reported: self.reported,
            project: context.cwd,
            cwd: context.cwd,
            git_branch: context.git_branch,
            is_sidechain: Some(self.agent_id.is_some()),
            agent_id: self.agent_id,
            attributes: attributes.written(),
            ..UsageRow::default()
        };
        out.claim(record, block, claim, &row);
    }
}
