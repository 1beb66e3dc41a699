//! Every bundled query on a fortnight of work small enough to add up by hand.
//!
//! Prices of the days, USD per million tokens: claude-opus-5 input 5, cache read 0.50, write 6.25 (five minutes) and 10 (an
//! hour), output 25; gpt-6-sol input 2, output 10; claude-opus-9 has none.

use super::fortnight::fortnight;
use super::mock::{MockLake, Usage, day, union};
use crate::warehouse::{BUNDLED, Filters, Question};

/// Rows with money shortened: 2.500000000000 is 2.5.
fn answer(lake: &MockLake, name: &str, filters: &Filters) -> Vec<String> {
    let short = |value: &str| match value.split_once('.') {
        Some((_, fraction)) if fraction.len() == 12 && fraction.bytes().all(|digit| digit.is_ascii_digit()) => {
            value.trim_end_matches('0').trim_end_matches('.').to_owned()
        }
        _ => value.to_owned(),
    };
    let rows = lake.rows(Question::Bundled(name), filters);
    rows.iter().map(|row| row.split(',').map(short).collect::<Vec<_>>().join(",")).collect()
}

fn check(name: &str, expected: &[&str]) {
    check_with(name, &Filters::default(), expected);
}

fn check_with(name: &str, filters: &Filters, expected: &[&str]) {
    assert_eq!(answer(&fortnight(), name, filters), expected, "{name}");
}

fn parameter(name: &str, value: &str) -> Filters {
    Filters { parameters: vec![(name.to_owned(), value.to_owned())], ..Filters::default() }
}

#[test]
fn weeks_begin_where_one_wants() {
    check(
        "weekly_cost",
        &[
            "2026-11-02,2026-W45,claude,3,2240000,140000,9.625,0,0,100,,",
            "2026-11-02,2026-W45,codex,1,600000,100000,2.5,0,0,100,,",
            "2026-11-09,2026-W46,claude,2,121000,20000,1.5,0,1000,99,-8.125,-84.41558441558442",
        ],
    );
    let sunday = Filters { week_start: Some(chrono::Weekday::Sun), ..Filters::default() };
    check_with(
        "weekly_cost",
        &sunday,
        &[
            "2026-11-01,,claude,3,2240000,140000,9.625,0,0,100,,",
            "2026-11-01,,codex,1,600000,100000,2.5,0,0,100,,",
            "2026-11-08,,claude,2,121000,20000,1.5,0,1000,99,-8.125,-84.41558441558442",
        ],
    );
    // From Tuesday on, Monday the 9th belongs to the week of the 3rd, and Monday the 2nd to that of October the 27th.
    let tuesday = Filters { week_start: Some(chrono::Weekday::Tue), ..Filters::default() };
    let weeks: Vec<String> = answer(&fortnight(), "weekly_cost", &tuesday)
        .iter()
        .map(|row| row.split(",,").next().unwrap().to_owned())
        .collect();
    assert_eq!(weeks, ["2026-10-27", "2026-11-03", "2026-11-03"]);
}

#[test]
fn months_and_plans() {
    check(
        "monthly_cost",
        &[
            "2026-11-01,claude,2,5,2361000,160000,11.125,0,1000,99,,",
            "2026-11-01,codex,1,1,600000,100000,2.5,0,0,100,,",
        ],
    );
    check_with(
        "plan_value",
        &parameter("plan_usd", "10"),
        &["2026-11-01,claude,5,11.125,1000,10.00,1.125,1.1125", "2026-11-01,codex,1,2.5,0,10.00,-7.5,0.25"],
    );
    check("plan_value", &["2026-11-01,claude,5,11.125,1000,,,", "2026-11-01,codex,1,2.5,0,,,"]);
}

/// 13.625 in nine days; 2.50 + 1.50 in the last seven; 21 days remain: 13.625 + 21 × 4 / 7 = 25.625.
#[test]
fn the_month_goes_on() {
    let rows = answer(&fortnight(), "run_rate", &Filters::default());
    let values: Vec<&str> = rows[0].split(',').collect();
    assert_eq!(values[..6], ["2026-11-09", "2026-11-01", "9", "30", "13.625", "4"]);
    let numbers: Vec<f64> = values[6..10].iter().map(|value| value.parse().unwrap()).collect();
    for (number, expected) in numbers.iter().zip([13.625 / 9.0, 4.0 / 7.0, 13.625 / 9.0 * 30.0, 25.625]) {
        assert!((number - expected).abs() < 1e-9, "{number} {expected}");
    }
    assert_eq!(values[10], "1000");
}

#[test]
fn hours_and_windows() {
    check("heat_map", &["1,9,5,2,2361000,11.125,1000", "2,15,1,1,600000,2.5,0"]);
    // 9.625 in three minutes; 1.50 in two, and 298 more of the five hours: 1.50 + 45 × 298 / 60 = 225.
    check(
        "five_hour_windows",
        &[
            "claude,2026-11-02 09:00:00,2026-11-02 14:00:00,2026-11-02 09:00:00,2026-11-02 09:03:00,3,2240000,9.625,0,192.5,746666.6666666666,",
            "claude,2026-11-09 09:00:00,2026-11-09 14:00:00,2026-11-09 09:00:00,2026-11-09 09:02:00,2,121000,1.5,1000,45.0,60500.0,225.0",
            "codex,2026-11-03 15:00:00,2026-11-03 20:00:00,2026-11-03 15:00:00,2026-11-03 15:00:00,1,600000,2.5,0,,,",
        ],
    );
}

/// Windows follow each other by calls, not by the clock: 22:30 to 01:00 | 09:40, 13:59 | 14:00, 18:59 | 20:15.
#[test]
fn a_window_begins_with_the_first_call_after_the_last_one() {
    let mut lake = MockLake::new();
    for (key, ts) in [("a", "09:40:00"), ("b", "13:59:59"), ("c", "14:00:00"), ("d", "18:59:00"), ("e", "20:15:00")] {
        let usage = Usage { ts: "2026-11-02 00:00:00", model: "claude-opus-5", rest: ", 1 AS output_tokens" };
        lake.part("usage", "claude", "2026-11-02", 1, &usage.select(key).replace("00:00:00", ts));
    }
    let before = Usage { ts: "2026-11-01 22:30:00", model: "claude-opus-5", rest: ", 1 AS output_tokens" };
    let night = Usage { ts: "2026-11-02 01:00:00", ..before };
    lake.part("usage", "claude", "2026-11-01", 1, &before.select("f"));
    lake.part("usage", "claude", "2026-11-02", 1, &night.select("g"));
    let windows: Vec<String> = lake
        .rows(Question::Bundled("five_hour_windows"), &Filters::default())
        .iter()
        .map(|row| row.split(',').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(windows, ["2026-11-01 22:00:00", "2026-11-02 09:00:00", "2026-11-02 14:00:00", "2026-11-02 20:00:00"]);
    // Which days are asked for moves no window: the call at one belongs to that of the evening before.
    let later = Filters { since: day("2026-11-02"), ..Filters::default() };
    let rows = lake.rows(Question::Bundled("five_hour_windows"), &later);
    assert_eq!(rows.len(), 4);
    assert!(rows[0].starts_with("claude,2026-11-01 22:00:00,2026-11-02 03:00:00,2026-11-02 01:00:00,"), "{rows:?}");
}

#[test]
fn branches_agents_and_models() {
    check(
        "branch_cost",
        &[
            "claude,/home/u/app,,2,4,1361000,160000,6.125,0,1000,99,2026-11-02,2026-11-09",
            "claude,/home/u/app,main,1,1,1000000,,5,0,0,100,2026-11-02,2026-11-02",
            "codex,/home/u/web,,1,1,600000,100000,2.5,0,0,100,2026-11-03,2026-11-03",
        ],
    );
    let kinds: Vec<String> = answer(&fortnight(), "agent_cost", &Filters::default())
        .iter()
        .map(|row| row.rsplit_once(',').unwrap().0.to_owned())
        .collect();
    assert_eq!(
        kinds,
        [
            "claude,mcp_server,,4,1161000,7.5",
            "claude,mcp_server,srv,1,1200000,3.625",
            "claude,skill,,4,2241000,9.625",
            "claude,skill,review,1,120000,1.5",
            "claude,subagent,,4,2321000,10.125",
            "claude,subagent,Explore,1,40000,1",
            "codex,mcp_server,,1,600000,2.5",
            "codex,skill,,1,600000,2.5",
            "codex,subagent,,1,600000,2.5",
        ]
    );
    let mix: Vec<String> = answer(&fortnight(), "model_mix", &Filters::default())
        .iter()
        .map(|row| row.split(',').take(8).collect::<Vec<_>>().join(","))
        .collect();
    assert_eq!(
        mix,
        [
            "2026-11-02,claude,claude-opus-5,3,2240000,9.625,0,75.0",
            "2026-11-02,codex,gpt-6-sol,1,600000,2.5,0,25.0",
            "2026-11-09,claude,claude-opus-5,1,120000,1.5,0,50.0",
            "2026-11-09,claude,claude-opus-9,1,1000,0,1000,50.0",
        ]
    );
}

#[test]
fn families_of_sessions() {
    check(
        "session_tree",
        &[
            "claude,s1,s1,,0,,/home/u/app,Build it,4,2321000,10.125,1,11.125,1,1000",
            "claude,s1,s1/agent,s1,1,subagent,/home/u/app,,1,40000,1,0,1,0,0",
            "codex,s3,s3,,0,,/home/u/web,,1,600000,2.5,0,2.5,0,0",
        ],
    );
}

#[test]
fn a_circle_of_parents_ends() {
    let mut lake = MockLake::new();
    let usage = Usage { ts: "2026-11-02 09:00:00", model: "claude-opus-5", rest: ", 40000 AS output_tokens" };
    let session = |id: &str, parent: &str| {
        format!(
            "SELECT '{id}' AS event_id, '{id}' AS session_id, '2026-11-02 09:00:00Z' AS ts, '{parent}' AS parent_session_id"
        )
    };
    lake.part("usage", "claude", "2026-11-02", 1, &usage.select("a"));
    lake.part("sessions", "claude", "2026-11-02", 1, &union(&[session("s1", "s2"), session("s2", "s1")]));
    assert_eq!(lake.sql("SELECT sum(own_usd) FROM session_tree()"), ["1.000000000000"]);
}

#[test]
fn prompts_with_what_they_led_to() {
    let prompts = [
        "claude,s1,/home/u/app,2026-11-02 08:59:50,Build it now,3,1,2240000,9.625,0",
        "codex,s3,/home/u/web,2026-11-03 14:59:55,Look,1,0,600000,2.5,0",
        "claude,s1,/home/u/app,2026-11-09 08:59:00,Go on,2,0,121000,1.5,1000",
    ];
    check("dearest_prompts", &prompts);
    check_with("dearest_prompts", &parameter("top", "1"), &prompts[..1]);
    // The prompt is found also where it was given on the day before.
    let mut lake = MockLake::new();
    let usage = Usage { ts: "2026-11-02 00:10:00", model: "claude-opus-5", rest: ", 40000 AS output_tokens" };
    lake.part("usage", "claude", "2026-11-02", 1, &usage.select("a")).part(
        "messages",
        "claude",
        "2026-11-01",
        1,
        "SELECT 'm' AS event_id, 's1' AS session_id, '2026-11-01 23:50:00Z' AS ts, 'human' AS kind, 'Late' AS content_text",
    );
    let filters = Filters { since: day("2026-11-02"), ..Filters::default() };
    assert_eq!(
        answer(&lake, "dearest_prompts", &filters),
        ["claude,s1,/home/u/app,2026-11-01 23:50:00,Late,1,0,40000,1,0"]
    );
}

/// Sessions of 1, 1 and 5 USD: the median is 1, and 5 is more than twice that.
#[test]
fn outliers_stand_out_of_their_project() {
    check("outlier_sessions", &[]);
    let mut lake = MockLake::new();
    for (session, tokens) in [("x", 40_000), ("y", 40_000), ("z", 200_000)] {
        let usage = Usage { ts: "2026-11-02 09:00:00", model: "claude-opus-5", rest: "" };
        let select =
            format!("{}, {tokens} AS output_tokens", usage.select(session)).replace("'s1'", &format!("'{session}'"));
        lake.part("usage", "claude", "2026-11-02", 1, &select);
    }
    assert_eq!(answer(&lake, "outlier_sessions", &Filters::default()), ["claude,/home/u/app,z,,5,1,5.0,3"]);
}

#[test]
fn caches_and_contexts() {
    // Read 1,000,000 × (5 − 0.50); written 100,000 × (6.25 − 5) and 100,000 × (10 − 5).
    let savings = answer(&fortnight(), "cache_savings", &Filters::default());
    assert_eq!(
        savings,
        [
            "claude,/home/u/app,claude-opus-5,4,2200000,1000000,200000,45.45454545454545,4.5,0.625,3.875,0",
            "codex,/home/u/web,gpt-6-sol,1,500000,0,0,,0,0,0,0",
            "claude,/home/u/app,claude-opus-9,1,1000,0,0,,0,0,0,1000",
        ]
    );
    // b's write expired before d came; d wrote again, and was the last.
    check("cache_waste", &["claude,/home/u/app,claude-opus-5,2,200000,1.625,1,1,1,0.625,1,100000,1"]);
    check(
        "context_growth",
        &[
            "claude,s1,/home/u/app,3,1000000,100000,1100000,1000000,1,1,0,0,10.125",
            "codex,s3,/home/u/web,1,200000,200000,200000,200000,0,0,0,0,2.5",
            "claude,s1/agent,/home/u/app,1,10000,10000,10000,10000,0,0,0,0,1",
        ],
    );
}

#[test]
fn tools_and_files() {
    // a asked for Edit and Bash: 2.50 each; b for Bash and the server's: 1.8125 each; d for Read; c and f for none.
    let costs: Vec<String> = answer(&fortnight(), "tool_cost", &Filters::default())
        .iter()
        .map(|row| row.rsplit_once(',').unwrap().0.to_owned())
        .collect();
    assert_eq!(
        costs,
        [
            "claude,Bash,,2,2,4.3125",
            "claude,Edit,,1,1,2.5",
            "claude,mcp__srv__ask,srv,1,1,1.8125",
            "claude,Read,,1,1,1.5",
            "claude,,,2,0,1",
            "codex,,,1,0,2.5",
        ]
    );
    check("retry_waste", &["claude,Bash,2,1,1,1,0,100,2.5"]);
    check("file_edits", &["claude,/home/u/app,/home/u/app/a.rs,1,1,0,1.0,1,3,1,0"]);
    check(
        "tool_use",
        &[
            "claude,Bash,,2,1,0,1,50.0,2,200.0,290.0",
            "claude,Edit,,1,1,0,0,0.0,0,,",
            "claude,Read,,1,1,1,0,,0,,",
            "claude,mcp__srv__ask,srv,1,1,0,0,0.0,0,,",
        ],
    );
}

#[test]
fn other_prices() {
    // 500,000 × 5 and 100,000 × 25 instead of 500,000 × 2 and 100,000 × 10.
    let opus = parameter("other_model", "anthropic/claude-opus-5");
    check_with("what_if", &opus, &["codex,openai/gpt-6-sol,anthropic/claude-opus-5,1,1,2,5,3,150.0"]);
    assert_eq!(answer(&fortnight(), "what_if", &Filters::default()).len(), 2);
    let missing = answer(&fortnight(), "unpriced_models", &Filters::default());
    assert_eq!(missing.len(), 1);
    assert!(
        missing[0].starts_with(
            "claude,anthropic,claude-opus-9,standard,unpriced,1,1000,2026-11-09,2026-11-09,anthropic/claude-opus-"
        ),
        "{missing:?}"
    );
    check(
        "reported_vs_computed",
        &["codex,gpt-6-sol,1,1,1,2.5,2,0.5,25.0", "claude,claude-opus-5,4,0,0,,,,", "claude,claude-opus-9,1,0,0,,,,"],
    );
}

#[test]
fn times_and_habits() {
    // First answers after 10 s and 60 s. Model 10 + 60 + 60, tool 60, between the days 604,800 − 180.
    check(
        "latency_split",
        &["claude,/home/u/app,2,2,35.0,57.5,130,60,604620,68.42105263157895", "codex,,1,1,4.0,4.0,4,0,0,100.0"],
    );
    check("work_habits", &["claude,2,2,1,1,20.0,1,1,50.0,1,20.0,1,0.0,100.0,0.0", "codex,1,1,0,0,0.0,0,,,0,0.0,0,,,"]);
}

/// What covers every call covers the same calls: whichever way cost and tokens are cut, they add up to the same.
#[test]
fn sums_agree_however_they_are_cut() {
    let cuts = [
        "daily_cost",
        "weekly_cost",
        "monthly_cost",
        "heat_map",
        "five_hour_windows",
        "plan_value",
        "model_cost",
        "project_cost",
        "branch_cost",
        "model_mix",
        "session_cost",
        "dearest_prompts",
    ];
    let whole = "SELECT sum(cost_usd), sum(total_tokens), count(*) FROM local_requests(tz := 'Asia/Kathmandu')";
    for (lake, name) in [(fortnight(), "fortnight"), (super::zones::long_days(), "long days")] {
        let expected = lake.sql(whole);
        for cut in cuts {
            let tokens = match cut {
                "daily_cost" => {
                    "coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_5m_tokens, 0)
                     + coalesce(cache_write_1h_tokens, 0) + coalesce(output_tokens, 0)"
                }
                "plan_value" => "NULL",
                _ => "total_tokens",
            };
            let sql = format!("SELECT sum(cost_usd), sum({tokens}), sum(requests) FROM {cut}(tz := 'Asia/Kathmandu')");
            let sums = lake.sql(&sql);
            let wanted = if cut == "plan_value" {
                let values: Vec<&str> = expected[0].split(',').collect();
                vec![format!("{},,{}", values[0], values[2])]
            } else {
                expected.clone()
            };
            assert_eq!(sums, wanted, "{cut} of {name}");
        }
        let total = expected[0].split(',').next().unwrap().to_owned();
        assert_eq!(
            lake.sql("SELECT sum(own_usd) FROM session_tree(tz := 'Asia/Kathmandu')"),
            std::slice::from_ref(&total)
        );
        assert_eq!(
            lake.sql("SELECT sum(cost_usd) FROM tool_cost(tz := 'Asia/Kathmandu')"),
            std::slice::from_ref(&total)
        );
        let kinds = lake.sql("SELECT sum(cost_usd) FROM agent_cost(tz := 'Asia/Kathmandu') GROUP BY kind");
        assert_eq!(kinds, vec![total; 3], "{name}");
    }
}

/// A query that has no golden answer here or in `queries.rs` must not ship.
#[test]
fn every_query_has_a_golden_answer() {
    let tests = [include_str!("golden_queries.rs"), include_str!("queries.rs")].concat();
    for query in BUNDLED {
        let is_checked = ["check(", "check_with(", "answer(&fortnight(), ", "answer(&lake, ", "bundled(&lake, "]
            .iter()
            .any(|call| {
                tests.replace(char::is_whitespace, "").contains(&format!("{}\"{}\"", call.replace(' ', ""), query.name))
            });
        assert!(is_checked, "{}", query.name);
    }
}
