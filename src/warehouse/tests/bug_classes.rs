//! One test per way in which such tools have been wrong about money: what they got, and what is right.
//!
//! Where the mistake is one of names or counters, the test stands beside those (`pricing/tests.rs`, the adapters).

use super::mock::{MockLake, Usage};
use crate::pricing::golden::golden;
use crate::warehouse::{Filters, Question};

/// The costs of some requests, as CSV has them without the zeros at the end.
fn costs(requests: &[(&'static str, &'static str, &'static str)]) -> Vec<String> {
    let mut lake = MockLake::new();
    for (index, (model, ts, rest)) in requests.iter().enumerate() {
        let select = Usage { ts, model, rest }.select(&format!("r{index:02}"));
        lake.part("usage", "tool", ts.split(' ').next().unwrap(), 1, &select);
    }
    shortened(lake.sql("SELECT cost_usd FROM priced_requests ORDER BY request_key"))
}

fn shortened(costs: Vec<String>) -> Vec<String> {
    let short = |cost: String| match cost.trim_matches('"').split_once('.') {
        Some((whole, fraction)) => format!("{whole}.{fraction}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        None => cost.trim_matches('"').to_owned(),
    };
    costs.into_iter().map(short).collect()
}

const NOON: &str = "2026-11-01 12:00:00";

/// The same cases, the same costs as in Rust and in the generator.
#[test]
fn golden_cases_cost_in_sql_what_they_should() {
    let mut lake = MockLake::new();
    for (index, case) in golden().iter().enumerate() {
        let count = |value: Option<i64>| value.map_or("NULL".to_owned(), |value| value.to_string());
        let vendor =
            case.price_key.as_deref().and_then(|key| key.split_once('/')).map_or("anthropic", |(vendor, _)| vendor);
        let text = |text: &str| if text.is_empty() { "NULL".to_owned() } else { format!("'{text}'") };
        let select = format!(
            "SELECT 'e{index}' AS event_id, '{}' AS ts, 'r{index:02}' AS request_key, 0 AS rev, 'counted' AS status,
                    'request' AS grain, '{}' AS model, '{vendor}' AS vendor, {} AS speed, {} AS inference_geo,
                    {} AS input_tokens, {} AS cache_read_tokens, {} AS cache_write_5m_tokens,
                    {} AS cache_write_1h_tokens, {} AS output_tokens, {} AS web_search_requests",
            case.at,
            case.model,
            text(case.speed()),
            text(&case.geo),
            count(case.counters.input),
            count(case.counters.cache_read),
            count(case.counters.cache_write_5m),
            count(case.counters.cache_write_1h),
            count(case.counters.output),
            count(case.counters.web_search_requests),
        );
        lake.part("usage", "tool", case.at.split('T').next().unwrap(), 1, &select);
    }
    let costs = shortened(lake.sql("SELECT cost_usd FROM priced_requests ORDER BY request_key"));
    for (case, cost) in golden().iter().zip(&costs) {
        assert_eq!(cost, &case.usd, "{}", case.name);
    }
    assert_eq!(costs.len(), golden().len());
}

/// Class 1: the dearer tier only for the tokens beyond the limit, each class by itself. That gives 0.16203.
#[test]
fn a_tier_is_for_the_whole_request() {
    let long = ", 190000 AS cache_read_tokens, 20000 AS cache_write_5m_tokens, 2000 AS output_tokens";
    assert_eq!(costs(&[("claude-sonnet-4-5", "2025-10-15 12:00:00", long)]), ["0.309"]);
}

/// Class 2: the tier ignored, or tested on the sum of a session. Two short requests stay below it together.
#[test]
fn a_tier_is_chosen_by_one_request() {
    let short = ", 150000 AS input_tokens";
    assert_eq!(costs(&[("gpt-5.6-sol", NOON, short), ("gpt-5.6-sol", NOON, short)]), ["0.6", "0.6"]);
    assert_eq!(costs(&[("gpt-5.6-sol", NOON, ", 300000 AS input_tokens")]), ["2.4"]);
}

/// Class 3: writes for an hour at the price of those for five minutes, or both counted as one.
#[test]
fn a_write_for_an_hour_costs_twice_the_input() {
    let both = ", 1000000 AS cache_write_5m_tokens, 1000000 AS cache_write_1h_tokens";
    assert_eq!(costs(&[("claude-opus-5", NOON, both)]), ["16.25"]);
}

/// Classes 4 and 8: a model without a price as $0 without a word, coverage rounded up, a row of zeros taken for a price.
#[test]
fn what_has_no_price_is_told() {
    let mut lake = MockLake::new();
    let known = Usage { ts: NOON, model: "claude-opus-5", rest: ", 999999 AS input_tokens" };
    let unknown = Usage { ts: NOON, model: "claude-opus-9", rest: ", 1 AS input_tokens" };
    lake.part("usage", "claude", "2026-11-01", 1, &known.select("a"));
    lake.part("usage", "claude", "2026-11-01", 1, &unknown.select("b"));
    let rows = lake.sql("SELECT unpriced_tokens, unpriced_models, coverage_percent FROM daily_cost");
    assert_eq!(rows, ["1,1,99"]);
    for query in ["daily_cost", "model_cost", "project_cost", "session_cost"] {
        let sql = format!(
            "SELECT sum(unpriced_tokens), sum(unpriced_models), sum(estimated_usd), min(coverage_percent) FROM ({})",
            crate::warehouse::bundled(query).unwrap().statement()
        );
        assert_eq!(lake.sql(&sql)[0].split(',').take(2).collect::<Vec<_>>(), ["1", "1"], "{query}");
    }
    let priced = crate::pricing::PriceTable::builtin().unwrap().cells().unwrap();
    assert!(priced.iter().all(|cell| cell.input > 0 && cell.output > 0));
}

/// Class 5: gpt-5.4-mini priced as gpt-5 for its beginning, five times too much.
#[test]
fn a_name_is_matched_whole() {
    let tokens = ", 1000000 AS input_tokens";
    assert_eq!(costs(&[("gpt-5.4-mini", NOON, tokens), ("gpt-5.4-mini2", NOON, tokens)]), ["0.75", ""]);
}

/// Class 6: reasoning added to an output that holds it, cached tokens added to an input that holds them.
#[test]
fn reasoning_is_a_part_of_the_output() {
    let tokens = ", 1000000 AS output_tokens, 900000 AS reasoning_tokens";
    assert_eq!(costs(&[("gpt-6-sol", NOON, tokens)]), ["10"]);
}

/// Class 7: a premium on cache writes invented for vendors that take none.
#[test]
fn writes_cost_what_input_costs_where_no_premium_is_listed() {
    let mut lake = MockLake::new();
    let usage = Usage { ts: NOON, model: "glm-5.2", rest: ", 1000000 AS cache_write_5m_tokens" }.select("a");
    lake.part("usage", "tool", "2026-11-01", 1, &usage.replace("'openai' AS vendor", "'z-ai' AS vendor"));
    assert_eq!(shortened(lake.sql("SELECT cost_usd FROM priced_requests")), ["1.4"]);
    assert_eq!(costs(&[("gpt-5.5", NOON, ", 1000000 AS cache_write_5m_tokens, 1 AS context_tokens")]), ["5"]);
}

/// Class 9: a closed month that moves when a vendor changes a price, or when a list of present prices is taken over.
#[test]
fn a_closed_month_stays() {
    let august = ", 12000 AS input_tokens, 180000 AS cache_read_tokens, 900 AS output_tokens";
    let mut lake = MockLake::new();
    let usage = Usage { ts: "2026-08-20 12:00:00", model: "gpt-5.6-sol", rest: august };
    lake.part("usage", "codex", "2026-08-20", 1, &usage.select("a"));
    let cost = |lake: &MockLake| {
        shortened(lake.rows(Question::Sql("SELECT cost_usd FROM priced_requests"), &Filters::default()))
    };
    assert_eq!(cost(&lake), ["0.177"]);
    let list = r#"{"openai": {"models": {"gpt-5.6-sol": {"cost": {"input": 9, "output": 90}}}}}"#;
    let (_, statements) = crate::pricing::price_lists::read(list, "api.json").unwrap();
    let builtin = crate::pricing::PriceTable::builtin().unwrap();
    let at = crate::model::time::parse("2026-11-01T00:00:00Z").unwrap();
    let changes = crate::pricing::price_lists::changes(builtin, &statements, at, "api.json").unwrap();
    let cells: Vec<_> = changes.into_iter().flat_map(|change| change.after).collect();
    let updated = builtin.with(&crate::pricing::UserPrices::default().with_cells(&cells)).unwrap();
    lake.snapshot.prices = Some(updated.into());
    assert_eq!(cost(&lake), ["0.177"]);
    let later = Usage { ts: NOON, model: "gpt-5.6-sol", rest: ", 1000000 AS output_tokens" };
    lake.part("usage", "codex", "2026-11-01", 2, &later.select("b"));
    assert_eq!(shortened(lake.sql("SELECT cost_usd FROM priced_requests ORDER BY request_key")), ["0.177", "90"]);
}

/// Class 10: fast mode and the place of inference ignored.
#[test]
fn mode_and_place_have_their_price() {
    let tokens = ", 1000000 AS output_tokens";
    assert_eq!(
        costs(&[
            ("claude-opus-5", NOON, tokens),
            ("claude-opus-5", NOON, ", 1000000 AS output_tokens, 'fast' AS speed"),
            ("claude-opus-5", NOON, ", 1000000 AS output_tokens, 'us' AS inference_geo"),
            ("gpt-6-sol", NOON, ", 1000000 AS output_tokens, 'priority' AS service_tier"),
        ]),
        ["25", "50", "27.5", "20"]
    );
}

/// Classes 11 and 12 are of counting, and tested by the adapters. What is left here: a request that grew is priced once, by
/// its last counters, and a copy is not priced at all.
#[test]
fn a_request_is_priced_once() {
    let mut lake = MockLake::new();
    let first = Usage { ts: NOON, model: "claude-opus-5", rest: ", 100 AS output_tokens" };
    let growth = first.select("a").replace("0 AS rev, 'counted' AS status", "1 AS rev, 'growth' AS status");
    lake.part("usage", "claude", "2026-11-01", 1, &first.select("a"));
    lake.part("usage", "claude", "2026-11-01", 2, &growth);
    lake.part(
        "usage_copies",
        "claude",
        "2026-11-01",
        2,
        &format!("SELECT *, 'repeat' AS why FROM ({})", first.select("a")),
    );
    assert_eq!(shortened(lake.sql("SELECT cost_usd FROM priced_requests")), ["0.005"]);
}
