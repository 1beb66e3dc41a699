//! Record after record of one chat: what is carried, and the rows of each.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::SLUG;
use super::discovery::Place;
use super::usage;
use crate::adapters::append_only::{LineFold, TimedLine};
use crate::adapters::counters::Faults;
use crate::adapters::draft::{Draft, content_text};
use crate::adapters::genai_parts as parts;
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::{MessagesRow, UsageRow};
use crate::model::{Claim, Identity, IssueKind, Record, RequestKey, Rows, SessionFacts, Standing, TitleRank, time};
use crate::source::Json;

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;

/// State of the fold, kept with the checkpoint as JSON.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct Carry {
    session_id: String,
    model: Option<String>,
    cwd: Option<String>,
    has_title: bool,
    unknown_kinds: BTreeSet<String>,
}

/// The reading of one chat.
#[derive(Debug)]
pub(super) struct Fold {
    place: Place,
    carry: Carry,
    draft: Draft,
    faults: Faults,
}

impl Fold {
    /// Begins a chat, or goes on with what an earlier read carried.
    pub fn new(place: &Place, carry: Option<&str>) -> Self {
        let carried = carry.and_then(|text| serde_json::from_str(text).ok());
        Self {
            place: place.clone(),
            carry: carried.unwrap_or_else(|| Carry { session_id: place.name_id.clone(), ..Carry::default() }),
            draft: Draft::default(),
            faults: Faults::default(),
        }
    }

    /// What a record says of the session.
    fn learn(&mut self, record: Json<'_>, out: &mut Rows) {
        let text = |name: &str| record.str(name).filter(|text| !text.is_empty());
        SessionFacts::set_once(&mut self.carry.cwd, text("cwd"));
        SessionFacts::set_latest(&mut self.carry.model, text("model"));
        let facts = out.session(&self.carry.session_id);
        SessionFacts::set_once(&mut facts.project, self.carry.cwd.as_deref());
        SessionFacts::set_once(&mut facts.cwd, self.carry.cwd.as_deref());
        SessionFacts::set_once(&mut facts.git_branch, text("gitBranch"));
        SessionFacts::set_once(&mut facts.project_slug, self.place.project_slug.as_deref());
        SessionFacts::set_latest(&mut facts.agent_version, text("version"));
        let origin = record.get("forkedFrom").and_then(|origin| origin.str("sessionId"));
        let payload = record.get("systemPayload");
        if let Some(parent) = self.place.parent.as_deref() {
            SessionFacts::set_once(&mut facts.parent_session_id, Some(parent));
            SessionFacts::set_once(&mut facts.root_session_id, Some(parent));
            SessionFacts::set_once(&mut facts.relation, Some("subagent"));
        } else if let Some(origin) = origin {
            SessionFacts::set_once(&mut facts.parent_session_id, Some(origin));
            SessionFacts::set_once(&mut facts.relation, Some("fork"));
        }
        if record.str("subtype") == Some("custom_title")
            && let Some(title) = payload.and_then(|payload| payload.str("customTitle"))
        {
            let is_own = payload.and_then(|payload| payload.str("titleSource")) != Some("auto");
            facts.propose_title(if is_own { TitleRank::Custom } else { TitleRank::Generated }, title);
        }
    }

    fn propose_title(&mut self, record: Json<'_>, out: &mut Rows) {
        let shown = record.get("systemPayload").and_then(|payload| payload.str("displayText"));
        let text = shown.unwrap_or(self.draft.visible()).trim().lines().next().unwrap_or_default();
        let title: String = text.chars().take(TITLE_CHARS).collect();
        if !self.carry.has_title && !title.is_empty() {
            self.carry.has_title = true;
            out.session(&self.carry.session_id).propose_title(TitleRank::FirstPrompt, &title);
        }
    }

    /// Reads the content into the draft; returns role and kind.
    fn read(&mut self, record: Json<'_>, line: &TimedLine<'_>, out: &mut Rows) -> (&'static str, &'static str) {
        for part in record.path(&["message", "parts"]).into_iter().flat_map(Json::items) {
            parts::read(&mut self.draft, part);
        }
        let subtype = record.str("subtype");
        self.draft.buffers.attributes.text("subtype", subtype);
        for name in ["promptId", "agentName", "agentRunId", "agentRound", "forkedFrom"] {
            self.draft.buffers.attributes.json(name, record.get(name));
        }
        match record.str("type").unwrap_or_default() {
            "user" if matches!(subtype, Some("notification" | "cron")) => ("user", "injected"),
            // In a subagent's chat the parent's model wrote the prompts.
            "user" if self.place.parent.is_some() => ("user", "injected"),
            "user" => ("user", "human"),
            "assistant" => ("assistant", "assistant"),
            "tool_result" => ("tool", "tool_result"),
            "system" => {
                let payload = record.get("systemPayload");
                match subtype {
                    Some("chat_compression") => {
                        let summary = payload.and_then(|payload| payload.get("summary")).map(content_text);
                        self.draft.text(&summary.unwrap_or_default());
                        ("system", "summary")
                    }
                    // Repeats what records say, and tells of side calls without saying which.
                    Some("ui_telemetry") => {
                        let event = payload.and_then(|payload| payload.get("uiEvent")?.get("event.name"));
                        self.draft.buffers.attributes.json("event", event);
                        ("system", "progress")
                    }
                    _ => ("system", "meta"),
                }
            }
            kind => {
                if self.carry.unknown_kinds.insert(kind.to_owned()) {
                    let text = record.to_text();
                    out.issue(Some(&self.carry.session_id), line.line.seq, line.ts, IssueKind::UnknownRecord, &text);
                }
                ("system", "meta")
            }
        }
    }

    fn claim(&mut self, record: Json<'_>, row: &MessagesRow<'_>, place: &Record<'_>, out: &mut Rows) {
        let Some(object) = record.get("usageMetadata").filter(|usage| usage.is_object()) else { return };
        let read = usage::read(object, &mut self.faults);
        let key = row.uuid.map_or_else(|| format!("{}@{}", place.session_id, place.ts), str::to_owned);
        let counters = read.counters;
        let total = counters.to_array().iter().take(5).flatten().fold(0_i64, |sum, &n| sum.saturating_add(n));
        let claim = Claim {
            request: RequestKey::new(SLUG, &key),
            standing: Standing { class: 1, rank: [total, counters.output.unwrap_or(-1), 0] },
            counters,
            variant: variant_of([row.model, None, None, None]),
            guard: None,
            never: None,
        };
        let reported = object.to_text();
        let usage_row = UsageRow {
            request_key: Some(&key),
            message_uuid: row.uuid,
            model: row.model,
            vendor: row.model.and_then(vendor_of),
            grain: Some("request"),
            count_basis: Some("exact"),
            reported: Some(&reported),
            project: self.carry.cwd.as_deref(),
            cwd: row.cwd,
            git_branch: row.git_branch,
            is_sidechain: row.is_sidechain,
            agent_id: row.agent_id,
            attributes: Some(r#"{"reasoning_in_output":"assumed"}"#).filter(|_| read.is_assumed),
            ..UsageRow::default()
        };
        out.claim(place, 0, claim, &usage_row);
        for (kind, detail) in self.faults.take(&format!("record {key}")) {
            out.issue(Some(place.session_id), place.seq.unsigned_abs(), place.ts, kind, &detail);
        }
    }
}

impl LineFold for Fold {
    fn peek(&mut self, json: Json<'_>) -> bool {
        if self.place.parent.is_some() {
            return true;
        }
        let id = json.str("sessionId").filter(|id| !id.is_empty());
        if let Some(id) = id {
            id.clone_into(&mut self.carry.session_id);
        }
        id.is_some()
    }

    fn time(&self, json: Json<'_>) -> Option<i64> {
        time::parse(json.str("timestamp")?)
    }

    fn line(&mut self, line: &TimedLine<'_>, out: &mut Rows) {
        let record = line.line.json;
        self.draft.clear();
        self.learn(record, out);
        let uuid = record.str("uuid").filter(|uuid| !uuid.is_empty());
        let identity = uuid.map_or(Identity::Content(line.line.bytes), Identity::Native);
        let session_id = self.carry.session_id.clone();
        let place = out.record(&session_id, identity, line.line.seq, line.ts);
        let (role, kind) = self.read(record, line, out);
        if kind == "human" {
            self.propose_title(record, out);
        }
        let model = self.carry.model.clone().filter(|_| role == "assistant");
        let raw = out.keep_raw().then(|| String::from_utf8_lossy(line.line.bytes));
        let row = MessagesRow {
            uuid,
            parent_uuid: record.str("parentUuid"),
            ts_basis: Some(line.ts_basis.as_str()),
            role: Some(role),
            kind: Some(kind),
            model: model.as_deref(),
            cwd: record.str("cwd"),
            git_branch: record.str("gitBranch"),
            is_sidechain: record.get("isSidechain").and_then(Json::as_bool).or(Some(self.place.parent.is_some())),
            agent_id: record.str("agentId"),
            raw: raw.as_deref(),
            ..MessagesRow::default()
        };
        self.draft.write(&place, &row, out);
        self.claim(record, &row, &place, out);
    }

    fn session_id(&self) -> Option<&str> {
        Some(&self.carry.session_id)
    }

    fn carry(&self) -> String {
        serde_json::to_string(&self.carry).unwrap_or_default()
    }
}
