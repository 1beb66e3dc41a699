//! Usage claims: what a record says a billed model call cost. The lake's ledger decides what each claim adds.
//!
//! The same request stands on several lines, in several files, and grows while it is written. An adapter claims what it
//! reads and says how much the claim is worth ([`Standing`]); it never drops a repeat itself. Only the ledger, which
//! remembers every request of the lake, turns claims into rows that add up.

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64};

/// A counter above this is no token count but a defect of the source (design: "above 10^10 is NULL and an issue").
pub const MAX_COUNTER: i64 = 10_000_000_000;

/// Names a request across lines, files and runs: the hash of provider and the `request_key` text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub u128);

impl RequestKey {
    /// The key of a provider's request.
    #[must_use]
    pub fn new(provider: &str, request_key: &str) -> Self {
        let mut hasher = Xxh3Default::new();
        hasher.update(provider.as_bytes());
        hasher.update(&[0]);
        hasher.update(request_key.as_bytes());
        Self(hasher.digest128())
    }

    /// The key of the same native id used for another request by another session: some gateways reuse ids.
    #[must_use]
    pub fn scoped(self, session_id: &str) -> Self {
        let mut hasher = Xxh3Default::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(session_id.as_bytes());
        Self(hasher.digest128())
    }
}

/// Token counters of one request, disjoint; `None` is "not recorded", zero is "recorded as zero".
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Prompt tokens that came from no cache.
    pub input: Option<i64>,
    /// Prompt tokens read from a cache.
    pub cache_read: Option<i64>,
    /// Prompt tokens written to a cache for five minutes, or for a time that is not recorded.
    pub cache_write_5m: Option<i64>,
    /// Prompt tokens written to a cache for an hour.
    pub cache_write_1h: Option<i64>,
    /// Generated tokens, reasoning included.
    pub output: Option<i64>,
    /// Searches that the vendor bills by the piece.
    pub web_search_requests: Option<i64>,
    /// Informational part of `output`.
    pub reasoning: Option<i64>,
}

impl Counters {
    /// The counters in the order of the usage columns.
    #[must_use]
    pub fn to_array(self) -> [Option<i64>; 7] {
        [
            self.input,
            self.cache_read,
            self.cache_write_5m,
            self.cache_write_1h,
            self.output,
            self.web_search_requests,
            self.reasoning,
        ]
    }

    /// The inverse of [`to_array`](Self::to_array).
    #[must_use]
    pub fn from_array(values: [Option<i64>; 7]) -> Self {
        let [input, cache_read, cache_write_5m, cache_write_1h, output, web_search_requests, reasoning] = values;
        Self { input, cache_read, cache_write_5m, cache_write_1h, output, web_search_requests, reasoning }
    }

    /// What must be added to `before` to reach `self`. A counter that `before` did not record counts from zero; one that
    /// `self` no longer records is taken back.
    #[must_use]
    pub fn minus(self, before: Self) -> Self {
        let mut difference = self.to_array();
        for (after, before) in difference.iter_mut().zip(before.to_array()) {
            *after = match (*after, before) {
                (None, None) => None,
                (after, before) => Some(after.unwrap_or(0) - before.unwrap_or(0)),
            };
        }
        Self::from_array(difference)
    }

    /// The whole prompt of the request (input + reads + writes), where the input is recorded.
    #[must_use]
    pub fn context(self) -> Option<i64> {
        let cached = [self.cache_read, self.cache_write_5m, self.cache_write_1h];
        self.input.map(|input| input + cached.iter().flatten().sum::<i64>())
    }

    /// Whether every recorded counter is zero, or none is recorded.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.to_array().iter().flatten().all(|&count| count == 0)
    }
}

/// How much a claim is worth against others for the same request. The greatest stands; arrival order never decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Standing {
    /// 0: a copy of somebody else's record; 1: the request's own record.
    pub class: i64,
    /// The provider's rule, greatest first (Claude: output, block index, content hash).
    pub rank: [i64; 3],
}

/// Why a claim adds nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CopyReason {
    /// Another line of the same session holds the same request.
    Repeat,
    /// Another session's file replays the request.
    Replay,
    /// A copy made for display, beside the request's own record.
    Mirror,
    /// A sum over requests that are recorded one by one.
    Rollup,
}

impl CopyReason {
    /// The text in the `why` column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Replay => "replay",
            Self::Mirror => "mirror",
            Self::Rollup => "rollup",
        }
    }
}

/// What the ledger needs to know of a claim, beside the row that goes with it.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// The request that is claimed.
    pub request: RequestKey,
    /// Its worth against other claims for the request.
    pub standing: Standing,
    /// What it claims.
    pub counters: Counters,
    /// [`variant_of`] model, speed, tier and geography: where it changes, the price may.
    pub variant: u64,
    /// Where ids can be reused for another request: a hash of what all records of one request share (model and prompt
    /// counters). Claims of different sessions and times that differ in it are different requests. `None`: never.
    pub guard: Option<u64>,
    /// A reason never to count it, known from the record alone.
    pub never: Option<CopyReason>,
}

/// Hash of the texts that choose a price: model, speed, service tier, geography.
#[must_use]
pub fn variant_of(texts: [Option<&str>; 4]) -> u64 {
    let mut joined = String::new();
    for text in texts {
        joined.push_str(text.unwrap_or_default());
        joined.push('\0');
    }
    xxh3_64(joined.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_added_to_what_stood_gives_what_stands() {
        let before = Counters { input: Some(3), output: Some(9), ..Counters::default() };
        let after = Counters { input: Some(3), output: Some(4), cache_read: Some(7), ..Counters::default() };
        let growth = after.minus(before);
        assert_eq!(growth.output, Some(-5));
        assert_eq!(growth.cache_read, Some(7));
        assert_eq!(growth.cache_write_1h, None);
    }

    #[test]
    fn class_outweighs_rank() {
        let copy = Standing { class: 0, rank: [900, 0, 0] };
        let own = Standing { class: 1, rank: [2, 0, 0] };
        assert!(own > copy);
    }
}
