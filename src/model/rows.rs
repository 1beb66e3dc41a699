//! The sink that adapters write into: rows of all tables of one source, straight into Arrow builders.

use std::collections::{BTreeMap, HashSet};

use super::claim::{Claim, Counters};
use super::identity::{Identity, Record, SeenRecords, id_of};
use super::issue::IssueKind;
use super::session::SessionFacts;
use super::tables::{
    IssuesColumns, IssuesRow, MESSAGES, MessagesColumns, MessagesRow, TOOL_CALLS, TOOL_RESULTS, ToolCallsColumns,
    ToolCallsRow, ToolResultsColumns, ToolResultsRow, USAGE, UsageColumns, UsageRow,
};

/// Longest `detail` of an issue, in bytes.
const MAX_DETAIL_BYTES: usize = 4096;

/// Rows read from one source since its checkpoint.
#[derive(Debug)]
pub struct Rows {
    provider: &'static str,
    keep_raw: bool,
    seen: SeenRecords,
    /// Rows of `messages`.
    pub messages: MessagesColumns,
    /// Rows of `tool_calls`.
    pub tool_calls: ToolCallsColumns,
    /// Rows of `tool_results`.
    pub tool_results: ToolResultsColumns,
    /// Rows of `issues`.
    pub issues: IssuesColumns,
    /// Usage claims, as rows; entry `n` of `claims` is row `n`.
    pub claim_rows: UsageColumns,
    /// What the ledger needs of each claim.
    pub claims: Vec<PlacedClaim>,
    /// What was learned of sessions, by session id.
    pub sessions: BTreeMap<String, SessionFacts>,
    /// Event ids of rows that are appended again because their record changed in the source: the lake has them, and they
    /// must land all the same.
    pub restated: HashSet<u128>,
}

/// A claim and where it stands.
#[derive(Debug, Clone, Copy)]
pub struct PlacedClaim {
    /// The claim.
    pub claim: Claim,
    /// Position in the source.
    pub seq: i64,
    /// Microseconds since the epoch, UTC.
    pub ts: i64,
    /// Whether its record was read before and changed since.
    pub is_restated: bool,
}

impl Rows {
    /// An empty sink for a source of `provider`. With `keep_raw`, adapters fill the `raw` column.
    #[must_use]
    pub fn new(provider: &'static str, keep_raw: bool) -> Self {
        Self {
            provider,
            keep_raw,
            seen: SeenRecords::default(),
            messages: MessagesColumns::default(),
            tool_calls: ToolCallsColumns::default(),
            tool_results: ToolResultsColumns::default(),
            issues: IssuesColumns::default(),
            claim_rows: UsageColumns::default(),
            claims: Vec::new(),
            sessions: BTreeMap::new(),
            restated: HashSet::new(),
        }
    }

    /// The provider whose source is read.
    #[must_use]
    pub fn provider(&self) -> &'static str {
        self.provider
    }

    /// Whether the `raw` column is wanted.
    #[must_use]
    pub fn keep_raw(&self) -> bool {
        self.keep_raw
    }

    /// Goes on from the records that earlier runs read from the source.
    pub fn resume(&mut self, seen: SeenRecords) {
        self.seen = seen;
    }

    /// Every record seen in the source so far, for its next checkpoint.
    #[must_use]
    pub fn seen(&self) -> &SeenRecords {
        &self.seen
    }

    /// Begins a record: its rows share the identity, the place and the time. Call it once per record: a second call with
    /// the same identity is a second occurrence of it. The session learns that it has a record at `ts`.
    pub fn record<'a>(&mut self, session_id: &'a str, identity: Identity<'_>, seq: u64, ts: i64) -> Record<'a> {
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        match self.sessions.get_mut(session_id) {
            Some(facts) => facts.saw(ts),
            None => self.session(session_id).saw(ts),
        }
        Record::new(session_id, identity, seq, ts, &mut self.seen)
    }

    /// What is known of a session from this source since the checkpoint.
    pub fn session(&mut self, session_id: &str) -> &mut SessionFacts {
        self.sessions.entry(session_id.to_owned()).or_default()
    }

    /// Writes the message row of a record; at most one per record.
    pub fn message(&mut self, record: &Record<'_>, row: &MessagesRow<'_>) {
        self.note_restated(record, MESSAGES.name, 0);
        self.messages.push(self.provider, record, 0, row);
    }

    /// Writes one tool call; `block` is its position inside the record.
    pub fn tool_call(&mut self, record: &Record<'_>, block: u32, row: &ToolCallsRow<'_>) {
        self.note_restated(record, TOOL_CALLS.name, block);
        self.tool_calls.push(self.provider, record, block, row);
    }

    /// Writes one tool result; `block` is its position inside the record.
    pub fn tool_result(&mut self, record: &Record<'_>, block: u32, row: &ToolResultsRow<'_>) {
        self.note_restated(record, TOOL_RESULTS.name, block);
        self.tool_results.push(self.provider, record, block, row);
    }

    fn note_restated(&mut self, record: &Record<'_>, table: &str, block: u32) {
        if record.is_restated {
            self.restated.insert(record.event_number(table, self.provider, block));
        }
    }

    /// Claims usage. `block` tells several claims of one record apart. The counters, `context_tokens`, `rev`, `status`
    /// and `why` of `row` are filled here and by the ledger; adapters leave them alone.
    pub fn claim(&mut self, record: &Record<'_>, block: u32, claim: Claim, row: &UsageRow<'_>) {
        let Counters { input, cache_read, cache_write_5m, cache_write_1h, output, web_search_requests, reasoning } =
            claim.counters;
        let row = UsageRow {
            rev: None,
            status: None,
            why: None,
            input_tokens: input,
            cache_read_tokens: cache_read,
            cache_write_5m_tokens: cache_write_5m,
            cache_write_1h_tokens: cache_write_1h,
            output_tokens: output,
            web_search_requests,
            reasoning_tokens: reasoning,
            // A sum over several calls is no prompt, and must not pick a price tier.
            context_tokens: row.context_tokens.or(claim.counters.context().filter(|_| row.grain == Some("request"))),
            ..*row
        };
        // A claim has one id, whether the ledger lets it count or not.
        let event_id = record.event_id(USAGE.name, self.provider, block);
        let record_key = record.record_key(USAGE.name, self.provider, block);
        self.claim_rows.push_with_ids(
            event_id.as_str(),
            record_key.as_str(),
            Some(record.session_id),
            record.seq,
            record.ts,
            &row,
        );
        let is_restated = record.is_restated;
        self.claims.push(PlacedClaim { claim, seq: record.seq, ts: record.ts, is_restated });
    }

    /// Writes an issue about the record or place `seq` of the source. `detail` is cut to 4 KiB. The id is made of the
    /// session, the kind, the detail and the place, since a thing that cannot be read has no id of its own.
    pub fn issue(&mut self, session_id: Option<&str>, seq: u64, ts: i64, kind: IssueKind, detail: &str) {
        let detail = detail.get(..detail.floor_char_boundary(MAX_DETAIL_BYTES)).unwrap_or(detail);
        let place = seq.to_le_bytes();
        let session = session_id.unwrap_or_default().as_bytes();
        let event_id =
            id_of(&[b"issues", self.provider.as_bytes(), session, kind.as_str().as_bytes(), detail.as_bytes(), &place]);
        let record_key = id_of(&[b"issues", self.provider.as_bytes(), kind.as_str().as_bytes(), detail.as_bytes()]);
        let seq = i64::try_from(seq).unwrap_or(i64::MAX);
        let row = IssuesRow { kind: Some(kind.as_str()), detail: Some(detail) };
        self.issues.push_with_ids(event_id.as_str(), record_key.as_str(), session_id, seq, ts, &row);
    }
}
