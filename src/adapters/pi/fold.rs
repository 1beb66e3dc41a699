//! Entry after entry of one session: what is carried, and what names an entry.
//!
//! Entry ids are unique in one file only, and files of old versions get new ones when a newer Pi opens them. So an entry
//! is named by its content without the ids, which forks and rewritten files keep.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::discovery::session_id_in;
use super::entries;
use crate::adapters::append_only::{LineFold, TimedLine};
use crate::adapters::counters::Faults;
use crate::adapters::draft::Draft;
use crate::model::{Identity, Rows, SessionFacts, TitleRank, time};
use crate::source::Json;
use crate::source::json::write_string;

/// State of the fold, kept with the checkpoint as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Carry {
    /// Durable id of the session.
    pub session_id: String,
    /// Directory that the session works in.
    pub cwd: Option<String>,
    /// Vendor or service that answers now, as the tool names it.
    pub provider: Option<String>,
    /// Model that answers now.
    pub model: Option<String>,
    /// Effort asked for now.
    pub thinking_level: Option<String>,
    /// Whether a prompt was proposed as the title.
    pub has_title: bool,
    /// Kinds of entries that are not known and were told.
    pub unknown_kinds: BTreeSet<String>,
}

/// The reading of one session.
#[derive(Debug)]
pub(super) struct Fold {
    /// Slug of the provider.
    pub slug: &'static str,
    /// Agent of OpenClaw.
    pub agent: Option<String>,
    pub carry: Carry,
    pub draft: Draft,
    pub faults: Faults,
    named: String,
}

impl Fold {
    /// Begins a session, or goes on with what an earlier read carried.
    pub fn new(slug: &'static str, name_id: &str, agent: Option<&str>, carry: Option<&str>) -> Self {
        let carried = carry.and_then(|text| serde_json::from_str(text).ok());
        Self {
            slug,
            agent: agent.map(str::to_owned),
            carry: carried.unwrap_or_else(|| Carry { session_id: name_id.to_owned(), ..Carry::default() }),
            draft: Draft::default(),
            faults: Faults::default(),
            named: String::new(),
        }
    }

    /// What names an entry: everything in it but the ids that differ between copies.
    fn name(&mut self, entry: Json<'_>) {
        self.named.clear();
        for (key, value) in entry.fields().filter(|(key, _)| !matches!(*key, "id" | "parentId")) {
            write_string(key, &mut self.named);
            value.write_to(&mut self.named);
        }
    }

    fn header(&mut self, entry: Json<'_>, out: &mut Rows) {
        let carry = &mut self.carry;
        let text = |name: &str| entry.str(name).filter(|text| !text.is_empty());
        SessionFacts::set_once(&mut carry.cwd, text("cwd"));
        SessionFacts::set_latest(&mut carry.provider, text("provider"));
        SessionFacts::set_latest(&mut carry.model, text("modelId"));
        SessionFacts::set_latest(&mut carry.thinking_level, text("thinkingLevel"));
        let facts = out.session(&carry.session_id);
        SessionFacts::set_once(&mut facts.cwd, text("cwd"));
        SessionFacts::set_once(&mut facts.project, text("cwd"));
        if let Some(parent) = text("parentSession").or(text("branchedFrom")) {
            SessionFacts::set_once(&mut facts.parent_session_id, Some(session_id_in(parent)));
            SessionFacts::set_once(&mut facts.relation, Some("fork"));
        }
        if let Some(agent) = &self.agent {
            let mut text = String::new();
            write_string(agent, &mut text);
            facts.attributes.insert("agent".to_owned(), text);
        }
        if let Some(version) = entry.get("version") {
            facts.attributes.insert("format_version".to_owned(), version.to_text());
        }
    }
}

impl LineFold for Fold {
    fn peek(&mut self, json: Json<'_>) -> bool {
        let id = json.str("id").filter(|id| !id.is_empty() && json.str("type") == Some("session"));
        if let Some(id) = id {
            id.clone_into(&mut self.carry.session_id);
        }
        id.is_some()
    }

    fn time(&self, json: Json<'_>) -> Option<i64> {
        json.str("timestamp").and_then(time::parse).or_else(|| message_time(json.get("message")?))
    }

    fn line(&mut self, line: &TimedLine<'_>, out: &mut Rows) {
        let entry = line.line.json;
        self.name(entry);
        let session_id = self.carry.session_id.clone();
        let record = out.record(&session_id, Identity::Content(self.named.as_bytes()), line.line.seq, line.ts);
        match entry.str("type").unwrap_or_default() {
            "session" => self.header(entry, out),
            "model_change" => {
                SessionFacts::set_latest(&mut self.carry.provider, entry.str("provider"));
                SessionFacts::set_latest(&mut self.carry.model, entry.str("modelId"));
            }
            "thinking_level_change" => {
                SessionFacts::set_latest(&mut self.carry.thinking_level, entry.str("thinkingLevel"));
            }
            "session_info" => {
                if let Some(name) = entry.str("name") {
                    out.session(&session_id).propose_title(TitleRank::Custom, name);
                }
            }
            "custom" if entry.str("customType") == Some("model-snapshot") => {
                let data = entry.get("data");
                SessionFacts::set_latest(&mut self.carry.provider, data.and_then(|data| data.str("provider")));
                SessionFacts::set_latest(&mut self.carry.model, data.and_then(|data| data.str("modelId")));
            }
            _ => {}
        }
        entries::write(self, entry, &record, line, out);
    }

    fn session_id(&self) -> Option<&str> {
        Some(&self.carry.session_id)
    }

    fn carry(&self) -> String {
        serde_json::to_string(&self.carry).unwrap_or_default()
    }
}

/// The time inside a message, milliseconds since the epoch (or, in some copies, text).
pub(super) fn message_time(message: Json<'_>) -> Option<i64> {
    let value = message.get("timestamp")?;
    value.as_i64().and_then(time::from_millis).or_else(|| time::parse(value.as_str()?))
}
