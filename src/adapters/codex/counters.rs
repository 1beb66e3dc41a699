//! What the running totals of a thread say was billed: `token_count` events and `token_usage_record`s in file order.
//!
//! A `token_count` tells the total of the thread so far and the latest response; the same numbers are told again whenever
//! rate limits are refreshed. A record (0.153 and later) tells one response; the `token_count` beside it is its twin. The
//! rules are in `docs/formats/codex.md`; who owns the lines is decided in [`super::lineage`].

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use super::tokens::TokenUsage;

/// Epochs of one thread that are remembered; a real one has a handful.
const MAX_EPOCHS: usize = 1024;

/// The requests that one `token_count` stands for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Step {
    /// The latest response, where nothing else has claimed it.
    pub latest: Option<TokenUsage>,
    /// Growth beyond it: a response that was billed and got no event of its own, as after an abort.
    pub unreported: Option<TokenUsage>,
    /// The text that names `latest` inside the thread's family; `unreported` is named after it.
    pub key: CounterKey,
}

/// Names a counter line in its thread's family: never by a time, since copies are stamped anew.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterKey {
    total: Option<TokenUsage>,
    last: Option<TokenUsage>,
    /// Tells epochs apart that begin alike, and equal lines without a total.
    variant: u32,
}

impl CounterKey {
    /// Appends the key text.
    pub fn write(self, family: &str, out: &mut String) {
        out.push_str(family);
        for (mark, usage) in [(":", self.total), ("/", self.last)] {
            out.push_str(mark);
            if let Some(usage) = usage {
                usage.write_key(out);
            }
        }
        if self.variant > 0 {
            use std::fmt::Write as _;
            let _ = write!(out, "#{}", self.variant);
        }
    }
}

/// Whether a file can be trusted to hold its thread's totals from zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A thread of its own: its total was zero before the first line.
    Zero,
    /// The thread goes on from another's total.
    Inherited,
}

/// Running totals and open twins; part of the carry.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CounterState {
    /// Total of the last line that had one.
    previous: Option<TokenUsage>,
    /// Latest response of the last line, for lines without a total.
    previous_last: Option<TokenUsage>,
    /// Lines without a total so far.
    untotalled: u32,
    /// Hashes of the first counter of each epoch, in order.
    epoch_heads: Vec<u64>,
    /// Earlier epochs that began like this one.
    epoch_twins: u32,
    /// Whether the next counter is the first of its epoch.
    in_epoch: bool,
    /// Whether a turn was aborted since the last counter.
    aborted: bool,
    /// Records since the last counter, twins of earlier counters excepted.
    recorded: TokenUsage,
    /// The last record, while no counter is its twin.
    open_record: Option<TokenUsage>,
    /// The last counter, while no record is its twin; with its key, if it was claimed.
    open_counter: Option<(TokenUsage, Option<CounterKey>)>,
    /// Whether the thread's own records tell of the current turn.
    turn_is_recorded: bool,
}

impl CounterState {
    /// A turn begins: what comes is no twin of what went before.
    pub fn turn_begins(&mut self) {
        self.open_record = None;
        self.open_counter = None;
        self.turn_is_recorded = false;
    }

    /// A turn was aborted: the response that was under way is in the next total, and in no event.
    pub fn turn_aborted(&mut self) {
        self.aborted = true;
    }

    /// Takes a record. Answers the key of the counter that claimed the same response just before, if one did.
    pub fn record(&mut self, usage: TokenUsage, is_own: bool) -> Option<CounterKey> {
        self.turn_is_recorded |= is_own;
        if let Some((last, key)) = self.open_counter.take()
            && last.numbers() == usage.numbers()
        {
            self.open_record = None;
            return key;
        }
        self.recorded = self.recorded.plus(usage);
        self.open_record = Some(usage);
        None
    }

    /// Takes a `token_count`. With `is_damaged`, some of its numbers could not be read: nothing is concluded from growth.
    pub fn count(
        &mut self,
        total: Option<TokenUsage>,
        last: Option<TokenUsage>,
        start: Start,
        is_damaged: bool,
    ) -> Step {
        let Some(total) = total else { return self.count_untotalled(last) };
        if self.previous.is_some_and(|previous| previous.numbers() == total.numbers()) {
            // Told again with new rate limits, or with an estimate of the context after a compaction.
            return Step::default();
        }
        let mut step = self.grow(total, last, start);
        if is_damaged {
            step.unreported = None;
        }
        self.previous = Some(total);
        self.previous_last = last;
        self.recorded = TokenUsage::default();
        self.aborted = false;
        step
    }

    /// A line that only tells the latest response: the same again is told again.
    fn count_untotalled(&mut self, last: Option<TokenUsage>) -> Step {
        let Some(last) = last.filter(|last| last.is_request()) else { return Step::default() };
        if self.previous_last.is_some_and(|previous| previous.numbers() == last.numbers()) {
            return Step::default();
        }
        self.previous_last = Some(last);
        self.untotalled += 1;
        self.previous = self.previous.map(|previous| previous.plus(last));
        self.recorded = TokenUsage::default();
        let key = CounterKey { total: None, last: Some(last), variant: self.untotalled };
        self.settle_twin(Some(last), None, key)
    }

    fn grow(&mut self, total: TokenUsage, last: Option<TokenUsage>, start: Start) -> Step {
        let is_full_mark = !total.is_request()
            && total.total.is_some_and(|total| total > 0)
            && !last.is_some_and(TokenUsage::is_request);
        let known_zero = start == Start::Zero && (self.aborted || last.is_none());
        let before = self.previous.or(known_zero.then(TokenUsage::default));
        let growth = before.map(|before| total.minus(before));
        let fell = growth.is_some_and(|growth| growth.components().iter().any(|&count| count < 0));
        if is_full_mark || fell || self.previous.is_none() {
            self.in_epoch = false;
        }
        if is_full_mark {
            // The context window is full: Codex writes the window's size as the total and counts from zero again.
            return Step::default();
        }
        let latest = match last {
            Some(last) => last.is_request().then_some(last),
            None if fell => None,
            None => growth.filter(|growth| growth.is_request()),
        };
        let unreported = match (last, growth) {
            (Some(last), Some(growth)) if !fell => self.beyond(growth, last),
            _ => None,
        };
        if latest.is_none() && unreported.is_none() {
            return Step::default();
        }
        let mut key = CounterKey { total: Some(total), last, variant: 0 };
        key.variant = self.epoch_variant(key);
        self.settle_twin(latest, unreported, key)
    }

    /// What `growth` holds beside the latest response and the responses that have records of their own.
    fn beyond(&self, growth: TokenUsage, last: TokenUsage) -> Option<TokenUsage> {
        let mut recorded = self.recorded;
        if self.open_record.is_some_and(|record| record.numbers() == last.numbers()) {
            recorded = recorded.minus(last);
        }
        let rest = growth.minus(last).minus(recorded);
        let components = rest.components();
        let is_more = components.iter().all(|&count| count >= 0) && components.iter().any(|&count| count > 0);
        (is_more && rest.is_request()).then_some(TokenUsage { total: None, ..rest })
    }

    /// Leaves out the latest response where a record has claimed it, or tells better of its turn.
    fn settle_twin(&mut self, latest: Option<TokenUsage>, unreported: Option<TokenUsage>, key: CounterKey) -> Step {
        let Some(last) = latest else { return Step { latest, unreported, key } };
        if self.open_record.take().is_some_and(|record| record.numbers() == last.numbers()) {
            return Step { latest: None, unreported, key };
        }
        if self.turn_is_recorded {
            self.open_counter = Some((last, None));
            return Step { latest: None, unreported, key };
        }
        self.open_counter = Some((last, Some(key)));
        Step { latest, unreported, key }
    }

    /// How many earlier epochs began with the same line as the current one: without it, a thread that starts over with the
    /// same prompt would claim its first requests under the keys of the old ones.
    fn epoch_variant(&mut self, head: CounterKey) -> u32 {
        if !self.in_epoch {
            self.in_epoch = true;
            let mut text = String::new();
            head.write("", &mut text);
            let hash = xxh3_64(text.as_bytes());
            let twins = self.epoch_heads.iter().filter(|&&earlier| earlier == hash).count();
            self.epoch_twins = u32::try_from(twins).unwrap_or(u32::MAX);
            if self.epoch_heads.len() < MAX_EPOCHS {
                self.epoch_heads.push(hash);
            }
        }
        self.epoch_twins
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// input, cached, output
    fn usage(input: i64, cached: i64, output: i64) -> TokenUsage {
        TokenUsage {
            input: Some(input),
            cached: Some(cached),
            output: Some(output),
            reasoning: Some(0),
            total: Some(input + output),
            ..TokenUsage::default()
        }
    }

    fn outputs(step: &Step) -> (Option<i64>, Option<i64>) {
        (step.latest.and_then(|usage| usage.output), step.unreported.and_then(|usage| usage.output))
    }

    fn key_text(step: &Step) -> String {
        let mut text = String::new();
        step.key.write("root", &mut text);
        text
    }

    #[test]
    fn a_total_that_did_not_move_is_told_again() {
        let mut state = CounterState::default();
        let first = usage(1000, 600, 50);
        assert_eq!(outputs(&state.count(Some(first), Some(first), Start::Zero, false)), (Some(50), None));
        assert_eq!(outputs(&state.count(Some(first), Some(first), Start::Zero, false)), (None, None));
        let estimate = TokenUsage { total: Some(9000), ..TokenUsage::default() };
        assert_eq!(outputs(&state.count(Some(first), Some(estimate), Start::Zero, false)), (None, None));
    }

    #[test]
    fn growth_beyond_the_latest_response_is_one_more() {
        let mut state = CounterState::default();
        state.count(Some(usage(1000, 0, 50)), Some(usage(1000, 0, 50)), Start::Zero, false);
        let step = state.count(Some(usage(4000, 900, 90)), Some(usage(1200, 900, 30)), Start::Zero, false);
        assert_eq!(outputs(&step), (Some(30), Some(10)));
        assert_eq!(step.unreported.unwrap().input, Some(1800));
        // One component grew by less than the latest response: nothing can be concluded.
        let step = state.count(Some(usage(6000, 900, 100)), Some(usage(1000, 900, 10)), Start::Zero, false);
        assert_eq!(outputs(&step), (Some(10), None));
    }

    #[test]
    fn the_first_total_says_nothing_of_earlier_responses_unless_a_turn_was_aborted() {
        let (total, last) = (usage(3000, 0, 70), usage(1000, 0, 20));
        assert_eq!(
            outputs(&CounterState::default().count(Some(total), Some(last), Start::Zero, false)),
            (Some(20), None)
        );
        let mut aborted = CounterState::default();
        aborted.turn_aborted();
        assert_eq!(outputs(&aborted.clone().count(Some(total), Some(last), Start::Zero, false)), (Some(20), Some(50)));
        assert_eq!(outputs(&aborted.count(Some(total), Some(last), Start::Inherited, false)), (Some(20), None));
    }

    #[test]
    fn a_full_context_and_a_total_that_fell_begin_epochs_with_keys_of_their_own() {
        let mut state = CounterState::default();
        let first = usage(1000, 0, 50);
        let before = state.count(Some(first), Some(first), Start::Zero, false);
        let mark = TokenUsage { total: Some(272_000), ..TokenUsage::default() };
        assert_eq!(outputs(&state.count(Some(mark), Some(mark), Start::Zero, false)), (None, None));
        let after = state.count(Some(first), Some(first), Start::Zero, false);
        assert_eq!(outputs(&after), (Some(50), None));
        assert_ne!(key_text(&before), key_text(&after));
        state.count(Some(usage(3000, 0, 80)), Some(usage(2000, 0, 30)), Start::Zero, false);
        let fallen = state.count(Some(usage(700, 0, 9)), Some(usage(700, 0, 9)), Start::Zero, false);
        assert_eq!(outputs(&fallen), (Some(9), None));
    }

    #[test]
    fn only_a_total_or_only_a_latest_response() {
        let mut state = CounterState::default();
        assert_eq!(outputs(&state.count(Some(usage(1000, 0, 50)), None, Start::Zero, false)), (Some(50), None));
        assert_eq!(outputs(&state.count(Some(usage(1500, 0, 70)), None, Start::Zero, false)), (Some(20), None));
        assert_eq!(outputs(&state.count(None, Some(usage(100, 0, 5)), Start::Zero, false)), (Some(5), None));
        assert_eq!(outputs(&state.count(None, Some(usage(100, 0, 5)), Start::Zero, false)), (None, None));
        assert_eq!(outputs(&state.count(Some(usage(1700, 0, 80)), None, Start::Zero, false)), (Some(5), None));
        // A first total of a thread that goes on from another's is not its own.
        let inherited = CounterState::default().count(Some(usage(9000, 0, 50)), None, Start::Inherited, false);
        assert_eq!(outputs(&inherited), (None, None));
    }

    #[test]
    fn a_record_and_its_counter_are_one_request_in_either_order() {
        let (first, second) = (usage(1000, 0, 50), usage(1100, 0, 7));
        let mut record_first = CounterState::default();
        assert_eq!(record_first.record(first, true), None);
        assert_eq!(outputs(&record_first.count(Some(first), Some(first), Start::Zero, false)), (None, None));
        assert_eq!(record_first.record(second, true), None);
        let step = record_first.count(Some(first.plus(second)), Some(second), Start::Zero, false);
        assert_eq!(outputs(&step), (None, None));

        let mut counter_first = CounterState::default();
        let step = counter_first.count(Some(first), Some(first), Start::Zero, false);
        assert_eq!(outputs(&step), (Some(50), None));
        assert_eq!(counter_first.record(first, true), Some(step.key));
    }

    #[test]
    fn a_recorded_response_without_a_counter_is_no_unreported_one() {
        let (first, aborted, second) = (usage(1000, 0, 50), usage(2000, 0, 3), usage(1100, 0, 7));
        let mut state = CounterState::default();
        state.record(first, true);
        state.count(Some(first), Some(first), Start::Zero, false);
        state.record(aborted, true);
        state.record(second, true);
        let step = state.count(Some(first.plus(aborted).plus(second)), Some(second), Start::Zero, false);
        assert_eq!(outputs(&step), (None, None));
    }
}
