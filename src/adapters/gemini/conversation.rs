//! A chat as a list of messages, whichever form it is kept in.
//!
//! A log says a message again after each change, takes messages back (`$rewindTo`) and replaces all of them
//! (`$set.messages`). The list holds every message that was ever in it, since each was billed: as it was said last, with
//! the last tokens that it had.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_128;

use super::discovery::Place;
use crate::adapters::document::{Broken, Open};
use crate::model::identity::Hex;
use crate::model::{IssueKind, Rows, time};
use crate::source::Json;

/// Longest part of an unknown record that an issue quotes.
const MAX_QUOTED: usize = 1024;

/// A message, as JSON text.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    /// The tool's id; of a message without one, a hash of it.
    pub id: String,
    /// Whether the id is the tool's.
    pub has_id: bool,
    /// Position: index in the document, or byte offset of the line that said it first.
    pub seq: u64,
    /// The message as it was said last.
    pub json: String,
    /// The last tokens that it had, JSON.
    pub tokens: Option<String>,
    /// How often tokens were said: a later saying stands before an earlier one.
    pub sayings: i64,
    /// Model of the message; of one with tokens and without a model, that of its neighbour.
    pub model: Option<String>,
    /// Whether `model` is a neighbour's.
    pub is_model_inherited: bool,
    /// Why it is in the conversation no more: `rewind` or `checkpoint`.
    pub removed: Option<&'static str>,
    /// Whether the answer is still being written, as far as the message itself tells.
    is_open: bool,
    is_answer: bool,
    /// Whether the conversation holds it now.
    is_present: bool,
}

/// A chat.
#[derive(Debug, Default)]
pub(super) struct Conversation {
    /// Durable id of the session.
    pub session_id: String,
    /// Time that the header says it began.
    pub started_at: Option<i64>,
    /// `main` or `subagent`.
    pub kind: Option<String>,
    /// Title that the tool made.
    pub summary: Option<String>,
    /// First of the directories that the session works in.
    pub directory: Option<String>,
    /// Hash of the project's path.
    pub project_hash: Option<String>,
    /// Messages in the order in which they were said first.
    pub messages: Vec<Kept>,
    at: HashMap<String, usize>,
    /// Places of the messages that the conversation holds now, in order.
    present: Vec<usize>,
}

impl Conversation {
    /// Of a document.
    pub fn of_document(bytes: &[u8], place: &Place, open: &mut Open, out: &mut Rows) -> Result<Self, Broken> {
        let mut chat = Self::default();
        open.parse(bytes, out, |json, open, out| {
            chat.header(json);
            let messages = json.get("messages").filter(|messages| messages.is_array());
            match messages {
                Some(messages) => {
                    for (seq, message) in (0..).zip(messages.items()) {
                        chat.say(message, seq);
                    }
                }
                None => chat.unknown("a document without messages", json, 0, open, out),
            }
        })?;
        chat.finish(place);
        Ok(chat)
    }

    /// Of a log.
    pub fn replay(bytes: &[u8], place: &Place, open: &mut Open, out: &mut Rows) -> Self {
        let mut chat = Self::default();
        open.lines(bytes, Some(&place.session_id), out, |line, open, out| {
            let json = line.json;
            if let Some(patch) = json.get("$set") {
                chat.header(patch);
                if let Some(messages) = patch.get("messages").filter(|messages| messages.is_array()) {
                    chat.clear(0, "checkpoint");
                    // The messages of one line share its place; those said before keep theirs.
                    for message in messages.items() {
                        chat.say(message, line.seq);
                    }
                }
            } else if let Some(target) = json.get("$rewindTo") {
                let found = target.as_str().and_then(|id| chat.at.get(id)).copied();
                let from = found.and_then(|at| chat.present.iter().position(|&present| present == at)).unwrap_or(0);
                chat.clear(from, "rewind");
            } else if json.get("type").is_some() {
                chat.say(json, line.seq);
            } else if ["sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary", "directories"]
                .into_iter()
                .any(|key| json.get(key).is_some())
            {
                chat.header(json);
            } else {
                chat.unknown("a line of an unknown kind", json, line.seq, open, out);
            }
        });
        chat.finish(place);
        chat
    }

    fn header(&mut self, json: Json<'_>) {
        for (key, value) in json.fields() {
            let text = value.as_str().filter(|text| !text.is_empty());
            match key {
                "sessionId" if self.session_id.is_empty() => {
                    text.unwrap_or_default().clone_into(&mut self.session_id);
                }
                "startTime" => self.started_at = text.and_then(time::parse).or(self.started_at),
                "kind" => self.kind = text.map(str::to_owned),
                "summary" => self.summary = text.map(str::to_owned).or(self.summary.take()),
                "projectHash" => self.project_hash = text.map(str::to_owned),
                "directories" => {
                    let first = value.items().find_map(Json::as_str);
                    self.directory = first.map(str::to_owned).or(self.directory.take());
                }
                _ => {}
            }
        }
    }

    /// Adds a message, or what is said of a known one.
    fn say(&mut self, message: Json<'_>, seq: u64) {
        let json = message.to_text();
        let native = message.str("id").filter(|id| !id.is_empty());
        let id = native.map_or_else(|| Hex::new(xxh3_128(json.as_bytes())).as_str().to_owned(), str::to_owned);
        let at = *self.at.entry(id.clone()).or_insert_with(|| {
            self.messages.push(Kept {
                id,
                has_id: native.is_some(),
                seq,
                json: String::new(),
                tokens: None,
                sayings: 0,
                model: None,
                is_model_inherited: false,
                removed: None,
                is_open: false,
                is_answer: false,
                is_present: false,
            });
            self.messages.len() - 1
        });
        let Some(kept) = self.messages.get_mut(at) else { return };
        kept.json = json;
        kept.removed = None;
        let tokens = message.get("tokens").filter(|tokens| tokens.is_object());
        if let Some(tokens) = tokens {
            kept.tokens = Some(tokens.to_text());
            kept.sayings += 1;
        }
        kept.model = message.str("model").filter(|model| !model.is_empty()).map(str::to_owned).or(kept.model.take());
        kept.is_answer = message.str("type").is_some_and(is_answer);
        kept.is_open = kept.is_answer && (kept.tokens.is_none() || has_running_call(message));
        if !std::mem::replace(&mut kept.is_present, true) {
            self.present.push(at);
        }
    }

    /// Takes the messages from the place `from` on out of the conversation.
    fn clear(&mut self, from: usize, why: &'static str) {
        for at in self.present.drain(from.min(self.present.len())..) {
            if let Some(kept) = self.messages.get_mut(at) {
                (kept.removed, kept.is_present) = (Some(why), false);
            }
        }
    }

    fn finish(&mut self, place: &Place) {
        if self.session_id.is_empty() {
            self.session_id.clone_from(&place.session_id);
        }
        let mut before: Option<String> = None;
        for at in 0..self.messages.len() {
            let after = || self.messages.iter().skip(at + 1).find_map(|kept| kept.model.clone());
            let inherited = match self.messages.get(at) {
                Some(kept) if kept.model.is_none() && kept.tokens.is_some() => before.clone().or_else(after),
                _ => None,
            };
            let Some(kept) = self.messages.get_mut(at) else { break };
            if inherited.is_some() {
                (kept.model, kept.is_model_inherited) = (inherited, true);
            } else if kept.model.is_some() {
                before.clone_from(&kept.model);
            }
        }
        // Only the newest answer can still be written to.
        let newest = self.messages.iter().rposition(|kept| kept.is_answer);
        for (at, kept) in self.messages.iter_mut().enumerate() {
            kept.is_open &= Some(at) == newest && kept.removed.is_none();
        }
    }

    fn unknown(&self, what: &str, json: Json<'_>, seq: u64, open: &mut Open, out: &mut Rows) {
        let text = json.to_text();
        let quoted = text.get(..text.floor_char_boundary(MAX_QUOTED)).unwrap_or(&text);
        let session_id = Some(self.session_id.as_str()).filter(|id| !id.is_empty());
        open.issue(session_id, seq, IssueKind::UnknownRecord, &format!("{what}: {quoted}"), out);
    }
}

impl Kept {
    /// Whether the tool will not touch the message again.
    pub fn is_final(&self) -> bool {
        !self.is_open
    }
}

/// Whether a message of this type is the model's: `gemini`, in old chats `model`.
pub(super) fn is_answer(kind: &str) -> bool {
    matches!(kind, "gemini" | "model")
}

/// Whether a tool call of the message has not ended.
fn has_running_call(message: Json<'_>) -> bool {
    message
        .get("toolCalls")
        .into_iter()
        .flat_map(Json::items)
        .any(|call| matches!(call.str("status"), Some("scheduled" | "validating" | "executing" | "awaiting_approval")))
}
