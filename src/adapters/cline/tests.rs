//! Tasks through the adapter: rows that are filled in later, and what is left of old and new forms.

use std::path::{Path, PathBuf};

use super::{Cline, Roo};
use crate::adapters::SourceAdapter;
use crate::model::Rows;
use crate::model::tables::TableColumns as _;
use crate::source::{Checkpoint, FileStat, ReadLimits, Source, SourceKind};

fn read(adapter: &dyn SourceAdapter, path: &Path, text: &str, before: Option<&Checkpoint>) -> (Rows, Checkpoint) {
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    fs_err::write(path, text).unwrap();
    let stat = FileStat::of(&fs_err::metadata(path).unwrap());
    let slug = adapter.info().slug;
    let source =
        Source { provider: slug, path: path.to_owned(), kind: SourceKind::Document, stat, family: PathBuf::new() };
    let limits = ReadLimits { slice_bytes: 1 << 20, max_line_bytes: 1 << 20, now: stat.mtime };
    let mut rows = Rows::new(slug, false);
    let progress = adapter.read(&source, before, &limits, &mut rows).unwrap();
    (rows, progress.checkpoint.unwrap())
}

#[test]
fn a_placeholder_waits_and_is_filled_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks/7/ui_messages.json");
    let now = chrono::Utc::now().timestamp_millis();
    let rows_with = |request: &str| {
        format!(
            r#"[{{"ts":{},"type":"say","say":"text","text":"add a retry"}},{{"ts":{now},"type":"say","say":"api_req_started","text":"{}"}}]"#,
            now - 5,
            request.replace('"', "\\\"")
        )
    };
    let (rows, checkpoint) = read(&Cline, &path, &rows_with(r#"{"request":"x"}"#), None);
    assert_eq!((rows.messages.len(), rows.claims.len()), (1, 0));
    assert!(!checkpoint.settled);
    let filled = rows_with(r#"{"request":"x","tokensIn":10,"tokensOut":3,"cost":0.5}"#);
    let (rows, checkpoint) = read(&Cline, &path, &filled, Some(&checkpoint));
    assert_eq!((rows.messages.len(), rows.claims.len(), rows.restated.len()), (1, 1, 0));
    let aborted =
        rows_with(r#"{"request":"x","tokensIn":10,"tokensOut":7,"cost":0.5,"cancelReason":"user_cancelled"}"#);
    let (rows, _) = read(&Cline, &path, &aborted, Some(&checkpoint));
    assert_eq!(rows.claims[0].claim.counters.output, Some(7), "what was cancelled is billed");
    assert!(rows.claims[0].is_restated);
}

#[test]
fn rows_that_share_a_time_are_rows_of_their_own() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tasks/7/ui_messages.json");
    let text = r#"[{"ts":1762500000101,"type":"ask","ask":"command","text":"ls"},{"ts":1762500000200,"type":"say","say":"command_output","text":"a"},{"ts":1762500000200,"type":"say","say":"command_output","text":"b"}]"#;
    let (rows, _) = read(&Roo, &path, text, None);
    assert_eq!((rows.messages.len(), rows.tool_calls.len(), rows.tool_results.len()), (3, 1, 2));
}

#[test]
fn sessions_of_the_newer_generation_have_whole_prompts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sessions/s_ab/s_ab.messages.json");
    let text = r#"{"version":1,"agent":"main","sessionId":"s_ab","messages":[{"id":"m1","role":"user","content":"hi","ts":1780394400000},{"id":"m2","role":"assistant","content":[{"type":"text","text":"hello"}],"ts":1780394402500,"modelInfo":{"id":"claude-x","provider":"anthropic"},"metrics":{"inputTokens":9100,"outputTokens":40,"cacheReadTokens":8000,"cacheWriteTokens":1000,"cost":0.0072}}]}"#;
    let (rows, _) = read(&Cline, &path, text, None);
    let counters = rows.claims[0].claim.counters;
    assert_eq!((counters.input, counters.cache_read, counters.cache_write_5m), (Some(100), Some(8000), Some(1000)));
    assert_eq!(rows.sessions.keys().collect::<Vec<_>>(), ["s_ab"]);
}
