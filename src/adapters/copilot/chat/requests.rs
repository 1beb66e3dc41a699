//! Rows of a chat of VS Code: a turn is one request of the person and everything that was answered.

use xxhash_rust::xxh3::xxh3_64;

use super::super::SLUG;
use super::changes::DROPPED;
use crate::adapters::append_only::TimeBasis;
use crate::adapters::counters::Faults;
use crate::adapters::document::{Begun, Open, Shown};
use crate::adapters::draft::{Draft, ToolResult, content_text, text_of};
use crate::adapters::vendor::vendor_of;
use crate::model::claim::variant_of;
use crate::model::tables::{MessagesRow, UsageRow};
use crate::model::{Claim, Counters, Identity, IssueKind, RequestKey, Rows, SessionFacts, Standing, TitleRank, time};
use crate::source::Json;
use crate::source::json::Parser;

/// Longest title made of a prompt, in characters.
const TITLE_CHARS: usize = 120;

/// What the path of a chat says of it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place<'a> {
    /// Stands in where the chat does not name its session.
    pub name_id: &'a str,
    /// Folder that the chat is about.
    pub cwd: Option<&'a str>,
}

/// Writes everything new of a chat; returns its session id, if it holds a turn.
pub(super) fn write(chat: Json<'_>, place: &Place<'_>, open: &mut Open, out: &mut Rows) -> Option<String> {
    let Some(requests) = chat.get("requests").filter(|requests| requests.is_array()) else {
        open.issue(None, 0, IssueKind::UnknownRecord, "the document is no chat: it has no list of requests", out);
        return None;
    };
    let session_id = chat.str("sessionId").filter(|id| !id.is_empty()).unwrap_or(place.name_id).to_owned();
    let created = chat.get("creationDate").and_then(Json::as_i64).and_then(time::from_millis);
    open.session_starts(created);
    if requests.is_empty() && chat.get(DROPPED).is_none() {
        return None;
    }
    let facts = out.session(&session_id);
    if let Some(created) = created {
        facts.saw(created);
    }
    SessionFacts::set_once(&mut facts.cwd, place.cwd);
    SessionFacts::set_once(&mut facts.project, place.cwd);
    if let Some(title) = chat.str("customTitle") {
        facts.propose_title(TitleRank::Custom, title);
    }
    let newest = requests.len().saturating_sub(1);
    let mut writer = Writer {
        session_id: &session_id,
        cwd: place.cwd,
        draft: Draft::default(),
        faults: Faults::default(),
        is_removed: false,
    };
    for (index, request) in requests.items().enumerate() {
        writer.turn(request, index, index == newest, open, out);
    }
    let dropped = chat.get(DROPPED).into_iter().flat_map(Json::items);
    for (index, request) in dropped.enumerate() {
        writer.is_removed = true;
        writer.turn(request, requests.len().saturating_add(index), false, open, out);
    }
    Some(session_id)
}

struct Writer<'a> {
    session_id: &'a str,
    cwd: Option<&'a str>,
    draft: Draft,
    faults: Faults,
    /// Whether the turns were taken out of the chat.
    is_removed: bool,
}

impl Writer<'_> {
    fn turn(&mut self, request: Json<'_>, index: usize, is_newest: bool, open: &mut Open, out: &mut Rows) {
        let id = request.str("requestId").filter(|id| !id.is_empty());
        let id = id.map_or_else(|| format!("request:{index}"), str::to_owned);
        let ts = request.get("timestamp").and_then(Json::as_i64).and_then(time::from_millis);
        let seq = u64::try_from(index).unwrap_or(u64::MAX).saturating_mul(2);
        let prompt = request.get("message").unwrap_or(request);
        let result = request.get("result").filter(|result| result.is_object());
        let is_final =
            !is_newest || result.is_some() || request.get("isCanceled").and_then(Json::as_bool) == Some(true);
        let prompt_text = prompt.to_text();
        let shown = Shown {
            session_id: self.session_id,
            identity: Identity::Native(&id),
            seq,
            ts,
            content: self.content(&prompt_text),
            is_final: true,
        };
        if let Some(begun) = open.begin(&shown, out) {
            self.prompt(&id, prompt, &begun, out);
        }
        let answer_id = format!("{id}#answer");
        let shown = Shown {
            identity: Identity::Native(&answer_id),
            seq: seq.saturating_add(1),
            content: self.content(&request.to_text()),
            is_final,
            ..shown
        };
        if let Some(begun) = open.begin(&shown, out) {
            self.answer(&id, request, result, &begun, out);
        }
        for (kind, detail) in self.faults.take(&format!("request {id}")) {
            open.issue(Some(self.session_id), seq, kind, &detail, out);
        }
    }

    /// Hash of everything that rows are made of.
    fn content(&self, text: &str) -> u64 {
        xxh3_64(format!("{}\0{}\0{text}", self.cwd.unwrap_or_default(), self.is_removed).as_bytes())
    }

    fn prompt(&mut self, id: &str, prompt: Json<'_>, begun: &Begun<'_>, out: &mut Rows) {
        self.draft.clear();
        self.draft.text(prompt.str("text").unwrap_or_default());
        let title = self.draft.visible().trim().lines().next().unwrap_or_default();
        let title: String = title.chars().take(TITLE_CHARS).collect();
        out.session(self.session_id).propose_title(TitleRank::FirstPrompt, &title);
        self.row(Some(id), None, ("user", "human"), None, begun, out);
    }

    fn answer(&mut self, id: &str, request: Json<'_>, result: Option<Json<'_>>, begun: &Begun<'_>, out: &mut Rows) {
        self.draft.clear();
        let metadata = result.and_then(|result| result.get("metadata"));
        let rounds = metadata.and_then(|metadata| metadata.get("toolCallRounds")).filter(|rounds| !rounds.is_empty());
        for part in request.get("response").into_iter().flat_map(Json::items) {
            self.part(part, rounds.is_some());
        }
        // The rounds hold the same calls with their arguments.
        let calls = || {
            rounds.into_iter().flat_map(Json::items).filter_map(|round| round.get("toolCalls")).flat_map(Json::items)
        };
        let mut parser = Parser::default();
        for call in calls() {
            let (id, name) = (call.str("id"), call.str("name"));
            let text = call.str("arguments").unwrap_or_default();
            let parsed = parser.parse(text.as_bytes(), |json| self.draft.call(id, name, None, Some(json)));
            if parsed.is_err() {
                self.draft.call(id, name, None, call.get("arguments"));
            }
        }
        let results = metadata.and_then(|metadata| metadata.get("toolCallResults"));
        for (call_id, value) in results.into_iter().flat_map(Json::fields) {
            let output = value.get("content").map_or_else(|| text_of(value), parts_text);
            let id = Some(call_id.to_owned());
            self.draft.result(ToolResult { id, is_error: None, output: Some(output), ..ToolResult::default() });
        }
        let failure = result.and_then(|result| result.get("errorDetails")).filter(|error| error.is_object());
        self.draft.buffers.attributes.text("error", failure.and_then(|error| error.str("message")));
        self.draft.buffers.attributes.text("agent", request.get("agent").and_then(|agent| agent.str("id")));
        self.draft.buffers.attributes.flag("canceled", request.get("isCanceled").and_then(Json::as_bool) == Some(true));
        let resolved = metadata.and_then(|metadata| metadata.str("resolvedModel"));
        let chosen = request.str("modelId").map(|id| id.rsplit('/').next().unwrap_or(id));
        let model = resolved.or(chosen).filter(|model| !model.is_empty() && *model != "auto");
        let kind = if failure.is_some() && self.draft.visible().is_empty() { "error" } else { "assistant" };
        self.row(Some(id), Some(id), ("assistant", kind), model, begun, out);
        self.claims(id, request, result, model, begun, out);
    }

    fn row(
        &mut self,
        uuid: Option<&str>,
        parent: Option<&str>,
        (role, kind): (&str, &str),
        model: Option<&str>,
        begun: &Begun<'_>,
        out: &mut Rows,
    ) {
        let basis: TimeBasis = begun.ts_basis;
        self.draft.buffers.attributes.flag("removed", self.is_removed);
        let answer = parent.map(|id| format!("{id}#answer"));
        let row = MessagesRow {
            uuid: answer.as_deref().or(uuid),
            parent_uuid: parent,
            ts_basis: Some(basis.as_str()),
            role: Some(role),
            kind: Some(kind),
            model,
            cwd: self.cwd,
            ..MessagesRow::default()
        };
        self.draft.write(&begun.record, &row, out);
    }

    /// One part of the answer. `has_rounds`: the calls stand elsewhere too, with more of them.
    fn part(&mut self, part: Json<'_>, has_rounds: bool) {
        match part.str("kind") {
            None | Some("markdownContent") => {
                let text = part.get("value").or(part.get("content"));
                let text = text.and_then(|text| text.as_str().or_else(|| text.str("value")));
                self.draft.text(text.unwrap_or_default());
            }
            Some("thinking") => {
                let text = part.get("value").map(content_text).unwrap_or_default();
                self.draft.thinking(&text);
            }
            Some("toolInvocationSerialized") if !has_rounds => {
                let data = part.get("toolSpecificData").filter(|data| !data.is_null());
                self.draft.call(part.str("toolCallId"), part.str("toolId"), None, data);
            }
            Some(kind) => self.draft.other(kind),
        }
    }

    /// Claims a turn: true sums per model where they are recorded; else the output of the turn, and its prompt only if the
    /// turn was one call, because what is recorded is the prompt of the last.
    fn claims(
        &mut self,
        id: &str,
        request: Json<'_>,
        result: Option<Json<'_>>,
        model: Option<&str>,
        begun: &Begun<'_>,
        out: &mut Rows,
    ) {
        let totals = request.get("modelTotals").filter(|totals| totals.is_array() && !totals.is_empty());
        if let Some(totals) = totals {
            for (block, total) in (0_u32..).zip(totals.items()) {
                let mut counter = |name| self.faults.counter(total, name);
                let [input, cached, output] = ["inputTokens", "cachedTokens", "outputTokens"].map(&mut counter);
                let counters = Counters {
                    input: self.faults.uncached(input, [cached, None]),
                    cache_read: cached,
                    output,
                    ..Counters::default()
                };
                let model = total.str("model").or(model);
                let key = format!("{}:{id}:{}", self.session_id, model.unwrap_or_default());
                let spent = Spent { key: &key, model, counters, context: None, grain: "turn", block, reported: total };
                self.claim(&spent, id, begun, out);
            }
            return;
        }
        let Some(metadata) = result.and_then(|result| result.get("metadata")) else { return };
        let prompt = self.faults.counter(metadata, "promptTokens");
        let output = self.faults.counter(metadata, "outputTokens");
        let output = output.or_else(|| self.faults.counter(request, "completionTokens"));
        if prompt.is_none() && output.is_none() {
            return;
        }
        let rounds = metadata.get("toolCallRounds").map_or(0, Json::len);
        let is_one_call = rounds <= 1;
        let counters = Counters { input: prompt.filter(|_| is_one_call), output, ..Counters::default() };
        let key = format!("{}:{id}", self.session_id);
        let grain = if is_one_call { "request" } else { "turn" };
        let context = prompt.filter(|_| !is_one_call);
        let spent = Spent { key: &key, model, counters, context, grain, block: 0, reported: metadata };
        self.claim(&spent, id, begun, out);
    }

    fn claim(&self, spent: &Spent<'_>, id: &str, begun: &Begun<'_>, out: &mut Rows) {
        let total = spent.counters.to_array().iter().take(5).flatten().fold(0_i64, |sum, &n| sum.saturating_add(n));
        let claim = Claim {
            request: RequestKey::new(SLUG, spent.key),
            standing: Standing { class: 1, rank: [total, i64::from(spent.model.is_some()), 0] },
            counters: spent.counters,
            variant: variant_of([spent.model, None, None, None]),
            guard: None,
            never: None,
        };
        let tokens = ["model", "promptTokens", "inputTokens", "cachedTokens", "outputTokens"];
        let members = spent.reported.fields().filter(|(name, _)| tokens.contains(name));
        let members: Vec<String> = members.map(|(name, value)| format!("\"{name}\":{}", value.to_text())).collect();
        let reported = format!("{{{}}}", members.join(","));
        let row = UsageRow {
            request_key: Some(spent.key),
            message_uuid: Some(id),
            model: spent.model,
            vendor: spent.model.and_then(vendor_of),
            context_tokens: spent.context,
            grain: Some(spent.grain),
            count_basis: Some("exact"),
            reported: Some(&reported),
            project: self.cwd,
            cwd: self.cwd,
            ..UsageRow::default()
        };
        out.claim(&begun.record, spent.block, claim, &row);
    }
}

/// What a turn cost, on one model.
struct Spent<'a> {
    key: &'a str,
    model: Option<&'a str>,
    counters: Counters,
    /// Prompt of the last call, where it is not that of all.
    context: Option<i64>,
    grain: &'static str,
    block: u32,
    reported: Json<'a>,
}

/// The texts of a tool's result: parts with a `value`.
fn parts_text(content: Json<'_>) -> String {
    let texts: Vec<String> =
        content.items().map(|part| part.get("value").map_or_else(|| text_of(part), text_of)).collect();
    texts.join("\n")
}
