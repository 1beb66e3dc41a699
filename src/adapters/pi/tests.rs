//! Sessions through the adapter: what counts, what names a call, and what a rewritten file keeps.

use std::path::{Path, PathBuf};

use super::{OpenClaw, Pi};
use crate::adapters::SourceAdapter;
use crate::model::Rows;
use crate::model::tables::TableColumns as _;
use crate::source::{FileStat, ReadLimits, Source, SourceKind};

fn read(adapter: &dyn SourceAdapter, lines: &[&str]) -> Rows {
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = &folder.path().join("x.jsonl");
    fs_err::write(path, lines.join("\n") + "\n").unwrap();
    let stat = FileStat::of(&fs_err::metadata(path).unwrap());
    let slug = adapter.info().slug;
    let source =
        Source { provider: slug, path: path.to_owned(), kind: SourceKind::Lines, stat, family: PathBuf::new() };
    let limits = ReadLimits { slice_bytes: 1 << 20, max_line_bytes: 1 << 20, now: stat.mtime + 3_600_000_000 };
    let mut rows = Rows::new(slug, false);
    adapter.read(&source, None, &limits, &mut rows).unwrap();
    rows
}

const HEAD: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-05-05T06:00:00.000Z","cwd":"/w"}"#;

#[test]
fn cache_writes_are_split_by_lifetime() {
    let rows = read(
        &Pi,
        &[
            HEAD,
            r#"{"type":"message","id":"c","timestamp":"2026-05-05T06:00:03.000Z","message":{"role":"assistant","content":[],"provider":"anthropic","model":"claude-sonnet-4-6","responseId":"msg_P","usage":{"input":10,"output":40,"cacheRead":2000,"cacheWrite":300,"cacheWrite1h":100,"reasoning":8,"totalTokens":2350},"stopReason":"toolUse"}}"#,
        ],
    );
    let counters = rows.claims[0].claim.counters;
    assert_eq!((counters.cache_write_5m, counters.cache_write_1h), (Some(200), Some(100)));
    assert_eq!((counters.output, counters.reasoning), (Some(40), Some(8)));
    assert_eq!(rows.sessions.keys().collect::<Vec<_>>(), ["s"]);
}

#[test]
fn an_entry_that_got_a_new_id_is_the_same_record() {
    let entry = |id: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-05-05T06:00:03.000Z","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    let ids = |id: &str| {
        let mut rows = read(&Pi, &[HEAD, &entry(id)]);
        let columns = rows.messages.finish();
        format!("{:?}", columns[0])
    };
    assert_eq!(ids("0000000a"), ids("ffff0000"));
}

#[test]
fn messages_of_the_gateway_and_failures_without_tokens_are_no_requests() {
    let message = |model: &str, stop: &str, output: u32| {
        format!(
            r#"{{"type":"message","id":"c","timestamp":"2026-05-05T06:00:03.000Z","message":{{"role":"assistant","content":"x","model":"{model}","usage":{{"input":0,"output":{output}}},"stopReason":"{stop}"}}}}"#
        )
    };
    for (model, stop, output, claims) in [
        ("delivery-mirror", "stop", 0, 0),
        ("m", "error", 0, 0),
        ("m", "error", 3, 1),
        ("m", "aborted", 0, 0),
        ("m", "stop", 0, 1),
    ] {
        let rows = read(&OpenClaw, &[HEAD, &message(model, stop, output)]);
        assert_eq!((rows.messages.len(), rows.claims.len()), (2, claims), "{model} {stop} {output}");
    }
}
