//! The paths that a cold run spends its time on, each alone: splitting lines, reading with each adapter, settling claims,
//! encoding Parquet. The input is made here, in the shape and size of real sessions; nothing is read from disk but it.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::pedantic,
    reason = "a benchmark may fail by panicking"
)]

use std::collections::BTreeMap;
use std::hint::black_box;

use agentlake::adapters::{SourceAdapter, by_slug};
use agentlake::lake::wave::ReadSource;
use agentlake::lake::{Layout, State, parts, settle};
use agentlake::model::Rows;
use agentlake::source::lines::Scanner;
use agentlake::source::{ReadLimits, Roots, Source};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

/// Turns of the made-up sessions.
const TURNS: usize = 500;

/// A Claude Code transcript: a prompt, two block lines of one response, a tool result per turn.
fn transcript() -> String {
    let text = "The quick brown fox jumps over the lazy dog.\\n".repeat(20);
    let mut lines = String::new();
    for turn in 0..TURNS {
        let time = format!("2026-05-01T{:02}:{:02}:00.000Z", 1 + turn / 60, turn % 60);
        let common = format!(
            r#""isSidechain":false,"cwd":"/w/app","sessionId":"11111111-1111-4111-8111-111111111111","version":"2.1.200","gitBranch":"main","timestamp":"{time}""#
        );
        let usage = r#""usage":{"input_tokens":3,"cache_creation_input_tokens":900,"cache_read_input_tokens":12000,"output_tokens":210,"cache_creation":{"ephemeral_5m_input_tokens":0,"ephemeral_1h_input_tokens":900},"service_tier":"standard"}"#;
        let message = format!(
            r#""id":"msg_{turn}","type":"message","role":"assistant","model":"claude-sonnet-4-6","stop_reason":"tool_use",{usage}"#
        );
        lines += &format!(
            r#"{{"parentUuid":null,{common},"type":"user","message":{{"role":"user","content":"{text}"}},"uuid":"u{turn}-1"}}
{{"parentUuid":"u{turn}-1",{common},"type":"assistant","requestId":"req_{turn}","message":{{{message},"content":[{{"type":"text","text":"{text}"}}]}},"uuid":"u{turn}-2"}}
{{"parentUuid":"u{turn}-2",{common},"type":"assistant","requestId":"req_{turn}","message":{{{message},"content":[{{"type":"tool_use","id":"toolu_{turn}","name":"Bash","input":{{"command":"ls"}}}}]}},"uuid":"u{turn}-3"}}
{{"parentUuid":"u{turn}-3",{common},"type":"user","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"toolu_{turn}","content":"{text}","is_error":false}}]}},"uuid":"u{turn}-4"}}
"#
        );
    }
    lines
}

/// A Codex rollout: a prompt, a call with its output, a counter per turn.
fn rollout() -> String {
    let text = "The quick brown fox jumps over the lazy dog.\\n".repeat(20);
    let id = "019e0000-0000-7000-8000-000000000001";
    let mut lines = format!(
        "{{\"timestamp\":\"2026-05-02T00:00:00.000Z\",\"type\":\"session_meta\",\"payload\":{{\"id\":\"{id}\",\"timestamp\":\"2026-05-02T00:00:00.000Z\",\"cwd\":\"/w/app\",\"cli_version\":\"0.140.0\",\"source\":\"cli\"}}}}\n"
    );
    for turn in 0..TURNS {
        let time = format!("2026-05-02T{:02}:{:02}:00.000Z", 1 + turn / 60, turn % 60);
        let (total, last) = ((turn + 1) * 1000, 1000);
        lines += &format!(
            r#"{{"timestamp":"{time}","type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}
{{"timestamp":"{time}","type":"response_item","payload":{{"type":"function_call","name":"shell","arguments":"{{\"command\":[\"ls\"]}}","call_id":"call_{turn}"}}}}
{{"timestamp":"{time}","type":"response_item","payload":{{"type":"function_call_output","call_id":"call_{turn}","output":"{text}"}}}}
{{"timestamp":"{time}","type":"event_msg","payload":{{"type":"token_count","info":{{"total_token_usage":{{"input_tokens":{total},"cached_input_tokens":0,"output_tokens":{total},"total_tokens":{total}}},"last_token_usage":{{"input_tokens":{last},"cached_input_tokens":0,"output_tokens":{last},"total_tokens":{last}}}}}}}}}
"#
        );
    }
    lines
}

const LIMITS: ReadLimits = ReadLimits { slice_bytes: 1 << 30, max_line_bytes: 1 << 27, now: i64::MAX };

/// A session file in a temporary home, and the adapter that reads it.
struct Session {
    _home: tempfile::TempDir,
    adapter: &'static dyn SourceAdapter,
    source: Source,
}

impl Session {
    fn new(provider: &'static str, path: &str, text: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join(path);
        fs_err::create_dir_all(path.parent().unwrap()).unwrap();
        fs_err::write(&path, text).unwrap();
        let adapter = by_slug(provider).unwrap();
        let source = adapter.enumerate(&Roots::at_home(home.path())).sources.remove(0);
        Self { _home: home, adapter, source }
    }

    fn read(&self) -> ReadSource {
        let mut rows = Rows::new(self.source.provider, false);
        let progress = self.adapter.read(&self.source, None, &LIMITS, &mut rows).unwrap();
        ReadSource::new(self.source.path.clone(), "lines", None, progress.checkpoint.unwrap(), rows)
    }
}

fn claude() -> Session {
    Session::new("claude", ".claude/projects/-w-app/11111111-1111-4111-8111-111111111111.jsonl", &transcript())
}

fn codex() -> Session {
    let name = "rollout-2026-05-02T00-00-00-019e0000-0000-7000-8000-000000000001.jsonl";
    Session::new("codex", &format!(".codex/sessions/2026/05/02/{name}"), &rollout())
}

fn reading(criterion: &mut Criterion) {
    let text = transcript();
    let mut group = criterion.benchmark_group("read");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("lines and JSON alone", |bencher| {
        let mut scanner = Scanner::default();
        bencher.iter(|| scanner.scan(black_box(text.as_bytes()), 0, true, |_| true));
    });
    let session = claude();
    group.bench_function("claude", |bencher| bencher.iter(|| session.read()));
    let session = codex();
    group.throughput(Throughput::Bytes(session.source.stat.size));
    group.bench_function("codex", |bencher| bencher.iter(|| session.read()));
    group.finish();
}

fn settling(criterion: &mut Criterion) {
    let lake = tempfile::tempdir().unwrap();
    let layout = Layout::new(lake.path());
    layout.create().unwrap();
    let state = State::open(&layout).unwrap();
    let sources = [claude().read()];
    let mut group = criterion.benchmark_group("settle");
    group.throughput(Throughput::Elements(sources[0].claims.len() as u64));
    group.bench_function("claims of one file, empty ledger", |bencher| {
        bencher.iter(|| settle::settle(black_box(&sources), &state).unwrap());
    });
    group.finish();
}

fn encoding(criterion: &mut Criterion) {
    let mut source = claude().read();
    let columns = source.tables.remove("messages").unwrap();
    let rows = columns[0].len() as u64;
    let table = parts::TableRows { provider: "claude", path: "session.jsonl".to_owned(), host: None, columns };
    let tables = BTreeMap::from([("messages", vec![table])]);
    let mut group = criterion.benchmark_group("write");
    group.throughput(Throughput::Elements(rows));
    group.bench_function("messages of one file, synced", |bencher| {
        bencher.iter_with_large_drop(|| {
            let lake = tempfile::tempdir().unwrap();
            let layout = Layout::new(lake.path());
            parts::write(&layout, "0123456789abcdef", 1, "host", &tables).unwrap();
            lake
        });
    });
    group.finish();
}

criterion_group!(benches, reading, settling, encoding);
criterion_main!(benches);
