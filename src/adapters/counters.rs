//! Counters of a usage object and what is wrong with them, for adapters whose tools name them in their own way.
//!
//! A counter that cannot be right is left out and told; parts of a prompt that exceed the whole make it unknown, never
//! negative.

use crate::model::IssueKind;
use crate::model::claim::MAX_COUNTER;
use crate::source::Json;
use crate::source::json::Count;

/// What was wrong with the counters of one record, in sentences.
#[derive(Debug, Default)]
pub struct Faults(Vec<(IssueKind, String)>);

impl Faults {
    /// A counter of a usage object; `None` if it is absent or cannot be right.
    pub fn counter(&mut self, usage: Json<'_>, name: &str) -> Option<i64> {
        let value = usage.get(name)?;
        match value.as_count() {
            Count::Value(count) if count <= MAX_COUNTER => Some(count),
            Count::Missing => None,
            _ => {
                let detail = format!("{name} is {}", value.to_text());
                self.0.push((IssueKind::BadCounter, detail));
                None
            }
        }
    }

    /// What of the whole prompt is in none of its parts; `None`, and told, if the parts exceed it.
    pub fn uncached(&mut self, whole: Option<i64>, parts: [Option<i64>; 2]) -> Option<i64> {
        let whole = whole?;
        let cached: i64 = parts.iter().flatten().sum();
        if cached > whole {
            let detail =
                format!("{cached} cached tokens are more than the prompt of {whole}: the uncached part is unknown");
            self.0.push((IssueKind::Contradiction, detail));
            return None;
        }
        Some(whole - cached)
    }

    /// Reasoning as a part of the output; `None`, and told, if it exceeds it.
    pub fn reasoning(&mut self, reasoning: Option<i64>, output: Option<i64>) -> Option<i64> {
        let reasoning = reasoning?;
        if output.is_some_and(|output| reasoning > output) {
            let detail = format!("{reasoning} reasoning tokens are more than {} output tokens", output.unwrap_or(0));
            self.0.push((IssueKind::Contradiction, detail));
            return None;
        }
        Some(reasoning)
    }

    /// Adds a contradiction of another kind.
    pub fn contradiction(&mut self, detail: String) {
        self.0.push((IssueKind::Contradiction, detail));
    }

    /// Takes what was found, each with the name of the record before it.
    pub fn take(&mut self, record: &str) -> impl Iterator<Item = (IssueKind, String)> {
        self.0.drain(..).map(move |(kind, detail)| (kind, format!("in {record}, {detail}")))
    }
}

/// The sum of counters; `None` where none is recorded.
#[must_use]
pub fn sum<const N: usize>(counters: [Option<i64>; N]) -> Option<i64> {
    let mut recorded = counters.into_iter().flatten();
    let first = recorded.next()?;
    Some(recorded.fold(first, i64::saturating_add))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    #[test]
    fn impossible_counters_are_left_out_and_told() {
        let mut faults = Faults::default();
        let text = r#"{"a":"12","b":-1,"c":12.0,"d":1.5,"e":10000000001,"f":null}"#;
        let found = Parser::default()
            .parse(text.as_bytes(), |json| ["a", "b", "c", "d", "e", "f", "g"].map(|name| faults.counter(json, name)));
        assert_eq!(found.unwrap(), [Some(12), None, Some(12), None, None, None, None]);
        assert_eq!(faults.take("x").count(), 3);
    }

    #[test]
    fn parts_never_make_a_prompt_negative() {
        let mut faults = Faults::default();
        assert_eq!(faults.uncached(Some(10), [Some(4), None]), Some(6));
        assert_eq!(faults.uncached(None, [Some(4), None]), None);
        assert_eq!(faults.uncached(Some(10), [Some(4), Some(7)]), None);
        assert_eq!(faults.reasoning(Some(3), Some(2)), None);
        assert_eq!(faults.take("x").count(), 2);
        assert_eq!(sum([None, Some(2), Some(3)]), Some(5));
        assert_eq!(sum([None, None]), None);
    }
}
