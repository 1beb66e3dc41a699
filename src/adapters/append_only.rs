//! The way in for sources that grow by whole lines: resumes at a byte offset, proves that the file is still the same, and
//! gives every record a time.
//!
//! The adapter brings a [`LineFold`]; this module owns checkpoints, hashes, missing times and issues about lines.

use std::io;

use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

use super::Progress;
use crate::model::{IssueKind, Rows, SeenRecords};
use crate::source::bytes::{Bytes, Reader};
use crate::source::lines::{Event, Line, Scanner};
use crate::source::{Checkpoint, FileStat, Json, ReadLimits, Source, SourceKind};

/// Most bytes of the first line that name a file.
const HEAD_BYTES: u64 = 4096;
/// Bytes before the offset that prove it.
const TAIL_BYTES: u64 = 256;
/// Lines at the start of a source that a fold may look at before the first one is read.
const MAX_PEEKED_LINES: usize = 256;

/// Where the time of a record comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeBasis {
    /// The record itself.
    Record,
    /// The record before it.
    Previous,
    /// The start of the session.
    Session,
    /// The modification time of the file when it was first seen.
    Mtime,
}

impl TimeBasis {
    /// The text in the `ts_basis` column.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Record => "record",
            Self::Previous => "previous",
            Self::Session => "session",
            Self::Mtime => "mtime",
        }
    }
}

/// A record with its time.
#[derive(Debug, Clone, Copy)]
pub struct TimedLine<'a> {
    /// Position, bytes and JSON.
    pub line: Line<'a>,
    /// Microseconds since the epoch, UTC.
    pub ts: i64,
    /// Where `ts` comes from.
    pub ts_basis: TimeBasis,
}

/// One provider's reading of a line source: state carried from line to line, slice to slice and run to run.
pub trait LineFold {
    /// Looks at one of the first lines, before any of them is read: true when it has seen enough. Called from the start of
    /// the source only; what it learns must be part of the carry.
    fn peek(&mut self, json: Json<'_>) -> bool {
        let _ = json;
        true
    }
    /// The record's own time, microseconds since the epoch.
    fn time(&self, json: Json<'_>) -> Option<i64>;
    /// Writes the rows of one record.
    fn line(&mut self, line: &TimedLine<'_>, out: &mut Rows);
    /// Writes what waited for more lines: called after the last line of a slice, whether or not more follow.
    fn end_of_slice(&mut self, out: &mut Rows) {
        let _ = out;
    }
    /// The session that the source is about, for issues without a record.
    fn session_id(&self) -> Option<&str>;
    /// The state, as JSON text that the fold's maker reads again.
    fn carry(&self) -> String;
}

/// Reads the lines past `checkpoint`. `make` builds the fold from the carry of the checkpoint, or `None` at the start.
///
/// # Errors
/// The source cannot be opened or read.
pub fn read<F: LineFold>(
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    limits: &ReadLimits,
    out: &mut Rows,
    make: impl Fn(Option<&str>) -> F,
) -> io::Result<Progress> {
    let mut reader = Reader::open(source, limits.now)?;
    let resumed = match checkpoint {
        Some(checkpoint) if matches_reader(&mut reader, checkpoint)? => Some(checkpoint),
        Some(_) => {
            reader = Reader::open(source, limits.now)?;
            None
        }
        None => None,
    };
    let mut fold = make(resumed.map(|checkpoint| checkpoint.carry.as_str()));
    let mut next = resumed.cloned().unwrap_or_default();
    next.stat = reader.stat();
    if resumed.is_some() {
        out.resume(SeenRecords::from_bytes(&next.seen));
    }
    let reread = checkpoint.is_some() && resumed.is_none();

    let is_final = reader.is_quiet() || source.kind == SourceKind::ZstdLines;
    let Slice { bytes, ends_source, too_long } = Slice::take(&mut reader, next.offset, limits)?;
    let start = next.offset;
    if next.head_hash == 0
        && let Some(head) = head_of(&bytes, is_final && ends_source)
    {
        next.head_len = head.len() as u64;
        next.head_hash = xxh3_128(head);
    }
    let mut scanner = Scanner::default();
    if next.first_ts.is_none() {
        match find_start(&mut scanner, &mut fold, &bytes) {
            Some(ts) => next.first_ts = Some(ts),
            // Lines without a time wait for one that has it, so that every split of the file into runs dates them alike.
            None if !is_final && ends_source => {
                return Ok(Progress { checkpoint: None, more: false, reread });
            }
            None => {
                next.first_ts = Some(next.stat.mtime);
                next.first_ts_is_mtime = true;
            }
        }
    }
    if let Some(before) = checkpoint.filter(|_| reread) {
        let detail = format!(
            "the file changed before byte {}, up to which it had been read; it was read again from its start",
            before.offset
        );
        let ts = next.first_ts.unwrap_or(next.stat.mtime);
        out.issue(fold.session_id(), before.offset, ts, IssueKind::Rewritten, &detail);
    }
    let consumed = if let Some(end) = too_long {
        let why = format!(
            "the line of {} bytes is longer than {} bytes (see --max-line-bytes)",
            end - start,
            limits.max_line_bytes
        );
        let ts = next.last_ts.or(next.first_ts).unwrap_or(next.stat.mtime);
        out.issue(fold.session_id(), start, ts, IssueKind::LineTooLong, &why);
        end - start
    } else {
        scanner.scan(&bytes, start, is_final && ends_source, |event| {
            on_event(event, &mut fold, &mut next, out);
            true
        })
    };
    fold.end_of_slice(out);
    next.offset = start + consumed;
    if consumed > 0 {
        let done = bytes.get(..usize::try_from(consumed).unwrap_or(usize::MAX)).unwrap_or(&bytes);
        next.tail_hash = tail_hash(&mut reader, source, done, next.offset, limits)?;
    }
    let more = !ends_source && consumed > 0;
    next.settled = !more && (is_final || next.offset == next.stat.size);
    next.carry = fold.carry();
    next.seen = out.seen().to_bytes();
    check_unchanged(&reader, &next, start, out, fold.session_id());
    Ok(Progress { checkpoint: Some(next), more, reread })
}

/// Whether the source still begins and goes on as the checkpoint says, so that reading may resume. Used to recognise
/// moved and compressed files too.
///
/// # Errors
/// The source cannot be opened or read.
pub fn matches(source: &Source, checkpoint: &Checkpoint, now: i64) -> io::Result<bool> {
    matches_reader(&mut Reader::open(source, now)?, checkpoint)
}

/// Hash of the first complete line as a checkpoint keeps it; `None` while there is none.
///
/// # Errors
/// The source cannot be opened or read.
pub fn head_hash(source: &Source, now: i64) -> io::Result<Option<u128>> {
    let bytes = Reader::open(source, now)?.read(0, HEAD_BYTES)?;
    Ok(head_of(&bytes, false).or((bytes.len() as u64 == HEAD_BYTES).then_some(&*bytes)).map(xxh3_128))
}

fn matches_reader(reader: &mut Reader, checkpoint: &Checkpoint) -> io::Result<bool> {
    let head = reader.read(0, checkpoint.head_len)?;
    if head.len() as u64 != checkpoint.head_len || (checkpoint.head_len > 0 && xxh3_128(&head) != checkpoint.head_hash)
    {
        return Ok(false);
    }
    let len = checkpoint.offset.min(TAIL_BYTES);
    let tail = reader.read(checkpoint.offset - len, len)?;
    Ok(tail.len() as u64 == len && (len == 0 || xxh3_64(&tail) == checkpoint.tail_hash))
}

/// One run of whole lines.
struct Slice {
    bytes: Bytes,
    /// Whether the source ends where the slice ends.
    ends_source: bool,
    /// Set when the slice is one line beyond the bound: where it ends. Its bytes are not kept.
    too_long: Option<u64>,
}

impl Slice {
    /// Takes about `slice_bytes` from `start`; more while not one line ends in them, up to `max_line_bytes`.
    fn take(reader: &mut Reader, start: u64, limits: &ReadLimits) -> io::Result<Self> {
        let mut len = limits.slice_bytes.max(HEAD_BYTES).min(limits.max_line_bytes.max(HEAD_BYTES));
        loop {
            let bytes = reader.read(start, len)?;
            let ends_source = (bytes.len() as u64) < len;
            let has_line = memchr::memchr(b'\n', &bytes).is_some();
            if ends_source || has_line {
                return Ok(Self { bytes, ends_source, too_long: None });
            }
            if len >= limits.max_line_bytes {
                drop(bytes);
                return Self::skip_line(reader, start, limits);
            }
            len = len.saturating_mul(4).min(limits.max_line_bytes);
        }
    }

    /// Finds the end of a line that is too long, in pieces, without keeping it.
    fn skip_line(reader: &mut Reader, start: u64, limits: &ReadLimits) -> io::Result<Self> {
        let piece_len = limits.slice_bytes.clamp(HEAD_BYTES, 1 << 23);
        let mut at = start;
        loop {
            let piece = reader.read(at, piece_len)?;
            let nothing = || Bytes::Owned(Vec::new());
            if let Some(end) = memchr::memchr(b'\n', &piece) {
                return Ok(Self { bytes: nothing(), ends_source: false, too_long: Some(at + end as u64 + 1) });
            }
            if (piece.len() as u64) < piece_len {
                return Ok(Self { bytes: nothing(), ends_source: true, too_long: None });
            }
            at += piece.len() as u64;
        }
    }
}

/// The first complete line, of at most [`HEAD_BYTES`]; the whole source where that is all it has and will have.
fn head_of(bytes: &[u8], is_whole: bool) -> Option<&[u8]> {
    let limit = usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX);
    let head = bytes.get(..limit).unwrap_or(bytes);
    match memchr::memchr(b'\n', bytes) {
        Some(end) => head.get(..=end).or(Some(head)),
        None if is_whole && !bytes.is_empty() => Some(head),
        None => None,
    }
}

/// Lets the fold look at the first lines, and finds the first time among them.
fn find_start<F: LineFold>(scanner: &mut Scanner, fold: &mut F, bytes: &[u8]) -> Option<i64> {
    let (mut first, mut enough, mut lines) = (None, false, 0);
    scanner.scan(bytes, 0, true, |event| {
        if let Event::Record(line) = event {
            first = first.or_else(|| fold.time(line.json));
            enough = enough || fold.peek(line.json);
        }
        lines += 1;
        !(enough && first.is_some()) && (first.is_none() || lines < MAX_PEEKED_LINES)
    });
    first
}

fn on_event<F: LineFold>(event: Event<'_>, fold: &mut F, next: &mut Checkpoint, out: &mut Rows) {
    let stand_in = next.last_ts.or(next.first_ts).unwrap_or(next.stat.mtime);
    match event {
        Event::Record(line) => {
            let (ts, ts_basis) = match (fold.time(line.json), next.last_ts, next.first_ts_is_mtime) {
                (Some(ts), _, _) => (ts, TimeBasis::Record),
                (None, Some(_), _) => (stand_in, TimeBasis::Previous),
                (None, None, false) => (stand_in, TimeBasis::Session),
                (None, None, true) => (stand_in, TimeBasis::Mtime),
            };
            if ts_basis == TimeBasis::Record {
                next.last_ts = Some(ts);
            }
            fold.line(&TimedLine { line, ts, ts_basis }, out);
        }
        Event::Repaired { seq, how } => out.issue(fold.session_id(), seq, stand_in, IssueKind::RepairedLine, &how),
        Event::Broken { seq, why } => out.issue(fold.session_id(), seq, stand_in, IssueKind::BrokenLine, &why),
    }
}

/// Hash of the bytes before the new offset; `done` are the ones read in this slice.
fn tail_hash(reader: &mut Reader, source: &Source, done: &[u8], offset: u64, limits: &ReadLimits) -> io::Result<u64> {
    let len = usize::try_from(offset.min(TAIL_BYTES)).unwrap_or_default();
    if let Some(tail) = done.len().checked_sub(len).and_then(|at| done.get(at..)) {
        return Ok(xxh3_64(tail));
    }
    // The slice is shorter than the tail: the rest stands before it.
    let from = offset - len as u64;
    let bytes = match source.kind {
        SourceKind::ZstdLines => Reader::open(source, limits.now)?.read(from, len as u64)?,
        _ => reader.read(from, len as u64)?,
    };
    Ok(xxh3_64(&bytes))
}

/// A file that shrank while it was read is told; the next run finds out by the hashes and reads it again.
fn check_unchanged(reader: &Reader, next: &Checkpoint, start: u64, out: &mut Rows, session_id: Option<&str>) {
    let FileStat { size, .. } = reader.stat_again().unwrap_or(next.stat);
    if size < next.stat.size {
        let detail = format!("the file shrank from {} to {size} bytes while it was read", next.stat.size);
        let ts = next.last_ts.unwrap_or(next.stat.mtime);
        out.issue(session_id, start, ts, IssueKind::ChangedWhileRead, &detail);
    }
}
