//! Where costs come from, what state they are in, what they were priced with; and the files for other engines.

use super::mock::{MockLake, Usage, day};
use crate::pricing::{PriceTable, UserPrices};
use crate::warehouse::{CostMode, Filters, Format, Question, Target, connection, refresh};

const NOON: &str = "2026-11-01 12:00:00";

fn usage(model: &'static str, rest: &'static str) -> Usage {
    Usage { ts: NOON, model, rest }
}

/// Requests in every state.
fn lake() -> MockLake {
    let mut lake = MockLake::new();
    let mut add = |key: &str, provider: &str, usage: Usage| {
        let select = usage.select(key);
        // The mock takes every other vendor for OpenAI; these record none.
        let select = if provider == "claude" { select } else { select.replace("'openai' AS vendor", "NULL AS vendor") };
        lake.part("usage", provider, "2026-11-01", 1, &select);
    };
    add("a-priced", "claude", usage("claude-opus-5", ", 1000000 AS input_tokens"));
    add(
        "b-reported",
        "claude",
        usage("claude-opus-5", ", 1000000 AS input_tokens, 4.5 AS reported_cost, 'USD' AS reported_cost_unit"),
    );
    add(
        "c-zero",
        "claude",
        usage("claude-opus-5", ", 1000000 AS input_tokens, 0 AS reported_cost, 'USD' AS reported_cost_unit"),
    );
    add(
        "d-credits",
        "claude",
        usage("claude-opus-5", ", 1000000 AS input_tokens, 7 AS reported_cost, 'credits' AS reported_cost_unit"),
    );
    add("e-unpriced", "claude", usage("claude-opus-9", ", 1000000 AS input_tokens"));
    add("f-none", "claude", usage("claude-opus-5", ""));
    add("g-synthetic", "claude", usage("<synthetic>", ", 0 AS input_tokens"));
    add("h-local", "cline", usage("qwen3.6:35b-a3b-bf16", ", 1000000 AS input_tokens"));
    add("i-free", "opencode", usage("big-pickle", ", 1000000 AS input_tokens"));
    add("j-flat", "warp", usage("auto", ", 1000000 AS input_tokens"));
    add("k-cursor", "cursor", usage("auto", ", 1000000 AS input_tokens"));
    add("l-session", "claude", usage("claude-opus-5", ", 1000000 AS input_tokens, 'session' AS grain"));
    add(
        "m-unknown",
        "claude",
        usage("claude-opus-9", ", 1000000 AS input_tokens, 2 AS reported_cost, 'USD' AS reported_cost_unit"),
    );
    lake
}

fn states(lake: &MockLake, cost: CostMode) -> Vec<String> {
    let sql = "SELECT request_key || ' ' || cost_status || ' ' || coalesce(cost_usd::DECIMAL(18, 2)::VARCHAR, 'NULL')
               FROM priced_requests ORDER BY request_key";
    let filters = Filters { cost, ..Filters::default() };
    lake.rows(Question::Sql(sql), &filters).into_iter().map(|row| row.trim_matches('"').to_owned()).collect()
}

#[test]
fn every_request_has_a_state_and_the_cost_that_goes_with_it() {
    assert_eq!(
        states(&lake(), CostMode::Auto),
        [
            "a-priced priced 5.00",
            "b-reported reported 4.50",
            "c-zero priced 5.00",
            "d-credits priced 5.00",
            "e-unpriced unpriced NULL",
            "f-none no_usage NULL",
            "g-synthetic free 0.00",
            "h-local local 0.00",
            "i-free free 0.00",
            "j-flat flat_rate 0.00",
            "k-cursor estimated 3.00",
            "l-session estimated 5.00",
            "m-unknown reported 2.00",
        ]
    );
}

#[test]
fn costs_can_be_computed_or_reported_alone() {
    let lake = lake();
    let computed = states(&lake, CostMode::Computed);
    assert_eq!(computed[1], "b-reported priced 5.00");
    assert_eq!(computed[12], "m-unknown unpriced NULL");
    let reported = states(&lake, CostMode::Reported);
    assert_eq!(reported[0], "a-priced unpriced NULL");
    assert_eq!(reported[1], "b-reported reported 4.50");
    assert_eq!(reported[2], "c-zero reported 0.00");
    assert_eq!(reported[5], "f-none no_usage NULL");
    let both = lake.sql(
        "SELECT cost_reported_usd = 4.5, cost_computed_usd = 5 FROM priced_requests WHERE request_key = 'b-reported'",
    );
    assert_eq!(both, ["true,true"]);
}

#[test]
fn what_covers_a_session_is_the_cost_of_no_request() {
    let lake = lake();
    let rows =
        lake.sql("SELECT request_cost_usd IS NULL, cost_usd > 0 FROM priced_requests WHERE request_key = 'l-session'");
    assert_eq!(rows, ["true,true"]);
    let sums = lake.sql("SELECT sum(cost_usd) > 5 FROM priced_requests WHERE session_id = 's1'");
    assert_eq!(sums, ["true"]);
}

#[test]
fn the_parts_add_up_to_the_cost() {
    let rows = lake().sql(
        "SELECT count(*) FROM priced_requests
         WHERE cost_status IN ('priced', 'estimated') AND cost_computed_usd <> coalesce(input_cost_usd, 0)
             + coalesce(cache_read_cost_usd, 0) + coalesce(cache_write_5m_cost_usd, 0)
             + coalesce(cache_write_1h_cost_usd, 0) + coalesce(output_cost_usd, 0) + coalesce(web_search_cost_usd, 0)",
    );
    assert_eq!(rows, ["0"]);
}

#[test]
fn a_price_says_where_it_is_from() {
    let rows = lake().sql(
        "SELECT price_key, match_kind, billing, price_channel, price_mode, price_tier, price_basis, price_source LIKE 'https://%'
         FROM priced_requests WHERE request_key = 'a-priced'",
    );
    assert_eq!(rows, ["anthropic/claude-opus-5,exact,metered,api,standard,base,commit,true"]);
}

#[test]
fn history_can_be_priced_as_if_on_another_day() {
    let mut lake = MockLake::new();
    let old = Usage { ts: "2026-07-01 12:00:00", model: "gpt-5.6-luna", rest: ", 100000 AS input_tokens" };
    lake.part("usage", "codex", "2026-07-01", 1, &old.select("a"));
    let cost = |prices_at: &str| {
        let filters = Filters { prices_at: day(prices_at), ..Filters::default() };
        lake.rows(Question::Sql("SELECT cost_usd::DECIMAL(18, 4) FROM priced_requests"), &filters)
    };
    assert_eq!(cost("2026-07-01"), ["0.1000"]);
    assert_eq!(cost("2026-08-01"), ["0.0200"]);
    let bundled = lake.text(
        Question::Bundled("daily_cost"),
        &Filters { prices_at: day("2026-08-01"), cost: CostMode::Computed, ..Filters::default() },
        Format::Table,
    );
    assert!(
        bundled.contains("0.0200") && bundled.trim_end().ends_with(", all as on 2026-08-01, costs computed"),
        "{bundled}"
    );
}

#[test]
fn answers_for_people_end_with_the_price_basis() {
    let lake = lake();
    let basis = PriceTable::builtin().unwrap().basis().to_string();
    assert!(basis.starts_with("prices of 2026-"), "{basis}");
    for query in ["daily_cost", "model_cost", "project_cost", "session_cost"] {
        for format in [Format::Table, Format::Markdown] {
            let text = lake.text(Question::Bundled(query), &Filters::default(), format);
            assert!(text.trim_end().ends_with(&basis), "{query}");
        }
    }
    let text = lake.text(Question::Bundled("tool_use"), &Filters::default(), Format::Table);
    assert!(!text.contains("prices of"), "{text}");
    let noted = lake.sql("SELECT hash, over FROM price_basis");
    assert_eq!(noted, [format!("{},", PriceTable::builtin().unwrap().fingerprint())]);
}

#[test]
fn a_users_prices_hold_in_sql() {
    let mut lake = lake();
    let text = "[[price]]\nprice_key = \"anthropic/claude-opus-9\"\ninput = 6\noutput = 30\nmissing = \"input\"\n\
                [[free]]\nname = \"claude-opus-5\"\nprovider = \"claude\"\n";
    let user = UserPrices::parse(text, "prices.toml").unwrap();
    lake.snapshot.prices = Some(PriceTable::builtin().unwrap().with(&user).unwrap().into());
    let states = states(&lake, CostMode::Auto);
    assert_eq!((states[0].as_str(), states[4].as_str()), ("a-priced free 0.00", "e-unpriced priced 6.00"));
    let rows =
        lake.sql("SELECT price_basis, match_kind FROM priced_requests WHERE request_key IN ('a-priced', 'e-unpriced') ORDER BY request_key");
    assert_eq!(rows, [",own_alias", "override,exact"]);
    assert_eq!(lake.sql("SELECT over FROM price_basis"), ["\"prices.toml (1 free model, 1 price)\""]);
}

/// The join that docs/prices.md shows, run as it stands there, on the files alone.
#[test]
fn the_documented_join_prices_the_parts_as_the_views_do() {
    let mut lake = lake();
    let long = Usage { ts: "2025-10-15 12:00:00", model: "claude-sonnet-4-5", rest: ", 250000 AS input_tokens" };
    lake.part("usage", "claude", "2025-10-15", 1, &long.select("long"));
    let peak = Usage { ts: "2026-08-17 02:00:00", model: "deepseek-v4-pro", rest: ", 1000000 AS output_tokens" };
    let peak = peak.select("peak").replace("'openai' AS vendor", "'deepseek' AS vendor");
    lake.part("usage", "cline", "2026-08-17", 1, &peak);
    let us = usage("claude-opus-5", ", 1000000 AS output_tokens, 'us' AS inference_geo, 3 AS web_search_requests");
    lake.part("usage", "claude", "2026-11-01", 1, &us.select("us"));
    let target = Target { database: &lake.database(), scratch: &lake.scratch(), prices: &lake.prices() };
    refresh(target, &lake.snapshot).unwrap();
    let documented = include_str!("../../../docs/prices.md");
    let sql = documented
        .split("```sql")
        .map(|block| block.split("```").next().unwrap())
        .find(|block| block.contains("read_parquet"))
        .unwrap();
    let sql = sql.replace("LAKE/", &format!("{}/", lake.folder.path().display()));
    let sql = sql.trim().trim_end_matches(';').to_owned();
    let plain = connection::in_memory().unwrap();
    let priced: String = plain.query_row(&format!("SELECT string_agg(request_key || ' ' || coalesce(cost_usd::VARCHAR, 'NULL'), '; ' ORDER BY request_key) FROM ({sql})"), [], |row| row.get(0)).unwrap();
    let expected = lake.rows(
        Question::Sql("SELECT string_agg(request_key || ' ' || coalesce(cost_computed_usd::VARCHAR, 'NULL'), '; ' ORDER BY request_key) FROM priced_requests"),
        &Filters::default(),
    );
    assert_eq!(priced, expected[0].trim_matches('"'));
    assert!(priced.contains("long 1.5") && priced.contains("peak 3.96") && priced.contains("us 27.53"), "{priced}");
}

#[test]
fn models_without_a_price_are_listed() {
    let missing = crate::warehouse::missing_prices(&lake().snapshot).unwrap();
    let rows: Vec<_> = missing.iter().map(|row| (row.model.as_str(), row.status.as_str(), row.requests)).collect();
    assert_eq!(rows, [("claude-opus-9", "unpriced", 1), ("auto", "estimated", 1)]);
}

/// Sums of floating point differ from run to run and with the number of threads; of decimals they do not.
#[test]
fn sums_are_the_same_in_every_run_and_with_any_number_of_threads() {
    let mut lake = MockLake::new();
    let many =
        "SELECT 'k' || i AS event_id, 'k' || i AS request_key, 0 AS rev, 'counted' AS status, 'request' AS grain,
            TIMESTAMP '2026-06-01 00:00:00' + to_seconds(i * 61) AS ts, 'anthropic' AS vendor,
            ['claude-opus-4-6', 'claude-sonnet-5-5', 'claude-haiku-5-5'][i % 3 + 1] AS model,
            i % 977 AS input_tokens, i * 7919 % 400000 AS cache_read_tokens, i * 31 % 9000 AS cache_write_1h_tokens,
            i * 101 % 4000 AS output_tokens
        FROM range(100000) AS numbers (i)";
    lake.part("usage", "claude", "2026-06-01", 1, many);
    let mut sums = std::collections::BTreeSet::new();
    for run in 0..20 {
        let threads = [1, 2, 8][run % 3];
        let sql = format!("SET threads = {threads}; SELECT sum(cost_usd), count(*) FROM priced_requests");
        sums.extend(lake.sql(&sql));
    }
    assert_eq!(sums.len(), 1, "{sums:?}");
    assert!(sums.first().unwrap().ends_with(",100000"));
}
