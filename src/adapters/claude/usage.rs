//! The usage object of a response: which counters it holds, and what is wrong with them.

use crate::model::Counters;
use crate::model::claim::MAX_COUNTER;
use crate::source::Json;
use crate::source::json::Count;

/// A usage object.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Usage<'t> {
    /// Disjoint counters.
    pub counters: Counters,
    /// `recorded`, or `assumed_5m` where the lifetime of some cache writes is not recorded.
    pub cache_write_basis: Option<&'static str>,
    pub speed: Option<&'t str>,
    pub service_tier: Option<&'t str>,
    pub inference_geo: Option<&'t str>,
    /// Model of an element of `iterations`.
    pub model: Option<&'t str>,
    /// Calls that the server made on the way.
    pub iterations: Option<Json<'t>>,
}

/// Something wrong with a usage object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Fault {
    /// A counter that is no token count.
    BadCounter {
        /// Name of the member.
        name: &'static str,
        /// What stands there, JSON.
        value: String,
    },
    /// Members that contradict each other.
    Contradiction(String),
}

impl<'t> Usage<'t> {
    /// Reads a usage object, or an element of its `iterations`.
    pub fn read(usage: Json<'t>, faults: &mut Vec<Fault>) -> Self {
        let mut read = Self::default();
        let (mut flat, mut five_minutes, mut one_hour) = (None, None, None);
        for (key, value) in usage.fields() {
            let mut counter = |name| counter(name, value, faults);
            match key {
                "input_tokens" => read.counters.input = counter("input_tokens"),
                "cache_read_input_tokens" => read.counters.cache_read = counter("cache_read_input_tokens"),
                "output_tokens" => read.counters.output = counter("output_tokens"),
                "cache_creation_input_tokens" => flat = counter("cache_creation_input_tokens"),
                "cache_creation" => {
                    five_minutes = member(value, "ephemeral_5m_input_tokens", faults);
                    one_hour = member(value, "ephemeral_1h_input_tokens", faults);
                }
                "output_tokens_details" => read.counters.reasoning = member(value, "thinking_tokens", faults),
                "server_tool_use" => {
                    read.counters.web_search_requests = member(value, "web_search_requests", faults);
                }
                "speed" => read.speed = value.as_str(),
                "service_tier" => read.service_tier = value.as_str(),
                "inference_geo" => read.inference_geo = value.as_str().filter(|geo| is_place(geo)),
                "model" => read.model = value.as_str(),
                "iterations" => read.iterations = Some(value),
                _ => {}
            }
        }
        read.cache_writes(flat, five_minutes, one_hour, faults);
        if let (Some(reasoning), Some(output)) = (read.counters.reasoning, read.counters.output)
            && reasoning > output
        {
            faults.push(Fault::Contradiction(format!(
                "{reasoning} thinking tokens are more than {output} output tokens"
            )));
            read.counters.reasoning = None;
        }
        read
    }

    /// Splits cache writes by lifetime. The flat total is what is billed; what of it has no lifetime counts as 5m.
    fn cache_writes(
        &mut self,
        flat: Option<i64>,
        five_minutes: Option<i64>,
        one_hour: Option<i64>,
        faults: &mut Vec<Fault>,
    ) {
        let parts = [five_minutes, one_hour];
        let sum: i64 = parts.iter().flatten().sum();
        let (writes, basis) = match flat {
            None if sum == 0 && parts == [None, None] => ([None, None], None),
            None => (parts, Some("recorded")),
            Some(flat) if flat == sum && parts != [None, None] => {
                ([five_minutes.or(Some(0)), one_hour], Some("recorded"))
            }
            Some(0) if sum == 0 => ([Some(0), one_hour], Some("recorded")),
            Some(flat) => {
                if sum != 0 && flat != 0 {
                    faults.push(Fault::Contradiction(format!(
                        "cache_creation adds up to {sum} and cache_creation_input_tokens is {flat}"
                    )));
                }
                let one_hour = one_hour.map(|tokens| tokens.min(flat));
                ([Some(flat - one_hour.unwrap_or(0)), one_hour], Some("assumed_5m"))
            }
        };
        [self.counters.cache_write_5m, self.counters.cache_write_1h] = writes;
        self.cache_write_basis = basis;
    }
}

/// Whether a recorded `inference_geo` names a place.
fn is_place(geo: &str) -> bool {
    !geo.is_empty() && geo != "not_available"
}

fn member(object: Json<'_>, name: &'static str, faults: &mut Vec<Fault>) -> Option<i64> {
    counter(name, object.get(name)?, faults)
}

fn counter(name: &'static str, value: Json<'_>, faults: &mut Vec<Fault>) -> Option<i64> {
    match value.as_count() {
        Count::Value(count) if count <= MAX_COUNTER => Some(count),
        Count::Missing => None,
        _ => {
            faults.push(Fault::BadCounter { name, value: value.to_text() });
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::json::Parser;

    /// Writes for five minutes and for an hour, their basis, and how many faults there were.
    fn writes(usage: &str) -> (Option<i64>, Option<i64>, Option<&'static str>, usize) {
        let mut faults = Vec::new();
        Parser::default()
            .parse(usage.as_bytes(), |json| {
                let usage = Usage::read(json, &mut faults);
                (usage.counters.cache_write_5m, usage.counters.cache_write_1h, usage.cache_write_basis)
            })
            .map(|(five, one, basis)| (five, one, basis, faults.len()))
            .unwrap()
    }

    fn usage(flat: &str, five_minutes: &str, one_hour: &str) -> String {
        format!(
            r#"{{"cache_creation_input_tokens":{flat},"cache_creation":{{"ephemeral_5m_input_tokens":{five_minutes},"ephemeral_1h_input_tokens":{one_hour}}}}}"#
        )
    }

    #[test]
    fn the_flat_total_of_cache_writes_is_kept() {
        assert_eq!(writes(&usage("900", "0", "900")), (Some(0), Some(900), Some("recorded"), 0));
        assert_eq!(writes(&usage("900", "300", "600")), (Some(300), Some(600), Some("recorded"), 0));
        assert_eq!(writes(&usage("0", "0", "0")), (Some(0), Some(0), Some("recorded"), 0));
        assert_eq!(writes(&usage("500", "0", "0")), (Some(500), Some(0), Some("assumed_5m"), 0));
        assert_eq!(writes(&usage("500", "100", "200")), (Some(300), Some(200), Some("assumed_5m"), 1));
        assert_eq!(writes(&usage("500", "0", "800")), (Some(0), Some(500), Some("assumed_5m"), 1));
        assert_eq!(writes(&usage("null", "3", "4")), (Some(3), Some(4), Some("recorded"), 0));
        assert_eq!(writes(r#"{"cache_creation_input_tokens":500}"#), (Some(500), None, Some("assumed_5m"), 0));
        assert_eq!(writes(r#"{"cache_creation_input_tokens":0}"#), (Some(0), None, Some("recorded"), 0));
        assert_eq!(writes(r#"{"input_tokens":1}"#), (None, None, None, 0));
    }

    #[test]
    fn impossible_counters_are_null_and_told() {
        let text = r#"{"input_tokens":-1,"output_tokens":10000000001,"cache_read_input_tokens":1.5,"server_tool_use":{"web_search_requests":"2"},"output_tokens_details":{"thinking_tokens":12.0}}"#;
        let mut faults = Vec::new();
        let counters =
            Parser::default().parse(text.as_bytes(), |json| Usage::read(json, &mut faults).counters).unwrap();
        let expected = Counters { web_search_requests: Some(2), reasoning: Some(12), ..Counters::default() };
        assert_eq!(counters, expected);
        assert_eq!(faults.len(), 3);
    }
}
