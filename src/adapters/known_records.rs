//! What a source that restates its records (a document, a replayed log, a database) held when it was last read: for each
//! record its id and a hash of its content, so that only new and changed ones give rows, and lost ones are told.
//!
//! A changed record keeps its `event_id`; its rows are appended again and its usage goes through the ledger as growth.

use std::collections::HashMap;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use crate::model::tables::MESSAGES;
use crate::model::{Identity, IssueKind, Record, Rows};

/// Content of a record that the source lost; its rows stay.
const GONE: u64 = 0;
/// Content of an entry that is no record but an issue that was told.
const TOLD: u64 = 1;
/// Bytes of one entry: id and content.
const ENTRY_BYTES: usize = 24;

/// Records of one source, before and now.
#[derive(Debug, Default)]
pub struct KnownRecords {
    before: HashMap<u128, u64>,
    now: HashMap<u128, u64>,
}

impl KnownRecords {
    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let entries = bytes.chunks_exact(ENTRY_BYTES).filter_map(|entry| {
            let (id, content) = entry.split_at_checked(16)?;
            Some((u128::from_le_bytes(id.try_into().ok()?), u64::from_le_bytes(content.try_into().ok()?)))
        });
        Self { before: entries.collect(), now: HashMap::new() }
    }

    /// The form that the state keeps: 24 bytes for each record ever seen, little-endian, sorted by id.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut entries: Vec<(u128, u64)> = self.now.iter().map(|(id, content)| (*id, *content)).collect();
        entries.extend(self.before.iter().filter(|(id, _)| !self.now.contains_key(id)).map(|(id, old)| (*id, *old)));
        entries.sort_unstable();
        entries.iter().flat_map(|(id, content)| id.to_le_bytes().into_iter().chain(content.to_le_bytes())).collect()
    }

    /// Begins a record of the content hash `content`: `None` if the lake has it as it is. Call it for every record that
    /// the source holds, in order.
    pub fn begin<'a>(
        &mut self,
        (session_id, identity): (&'a str, Identity<'_>),
        (seq, ts): (u64, i64),
        content: u64,
        out: &mut Rows,
    ) -> Option<Record<'a>> {
        let mut record = out.record(session_id, identity, seq, ts);
        let id = record.event_number(MESSAGES.name, out.provider(), 0);
        let content = xxh3_64(&[content.to_le_bytes(), ts.to_le_bytes()].concat()).max(TOLD + 1);
        self.now.insert(id, content);
        let before = self.before.get(&id).copied();
        record.is_restated = before.is_some();
        (before != Some(content)).then_some(record)
    }

    /// Leaves a record that is still being written as the lake has it, if it has it. In the place of
    /// [`begin`](Self::begin).
    pub fn hold_back(&mut self, (session_id, identity): (&str, Identity<'_>), (seq, ts): (u64, i64), out: &mut Rows) {
        let id = out.record(session_id, identity, seq, ts).event_number(MESSAGES.name, out.provider(), 0);
        if let Some(&content) = self.before.get(&id) {
            self.now.insert(id, content);
        }
    }

    /// Writes an issue that every reading of the source meets again, once.
    pub fn issue(
        &mut self,
        session_id: Option<&str>,
        (seq, ts): (u64, i64),
        kind: IssueKind,
        detail: &str,
        out: &mut Rows,
    ) {
        let place = seq.to_le_bytes();
        let session = session_id.unwrap_or_default();
        let parts: [&[u8]; 4] = [kind.as_str().as_bytes(), session.as_bytes(), &place, detail.as_bytes()];
        let id = xxh3_128(&parts.join(&0));
        if self.now.insert(id, TOLD).is_none() && !self.before.contains_key(&id) {
            out.issue(session_id, seq, ts, kind, detail);
        }
    }

    /// Tells which records the source lost since it was last read. Only for sources that were read as a whole.
    pub fn tell_removed(&mut self, session_id: Option<&str>, ts: i64, out: &mut Rows) {
        let lost = self.before.iter().filter(|(id, content)| **content > TOLD && !self.now.contains_key(id));
        let mut lost: Vec<u128> = lost.map(|(id, _)| *id).collect();
        lost.sort_unstable();
        for id in lost {
            let detail = format!("the source holds the message with event_id {id:032x} no more; its row stays");
            out.issue(session_id, 0, ts, IssueKind::RemovedFromSource, &detail);
            self.now.insert(id, GONE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tables::{MessagesRow, TableColumns as _};

    /// Reads `records` (id and content) into rows; returns the state and how many rows and issues there are.
    fn read(before: &[u8], records: &[(&str, u64)]) -> (Vec<u8>, usize, usize, usize) {
        let mut known = KnownRecords::from_bytes(before);
        let mut out = Rows::new("claude", false);
        for (seq, (id, content)) in (0..).zip(records) {
            if let Some(record) = known.begin(("s", Identity::Native(id)), (seq, 5), *content, &mut out) {
                out.message(&record, &MessagesRow::default());
            }
        }
        known.tell_removed(Some("s"), 5, &mut out);
        (known.to_bytes(), out.messages.len(), out.restated.len(), out.issues.len())
    }

    #[test]
    fn new_and_changed_records_give_rows_and_lost_ones_an_issue_once() {
        let (state, rows, restated, issues) = read(&[], &[("a", 1), ("b", 1)]);
        assert_eq!((rows, restated, issues), (2, 0, 0));
        let (state, rows, restated, issues) = read(&state, &[("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!((rows, restated, issues), (2, 1, 0));
        let (state, rows, _, issues) = read(&state, &[("a", 1), ("c", 1)]);
        assert_eq!((rows, issues), (0, 1));
        let (state, rows, _, issues) = read(&state, &[("a", 1), ("c", 1)]);
        assert_eq!((rows, issues), (0, 0));
        let (_, rows, restated, issues) = read(&state, &[("a", 1), ("b", 2), ("c", 1)]);
        assert_eq!((rows, restated, issues), (1, 1, 0), "a record that comes back is the one the lake has");
    }

    #[test]
    fn an_issue_that_every_reading_meets_is_told_once() {
        let mut state = Vec::new();
        for expected in [1, 0, 0] {
            let mut known = KnownRecords::from_bytes(&state);
            let mut out = Rows::new("claude", false);
            for _ in 0..2 {
                known.issue(None, (3, 5), IssueKind::BadCounter, "x", &mut out);
            }
            assert_eq!(out.issues.len(), expected);
            state = known.to_bytes();
        }
    }
}
