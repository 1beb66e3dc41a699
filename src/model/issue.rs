//! The kinds of things that could not be read as expected.

/// What was wrong. The text form is the `kind` column of `issues`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum IssueKind {
    /// A complete line that is no JSON, even after repair. The line is skipped; usage in it is lost.
    BrokenLine,
    /// A line that became readable by a repair: invalid UTF-8, a lone surrogate, an integer beyond 64 bits.
    RepairedLine,
    /// A line, or a document, longer than `--max-line-bytes`.
    LineTooLong,
    /// A document that is no JSON though nobody has written to it for ten minutes. What was read of it before stays.
    BrokenDocument,
    /// A counter that is negative, above 10^10, fractional or no number. It is NULL.
    BadCounter,
    /// A record whose kind the adapter does not know. Its raw text is kept in `detail`, cut to 4 KiB.
    UnknownRecord,
    /// A file or folder that cannot be opened or read.
    Unreadable,
    /// Not a regular file: a folder, a FIFO or a socket with the name of a session file.
    NotAFile,
    /// A file that changed before the place up to which it was read. It is read again from the start.
    Rewritten,
    /// A record that the lake holds and its rewritten source does not. The row stays.
    RemovedFromSource,
    /// A file that grew or shrank while it was read.
    ChangedWhileRead,
    /// Counters that contradict each other inside one record.
    Contradiction,
}

impl IssueKind {
    /// The text in the `kind` column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BrokenLine => "broken_line",
            Self::RepairedLine => "repaired_line",
            Self::LineTooLong => "line_too_long",
            Self::BrokenDocument => "broken_document",
            Self::BadCounter => "bad_counter",
            Self::UnknownRecord => "unknown_record",
            Self::Unreadable => "unreadable",
            Self::NotAFile => "not_a_file",
            Self::Rewritten => "rewritten",
            Self::RemovedFromSource => "removed_from_source",
            Self::ChangedWhileRead => "changed_while_read",
            Self::Contradiction => "contradiction",
        }
    }

    /// Kinds that mean that something was lost: they make a run end with exit code 1.
    pub const UNREADABLE: [Self; 5] =
        [Self::BrokenLine, Self::BrokenDocument, Self::LineTooLong, Self::Unreadable, Self::NotAFile];
}
