//! Rows of one entry: its message, tool calls and results, and the calls that were paid for.

use super::fold::Fold;
use super::usage::{Spent, claim};
use crate::adapters::append_only::TimedLine;
use crate::adapters::draft::{ToolResult, content_text, text_of};
use crate::model::tables::MessagesRow;
use crate::model::{IssueKind, Record, Rows, TitleRank};
use crate::source::Json;

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;
/// Most that is kept of an unknown entry, in bytes.
const MAX_QUOTED: usize = 4096;

/// Role and kind of a message.
type Kinds = (&'static str, &'static str);

/// Writes the rows of one entry.
pub(super) fn write(fold: &mut Fold, entry: Json<'_>, record: &Record<'_>, line: &TimedLine<'_>, out: &mut Rows) {
    fold.draft.clear();
    let entry_type = entry.str("type").unwrap_or_default();
    let message = entry.get("message").filter(|message| entry_type == "message" && message.is_object());
    let (role, kind) = match (entry_type, message) {
        ("message", Some(message)) => read_message(fold, message),
        ("compaction", _) => read_summary(fold, entry, &["tokensBefore", "firstKeptEntryId"]),
        ("branch_summary", _) => read_summary(fold, entry, &["fromId"]),
        ("custom_message", _) => {
            let content = entry.get("content").map(content_text).unwrap_or_default();
            fold.draft.text(&content);
            fold.draft.buffers.attributes.text("customType", entry.str("customType"));
            ("user", "injected")
        }
        ("usage", _) => ("system", "meta"),
        _ => {
            for name in ["version", "provider", "modelId", "thinkingLevel", "name", "label", "customType", "data"] {
                fold.draft.buffers.attributes.json(name, entry.get(name));
            }
            tell_unknown(fold, entry_type, line, out);
            ("system", "meta")
        }
    };
    if !matches!(entry_type, "message") {
        fold.draft.buffers.attributes.text("type", Some(entry_type).filter(|kind| !kind.is_empty()));
    }
    let model = message
        .filter(|_| role == "assistant")
        .and_then(|message| message.str("model"))
        .or(fold.carry.model.as_deref().filter(|_| role == "assistant"))
        .map(str::to_owned);
    if kind == "human" && !fold.carry.has_title {
        let title: String =
            fold.draft.visible().trim().lines().next().unwrap_or_default().chars().take(TITLE_CHARS).collect();
        if !title.is_empty() {
            fold.carry.has_title = true;
            out.session(record.session_id).propose_title(TitleRank::FirstPrompt, &title);
        }
    }
    let raw = out.keep_raw().then(|| String::from_utf8_lossy(line.line.bytes));
    let row = MessagesRow {
        uuid: entry.str("id"),
        parent_uuid: entry.str("parentId"),
        ts_basis: Some(line.ts_basis.as_str()),
        role: Some(role),
        kind: Some(kind),
        model: model.as_deref(),
        cwd: fold.carry.cwd.as_deref(),
        agent_id: fold.agent.as_deref(),
        stop_reason: message.and_then(|message| message.str("stopReason")),
        raw: raw.as_deref(),
        ..MessagesRow::default()
    };
    fold.draft.write(record, &row, out);
    claim_all(fold, entry, entry_type, message, record, line, out);
}

/// Claims every call that an entry pays for. A compaction's `retainedTail` holds copies of messages, so it is no claim.
fn claim_all(
    fold: &mut Fold,
    entry: Json<'_>,
    entry_type: &str,
    message: Option<Json<'_>>,
    record: &Record<'_>,
    line: &TimedLine<'_>,
    out: &mut Rows,
) {
    let holder = message.unwrap_or(entry);
    let what = match (entry_type, holder.str("role")) {
        ("message", Some("assistant")) => "response",
        ("message", _) => "tool",
        ("usage", _) => entry.str("kind").unwrap_or("usage"),
        ("compaction", _) => "compaction",
        ("branch_summary", _) => "branch_summary",
        _ => return,
    };
    if let Some(usage) = holder.get("usage") {
        claim(fold, &Spent { usage, what, holder, entry_id: entry.str("id"), block: 0 }, record, line, out);
    }
}

fn read_message(fold: &mut Fold, message: Json<'_>) -> Kinds {
    let role = message.str("role").unwrap_or_default();
    match role {
        "user" => {
            read_content(fold, message);
            ("user", "human")
        }
        "assistant" => {
            read_content(fold, message);
            let failure = message.str("errorMessage").filter(|text| !text.is_empty());
            fold.draft.buffers.attributes.text("errorMessage", failure);
            fold.draft.buffers.attributes.text("provider", message.str("provider"));
            fold.draft.buffers.attributes.text("api", message.str("api"));
            let is_error = message.str("stopReason") == Some("error") && fold.draft.visible().is_empty();
            ("assistant", if is_error { "error" } else { "assistant" })
        }
        "toolResult" => {
            let output = message.get("content").map(content_text);
            fold.draft.buffers.attributes.text("toolName", message.str("toolName"));
            fold.draft.result(ToolResult {
                id: message.str("toolCallId").map(str::to_owned),
                is_error: message.get("isError").and_then(Json::as_bool),
                output,
                exit_code: message.path(&["details", "exitCode"]).and_then(Json::as_i64),
                ..ToolResult::default()
            });
            ("tool", "tool_result")
        }
        "bashExecution" => {
            let command = message.str("command").unwrap_or_default();
            fold.draft.text(command);
            fold.draft.buffers.attributes.json("exitCode", message.get("exitCode"));
            fold.draft.buffers.attributes.text("output", message.str("output"));
            ("user", "human")
        }
        "system" => {
            read_content(fold, message);
            ("system", "system")
        }
        "branchSummary" | "compactionSummary" => {
            fold.draft.text(message.str("summary").unwrap_or_default());
            ("system", "summary")
        }
        _ => {
            read_content(fold, message);
            fold.draft.buffers.attributes.text("role", Some(role));
            ("user", "injected")
        }
    }
}

fn read_summary(fold: &mut Fold, entry: Json<'_>, attributes: &[&str]) -> Kinds {
    fold.draft.text(entry.str("summary").unwrap_or_default());
    for name in attributes {
        fold.draft.buffers.attributes.json(name, entry.get(name));
    }
    ("system", "summary")
}

fn read_content(fold: &mut Fold, message: Json<'_>) {
    let Some(content) = message.get("content") else { return };
    if let Some(text) = content.as_str() {
        fold.draft.text(text);
    }
    for block in content.items() {
        match block.str("type").unwrap_or_default() {
            "text" => fold.draft.text(block.str("text").unwrap_or_default()),
            "thinking" => fold.draft.thinking(block.str("thinking").unwrap_or_default()),
            "toolCall" | "tool_use" => {
                let input = block.get("arguments").or(block.get("input"));
                fold.draft.call(block.str("id"), block.str("name"), None, input);
            }
            kind => fold.draft.other(if kind.is_empty() { "unknown" } else { kind }),
        }
    }
}

/// Tells the first entry of a kind that is not known.
fn tell_unknown(fold: &mut Fold, entry_type: &str, line: &TimedLine<'_>, out: &mut Rows) {
    const KNOWN: [&str; 8] = [
        "session",
        "model_change",
        "thinking_level_change",
        "session_info",
        "custom",
        "label",
        "context_edit",
        "active_tools_change",
    ];
    if KNOWN.contains(&entry_type) || !fold.carry.unknown_kinds.insert(entry_type.to_owned()) {
        return;
    }
    let text = text_of(line.line.json);
    let quoted = text.get(..text.floor_char_boundary(MAX_QUOTED)).unwrap_or(&text);
    let session_id = fold.carry.session_id.clone();
    out.issue(Some(&session_id), line.line.seq, line.ts, IssueKind::UnknownRecord, quoted);
}
