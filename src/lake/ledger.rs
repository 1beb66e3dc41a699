//! The usage ledger's vocabulary: which record stands for a request, and where it is credited.
//!
//! The ledger itself is a table of the state, indexed by request and never loaded whole; see [`super::state`].

use serde::{Deserialize, Serialize};

use crate::model::tables::UsageRow;
use crate::model::{Counters, RequestKey, Standing};

/// The record that stands for a request, as the lake remembers it between runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The request.
    pub request: RequestKey,
    /// Revision of the newest row in `usage`.
    pub rev: i64,
    /// Worth of the record that stands.
    pub standing: Standing,
    /// Its counters: the sum of the request's rows in `usage`.
    pub counters: Counters,
    /// Hash of model, speed, tier and geography.
    pub variant: u64,
    /// Hash of what all records of the request share, where ids can be reused.
    pub guard: Option<u64>,
    /// Time of the first record, microseconds; the request is credited to this time and day.
    pub first_ts: i64,
    /// Time of the newest record seen.
    pub last_ts: i64,
    /// Whom the request is credited to.
    pub origin: Origin,
}

/// Whom a request is credited to. Rows that correct it later repeat this, so that sums by session, project or agent hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the fields are the usage columns of the same names")]
pub struct Origin {
    pub session_id: String,
    pub project: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub is_sidechain: Option<bool>,
    pub agent_id: Option<String>,
    pub agent_type: Option<String>,
    pub skill: Option<String>,
    pub model: Option<String>,
    pub vendor: Option<String>,
    pub speed: Option<String>,
    pub service_tier: Option<String>,
    pub inference_geo: Option<String>,
}

impl Origin {
    /// Credit as the first record of a request gives it; model and mode are those of the record that stands.
    #[must_use]
    pub fn new(session_id: &str, first: &UsageRow<'_>, standing: &UsageRow<'_>) -> Self {
        let owned = |text: Option<&str>| text.map(str::to_owned);
        Self {
            session_id: session_id.to_owned(),
            project: owned(first.project),
            cwd: owned(first.cwd),
            git_branch: owned(first.git_branch),
            is_sidechain: first.is_sidechain,
            agent_id: owned(first.agent_id),
            agent_type: owned(first.agent_type),
            skill: owned(first.skill),
            model: owned(standing.model),
            vendor: owned(standing.vendor),
            speed: owned(standing.speed),
            service_tier: owned(standing.service_tier),
            inference_geo: owned(standing.inference_geo),
        }
    }

    /// `row`, credited as this says.
    #[must_use]
    pub fn credit<'a>(&'a self, row: &UsageRow<'a>) -> UsageRow<'a> {
        UsageRow {
            project: self.project.as_deref(),
            cwd: self.cwd.as_deref(),
            git_branch: self.git_branch.as_deref(),
            is_sidechain: self.is_sidechain,
            agent_id: self.agent_id.as_deref(),
            agent_type: self.agent_type.as_deref(),
            skill: self.skill.as_deref(),
            model: self.model.as_deref(),
            vendor: self.vendor.as_deref(),
            speed: self.speed.as_deref(),
            service_tier: self.service_tier.as_deref(),
            inference_geo: self.inference_geo.as_deref(),
            ..*row
        }
    }

    /// The same credit with the model and mode of another record.
    #[must_use]
    pub fn with_variant_of(&self, row: &UsageRow<'_>) -> Self {
        Self::new(&self.session_id, &self.credit(&UsageRow::default()), row)
    }
}

/// `row` with these counters.
#[must_use]
pub fn with_counters<'a>(row: &UsageRow<'a>, counters: Counters) -> UsageRow<'a> {
    UsageRow {
        input_tokens: counters.input,
        cache_read_tokens: counters.cache_read,
        cache_write_5m_tokens: counters.cache_write_5m,
        cache_write_1h_tokens: counters.cache_write_1h,
        output_tokens: counters.output,
        web_search_requests: counters.web_search_requests,
        reasoning_tokens: counters.reasoning,
        ..*row
    }
}
