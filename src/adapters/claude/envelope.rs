//! What every line has: type, ids, place and time, read in one pass over the members of the line.
//!
//! Members that no column holds go to the attributes as they come, so a member that a later version adds is kept too.

use super::attributes::Attributes;
use crate::source::Json;

/// The outer members of a line. Of duplicate members the last one stands.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Envelope<'t> {
    /// `type`.
    pub kind: Option<&'t str>,
    /// `subtype`, of `system` lines.
    pub subtype: Option<&'t str>,
    /// `level`, of `system` lines.
    pub level: Option<&'t str>,
    pub uuid: Option<&'t str>,
    pub parent_uuid: Option<&'t str>,
    /// `sessionId` as recorded: not always the file's.
    pub session_id: Option<&'t str>,
    pub cwd: Option<&'t str>,
    pub git_branch: Option<&'t str>,
    pub version: Option<&'t str>,
    pub entrypoint: Option<&'t str>,
    pub agent_id: Option<&'t str>,
    pub is_sidechain: Option<bool>,
    pub is_meta: bool,
    pub is_compact_summary: bool,
    pub message: Option<Json<'t>>,
    pub tool_use_result: Option<Json<'t>>,
    /// `data`, of `progress` lines.
    pub data: Option<Json<'t>>,
    /// `attachment`, of `attachment` lines.
    pub attachment: Option<Json<'t>>,
    /// `content`, of `system` and `queue-operation` lines.
    pub content: Option<&'t str>,
    pub summary: Option<&'t str>,
    pub leaf_uuid: Option<&'t str>,
    pub custom_title: Option<&'t str>,
    pub ai_title: Option<&'t str>,
    /// `origin.kind`: `human`, `task-notification` …
    pub origin: Option<&'t str>,
    /// `promptSource`: `typed`, `queued`, `system` or `sdk`.
    pub prompt_source: Option<&'t str>,
    pub request_id: Option<&'t str>,
    pub api_block_index: Option<i64>,
    pub effort: Option<&'t str>,
    /// `attributionAgent`: kind of the subagent.
    pub agent_type: Option<&'t str>,
    /// `attributionSkill`.
    pub skill: Option<&'t str>,
    /// `costUSD`, of versions before 1.0.
    pub cost_usd: Option<f64>,
    pub duration_ms: Option<i64>,
}

impl<'t> Envelope<'t> {
    /// Reads a line. `expected_session` is the `sessionId` that the file's lines have; another one is kept as an
    /// attribute.
    pub fn read(line: Json<'t>, expected_session: &str, attributes: &mut Attributes) -> Self {
        let mut envelope = Self::default();
        for (key, value) in line.fields() {
            envelope.member(key, value, expected_session, attributes);
        }
        envelope
    }

    fn member(&mut self, key: &str, value: Json<'t>, expected_session: &str, attributes: &mut Attributes) {
        let text = || value.as_str().filter(|text| !text.is_empty());
        match key {
            // These have a column each.
            "uuid" => self.uuid = text(),
            "parentUuid" => self.parent_uuid = text(),
            "cwd" => self.cwd = text(),
            "gitBranch" => self.git_branch = text(),
            "agentId" => self.agent_id = text(),
            "isSidechain" => self.is_sidechain = value.as_bool(),
            "timestamp" => {}
            "sessionId" => {
                self.session_id = text();
                if let Some(recorded) = self.session_id.filter(|&recorded| recorded != expected_session) {
                    attributes.put_text(key, recorded);
                }
            }
            // These are read by others, who decide what of them becomes an attribute.
            "message" if value.is_object() => self.message = Some(value),
            "toolUseResult" => self.tool_use_result = Some(value),
            "data" if value.is_object() => self.data = Some(value),
            "attachment" if value.is_object() => self.attachment = Some(value),
            "content" if value.as_str().is_some() => self.content = text(),
            "summary" if value.as_str().is_some() => self.summary = text(),
            "isMeta" => {
                self.is_meta = value.as_bool() == Some(true);
                if self.is_meta {
                    attributes.put(key, value);
                }
            }
            // These are read, and kept as attributes too.
            _ => {
                match key {
                    "type" => self.kind = text(),
                    "subtype" => self.subtype = text(),
                    "level" => self.level = text(),
                    "version" => self.version = text(),
                    "entrypoint" => self.entrypoint = text(),
                    "isCompactSummary" => self.is_compact_summary = value.as_bool() == Some(true),
                    "leafUuid" => self.leaf_uuid = text(),
                    "customTitle" => self.custom_title = text(),
                    "aiTitle" => self.ai_title = text(),
                    "origin" => self.origin = value.str("kind"),
                    "promptSource" => self.prompt_source = text(),
                    "requestId" => self.request_id = text(),
                    "apiBlockIndex" => self.api_block_index = value.as_i64(),
                    "effort" => self.effort = text(),
                    "attributionAgent" => self.agent_type = text(),
                    "attributionSkill" => self.skill = text(),
                    "costUSD" => self.cost_usd = value.as_f64(),
                    "durationMs" => self.duration_ms = value.as_i64(),
                    _ => {}
                }
                attributes.put(key, value);
            }
        }
    }
}

/// The members of `message`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Message<'t> {
    pub id: Option<&'t str>,
    pub role: Option<&'t str>,
    pub model: Option<&'t str>,
    pub content: Option<Json<'t>>,
    pub stop_reason: Option<&'t str>,
    pub usage: Option<Json<'t>>,
}

impl<'t> Message<'t> {
    /// Reads a message; what has no column goes to the attributes, where there are any to write to.
    pub fn read(message: Json<'t>, mut attributes: Option<&mut Attributes>) -> Self {
        let mut read = Self::default();
        for (key, value) in message.fields() {
            match key {
                "role" => read.role = value.as_str(),
                "model" => read.model = value.as_str().filter(|model| !model.is_empty()),
                "content" => read.content = Some(value),
                "stop_reason" => read.stop_reason = value.as_str(),
                "usage" => read.usage = Some(value),
                "type" => {}
                "id" => read.id = value.as_str().filter(|id| !id.is_empty()),
                _ => {
                    if let Some(attributes) = &mut attributes {
                        attributes.put(key, value);
                    }
                }
            }
        }
        if let (Some(attributes), Some(id)) = (attributes, read.id) {
            attributes.put_text("message_id", id);
        }
        read
    }

    /// Whether the tool wrote the message itself: an error or an interruption, never an answer of a model.
    pub fn is_synthetic(&self) -> bool {
        self.model == Some("<synthetic>")
    }
}
