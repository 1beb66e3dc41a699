//! One token count object of Codex (`input_tokens`, `cached_input_tokens` …) and its conversion to disjoint counters.
//!
//! In Codex the cached tokens and the cache writes are part of `input_tokens`, and reasoning is part of `output_tokens`.

use serde::{Deserialize, Serialize};

use crate::model::Counters;
use crate::source::Json;
use crate::source::json::Count;

/// Tokens as Codex counts them: categories that contain each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenUsage {
    /// The whole prompt.
    #[serde(rename = "i", skip_serializing_if = "Option::is_none")]
    pub input: Option<i64>,
    /// Part of `input` that came from the cache.
    #[serde(rename = "c", skip_serializing_if = "Option::is_none")]
    pub cached: Option<i64>,
    /// Part of `input` that was written to the cache (0.145 and later).
    #[serde(rename = "w", skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<i64>,
    /// Everything generated.
    #[serde(rename = "o", skip_serializing_if = "Option::is_none")]
    pub output: Option<i64>,
    /// Part of `output`.
    #[serde(rename = "r", skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<i64>,
    /// Input and output; in marks of a full context window, the size of the window.
    #[serde(rename = "t", skip_serializing_if = "Option::is_none")]
    pub total: Option<i64>,
}

/// Counters that cannot be right, by name.
pub type BadCounters = Vec<&'static str>;

impl TokenUsage {
    /// Reads an object; `None` if it is none, or names no counter at all. Counts that are impossible or above `bound` are
    /// left out and named in `bad`.
    pub fn parse(json: Json<'_>, bound: i64, bad: &mut BadCounters) -> Option<Self> {
        let mut usage = Self::default();
        let mut known = false;
        for (key, value) in json.fields() {
            let (slot, name) = match key {
                "input_tokens" => (&mut usage.input, "input_tokens"),
                "cached_input_tokens" => (&mut usage.cached, "cached_input_tokens"),
                "cache_write_input_tokens" => (&mut usage.cache_write, "cache_write_input_tokens"),
                "output_tokens" => (&mut usage.output, "output_tokens"),
                "reasoning_output_tokens" => (&mut usage.reasoning, "reasoning_output_tokens"),
                "total_tokens" => (&mut usage.total, "total_tokens"),
                _ => continue,
            };
            known = true;
            *slot = match value.as_count() {
                Count::Value(count) if count <= bound => Some(count),
                Count::Missing => None,
                Count::Value(_) | Count::Bad => {
                    bad.push(name);
                    None
                }
            };
        }
        known.then_some(usage)
    }

    /// The categories that requests add to; `total` is derived.
    pub fn components(self) -> [i64; 5] {
        [self.input, self.cached, self.cache_write, self.output, self.reasoning].map(Option::unwrap_or_default)
    }

    /// Every number, absent as zero: two lines that agree in it tell the same.
    pub fn numbers(self) -> [i64; 6] {
        let [input, cached, cache_write, output, reasoning] = self.components();
        [input, cached, cache_write, output, reasoning, self.total.unwrap_or_default()]
    }

    /// Whether the model was sent or returned anything. Estimates and marks of Codex itself only have a `total`.
    pub fn is_request(self) -> bool {
        self.input.unwrap_or_default() > 0 || self.output.unwrap_or_default() > 0
    }

    /// Component-wise sum; a category stays unknown where neither side knows it.
    pub fn plus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_add)
    }

    /// Component-wise difference.
    pub fn minus(self, other: Self) -> Self {
        self.zip(other, i64::saturating_sub)
    }

    fn zip(self, other: Self, combine: impl Fn(i64, i64) -> i64) -> Self {
        let both = |left: Option<i64>, right: Option<i64>| match (left, right) {
            (None, None) => None,
            (left, right) => Some(combine(left.unwrap_or_default(), right.unwrap_or_default())),
        };
        Self {
            input: both(self.input, other.input),
            cached: both(self.cached, other.cached),
            cache_write: both(self.cache_write, other.cache_write),
            output: both(self.output, other.output),
            reasoning: both(self.reasoning, other.reasoning),
            total: both(self.total, other.total),
        }
    }

    /// The disjoint counters of one request. Where the parts of the prompt exceed the whole, its uncached part is unknown.
    pub fn counters(self) -> (Counters, Option<Contradiction>) {
        let parts = self.cached.unwrap_or_default() + self.cache_write.unwrap_or_default();
        let uncached = self.input.map(|input| input - parts);
        let mut contradiction = None;
        if uncached.is_some_and(|count| count < 0) {
            contradiction = Some(Contradiction::CachedAboveInput);
        } else if let (Some(output), Some(reasoning)) = (self.output, self.reasoning)
            && reasoning > output
        {
            contradiction = Some(Contradiction::ReasoningAboveOutput);
        }
        let counters = Counters {
            input: uncached.filter(|&count| count >= 0),
            cache_read: self.cached,
            cache_write_5m: self.cache_write,
            cache_write_1h: None,
            output: self.output,
            web_search_requests: None,
            reasoning: self.reasoning,
        };
        (counters, contradiction)
    }

    /// Appends the numbers as key text, absent as zero: a copy written by a newer Codex may spell out the zeros.
    pub fn write_key(self, out: &mut String) {
        use std::fmt::Write as _;
        for (index, number) in self.numbers().into_iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            let _ = write!(out, "{separator}{number}");
        }
    }
}

/// Counters of one object that cannot all be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contradiction {
    /// More prompt tokens are cached or written to the cache than there are.
    CachedAboveInput,
    /// More reasoning than output.
    ReasoningAboveOutput,
}

impl Contradiction {
    /// A sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::CachedAboveInput => "more cached input tokens than input tokens: the uncached part is unknown",
            Self::ReasoningAboveOutput => "more reasoning tokens than output tokens",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_prompt_are_made_disjoint() {
        let usage = TokenUsage {
            input: Some(1000),
            cached: Some(600),
            cache_write: Some(100),
            output: Some(50),
            reasoning: Some(20),
            total: Some(1050),
        };
        let (counters, contradiction) = usage.counters();
        assert_eq!(contradiction, None);
        assert_eq!(counters.input, Some(300));
        assert_eq!(counters.cache_read, Some(600));
        assert_eq!(counters.cache_write_5m, Some(100));
        assert_eq!(counters.output, Some(50));
        assert_eq!(counters.context(), Some(1000));
    }

    #[test]
    fn a_prompt_smaller_than_its_parts_is_unknown_never_negative() {
        let usage = TokenUsage { input: Some(10), cached: Some(60), output: Some(1), ..TokenUsage::default() };
        let (counters, contradiction) = usage.counters();
        assert_eq!(contradiction, Some(Contradiction::CachedAboveInput));
        assert_eq!((counters.input, counters.cache_read), (None, Some(60)));
    }
}
