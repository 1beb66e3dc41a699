//! One row per line: what kind of message a line is, its text, and what it claims.

use std::collections::BTreeSet;

use super::attributes::Attributes;
use super::claims::{Claims, Response};
use super::content::{Content, Scratch};
use super::envelope::{Envelope, Message};
use super::session::{Facts, SessionIds, Summaries};
use crate::adapters::append_only::TimedLine;
use crate::model::tables::MessagesRow;
use crate::model::{IssueKind, Record, Rows, TitleRank};
use crate::source::Json;

/// Kinds of lines that hold no message: notes of the tool to itself. They become rows of kind `meta`.
const NOTES: &[&str] = &[
    "agent-color",
    "agent-name",
    "agent-setting",
    "ai-title",
    "atis-latch",
    "attribution-snapshot",
    "bridge-session",
    "checkpoint",
    "content-replacement",
    "custom-title",
    "file-history-snapshot",
    "frame-link",
    "last-prompt",
    "marble-origami-commit",
    "marble-origami-snapshot",
    "mode",
    "permission-mode",
    "pr-link",
    "queue-operation",
    "relocated",
    "result",
    "speculation-accept",
    "started",
    "tag",
    "worktree-state",
];

/// Everything that the rows of one line are made of, and where they go.
pub(super) struct Writer<'a, 't> {
    pub timed: &'a TimedLine<'t>,
    pub envelope: &'a Envelope<'t>,
    pub record: &'a Record<'a>,
    pub ids: &'a SessionIds,
    /// The line itself, where it is wanted.
    pub raw: Option<&'a str>,
    pub agent_id: Option<&'a str>,
    pub agent_type: Option<&'a str>,
    /// Whether the file is a subagent's: then prompts are written by its parent.
    pub is_agent_file: bool,
    pub facts: &'a mut Facts,
    pub summaries: &'a mut Summaries,
    pub unknown_kinds: &'a mut BTreeSet<String>,
    /// See [`Claims::claim`].
    pub told: &'a mut String,
    pub attributes: &'a mut Attributes,
    pub scratch: &'a mut Scratch,
    pub claims: &'a mut Claims,
    pub out: &'a mut Rows,
}

impl<'a, 't> Writer<'a, 't> {
    /// Writes the rows of the line.
    pub fn write(mut self) {
        self.keep_leftovers();
        match self.envelope.kind.unwrap_or_default() {
            "assistant" => self.assistant(),
            "user" => self.user(),
            "system" => self.system(),
            "attachment" => self.attachment(),
            "progress" => self.progress(),
            "summary" => self.summary(),
            kind => self.note(kind),
        }
    }

    /// Members that only some kinds of lines have become attributes where they are not expected.
    fn keep_leftovers(&mut self) {
        let Envelope { kind, message, tool_use_result, data, attachment, .. } = *self.envelope;
        let kind = kind.unwrap_or_default();
        if let Some(note) = tool_use_result {
            self.attributes.put_facts("toolUseResult", note);
        }
        for (name, value, homes) in [
            ("message", message, ["assistant", "user"]),
            ("data", data, ["progress", "progress"]),
            ("attachment", attachment, ["attachment", "attachment"]),
        ] {
            if let Some(value) = value.filter(|_| !homes.contains(&kind)) {
                self.attributes.put(name, value);
            }
        }
        if let Some(text) = self.envelope.content.filter(|_| matches!(kind, "assistant" | "user")) {
            self.attributes.put_text("content", text);
        }
    }

    /// The columns that every kind of line fills alike.
    pub fn row(&self) -> MessagesRow<'a> {
        let line = self.envelope;
        MessagesRow {
            uuid: line.uuid,
            parent_uuid: line.parent_uuid,
            ts_basis: Some(self.timed.ts_basis.as_str()),
            cwd: line.cwd,
            git_branch: line.git_branch,
            is_sidechain: line.is_sidechain,
            agent_id: self.agent_id,
            raw: self.raw,
            ..MessagesRow::default()
        }
    }

    fn assistant(self) {
        let row = self.row();
        let message = self.envelope.message.map(|message| Message::read(message, Some(&mut *self.attributes)));
        let message = message.unwrap_or_default();
        let content = Content::read(message.content, None, self.record, self.scratch, self.out);
        let row = MessagesRow {
            role: message.role.or(Some("assistant")),
            kind: Some(if message.is_synthetic() { "error" } else { "assistant" }),
            model: message.model,
            content_text: content.text_in(self.scratch),
            thinking_text: content.thinking_in(self.scratch),
            tool_names: content.tool_names(),
            blocks: content.blocks_in(self.scratch),
            stop_reason: message.stop_reason,
            attributes: self.attributes.finish(),
            ..row
        };
        self.out.message(self.record, &row);
        let line = self.envelope;
        let response = Response {
            message,
            uuid: line.uuid,
            line: self.timed.line.bytes,
            is_copy: false,
            request_id: line.request_id,
            api_block_index: line.api_block_index,
            effort: line.effort,
            cost_usd: line.cost_usd,
            duration_ms: line.duration_ms,
            project: self.facts.project.as_deref(),
            cwd: line.cwd,
            git_branch: line.git_branch,
            is_sidechain: line.is_sidechain,
            agent_id: self.agent_id,
            agent_type: self.agent_type,
            skill: line.skill,
        };
        self.claims.claim(&response, self.record, self.told, self.out);
    }

    fn user(self) {
        let row = self.row();
        let message = self.envelope.message.map(|message| Message::read(message, Some(&mut *self.attributes)));
        let message = message.unwrap_or_default();
        let note = self.envelope.tool_use_result;
        let content = Content::read(message.content, note, self.record, self.scratch, self.out);
        let kind = self.user_kind(&content);
        if let Some(prompt) = content.prompt
            && (kind == "human" || (kind == "injected" && self.is_agent_file))
        {
            self.facts.prompt(prompt, self.ids, self.out);
        }
        let row = MessagesRow {
            role: message.role.or(Some("user")),
            kind: Some(kind),
            model: message.model,
            content_text: content.text_in(self.scratch),
            thinking_text: content.thinking_in(self.scratch),
            tool_names: content.tool_names(),
            blocks: content.blocks_in(self.scratch),
            attributes: self.attributes.finish(),
            ..row
        };
        self.out.message(self.record, &row);
    }

    /// Who wrote a text in the user's role.
    fn user_kind(&self, content: &Content<'_>) -> &'static str {
        let line = self.envelope;
        let is_typed = matches!(line.prompt_source, Some("typed" | "queued"));
        let is_for_agent = self.is_agent_file || line.is_sidechain == Some(true);
        let is_notice = line.origin == Some("task-notification") || line.prompt_source == Some("system");
        if content.has_tool_result {
            "tool_result"
        } else if line.is_compact_summary {
            "summary"
        } else if line.is_meta || is_notice || (is_for_agent && !is_typed) {
            "injected"
        } else if content.prompt.is_some() || content.has_media {
            "human"
        } else {
            "injected"
        }
    }

    fn system(self) {
        let line = self.envelope;
        let is_error = line.subtype == Some("api_error") || line.level == Some("error");
        let row = MessagesRow {
            role: Some("system"),
            kind: Some(if is_error { "error" } else { "system" }),
            content_text: line.content,
            ..self.row()
        };
        self.out.message(self.record, &MessagesRow { attributes: self.attributes.finish(), ..row });
    }

    /// What the tool tells the model beside prompts and results: reminders, memory, files; and prompts that were queued
    /// while the model worked.
    fn attachment(self) {
        let row = self.row();
        let attachment = self.envelope.attachment;
        let is_prompt = attachment.and_then(|attachment| attachment.str("type")) == Some("queued_command");
        let texts =
            attachment.and_then(if is_prompt { |attachment: Json<'t>| attachment.get("prompt") } else { text_of });
        let content = Content::read(texts, None, self.record, self.scratch, self.out);
        if let Some(attachment) = attachment {
            let only = texts.and_then(Json::as_str);
            self.attributes.put_without("attachment", attachment, &|name, value| match only {
                Some(only) => value.as_str() == Some(only),
                None => texts.is_some() && value.is_array() && (name == "content" || name == "prompt"),
            });
        }
        let is_notice = attachment.is_some_and(|attachment| {
            attachment.str("commandMode").is_some_and(|mode| mode != "prompt")
                || attachment.path(&["origin", "kind"]).and_then(Json::as_str).is_some_and(|kind| kind != "human")
        });
        let is_human = is_prompt && !is_notice && (content.prompt.is_some() || content.has_media);
        if let Some(prompt) = content.prompt.filter(|_| is_human) {
            self.facts.prompt(prompt, self.ids, self.out);
        }
        let row = MessagesRow {
            role: is_prompt.then_some("user"),
            kind: Some(if is_human { "human" } else { "injected" }),
            content_text: content.text_in(self.scratch),
            blocks: content.blocks_in(self.scratch).filter(|_| is_prompt),
            attributes: self.attributes.finish(),
            ..row
        };
        self.out.message(self.record, &row);
    }

    fn summary(self) {
        let line = self.envelope;
        if let (Some(leaf_uuid), Some(text)) = (line.leaf_uuid, line.summary) {
            self.summaries.add(self.timed.line.seq, leaf_uuid, text);
        }
        let row = MessagesRow { kind: Some("summary"), content_text: line.summary, ..self.row() };
        self.out.message(self.record, &MessagesRow { attributes: self.attributes.finish(), ..row });
    }

    fn note(self, kind: &str) {
        let line = self.envelope;
        for (rank, title) in [(TitleRank::Custom, line.custom_title), (TitleRank::Generated, line.ai_title)] {
            if let Some(title) = title {
                self.out.session(&self.ids.session).propose_title(rank, title);
            }
        }
        if !NOTES.contains(&kind) && self.unknown_kinds.insert(kind.to_owned()) {
            let what =
                if kind.is_empty() { "a record without a type".to_owned() } else { format!("record type {kind:?}") };
            let detail = format!("{what} is not known: {}", String::from_utf8_lossy(self.timed.line.bytes));
            let Record { session_id, ts, .. } = *self.record;
            self.out.issue(Some(session_id), self.timed.line.seq, ts, IssueKind::UnknownRecord, &detail);
        }
        let row = MessagesRow { kind: Some("meta"), content_text: line.content.or(line.summary), ..self.row() };
        self.out.message(self.record, &MessagesRow { attributes: self.attributes.finish(), ..row });
    }
}

/// The text of an attachment, a string or an array of strings.
fn text_of(attachment: Json<'_>) -> Option<Json<'_>> {
    let content = attachment.get("content").or_else(|| attachment.get("snippet"))?;
    if content.is_object() {
        let inner = content.get("content").or_else(|| content.path(&["file", "content"]));
        return inner.filter(|text| text.as_str().is_some());
    }
    let first = content.items().next().unwrap_or(content);
    first.as_str().map(|_| content)
}
