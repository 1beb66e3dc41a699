//! Lines about usage: `token_count` events and `token_usage_record`s.

use super::claims::{Response, claim};
use super::counters::Step;
use super::fold::{CodexFold, Envelope, Place};
use super::lineage::Owner;
use super::tokens::{BadCounters, TokenUsage};
use crate::adapters::append_only::TimedLine;
use crate::model::claim::MAX_COUNTER;
use crate::model::{IssueKind, Rows};
use crate::source::Json;

/// Largest total of a thread that is believed: every JSON writer can hold it exactly.
const MAX_TOTAL: i64 = 1 << 53;

impl CodexFold {
    /// `token_count`: nothing, one response, or two.
    pub(super) fn token_count(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let mut bad = BadCounters::new();
        let info = envelope.payload.get("info").filter(|info| info.is_object());
        let part = |name: &str| info.and_then(|info| info.get(name));
        let total = part("total_token_usage").and_then(|json| TokenUsage::parse(json, MAX_TOTAL, &mut bad));
        let last = part("last_token_usage").and_then(|json| TokenUsage::parse(json, MAX_COUNTER, &mut bad));
        self.report(&bad, line, out);
        let owner = self.state.lineage.owner(envelope.ordinal, envelope.ts);
        let step = self.state.counters.count(total, last, self.state.lineage.start(), !bad.is_empty());
        if step == Step::default() {
            return out.session(self.state.lineage.thread()).saw(line.ts);
        }
        let aborted_model = self.state.context.aborted_model.take();

        let Self { state, identity, key, claim_texts, .. } = self;
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        let context = &state.context;
        let mut response = Response {
            key: "",
            vendor_id: None,
            usage: TokenUsage::default(),
            owner,
            model: context.turn.model.as_deref(),
            turn: &context.turn,
            block: 0,
            is_unreported: false,
            reported: info,
        };
        key.clear();
        step.key.write(state.lineage.family(owner), key);
        if let Some(usage) = step.latest {
            claim(&Response { key, usage, ..response }, context, &place, claim_texts, out);
        }
        if let Some(usage) = step.unreported {
            key.push('+');
            response.model = aborted_model.as_deref().or(response.model);
            claim(
                &Response { key, usage, block: 1, is_unreported: true, ..response },
                context,
                &place,
                claim_texts,
                out,
            );
        }
    }

    /// `token_usage_record`: one response, of the thread that it names.
    pub(super) fn usage_record(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let payload = envelope.payload;
        let (mut response_id, mut thread, mut turn, mut root_turn, mut reported) = (None, None, None, None, None);
        for (name, value) in payload.fields() {
            match name {
                "response_id" => response_id = value.as_str(),
                "thread_id" => thread = value.as_str(),
                "turn_id" => turn = value.as_str(),
                "root_turn_id" => root_turn = value.as_str(),
                "usage" => reported = Some(value),
                _ => {}
            }
        }
        let mut bad = BadCounters::new();
        let usage = reported.and_then(|json| TokenUsage::parse(json, MAX_COUNTER, &mut bad));
        self.report(&bad, line, out);
        let owner = match thread {
            Some(thread) => self.state.lineage.named(thread),
            None => self.state.lineage.owner(envelope.ordinal, envelope.ts),
        };
        let Some(usage) = usage else {
            return out.session(self.state.lineage.thread()).saw(line.ts);
        };
        let twin = self.state.counters.record(usage, owner == Owner::Own);

        let Self { state, identity, key, claim_texts, .. } = self;
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        key.clear();
        match (twin, response_id) {
            // The counter just before claimed the response: the same key makes them one.
            (Some(counter), _) => counter.write(state.lineage.family(owner), key),
            (None, Some(id)) => key.push_str(id),
            (None, None) => {
                key.push_str(place.record.record_key("usage", out.provider(), 0).as_str());
            }
        }
        let context = &state.context;
        let turn = context.turn_of(turn.or(root_turn));
        let response = Response {
            key,
            vendor_id: response_id,
            usage,
            owner,
            model: turn.model.as_deref(),
            turn,
            block: 0,
            is_unreported: false,
            reported: reported.filter(|reported| !Json::is_null(*reported)),
        };
        claim(&response, context, &place, claim_texts, out);
    }

    fn report(&self, bad: &BadCounters, line: &TimedLine<'_>, out: &mut Rows) {
        if !bad.is_empty() {
            let detail = format!("counters that cannot be right: {}", bad.join(", "));
            let thread = Some(self.state.lineage.thread());
            out.issue(thread, line.line.seq, line.ts, IssueKind::BadCounter, &detail);
        }
    }
}
