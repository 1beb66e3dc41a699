//! The tokens of an answer as disjoint counters, and the claim for the request behind it.

use crate::adapters::counters::{Faults, sum};
use crate::model::Counters;
use crate::source::Json;

/// Reads a `tokens` object. `input` includes what came from the cache, `tool` is prompt beside it, and thoughts are not in
/// `output`, though they are billed as output.
pub(super) fn counters(tokens: Json<'_>, faults: &mut Faults) -> Counters {
    let mut counter = |name| faults.counter(tokens, name);
    let [input, cached, tool] = ["input", "cached", "tool"].map(&mut counter);
    let [output, thoughts] = ["output", "thoughts"].map(&mut counter);
    let uncached = faults.uncached(input, [cached, None]);
    Counters {
        input: if uncached.is_none() && input.is_some() { None } else { sum([uncached, tool]) },
        cache_read: cached,
        output: sum([output, thoughts]),
        reasoning: thoughts,
        ..Counters::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    fn read(tokens: &str) -> (Counters, usize) {
        let mut faults = Faults::default();
        let counters = Parser::default().parse(tokens.as_bytes(), |json| counters(json, &mut faults)).unwrap();
        (counters, faults.take("x").count())
    }

    #[test]
    fn cached_is_taken_out_of_input_and_thoughts_are_put_into_output() {
        let (counters, faults) =
            read(r#"{"input":1000,"output":40,"cached":700,"thoughts":25,"tool":10,"total":1075}"#);
        assert_eq!((counters.input, counters.cache_read), (Some(310), Some(700)));
        assert_eq!((counters.output, counters.reasoning), (Some(65), Some(25)));
        assert_eq!(faults, 0);
    }

    #[test]
    fn what_is_not_recorded_is_null_and_what_cannot_be_is_told() {
        let (counters, _) = read(r#"{"input":50,"output":5}"#);
        assert_eq!((counters.input, counters.cache_read, counters.reasoning), (Some(50), None, None));
        let (counters, faults) = read(r#"{"input":50,"cached":60,"tool":3,"output":-5}"#);
        assert_eq!((counters.input, counters.cache_read, counters.output), (None, Some(60), None));
        assert_eq!(faults, 2);
    }
}
