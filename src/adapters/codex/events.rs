//! `event_msg` lines, `token_count` excepted: what Codex tells its own screen while it works.
//!
//! Most of them repeat items and get no row; what they know beyond the item (a prompt was typed, a command's exit code) is
//! kept for it.

use xxhash_rust::xxh3::xxh3_64;

use super::fold::{CodexFold, Envelope, Place};
use super::outputs::{Outcome, duration_ms};
use super::tools::{Call, write_result};
use crate::adapters::append_only::TimedLine;
use crate::adapters::buffers::filled;
use crate::model::Rows;
use crate::model::session::TitleRank;
use crate::model::tables::MessagesRow;
use crate::source::Json;

/// What row an event gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Row {
    /// None: an item says the same.
    None,
    /// A step of a tool, told a second time.
    Progress,
    /// A note about the session or the turn.
    Meta,
    /// Something went wrong.
    Error,
    /// Text that has no item.
    Plan,
    /// A command that the person ran, which has no items.
    UserShell,
    /// Not known.
    Unknown,
}

/// Longest value that is kept as an attribute, in bytes of JSON.
const MAX_ATTRIBUTE_BYTES: usize = 1024;
/// Members that repeat what items hold, or are images.
const REPEATED: [&str; 17] = [
    "type",
    "action",
    "aggregated_output",
    "changes",
    "command",
    "content_items",
    "formatted_output",
    "invocation",
    "item",
    "last_agent_message",
    "message",
    "parsed_cmd",
    "replacement_history",
    "result",
    "results",
    "stderr",
    "stdout",
];

impl CodexFold {
    /// One event of the kind `kind`.
    pub(super) fn event(&mut self, kind: &str, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let payload = envelope.payload;
        let row = self.learn(kind, payload, out);
        if row == Row::None {
            return out.session(self.state.lineage.thread()).saw(line.ts);
        }
        let Self { state, buffers, identity, .. } = self;
        buffers.clear();
        for (key, value) in payload.fields().filter(|(key, _)| !REPEATED.contains(key)) {
            buffers.input.clear();
            value.write_to(&mut buffers.input);
            if buffers.input.len() <= MAX_ATTRIBUTE_BYTES {
                buffers.attributes.json(key, Some(value));
            }
        }
        buffers.input.clear();
        let item = payload.get("item");
        let text = match row {
            Row::Plan => item.and_then(|item| item.str("text")),
            Row::Progress | Row::UserShell => None,
            _ => payload.str("message").or_else(|| payload.path(&["error", "message"])?.as_str()),
        };
        let block = item.and_then(|item| item.str("type")).unwrap_or(kind);
        let id = payload.str("call_id").or_else(|| item?.str("id"));
        buffers.block(block, id);
        buffers.finish_blocks();
        let call = Call { id, name: "user_shell", namespace: None, input: payload.get("command") };
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        let names = [call.name];
        let message = MessagesRow {
            role: Some(match row {
                Row::Plan => "assistant",
                Row::UserShell => "user",
                _ => "system",
            }),
            kind: Some(match row {
                Row::Plan => "assistant",
                Row::UserShell => "human",
                Row::Progress => "progress",
                Row::Error => "error",
                _ => "meta",
            }),
            content_text: text.and_then(filled),
            tool_names: (row == Row::UserShell).then_some(names.as_slice()),
            blocks: filled(&buffers.blocks),
            stop_reason: payload.str("reason").filter(|_| kind == "turn_aborted"),
            attributes: buffers.attributes.finish(),
            ..place.message(&state.context)
        };
        out.message(&place.record, &message);
        match row {
            Row::UserShell => {
                call.fill(buffers);
                call.write(&place, buffers, out);
                let output = payload.str("aggregated_output");
                write_result(&place, id, output, command_outcome(payload), out);
            }
            Row::Unknown => self.unknown("event_msg", filled(kind), line, out),
            _ => {}
        }
    }

    /// Takes from an event what later lines and the session need; answers what row it gets.
    fn learn(&mut self, kind: &str, payload: Json<'_>, out: &mut Rows) -> Row {
        let state = &mut self.state;
        match kind {
            "user_message" => {
                state.typed = payload.str("message").map(|text| xxh3_64(text.trim().as_bytes()));
                Row::None
            }
            "agent_message"
            | "agent_reasoning"
            | "agent_reasoning_raw_content"
            | "agent_reasoning_section_break"
            | "raw_response_item" => Row::None,
            "exec_command_end" => {
                if matches!(payload.str("source"), Some("user_shell" | "userShell")) {
                    return Row::UserShell;
                }
                state.outcomes.learn(payload.str("call_id"), command_outcome(payload));
                Row::Progress
            }
            "patch_apply_end" | "mcp_tool_call_end" | "dynamic_tool_call_response" => {
                state.outcomes.learn(payload.str("call_id"), tool_outcome(payload));
                Row::Progress
            }
            "item_completed" => self.learn_item(payload.get("item")),
            "turn_aborted" => {
                state.counters.turn_aborted();
                state.context.aborted_model.clone_from(&state.context.turn.model);
                Row::Meta
            }
            "thread_rolled_back" => {
                state.rolled_back += payload.get("num_turns").and_then(Json::as_i64).unwrap_or(1).max(0);
                let total = state.rolled_back.to_string();
                let facts = out.session(state.lineage.thread());
                facts.attributes.insert("rolled_back_turns".to_owned(), total);
                Row::Meta
            }
            "thread_settings_applied" => {
                let thread = payload.str("thread_id");
                let is_own = thread.is_none_or(|thread| thread == state.lineage.thread());
                if let Some(thread) = thread {
                    state.lineage.named(thread);
                }
                // A snapshot of all settings: no tier means the default one, which has no name.
                if is_own {
                    let tier = payload.path(&["thread_settings", "service_tier"]).and_then(Json::as_str);
                    state.context.service_tier = tier.map(str::to_owned);
                }
                Row::Meta
            }
            "thread_name_updated" => {
                let is_own = payload.str("thread_id").is_none_or(|thread| thread == state.lineage.thread());
                if let Some(name) = payload.str("thread_name").filter(|_| is_own) {
                    out.session(state.lineage.thread()).propose_title(TitleRank::Custom, name);
                }
                Row::Meta
            }
            "web_search_end"
            | "image_generation_end"
            | "view_image_tool_call"
            | "dynamic_tool_call_request"
            | "sub_agent_activity"
            | "guardian_assessment"
            | "hook_completed"
            | "hook_started" => Row::Progress,
            "error" | "stream_error" | "warning" | "guardian_warning" => Row::Error,
            "task_started"
            | "turn_started"
            | "task_complete"
            | "turn_complete"
            | "context_compacted"
            | "thread_goal_updated"
            | "entered_review_mode"
            | "exited_review_mode"
            | "undo_completed"
            | "undo_started"
            | "model_reroute"
            | "plan_update"
            | "session_configured"
            | "shutdown_complete"
            | "background_event"
            | "deprecation_notice"
            | "turn_diff" => Row::Meta,
            _ if kind.starts_with("collab_") => Row::Progress,
            _ => Row::Unknown,
        }
    }

    /// Paginated files tell whole items in the place of the older events.
    fn learn_item(&mut self, item: Option<Json<'_>>) -> Row {
        let Some(item) = item else { return Row::Progress };
        match item.str("type") {
            Some("UserMessage" | "AgentMessage" | "Reasoning") => Row::None,
            Some("Plan") => Row::Plan,
            Some("CommandExecution") => {
                self.state.outcomes.learn(item.str("id"), command_outcome(item));
                Row::Progress
            }
            Some("McpToolCall" | "FileChange" | "DynamicToolCall") => {
                self.state.outcomes.learn(item.str("id"), tool_outcome(item));
                Row::Progress
            }
            _ => Row::Progress,
        }
    }
}

fn command_outcome(event: Json<'_>) -> Outcome {
    let outcome = Outcome {
        is_error: None,
        exit_code: event.get("exit_code").and_then(Json::as_i64),
        duration_ms: event.get("duration").and_then(duration_ms),
    };
    outcome.or(Outcome::default())
}

/// `success`, the status of an item, or the result of an MCP call: `{"Ok": {"isError": …}}`, `{"Err": …}`, or the inside.
fn tool_outcome(event: Json<'_>) -> Outcome {
    let result = event.get("result");
    let told = result.and_then(|result| result.get("Ok").or(Some(result))).and_then(|inner| inner.get("isError"));
    let failed = result.and_then(|result| result.get("Err")).map(|_| true);
    let by_status = match event.str("status") {
        Some("completed") => Some(false),
        Some("failed" | "declined") => Some(true),
        _ => None,
    };
    let success = event.get("success").and_then(Json::as_bool);
    Outcome {
        is_error: success.map(|success| !success).or(failed).or(told.and_then(Json::as_bool)).or(by_status),
        exit_code: None,
        duration_ms: event.get("duration").and_then(duration_ms),
    }
}
