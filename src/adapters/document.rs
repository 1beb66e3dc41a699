//! The way in for sources that are read as a whole: documents that a tool rewrites, and logs whose later lines change what
//! earlier ones said. An unchanged content is not looked at; of a changed one, only new and changed records give rows.
//!
//! The adapter brings a function that goes through the records; this module owns the content hash, what a half-written
//! document means, missing times, and the records already known.

use std::io;

use xxhash_rust::xxh3::xxh3_128;

use super::Progress;
use super::append_only::TimeBasis;
use super::known_records::KnownRecords;
use crate::model::{Identity, IssueKind, Record, Rows};
use crate::source::bytes::Reader;
use crate::source::json::Parser;
use crate::source::lines::{Event, Line, Scanner, trimmed};
use crate::source::repair::repair;
use crate::source::{Checkpoint, Json, QUIET, ReadLimits, Source};

/// Why a document cannot be read: a sentence for people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(pub String);

/// An open document and what is known of its records.
#[derive(Debug)]
pub struct Open {
    /// Records already known.
    pub records: KnownRecords,
    /// Whether nobody has written to the file for ten minutes.
    pub is_quiet: bool,
    now: i64,
    /// Time that stands in for missing ones: of the session's start, else the mtime first seen.
    stand_in: (i64, TimeBasis),
    last_ts: Option<i64>,
    waits: bool,
    unfinished: bool,
}

/// A record as a document shows it.
#[derive(Debug, Clone, Copy)]
pub struct Shown<'a> {
    /// Durable id of its session.
    pub session_id: &'a str,
    /// What names it inside the session.
    pub identity: Identity<'a>,
    /// Position in the document.
    pub seq: u64,
    /// Its own time, microseconds since the epoch.
    pub ts: Option<i64>,
    /// Hash of everything that its rows are made of.
    pub content: u64,
    /// Whether the tool will not touch it again. Others wait until they are final or ten minutes old.
    pub is_final: bool,
}

/// A record that gives rows.
#[derive(Debug, Clone, Copy)]
pub struct Begun<'a> {
    /// The record.
    pub record: Record<'a>,
    /// Where its time comes from.
    pub ts_basis: TimeBasis,
}

impl Open {
    /// Begins a record: `None` if the lake has it as it is, or if it is still being written. Call it for every record that
    /// the document holds, in order.
    pub fn begin<'a>(&mut self, shown: &Shown<'a>, out: &mut Rows) -> Option<Begun<'a>> {
        let (ts, ts_basis) = match (shown.ts, self.last_ts) {
            (Some(ts), _) => (ts, TimeBasis::Record),
            (None, Some(ts)) => (ts, TimeBasis::Previous),
            (None, None) => self.stand_in,
        };
        if ts_basis == TimeBasis::Record {
            self.last_ts = Some(ts);
        }
        let (name, place) = ((shown.session_id, shown.identity), (shown.seq, ts));
        if !shown.is_final && !self.is_quiet && self.now.saturating_sub(ts) < QUIET {
            self.waits = true;
            self.records.hold_back(name, place, out);
            return None;
        }
        let record = self.records.begin(name, place, shown.content, out)?;
        Some(Begun { record, ts_basis })
    }

    /// Says when the session began, for records without a time.
    pub fn session_starts(&mut self, ts: Option<i64>) {
        if let Some(ts) = ts {
            self.stand_in = (ts, TimeBasis::Session);
        }
    }

    /// Writes an issue about a place of the document, once over all readings.
    pub fn issue(&mut self, session_id: Option<&str>, seq: u64, kind: IssueKind, detail: &str, out: &mut Rows) {
        let ts = self.last_ts.unwrap_or(self.stand_in.0);
        self.records.issue(session_id, (seq, ts), kind, detail, out);
    }

    /// Parses the whole as one JSON value, repaired once if need be, and hands it to `use_it`.
    ///
    /// # Errors
    /// The bytes are no JSON.
    pub fn parse<T>(
        &mut self,
        bytes: &[u8],
        out: &mut Rows,
        use_it: impl FnOnce(Json<'_>, &mut Self, &mut Rows) -> T,
    ) -> Result<T, Broken> {
        let mut parser = Parser::default();
        let (_, text) = trimmed(bytes);
        let why = match parser.parse(text, |_| ()) {
            Ok(()) => {
                return parser.parse(text, |json| use_it(json, self, out)).map_err(|error| Broken(error.to_string()));
            }
            Err(error) => error.to_string(),
        };
        let Some(mended) = repair(text).filter(|mended| parser.parse(mended.as_bytes(), |_| ()).is_ok()) else {
            return Err(Broken(format!("the document of {} bytes is no JSON: {why}", bytes.len())));
        };
        let how = format!("the document was mended before it could be read: {why}");
        self.issue(None, 0, IssueKind::RepairedLine, &how, out);
        parser.parse(mended.as_bytes(), |json| use_it(json, self, out)).map_err(|error| Broken(error.to_string()))
    }

    /// Goes through the complete lines of a replayed log, in order; what cannot be read becomes an issue.
    pub fn lines(
        &mut self,
        bytes: &[u8],
        session_id: Option<&str>,
        out: &mut Rows,
        mut on_line: impl FnMut(Line<'_>, &mut Self, &mut Rows),
    ) {
        let consumed = Scanner::default().scan(bytes, 0, self.is_quiet, |event| {
            match event {
                Event::Record(line) => on_line(line, self, out),
                Event::Repaired { seq, how } => self.issue(session_id, seq, IssueKind::RepairedLine, &how, out),
                Event::Broken { seq, why } => self.issue(session_id, seq, IssueKind::BrokenLine, &why, out),
            }
            true
        });
        self.unfinished = consumed < bytes.len() as u64;
    }
}

/// Reads a document, if its content is not the one of the checkpoint. `go_through` tells every record to [`Open::begin`]
/// and returns the session that the document is about.
///
/// A document that is no JSON is left alone while it may be half-written: the checkpoint stays, and the next run tries
/// again. After ten quiet minutes it becomes an issue.
///
/// # Errors
/// The source cannot be opened or read.
pub fn read(
    source: &Source,
    checkpoint: Option<&Checkpoint>,
    limits: &ReadLimits,
    out: &mut Rows,
    go_through: impl FnOnce(&[u8], &mut Open, &mut Rows) -> Result<Option<String>, Broken>,
) -> io::Result<Progress> {
    let mut reader = Reader::open(source, limits.now)?;
    let mut next = checkpoint.cloned().unwrap_or_default();
    let stat = reader.stat();
    let is_quiet = reader.is_quiet();
    let done = |next: Checkpoint| Ok(Progress { checkpoint: Some(next), more: false, reread: false });
    if next.first_ts.is_none() {
        (next.first_ts, next.first_ts_is_mtime) = (Some(stat.mtime), true);
    }
    let first_ts = next.first_ts.unwrap_or(stat.mtime);
    if stat.size > limits.max_line_bytes {
        let size = stat.size;
        let detail = format!(
            "the document of {size} bytes is longer than {} bytes (see --max-line-bytes)",
            limits.max_line_bytes
        );
        out.issue(None, 0, first_ts, IssueKind::LineTooLong, &detail);
        (next.stat, next.settled) = (stat, true);
        return done(next);
    }
    let bytes = reader.read(0, stat.size)?;
    if reader.stat_again()? != stat {
        // Somebody writes to it at this moment.
        return Ok(Progress { checkpoint: checkpoint.cloned(), more: false, reread: false });
    }
    let content = xxh3_128(&bytes);
    if let Some(before) = checkpoint
        && before.settled
        && before.head_hash == content
    {
        next.stat = stat;
        return done(next);
    }
    let mut open = Open {
        records: KnownRecords::from_bytes(&next.seen),
        is_quiet,
        now: limits.now,
        stand_in: (first_ts, TimeBasis::Mtime),
        last_ts: None,
        waits: false,
        unfinished: false,
    };
    let whole = if trimmed(&bytes).1.is_empty() {
        Err(Broken("the document is empty".to_owned()))
    } else {
        go_through(&bytes, &mut open, out)
    };
    match whole {
        Ok(session_id) => {
            open.records.tell_removed(session_id.as_deref(), stat.mtime, out);
            next.seen = open.records.to_bytes();
            (next.offset, next.head_hash, next.head_len) = (stat.size, content, stat.size);
            next.stat = stat;
            next.settled = is_quiet || !(open.waits || open.unfinished);
            next.last_ts = open.last_ts;
            done(next)
        }
        // A file that was never more than empty is nothing.
        Err(_) if is_quiet && bytes.is_empty() && checkpoint.is_none_or(|before| before.offset == 0) => {
            (next.stat, next.settled) = (stat, true);
            done(next)
        }
        Err(Broken(why)) if is_quiet => {
            open.issue(None, 0, IssueKind::BrokenDocument, &why, out);
            next.seen = open.records.to_bytes();
            (next.stat, next.head_hash, next.settled) = (stat, content, true);
            done(next)
        }
        Err(_) => Ok(Progress { checkpoint: checkpoint.cloned(), more: false, reread: false }),
    }
}

/// Whether the document still is as the checkpoint says: used to recognise moved ones.
///
/// # Errors
/// The source cannot be opened or read.
pub fn content_hash(source: &Source, now: i64) -> io::Result<u128> {
    let mut reader = Reader::open(source, now)?;
    let size = reader.stat().size;
    Ok(xxh3_128(&reader.read(0, size)?))
}
