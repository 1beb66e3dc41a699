//! What the views make of rows: requests from their revisions, sessions from their newest batch, calls with their results.

use super::mock::{MockLake, Usage, day, union};
use crate::model::tables::SCHEMA_VERSION;
use crate::warehouse::{Filters, Question};

const OPUS: Usage = Usage { ts: "2026-08-01 12:00:00", model: "claude-opus-5", rest: "" };

/// A row of the request `r` with a revision and counters.
fn revision(rev: i64, status: &str, rest: &str) -> String {
    format!(
        "SELECT * REPLACE ('r{rev}{status}' AS event_id, {rev} AS rev, '{status}' AS status), {rest} FROM ({})",
        OPUS.select("r")
    )
}

#[test]
fn a_request_is_the_sum_of_its_rows_with_the_attributes_of_the_newest() {
    let mut lake = MockLake::new();
    lake.part(
        "usage",
        "claude",
        "2026-08-01",
        1,
        &revision(0, "counted", "10 AS input_tokens, 1 AS output_tokens, 'u0' AS message_uuid"),
    )
    .part(
        "usage",
        "claude",
        "2026-08-01",
        2,
        &revision(
            1,
            "growth",
            "0 AS input_tokens, 7 AS output_tokens, 'u1' AS message_uuid, 'end_turn' AS finish_reason",
        ),
    )
    .part(
        "usage",
        "claude",
        "2026-08-01",
        3,
        &revision(2, "growth", "0 AS input_tokens, -2 AS output_tokens, NULL AS message_uuid"),
    );
    let rows = lake.sql(
        "SELECT request_key, input_tokens, output_tokens, cache_read_tokens, message_uuid, finish_reason, ts_utc, batch FROM requests",
    );
    assert_eq!(rows, ["r,10,6,,,,2026-08-01 12:00:00,3"]);
}

#[test]
fn a_reversal_hands_the_request_to_its_successor() {
    let mut lake = MockLake::new();
    let successor =
        "SELECT * REPLACE ('s2' AS session_id, '2026-08-03 09:00:00Z' AS ts, 'claude-sonnet-5' AS model) FROM";
    let again = format!("{successor} ({})", revision(2, "counted", "10 AS input_tokens, 4 AS output_tokens"));
    lake.part("usage", "claude", "2026-08-01", 1, &revision(0, "counted", "10 AS input_tokens, 1 AS output_tokens"))
        .part("usage", "claude", "2026-08-01", 2, &revision(1, "reversal", "-10 AS input_tokens, -1 AS output_tokens"))
        .part("usage", "claude", "2026-08-03", 2, &again);
    let sql = "SELECT session_id, model, date, input_tokens, output_tokens FROM requests";
    assert_eq!(lake.sql(sql), ["s2,claude-sonnet-5,2026-08-03,10,4"]);
    // Whichever of the two days is looked at, the request stands on the second only.
    let on = |date: &str| Filters { since: day(date), until: day(date), ..Filters::default() };
    assert_eq!(lake.rows(Question::Sql(sql), &on("2026-08-01")), Vec::<String>::new());
    assert_eq!(lake.rows(Question::Sql(sql), &on("2026-08-03")), ["s2,claude-sonnet-5,2026-08-03,10,4"]);
}

#[test]
fn the_newest_batch_of_a_session_wins() {
    let mut lake = MockLake::new();
    let session = |title: &str| {
        format!(
            "SELECT 'e' AS event_id, 's1' AS session_id, '2026-08-01 12:00:00Z' AS ts, '2026-08-01 12:00:00Z' AS started_at, {title} AS title"
        )
    };
    lake.part("sessions", "claude", "2026-08-01", 1, &session("'first'"))
        .part("sessions", "claude", "2026-08-01", 3, &session("'third'"))
        .part("sessions", "claude", "2026-08-01", 2, &session("'second'"))
        .part("sessions", "codex", "2026-08-01", 1, &session("'another tool'"));
    let rows = lake.sql("SELECT provider, title, started_utc FROM sessions ORDER BY ALL");
    assert_eq!(rows, ["claude,third,2026-08-01 12:00:00", "codex,another tool,2026-08-01 12:00:00"]);
}

#[test]
fn calls_meet_their_results_once_also_across_runs() {
    let mut lake = MockLake::new();
    let call = |id: &str, session: &str| {
        format!(
            "SELECT 'c{id}{session}' AS event_id, 'c{id}' AS record_key, '{session}' AS session_id, '2026-08-01 23:59:59Z' AS ts, '{id}' AS tool_use_id, 'Bash' AS name"
        )
    };
    let result = |event: &str, id: &str, session: &str, ts: &str, failed: bool| {
        format!(
            "SELECT '{event}' AS event_id, '{event}' AS record_key, '{session}' AS session_id, '{ts}Z' AS ts, '{id}' AS tool_use_id, {failed} AS is_error, 5 AS duration_ms"
        )
    };
    lake.part("tool_calls", "claude", "2026-08-01", 1, &union(&[call("a", "s1"), call("b", "s1"), call("a", "s2")]))
        .part("tool_results", "claude", "2026-08-02", 2, &result("x", "a", "s1", "2026-08-02 00:00:01", true))
        .part("tool_results", "claude", "2026-08-02", 3, &result("y", "a", "s1", "2026-08-02 00:00:02", false));
    let rows =
        lake.sql("SELECT session_id, tool_use_id, has_result, is_error, result_ts_utc FROM tool_use ORDER BY ALL");
    assert_eq!(rows, ["s1,a,true,false,2026-08-02 00:00:02", "s1,b,false,,", "s2,a,false,,"]);
    // The day of the call is enough to find a result of the next day.
    let on = Filters { since: day("2026-08-01"), until: day("2026-08-01"), ..Filters::default() };
    assert_eq!(lake.rows(Question::Sql("SELECT count(*) FROM tool_use WHERE has_result"), &on), ["1"]);
    assert_eq!(lake.sql("SELECT record_key, session_id FROM tool_calls_unique ORDER BY ALL"), ["ca,s1", "cb,s1"]);
}

#[test]
fn of_copied_messages_the_oldest_stands() {
    let mut lake = MockLake::new();
    let message = |event: &str, session: &str, ts: &str| {
        format!("SELECT '{event}' AS event_id, 'k' AS record_key, '{session}' AS session_id, '{ts}Z' AS ts")
    };
    let rows = [
        message("e1", "s3", "2026-08-01 12:00:01"),
        message("e2", "s2", "2026-08-01 12:00:00"),
        message("e3", "s1", "2026-08-01 12:00:00"),
    ];
    lake.part("messages", "claude", "2026-08-01", 1, &union(&rows));
    assert_eq!(lake.sql("SELECT session_id FROM messages_unique"), ["s1"]);
    assert_eq!(lake.sql("SELECT count(*) FROM messages"), ["3"]);
}

#[test]
fn records_written_again_show_their_newest_version() {
    let mut lake = MockLake::new();
    let message = |event: &str, text: &str| {
        format!(
            "SELECT '{event}' AS event_id, '{event}' AS record_key, 's' AS session_id, '2026-08-01 12:00:00Z' AS ts, '{text}' AS content_text"
        )
    };
    lake.part("messages", "cline", "2026-08-01", 1, &union(&[message("a", "old"), message("b", "only")]))
        .part("messages", "cline", "2026-08-01", 2, &message("a", "new"))
        .part("messages", "claude", "2026-08-01", 1, &message("c", "lines"));
    lake.snapshot.revising_providers.insert("cline".to_owned());
    let rows = lake.sql("SELECT provider, event_id, content_text FROM messages ORDER BY ALL");
    assert_eq!(rows, ["claude,c,lines", "cline,a,new", "cline,b,only"]);
}

#[test]
fn an_empty_lake_has_all_views_with_their_types() {
    let lake = MockLake::new();
    for view in [
        "sessions",
        "messages",
        "usage",
        "usage_copies",
        "tool_calls",
        "tool_results",
        "issues",
        "requests",
        "priced_requests",
        "tool_use",
        "messages_unique",
        "tool_calls_unique",
        "daily_cost",
    ] {
        assert_eq!(lake.sql(&format!("SELECT count(*) FROM {view}")), ["0"], "{view}");
    }
    let types = lake.sql("SELECT column_type FROM (DESCRIBE usage) WHERE column_name IN ('input_tokens', 'reported_cost', 'ts', 'ts_utc', 'date', 'provider')");
    assert_eq!(types, ["TIMESTAMP WITH TIME ZONE", "BIGINT", "\"DECIMAL(38,12)\"", "VARCHAR", "DATE", "TIMESTAMP"]);
}

#[test]
fn parts_of_an_older_schema_lack_columns_and_not_rows() {
    let mut lake = MockLake::new();
    lake.part("usage", "claude", "2026-08-01", 1, &revision(0, "counted", "10 AS input_tokens"));
    let folder = lake.folder.path().join("usage/provider=claude/date=2026-08-02");
    fs_err::create_dir_all(&folder).unwrap();
    let path = folder.join("part-mock-b000002-0000.parquet");
    let old = "SELECT 'o' AS event_id, TIMESTAMPTZ '2026-08-02 00:00:00+00' AS ts, 2::BIGINT AS batch, 'o' AS request_key, 0::BIGINT AS rev, 'counted' AS status, 5::BIGINT AS input_tokens";
    let connection = crate::warehouse::connection::in_memory().unwrap();
    connection.execute_batch(&format!("COPY ({old}) TO '{}' (FORMAT parquet)", path.display())).unwrap();
    let mut part = lake.snapshot.parts[0].clone();
    part.path = path;
    part.schema_version = SCHEMA_VERSION - 1;
    lake.snapshot.parts.push(part);
    assert_eq!(lake.sql("SELECT request_key, input_tokens, skill FROM requests ORDER BY ALL"), ["o,5,", "r,10,"]);
}
