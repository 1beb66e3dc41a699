//! The database for notebooks: what it holds after batches came, parts were replaced, somebody had it open.

use duckdb::{AccessMode, Config, Connection};

use super::mock::{MockLake, Usage, day, texts, union};
use crate::warehouse::{Filters, Format, Question, Refreshed, Target, connection, refresh, run};

const OPUS: Usage = Usage { ts: "2026-11-01 12:00:00", model: "claude-opus-5", rest: ", 1000000 AS input_tokens" };

fn lake() -> MockLake {
    let mut lake = MockLake::new();
    lake.part("usage", "claude", "2026-11-01", 1, &OPUS.select("a"));
    lake
}

fn refreshed(lake: &MockLake) -> Refreshed {
    let target = Target { database: &lake.database(), scratch: &lake.scratch(), prices: &lake.prices() };
    refresh(target, &lake.snapshot).unwrap()
}

/// Opened as a notebook does, without any of our settings.
fn notebook(lake: &MockLake) -> Connection {
    let config = Config::default().access_mode(AccessMode::ReadOnly).unwrap();
    Connection::open_with_flags(lake.database(), config).unwrap()
}

fn reason(refreshed: Refreshed) -> String {
    match refreshed {
        Refreshed::Built { reason, .. } => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn batches_are_added_once() {
    let mut lake = lake();
    assert_eq!(refreshed(&lake), Refreshed::Built { rows: 1, reason: "there was none".to_owned() });
    assert_eq!(refreshed(&lake), Refreshed::UpToDate);
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    lake.part(
        "usage",
        "codex",
        "2026-11-02",
        3,
        &Usage { ts: "2026-11-02 12:00:00", model: "gpt-6-sol", rest: ", 500000 AS input_tokens" }.select("c"),
    );
    assert_eq!(refreshed(&lake), Refreshed::Added { batches: 2, rows: 2 });
    assert_eq!(refreshed(&lake), Refreshed::UpToDate);
    let rows = texts(&notebook(&lake), "SELECT day, provider, requests, cost_usd FROM daily_cost");
    assert_eq!(rows.len(), 2);
    assert!(rows[0].contains("10.000000000000") && rows[1].contains("2.000000000000"), "{rows:?}");
}

#[test]
fn macros_work_as_pasted_into_a_notebook() {
    let lake = lake();
    refreshed(&lake);
    let notebook = notebook(&lake);
    let count = |sql: &str| -> i64 { notebook.query_row(sql, [], |row| row.get(0)).unwrap() };
    assert_eq!(count("SELECT count(*) FROM daily_cost(tz := 'Europe/Berlin', since := DATE '2026-11-01')"), 1);
    assert_eq!(count("SELECT count(*) FROM daily_cost(since := DATE '2026-11-02')"), 0);
    assert_eq!(count("SELECT count(*) FROM local_tool_use()"), 0);
    assert!(count("SELECT count(DISTINCT zone) FROM tz_offsets") > 500);
    assert!(notebook.prepare("FROM daily_cost(tz := 'Mars/Olympus')").and_then(|mut ask| ask.execute([])).is_err());
}

#[test]
fn all_bundled_queries_run_as_pasted() {
    let lake = lake();
    refreshed(&lake);
    let notebook = notebook(&lake);
    for query in crate::warehouse::BUNDLED {
        notebook.execute_batch(query.sql).unwrap_or_else(|error| panic!("{}: {error}", query.name));
    }
}

#[test]
fn replaced_parts_are_read_anew() {
    let mut lake = lake();
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    refreshed(&lake);
    // A repair wrote the rows anew.
    lake.snapshot.parts.clear();
    lake.part("usage", "claude", "2026-11-01", 2, &union(&[OPUS.select("a"), OPUS.select("b")]));
    lake.snapshot.generation += 1;
    assert_eq!(reason(refreshed(&lake)), "parts of the lake were replaced");
    assert_eq!(texts(&notebook(&lake), "SELECT count(*) FROM usage"), ["{'count_star()': 2}"]);
}

#[test]
fn merged_parts_are_the_same_rows() {
    let mut lake = lake();
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    refreshed(&lake);
    // A third batch comes, and before anybody refreshes, compaction makes one part of all three.
    lake.snapshot.parts.clear();
    lake.merged_part(
        "usage",
        "claude",
        "2026-11-01",
        &[(1, OPUS.select("a")), (2, OPUS.select("b")), (3, OPUS.select("c"))],
    );
    assert_eq!(refreshed(&lake), Refreshed::Added { batches: 1, rows: 1 });
    assert_eq!(refreshed(&lake), Refreshed::UpToDate);
    let rows = texts(&notebook(&lake), "SELECT request_key, batch FROM usage ORDER BY batch");
    assert_eq!(rows.len(), 3);
    assert!(rows.iter().zip(1..).all(|(row, batch)| row.contains(&format!("'batch': {batch}"))), "{rows:?}");
    // One more, in a part of its own beside the merged one.
    lake.part("usage", "claude", "2026-11-01", 4, &OPUS.select("d"));
    assert_eq!(refreshed(&lake), Refreshed::Added { batches: 1, rows: 1 });
}

#[test]
fn what_is_not_of_this_lake_is_built_anew() {
    let mut lake = lake();
    refreshed(&lake);
    lake.snapshot.lake_id = "another".to_owned();
    assert_eq!(reason(refreshed(&lake)), "it was filled from another lake");
    lake.snapshot.parts.clear();
    assert_eq!(reason(refreshed(&lake)), "it has a batch that the lake has not");
    fs_err::write(lake.database(), "no database at all, but some text that is long enough to be looked at").unwrap();
    assert!(reason(refreshed(&lake)).starts_with("it could not be opened"));
    fs_err::remove_file(lake.database()).unwrap();
    Connection::open(lake.database()).unwrap().execute_batch("CREATE TABLE mine (i INTEGER)").unwrap();
    assert_eq!(reason(refreshed(&lake)), "it is not one of agentlake's");
    assert_eq!(refreshed(&lake), Refreshed::UpToDate);
}

#[test]
fn outdated_versions_of_records_are_dropped() {
    let mut lake = lake();
    let message = |text: &str| {
        format!("SELECT 'm' AS event_id, 'm' AS record_key, '2026-11-01 12:00:00Z' AS ts, '{text}' AS content_text")
    };
    lake.snapshot.revising_providers.insert("cline".to_owned());
    lake.part("messages", "cline", "2026-11-01", 1, &message("old"));
    refreshed(&lake);
    lake.part("messages", "cline", "2026-11-01", 2, &message("new"));
    refreshed(&lake);
    assert_eq!(texts(&notebook(&lake), "SELECT content_text FROM messages"), ["{'content_text': new}"]);
}

#[test]
fn a_failed_refresh_changes_nothing() {
    let mut lake = lake();
    refreshed(&lake);
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    let broken = lake.snapshot.parts.last().unwrap().path.clone();
    fs_err::write(&broken, "not Parquet").unwrap();
    let target = Target { database: &lake.database(), scratch: &lake.scratch(), prices: &lake.prices() };
    refresh(target, &lake.snapshot).unwrap_err();
    assert_eq!(texts(&notebook(&lake), "SELECT request_key FROM usage"), ["{'request_key': a}"]);
    lake.snapshot.parts.pop();
    assert_eq!(refreshed(&lake), Refreshed::UpToDate);
}

#[cfg(unix)]
#[test]
fn only_its_owner_can_read_it_and_nothing_lies_beside_it() {
    use std::os::unix::fs::PermissionsExt;
    let mut lake = lake();
    refreshed(&lake);
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    refreshed(&lake);
    let mode = fs_err::metadata(lake.database()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let names: Vec<String> = fs_err::read_dir(lake.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.contains("duckdb"))
        .collect();
    assert_eq!(names, ["agentlake.duckdb"]);
    assert_eq!(fs_err::read_dir(lake.scratch()).unwrap().count(), 0);
}

#[test]
fn the_file_opens_in_older_duckdb() {
    let lake = lake();
    refreshed(&lake);
    let connection = connection::file(&lake.database(), &lake.scratch().join("spill")).unwrap();
    let tags: String = connection
        .query_row("SELECT tags['storage_version'] FROM duckdb_databases() WHERE NOT internal", [], |row| row.get(0))
        .unwrap();
    assert_eq!(tags, "v1.2.0+");
}

#[test]
fn bundled_queries_answer_the_same_from_the_database_and_from_the_parts() {
    let mut lake = lake();
    let growth =
        format!("SELECT * REPLACE (1 AS rev, 'growth' AS status, 5 AS input_tokens) FROM ({})", OPUS.select("a"));
    let late = Usage { ts: "2026-11-01 23:30:00", model: "claude-opus-9", rest: ", 7 AS output_tokens" };
    lake.part("usage", "claude", "2026-11-01", 2, &growth)
        .part("usage", "codex", "2026-11-01", 2, &late.select("b"))
        .part("usage", "codex", "2026-11-02", 2, &Usage { ts: "2026-11-02 00:30:00", ..late }.select("c"));
    refreshed(&lake);
    let some = [
        Filters::default(),
        Filters { tz: Some("Europe/Berlin".to_owned()), since: day("2026-11-02"), ..Filters::default() },
        Filters { until: day("2026-11-01"), providers: vec!["codex".to_owned()], ..Filters::default() },
        Filters { project: Some("app".to_owned()), ..Filters::default() },
    ];
    let mut from_database = lake.snapshot.clone();
    from_database.database = Some(lake.database());
    for query in crate::warehouse::BUNDLED {
        for filters in &some {
            let answer = |snapshot| {
                let mut out = Vec::new();
                run(snapshot, Question::Bundled(query.name), filters, Format::Csv, None, &mut out).unwrap();
                String::from_utf8(out).unwrap()
            };
            assert_eq!(answer(&from_database), answer(&lake.snapshot), "{} {filters:?}", query.name);
        }
    }
}

#[test]
fn the_database_answers_only_while_it_is_up_to_date() {
    let mut lake = lake();
    refreshed(&lake);
    // A row that no part has tells the two apart.
    connection::file(&lake.database(), &lake.scratch().join("spill"))
        .unwrap()
        .execute_batch("INSERT INTO stored.usage BY NAME SELECT * REPLACE ('z' AS request_key) FROM stored.usage")
        .unwrap();
    lake.snapshot.database = Some(lake.database());
    let requests = |lake: &MockLake, question| lake.rows(question, &Filters::default()).first().unwrap().clone();
    assert!(requests(&lake, Question::Bundled("daily_cost")).starts_with("2026-11-01,claude,2,"));
    assert_eq!(requests(&lake, Question::Sql("SELECT count(*) FROM requests")), "1");
    lake.part("usage", "claude", "2026-11-01", 2, &OPUS.select("b"));
    assert!(requests(&lake, Question::Bundled("daily_cost")).starts_with("2026-11-01,claude,2,2000000,"));
    refreshed(&lake);
    assert!(requests(&lake, Question::Bundled("daily_cost")).starts_with("2026-11-01,claude,3,"));
}
