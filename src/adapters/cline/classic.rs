//! `ui_messages.json`: what the person sees of a task, row by row, with the counters of each request in rows of their own.

use std::path::Path;

use xxhash_rust::xxh3::Xxh3Default;

use super::claims::{Spent, claim};
use super::discovery::{Member, task_id, task_start};
use super::sidecars::Sidecars;
use super::usage::classic;
use crate::adapters::counters::Faults;
use crate::adapters::document::{Begun, Open, Shown};
use crate::adapters::draft::{Draft, ToolResult};
use crate::model::tables::MessagesRow;
use crate::model::{CopyReason, Identity, IssueKind, Rows, SessionFacts, TitleRank, time};
use crate::source::Json;
use crate::source::json::Parser;

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;

/// Writes everything new of a task; returns its id.
pub(super) fn write(
    json: Json<'_>,
    member: &Member,
    path: &Path,
    is_first: bool,
    open: &mut Open,
    out: &mut Rows,
) -> Option<String> {
    if !json.is_array() {
        open.issue(None, 0, IssueKind::UnknownRecord, "the document is no list of rows", out);
        return None;
    }
    if json.is_empty() {
        return None;
    }
    let session_id = task_id(path);
    open.session_starts(task_start(&session_id));
    let sidecars = Sidecars::beside(path);
    let facts = out.session(&session_id);
    SessionFacts::set_once(&mut facts.cwd, sidecars.cwd.as_deref());
    SessionFacts::set_once(&mut facts.project, sidecars.cwd.as_deref());
    if let Some(parent) = sidecars.parent.as_deref() {
        SessionFacts::set_once(&mut facts.parent_session_id, Some(parent));
        SessionFacts::set_once(&mut facts.root_session_id, sidecars.root.as_deref());
        SessionFacts::set_once(&mut facts.relation, Some("subagent"));
    }
    let mut task = Task {
        member,
        session_id: &session_id,
        sidecars: &sidecars,
        is_first,
        draft: Draft::default(),
        faults: Faults::default(),
        command: None,
    };
    let count = json.len();
    let finished = json.items().position(|row| row.str("say") == Some("api_req_finished"));
    for (index, row) in json.items().enumerate() {
        // Very old versions put the counters into a row of their own, behind the request.
        let old_counters = finished.is_some().then(|| finished_after(json, index)).flatten();
        task.row(row, old_counters, index, index + 1 == count, open, out);
    }
    Some(session_id)
}

/// The `api_req_finished` row that belongs to the request at `index`: the next one, before another request begins.
fn finished_after(rows: Json<'_>, index: usize) -> Option<Json<'_>> {
    let mut after = rows.items().skip(index + 1);
    after
        .find(|row| matches!(row.str("say"), Some("api_req_finished" | "api_req_started")))
        .filter(|row| row.str("say") == Some("api_req_finished"))
}

struct Task<'a> {
    member: &'a Member,
    session_id: &'a str,
    sidecars: &'a Sidecars,
    is_first: bool,
    draft: Draft,
    faults: Faults,
    /// Id of the command whose output follows.
    command: Option<String>,
}

impl Task<'_> {
    fn row(
        &mut self,
        row: Json<'_>,
        old_counters: Option<Json<'_>>,
        index: usize,
        is_last: bool,
        open: &mut Open,
        out: &mut Rows,
    ) {
        let own_ts = row.get("ts").and_then(Json::as_i64).and_then(time::from_millis);
        let kind = row.str("say").or_else(|| row.str("ask")).unwrap_or_default();
        let id = format!("{}:{kind}", own_ts.map_or_else(|| format!("#{index}"), |ts| (ts / 1000).to_string()));
        let text = row.str("text").unwrap_or_default();
        let model = row.path(&["modelInfo", "modelId"]).and_then(Json::as_str);
        let model = model.or(self.sidecars.model_at(own_ts.unwrap_or(i64::MAX)));
        let is_partial = row.get("partial").and_then(Json::as_bool) == Some(true);
        let is_placeholder = kind == "api_req_started" && old_counters.is_none() && !text.contains("\"tokensIn\"");
        let seq = u64::try_from(index).unwrap_or(u64::MAX);
        let shown = Shown {
            session_id: self.session_id,
            identity: Identity::Native(&id),
            seq,
            ts: own_ts,
            content: hash([
                Some(&row.to_text()),
                model,
                self.sidecars.cwd.as_deref(),
                old_counters.and_then(|row| row.str("text")),
            ]),
            is_final: !(is_partial || is_placeholder && is_last),
        };
        // Output belongs to the newest command, whether that gave rows in this reading or not.
        if kind == "command" {
            self.command = Some(id.clone());
        }
        let begun = open.begin(&shown, out);
        if index == 0 && kind == "text" {
            propose_title(text, self.session_id, out);
        }
        let Some(begun) = begun else { return };
        self.draft.clear();
        let (role, kind_column) = self.read(row, kind, text, &id, index);
        let message = MessagesRow {
            uuid: Some(&id),
            ts_basis: Some(begun.ts_basis.as_str()),
            role: Some(role),
            kind: Some(kind_column),
            model: model.filter(|_| role == "assistant"),
            cwd: self.sidecars.cwd.as_deref(),
            ..MessagesRow::default()
        };
        self.draft.write(&begun.record, &message, out);
        if matches!(kind, "api_req_started" | "deleted_api_reqs" | "subagent_usage") {
            let counters = old_counters.and_then(|row| row.str("text")).unwrap_or(text);
            self.claim_row(row, kind, counters, &id, model, &begun, out);
        }
        for (kind, detail) in self.faults.take(&format!("row {id}")) {
            open.issue(Some(self.session_id), seq, kind, &detail, out);
        }
    }

    /// Reads a row into the draft; returns role and kind.
    fn read(&mut self, row: Json<'_>, kind: &str, text: &str, id: &str, index: usize) -> (&'static str, &'static str) {
        self.draft.buffers.attributes.text("row", Some(kind));
        match kind {
            "text" if index == 0 => {
                self.draft.text(text);
                ("user", "human")
            }
            "text" | "completion_result" | "followup" | "plan_mode_respond" | "new_task" => {
                if let Some(reasoning) = row.str("reasoning") {
                    self.draft.thinking(reasoning);
                }
                self.draft.text(text);
                ("assistant", "assistant")
            }
            "reasoning" => {
                self.draft.thinking(text);
                ("assistant", "assistant")
            }
            "user_feedback" | "user_feedback_diff" | "task" => {
                self.draft.text(text);
                ("user", "human")
            }
            "tool" => {
                let parsed = Parser::default().parse(text.as_bytes(), |json| {
                    self.draft.call(Some(id), json.str("tool"), None, Some(json));
                });
                if parsed.is_err() {
                    self.draft.text(text);
                }
                ("assistant", "assistant")
            }
            "use_mcp_server" | "browser_action" | "browser_action_launch" => {
                let parsed = Parser::default().parse(text.as_bytes(), |json| {
                    let name = json.str("toolName").unwrap_or(kind);
                    self.draft.call(Some(id), Some(name), json.str("serverName"), json.get("arguments").or(Some(json)));
                });
                if parsed.is_err() {
                    self.draft.text(text);
                }
                ("assistant", "assistant")
            }
            "command" => {
                let mut command = String::from("{\"command\":");
                crate::source::json::write_string(text, &mut command);
                command.push('}');
                let _ = Parser::default().parse(command.as_bytes(), |json| {
                    self.draft.call(Some(id), Some("execute_command"), None, Some(json));
                });
                ("assistant", "assistant")
            }
            "command_output" => {
                let output = Some(text.to_owned());
                self.draft.result(ToolResult { id: self.command.clone(), output, ..ToolResult::default() });
                ("tool", "tool_result")
            }
            "mcp_server_response" => {
                self.draft.text(text);
                ("tool", "progress")
            }
            "condense_context" => {
                let summary = row.path(&["contextCondense", "summary"]).and_then(Json::as_str);
                self.draft.text(summary.unwrap_or(text));
                ("system", "summary")
            }
            "error" | "api_req_failed" | "diff_error" | "mistake_limit_reached" => {
                self.draft.text(text);
                ("system", "error")
            }
            // The text of a request row is the prompt, of which the rows before hold what a person wrote.
            "api_req_started" => ("assistant", "progress"),
            _ => {
                self.draft.text(text);
                ("system", "meta")
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one private step of `row`, which has them at hand")]
    fn claim_row(
        &mut self,
        row: Json<'_>,
        kind: &str,
        text: &str,
        id: &str,
        model: Option<&str>,
        begun: &Begun<'_>,
        out: &mut Rows,
    ) {
        let service = row.path(&["modelInfo", "providerId"]).and_then(Json::as_str);
        let mut parser = Parser::default();
        // Very old versions have plain text there.
        let _ = parser.parse(text.as_bytes(), |request| {
            let read = classic(request, self.member, service, begun.record.ts, &mut self.faults);
            let Some((counters, prompt)) = read else { return };
            let reported: Vec<String> = request
                .fields()
                .filter(|(name, _)| *name != "request")
                .map(|(name, value)| format!("\"{name}\":{}", value.to_text()))
                .collect();
            let reported = format!("{{{}}}", reported.join(","));
            let is_request = kind == "api_req_started";
            // Requests whose rows were deleted after they were read stay counted, so their sum must not count again.
            let never = (kind == "deleted_api_reqs" && !self.is_first).then_some(CopyReason::Rollup);
            let spent = Spent {
                key: format!("{}:{id}", self.session_id),
                uuid: Some(id),
                model,
                service,
                counters,
                prompt,
                cost: request.get("cost").or(request.get("totalCost")).and_then(Json::as_f64),
                grain: if is_request { "request" } else { "session" },
                never,
                reported: &reported,
                cwd: self.sidecars.cwd.as_deref(),
                agent_id: None,
            };
            claim(&spent, self.member, &begun.record, out);
        });
    }
}

/// Proposes a prompt as the title; the first one stays.
pub(super) fn propose_title(prompt: &str, session_id: &str, out: &mut Rows) {
    let title: String = prompt.trim().lines().next().unwrap_or_default().chars().take(TITLE_CHARS).collect();
    out.session(session_id).propose_title(TitleRank::FirstPrompt, &title);
}

fn hash(texts: [Option<&str>; 4]) -> u64 {
    let mut hasher = Xxh3Default::new();
    for text in texts {
        hasher.update(text.unwrap_or("\0").as_bytes());
        hasher.update(&[0]);
    }
    hasher.digest()
}
