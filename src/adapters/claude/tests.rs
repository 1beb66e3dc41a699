//! Reads the fixtures in `fixtures/claude` and checks what the adapter makes of them: the totals of `expected.json`, with
//! a ledger of ten lines in place of the lake's, and the columns that matter per case.

mod damage;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use arrow::array::{ArrayRef, TimestampMicrosecondArray};
use arrow::util::display::{ArrayFormatter, FormatOptions};

use super::ClaudeCode;
use crate::adapters::SourceAdapter;
use crate::model::rows::PlacedClaim;
use crate::model::tables::{
    ISSUES, MESSAGES, RECORD_COLUMNS, TOOL_CALLS, TOOL_RESULTS, TableColumns, TableSpec, USAGE_COPIES,
};
use crate::model::{Counters, RequestKey, Rows, TitleRank};
use crate::source::{Checkpoint, ReadLimits, Roots, Source};

const SESSION: &str = "11111111-1111-4111-8111-111111111111";

/// Bounds of a read long after the fixtures were written, so that their ends are final.
fn limits(slice_bytes: u64) -> ReadLimits {
    ReadLimits { slice_bytes, max_line_bytes: 128 << 20, now: i64::MAX }
}

fn read(source: &Source, checkpoint: Option<&Checkpoint>, slice_bytes: u64) -> (Rows, Option<Checkpoint>) {
    let mut rows = Rows::new("claude", false);
    let mut checkpoint = checkpoint.cloned();
    loop {
        let progress = ClaudeCode.read(source, checkpoint.as_ref(), &limits(slice_bytes), &mut rows).unwrap();
        checkpoint = progress.checkpoint;
        if !progress.more {
            return (rows, checkpoint);
        }
    }
}

/// Every source below `roots`, read in slices of `slice_bytes`.
fn read_all(roots: &Roots, slice_bytes: u64) -> Vec<Rows> {
    ClaudeCode.enumerate(roots).sources.iter().map(|source| read(source, None, slice_bytes).0).collect()
}

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/claude")
}

fn case(name: &str) -> Vec<Rows> {
    read_all(&Roots::at_home(&cases().join(name).join("home")), 8 << 20)
}

/// The rows of one table as texts, NULLs left out.
fn table(spec: &TableSpec, columns: &mut impl TableColumns) -> Vec<HashMap<&'static str, String>> {
    let names: Vec<&'static str> = RECORD_COLUMNS.iter().chain(spec.columns).map(|column| column.name).collect();
    let arrays: Vec<ArrayRef> = columns.finish();
    assert_eq!(names.len(), arrays.len());
    let options = FormatOptions::default();
    let cell = |array: &ArrayRef, row| {
        let text = match array.as_any().downcast_ref::<TimestampMicrosecondArray>() {
            Some(times) => times.value(row).to_string(),
            None => ArrayFormatter::try_new(array, &options).unwrap().value(row).to_string(),
        };
        array.is_valid(row).then_some(text)
    };
    let rows = arrays.first().map_or(0, |array| array.len());
    (0..rows)
        .map(|row| {
            let cells = names.iter().zip(&arrays);
            cells.filter_map(|(name, array)| Some((*name, cell(array, row)?))).collect()
        })
        .collect()
}

fn messages(rows: &mut Rows) -> Vec<HashMap<&'static str, String>> {
    table(&MESSAGES, &mut rows.messages)
}

fn claims(rows: &mut Rows) -> Vec<HashMap<&'static str, String>> {
    table(&USAGE_COPIES, &mut rows.claim_rows)
}

fn column<'r>(rows: &'r [HashMap<&'static str, String>], name: &str) -> Vec<&'r str> {
    rows.iter().map(|row| row.get(name).map_or("", String::as_str)).collect()
}

/// The claim that stands for each request; ids that are not unique world-wide are told apart by their guard.
fn settle<'a>(rows: impl Iterator<Item = &'a Rows>) -> HashMap<(RequestKey, Option<u64>), PlacedClaim> {
    let mut standing: HashMap<_, PlacedClaim> = HashMap::new();
    for placed in rows.flat_map(|rows| &rows.claims) {
        let held = standing.entry((placed.claim.request, placed.claim.guard)).or_insert(*placed);
        if placed.claim.standing > held.claim.standing {
            *held = *placed;
        }
    }
    standing
}

fn sum(standing: &HashMap<(RequestKey, Option<u64>), PlacedClaim>, of: impl Fn(Counters) -> Option<i64>) -> i64 {
    standing.values().filter_map(|placed| of(placed.claim.counters)).sum()
}

#[test]
fn every_case_has_the_totals_computed_by_hand() {
    let mut checked = 0;
    for entry in fs_err::read_dir(cases()).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.join("home").is_dir() {
            continue;
        }
        let text = fs_err::read_to_string(folder.join("expected.json")).unwrap();
        let expected: BTreeMap<String, i64> = serde_json::from_str(&text).unwrap();
        let rows = read_all(&Roots::at_home(&folder.join("home")), 8 << 20);
        let standing = settle(rows.iter());
        let count = |len: fn(&Rows) -> usize| i64::try_from(rows.iter().map(len).sum::<usize>()).unwrap();
        for (name, expected) in expected {
            let found = match name.as_str() {
                "requests" => i64::try_from(standing.len()).unwrap(),
                "input" => sum(&standing, |counters| counters.input),
                "cache_read" => sum(&standing, |counters| counters.cache_read),
                "cache_write_5m" => sum(&standing, |counters| counters.cache_write_5m),
                "cache_write_1h" => sum(&standing, |counters| counters.cache_write_1h),
                "output" => sum(&standing, |counters| counters.output),
                "web_search" => sum(&standing, |counters| counters.web_search_requests),
                "messages" => count(|rows| rows.messages.len()),
                "tool_calls" => count(|rows| rows.tool_calls.len()),
                "tool_results" => count(|rows| rows.tool_results.len()),
                "issues" => count(|rows| rows.issues.len()),
                other => panic!("{other} is no total"),
            };
            assert_eq!(found, expected, "{name} of {}", folder.display());
            checked += 1;
        }
    }
    assert!(checked > 100, "only {checked} totals were checked");
}

#[test]
fn the_whole_record_with_the_largest_output_stands() {
    let mut rows = case("growing-output").remove(0);
    let standing = settle([&rows].into_iter());
    let best = standing.values().next().unwrap().claim.standing;
    let claims = claims(&mut rows);
    assert_eq!(claims.len(), 3);
    assert_eq!(column(&claims, "count_basis"), ["incomplete_output", "incomplete_output", "exact"]);
    assert_eq!((best.class, best.rank[0]), (1, 631));
    assert_eq!(claims[2]["finish_reason"], "tool_use");
    assert_eq!(claims[2]["context_tokens"], "12903");
    assert_eq!(claims[2]["project"], "/w/app");
    assert_eq!(claims[2]["vendor"], "anthropic");
    let calls = table(&TOOL_CALLS, &mut rows.tool_calls);
    assert_eq!(calls[0]["file_path"], "/w/app/parser.rs");
    assert_eq!((calls[0]["lines_added"].as_str(), calls[0]["lines_removed"].as_str()), ("2", "1"));
    let messages = messages(&mut rows);
    assert_eq!(messages[1]["thinking_text"], "Where is it?");
    assert_eq!(messages[3]["tool_names"], "[Edit]");
    assert_eq!(messages[3]["blocks"], r#"[{"kind":"tool_use","id":"toolu_01"}]"#);
    let facts = &rows.sessions[SESSION];
    assert_eq!(facts.title, Some((TitleRank::FirstPrompt, "Fix the parser".to_owned())));
    assert_eq!(facts.project_slug.as_deref(), Some("-w-app"));
}

#[test]
fn a_response_without_an_end_is_a_lower_bound() {
    let claims = claims(&mut case("never-finished").remove(0));
    assert_eq!(column(&claims, "count_basis"), ["incomplete_output"; 2]);
}

#[test]
fn a_replayed_line_ranks_like_its_original_and_has_its_record_key() {
    let mut rows = case("fork");
    let (mut fork, mut original) = (rows.remove(1), rows.remove(0));
    for (copy, own) in fork.claims.iter().zip(&original.claims) {
        assert_eq!(copy.claim.standing, own.claim.standing);
    }
    let (fork, original) = (messages(&mut fork), messages(&mut original));
    assert_eq!(column(&fork[..4], "record_key"), column(&original[1..], "record_key"));
    assert!(column(&fork, "event_id").iter().all(|id| !column(&original, "event_id").contains(id)));
}

#[test]
fn a_subagent_is_a_session_of_its_own_and_its_copies_are_claimed_for_it() {
    let mut rows = case("subagent");
    let agent = format!("{SESSION}/agent-a1b2c3");
    let (mut main, mut own) = (rows.remove(1), rows.remove(0));
    assert_eq!(column(&claims(&mut own), "agent_type"), ["Explore"; 2]);
    let copies: Vec<_> = main.claims.iter().map(|placed| placed.claim.standing.class).collect();
    assert_eq!(copies, [1, 0, 0, 1]);
    let main_claims = claims(&mut main);
    assert_eq!(column(&main_claims, "session_id"), [SESSION, &agent, &agent, SESSION]);
    assert_eq!(main_claims[1]["count_basis"], "incomplete_output");
    for sessions in [&own.sessions, &main.sessions] {
        let facts = &sessions[&agent];
        assert_eq!(facts.parent_session_id.as_deref(), Some(SESSION));
        assert_eq!(facts.relation.as_deref(), Some("subagent"));
    }
    assert_eq!(own.sessions[&agent].title, Some((TitleRank::Generated, "Find the parser".to_owned())));
    assert_eq!(own.sessions[&agent].attributes["toolUseId"], "\"toolu_01\"");
    let results = table(&TOOL_RESULTS, &mut main.tool_results);
    assert_eq!(results[0]["duration_ms"], "56000");
    assert_eq!(results[0]["output"], "It is in parser.rs");
    let progress = &messages(&mut main)[2];
    assert_eq!(progress["kind"], "progress");
    assert!(progress["attributes"].contains(r#""tool_names":["Grep"]"#), "{}", progress["attributes"]);
    assert_eq!(messages(&mut own)[0]["kind"], "injected");
}

#[test]
fn side_calls_have_their_own_model_and_key() {
    let mut rows = case("iterations").remove(0);
    let claims = claims(&mut rows);
    let models = ["claude-sonnet-4-6", "claude-opus-4-6", "claude-sonnet-4-6"];
    assert_eq!(column(&claims[..3], "model"), models);
    assert!(claims[1]["request_key"].ends_with("#advisor_message:0"));
    assert!(claims[2]["request_key"].ends_with("#compaction:0"));
    assert_eq!(column(&claims[..3], "event_id").iter().collect::<std::collections::HashSet<_>>().len(), 3);
    assert_eq!((claims[0]["speed"].as_str(), claims[0]["inference_geo"].as_str()), ("fast", "us"));
    assert_eq!((claims[0]["effort"].as_str(), claims[0]["reasoning_tokens"].as_str()), ("high", "12"));
    let results = table(&TOOL_RESULTS, &mut rows.tool_results);
    assert_eq!(results[0]["output"], "Parsers\nhttps://example.com/p");
}

#[test]
fn the_lifetime_of_cache_writes_is_recorded_or_assumed() {
    let mut rows = case("cache-lifetimes").remove(0);
    let claims = claims(&mut rows);
    let basis = ["assumed_5m", "recorded", "assumed_5m", "assumed_5m", "assumed_5m"];
    assert_eq!(column(&claims, "cache_write_basis"), basis);
    assert_eq!(column(&claims, "cache_write_5m_tokens"), ["500", "100", "60", "0", "40"]);
    assert_eq!(column(&claims, "cache_write_1h_tokens"), ["0", "200", "30", "20", ""]);
    assert_eq!(column(&table(&ISSUES, &mut rows.issues), "kind"), ["contradiction"; 2]);
}

#[test]
fn an_error_that_the_tool_wrote_is_no_request() {
    let mut rows = case("synthetic").remove(0);
    assert!(rows.claims.is_empty());
    assert_eq!(column(&messages(&mut rows), "kind"), ["human", "error"]);
}

#[test]
fn lines_are_of_the_kind_that_wrote_them() {
    let mut rows = case("kinds").remove(0);
    let messages = messages(&mut rows);
    let kinds = "summary summary meta human injected injected summary human injected system error progress tool_result \
                 injected injected human meta meta meta meta meta";
    assert_eq!(column(&messages, "kind"), kinds.split_whitespace().collect::<Vec<_>>());
    assert_eq!(messages[7]["content_text"], "and the tests");
    assert_eq!(messages[8]["content_text"], "checked");
    assert!(!messages[8]["attributes"].contains("checked"), "{}", messages[8]["attributes"]);
    assert_eq!(messages[0]["ts_basis"], "session");
    assert_eq!(messages[15]["blocks"], r#"[{"kind":"image"},{"kind":"text"}]"#);
    let results = table(&TOOL_RESULTS, &mut rows.tool_results);
    assert_eq!((results[0]["exit_code"].as_str(), results[0]["is_error"].as_str()), ("2", "true"));
    assert_eq!(rows.sessions[SESSION].title, Some((TitleRank::Generated, "A made title".to_owned())));
}

#[test]
fn a_summary_is_the_title_of_the_session_that_has_its_record() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join(format!(".claude/projects/-w/{SESSION}.jsonl"));
    fs_err::create_dir_all(path.parent().unwrap()).unwrap();
    let line = |uuid: &str| {
        format!(r#"{{"type":"user","uuid":"{uuid}","timestamp":"2026-05-01T10:00:00Z","message":{{"content":"hi"}}}}"#)
    };
    let summary = |leaf: &str, text: &str| format!(r#"{{"type":"summary","summary":"{text}","leafUuid":"{leaf}"}}"#);
    let lines = [summary("u2", "Early"), summary("x", "Of another"), line("u1"), summary("u1", "Late"), line("u2")];
    let roots = Roots::at_home(home.path());
    for cut in 1..=lines.len() {
        let mut title = None;
        let mut checkpoint = None;
        for end in [cut, lines.len()] {
            fs_err::write(&path, lines[..end].join("\n") + "\n").unwrap();
            let source = ClaudeCode.enumerate(&roots).sources.remove(0);
            let (rows, next) = read(&source, checkpoint.as_ref(), 8 << 20);
            checkpoint = next;
            title = rows.sessions.get(SESSION).and_then(|facts| facts.title.clone()).or(title);
        }
        assert_eq!(title, Some((TitleRank::Summary, "Late".to_owned())), "cut after {cut} lines");
    }
}

#[test]
fn subagents_of_every_era_have_the_same_kind_of_session_id() {
    let rows = case("subagent-eras");
    let sessions: Vec<&str> = rows.iter().flat_map(|rows| rows.sessions.keys()).map(String::as_str).collect();
    let expected = ["", "/agent-6c6c", "/agent-5e5e", "/agent-4f4f4f4f"].map(|agent| format!("{SESSION}{agent}"));
    let sorted = |mut texts: Vec<&str>| -> Vec<String> {
        texts.sort_unstable();
        texts.into_iter().map(str::to_owned).collect()
    };
    assert_eq!(sorted(sessions), sorted(expected.iter().map(String::as_str).collect()));
    let workflow = rows.iter().find_map(|rows| rows.sessions.get(&expected[2])).unwrap();
    assert_eq!(workflow.attributes["workflow_run_id"], "\"run-7\"");
}

#[test]
fn a_recorded_cost_is_kept_to_the_last_digit() {
    let claims = claims(&mut case("oldest").remove(0));
    assert_eq!(claims[0]["reported_cost"], "0.015172500000");
    assert_eq!((claims[0]["reported_cost_unit"].as_str(), claims[0]["latency_ms"].as_str()), ("USD", "2100"));
    assert_eq!(claims[1]["is_sidechain"], "true");
}

#[test]
fn reading_in_small_slices_gives_the_same_rows() {
    for entry in fs_err::read_dir(cases()).unwrap() {
        let roots = Roots::at_home(&entry.unwrap().path().join("home"));
        for (mut whole, mut parts) in read_all(&roots, 8 << 20).into_iter().zip(read_all(&roots, 1)) {
            assert_eq!(messages(&mut whole), messages(&mut parts));
            assert_eq!(claims(&mut whole), claims(&mut parts));
            assert_eq!(table(&ISSUES, &mut whole.issues), table(&ISSUES, &mut parts.issues));
            assert_eq!(whole.sessions, parts.sessions);
        }
    }
}

#[test]
fn the_raw_line_is_kept_only_where_it_is_wanted() {
    let roots = Roots::at_home(&cases().join("growing-output/home"));
    let source = ClaudeCode.enumerate(&roots).sources.remove(0);
    let first = fs_err::read_to_string(&source.path).unwrap().lines().next().unwrap().to_owned();
    let mut rows = Rows::new("claude", true);
    ClaudeCode.read(&source, None, &limits(8 << 20), &mut rows).unwrap();
    assert_eq!(messages(&mut rows)[0]["raw"], first);
    assert!(!messages(&mut read(&source, None, 8 << 20).0)[0].contains_key("raw"));
}

/// The totals of the real sessions that issue and docs speak of; they are no part of the project.
#[test]
fn the_corpus_has_the_totals_that_others_report() {
    let Some(corpus) = std::env::var_os("AGENTLAKE_CORPUS").map(PathBuf::from) else {
        println!("skipped: AGENTLAKE_CORPUS names no folder of real sessions");
        return;
    };
    let rows = read_all(&Roots::at_home(&corpus.join("home")), 8 << 20);
    let standing = settle(rows.iter());
    assert_eq!(standing.len(), 3_871);
    assert_eq!(sum(&standing, |counters| counters.input), 206_663);
    assert_eq!(sum(&standing, |counters| counters.output), 1_183_199);
    assert_eq!(sum(&standing, |counters| counters.cache_read), 458_370_055);
    assert_eq!(
        sum(&standing, |counters| counters.cache_write_5m) + sum(&standing, |counters| counters.cache_write_1h),
        18_493_010
    );
    for part in ["growth/claude", "fixtures/claude"] {
        let mut roots = Roots::default();
        roots.add("claude", corpus.join(part));
        let rows = read_all(&roots, 8 << 20);
        assert!(!rows.is_empty());
        let lines: usize = rows.iter().map(|rows| rows.messages.len()).sum();
        assert!(lines > rows.len(), "{lines} lines in {} files of {part}", rows.len());
    }
}
