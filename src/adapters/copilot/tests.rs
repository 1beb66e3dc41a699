//! Sessions of the CLI through the adapter: what messages and sums of a session come to.

use std::path::PathBuf;

use super::Copilot;
use crate::adapters::SourceAdapter;
use crate::model::Rows;
use crate::model::tables::{TableColumns as _, UsageReader};
use crate::source::{FileStat, ReadLimits, Source, SourceKind};

/// A claim: request key, input, cache reads, output.
type Claimed = (String, Option<i64>, Option<i64>, Option<i64>);

/// Claims of a log.
fn claims(events: &[String]) -> Vec<Claimed> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s.jsonl");
    fs_err::write(&path, events.join("\n") + "\n").unwrap();
    let stat = FileStat::of(&fs_err::metadata(&path).unwrap());
    let source = Source { provider: "copilot", path, kind: SourceKind::Lines, stat, family: PathBuf::new() };
    let limits = ReadLimits { slice_bytes: 1 << 20, max_line_bytes: 1 << 20, now: stat.mtime + 3_600_000_000 };
    let mut rows = Rows::new("copilot", false);
    Copilot.read(&source, None, &limits, &mut rows).unwrap();
    let reader = UsageReader::new(&rows.claim_rows.finish());
    let count = rows.claims.len();
    let row = |at| {
        let row = reader.as_ref().unwrap().row(at);
        (row.request_key.unwrap().to_owned(), row.input_tokens, row.cache_read_tokens, row.output_tokens)
    };
    (0..count).map(row).collect()
}

fn message(id: &str, call: &str, output: i64) -> String {
    format!(
        r#"{{"type":"assistant.message","data":{{"messageId":"{id}","apiCallId":"{call}","model":"m","content":"x","outputTokens":{output}}},"id":"{id}","timestamp":"2026-05-01T08:00:09.000Z"}}"#
    )
}

fn shutdown(id: &str, count: i64, input: i64, cached: i64, output: i64) -> String {
    format!(
        r#"{{"type":"session.shutdown","data":{{"modelMetrics":{{"m":{{"requests":{{"count":{count},"cost":1}},"usage":{{"inputTokens":{input},"outputTokens":{output},"cacheReadTokens":{cached},"cacheWriteTokens":0}}}}}}}},"id":"{id}","timestamp":"2026-05-01T08:01:00.000Z"}}"#
    )
}

#[test]
fn a_sum_of_one_call_completes_the_call() {
    let claims = claims(&[message("a", "c", 5), shutdown("x", 1, 100, 40, 6)]);
    assert_eq!(claims, [("s:c".to_owned(), None, None, Some(5)), ("s:c".to_owned(), Some(60), Some(40), Some(6))]);
}

#[test]
fn what_a_sum_has_beyond_its_calls_is_one_row_more_and_legs_are_told_apart() {
    let claims = claims(&[
        message("a", "c1", 5),
        message("b", "c2", 7),
        shutdown("x", 2, 100, 40, 20),
        message("d", "c3", 2),
        shutdown("y", 3, 130, 50, 22),
        message("e", "c4", 1),
        message("f", "c5", 1),
        shutdown("z", 2, 10, 0, 2),
    ]);
    let beyond: Vec<_> = claims.iter().filter(|claim| claim.1.is_some()).cloned().collect();
    assert_eq!(
        beyond,
        [
            ("s:shutdown:x:m".to_owned(), Some(60), Some(40), Some(8)),
            ("s:c3".to_owned(), Some(20), Some(10), Some(2)),
            ("s:shutdown:z:m".to_owned(), Some(10), Some(0), Some(0)),
        ],
        "the second sum is of all legs; the third is lower, so it began anew"
    );
}

#[test]
fn a_sum_of_zeros_beside_output_is_unknown() {
    let claims = claims(&[message("a", "c", 5), shutdown("x", 1, 0, 0, 0)]);
    assert_eq!(claims, [("s:c".to_owned(), None, None, Some(5))]);
    let claims = self::claims(&[message("a", "c", 0), shutdown("x", 1, 0, 0, 0)]);
    assert_eq!(claims.last().unwrap().1, Some(0));
}
