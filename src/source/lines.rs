//! Splits bytes into lines and lines into JSON records; says exactly what could not be read.
//!
//! A complete line ends in a newline. What follows the last newline is somebody's unfinished write: it is left for the
//! next run, unless the file is final and the rest parses. Offsets never stop inside a line.

use memchr::{memchr, memmem};

use super::json::{Json, Parser};
use super::repair::repair;

/// One record of a line source.
#[derive(Debug, Clone, Copy)]
pub struct Line<'a> {
    /// Position of the record's first byte in the (decompressed) source.
    pub seq: u64,
    /// The record as it stood, without padding and newline.
    pub bytes: &'a [u8],
    /// The record, parsed: always an object.
    pub json: Json<'a>,
}

/// What a scan meets, in order of position.
#[derive(Debug)]
pub enum Event<'a> {
    /// A record.
    Record(Line<'a>),
    /// The record that follows was mended; `how` says what was wrong.
    Repaired {
        /// Position.
        seq: u64,
        /// A sentence for people.
        how: String,
    },
    /// A line, or a part of one, that is no JSON object.
    Broken {
        /// Position.
        seq: u64,
        /// A sentence for people.
        why: String,
    },
}

/// Turns lines into events, with buffers that are used again.
#[derive(Debug, Default)]
pub struct Scanner {
    parser: Parser,
}

/// How many places of a broken line are tried as the start of a record.
const MAX_RESTARTS: usize = 16;

impl Scanner {
    /// Scans the complete lines of `bytes`, whose first byte stands at `start`, and returns how many bytes they take.
    /// With `is_final`, an unfinished last line that parses counts as complete. `on_event` returns false to stop early.
    pub fn scan(
        &mut self,
        bytes: &[u8],
        start: u64,
        is_final: bool,
        mut on_event: impl FnMut(Event<'_>) -> bool,
    ) -> u64 {
        let mut done = 0;
        while let Some(rest) = bytes.get(done..).filter(|rest| !rest.is_empty()) {
            let seq = start + done as u64;
            let Some(end) = memchr(b'\n', rest) else {
                if is_final && self.parse(trimmed(rest).1) {
                    self.line(rest, seq, &mut on_event);
                    done = bytes.len();
                }
                break;
            };
            done += end + 1;
            if !self.line(rest.get(..end).unwrap_or_default(), seq, &mut on_event) {
                break;
            }
        }
        done as u64
    }

    fn parse(&mut self, text: &[u8]) -> bool {
        self.parser.parse(text, |json| json.is_object()).unwrap_or(false)
    }

    /// Reads one line. Returns false when the reader wants no more.
    fn line(&mut self, line: &[u8], seq: u64, on_event: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        let (skipped, text) = trimmed(line);
        let seq = seq + skipped as u64;
        if text.is_empty() {
            return match line.iter().filter(|&&byte| byte == 0).count() {
                0 => true,
                zeros => {
                    on_event(Event::Broken { seq, why: format!("{zeros} NUL bytes stand where a record should be") })
                }
            };
        }
        let mut wants_more = true;
        let parsed = self.parser.parse(text, |json| {
            if json.is_object() {
                wants_more = on_event(Event::Record(Line { seq, bytes: text, json }));
            }
            json.is_object()
        });
        match parsed {
            Ok(true) => wants_more,
            Ok(false) => on_event(Event::Broken { seq, why: "the line is JSON, but no object".to_owned() }),
            Err(error) => self.broken_line(text, seq, &error.to_string(), on_event),
        }
    }

    /// Tries the one repair, then looks for whole records inside the line: a writer that died left its half line, and the
    /// next record was appended to it.
    fn broken_line(&mut self, text: &[u8], seq: u64, why: &str, on_event: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        if let Some(mended) = repair(text)
            && self.parse(mended.as_bytes())
        {
            return on_event(Event::Repaired {
                seq,
                how: format!("the line was mended before it could be read: {why}"),
            }) && self.record(mended.as_bytes(), text, seq, on_event);
        }
        let restarts: Vec<usize> =
            memmem::find_iter(text, b"{\"").filter(|&at| at > 0 && starts_anew(text, at)).collect();
        for at in restarts.iter().copied().take(MAX_RESTARTS) {
            let (before, after) = text.split_at(at);
            if !self.parse(after) {
                continue;
            }
            let first = if self.parse(before) {
                self.record(before, before, seq, on_event)
            } else {
                on_event(Event::Broken {
                    seq,
                    why: format!("an unfinished record of {at} bytes stands before another: {why}"),
                })
            };
            return first && self.record(after, after, seq + at as u64, on_event);
        }
        on_event(Event::Broken { seq, why: format!("the line of {} bytes is no JSON: {why}", text.len()) })
    }

    fn record(&mut self, text: &[u8], bytes: &[u8], seq: u64, on_event: &mut impl FnMut(Event<'_>) -> bool) -> bool {
        self.parser.parse(text, |json| on_event(Event::Record(Line { seq, bytes, json }))).unwrap_or(true)
    }
}

/// Whether a record may begin at `at`: an object inside another follows a colon, a comma or a bracket.
fn starts_anew(text: &[u8], at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    !matches!(before.iter().rev().find(|byte| !byte.is_ascii_whitespace()), Some(b':' | b',' | b'[' | b'\\') | None)
}

/// A line (or a document) without byte order mark, NUL padding and white space around it, and how many bytes stood before.
#[must_use]
pub fn trimmed(line: &[u8]) -> (usize, &[u8]) {
    let padding = |byte: &u8| *byte == 0 || byte.is_ascii_whitespace();
    let mut text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
    while let Some((first, rest)) = text.split_first().filter(|(first, _)| padding(first)) {
        let _ = first;
        text = rest;
    }
    let skipped = line.len() - text.len();
    while let Some((_, rest)) = text.split_last().filter(|(last, _)| padding(last)) {
        text = rest;
    }
    (skipped, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8], is_final: bool) -> (Vec<String>, u64) {
        let mut seen = Vec::new();
        let done = Scanner::default().scan(bytes, 100, is_final, |event| {
            seen.push(match event {
                Event::Record(line) => format!("{}:{}", line.seq, line.json.to_text()),
                Event::Repaired { seq, .. } => format!("{seq}:repaired"),
                Event::Broken { seq, .. } => format!("{seq}:broken"),
            });
            true
        });
        (seen, done)
    }

    #[test]
    fn padding_is_no_part_of_a_record() {
        let (seen, done) = events(b"\xef\xbb\xbf{\"a\":1}\r\n\n  \n\0\0{\"b\":2}\n", false);
        assert_eq!(seen, [r#"103:{"a":1}"#, r#"118:{"b":2}"#]);
        assert_eq!(done, 26);
    }

    #[test]
    fn an_unfinished_line_waits_until_the_file_is_final() {
        let text = b"{\"a\":1}\n{\"b\":2}";
        assert_eq!(events(text, false), (vec![r#"100:{"a":1}"#.to_owned()], 8));
        assert_eq!(events(text, true).1, 15);
        assert_eq!(events(b"{\"a\":1}\n{\"b\":", true).1, 8);
    }

    #[test]
    fn glued_records_are_both_read_and_a_torn_one_is_told() {
        assert_eq!(events(b"{\"a\":1}{\"b\":2}\n", false).0, [r#"100:{"a":1}"#, r#"107:{"b":2}"#]);
        assert_eq!(events(b"{\"a\":\"x{\"b\":2}\n", false).0, ["100:broken", r#"107:{"b":2}"#]);
        assert_eq!(events(b"{\"a\":\n[1]\n", false).0, ["100:broken", "106:broken"]);
    }

    #[test]
    fn runs_of_nul_are_told() {
        assert_eq!(events(b"\0\0\0\n{\"a\":1}\n", false).0, ["103:broken", r#"104:{"a":1}"#]);
    }
}
