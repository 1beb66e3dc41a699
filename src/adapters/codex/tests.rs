//! Tests of the adapter over whole files: the fixtures with their totals, every split of them into runs, hostile bytes,
//! and, where `AGENTLAKE_CORPUS` names a folder of real files, those.

mod corpus;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow::array::{Array, ArrayRef, Int64Array, StringArray};

use super::Codex;
use crate::adapters::SourceAdapter;
use crate::model::claim::Counters;
use crate::model::tables::{
    ISSUES, MESSAGES, RECORD_COLUMNS, TOOL_CALLS, TOOL_RESULTS, TableColumns, TableSpec, USAGE_COPIES,
};
use crate::model::{RequestKey, Rows, SessionFacts, Standing};
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

/// A run long after every fixture was written, so that files are final.
const NOW: i64 = 4_000_000_000_000_000;

fn limits(slice_bytes: u64) -> ReadLimits {
    ReadLimits { slice_bytes, max_line_bytes: 64 << 20, now: NOW }
}

/// Rows of one table: column name to values as text.
type Table = Vec<BTreeMap<&'static str, String>>;

fn table(spec: &TableSpec, columns: &mut impl TableColumns) -> Table {
    let arrays = columns.finish();
    let names: Vec<&'static str> = RECORD_COLUMNS.iter().chain(spec.columns).map(|column| column.name).collect();
    let len = arrays.first().map_or(0, Array::len);
    (0..len)
        .map(|row| {
            let values = names.iter().zip(&arrays).filter_map(|(name, array)| Some((*name, value(array, row)?)));
            values.collect()
        })
        .collect()
}

fn value(array: &ArrayRef, row: usize) -> Option<String> {
    if array.is_null(row) {
        return None;
    }
    let any = array.as_any();
    if let Some(texts) = any.downcast_ref::<StringArray>() {
        return Some(texts.value(row).to_owned());
    }
    if let Some(numbers) = any.downcast_ref::<Int64Array>() {
        return Some(numbers.value(row).to_string());
    }
    Some(format!("{:?}", array.slice(row, 1)))
}

/// Everything that was read of one or more sources.
#[derive(Debug, Default, PartialEq)]
struct Read {
    messages: Table,
    tool_calls: Table,
    tool_results: Table,
    issues: Table,
    claims: Vec<(RequestKey, Standing, Counters, bool)>,
    claim_rows: Table,
    sessions: BTreeMap<String, SessionFacts>,
}

impl Read {
    fn absorb(&mut self, mut rows: Rows) {
        self.messages.extend(table(&MESSAGES, &mut rows.messages));
        self.tool_calls.extend(table(&TOOL_CALLS, &mut rows.tool_calls));
        self.tool_results.extend(table(&TOOL_RESULTS, &mut rows.tool_results));
        self.issues.extend(table(&ISSUES, &mut rows.issues));
        self.claim_rows.extend(table(&USAGE_COPIES, &mut rows.claim_rows));
        let claims = rows.claims.iter().map(|placed| &placed.claim);
        self.claims.extend(claims.map(|claim| (claim.request, claim.standing, claim.counters, claim.never.is_some())));
        for (id, facts) in rows.sessions {
            self.sessions.entry(id).or_default().absorb(facts);
        }
    }

    /// What a ledger makes of the claims: the greatest standing of each request, once.
    fn counted(&self) -> (usize, Counters) {
        let mut standing: BTreeMap<RequestKey, (Standing, Counters)> = BTreeMap::new();
        for &(request, rank, counters, never) in &self.claims {
            if !never && standing.get(&request).is_none_or(|(held, _)| rank > *held) {
                standing.insert(request, (rank, counters));
            }
        }
        let sum = standing.values().fold(Counters::default(), |sum, (_, counters)| {
            let mut total = sum.to_array();
            for (slot, value) in total.iter_mut().zip(counters.to_array()) {
                *slot = slot.map_or(value, |slot| Some(slot + value.unwrap_or(0)));
            }
            Counters::from_array(total)
        });
        (standing.len(), sum)
    }
}

/// Reads a source to its end in slices of a size.
fn read_source(source: &Source, slice_bytes: u64) -> Read {
    let mut read = Read::default();
    let mut checkpoint: Option<Checkpoint> = None;
    loop {
        let mut rows = Rows::new("codex", false);
        let progress = Codex.read(source, checkpoint.as_ref(), &limits(slice_bytes), &mut rows).unwrap();
        assert!(!progress.reread, "{} was not recognised", source.path.display());
        read.absorb(rows);
        checkpoint = progress.checkpoint;
        if !progress.more {
            return read;
        }
    }
}

fn sources_at_home(home: &Path) -> Vec<Source> {
    Codex.enumerate(&Roots::at_home(home)).sources
}

fn sources_below(folder: &Path) -> Vec<Source> {
    let mut roots = Roots::default();
    roots.add("codex", folder.to_owned());
    Codex.enumerate(&roots).sources
}

/// Folders of all fixtures.
fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codex");
    let mut cases: Vec<PathBuf> = fs_err::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    assert!(cases.len() >= 15, "fixtures are missing");
    cases
}

/// The home of a case, or the homes of its steps.
fn homes(case: &Path) -> Vec<PathBuf> {
    let steps = (1..).map(|step| case.join(format!("step-{step}/home"))).take_while(|home| home.exists());
    let homes: Vec<PathBuf> = steps.collect();
    if homes.is_empty() { vec![case.join("home")] } else { homes }
}

fn unique(table: &Table) -> i64 {
    integer(table.iter().map(|row| &row["event_id"]).collect::<std::collections::HashSet<_>>().len())
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).unwrap()
}

#[test]
fn every_fixture_has_the_totals_that_were_computed_by_hand() {
    for case in cases() {
        let mut read = Read::default();
        for source in homes(&case).iter().flat_map(|home| sources_at_home(home)) {
            let mut rows = Rows::new("codex", false);
            Codex.read(&source, None, &limits(1 << 30), &mut rows).unwrap();
            read.absorb(rows);
        }
        let (requests, sum) = read.counted();
        let expected: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&fs_err::read(case.join("expected.json")).unwrap()).unwrap();
        for (name, value) in expected {
            let found = match name.as_str() {
                "requests" => Some(integer(requests)),
                "input" => sum.input,
                "cache_read" => sum.cache_read,
                "cache_write_5m" => sum.cache_write_5m,
                "cache_write_1h" => sum.cache_write_1h,
                "output" => sum.output,
                "reasoning" => sum.reasoning,
                "messages" => Some(unique(&read.messages)),
                "tool_calls" => Some(unique(&read.tool_calls)),
                "tool_results" => Some(unique(&read.tool_results)),
                "issues" => Some(unique(&read.issues)),
                other => panic!("{}: what is {other}?", case.display()),
            };
            assert_eq!(found.unwrap_or(0), value.as_i64().unwrap(), "{name} of {}\n{read:#?}", case.display());
        }
    }
}

/// Reads a file that grows: up to each of `cuts`, then whole.
fn read_grown(path: &Path, bytes: &[u8], cuts: &[usize]) -> Read {
    let mut read = Read::default();
    let mut checkpoint: Option<Checkpoint> = None;
    for &cut in cuts.iter().chain([&bytes.len()]) {
        fs_err::write(path, &bytes[..cut]).unwrap();
        let source = sources_below(path).pop().unwrap();
        loop {
            let mut rows = Rows::new("codex", false);
            // A run right after the writing: an unfinished last line waits.
            let now = if cut == bytes.len() { NOW } else { source.stat.mtime };
            let limits = ReadLimits { now, ..limits(1 << 30) };
            let progress = Codex.read(&source, checkpoint.as_ref(), &limits, &mut rows).unwrap();
            assert!(!progress.reread);
            read.absorb(rows);
            checkpoint = progress.checkpoint.or(checkpoint);
            if !progress.more {
                break;
            }
        }
    }
    read
}

#[test]
fn any_split_of_a_file_into_runs_gives_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    for case in cases() {
        for source in homes(&case).iter().flat_map(|home| sources_at_home(home)) {
            if source.path.extension().is_some_and(|extension| extension == "zst") {
                continue;
            }
            let bytes = fs_err::read(&source.path).unwrap();
            let path = folder.path().join(source.path.file_name().unwrap());
            let whole = read_grown(&path, &bytes, &[]);
            let ends: Vec<usize> =
                bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1).collect();
            let line_by_line = read_grown(&path, &bytes, &ends);
            assert_eq!(line_by_line, whole, "{}", source.path.display());
            for cut in (0..bytes.len()).step_by(97) {
                assert_eq!(read_grown(&path, &bytes, &[cut]), whole, "{} cut at {cut}", source.path.display());
            }
        }
    }
}

#[test]
fn damaged_files_never_panic_and_never_count_below_zero() {
    let folder = tempfile::tempdir().unwrap();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random % bound as u64).unwrap()
    };
    let replacements: [&[u8]; 12] = [
        b"null",
        b"-1",
        b"1e400",
        b"[]",
        b"{}",
        b"\"\"",
        b"\xff",
        b"\0\0",
        b"\n",
        b"18446744073709551616",
        b"\"\\ud800\"",
        b"true",
    ];
    for case in cases() {
        for source in homes(&case).iter().flat_map(|home| sources_at_home(home)) {
            let bytes = fs_err::read(&source.path).unwrap();
            for round in 0..40 {
                let mut damaged = bytes.clone();
                for _ in 0..=next(6) {
                    let start = next(damaged.len());
                    let end = (start + next(24)).min(damaged.len());
                    damaged.splice(start..end, replacements[next(replacements.len())].iter().copied());
                }
                let path = folder.path().join(format!("{round}-{}", source.path.file_name().unwrap().display()));
                fs_err::write(&path, damaged).unwrap();
                let source = sources_below(&path).pop().unwrap();
                let mut rows = Rows::new("codex", true);
                // A damaged compressed file is an error, which the caller reports.
                let _ = Codex.read(&source, None, &limits(1 << 30), &mut rows);
                for placed in &rows.claims {
                    assert!(placed.claim.counters.to_array().iter().flatten().all(|&count| count >= 0));
                }
            }
        }
    }
}

#[test]
fn the_named_columns_of_a_thread_are_filled() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codex/newer-fields/home");
    let read = read_source(&sources_at_home(&home)[0], 1 << 30);
    let claim = &read.claim_rows[0];
    for (column, value) in [
        ("model", "gpt-5.6-sol"),
        ("vendor", "openai"),
        ("service_tier", "priority"),
        ("speed", "fast"),
        ("effort", "medium"),
        ("cache_write_basis", "assumed_5m"),
        ("context_tokens", "1000"),
        ("grain", "request"),
        ("project", "/w/app"),
        ("git_branch", "main"),
    ] {
        assert_eq!(claim.get(column).map(String::as_str), Some(value), "{column}");
    }
    let calls: Vec<_> = read.tool_calls.iter().map(|call| (&*call["name"], call.get("mcp_server"))).collect();
    assert_eq!(calls, [("apply_patch", None), ("mcp__docs__get", Some(&"docs".to_owned())), ("web_search", None)]);
    assert_eq!(read.tool_calls[0]["file_path"], "src/a.rs");
    assert_eq!((&*read.tool_calls[0]["lines_added"], &*read.tool_calls[0]["lines_removed"]), ("2", "1"));
    assert_eq!(read.tool_calls[1]["file_path"], "a.md");
    assert_eq!((&*read.tool_results[0]["exit_code"], &*read.tool_results[0]["duration_ms"]), ("0", "100"));
    assert_eq!(read.tool_results[1]["duration_ms"], "250");
    assert!(read.tool_results[1]["is_error"].contains("true"), "the event told that the call failed");
    let (id, facts) = read.sessions.iter().next().unwrap();
    assert_eq!(id, "019e0000-0000-7000-8000-000000000090");
    assert_eq!(facts.title.as_ref().map(|(_, title)| title.as_str()), Some("Patch the parser"));
    assert_eq!(facts.repo.as_deref(), Some("https://example.com/w/app.git"));
    assert_eq!(facts.attributes["originator"], "\"codex_exec\"");
}

#[test]
fn people_are_told_from_codex_and_parents_from_children() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codex");
    let kinds = |case: &str| {
        let mut kinds = Vec::new();
        for source in sources_at_home(&fixtures.join(case).join("home")) {
            let read = read_source(&source, 1 << 30);
            kinds.extend(read.messages.iter().filter(|row| row["role"] == "user").map(|row| row["kind"].clone()));
        }
        kinds
    };
    assert_eq!(kinds("reemitted-counter"), ["injected", "human"]);
    assert_eq!(kinds("bare-era"), ["injected", "human"]);
    assert_eq!(kinds("subagent-with-boundary"), ["human", "injected"]);

    let source = sources_at_home(&fixtures.join("subagent-with-boundary/home")).pop().unwrap();
    let read = read_source(&source, 1 << 30);
    let facts = &read.sessions["019e0000-0000-7000-8000-000000000013"];
    let parent = Some("019e0000-0000-7000-8000-000000000010");
    assert_eq!(facts.relation.as_deref(), Some("subagent"));
    assert_eq!((facts.parent_session_id.as_deref(), facts.root_session_id.as_deref()), (parent, parent));
    assert_eq!(read.claim_rows.last().unwrap()["agent_type"], "explorer");
    let source = sources_at_home(&fixtures.join("bare-era/home")).pop().unwrap();
    let facts = read_source(&source, 1 << 30).sessions.pop_first().unwrap().1;
    assert_eq!(
        (facts.project.as_deref(), facts.title.map(|title| title.1).as_deref()),
        (Some("/w/old"), Some("what is here?"))
    );
}

#[test]
fn unreported_responses_and_unproven_copies_say_so() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/codex");
    let claims = |case: &str| {
        let source = sources_at_home(&fixtures.join(case).join("home")).pop().unwrap();
        read_source(&source, 1 << 30).claim_rows
    };
    let rest = &claims("unreported-response")[2];
    assert_eq!((&*rest["model"], &*rest["output_tokens"]), ("gpt-5.4", "33"));
    assert!(rest["attributes"].contains("\"unreported\":true"));
    let rows = claims("fork-without-parent");
    let flagged: Vec<bool> = rows.iter().map(|row| row["attributes"].contains("maybe_copied")).collect();
    assert_eq!(flagged, [true, true, false, false]);
}
