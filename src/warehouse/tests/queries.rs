//! The bundled queries and the ways an answer is written.

use std::io::{self, Write};

use super::mock::{MockLake, Usage, day, union};
use crate::warehouse::{BUNDLED, Column, Filters, Format, Question, WarehouseError, bundled_markdown, run};

/// Two days around midnight in Berlin, two providers, two projects, one model without a price.
fn lake() -> MockLake {
    let mut lake = MockLake::new();
    let opus = Usage {
        ts: "2026-10-31 22:30:00",
        model: "claude-opus-5",
        rest: ", 1000000 AS input_tokens, 1000000 AS context_tokens",
    };
    let late = Usage {
        ts: "2026-10-31 23:30:00",
        model: "claude-opus-5",
        rest: ", 1000000 AS output_tokens, 'main' AS git_branch",
    };
    let next = Usage { ts: "2026-11-01 12:00:00", model: "claude-opus-9", rest: ", 1000 AS input_tokens" };
    let codex = Usage {
        ts: "2026-11-01 12:00:00",
        model: "gpt-6-sol",
        rest: ", 500000 AS input_tokens, 200000 AS context_tokens",
    };
    let elsewhere =
        format!("SELECT * REPLACE ('s2' AS session_id, '/home/u/web' AS project) FROM ({})", codex.select("x"));
    lake.part("usage", "claude", "2026-10-31", 1, &union(&[opus.select("a"), late.select("b")]))
        .part("usage", "claude", "2026-11-01", 1, &next.select("c"))
        .part("usage", "codex", "2026-11-01", 1, &elsewhere)
        .part("sessions", "claude", "2026-10-31", 1, "SELECT 'q' AS event_id, 's1' AS session_id, '2026-10-31 22:00:00Z' AS ts, '/home/u/app' AS project, 'A | title' AS title")
        .part("tool_calls", "claude", "2026-11-01", 1, "SELECT 't' AS event_id, 't' AS record_key, 's1' AS session_id, '2026-11-01 12:00:00Z' AS ts, 'u' AS tool_use_id, 'Read' AS name")
        .part("tool_results", "claude", "2026-11-01", 1, "SELECT 'w' AS event_id, 'w' AS record_key, 's1' AS session_id, '2026-11-01 12:00:01Z' AS ts, 'u' AS tool_use_id, true AS is_error, 40 AS duration_ms")
        .part("usage_copies", "claude", "2026-11-01", 1, &format!("SELECT *, 'repeat' AS why FROM ({})", next.select("c")))
        .part("issues", "claude", "2026-11-01", 1, "SELECT 'i' AS event_id, '2026-11-01 12:00:00Z' AS ts, 'broken_line' AS kind")
        .part("messages", "claude", "2026-11-01", 1, "SELECT 'm' AS event_id, '2026-11-01 12:00:00Z' AS ts, 'mtime' AS ts_basis");
    lake
}

fn bundled(lake: &MockLake, name: &str, filters: &Filters) -> Vec<String> {
    lake.rows(Question::Bundled(name), filters)
}

#[test]
fn headers_describe_the_answers() {
    let lake = lake();
    for query in BUNDLED {
        assert!(!query.title().is_empty() && query.question().ends_with('?'), "{}", query.name);
        assert!(query.parameters().count() > 0, "{}", query.name);
        let described = lake.sql(&format!(
            "SELECT column_name || ' ' || column_type FROM (DESCRIBE {})",
            query.sql.trim_end().trim_end_matches(';')
        ));
        let described: Vec<&str> = described.iter().map(|row| row.trim_matches('"')).collect();
        let declared: Vec<String> =
            query.columns().map(|Column { name, sql_type, .. }| format!("{name} {sql_type}")).collect();
        assert_eq!(described, declared, "{}", query.name);
        assert!(query.columns().all(|column| !column.meaning.is_empty()), "{}", query.name);
    }
}

/// Run with `AGENTLAKE_UPDATE_DOCS=1` to write the file.
#[test]
fn docs_are_current() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/queries.md");
    if std::env::var_os("AGENTLAKE_UPDATE_DOCS").is_some() {
        fs_err::write(&path, bundled_markdown()).unwrap();
    }
    assert_eq!(fs_err::read_to_string(path).unwrap(), bundled_markdown());
}

#[test]
fn days_are_those_of_the_zone() {
    let lake = lake();
    let utc = [
        "2026-10-31,claude,2,1000000,,,,1000000,,30.000000000000,0.000000000000,0,0,100",
        "2026-11-01,claude,1,1000,,,,,,0.000000000000,0.000000000000,1000,1,0",
        "2026-11-01,codex,1,500000,,,,,,1.000000000000,0.000000000000,0,0,100",
    ];
    assert_eq!(bundled(&lake, "daily_cost", &Filters::default()), utc);
    let berlin = Filters { tz: Some("europe/berlin".to_owned()), ..Filters::default() };
    let days: Vec<String> = bundled(&lake, "daily_cost", &berlin)
        .iter()
        .map(|row| row.split(',').take(3).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(days, ["2026-10-31,claude,1", "2026-11-01,claude,2", "2026-11-01,codex,1"]);
    // The first local day of November begins on the last UTC day of October.
    let november = Filters { since: day("2026-11-01"), ..berlin };
    let rows = bundled(&lake, "daily_cost", &november);
    assert_eq!(rows.len(), 2);
    assert!(rows[0].starts_with("2026-11-01,claude,2,1000,"), "{rows:?}");
    // As pasted from a notebook.
    assert_eq!(lake.sql("SELECT count(*) FROM daily_cost(tz := 'Europe/Berlin', since := DATE '2026-11-01')"), ["2"]);
}

#[test]
fn coverage_is_rounded_down() {
    let mut lake = MockLake::new();
    let known = Usage { ts: "2026-11-01 12:00:00", model: "claude-opus-5", rest: ", 9999 AS input_tokens" };
    let unknown = Usage { ts: "2026-11-01 12:00:00", model: "claude-opus-9", rest: ", 1 AS input_tokens" };
    lake.part("usage", "claude", "2026-11-01", 1, &union(&[known.select("a"), unknown.select("b")]));
    assert_eq!(lake.sql("SELECT unpriced_tokens, unpriced_models, coverage_percent FROM daily_cost"), ["1,1,99"]);
}

#[test]
fn filters_limit_every_query() {
    let lake = lake();
    let codex = Filters { providers: vec!["codex".to_owned()], ..Filters::default() };
    for name in ["daily_cost", "model_cost", "project_cost", "session_cost"] {
        assert_eq!(bundled(&lake, name, &codex).len(), 1, "{name}");
        let web = Filters { project: Some("web".to_owned()), ..Filters::default() };
        assert_eq!(bundled(&lake, name, &web).len(), 1, "{name}");
        let none = Filters { project: Some("eb".to_owned()), ..Filters::default() };
        assert_eq!(bundled(&lake, name, &none).len(), 0, "{name}");
        let october = Filters { until: day("2026-10-31"), ..Filters::default() };
        assert_eq!(bundled(&lake, name, &october).len(), 1, "{name}");
    }
    assert_eq!(bundled(&lake, "data_health", &codex).iter().filter(|row| row.starts_with("claude")).count(), 0);
    let both = Filters { providers: vec!["codex".to_owned(), "claude".to_owned()], ..Filters::default() };
    assert_eq!(bundled(&lake, "daily_cost", &both).len(), 3);
}

#[test]
fn models_projects_sessions_and_tools_add_up() {
    let lake = lake();
    let everything = Filters::default();
    let models = bundled(&lake, "model_cost", &everything);
    assert_eq!(
        models[0],
        "claude,claude-opus-5,standard,anthropic/claude-opus-5,exact,2,2000000,1000000,30.000000000000,96.7741935483871,15.0,0,0.000000000000,0,100,2026-10-31,2026-10-31"
    );
    assert_eq!(
        models[2],
        "claude,claude-opus-9,standard,,unknown,1,1000,,,,,1000,0.000000000000,1,0,2026-11-01,2026-11-01"
    );
    let projects = bundled(&lake, "project_cost", &everything);
    assert_eq!(
        projects[0],
        "claude,/home/u/app,1,1,3,2001000,1000000,30.000000000000,0.000000000000,1000,1,99,2026-10-31,2026-11-01"
    );
    let sessions = bundled(&lake, "session_cost", &everything);
    assert_eq!(
        sessions[0],
        "claude,s1,,/home/u/app,A | title,2026-10-31 22:30:00,2026-11-01 12:00:00,3,1000000,2001000,1000000,30.000000000000,0.000000000000,1000,1,99"
    );
    assert_eq!(
        sessions[1],
        "codex,s2,,/home/u/web,,2026-11-01 12:00:00,2026-11-01 12:00:00,1,200000,500000,,1.000000000000,0.000000000000,0,0,100"
    );
    assert_eq!(bundled(&lake, "tool_use", &everything), ["claude,Read,,1,1,0,1,100.0,1,40.0,40.0"]);
    let health = bundled(&lake, "data_health", &everything);
    for row in [
        "claude,requests counted,3,,",
        "claude,copies of requests set aside: repeat,1,,",
        "claude,issues: broken_line,1,,",
        "claude,messages without a time of their own,1,1,100.0",
        "codex,requests counted,1,,",
    ] {
        assert!(health.iter().any(|line| line == row), "{row}: {health:#?}");
    }
}

#[test]
fn formats_agree() {
    let lake = lake();
    let sql = Question::Sql(
        "SELECT 'a|b' AS s, 1.5::DECIMAL(38, 12) AS d, NULL::BIGINT AS n, 7::BIGINT AS i, 0.126::DOUBLE AS f, ['x'] AS l, (SELECT min(ts) FROM usage) AS ts",
    );
    let text = |format| lake.text(sql, &Filters::default(), format);
    assert_eq!(text(Format::Csv), "s,d,n,i,f,l,ts\na|b,1.500000000000,,7,0.126,[x],2026-10-31 22:30:00+00\n");
    assert_eq!(
        text(Format::NdJson),
        "{\"s\":\"a|b\",\"d\":1.500000000000,\"n\":null,\"i\":7,\"f\":0.126,\"l\":[\"x\"],\"ts\":\"2026-10-31 22:30:00+00\"}\n"
    );
    let json: serde_json::Value = serde_json::from_str(&text(Format::Json)).unwrap();
    assert_eq!(json[0]["i"], 7);
    assert_eq!(
        text(Format::Table),
        "s         d  n  i     f  l    ts\n───  ──────  ─  ─  ────  ───  ───────────────────\na|b  1.5000     7  0.13  [x]  2026-10-31 22:30:00\n"
    );
    assert_eq!(
        text(Format::Markdown),
        "| s    |      d |   n |   i |    f | l   | ts                  |\n| ---- | -----: | --: | --: | ---: | --- | ------------------- |\n| a\\|b | 1.5000 |     |   7 | 0.13 | [x] | 2026-10-31 22:30:00 |\n"
    );
}

#[test]
fn answers_go_into_files() {
    let lake = lake();
    let path = lake.folder.path().join("it's.parquet");
    let mut out = Vec::new();
    run(&lake.snapshot, Question::Bundled("daily_cost"), &Filters::default(), Format::Parquet, Some(&path), &mut out)
        .unwrap();
    assert!(out.is_empty());
    let sql = format!("SELECT sum(cost_usd) FROM read_parquet('{}')", path.display().to_string().replace('\'', "''"));
    assert_eq!(lake.sql(&sql), ["31.000000000000"]);
    let refused =
        run(&lake.snapshot, Question::Bundled("daily_cost"), &Filters::default(), Format::Parquet, None, &mut out);
    assert!(matches!(refused, Err(WarehouseError::ParquetNeedsFile)));
}

#[test]
fn own_sql_may_be_any_statements() {
    let lake = lake();
    assert_eq!(
        lake.sql("-- how many?\nSET VARIABLE x = 2; SELECT getvariable('x') * count(*) FROM requests; -- done"),
        ["8"]
    );
    assert!(lake.sql("SHOW TABLES").iter().any(|row| row == "priced_requests"));
    assert!(lake.sql("DESCRIBE usage").len() > 30);
    assert!(lake.text(Question::Sql("DESCRIBE usage"), &Filters::default(), Format::Table).contains("request_key"));
    assert_eq!(lake.sql("FROM tz_offsets SELECT count(DISTINCT zone) > 500"), ["true"]);
    assert_eq!(lake.sql("SELECT count(*) > 200 FROM prices"), ["true"]);
    let limited = Filters { since: day("2026-11-01"), project: Some("x'y".to_owned()), ..Filters::default() };
    assert_eq!(lake.rows(Question::Sql("SELECT count(*), getvariable('project') FROM usage"), &limited), ["2,x'y"]);
}

#[test]
fn mistakes_are_explained() {
    let lake = lake();
    let ask = |question, filters: &Filters| {
        run(&lake.snapshot, question, filters, Format::Csv, None, &mut Vec::new()).unwrap_err().to_string()
    };
    let everything = Filters::default();
    assert!(ask(Question::Bundled("daly_cost"), &everything).contains("daily_cost, weekly_cost"));
    let nowhere = Filters { tz: Some("Berlin".to_owned()), ..Filters::default() };
    assert!(ask(Question::Bundled("daily_cost"), &nowhere).contains("Europe/Berlin"));
    assert!(ask(Question::Sql("SELECT nonsense FROM usage"), &everything).contains("nonsense"));
    assert!(ask(Question::Sql("FROM daily_cost(tz := 'Mars/Olympus')"), &everything).contains("Mars/Olympus"));
    assert!(ask(Question::Sql(" -- nothing"), &everything).contains("no statement"));
    assert!(crate::warehouse::bundled("daily_cost").is_ok());
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    struct Closed;
    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let lake = lake();
    for format in [Format::Table, Format::Csv, Format::Json, Format::Markdown] {
        run(&lake.snapshot, Question::Bundled("daily_cost"), &Filters::default(), format, None, &mut Closed).unwrap();
    }
}
