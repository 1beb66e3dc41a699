//! Rows of one event of the CLI.

use super::fold::Fold;
use crate::adapters::append_only::TimedLine;
use crate::adapters::draft::{ToolResult, content_text, text_of};
use crate::model::tables::MessagesRow;
use crate::model::{IssueKind, Record, Rows, SessionFacts, TitleRank};
use crate::source::Json;
use crate::source::json::Parser;

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;
/// Members of events of the tool itself that become attributes, where they are there.
const ATTRIBUTES: [&str; 24] = [
    "agentDisplayName",
    "agentName",
    "currentModel",
    "durationMs",
    "errorType",
    "hookType",
    "infoType",
    "interactionId",
    "newModel",
    "parentToolCallId",
    "postCompactionTokens",
    "preCompactionTokens",
    "previousModel",
    "reason",
    "reasoningEffort",
    "selectedModel",
    "shutdownType",
    "statusCode",
    "success",
    "toolCallId",
    "totalApiDurationMs",
    "totalNanoAiu",
    "totalPremiumRequests",
    "turnId",
];
/// Families of events that are known, though not each of their kinds.
const FAMILIES: [&str; 14] = [
    "abort",
    "assistant.",
    "external_tool.",
    "hook.",
    "mcp.",
    "permission.",
    "session.",
    "skill.",
    "subagent.",
    "system.",
    "tool.",
    "user.",
    "elicitation.",
    "command.",
];

/// Role and kind of a message.
type Kinds = (&'static str, &'static str);

/// Writes the rows of one event.
pub(super) fn write(fold: &mut Fold, event: Json<'_>, record: &Record<'_>, line: &TimedLine<'_>, out: &mut Rows) {
    fold.draft.clear();
    let kind_here = event.str("type").unwrap_or_default();
    let data = event.get("data").unwrap_or(event);
    let agent_id = event.str("agentId").or_else(|| data.str("parentToolCallId"));
    let (role, kind) = match kind_here {
        "user.message" => user(fold, data),
        "assistant.message" => assistant(fold, data),
        "assistant.reasoning" => {
            fold.draft.thinking(data.str("content").unwrap_or_default());
            ("assistant", "assistant")
        }
        "tool.execution_start" => {
            // Calls are asked for by messages; those that a person or an extension starts are not.
            let id = data.str("toolCallId");
            if id.is_none_or(|id| fold.carry.open_calls.insert(id.to_owned())) {
                fold.draft.call(id, data.str("toolName"), data.str("mcpServerName"), data.get("arguments"));
            }
            ("tool", "progress")
        }
        "tool.execution_complete" => tool_result(fold, data),
        "system.message" => {
            fold.draft.text(&data.get("content").map(content_text).unwrap_or_default());
            ("system", "system")
        }
        "system.notification" => {
            fold.draft.text(data.str("content").unwrap_or_default());
            ("user", "injected")
        }
        "session.compaction_complete" => {
            fold.draft.text(data.str("summaryContent").or(data.str("summary")).unwrap_or_default());
            note(fold, kind_here, data);
            ("system", "summary")
        }
        "session.error" | "session.warning" | "session.info" => {
            fold.draft.text(data.str("message").unwrap_or_default());
            note(fold, kind_here, data);
            ("system", if kind_here == "session.error" { "error" } else { "system" })
        }
        _ => {
            note(fold, kind_here, data);
            let is_known = FAMILIES.iter().any(|family| kind_here.starts_with(family));
            if !is_known && fold.carry.unknown_kinds.insert(kind_here.to_owned()) {
                let text = text_of(event);
                out.issue(Some(record.session_id), line.line.seq, line.ts, IssueKind::UnknownRecord, &text);
            }
            ("system", "meta")
        }
    };
    learn(fold, kind_here, data, out);
    if kind == "human" && !fold.carry.has_title {
        let first = fold.draft.visible().trim().lines().next().unwrap_or_default();
        let title: String = first.chars().take(TITLE_CHARS).collect();
        if !title.is_empty() {
            fold.carry.has_title = true;
            out.session(record.session_id).propose_title(TitleRank::FirstPrompt, &title);
        }
    }
    let model = model_of(fold, data).filter(|_| role == "assistant").map(str::to_owned);
    let raw = out.keep_raw().then(|| String::from_utf8_lossy(line.line.bytes));
    let row = MessagesRow {
        uuid: event.str("id"),
        parent_uuid: event.str("parentId"),
        ts_basis: Some(line.ts_basis.as_str()),
        role: Some(role),
        kind: Some(kind),
        model: model.as_deref(),
        cwd: fold.carry.cwd.as_deref(),
        git_branch: fold.carry.git_branch.as_deref(),
        is_sidechain: Some(agent_id.is_some()),
        agent_id,
        raw: raw.as_deref(),
        ..MessagesRow::default()
    };
    fold.draft.write(record, &row, out);
    charge(fold, event, agent_id, record, out);
}

/// Claims what an event says that calls cost. Sums of subagents (`subagent.completed`) are of calls that have messages.
fn charge(fold: &mut Fold, event: Json<'_>, agent_id: Option<&str>, record: &Record<'_>, out: &mut Rows) {
    let kind = event.str("type").unwrap_or_default();
    let data = event.get("data").unwrap_or(event);
    let id = event.str("id").unwrap_or_default();
    let model = model_of(fold, data).map(str::to_owned);
    match kind {
        "assistant.message" => {
            let output = fold.faults.counter(data, "outputTokens");
            let message_id = data.str("messageId");
            let filled = |name: &str| data.str(name).filter(|text| !text.is_empty());
            let call = filled("apiCallId").or(message_id).unwrap_or(id);
            let (ledger, context) = fold.carry.split();
            ledger.message(call, message_id, agent_id, model.as_deref(), output, &context, record, out);
        }
        "session.compaction_complete" => {
            if let Some(usage) = data.get("compactionTokensUsed").filter(|usage| usage.is_object()) {
                let (ledger, context) = fold.carry.split();
                ledger.compaction(usage, id, model.as_deref(), &context, record, &mut fold.faults, out);
            }
        }
        "session.shutdown" => {
            if let Some(metrics) = data.get("modelMetrics").filter(|metrics| metrics.is_object()) {
                let (ledger, context) = fold.carry.split();
                ledger.shutdown(metrics, id, &context, record, &mut fold.faults, out);
            }
        }
        _ => return,
    }
    for (kind, detail) in fold.faults.take(&format!("event {id}")) {
        out.issue(Some(record.session_id), record.seq.unsigned_abs(), record.ts, kind, &detail);
    }
}

/// The model of an event: its own, else the one that was chosen.
fn model_of<'a>(fold: &'a Fold, data: Json<'a>) -> Option<&'a str> {
    data.str("model").filter(|model| !model.is_empty()).or(fold.carry.model.as_deref().filter(|model| *model != "auto"))
}

/// Learns what later events need.
fn learn(fold: &mut Fold, kind: &str, data: Json<'_>, out: &mut Rows) {
    match kind {
        "session.start" | "session.resume" => fold.begin_leg(data, out),
        "session.model_change" => {
            SessionFacts::set_latest(&mut fold.carry.model, data.str("newModel"));
            SessionFacts::set_latest(&mut fold.carry.effort, data.str("reasoningEffort"));
        }
        "session.auto_mode_resolved" => SessionFacts::set_latest(&mut fold.carry.model, data.str("chosenModel")),
        "session.title_changed" => {
            if let Some(title) = data.str("title") {
                out.session(&fold.carry.session_id).propose_title(TitleRank::Generated, title);
            }
        }
        _ => {}
    }
}

fn user(fold: &mut Fold, data: Json<'_>) -> Kinds {
    fold.draft.text(&data.get("content").map(content_text).unwrap_or_default());
    for attachment in data.get("attachments").into_iter().flat_map(Json::items) {
        fold.draft.other(attachment.str("type").unwrap_or("attachment"));
    }
    let source = data.str("source");
    fold.draft.buffers.attributes.text("source", source);
    let is_skill = source.is_some_and(|source| source.starts_with("skill-"));
    ("user", if is_skill { "injected" } else { "human" })
}

fn assistant(fold: &mut Fold, data: Json<'_>) -> Kinds {
    if let Some(text) = data.str("reasoningText").filter(|text| !text.is_empty()) {
        fold.draft.thinking(text);
    }
    let text = data.get("content").filter(|content| !content.is_null()).map(content_text).unwrap_or_default();
    if !text.is_empty() {
        fold.draft.text(&text);
    }
    let mut parser = Parser::default();
    for request in data.get("toolRequests").into_iter().flat_map(Json::items) {
        let id = request.str("toolCallId");
        if id.is_some_and(|id| !fold.carry.open_calls.insert(id.to_owned())) {
            continue;
        }
        let (name, server) = (request.str("name"), request.str("mcpServerName"));
        let arguments = request.get("arguments");
        // Some versions write the arguments as JSON inside a string.
        let inner = arguments.and_then(Json::as_str).filter(|text| text.trim_start().starts_with('{'));
        let parsed = inner
            .and_then(|text| parser.parse(text.as_bytes(), |json| fold.draft.call(id, name, server, Some(json))).ok());
        if parsed.is_none() {
            fold.draft.call(id, name, server, arguments);
        }
    }
    for name in ["turnId", "apiCallId", "requestId", "interactionId"] {
        fold.draft.buffers.attributes.text(name, data.str(name));
    }
    ("assistant", "assistant")
}

fn tool_result(fold: &mut Fold, data: Json<'_>) -> Kinds {
    let id = data.str("toolCallId");
    if let Some(id) = id {
        fold.carry.open_calls.remove(id);
    }
    let result = data.get("result").filter(|result| !result.is_null());
    let text = result.map(|result| {
        result.get("content").filter(|content| !content.is_null()).map_or_else(|| text_of(result), content_text)
    });
    let error = data.get("error").filter(|error| !error.is_null());
    let failure = error.map(|error| error.str("message").map_or_else(|| text_of(error), str::to_owned));
    let success = data.get("success").and_then(Json::as_bool);
    let metrics = data.path(&["toolTelemetry", "metrics"]);
    fold.draft.result(ToolResult {
        id: id.map(str::to_owned),
        is_error: success.map(|success| !success).or(failure.as_ref().map(|_| true)),
        output: text.or(failure),
        exit_code: metrics.and_then(|metrics| metrics.get("exitCode")?.as_i64()),
        duration_ms: metrics.and_then(|metrics| metrics.get("durationMs")?.as_i64()).filter(|&ms| ms >= 0),
    });
    ("tool", "tool_result")
}

/// What is kept of an event of the tool itself.
fn note(fold: &mut Fold, kind: &str, data: Json<'_>) {
    let attributes = &mut fold.draft.buffers.attributes;
    attributes.text("type", Some(kind).filter(|kind| !kind.is_empty()));
    for name in ATTRIBUTES {
        attributes.json(name, data.get(name));
    }
}
