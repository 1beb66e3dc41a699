//! Rows of a chat: facts of the session, and for each message its row, its tool calls with their results, and its claim.

use xxhash_rust::xxh3::Xxh3Default;

use super::SLUG;
use super::conversation::{Conversation, Kept, is_answer};
use super::discovery::Place;
use super::usage::counters;
use crate::adapters::buffers::filled;
use crate::adapters::counters::Faults;
use crate::adapters::document::{Begun, Open, Shown};
use crate::adapters::draft::{Draft, ToolResult, content_text, text_of};
use crate::adapters::genai_parts as parts;
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::{MessagesRow, UsageRow};
use crate::model::{Claim, Counters, Identity, IssueKind, RequestKey, Rows, SessionFacts, Standing, TitleRank, time};
use crate::source::Json;
use crate::source::json::{Parser, write_string};

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;

/// Writes everything new of a chat; returns its session id, if there is a session.
pub(super) fn write(chat: &Conversation, place: &Place, open: &mut Open, out: &mut Rows) -> Option<String> {
    if chat.messages.is_empty() && chat.started_at.is_none() {
        return None;
    }
    let cwd = place.cwd.as_deref().or(chat.directory.as_deref());
    tell(chat, place, cwd, out);
    open.session_starts(chat.started_at);
    let mut writer = Writer { chat, cwd, draft: Draft::default(), faults: Faults::default(), has_title: false };
    let mut parser = Parser::default();
    for kept in &chat.messages {
        // It was parsed before, so it parses.
        let _ = parser.parse(kept.json.as_bytes(), |json| writer.message(kept, json, open, out));
    }
    Some(chat.session_id.clone())
}

fn tell(chat: &Conversation, place: &Place, cwd: Option<&str>, out: &mut Rows) {
    let facts = out.session(&chat.session_id);
    if let Some(started_at) = chat.started_at {
        facts.saw(started_at);
    }
    SessionFacts::set_once(&mut facts.project_slug, place.project_slug.as_deref());
    SessionFacts::set_once(&mut facts.cwd, cwd);
    SessionFacts::set_once(&mut facts.project, cwd);
    if let Some(summary) = &chat.summary {
        facts.propose_title(TitleRank::Summary, summary);
    }
    if chat.kind.as_deref() == Some("subagent") || place.parent.is_some() {
        SessionFacts::set_once(&mut facts.parent_session_id, place.parent.as_deref());
        SessionFacts::set_once(&mut facts.root_session_id, place.parent.as_deref());
        SessionFacts::set_once(&mut facts.relation, Some("subagent"));
    }
    if let Some(hash) = &chat.project_hash {
        let mut text = String::new();
        write_string(hash, &mut text);
        facts.attributes.insert("project_hash".to_owned(), text);
    }
}

struct Writer<'a> {
    chat: &'a Conversation,
    cwd: Option<&'a str>,
    draft: Draft,
    faults: Faults,
    has_title: bool,
}

impl Writer<'_> {
    fn message(&mut self, kept: &Kept, json: Json<'_>, open: &mut Open, out: &mut Rows) {
        let chat = self.chat;
        let kind = json.str("type").unwrap_or_default();
        if kind == "user" && !self.has_title {
            self.propose_title(json, out);
        }
        let identity = Identity::Native(&kept.id);
        let ts = json.str("timestamp").and_then(time::parse);
        let shown = Shown {
            session_id: &chat.session_id,
            identity,
            seq: kept.seq,
            ts,
            content: content_hash(kept, self.cwd),
            is_final: kept.is_final(),
        };
        let Some(begun) = open.begin(&shown, out) else { return };
        self.draft.clear();
        self.read_content(kind, json);
        let (role, kind) = match kind {
            "user" if self.draft.has_result() => ("user", "tool_result"),
            "user" if is_injected(self.draft.visible()) => ("user", "injected"),
            "user" => ("user", "human"),
            kind if is_answer(kind) => ("assistant", "assistant"),
            "error" => ("system", "error"),
            "info" | "warning" => ("system", "system"),
            _ => ("system", "meta"),
        };
        if kind == "meta" {
            let name = json.str("type").unwrap_or("(none)");
            let detail = format!("messages of the kind {name} are not known; they are kept as they are");
            open.issue(Some(&chat.session_id), 0, IssueKind::UnknownRecord, &detail, out);
        }
        let attributes = &mut self.draft.buffers.attributes;
        attributes.text("level", json.str("type").filter(|&level| level == "warning"));
        attributes.text("removed", kept.removed);
        attributes.flag("model_inherited", kept.is_model_inherited);
        let row = MessagesRow {
            uuid: Some(kept.id.as_str()).filter(|_| kept.has_id),
            ts_basis: Some(begun.ts_basis.as_str()),
            role: Some(role),
            kind: Some(kind),
            model: kept.model.as_deref(),
            cwd: self.cwd,
            raw: Some(kept.json.as_str()).filter(|_| out.keep_raw()),
            ..MessagesRow::default()
        };
        self.draft.write(&begun.record, &row, out);
        if let Some(tokens) = &kept.tokens {
            let _ = Parser::default()
                .parse(tokens.as_bytes(), |json| counters(json, &mut self.faults))
                .map(|counters| self.claim(kept, &begun, counters, tokens, out));
        }
        for (kind, detail) in self.faults.take(&format!("message {}", kept.id)) {
            open.issue(Some(&chat.session_id), kept.seq, kind, &detail, out);
        }
    }

    fn propose_title(&mut self, json: Json<'_>, out: &mut Rows) {
        let content = json.get("displayContent").filter(|shown| !shown.is_null()).or(json.get("content"));
        let text = content.map(content_text).unwrap_or_default();
        if is_injected(&text) || text.trim().is_empty() {
            return;
        }
        self.has_title = true;
        let title: String = text.trim().lines().next().unwrap_or_default().chars().take(TITLE_CHARS).collect();
        out.session(&self.chat.session_id).propose_title(TitleRank::FirstPrompt, &title);
    }

    fn read_content(&mut self, kind: &str, json: Json<'_>) {
        for thought in json.get("thoughts").into_iter().flat_map(Json::items) {
            let (subject, description) = (thought.str("subject"), thought.str("description"));
            let parts: Vec<&str> = [subject, description].into_iter().flatten().collect();
            self.draft.thinking(&parts.join(": "));
        }
        match json.get("content") {
            Some(content) if content.is_array() => content.items().for_each(|part| parts::read(&mut self.draft, part)),
            Some(content) if content.is_object() => parts::read(&mut self.draft, content),
            Some(content) => {
                if let Some(text) = content.as_str().filter(|text| !text.is_empty() || !is_answer(kind)) {
                    self.draft.text(text);
                }
            }
            None => {}
        }
        for call in json.get("toolCalls").into_iter().flat_map(Json::items) {
            let id = call.str("id");
            self.draft.call(id, call.str("name"), None, call.get("args"));
            if let Some(result) = result_of(call) {
                self.draft.result(result);
            }
        }
    }

    fn claim(&self, kept: &Kept, begun: &Begun<'_>, counters: Counters, tokens: &str, out: &mut Rows) {
        let request_key = format!("{}:{}", self.chat.session_id, kept.id);
        let model = kept.model.as_deref();
        let total = counters.to_array().iter().take(5).flatten().sum();
        let claim = Claim {
            request: RequestKey::new(SLUG, &request_key),
            standing: Standing { class: 1, rank: [kept.sayings, total, i64::from(model.is_some())] },
            counters,
            variant: variant_of([model, None, None, None]),
            guard: None,
            never: None,
        };
        let is_subagent = self.chat.kind.as_deref() == Some("subagent");
        let row = UsageRow {
            request_key: Some(&request_key),
            message_uuid: Some(kept.id.as_str()).filter(|_| kept.has_id),
            model,
            vendor: Some(model.and_then(vendor_of).unwrap_or("google")),
            grain: Some("request"),
            count_basis: Some("exact"),
            reported: Some(tokens),
            project: self.cwd,
            cwd: self.cwd,
            is_sidechain: Some(is_subagent),
            attributes: filled(self.draft.buffers.attributes.written().unwrap_or_default()),
            ..UsageRow::default()
        };
        out.claim(&begun.record, 0, claim, &row);
    }
}

/// Hash of everything that the rows of a message are made of.
fn content_hash(kept: &Kept, cwd: Option<&str>) -> u64 {
    let mut hasher = Xxh3Default::new();
    for text in [Some(kept.json.as_str()), kept.tokens.as_deref(), kept.model.as_deref(), kept.removed, cwd] {
        hasher.update(text.unwrap_or("\0").as_bytes());
        hasher.update(&[0]);
    }
    hasher.digest()
}

/// The result inside a tool call, once it has ended.
fn result_of(call: Json<'_>) -> Option<ToolResult> {
    let status = call.str("status").unwrap_or_default();
    let result = call.get("result").filter(|result| !result.is_null());
    let ended = matches!(status, "success" | "error" | "cancelled");
    if result.is_none() && !ended {
        return None;
    }
    let mut is_error = matches!(status, "error" | "cancelled");
    let mut texts: Vec<String> = Vec::new();
    match result {
        Some(result) if result.is_array() => {
            for part in result.items() {
                if let Some(response) = part.get("functionResponse") {
                    let (text, failed) = parts::response_text(response);
                    is_error |= failed;
                    texts.push(text);
                } else if let Some(text) = part.as_str().or_else(|| part.str("text")) {
                    texts.push(text.to_owned());
                } else {
                    texts.push(format!("[{}]", part.fields().next().map_or("content", |(key, _)| key)));
                }
            }
        }
        Some(result) => texts.push(text_of(result)),
        None => texts.extend(call.str("resultDisplay").filter(|text| !text.is_empty()).map(str::to_owned)),
    }
    let output = Some(texts.join("\n")).filter(|_| !texts.is_empty());
    let id = call.str("id").map(str::to_owned);
    Some(ToolResult { id, is_error: Some(is_error), output, ..ToolResult::default() })
}

/// Whether the tool itself wrote the text of a `user` message.
fn is_injected(text: &str) -> bool {
    let text = text.trim_start();
    [
        "<session_context>",
        "This is the Gemini CLI. We are setting up the context",
        "<state_snapshot>",
        "System: Please continue",
    ]
    .into_iter()
    .any(|mark| text.starts_with(mark))
}
