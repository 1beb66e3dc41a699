//! Items of the conversation: messages, reasoning, tool calls and their results, as `response_item` lines or, in the
//! oldest files, as lines of their own.

use xxhash_rust::xxh3::xxh3_64;

use super::fold::{CodexFold, Envelope, Place, State};
use super::outputs::{self, Outcome};
use super::prompts;
use super::tools::{Call, write_result};
use crate::adapters::append_only::TimedLine;
use crate::adapters::buffers::{Buffers, append_line, filled};
use crate::model::session::TitleRank;
use crate::model::tables::MessagesRow;
use crate::model::{Rows, SessionFacts};
use crate::source::Json;

/// What an item is, once its texts are in the buffers.
#[derive(Debug, Clone, Copy)]
enum Item<'t> {
    /// Something said, or injected.
    Message { role: &'static str, kind: &'static str },
    /// Reasoning of the model.
    Reasoning,
    /// A call.
    Call(Call<'t>),
    /// The result of a call; its text, unless it is in the buffers.
    Result { outcome: Outcome, text: Option<&'t str> },
    /// The history up to here was replaced by a summary that only the vendor can read.
    Summary,
    /// Something else that is known.
    Note,
    /// Something that is not.
    Unknown,
}

/// Members of an item, in one pass.
#[derive(Default)]
struct Fields<'t> {
    kind: Option<&'t str>,
    id: Option<&'t str>,
    call_id: Option<&'t str>,
    name: Option<&'t str>,
    namespace: Option<&'t str>,
    role: Option<&'t str>,
    phase: Option<&'t str>,
    status: Option<&'t str>,
    author: Option<&'t str>,
    recipient: Option<&'t str>,
    content: Option<Json<'t>>,
    summary: Option<Json<'t>>,
    /// `arguments`, `input` or `action`.
    input: Option<Json<'t>>,
    /// `output` or `tools`.
    output: Option<Json<'t>>,
    prompt: Option<Json<'t>>,
}

impl<'t> Fields<'t> {
    fn of(item: Json<'t>) -> Self {
        let mut fields = Self::default();
        for (key, value) in item.fields() {
            match key {
                "type" => fields.kind = value.as_str(),
                "id" => fields.id = value.as_str(),
                "call_id" => fields.call_id = value.as_str(),
                "name" => fields.name = value.as_str(),
                "namespace" => fields.namespace = value.as_str(),
                "role" => fields.role = value.as_str(),
                "phase" => fields.phase = value.as_str(),
                "status" => fields.status = value.as_str(),
                "author" => fields.author = value.as_str(),
                "recipient" => fields.recipient = value.as_str(),
                "content" => fields.content = Some(value),
                "summary" => fields.summary = Some(value),
                "arguments" | "input" | "action" => fields.input = Some(value),
                "output" | "tools" => fields.output = Some(value),
                "revised_prompt" => fields.prompt = Some(value),
                _ => {}
            }
        }
        fields
    }

    /// The call of a tool that has no name of its own in the item.
    fn call(&self, name: &'t str) -> Item<'t> {
        let name = self.name.unwrap_or(name);
        Item::Call(Call { id: self.call_id.or(self.id), name, namespace: self.namespace, input: self.input })
    }
}

impl CodexFold {
    /// One item.
    pub(super) fn item(&mut self, envelope: &Envelope<'_>, line: &TimedLine<'_>, out: &mut Rows) {
        let fields = Fields::of(envelope.payload);
        self.buffers.clear();
        let item = self.read_item(&fields, out);
        let Self { state, buffers, identity, .. } = self;
        fill_attributes(&fields, state, buffers);
        let place = Place::begin(state, identity, line, envelope.ordinal, out);
        write(item, &fields, state, &place, buffers, out);
        if matches!(item, Item::Unknown) {
            self.unknown("response_item", fields.kind, line, out);
        }
    }

    /// Learns from an item, and puts its texts into the buffers.
    fn read_item<'t>(&mut self, fields: &Fields<'t>, out: &mut Rows) -> Item<'t> {
        match fields.kind {
            Some("message") => self.read_message(fields, out),
            None if fields.role.is_some() => self.read_message(fields, out),
            Some("reasoning") => {
                read_reasoning(fields, &mut self.buffers);
                Item::Reasoning
            }
            Some("function_call") => fields.call("function_call"),
            Some("custom_tool_call") => fields.call("custom_tool_call"),
            Some("local_shell_call") => fields.call("local_shell"),
            Some("web_search_call") => fields.call("web_search"),
            Some("tool_search_call") => fields.call("tool_search"),
            Some("image_generation_call") => {
                let call = Call { id: fields.id, name: "image_generation", input: fields.prompt, namespace: None };
                Item::Call(call)
            }
            Some("function_call_output" | "custom_tool_call_output" | "tool_search_output") => {
                let read = |output| outputs::read(output, &mut self.parser, &mut self.buffers.text);
                let (told, text) = fields.output.map(read).unwrap_or_default();
                Item::Result { outcome: told.or(self.state.outcomes.take(fields.call_id)), text }
            }
            Some("agent_message") => {
                if let Some(content) = fields.content {
                    read_content(content, &mut self.buffers);
                }
                Item::Message { role: "user", kind: "injected" }
            }
            Some("compaction" | "context_compaction" | "compaction_summary") => Item::Summary,
            Some("ghost_snapshot" | "additional_tools" | "compaction_trigger") => Item::Note,
            _ => Item::Unknown,
        }
    }

    fn read_message<'t>(&mut self, fields: &Fields<'t>, out: &mut Rows) -> Item<'t> {
        if let Some(content) = fields.content {
            read_content(content, &mut self.buffers);
        }
        let (role, kind) = match fields.role {
            Some("assistant") => ("assistant", "assistant"),
            Some("developer") => ("developer", "injected"),
            Some("system") => ("system", "system"),
            Some("tool" | "function") => ("tool", "tool_result"),
            _ => ("user", self.kind_of_prompt(out)),
        };
        Item::Message { role, kind }
    }

    /// Whether the text in the buffers is a person's, and what else it tells.
    fn kind_of_prompt(&mut self, out: &mut Rows) -> &'static str {
        let text = self.buffers.text.as_str();
        let was_typed = self.state.typed.take() == Some(xxh3_64(text.trim().as_bytes()));
        let thread = self.state.lineage.thread();
        if !was_typed && prompts::is_injected(text) {
            if let Some(cwd) = prompts::cwd_of_environment(text).filter(|_| self.state.context.project.is_none()) {
                self.state.context.project = filled(cwd).map(str::to_owned);
                let facts = out.session(thread);
                SessionFacts::set_once(&mut facts.cwd, Some(cwd));
                SessionFacts::set_once(&mut facts.project, Some(cwd));
            }
            return "injected";
        }
        propose_title(out.session(thread), text);
        // A subagent is prompted by the agent that started it.
        if self.state.lineage.is_subagent() { "injected" } else { "human" }
    }
}

/// Proposes a title, where there is none yet: only the first prompt makes one.
pub(super) fn propose_title(facts: &mut SessionFacts, text: &str) {
    if facts.title.is_none() && !text.trim().is_empty() {
        facts.propose_title(TitleRank::FirstPrompt, &prompts::title(text));
    }
}

/// Content of a message: a text, or a list of parts.
fn read_content(content: Json<'_>, buffers: &mut Buffers) {
    if let Some(text) = content.as_str() {
        buffers.block("text", None);
        buffers.text.push_str(text);
        return;
    }
    for part in content.items() {
        let (mut kind, mut text) = ("text", part.as_str());
        for (key, value) in part.fields() {
            match key {
                "type" => kind = value.as_str().unwrap_or(kind),
                "text" | "refusal" => text = value.as_str(),
                _ => {}
            }
        }
        buffers.block(kind, None);
        if let Some(text) = text {
            append_line(&mut buffers.text, text);
        }
    }
}

/// Readable parts of reasoning: summaries, and the text itself where the model gives it.
fn read_reasoning(fields: &Fields<'_>, buffers: &mut Buffers) {
    for parts in [fields.summary, fields.content].into_iter().flatten() {
        for part in parts.items() {
            if let Some(text) = part.str("text").or(part.as_str()) {
                append_line(&mut buffers.thinking, text);
            }
        }
    }
}

fn fill_attributes(fields: &Fields<'_>, state: &State, buffers: &mut Buffers) {
    let attributes = &mut buffers.attributes;
    attributes.text("turn_id", state.context.turn.id.as_deref());
    attributes.text("phase", fields.phase);
    attributes.text("status", fields.status.filter(|status| *status != "completed"));
    attributes.text("namespace", fields.namespace);
    attributes.text("author", fields.author);
    attributes.text("recipient", fields.recipient);
}

fn write(item: Item<'_>, fields: &Fields<'_>, state: &State, place: &Place<'_>, buffers: &mut Buffers, out: &mut Rows) {
    let id = fields.call_id.or(fields.id);
    if let Item::Call(call) = item {
        call.fill(buffers);
    }
    if !matches!(item, Item::Message { .. }) {
        buffers.block(fields.kind.unwrap_or("item"), id);
    }
    buffers.finish_blocks();
    let attributes = buffers.attributes.finish();
    let base =
        MessagesRow { uuid: fields.id, blocks: filled(&buffers.blocks), attributes, ..place.message(&state.context) };
    let model = state.context.turn.model.as_deref();
    let assistant = MessagesRow { role: Some("assistant"), kind: Some("assistant"), model, ..base };
    let name = [buffers.name.as_str()];
    let row = match item {
        Item::Message { role, kind } => MessagesRow {
            role: Some(role),
            kind: Some(kind),
            model: model.filter(|_| role == "assistant"),
            content_text: filled(&buffers.text),
            ..base
        },
        Item::Reasoning => MessagesRow { thinking_text: filled(&buffers.thinking), ..assistant },
        Item::Call(_) => MessagesRow { tool_names: Some(&name), ..assistant },
        Item::Result { .. } => MessagesRow { role: Some("tool"), kind: Some("tool_result"), ..base },
        Item::Summary => MessagesRow { role: Some("assistant"), kind: Some("summary"), ..base },
        Item::Note | Item::Unknown => MessagesRow { role: Some("system"), kind: Some("meta"), ..base },
    };
    out.message(&place.record, &row);
    match item {
        Item::Call(call) => call.write(place, buffers, out),
        Item::Result { outcome, text } => {
            let output = text.or_else(|| fields.output.map(|_| buffers.text.as_str()));
            write_result(place, fields.call_id, output, outcome, out);
        }
        _ => {}
    }
}
