//! Prices through the SQL that ships, against costs worked out by hand, exact to the last digit.

use proptest::prelude::*;

use super::mock::{MockLake, Usage, union};
use crate::model::{Counters, time};
use crate::pricing::{ModelUse, PriceTable, Request, cost_of};

/// One request and its exact cost in USD; `""` is NULL.
fn check(cases: &[(&'static str, &'static str, &'static str, &str)]) {
    let mut lake = MockLake::new();
    for (index, (model, ts, rest, _)) in cases.iter().enumerate() {
        let select = Usage { ts, model, rest }.select(&format!("r{index:02}"));
        lake.part("usage", "tool", ts.split(' ').next().unwrap(), 1, &select);
    }
    let costs = lake.sql("SELECT cost_usd FROM priced_requests ORDER BY request_key");
    for ((model, ts, rest, expected), cost) in cases.iter().zip(&costs) {
        let shortened = cost.trim_matches('"').trim_end_matches('0').trim_end_matches('.');
        assert_eq!(shortened, *expected, "{model} {ts} {rest}");
    }
    assert_eq!(costs.len(), cases.len());
}

#[test]
fn long_prompts_pay_their_tier_whole() {
    check(&[
        (
            "claude-sonnet-4-5",
            "2025-10-15 12:00:00",
            ", 10 AS input_tokens, 150000 AS cache_read_tokens, 2000 AS cache_write_5m_tokens, 1000 AS output_tokens",
            "0.06753",
        ),
        (
            "claude-sonnet-4-5-20250929",
            "2025-10-15 12:00:00",
            ", 10 AS input_tokens, 190000 AS cache_read_tokens, 20000 AS cache_write_5m_tokens, 2000 AS output_tokens",
            "0.30906",
        ),
        // Exactly at the threshold is below it.
        ("claude-sonnet-4-5", "2025-10-15 12:00:00", ", 200000 AS cache_read_tokens, 1000 AS output_tokens", "0.075"),
        (
            "gpt-5.6-sol",
            "2026-09-15 12:00:00",
            ", 12000 AS input_tokens, 270001 AS cache_read_tokens, 900 AS output_tokens",
            "0.3390008",
        ),
        (
            "gemini-3.1-pro",
            "2026-06-01 12:00:00",
            ", 100001 AS input_tokens, 100000 AS cache_read_tokens, 1000 AS output_tokens",
            "0.458004",
        ),
        // The recorded size of the prompt decides, and a row over several requests has none.
        ("claude-sonnet-4-5", "2025-10-15 12:00:00", ", 1000 AS input_tokens, 200001 AS context_tokens", "0.006"),
        ("claude-sonnet-4-5", "2025-10-15 12:00:00", ", 1000000 AS input_tokens, 'session' AS grain", "3"),
    ]);
}

#[test]
fn prices_hold_for_their_time() {
    let opus = ", 10 AS input_tokens, 250000 AS cache_read_tokens, 1000 AS output_tokens";
    let sol = ", 12000 AS input_tokens, 180000 AS cache_read_tokens, 900 AS output_tokens";
    check(&[
        ("claude-opus-4-6", "2026-03-13 00:00:00", opus, "0.2876"),
        ("claude-opus-4-6", "2026-03-14 00:00:00", opus, "0.15005"),
        ("gpt-5.6-sol", "2026-08-20 23:59:59", sol, "0.177"),
        ("gpt-5.6-sol", "2026-08-20 23:59:59.999999", sol, "0.177"),
        ("gpt-5.6-sol", "2026-08-21 00:00:00", sol, "0.138"),
        (
            "o3",
            "2025-06-09 12:00:00",
            ", 1000000 AS input_tokens, 1000000 AS cache_read_tokens, 1000000 AS output_tokens",
            "52.5",
        ),
        ("o3", "2025-06-11 12:00:00", ", 1000000 AS input_tokens, 1000000 AS output_tokens", "10"),
        ("claude-sonnet-5-5", "2026-10-06 12:00:00", ", 1000000 AS cache_read_tokens", "0.2"),
        ("claude-sonnet-5-5", "2026-10-08 12:00:00", ", 1000000 AS cache_read_tokens", "0.1"),
        // Announced, and in the table before it holds.
        ("gemini-4-argon", "2026-11-30 23:59:59", ", 1000000 AS input_tokens", "2"),
        ("gemini-4-argon", "2026-12-01 00:00:00", ", 1000000 AS input_tokens", "4"),
        // Fast mode of Opus 4.6 was served and billed as standard in the end.
        ("claude-opus-4-6", "2026-06-28 12:00:00", ", 1000000 AS output_tokens, 'fast' AS speed", "150"),
        ("claude-opus-4-6", "2026-06-29 12:00:00", ", 1000000 AS output_tokens, 'fast' AS speed", "25"),
    ]);
}

#[test]
fn writes_modes_regions_and_searches_have_their_own_prices() {
    let fast = ", 1000 AS input_tokens, 100000 AS cache_read_tokens, 5000 AS cache_write_1h_tokens, 2000 AS output_tokens, 'fast' AS speed";
    let fast_us = ", 1000 AS input_tokens, 100000 AS cache_read_tokens, 5000 AS cache_write_1h_tokens, 2000 AS output_tokens, 'fast' AS speed, 'us' AS inference_geo";
    let searched = ", 1000 AS input_tokens, 100000 AS cache_read_tokens, 5000 AS cache_write_1h_tokens, 2000 AS output_tokens, 'fast' AS speed, 2 AS web_search_requests";
    check(&[
        ("claude-opus-5", "2026-08-01 12:00:00", ", 344139 AS cache_write_1h_tokens", "3.44139"),
        ("claude-opus-5", "2026-08-01 12:00:00", fast, "0.31"),
        ("claude-opus-5", "2026-08-01 12:00:00", fast_us, "0.341"),
        ("claude-opus-5", "2026-08-01 12:00:00", searched, "0.33"),
        // Searches have no regional surcharge and no discount for batches.
        ("claude-opus-5", "2026-08-01 12:00:00", ", 1 AS web_search_requests, 'us' AS inference_geo", "0.01"),
        ("claude-opus-5", "2026-08-01 12:00:00", ", 1 AS web_search_requests, 'batch' AS service_tier", "0.01"),
        ("claude-opus-5", "2026-08-01 12:00:00", ", 1000000 AS output_tokens, 'batch' AS service_tier", "12.5"),
        ("claude-opus-4-5", "2026-08-01 12:00:00", ", 1000000 AS output_tokens, 'us' AS inference_geo", "25"),
        ("gpt-5.6-sol", "2026-09-01 12:00:00", ", 1000000 AS output_tokens, 'flex' AS service_tier", "10"),
        ("gpt-5.6-sol", "2026-09-01 12:00:00", ", 1000000 AS output_tokens, 'priority' AS service_tier", "40"),
        ("gpt-5.5", "2026-09-01 12:00:00", ", 1000000 AS output_tokens, 'fast' AS service_tier", "75"),
        // Cache writes cost extra from GPT-5.6 on only.
        ("gpt-5.5", "2026-09-01 12:00:00", ", 100000 AS cache_write_5m_tokens", "0.5"),
        ("gpt-5.6-sol", "2026-09-01 12:00:00", ", 100000 AS cache_write_5m_tokens", "0.5"),
    ]);
}

#[test]
fn what_has_no_price_costs_null() {
    check(&[
        ("claude-opus-9", "2026-08-01 12:00:00", ", 1000 AS input_tokens", ""),
        ("claude-sonnet-5", "2026-08-01 12:00:00", ", 1000 AS input_tokens, 'fast' AS speed", ""),
        ("claude-sonnet-5", "2026-08-01 12:00:00", "", ""),
        ("codex-auto-review", "2026-07-01 12:00:00", ", 1000000 AS input_tokens", ""),
        ("codex-auto-review", "2026-08-01 12:00:00", ", 100000 AS input_tokens", "0.02"),
        // Recorded zeros are usage that costs nothing.
        ("claude-sonnet-5", "2026-08-01 12:00:00", ", 0 AS input_tokens, 0 AS output_tokens", "0"),
    ]);
}

#[test]
fn every_request_has_exactly_one_price_row_and_a_status() {
    let mut lake = MockLake::new();
    let models =
        ["claude-opus-4-6", "claude-opus-9", "<synthetic>", "gpt-5.6-sol", "codex-auto-review", "gemini-2.5-pro"];
    for (index, model) in models.iter().enumerate() {
        for (turn, context) in ["NULL", "0", "200000", "200001", "272001"].iter().enumerate() {
            let usage = Usage { ts: "2026-03-13 19:13:40", model, rest: "" };
            let select = format!(
                "{}, 5 AS output_tokens, {context} AS context_tokens",
                usage.select(&format!("{index}-{turn}"))
            );
            lake.part("usage", "tool", "2026-03-13", 1, &select);
        }
    }
    let counts = lake.sql("SELECT (SELECT count(*) FROM requests), (SELECT count(*) FROM priced_requests)");
    assert_eq!(counts, ["30,30"]);
    let statuses =
        lake.sql("SELECT model, cost_status, match_kind, count(*) FROM priced_requests GROUP BY ALL ORDER BY ALL");
    assert_eq!(
        statuses,
        [
            "<synthetic>,free,not_billable,5",
            "claude-opus-4-6,priced,exact,5",
            "claude-opus-9,unpriced,unknown,5",
            "codex-auto-review,unpriced,unknown,5",
            "gemini-2.5-pro,priced,exact,5",
            "gpt-5.6-sol,priced,exact,5",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// SQL and the Rust twin that summaries use agree to the pico-dollar, wherever a request lies.
    #[test]
    fn sql_and_rust_agree(
        requests in prop::collection::vec(
            (0_usize..8, 0_i64..40_000_000, prop::array::uniform5(prop::option::of(0_i64..400_000)), any::<bool>()),
            1..40,
        ),
    ) {
        const MODELS: [&str; 8] = [
            "claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-5-5", "gpt-5.6-luna", "gemini-3.6-flash", "unheard-of",
            "deepseek-chat", "deepseek-v4-pro",
        ];
        let table = PriceTable::builtin().unwrap();
        let base = time::parse("2025-09-01T00:00:00Z").unwrap();
        let sql = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let mut selects = Vec::new();
        let mut expected = Vec::new();
        for (index, (model, seconds, tokens, in_us)) in requests.iter().enumerate() {
            let (model, at) = (MODELS[*model], base + seconds * 1_000_000);
            let geo = if *in_us { "us" } else { "not_available" };
            let [input, cache_read, cache_write_5m, cache_write_1h, output] = *tokens;
            selects.push(format!(
                "SELECT 'e{index}' AS event_id, '{}' AS ts, 'r{index:03}' AS request_key, 0 AS rev, 'counted' AS status,
                        '{model}' AS model, '{geo}' AS inference_geo, {} AS input_tokens, {} AS cache_read_tokens,
                        {} AS cache_write_5m_tokens, {} AS cache_write_1h_tokens, {} AS output_tokens",
                time::text(at), sql(input), sql(cache_read), sql(cache_write_5m), sql(cache_write_1h), sql(output),
            ));
            let counters = Counters { input, cache_read, cache_write_5m, cache_write_1h, output, ..Counters::default() };
            let model_use = ModelUse { provider: "tool".to_owned(), model: model.to_owned(), ..ModelUse::default() };
            let prompt = [input, cache_read, cache_write_5m, cache_write_1h].iter().flatten().sum();
            let recorded = counters.to_array().iter().any(Option::is_some);
            let request = Request {
                model_use: &model_use,
                geo: Some(geo),
                at,
                prompt: Some(prompt),
                counters: &counters,
                priced_at: None,
            };
            let cost = cost_of(table, &request).unwrap().filter(|_| recorded);
            expected.push(cost.map_or(String::new(), |cost| cost.to_string()));
        }
        let mut lake = MockLake::new();
        lake.part("usage", "tool", "2026-01-01", 1, &union(&selects));
        let costs = lake.sql("SELECT (cost_usd * 1000000000000)::HUGEINT FROM priced_requests ORDER BY request_key");
        prop_assert_eq!(costs, expected);
    }
}
