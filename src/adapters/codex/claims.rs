//! From a counted response to a usage claim: its key, its standing, and the row that goes with it.

use serde::{Deserialize, Serialize};

use super::fold::Place;
use super::lineage::Owner;
use super::tokens::TokenUsage;
use crate::adapters::buffers::{Attributes, filled};
use crate::model::claim::variant_of;
use crate::model::tables::UsageRow;
use crate::model::{Claim, CopyReason, IssueKind, RequestKey, Rows, Standing};
use crate::source::Json;

/// Turns whose settings are kept, for records that come late.
const KEPT_TURNS: usize = 8;

/// Settings of one turn, from its `turn_context`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Turn {
    /// Id of the turn; older versions have none.
    pub id: Option<String>,
    /// The model that was asked for.
    pub model: Option<String>,
    /// Reasoning effort that was asked for.
    pub effort: Option<String>,
    /// Working directory.
    pub cwd: Option<String>,
}

/// What claims take from earlier lines; part of the carry.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ClaimContext {
    /// The current turn.
    pub turn: Turn,
    /// The turns before it, newest last.
    earlier: Vec<Turn>,
    /// Service tier by the newest settings of the thread.
    pub service_tier: Option<String>,
    /// Model of the turn that was aborted last, while its response may be unreported.
    pub aborted_model: Option<String>,
    /// Working directory of the session.
    pub project: Option<String>,
    /// Branch at the start of the session.
    pub git_branch: Option<String>,
    /// Who serves the models, as configured.
    pub model_provider: Option<String>,
    /// Kind of the subagent.
    pub agent_type: Option<String>,
}

impl ClaimContext {
    /// A `turn_context`: one turn may have several.
    pub fn begin_turn(&mut self, turn: Turn) {
        let before = std::mem::replace(&mut self.turn, turn);
        if before.id.is_some() && before.id != self.turn.id {
            self.earlier.retain(|earlier| earlier.id != before.id);
            self.earlier.push(before);
            let surplus = self.earlier.len().saturating_sub(KEPT_TURNS);
            self.earlier.drain(..surplus);
        }
    }

    /// The settings of a turn by its id; the current ones where it is not known.
    pub fn turn_of(&self, id: Option<&str>) -> &Turn {
        let known = id.and_then(|id| self.earlier.iter().rev().find(|turn| turn.id.as_deref() == Some(id)));
        known.unwrap_or(&self.turn)
    }

    /// Who made the model: OpenAI, unless another provider is configured.
    fn vendor(&self) -> &str {
        self.model_provider.as_deref().and_then(filled).unwrap_or("openai")
    }
}

/// One response to be claimed.
#[derive(Debug, Clone, Copy)]
pub struct Response<'a> {
    /// Names it.
    pub key: &'a str,
    /// Id of the vendor, where recorded.
    pub vendor_id: Option<&'a str>,
    /// What it used.
    pub usage: TokenUsage,
    /// Whose it is.
    pub owner: Owner,
    /// Model it was asked from.
    pub model: Option<&'a str>,
    /// Turn it belongs to.
    pub turn: &'a Turn,
    /// Position among the claims of its record.
    pub block: u32,
    /// Whether only the growth of the total tells of it.
    pub is_unreported: bool,
    /// The source's own object.
    pub reported: Option<Json<'a>>,
}

/// Claims one response.
pub fn claim(
    response: &Response<'_>,
    context: &ClaimContext,
    place: &Place<'_>,
    scratch: &mut (String, Attributes),
    out: &mut Rows,
) {
    let (counters, contradiction) = response.usage.counters();
    if let Some(contradiction) = contradiction {
        out.issue(
            Some(place.record.session_id),
            place.seq,
            place.record.ts,
            IssueKind::Contradiction,
            contradiction.sentence(),
        );
    }
    let (reported, attributes) = scratch;
    reported.clear();
    if let Some(json) = response.reported {
        json.write_to(reported);
    }
    attributes.clear();
    attributes.text("turn_id", response.turn.id.as_deref());
    attributes.flag("maybe_copied", response.owner == Owner::MaybeCopy);
    attributes.flag("unreported", response.is_unreported);
    let tier = context.service_tier.as_deref();
    let speed = matches!(tier, Some("priority" | "fast")).then_some("fast");
    let claim = Claim {
        request: RequestKey::new(out.provider(), response.key),
        standing: Standing { class: i64::from(response.owner == Owner::Own), rank: [0; 3] },
        counters,
        variant: variant_of([response.model, speed, tier, None]),
        guard: None,
        never: (response.owner == Owner::Copy).then_some(CopyReason::Replay),
    };
    let row = UsageRow {
        request_key: Some(response.key),
        response_id: response.vendor_id,
        model: response.model,
        vendor: Some(context.vendor()),
        speed,
        service_tier: tier,
        effort: response.turn.effort.as_deref(),
        grain: Some("request"),
        count_basis: Some("exact"),
        cache_write_basis: counters.cache_write_5m.map(|_| "assumed_5m"),
        reported: filled(reported),
        project: context.project.as_deref(),
        cwd: response.turn.cwd.as_deref().or(context.project.as_deref()),
        git_branch: context.git_branch.as_deref(),
        agent_id: place.agent_id,
        agent_type: context.agent_type.as_deref(),
        attributes: attributes.finish(),
        ..UsageRow::default()
    };
    out.claim(&place.record, response.block, claim, &row);
}
