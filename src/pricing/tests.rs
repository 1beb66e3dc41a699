//! Names, modes and prices through the pricers, without a database. The golden cases run in SQL, beside the views.

use super::*;
use crate::model::time;

fn table() -> &'static PriceTable {
    PriceTable::builtin().unwrap()
}

fn used(model: &str) -> ModelUse {
    ModelUse { provider: "claude".to_owned(), model: model.to_owned(), ..ModelUse::default() }
}

/// Key, mode and match kind of a name that means one thing for all of time.
fn resolved(model: &str) -> (Option<String>, String, String) {
    let rows = resolve(table(), &used(model));
    assert_eq!(rows.len(), 1, "{model}: {rows:?}");
    let row = rows.into_iter().next().unwrap();
    assert_eq!((row.valid_from, row.valid_to), (OPEN_FROM, OPEN_TO));
    (row.price_key, row.mode, row.match_kind)
}

#[test]
fn names_are_matched_step_by_step() {
    for (name, key, kind) in [
        ("claude-opus-4-6", "anthropic/claude-opus-4-6", "exact"),
        ("claude-opus-4-0", "anthropic/claude-opus-4", "alias"),
        ("Claude-Opus-4-6", "anthropic/claude-opus-4-6", "lower_case"),
        ("claude-sonnet-4.6", "anthropic/claude-sonnet-4-6", "separators"),
        ("gpt-5-3-codex", "openai/gpt-5.3-codex", "separators"),
        ("anthropic/claude-sonnet-4.5", "anthropic/claude-sonnet-4-5", "prefix+separators"),
        ("openrouter/anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "prefix"),
        ("anthropic--claude-4.6-opus", "anthropic/claude-opus-4-6", "prefix+separators+alias"),
        ("models/gemini-2.5-pro", "google/gemini-2.5-pro", "prefix"),
        ("claude-opus-4-6[1m]", "anthropic/claude-opus-4-6", "decoration"),
        ("gpt-5.6-sol[372k]", "openai/gpt-5.6-sol", "decoration"),
        ("Gemini 3.5 Flash (High)", "google/gemini-3.5-flash", "lower_case+decoration+separators"),
        ("GPT-5.3 Codex (high reasoning)", "openai/gpt-5.3-codex", "lower_case+decoration+separators"),
        ("claude-4-sonnet-1m", "anthropic/claude-sonnet-4", "decoration+alias"),
        ("claude-4.5-opus-high-thinking", "anthropic/claude-opus-4-5", "effort+separators+alias"),
        ("gpt-5-codex-high", "openai/gpt-5-codex", "effort"),
        ("gpt-5.1-codex-max", "openai/gpt-5.1-codex-max", "exact"),
        ("gpt-5.1-codex-max-xhigh", "openai/gpt-5.1-codex-max", "effort"),
        ("claude-sonnet-4-5-20250929", "anthropic/claude-sonnet-4-5", "date"),
        ("claude-sonnet-4-5@20250929", "anthropic/claude-sonnet-4-5", "date"),
        ("gpt-5-2025-08-07", "openai/gpt-5", "date"),
        ("claude-3-5-haiku-20241022", "anthropic/claude-3-5-haiku", "date"),
    ] {
        assert_eq!(resolved(name), (Some(key.to_owned()), "standard".to_owned(), kind.to_owned()), "{name}");
    }
}

#[test]
fn names_that_nobody_prices_have_no_price() {
    for name in [
        "",
        "claude-opus-9",
        "claude-opus",
        "claude-opus-4-6-turbo",
        "gpt-5.4-mini-nano",
        "gpt-5.3-codex-max",
        "claude-opus-4-6-0309",
        "claude-opus-4-6-20251399",
        "someproxy/claude-opus-4-6",
        "openai/claude-opus-4-6",
        "anthropic/gpt-5",
        "kimi-k2.7-code",
        "auto",
        "default",
        "sonnet",
        "gemini-default",
        "[1m]",
        "-high",
    ] {
        let (key, _, kind) = resolved(name);
        assert_eq!((key, kind.as_str()), (None, "unknown"), "{name}");
    }
}

#[test]
fn a_recorded_vendor_is_not_overruled_by_the_name() {
    let foreign = ModelUse { vendor: "openai".to_owned(), ..used("claude-opus-4-6") };
    assert_eq!(resolve(table(), &foreign).first().unwrap().price_key, None);
    let unknown = ModelUse { vendor: "moonshot".to_owned(), ..used("gpt-5") };
    assert_eq!(resolve(table(), &unknown).first().unwrap().price_key, None);
}

#[test]
fn channels_without_cells_have_a_key_but_no_price() {
    for (name, channel) in [
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock-regional"),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock-global"),
        ("bedrock/anthropic.claude-opus-4-5-20251101-v1:0", "bedrock"),
        ("vertex_ai/claude-opus-4-5@20251101", "vertex"),
        ("azure/gpt-5", "azure"),
    ] {
        let row = resolve(table(), &used(name)).into_iter().next().unwrap();
        assert!(row.price_key.is_some(), "{name}: {row:?}");
        assert_eq!(row.channel, channel, "{name}");
        let tokens = Counters { input: Some(1), ..Counters::default() };
        assert_eq!(cost_of(table(), &used(name), None, OPEN_FROM, None, &tokens), None, "{name}");
    }
}

#[test]
fn dated_aliases_mean_what_they_meant_then() {
    let rows = resolve(table(), &ModelUse { vendor: "openai".to_owned(), ..used("codex-auto-review") });
    let keys: Vec<Option<&str>> = rows.iter().map(|row| row.price_key.as_deref()).collect();
    assert_eq!(keys, [None, Some("openai/gpt-5.6-luna")]);
    assert_eq!(rows.first().unwrap().valid_to, rows.last().unwrap().valid_from);
    assert_eq!((rows.first().unwrap().valid_from, rows.last().unwrap().valid_to), (OPEN_FROM, OPEN_TO));
}

#[test]
fn synthetic_records_cost_nothing_and_are_no_missing_rate() {
    assert_eq!(resolved("<synthetic>"), (None, "standard".to_owned(), "not_billable".to_owned()));
    assert_eq!(cost_of(table(), &used("<synthetic>"), None, 0, None, &Counters::default()), Some(0));
}

#[test]
fn the_recorded_speed_and_tier_choose_the_mode() {
    let mode = |model: &str, speed: &str, tier: &str| {
        let model_use = ModelUse { speed: speed.to_owned(), service_tier: tier.to_owned(), ..used(model) };
        resolve(table(), &model_use).into_iter().next().unwrap().mode
    };
    assert_eq!(mode("claude-opus-5", "", ""), "standard");
    assert_eq!(mode("claude-opus-5", "fast", "standard"), "fast");
    assert_eq!(mode("claude-opus-5", "standard", "batch"), "batch");
    assert_eq!(mode("claude-opus-5", "", "priority"), "standard");
    assert_eq!(mode("claude-opus-5-fast", "", ""), "fast");
    // The response says that it was served at standard speed, whatever the name asked for.
    assert_eq!(mode("claude-opus-5-fast", "standard", ""), "standard");
    assert_eq!(mode("gpt-5.6-sol", "", ""), "standard");
    assert_eq!(mode("gpt-5.6-sol", "", "priority"), "fast");
    assert_eq!(mode("gpt-5.6-sol", "fast", ""), "fast");
    assert_eq!(mode("gpt-5.6-sol", "", "flex"), "flex");
    assert_eq!(mode("gpt-5.1-codex-max-xhigh-fast", "", ""), "fast");
    // A tier that nobody prices stays what it is, and so has no cell.
    assert_eq!(mode("gpt-5.6-sol", "", "scale"), "scale");
}

#[test]
fn an_unknown_tier_has_no_price() {
    let tokens = Counters { input: Some(1), ..Counters::default() };
    let model_use = ModelUse { service_tier: "scale".to_owned(), ..used("gpt-5.6-sol") };
    assert_eq!(cost_of(table(), &model_use, None, 0, None, &tokens), None);
}

#[test]
fn vendors_counters_become_disjoint() {
    let raw = RawTokens {
        input: Some(100),
        cache_read: Some(60),
        cache_write: Some(30),
        cache_write_1h: Some(10),
        output: Some(50),
        reasoning: Some(20),
    };
    let anthropic = Anthropic.normalize_tokens(&raw);
    assert_eq!((anthropic.input, anthropic.cache_write_5m, anthropic.cache_write_1h), (Some(100), Some(20), Some(10)));
    assert_eq!(anthropic.output, Some(50));
    let openai = OpenAi.normalize_tokens(&raw);
    assert_eq!((openai.input, openai.cache_read, openai.cache_write_5m), (Some(10), Some(60), Some(30)));
    assert_eq!((openai.output, openai.reasoning), (Some(50), Some(20)));
    let google = Google.normalize_tokens(&raw);
    assert_eq!((google.input, google.output), (Some(40), Some(70)));
    for pricer in PRICERS {
        assert_eq!(pricer.normalize_tokens(&RawTokens::default()), Counters::default(), "{}", pricer.vendor());
    }
}

#[test]
fn no_two_keys_of_a_vendor_fold_together() {
    let keys: std::collections::BTreeSet<&str> = table().cells().iter().map(|cell| cell.price_key.as_str()).collect();
    let folded: std::collections::BTreeSet<String> = keys.iter().map(|key| key.replace('.', "-")).collect();
    assert_eq!(keys.len(), folded.len());
}

#[test]
fn prices_change_at_their_instant() {
    let cost = |text: &str| {
        let tokens = Counters { cache_read: Some(1_000_000), ..Counters::default() };
        cost_of(table(), &used("claude-sonnet-5-5"), None, time::parse(text).unwrap(), None, &tokens)
    };
    assert_eq!(cost("2026-10-06T23:59:59.999999Z"), Some(200_000_000_000));
    assert_eq!(cost("2026-10-07T00:00:00Z"), Some(100_000_000_000));
}
