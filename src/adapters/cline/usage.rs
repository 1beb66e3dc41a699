//! What `tokensIn` means: the whole prompt, or what of it came from no cache. Nothing in a row says which, so the numbers,
//! the extension's version (by time) and the service decide, in this order.

use super::discovery::Member;
use crate::adapters::counters::{Faults, sum};
use crate::model::Counters;
use crate::source::Json;

/// Services for which Cline's `tokensIn` is the whole prompt.
const WHOLE_PROMPT_SERVICES: [&str; 9] =
    ["openai", "litellm", "doubao", "fireworks", "hicap", "lmstudio", "qwen", "xai", "zai"];

/// How a prompt was understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prompt {
    /// Caches are not in it.
    Remainder,
    /// Caches are in it.
    Whole,
    /// Nothing tells; read as the remainder.
    Assumed,
}

impl Prompt {
    /// The text in `attributes`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remainder => "remainder",
            Self::Whole => "whole",
            Self::Assumed => "assumed_remainder",
        }
    }
}

/// Counters under the names of the classic generation; `None` where no counter is there yet.
pub(super) fn classic(
    request: Json<'_>,
    member: &Member,
    service: Option<&str>,
    ts: i64,
    faults: &mut Faults,
) -> Option<(Counters, Prompt)> {
    let names = ["tokensIn", "tokensOut", "cacheReads", "cacheWrites"];
    if names.iter().all(|name| request.get(name).is_none_or(Json::is_null)) {
        return None;
    }
    let [prompt, output, reads, writes] = names.map(|name| faults.counter(request, name));
    let cached = sum([reads, writes]).unwrap_or(0);
    let meaning = if cached == 0 || prompt.is_some_and(|prompt| prompt < cached) {
        Prompt::Remainder
    } else if member.whole_prompts_since.is_some_and(|since| ts >= since) {
        Prompt::Whole
    } else {
        match (request.str("apiProtocol"), service) {
            (Some("openai"), _) => Prompt::Whole,
            (Some("anthropic"), _) => Prompt::Remainder,
            (_, Some(service)) if WHOLE_PROMPT_SERVICES.contains(&service) => Prompt::Whole,
            (_, Some(_)) if member.whole_prompts_since.is_none() => Prompt::Remainder,
            _ => Prompt::Assumed,
        }
    };
    let input = if meaning == Prompt::Whole { prompt.map(|prompt| prompt - cached) } else { prompt };
    let counters = Counters { input, cache_read: reads, cache_write_5m: writes, output, ..Counters::default() };
    Some((counters, meaning))
}

/// Counters of the newer generation: the prompt includes caches, except where it is smaller than they are, which some
/// bridged services give.
pub(super) fn sdk(metrics: Json<'_>, faults: &mut Faults) -> Option<(Counters, Prompt)> {
    let names = ["inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens"];
    let [prompt, output, reads, writes] = names.map(|name| faults.counter(metrics, name));
    if prompt.is_none() && output.is_none() {
        return None;
    }
    let cached = sum([reads, writes]).unwrap_or(0);
    let is_whole = prompt.is_none_or(|prompt| prompt >= cached);
    let input = if is_whole { prompt.map(|prompt| prompt - cached) } else { prompt };
    let counters = Counters { input, cache_read: reads, cache_write_5m: writes, output, ..Counters::default() };
    Some((counters, if is_whole { Prompt::Whole } else { Prompt::Remainder }))
}

#[cfg(test)]
mod tests {
    use super::super::discovery::{CLINE, ROO};
    use super::*;
    use crate::source::json::Parser;

    const DAY: i64 = 86_400_000_000;

    fn read(text: &str, member: &Member, service: Option<&str>, ts: i64) -> (Option<i64>, Prompt) {
        let read = |json: Json<'_>| classic(json, member, service, ts, &mut Faults::default()).unwrap();
        let (counters, prompt) = Parser::default().parse(text.as_bytes(), read).unwrap();
        (counters.input, prompt)
    }

    #[test]
    fn a_day_changes_what_the_same_numbers_of_roo_mean() {
        let row =
            r#"{"apiProtocol":"anthropic","tokensIn":15200,"tokensOut":310,"cacheWrites":1200,"cacheReads":13000}"#;
        let since = ROO.whole_prompts_since.unwrap();
        assert_eq!(read(row, &ROO, None, since - DAY), (Some(15200), Prompt::Remainder));
        assert_eq!(read(row, &ROO, None, since + DAY), (Some(1000), Prompt::Whole));
    }

    #[test]
    fn a_prompt_smaller_than_its_caches_is_the_remainder_whenever_it_was() {
        let row = r#"{"tokensIn":100,"tokensOut":3,"cacheWrites":0,"cacheReads":500}"#;
        assert_eq!(read(row, &ROO, None, ROO.whole_prompts_since.unwrap() + DAY), (Some(100), Prompt::Remainder));
    }

    #[test]
    fn of_cline_the_service_decides() {
        let row = r#"{"tokensIn":600,"tokensOut":3,"cacheWrites":0,"cacheReads":500}"#;
        assert_eq!(read(row, &CLINE, Some("anthropic"), 0), (Some(600), Prompt::Remainder));
        assert_eq!(read(row, &CLINE, Some("litellm"), 0), (Some(100), Prompt::Whole));
        assert_eq!(read(row, &CLINE, None, 0), (Some(600), Prompt::Assumed));
        assert_eq!(read(r#"{"tokensIn":5,"cacheReads":0}"#, &CLINE, None, 0), (Some(5), Prompt::Remainder));
    }
}
