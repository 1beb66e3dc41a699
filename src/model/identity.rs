//! The ids of rows: what makes a record the same record, wherever and whenever it is read.
//!
//! An `event_id` never depends on a path, a position, a host, a batch or a counter: reading a rewritten, moved or copied
//! file again yields the ids that the lake already has, and that is how nothing lands twice.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use xxhash_rust::xxh3::{Xxh3Default, xxh3_64, xxh3_128};

/// What names a record inside its session.
#[derive(Debug, Clone, Copy)]
pub enum Identity<'a> {
    /// The tool's own id of the record (`uuid`, message id …).
    Native(&'a str),
    /// The bytes of a line that has no id of its own.
    Content(&'a [u8]),
}

impl Identity<'_> {
    fn hash(self) -> u128 {
        match self {
            Self::Native(id) => {
                let mut hasher = Xxh3Default::new();
                hasher.update(b"id\0");
                hasher.update(id.as_bytes());
                hasher.digest128()
            }
            Self::Content(bytes) => xxh3_128(bytes),
        }
    }
}

/// One record of a source while its rows are written: where it stands and what its ids are made of.
#[derive(Debug, Clone, Copy)]
pub struct Record<'a> {
    /// Durable id of the session that the record belongs to.
    pub session_id: &'a str,
    /// Position in the source: byte offset (decompressed), rowid or event index.
    pub seq: i64,
    /// Microseconds since the epoch, UTC.
    pub ts: i64,
    /// Whether the lake has the record as it was before: its rows are appended again under the same ids.
    pub is_restated: bool,
    pub(super) identity: u128,
    pub(super) occurrence: u32,
}

impl<'a> Record<'a> {
    pub(super) fn new(session_id: &'a str, identity: Identity<'_>, seq: i64, ts: i64, seen: &mut SeenRecords) -> Self {
        let identity = identity.hash();
        let occurrence = seen.count(session_id, identity);
        Self { session_id, seq, ts, is_restated: false, identity, occurrence }
    }

    /// 32 hex digits: xxh3-128 of (table, provider, session, record, occurrence, block).
    #[must_use]
    pub fn event_id(&self, table: &str, provider: &str, block: u32) -> Hex {
        Hex::new(self.event_number(table, provider, block))
    }

    /// The number that [`event_id`](Self::event_id) writes.
    #[must_use]
    pub fn event_number(&self, table: &str, provider: &str, block: u32) -> u128 {
        self.id(table, provider, Some(self.session_id), block, self.occurrence)
    }

    /// 32 hex digits: the same without the session and the occurrence, so that a record copied into another file, or
    /// repeated in its own, has the same one.
    #[must_use]
    pub fn record_key(&self, table: &str, provider: &str, block: u32) -> Hex {
        Hex::new(self.id(table, provider, None, block, 0))
    }

    fn id(&self, table: &str, provider: &str, session: Option<&str>, block: u32, occurrence: u32) -> u128 {
        let mut hasher = Xxh3Default::new();
        hasher.update(table.as_bytes());
        hasher.update(&[0]);
        hasher.update(provider.as_bytes());
        hasher.update(&[0]);
        if let Some(session) = session {
            hasher.update(session.as_bytes());
        }
        hasher.update(&[0]);
        hasher.update(&self.identity.to_le_bytes());
        hasher.update(&block.to_le_bytes());
        hasher.update(&occurrence.to_le_bytes());
        hasher.digest128()
    }
}

/// The id of a row that is not a record: `parts` are hashed in order, so the same parts give the same id.
#[must_use]
pub fn id_of(parts: &[&[u8]]) -> Hex {
    let mut hasher = Xxh3Default::new();
    for part in parts {
        hasher.update(&(part.len() as u64).to_le_bytes());
        hasher.update(part);
    }
    Hex::new(hasher.digest128())
}

/// A 128-bit id as 32 lower-case hex digits, without an allocation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hex([u8; 32]);

impl Hex {
    /// Writes the digits of `value`.
    #[must_use]
    pub fn new(value: u128) -> Self {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut text = [0; 32];
        for (pair, byte) in text.chunks_exact_mut(2).zip(value.to_be_bytes()) {
            if let [high, low] = pair {
                *high = DIGITS.get(usize::from(byte >> 4)).copied().unwrap_or(b'0');
                *low = DIGITS.get(usize::from(byte & 15)).copied().unwrap_or(b'0');
            }
        }
        Self(text)
    }

    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or_default()
    }
}

impl std::fmt::Debug for Hex {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// How often each record of a source was seen, so that the second of two equal lines gets an id of its own, in whichever
/// run it is read. Eight bytes a record; kept with the checkpoint.
#[derive(Debug, Default, Clone)]
pub struct SeenRecords {
    counts: HashMap<u64, u32, BuildHasherDefault<HashedKey>>,
}

impl SeenRecords {
    /// Counts one more sight of a record and returns how often it was seen before.
    fn count(&mut self, session_id: &str, identity: u128) -> u32 {
        let seen = self.counts.entry(Self::key(session_id, identity)).or_insert(0);
        let before = *seen;
        *seen = seen.saturating_add(1);
        before
    }

    /// Whether the session has a record of this identity in what was read so far.
    #[must_use]
    pub fn contains(&self, session_id: &str, identity: Identity<'_>) -> bool {
        self.counts.contains_key(&Self::key(session_id, identity.hash()))
    }

    fn key(session_id: &str, identity: u128) -> u64 {
        let mut bytes = [0; 24];
        let (left, right) = bytes.split_at_mut(16);
        left.copy_from_slice(&identity.to_le_bytes());
        right.copy_from_slice(&xxh3_64(session_id.as_bytes()).to_le_bytes());
        xxh3_64(&bytes)
    }

    /// The form that the state keeps: the hash of each sight, eight bytes little-endian, sorted.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sights: Vec<u64> =
            self.counts.iter().flat_map(|(&key, &count)| std::iter::repeat_n(key, count as usize)).collect();
        sights.sort_unstable();
        sights.iter().flat_map(|key| key.to_le_bytes()).collect()
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut seen = Self::default();
        for chunk in bytes.chunks_exact(8) {
            if let Ok(key) = <[u8; 8]>::try_from(chunk) {
                *seen.counts.entry(u64::from_le_bytes(key)).or_insert(0) += 1;
            }
        }
        seen
    }
}

/// Hashes keys that are hashes already.
#[derive(Debug, Default)]
struct HashedKey(u64);

impl Hasher for HashedKey {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        self.0 = xxh3_64(bytes);
    }
    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeat_has_an_id_of_its_own_but_the_same_key() {
        let mut seen = SeenRecords::default();
        let first = Record::new("s", Identity::Native("u"), 0, 0, &mut seen);
        let mut seen = SeenRecords::from_bytes(&seen.to_bytes());
        let second = Record::new("s", Identity::Native("u"), 9, 9, &mut seen);
        assert_ne!(first.event_id("messages", "claude", 0), second.event_id("messages", "claude", 0));
        assert_eq!(first.record_key("messages", "claude", 0), second.record_key("messages", "claude", 0));
    }

    #[test]
    fn sessions_blocks_and_tables_are_told_apart_and_positions_are_not() {
        let id = |session, block, table, seq| {
            Record::new(session, Identity::Content(b"x"), seq, seq, &mut SeenRecords::default())
                .event_id(table, "claude", block)
        };
        let base = id("s", 0, "messages", 0);
        assert_eq!(base, id("s", 0, "messages", 77));
        assert_ne!(base, id("t", 0, "messages", 0));
        assert_ne!(base, id("s", 1, "messages", 0));
        assert_ne!(base, id("s", 0, "tool_calls", 0));
    }

    #[test]
    fn hex_is_big_endian_and_padded() {
        assert_eq!(Hex::new(0xff).as_str(), "000000000000000000000000000000ff");
    }
}
