//! How bytes come in: which files there are, what they were when last read, and their lines as parsed JSON.
//!
//! Owned here: the file system, memory maps, decompression, line splitting, JSON repair and the proofs that a file is still
//! the one a checkpoint speaks of. Nothing here knows a provider, a row or the lake.

pub mod bytes;
pub mod checkpoint;
pub mod json;
pub mod lines;
mod map;
pub mod repair;
pub mod roots;
pub mod stat;
pub mod walk;

pub use checkpoint::Checkpoint;
pub use json::Json;
pub use roots::Roots;
pub use stat::FileStat;

use std::path::PathBuf;

/// How a source keeps its records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SourceKind {
    /// Lines of JSON, appended.
    Lines,
    /// The same, compressed as a whole with zstd.
    ZstdLines,
    /// One JSON value, rewritten as a whole.
    Document,
    /// Lines of JSON, appended, of which later ones change what earlier ones said: replayed from the start.
    ReplayedLines,
    /// Tables of a database. `Source::stat` then covers what stands beside it too (a write-ahead log).
    Database,
}

impl SourceKind {
    /// Whether its records may change in place, so that a change means reading all of it again.
    #[must_use]
    pub fn is_restated(self) -> bool {
        matches!(self, Self::Document | Self::ReplayedLines | Self::Database)
    }

    /// The text in the `source_kind` column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lines => "lines",
            Self::ZstdLines => "zstd_lines",
            Self::Document => "document",
            Self::ReplayedLines => "replayed_lines",
            Self::Database => "database",
        }
    }
}

/// One file that is read.
#[derive(Debug, Clone)]
pub struct Source {
    /// Slug of the provider.
    pub provider: &'static str,
    /// The path as found.
    pub path: PathBuf,
    /// How it keeps its records.
    pub kind: SourceKind,
    /// Size, times and inode when it was found.
    pub stat: FileStat,
    /// Sources of one family (a project's folder) may share requests, and are read in one wave where they fit.
    pub family: PathBuf,
}

/// Bounds of one read.
#[derive(Debug, Clone, Copy)]
pub struct ReadLimits {
    /// Bytes of a source to read at once, rounded up to a whole line.
    pub slice_bytes: u64,
    /// A longer line becomes an issue.
    pub max_line_bytes: u64,
    /// The time of the run, microseconds since the epoch: a source that was quiet for ten minutes before it is final.
    pub now: i64,
}

/// How long a file must be quiet before its unfinished end counts as final, in microseconds.
pub const QUIET: i64 = 10 * 60 * 1_000_000;
