//! The usage object of a response, in the form of Google's API but filled by several services, and the claim for it.

use crate::adapters::counters::{Faults, sum};
use crate::model::Counters;
use crate::source::Json;

/// Counters of a response and how they were understood.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage {
    /// Disjoint counters.
    pub counters: Counters,
    /// Whether reasoning was taken to be in the output without a total that says so.
    pub is_assumed: bool,
}

/// Reads a usage object. The prompt includes what came from the cache. Services that answer in OpenAI's way have reasoning
/// in the output, Google's do not: the total tells which.
pub(super) fn read(usage: Json<'_>, faults: &mut Faults) -> Usage {
    let mut counter = |name| faults.counter(usage, name);
    let [prompt, cached] = ["promptTokenCount", "cachedContentTokenCount"].map(&mut counter);
    let [output, thoughts, total] = ["candidatesTokenCount", "thoughtsTokenCount", "totalTokenCount"].map(&mut counter);
    let within = sum([prompt, output]);
    let beside = sum([prompt, output, thoughts]);
    let has_thoughts = thoughts.is_some_and(|thoughts| thoughts > 0);
    let is_beside = has_thoughts && total.is_some() && total == beside;
    let output = if is_beside { sum([output, thoughts]) } else { output };
    let counters = Counters {
        input: faults.uncached(prompt, [cached, None]),
        cache_read: cached,
        output,
        reasoning: faults.reasoning(thoughts, output),
        ..Counters::default()
    };
    Usage { counters, is_assumed: has_thoughts && !is_beside && (total.is_none() || total != within) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    fn counters(text: &str) -> (Option<i64>, Option<i64>, Option<i64>, Option<i64>, bool) {
        let usage = Parser::default().parse(text.as_bytes(), |json| read(json, &mut Faults::default())).unwrap();
        let Counters { input, cache_read, output, reasoning, .. } = usage.counters;
        (input, cache_read, output, reasoning, usage.is_assumed)
    }

    #[test]
    fn the_total_tells_whether_reasoning_is_in_the_output() {
        let usage = |total: i64| {
            counters(&format!(
                r#"{{"promptTokenCount":900,"candidatesTokenCount":60,"cachedContentTokenCount":500,"thoughtsTokenCount":15,"totalTokenCount":{total}}}"#
            ))
        };
        assert_eq!(usage(960), (Some(400), Some(500), Some(60), Some(15), false));
        assert_eq!(usage(975), (Some(400), Some(500), Some(75), Some(15), false));
        assert_eq!(usage(999), (Some(400), Some(500), Some(60), Some(15), true));
    }

    #[test]
    fn a_total_alone_is_no_counter() {
        assert_eq!(counters(r#"{"totalTokenCount":960}"#), (None, None, None, None, false));
    }
}
