//! Line after line of one transcript: what is carried, and which row a line becomes.

use super::attributes::Attributes;
use super::claims::Claims;
use super::content::Scratch;
use super::envelope::Envelope;
use super::place::{AgentMeta, Place};
use super::records::Writer;
use super::session::{Carry, SessionIds, introduce};
use crate::adapters::append_only::{LineFold, TimedLine};
use crate::model::{Identity, Rows, time};
use crate::source::Json;

/// The reading of one transcript.
#[derive(Debug)]
pub(super) struct Fold {
    place: Place,
    meta: Option<AgentMeta>,
    carry: Carry,
    /// Whether path and note were told in this read.
    is_introduced: bool,
    attributes: Attributes,
    scratch: Scratch,
    claims: Claims,
}

impl Fold {
    /// Begins the transcript at `place`, or goes on with what an earlier read carried.
    pub fn new(place: Place, meta: Option<AgentMeta>, carry: Option<&str>) -> Self {
        let carried = carry.and_then(|text| serde_json::from_str(text).ok());
        let carry = carried.unwrap_or_else(|| Carry { ids: SessionIds::of(&place, None), ..Carry::default() });
        Self {
            place,
            meta,
            carry,
            is_introduced: false,
            attributes: Attributes::default(),
            scratch: Scratch::default(),
            claims: Claims::default(),
        }
    }
}

impl LineFold for Fold {
    fn peek(&mut self, json: Json<'_>) -> bool {
        if !self.place.needs_recorded_id() || self.carry.ids.recorded.is_some() {
            return true;
        }
        let recorded = json.str("sessionId").filter(|id| !id.is_empty());
        if recorded.is_some() {
            self.carry.ids = SessionIds::of(&self.place, recorded);
        }
        recorded.is_some()
    }

    fn time(&self, json: Json<'_>) -> Option<i64> {
        time::parse(json.str("timestamp")?)
    }

    fn line(&mut self, timed: &TimedLine<'_>, out: &mut Rows) {
        let Carry { ids, facts, summaries, unknown_kinds, told } = &mut self.carry;
        self.attributes.begin();
        let envelope = Envelope::read(timed.line.json, ids.expected(), &mut self.attributes);
        if !self.is_introduced {
            self.is_introduced = true;
            introduce(ids, &self.place, self.meta.as_ref(), out);
        }
        facts.learn(&envelope, ids, &self.place, out);
        let identity = envelope.uuid.map_or(Identity::Content(timed.line.bytes), Identity::Native);
        let record = out.record(&ids.session, identity, timed.line.seq, timed.ts);
        let raw = out.keep_raw().then(|| String::from_utf8_lossy(timed.line.bytes));
        let agent = self.place.agent();
        let writer = Writer {
            timed,
            envelope: &envelope,
            record: &record,
            ids,
            raw: raw.as_deref(),
            agent_id: envelope.agent_id.or(agent.map(|agent| agent.id.as_str())),
            agent_type: envelope.agent_type.or(self.meta.as_ref().and_then(|meta| meta.agent_type.as_deref())),
            is_agent_file: agent.is_some(),
            facts,
            summaries,
            unknown_kinds,
            told,
            attributes: &mut self.attributes,
            scratch: &mut self.scratch,
            claims: &mut self.claims,
            out,
        };
        writer.write();
    }

    fn end_of_slice(&mut self, out: &mut Rows) {
        self.carry.summaries.settle(&self.carry.ids, out);
    }

    fn session_id(&self) -> Option<&str> {
        Some(&self.carry.ids.session)
    }

    fn carry(&self) -> String {
        serde_json::to_string(&self.carry).unwrap_or_default()
    }
}
