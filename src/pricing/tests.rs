//! Names, modes and prices through the pricers, without a database. The golden cases run in SQL, beside the views.

use super::golden::golden;
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
        ("vertex_ai/claude-opus-4-5@20251101", "anthropic/claude-opus-4-5", "prefix+date"),
        ("vertex_ai/claude-sonnet-4-5@default", "anthropic/claude-sonnet-4-5", "prefix+decoration"),
        ("openai/gpt-5.6-sol[372k]", "openai/gpt-5.6-sol", "prefix+decoration"),
        ("claude-4.6-opus", "anthropic/claude-opus-4-6", "separators+alias"),
        ("grok-4-fast", "xai/grok-4-fast", "exact"),
        ("grok-code-fast-1", "xai/grok-code-fast-1", "exact"),
        ("x-ai/grok-4.7", "xai/grok-4.7", "prefix"),
        ("MiniMax-M2.5", "minimax/minimax-m2.5", "lower_case"),
        ("MiniMax-M2", "minimax/minimax-m2", "lower_case"),
        ("GLM-5.2", "zhipu/glm-5.2", "lower_case"),
        ("glm-5p2", "zhipu/glm-5.2", "separators"),
        ("z-ai/glm-5.2", "zhipu/glm-5.2", "prefix"),
        ("accounts/fireworks/models/glm-5p2", "zhipu/glm-5.2", "prefix+separators"),
        ("k2p6", "moonshot/kimi-k2.6", "separators+alias"),
        ("k3", "moonshot/kimi-k3", "alias"),
        ("kimi/k3[1m]", "moonshot/kimi-k3", "prefix+decoration+alias"),
        ("k3-agent", "moonshot/kimi-k3", "alias"),
        ("cx/gpt-5.5", "openai/gpt-5.5", "prefix"),
        ("cp/claude-opus-4-6", "anthropic/claude-opus-4-6", "prefix"),
        ("cline-pass/moonshotai/kimi-k2.6", "moonshot/kimi-k2.6", "prefix"),
        ("omniroute:claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", "prefix"),
        ("github_copilot/gpt-5.5", "openai/gpt-5.5", "prefix"),
        ("qwen3-coder-plus", "qwen/qwen3-coder-plus", "exact"),
        ("qwen3-235b-a22b-instruct-2507", "qwen/qwen3-235b-a22b-instruct-2507", "exact"),
        ("deepseek-v4-flash", "deepseek/deepseek-v4-flash", "exact"),
        ("mistral-large-2512", "mistral/mistral-large-2512", "exact"),
        ("composer-1", "cursor/composer-1", "exact"),
        ("gpt-5.4-mini", "openai/gpt-5.4-mini", "exact"),
        ("claude-3-5-haiku-20241022", "anthropic/claude-3-5-haiku", "date"),
    ] {
        assert_eq!(resolved(name), (Some(key.to_owned()), "standard".to_owned(), kind.to_owned()), "{name}");
    }
}

/// Wrong prices are worse than none: no substring, no prefix, no other version, no other vendor.
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
        "deepseek-v4-flash-0731",
        "someproxy/claude-opus-4-6",
        "someproxy/anthropic/claude-opus-4-6",
        "openai/claude-opus-4-6",
        "anthropic/gpt-5",
        "auto",
        "default",
        "sonnet",
        "cursor-auto",
        "copilot-auto",
        "kiro-auto",
        "gemini-default",
        "gemini-3-flash-agent",
        "model_placeholder_m26",
        "gpt-5.3-spark",
        "grok-4-turbo",
        "[1m]",
        "-high",
        "-fast",
    ] {
        let (key, _, kind) = resolved(name);
        assert_eq!((key, kind.as_str()), (None, "unknown"), "{name}");
    }
}

#[test]
fn a_recorded_vendor_is_not_overruled_by_the_name() {
    let first = |vendor: &str, model: &str| {
        let model_use = ModelUse { vendor: vendor.to_owned(), ..used(model) };
        let row = resolve(table(), &model_use).into_iter().next().unwrap();
        (row.price_key, row.channel)
    };
    assert_eq!(first("openai", "claude-opus-4-6").0, None);
    assert_eq!(first("moonshot", "gpt-5").0, None);
    assert_eq!(first("nobody-knows", "gpt-5").0, None);
    assert_eq!(first("z-ai", "glm-5.2").0.as_deref(), Some("zhipu/glm-5.2"));
    assert_eq!(first("openrouter", "anthropic/claude-opus-4-6").0.as_deref(), Some("anthropic/claude-opus-4-6"));
    assert_eq!(
        first("amazon-bedrock", "claude-opus-4-6"),
        (Some("anthropic/claude-opus-4-6".to_owned()), "bedrock".to_owned())
    );
}

#[test]
fn the_channel_stands_beside_the_model_and_has_prices_of_its_own() {
    let input = |name: &str, channel: &str| {
        let row = resolve(table(), &used(name)).into_iter().next().unwrap();
        assert_eq!(row.channel, channel, "{name}: {row:?}");
        let tokens = Counters { input: Some(1_000_000), ..Counters::default() };
        cost(&used(name), "2026-11-01T00:00:00Z", &tokens)
    };
    const USD: i128 = 1_000_000_000_000;
    for (name, channel, expected) in [
        ("us.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock-regional", Some(55 * USD / 10)),
        ("eu.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock-regional", Some(55 * USD / 10)),
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "bedrock-global", Some(5 * USD)),
        ("bedrock/anthropic.claude-opus-4-5-20251101-v1:0", "bedrock", Some(5 * USD)),
        (
            "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.anthropic.claude-opus-4-5-20251101-v1:0",
            "bedrock-regional",
            Some(55 * USD / 10),
        ),
        ("vertex_ai/claude-opus-4-5@20251101", "vertex", Some(5 * USD)),
        ("azure/gpt-5", "azure", Some(125 * USD / 100)),
        // A channel without a cell is no reason to take another channel's.
        ("vertex_ai/claude-3-opus", "vertex", cost_in("anthropic/claude-3-opus", "vertex")),
        ("azure/claude-opus-4-5", "azure", None),
    ] {
        assert_eq!(input(name, channel), expected, "{name}");
    }
}

fn cost_in(key: &str, channel: &str) -> Option<i128> {
    let at = time::parse("2026-11-01T00:00:00Z").unwrap();
    let cells = table().rates_for(key, channel, STANDARD, at).unwrap();
    cells.first().map(|cell| i128::from(cell.input) * 1_000_000)
}

fn cost(model_use: &ModelUse, at: &str, counters: &Counters) -> Option<i128> {
    let at = time::parse(at).unwrap();
    cost_of(table(), &Request { model_use, geo: None, at, prompt: None, counters, priced_at: None }).unwrap()
}

#[test]
fn dated_aliases_mean_what_they_meant_then() {
    let rows = resolve(table(), &ModelUse { vendor: "openai".to_owned(), ..used("codex-auto-review") });
    let keys: Vec<Option<&str>> = rows.iter().map(|row| row.price_key.as_deref()).collect();
    assert_eq!(keys, [None, Some("openai/gpt-5.6-luna")]);
    assert_eq!(rows.first().unwrap().valid_to, rows.last().unwrap().valid_from);
    assert_eq!((rows.first().unwrap().valid_from, rows.last().unwrap().valid_to), (OPEN_FROM, OPEN_TO));
    let kimi: Vec<_> = resolve(table(), &used("kimi-for-coding"))
        .into_iter()
        .map(|row| (row.price_key.unwrap(), time::text(row.valid_from)))
        .collect();
    assert_eq!(kimi[0], ("moonshot/kimi-k2.5".to_owned(), "1970-01-01T00:00:00Z".to_owned()));
    assert_eq!(kimi[1], ("moonshot/kimi-k2.6".to_owned(), "2026-04-20T15:28:10Z".to_owned()));
    assert_eq!(kimi[2].0, "moonshot/kimi-k2.7-code");
}

#[test]
fn what_is_not_billed_by_the_token_costs_nothing_and_is_no_missing_rate() {
    let billing = |provider: &str, model: &str| {
        let model_use = ModelUse { provider: provider.to_owned(), ..used(model) };
        let tokens = Counters { input: Some(1_000_000), ..Counters::default() };
        assert_eq!(cost(&model_use, "2026-11-01T00:00:00Z", &tokens), Some(0), "{model}");
        resolve(table(), &model_use).into_iter().next().unwrap().billing
    };
    assert_eq!(billing("claude", "<synthetic>"), Billing::Nothing);
    for local in ["qwen3.6:35b-a3b-bf16", "ollama/llama3", "gemma-3n-e4b.Q4_K_M.gguf", "llama3:latest", "gemma3n:e4b"] {
        assert_eq!(billing("cline", local), Billing::Local, "{local}");
    }
    assert_eq!(billing("opencode", "big-pickle"), Billing::Free);
    assert_eq!(billing("warp", "auto"), Billing::FlatRate);
    for priced in ["omniroute:gpt-5", "deepseek/deepseek-r1:free", "us.anthropic.claude-opus-4-5-20251101-v1:0"] {
        assert_ne!(resolve(table(), &used(priced))[0].billing, Billing::Local, "{priced}");
    }
}

#[test]
fn cursor_falls_back_to_an_estimate_and_nobody_else_does() {
    for model in ["", "auto", "default", "something-new"] {
        let cursor = ModelUse { provider: "cursor".to_owned(), ..used(model) };
        let row = resolve(table(), &cursor).into_iter().next().unwrap();
        assert_eq!(
            (row.price_key.as_deref(), row.billing, row.match_kind.as_str()),
            (Some("cursor/sonnet-tier"), Billing::Estimate, "fallback"),
            "{model}"
        );
        let tokens = Counters { input: Some(1_000_000), output: Some(1_000_000), ..Counters::default() };
        assert_eq!(cost(&cursor, "2026-11-01T00:00:00Z", &tokens), Some(18_000_000_000_000));
        assert_eq!(cost(&used(model), "2026-11-01T00:00:00Z", &tokens), None, "{model}");
    }
    let known = ModelUse { provider: "cursor".to_owned(), ..used("claude-4.5-opus-high-thinking") };
    assert_eq!(resolve(table(), &known)[0].price_key.as_deref(), Some("anthropic/claude-opus-4-5"));
    let fast = ModelUse { provider: "cursor".to_owned(), ..used("composer-2.5-fast") };
    let row = resolve(table(), &fast).into_iter().next().unwrap();
    assert_eq!((row.price_key.as_deref(), row.mode.as_str()), (Some("cursor/composer-2.5"), "fast"));
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
    assert_eq!(mode("claude-4.6-opus-fast-mode", "", ""), "fast");
    // The response says that it was served at standard speed, whatever the name asked for.
    assert_eq!(mode("claude-opus-5-fast", "standard", ""), "standard");
    assert_eq!(mode("gpt-5.6-sol", "", ""), "standard");
    assert_eq!(mode("gpt-5.6-sol", "", "priority"), "fast");
    assert_eq!(mode("gpt-5.6-sol", "fast", ""), "fast");
    assert_eq!(mode("gpt-5.6-sol", "", "flex"), "flex");
    assert_eq!(mode("gpt-5.1-codex-max-xhigh-fast", "", ""), "fast");
    assert_eq!(mode("grok-4-fast", "", ""), "standard");
    assert_eq!(mode("qwen-plus-thinking", "", ""), "thinking");
    // A tier that nobody prices stays what it is, and so has no cell.
    assert_eq!(mode("gpt-5.6-sol", "", "scale"), "scale");
    let scale = ModelUse { service_tier: "scale".to_owned(), ..used("gpt-5.6-sol") };
    let tokens = Counters { input: Some(1), ..Counters::default() };
    assert_eq!(cost(&scale, "2026-11-01T00:00:00Z", &tokens), None);
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
    let google = Google.normalize_tokens(&raw);
    assert_eq!((google.input, google.output), (Some(40), Some(70)));
    for pricer in resolve::pricers() {
        assert_eq!(pricer.normalize_tokens(&RawTokens::default()), Counters::default(), "{}", pricer.vendor());
        if !matches!(pricer.vendor(), "anthropic" | "google") {
            let counters = pricer.normalize_tokens(&raw);
            assert_eq!((counters.input, counters.cache_read, counters.cache_write_5m), (Some(10), Some(60), Some(30)));
            // Reasoning is in the output already: adding it would bill it twice.
            assert_eq!((counters.output, counters.reasoning), (Some(50), Some(20)));
        }
    }
}

#[test]
fn every_vendor_of_the_table_has_a_pricer() {
    let vendors: Vec<&str> = resolve::pricers().map(|pricer| pricer.vendor()).collect();
    for vendor in [
        "anthropic",
        "openai",
        "google",
        "xai",
        "deepseek",
        "qwen",
        "moonshot",
        "zhipu",
        "minimax",
        "mistral",
        "cursor",
    ] {
        assert!(vendors.contains(&vendor), "{vendor}");
        assert!(table().keys().iter().any(|key| key.starts_with(&format!("{vendor}/"))), "{vendor} has no price");
    }
}

#[test]
fn no_two_keys_of_a_vendor_fold_together() {
    let keys = table().keys();
    let folded: std::collections::BTreeSet<String> = keys.iter().map(|key| table::fold(key)).collect();
    assert_eq!(keys.len(), folded.len());
}

/// The golden cases, in the file that the generator checks too.
#[test]
fn golden_cases_cost_what_they_should() {
    for case in golden() {
        let model_use = ModelUse { speed: case.speed().to_owned(), ..used(&case.model) };
        let at = time::parse(&case.at).unwrap();
        let geo = Some(case.geo.as_str()).filter(|geo| !geo.is_empty());
        let request =
            Request { model_use: &model_use, geo, at, prompt: None, counters: &case.counters, priced_at: None };
        assert_eq!(cost_of(table(), &request).unwrap(), case.pico_usd(), "{}", case.name);
        let row = resolve(table(), &model_use).into_iter().next().unwrap();
        assert_eq!(row.price_key, case.price_key, "{}", case.name);
    }
}

#[test]
fn prices_change_at_their_instant() {
    let tokens = Counters { cache_read: Some(1_000_000), ..Counters::default() };
    let cost = |text: &str| cost(&used("claude-sonnet-5-5"), text, &tokens);
    assert_eq!(cost("2026-10-06T23:59:59.999999Z"), Some(200_000_000_000));
    assert_eq!(cost("2026-10-07T00:00:00Z"), Some(100_000_000_000));
}

#[test]
fn deepseeks_hours_are_utc_and_end_on_holidays_and_weekends() {
    let tokens = Counters { output: Some(1_000_000), ..Counters::default() };
    let usd = |model: &str, at: &str| cost(&used(model), at, &tokens).map(|pico| pico / 1_000_000_000);
    // Before there were hours, on the night discount, and after it.
    assert_eq!(usd("deepseek-chat", "2025-02-26T16:29:59Z"), Some(1_100));
    assert_eq!(usd("deepseek-chat", "2025-06-01T16:30:00Z"), Some(550));
    assert_eq!(usd("deepseek-chat", "2025-06-02T00:29:59Z"), Some(550));
    assert_eq!(usd("deepseek-chat", "2025-06-02T00:30:00Z"), Some(1_100));
    assert_eq!(usd("deepseek-reasoner", "2025-06-01T20:00:00Z"), Some(547));
    assert_eq!(usd("deepseek-chat", "2025-09-05T16:00:00Z"), Some(1_680));
    // Peak hours on a Monday, then off them; a Saturday; a holiday in Beijing.
    assert_eq!(usd("deepseek-v4-pro", "2026-08-17T01:00:00Z"), Some(3_960));
    assert_eq!(usd("deepseek-v4-pro", "2026-08-17T04:00:00Z"), Some(1_980));
    assert_eq!(usd("deepseek-v4-pro", "2026-08-17T06:00:00Z"), Some(3_960));
    assert_eq!(usd("deepseek-v4-pro", "2026-08-17T10:00:00Z"), Some(1_980));
    assert_eq!(usd("deepseek-v4-pro", "2026-08-22T02:00:00Z"), Some(1_980));
    assert_eq!(usd("deepseek-v4-pro", "2026-10-01T02:00:00Z"), Some(1_980));
    assert_eq!(usd("deepseek-v4-pro", "2026-10-08T02:00:00Z"), Some(3_960));
    // The list price of the first months was never billed.
    assert_eq!(usd("deepseek-v4-pro", "2026-05-01T02:00:00Z"), Some(870));
}

#[test]
fn a_users_words_go_first() {
    let text = "[[price]]\nprice_key = \"acme/rocket\"\ninput = 2\noutput = 4\nmissing = \"input\"\n\
                [[alias]]\nname = \"claude-opus-5\"\nprice_key = \"acme/rocket\"\n\
                [[flat_rate]]\nname = \"gpt-5.5\"\nprovider = \"codex\"\n\
                [[free]]\nname = \"claude-opus-4-8\"\nvalid_from = 2026-10-01\n";
    let own = table().with(&UserPrices::parse(text, "prices.toml").unwrap()).unwrap();
    own.check().unwrap();
    let rows = |provider: &str, model: &str| resolve(&own, &ModelUse { provider: provider.to_owned(), ..used(model) });
    let first = &rows("claude", "claude-opus-5")[0];
    assert_eq!((first.price_key.as_deref(), first.match_kind.as_str()), (Some("acme/rocket"), "own_alias"));
    assert_eq!(rows("cline", "rocket")[0].price_key.as_deref(), Some("acme/rocket"));
    assert_eq!(rows("cline", "acme/rocket")[0].price_key.as_deref(), Some("acme/rocket"));
    assert_eq!(rows("cline", "rocket-2")[0].price_key, None);
    assert_eq!(rows("codex", "gpt-5.5")[0].billing, Billing::FlatRate);
    assert_eq!(rows("cursor", "gpt-5.5")[0].billing, Billing::Metered);
    let dated = rows("claude", "claude-opus-4-8");
    assert_eq!(dated.iter().map(|row| row.billing).collect::<Vec<_>>(), [Billing::Metered, Billing::Free]);
    assert_eq!(dated[0].price_key.as_deref(), Some("anthropic/claude-opus-4-8"));
    let dangling = UserPrices::parse("[[alias]]\nname = \"x\"\nprice_key = \"no/body\"\n", "f").unwrap();
    assert!(matches!(table().with(&dangling), Err(PricingError::DanglingAlias { .. })));
}

#[test]
fn the_nearest_names_are_only_told() {
    let near = nearest(table(), "claude-opus-4-9", 3);
    assert!(near.iter().all(|key| key.starts_with("anthropic/claude-opus-4")), "{near:?}");
    assert!(nearest(table(), "zzz", 3).is_empty());
}
