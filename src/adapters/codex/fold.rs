//! The fold over the lines of one rollout: what a line needs of the lines before it, and who reads which kind of line.
//!
//! Everything that later lines need is in [`State`], which is the carry: any split of a file into runs gives the same rows.
//! Readers work in two steps: first they learn (from the line into the state and the buffers), then they write rows.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::claims::ClaimContext;
use super::counters::CounterState;
use super::lineage::Lineage;
use super::tools::Outcomes;
use crate::adapters::append_only::{LineFold, TimedLine};
use crate::adapters::buffers::{Attributes, Buffers};
use crate::model::tables::MessagesRow;
use crate::model::{Identity, IssueKind, Record, Rows, time};
use crate::source::Json;
use crate::source::json::Parser;

/// Kinds of unknown records that are reported of one file at most.
const MAX_UNKNOWN_KINDS: usize = 64;

/// What lines need of the lines before them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Whose lines these are.
    pub lineage: Lineage,
    /// Running totals.
    pub counters: CounterState,
    /// Settings that claims take.
    pub context: ClaimContext,
    /// Outcomes of calls that wait for their result.
    pub outcomes: Outcomes,
    /// Hash of the newest prompt that an event told to be a person's.
    pub typed: Option<u64>,
    /// Turns that were rolled back.
    pub rolled_back: i64,
    /// Kinds of records that were reported as unknown.
    unknown: BTreeSet<String>,
}

/// What one line holds.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'t> {
    /// Kind of the line; of the oldest files, kind of the item.
    pub kind: &'t str,
    /// What it is about.
    pub payload: Json<'t>,
    /// Position in the thread's history (paginated files).
    pub ordinal: Option<i64>,
    /// The line's own time, microseconds since the epoch.
    pub ts: Option<i64>,
}

/// The place of the line whose rows are written.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// Its identity, session and time.
    pub record: Record<'a>,
    /// Position in the file.
    pub seq: u64,
    /// Where the time comes from.
    ts_basis: &'static str,
    /// The line, if it is to be kept.
    raw: Option<&'a str>,
    /// The subagent that the file is about.
    pub agent_id: Option<&'a str>,
}

impl<'a> Place<'a> {
    /// Begins the record of a line.
    pub fn begin(
        state: &'a State,
        identity: &mut Vec<u8>,
        line: &TimedLine<'a>,
        ordinal: Option<i64>,
        out: &mut Rows,
    ) -> Self {
        let thread = state.lineage.thread();
        let identity = Identity::Content(without_ordinal(line.line.bytes, ordinal, identity));
        Self {
            record: out.record(thread, identity, line.line.seq, line.ts),
            seq: line.line.seq,
            ts_basis: line.ts_basis.as_str(),
            raw: out.keep_raw().then(|| std::str::from_utf8(line.line.bytes).ok()).flatten(),
            agent_id: state.lineage.is_subagent().then_some(thread),
        }
    }

    /// The members that all message rows share.
    pub fn message(&self, context: &'a ClaimContext) -> MessagesRow<'a> {
        MessagesRow {
            ts_basis: Some(self.ts_basis),
            cwd: context.turn.cwd.as_deref().or(context.project.as_deref()),
            git_branch: context.git_branch.as_deref(),
            agent_id: self.agent_id,
            raw: self.raw,
            ..MessagesRow::default()
        }
    }
}

/// The fold.
#[derive(Debug)]
pub struct CodexFold {
    /// The carry.
    pub(super) state: State,
    /// Texts of the row that is being written.
    pub(super) buffers: Buffers,
    /// A line without its ordinal.
    pub(super) identity: Vec<u8>,
    /// Key of the claim that is being written.
    pub(super) key: String,
    /// Texts of the claim that is being written.
    pub(super) claim_texts: (String, Attributes),
    /// Parser of JSON inside strings.
    pub(super) parser: Parser,
}

impl CodexFold {
    /// Goes on from a carry, or begins a file whose name tells `name_id`.
    pub fn new(carry: Option<&str>, name_id: &str) -> Self {
        let state = carry.and_then(|carry| serde_json::from_str(carry).ok());
        let state = state.unwrap_or_else(|| State { lineage: Lineage::of_file(name_id), ..State::default() });
        Self {
            state,
            buffers: Buffers::default(),
            identity: Vec::new(),
            key: String::new(),
            claim_texts: <(String, Attributes)>::default(),
            parser: Parser::default(),
        }
    }

    /// Reports a kind of record that nobody knows, once a file.
    pub(super) fn unknown(&mut self, kind: &str, inner: Option<&str>, line: &TimedLine<'_>, out: &mut Rows) {
        let name = inner.map_or_else(|| kind.to_owned(), |inner| format!("{kind}/{inner}"));
        if self.state.unknown.contains(&name) || self.state.unknown.len() >= MAX_UNKNOWN_KINDS {
            return;
        }
        let text = String::from_utf8_lossy(line.line.bytes);
        let detail = format!("a record of the kind \"{name}\" is not known: {text}");
        let thread = Some(self.state.lineage.thread());
        out.issue(thread, line.line.seq, line.ts, IssueKind::UnknownRecord, &detail);
        self.state.unknown.insert(name);
    }
}

impl LineFold for CodexFold {
    fn peek(&mut self, json: Json<'_>) -> bool {
        let id = match json.str("type") {
            Some("session_meta") => json.path(&["payload", "id"]).and_then(Json::as_str),
            Some(_) => None,
            None => json.str("id").filter(|_| is_bare_head(json)),
        };
        if let Some(id) = id {
            self.state.lineage.recognise(id);
        }
        id.is_some()
    }

    fn time(&self, json: Json<'_>) -> Option<i64> {
        time::parse(json.str("timestamp")?)
    }

    fn line(&mut self, line: &TimedLine<'_>, out: &mut Rows) {
        let envelope = open(line);
        match envelope.kind {
            "session_meta" => return self.session_meta(&envelope, line, out),
            // State of the oldest files: no record of the conversation.
            "state" => return out.session(self.state.lineage.thread()).saw(line.ts),
            _ => self.leave_head(envelope.ts, out),
        }
        match envelope.kind {
            "response_item" => self.item(&envelope, line, out),
            "event_msg" => match envelope.payload.str("type").unwrap_or_default() {
                "token_count" => self.token_count(&envelope, line, out),
                kind => self.event(kind, &envelope, line, out),
            },
            "turn_context" => self.turn_context(&envelope, line, out),
            "token_usage_record" => self.usage_record(&envelope, line, out),
            _ if is_bare(line) => self.item(&envelope, line, out),
            _ => self.note(&envelope, line, out),
        }
    }

    fn session_id(&self) -> Option<&str> {
        Some(self.state.lineage.thread())
    }

    fn carry(&self) -> String {
        // Serialising plain data into memory does not fail.
        serde_json::to_string(&self.state).unwrap_or_default()
    }
}

/// Whether the line is the item itself, as in the oldest files.
fn is_bare(line: &TimedLine<'_>) -> bool {
    line.line.json.get("payload").is_none()
}

/// The first line of the oldest files: `{"id", "timestamp", "instructions", "git"?}`.
fn is_bare_head(json: Json<'_>) -> bool {
    json.get("timestamp").is_some() && json.get("role").is_none() && json.get("record_type").is_none()
}

/// Takes a line apart.
fn open<'t>(line: &TimedLine<'t>) -> Envelope<'t> {
    let json = line.line.json;
    let (mut kind, mut payload, mut ordinal, mut ts, mut record_type) = (None, None, None, None, None);
    for (key, value) in json.fields() {
        match key {
            "timestamp" => ts = value.as_str().and_then(time::parse),
            "type" => kind = value.as_str(),
            "payload" => payload = Some(value),
            "ordinal" => ordinal = value.as_i64(),
            "record_type" => record_type = value.as_str(),
            _ => {}
        }
    }
    let kind = kind.or(record_type).unwrap_or_else(|| match json.get("role") {
        Some(_) => "message",
        None if is_bare_head(json) => "session_meta",
        None => "",
    });
    Envelope { kind, payload: payload.unwrap_or(json), ordinal, ts }
}

/// The bytes that name a line: all but the ordinal, which a migration to the paginated form adds to lines that stay the
/// same otherwise.
fn without_ordinal<'b>(line: &'b [u8], ordinal: Option<i64>, buffer: &'b mut Vec<u8>) -> &'b [u8] {
    const NAME: &[u8] = b"\"ordinal\":";
    let is_separator = |byte: Option<&u8>| byte == Some(&b',');
    if ordinal.is_none() {
        return line;
    }
    // The member stands before the payload or behind it.
    let head = memchr::memmem::find(line, b"\"payload\":").and_then(|end| memchr::memmem::find(line.get(..end)?, NAME));
    let Some(start) = head.or_else(|| memchr::memmem::rfind(line, NAME)) else { return line };
    let digits = start + NAME.len();
    let len = line.iter().skip(digits).take_while(|byte| byte.is_ascii_digit()).count();
    let (Some(before), Some(after)) = (line.get(..start), line.get(digits + len..)) else { return line };
    let (before, after) = if is_separator(after.first()) {
        (before, after.get(1..).unwrap_or_default())
    } else if is_separator(before.last()) {
        (before.get(..before.len() - 1).unwrap_or_default(), after)
    } else {
        (before, after)
    };
    buffer.clear();
    buffer.extend_from_slice(before);
    buffer.extend_from_slice(after);
    buffer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_the_same_with_and_without_its_ordinal() {
        let plain: &[u8] = br#"{"timestamp":"T","type":"x","payload":{"ordinal":7}}"#;
        for line in [
            br#"{"timestamp":"T","ordinal":12,"type":"x","payload":{"ordinal":7}}"#.as_slice(),
            br#"{"timestamp":"T","type":"x","payload":{"ordinal":7},"ordinal":12}"#,
            br#"{"ordinal":12,"timestamp":"T","type":"x","payload":{"ordinal":7}}"#,
        ] {
            assert_eq!(without_ordinal(line, Some(12), &mut Vec::new()), plain);
        }
        assert_eq!(without_ordinal(plain, None, &mut Vec::new()), plain);
    }
}
