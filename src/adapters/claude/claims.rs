//! Turns the usage of a response into claims: one for the response, one for each side call that is billed beside it.

use std::fmt::Write as _;

use xxhash_rust::xxh3::{Xxh3Default, xxh3_128};

use super::SLUG;
use super::envelope::Message;
use super::usage::{Fault, Usage};
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::UsageRow;
use crate::model::{Claim, IssueKind, Record, RequestKey, Rows, Standing, money};
use crate::source::Json;
use crate::source::json::write_string;

/// A response as one line shows it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Response<'t> {
    /// The message of the line, or of the copy in it.
    pub message: Message<'t>,
    /// `uuid` of the message's own line.
    pub uuid: Option<&'t str>,
    /// Bytes of the line, to name a response that has no id at all.
    pub line: &'t [u8],
    /// Whether the line is a copy of another's (`progress`): it counts only while nothing better is known.
    pub is_copy: bool,
    pub request_id: Option<&'t str>,
    pub api_block_index: Option<i64>,
    pub effort: Option<&'t str>,
    pub cost_usd: Option<f64>,
    pub duration_ms: Option<i64>,
    pub project: Option<&'t str>,
    pub cwd: Option<&'t str>,
    pub git_branch: Option<&'t str>,
    pub is_sidechain: Option<bool>,
    pub agent_id: Option<&'t str>,
    pub agent_type: Option<&'t str>,
    pub skill: Option<&'t str>,
}

/// Makes claims; its buffers are used again for every line.
#[derive(Debug, Default)]
pub(super) struct Claims {
    key: String,
    reported: String,
    attributes: String,
    faults: Vec<Fault>,
}

impl Claims {
    /// Claims what a line says a response cost. `told` holds the response whose faults were told last: its other lines
    /// repeat them.
    pub fn claim(&mut self, response: &Response<'_>, record: &Record<'_>, told: &mut String, out: &mut Rows) {
        let message = &response.message;
        let Some(usage) = message.usage.filter(|usage| usage.is_object()) else { return };
        if message.is_synthetic() {
            return;
        }
        self.faults.clear();
        self.key.clear();
        if let Some(id) = message.id.or(response.uuid) {
            self.key.push_str(id);
        } else {
            let _ = write!(self.key, "line:{:032x}", xxh3_128(response.line));
        }
        let key_len = self.key.len();
        let read = Usage::read(usage, &mut self.faults);
        self.one(response, usage, &read, None, 0, record, out);

        let mut block = 1;
        for kind in ["advisor_message", "compaction"] {
            let calls = read.iterations.into_iter().flat_map(Json::items);
            for (index, call) in calls.filter(|call| call.str("type") == Some(kind)).enumerate() {
                self.key.truncate(key_len);
                let _ = write!(self.key, "#{kind}:{index}");
                let side_call = Usage::read(call, &mut self.faults);
                self.one(response, call, &side_call, Some(kind), block, record, out);
                block += 1;
            }
        }
        self.key.truncate(key_len);
        self.tell(record, told, out);
    }

    /// Claims one billed call: the response itself, or the side call of the kind `side_call`.
    #[expect(clippy::too_many_arguments, reason = "one private step of `claim`, which has them at hand")]
    fn one(
        &mut self,
        response: &Response<'_>,
        object: Json<'_>,
        usage: &Usage<'_>,
        side_call: Option<&str>,
        block: u32,
        record: &Record<'_>,
        out: &mut Rows,
    ) {
        let message = &response.message;
        let model = usage.model.filter(|_| side_call.is_some()).or(message.model);
        self.reported.clear();
        object.write_to(&mut self.reported);
        let is_finished = message.stop_reason.is_some() && !response.is_copy;
        let claim = Claim {
            request: RequestKey::new(SLUG, &self.key),
            standing: Standing {
                class: i64::from(!response.is_copy),
                rank: [
                    usage.counters.output.unwrap_or(-1),
                    response.api_block_index.unwrap_or(0),
                    self.content_hash(response, is_finished),
                ],
            },
            counters: usage.counters,
            variant: variant_of([model, usage.speed, usage.service_tier, usage.inference_geo]),
            guard: guard(message.id, model, usage),
            never: None,
        };
        self.write_attributes(response.request_id, side_call, response.is_copy);
        let row = UsageRow {
            request_key: Some(&self.key),
            message_uuid: response.uuid,
            response_id: message.id,
            model,
            vendor: model.and_then(vendor_of),
            speed: usage.speed,
            service_tier: usage.service_tier,
            inference_geo: usage.inference_geo,
            effort: response.effort,
            finish_reason: message.stop_reason.filter(|_| side_call.is_none()),
            latency_ms: response.duration_ms.filter(|_| side_call.is_none()),
            reported_cost: response.cost_usd.filter(|_| side_call.is_none()).and_then(money::from_f64),
            reported_cost_unit: response.cost_usd.filter(|_| side_call.is_none()).map(|_| "USD"),
            grain: Some("request"),
            count_basis: Some(if is_finished { "exact" } else { "incomplete_output" }),
            cache_write_basis: usage.cache_write_basis,
            reported: Some(&self.reported),
            project: response.project,
            cwd: response.cwd,
            git_branch: response.git_branch,
            is_sidechain: response.is_sidechain,
            agent_id: response.agent_id,
            agent_type: response.agent_type,
            skill: response.skill,
            attributes: (!self.attributes.is_empty()).then_some(self.attributes.as_str()),
            ..UsageRow::default()
        };
        out.claim(record, block, claim, &row);
    }

    /// Decides between lines of one response with the same output and block. It is made of what a replayed line keeps,
    /// so that a replay ranks like its original; and of two such lines, the one that knows the end ranks higher.
    fn content_hash(&self, response: &Response<'_>, is_finished: bool) -> i64 {
        let mut hasher = Xxh3Default::new();
        hasher.update(self.reported.as_bytes());
        for text in [response.message.stop_reason, response.uuid] {
            hasher.update(&[0]);
            hasher.update(text.unwrap_or_default().as_bytes());
        }
        let magnitude = (hasher.digest() >> 1).cast_signed();
        if is_finished { magnitude } else { -1 - magnitude }
    }

    fn write_attributes(&mut self, request_id: Option<&str>, side_call: Option<&str>, is_copy: bool) {
        self.attributes.clear();
        let members =
            [("requestId", request_id), ("iteration", side_call), ("copied_by", is_copy.then_some("progress"))];
        for (name, value) in members {
            let Some(value) = value else { continue };
            self.attributes.push(if self.attributes.is_empty() { '{' } else { ',' });
            write_string(name, &mut self.attributes);
            self.attributes.push(':');
            write_string(value, &mut self.attributes);
        }
        if !self.attributes.is_empty() {
            self.attributes.push('}');
        }
    }

    /// Writes the faults of a response as issues, once.
    fn tell(&mut self, record: &Record<'_>, told: &mut String, out: &mut Rows) {
        if self.faults.is_empty() || *told == self.key {
            return;
        }
        told.clone_from(&self.key);
        let seq = record.seq.unsigned_abs();
        for fault in self.faults.drain(..) {
            let (kind, detail) = match fault {
                Fault::BadCounter { name, value } => {
                    (IssueKind::BadCounter, format!("{name} of response {} is {value}", self.key))
                }
                Fault::Contradiction(what) => (IssueKind::Contradiction, format!("in response {}, {what}", self.key)),
            };
            out.issue(Some(record.session_id), seq, record.ts, kind, &detail);
        }
    }
}

/// What tells two responses apart that have the same id, for ids that are not unique world-wide: some gateways count
/// from one in every session. Nothing on the prompt side ever differs between the lines of one response.
fn guard(message_id: Option<&str>, model: Option<&str>, usage: &Usage<'_>) -> Option<u64> {
    let id = message_id?;
    if is_vendor_unique(id) {
        return None;
    }
    let counters = usage.counters;
    let mut hasher = Xxh3Default::new();
    hasher.update(model.unwrap_or_default().as_bytes());
    for counter in [counters.input, counters.cache_read, counters.cache_write_5m, counters.cache_write_1h] {
        hasher.update(&counter.unwrap_or(-1).to_le_bytes());
    }
    Some(hasher.digest())
}

/// Whether an id has the shape that Anthropic gives (`msg_01` and 22 letters or digits; through other clouds with
/// `vrtx_` or `bdrk_` before it).
fn is_vendor_unique(id: &str) -> bool {
    let Some(rest) = id.strip_prefix("msg_") else { return false };
    let rest = rest.strip_prefix("vrtx_").or_else(|| rest.strip_prefix("bdrk_")).unwrap_or(rest);
    rest.len() == 24 && rest.starts_with("01") && rest.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_the_vendors_own_shape_are_trusted() {
        assert!(is_vendor_unique("msg_01AbCdEfGhJkLmNpQrStUvWx"));
        assert!(is_vendor_unique("msg_vrtx_01AbCdEfGhJkLmNpQrStUvWx"));
        assert!(!is_vendor_unique("msg_01"));
        assert!(!is_vendor_unique("msg_1"));
        assert!(!is_vendor_unique("chatcmpl-01AbCdEfGhJkLmNpQrStUvWx"));
    }
}
