//! What a source needs to go on where the last run stopped.

use super::stat::FileStat;

/// State of one source after it was read. The lake keeps it; only [`crate::source`] and the adapters read its inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Checkpoint {
    /// What the file system said when it was last read.
    pub stat: FileStat,
    /// Bytes (decompressed) that are done; always just behind a newline, or at the end of a final file.
    pub offset: u64,
    /// xxh3-128 of the first complete line, of at most 4 KiB; 0 before there is one. Of a document: of all of it.
    pub head_hash: u128,
    /// Bytes that `head_hash` covers.
    pub head_len: u64,
    /// xxh3-64 of the up to 256 bytes before `offset`.
    pub tail_hash: u64,
    /// Whether nothing is left to read unless the file changes. False: an unfinished end may become final by age.
    pub settled: bool,
    /// Time of the last record that had one, or stood in for one.
    pub last_ts: Option<i64>,
    /// Time that stands in for missing ones at the start: session start or mtime when first seen.
    pub first_ts: Option<i64>,
    /// Whether `first_ts` is the mtime.
    pub first_ts_is_mtime: bool,
    /// The adapter's own state, JSON.
    pub carry: String,
    /// Records seen so far: of lines see `SeenRecords::to_bytes`, of other sources `adapters::KnownRecords::to_bytes`.
    pub seen: Vec<u8>,
}

impl Checkpoint {
    /// Whether nothing is known of how to go on: the state was made anew and remembers no more than the path. Such a source
    /// is read from its start. No file that was ever found has no inode and no time.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.stat.inode == 0 && self.stat.ctime == 0
    }
}
