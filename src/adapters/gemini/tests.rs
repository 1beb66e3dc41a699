//! Chats through the adapter: both forms, what a log takes back, and answers that are still being written.

use std::path::{Path, PathBuf};

use super::Gemini;
use crate::adapters::SourceAdapter;
use crate::model::Rows;
use crate::model::tables::TableColumns as _;
use crate::source::{Checkpoint, FileStat, ReadLimits, Source, SourceKind};

fn source(path: &Path) -> Source {
    let kind = if path.extension().unwrap() == "jsonl" { SourceKind::ReplayedLines } else { SourceKind::Document };
    let stat = FileStat::of(&fs_err::metadata(path).unwrap());
    Source { provider: "gemini", path: path.to_owned(), kind, stat, family: PathBuf::new() }
}

/// Reads `text` as a file of the name; `age` is how many minutes ago it was written.
fn read(path: &Path, text: &str, before: Option<&Checkpoint>, age: i64) -> (Rows, Option<Checkpoint>) {
    fs_err::write(path, text).unwrap();
    let source = source(path);
    let limits =
        ReadLimits { slice_bytes: 1 << 20, max_line_bytes: 1 << 20, now: source.stat.mtime + age * 60_000_000 };
    let mut rows = Rows::new("gemini", false);
    let progress = Gemini.read(&source, before, &limits, &mut rows).unwrap();
    (rows, progress.checkpoint)
}

const HEAD: &str = r#"{"sessionId":"s","startTime":"2026-05-03T09:00:00.000Z","kind":"main"}"#;

#[test]
fn a_message_said_three_times_is_one_with_its_last_tokens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session-s.jsonl");
    let log = [
        HEAD,
        r#"{"id":"g","timestamp":"2026-05-03T09:00:03.000Z","type":"gemini","content":"o","model":"m","tokens":null}"#,
        r#"{"id":"g","timestamp":"2026-05-03T09:00:03.000Z","type":"gemini","content":"ok","model":"m","tokens":{"input":9,"output":1,"cached":0}}"#,
        r#"{"id":"g","timestamp":"2026-05-03T09:00:03.000Z","type":"gemini","content":"ok!","model":"m","tokens":null}"#,
    ]
    .join("\n")
        + "\n";
    let (rows, _) = read(&path, &log, None, 60);
    assert_eq!((rows.messages.len(), rows.claims.len()), (1, 1));
    assert_eq!(rows.claims[0].claim.counters.input, Some(9));
}

#[test]
fn a_log_read_in_two_runs_restates_what_changed_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session-s.jsonl");
    let user = r#"{"id":"u","timestamp":"2026-05-03T09:00:01.000Z","type":"user","content":"hi"}"#;
    let first = r#"{"id":"g","timestamp":"2026-05-03T09:00:03.000Z","type":"gemini","content":"a","model":"m","tokens":{"input":9,"output":1}}"#;
    let second = r#"{"$rewindTo":"g"}"#;
    let (rows, checkpoint) = read(&path, &format!("{HEAD}\n{user}\n{first}\n"), None, 60);
    assert_eq!((rows.messages.len(), rows.claims.len(), rows.restated.len()), (2, 1, 0));
    let (rows, checkpoint) = read(&path, &format!("{HEAD}\n{user}\n{first}\n{second}\n"), checkpoint.as_ref(), 60);
    assert_eq!((rows.messages.len(), rows.restated.len()), (1, 1), "the answer was taken back, and says so");
    assert!(rows.claims[0].is_restated);
    let (rows, _) = read(&path, &format!("{HEAD}\n{user}\n{first}\n{second}\n"), checkpoint.as_ref(), 60);
    assert_eq!((rows.messages.len(), rows.issues.len()), (0, 0));
}

#[test]
fn an_answer_still_being_written_waits_until_it_is_final_or_old() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session-s.json");
    let now = chrono::Utc::now().to_rfc3339();
    let document = |tokens: &str| {
        format!(
            r#"{{"sessionId":"s","messages":[{{"id":"g","timestamp":"{now}","type":"gemini","content":"a","model":"m"{tokens}}}]}}"#
        )
    };
    let (rows, checkpoint) = read(&path, &document(""), None, 0);
    assert_eq!(rows.messages.len(), 0);
    assert!(!checkpoint.as_ref().unwrap().settled);
    let (rows, _) = read(&path, &document(""), checkpoint.as_ref(), 20);
    assert_eq!(rows.messages.len(), 1, "ten minutes later it is as final as it will be");
    let (rows, _) = read(&path, &document(r#","tokens":{"input":1,"output":1}"#), checkpoint.as_ref(), 0);
    assert_eq!((rows.messages.len(), rows.claims.len()), (1, 1));
}

#[test]
fn a_half_written_document_keeps_what_was_read_and_is_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("session-s.json");
    let whole = r#"{"sessionId":"s","messages":[{"id":"u","timestamp":"2026-05-03T09:00:01.000Z","type":"user","content":"hi"}]}"#;
    let (_, checkpoint) = read(&path, whole, None, 0);
    let half_written = whole.get(..40).unwrap();
    for half in ["", half_written] {
        let (rows, kept) = read(&path, half, checkpoint.as_ref(), 0);
        assert_eq!(kept, checkpoint, "the state stays");
        assert_eq!((rows.messages.len(), rows.issues.len()), (0, 0));
        let (rows, _) = read(&path, half, checkpoint.as_ref(), 60);
        assert_eq!(rows.issues.len(), 1, "after ten minutes it is told");
    }
    let (rows, _) = read(&path, half_written, None, 0);
    assert_eq!(rows.issues.len(), 0);
}
