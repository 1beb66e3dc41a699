-- title: Cost by model
-- question: Which models cost what, at which effective price, and which have none?
-- theme: where it goes
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   model VARCHAR: model as recorded
--   mode VARCHAR: standard, fast, batch, flex, ultrafast, thinking, peak or off_peak
--   price_key VARCHAR: vendor/model that it is priced as; NULL if no price is known
--   match_kind VARCHAR: how the name was matched; unknown if it was not
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; NULL if nothing has a price
--   cost_share_percent DOUBLE: share of the cost of all rows
--   usd_per_mtok DOUBLE: USD per million priced tokens, all classes together
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_models BIGINT: 1 if some of its tokens have no price
--   coverage_percent BIGINT: share of tokens with a price, rounded down
--   first_day DATE: first local day of use
--   last_day DATE: last local day of use
WITH by_model AS (
    SELECT
        provider,
        model,
        price_mode AS mode,
        price_key,
        match_kind,
        count(*) AS requests,
        sum(total_tokens)::BIGINT AS total_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        sum(cost_usd) AS cost_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
        coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
        count(DISTINCT coalesce(model, '')) FILTER (cost_status = 'unpriced') AS unpriced_models,
        (100 * (sum(total_tokens) - unpriced_tokens) // nullif(sum(total_tokens), 0))::BIGINT AS coverage_percent,
        min(day) AS first_day,
        max(day) AS last_day
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    GROUP BY ALL
)
SELECT
    provider,
    model,
    mode,
    price_key,
    match_kind,
    requests,
    total_tokens,
    output_tokens,
    cost_usd,
    100 * cost_usd::DOUBLE / nullif(sum(cost_usd) OVER (), 0)::DOUBLE AS cost_share_percent,
    1e6 * cost_usd::DOUBLE / nullif(total_tokens - unpriced_tokens, 0) AS usd_per_mtok,
    unpriced_tokens,
    estimated_usd,
    unpriced_models,
    coverage_percent,
    first_day,
    last_day
FROM by_model
ORDER BY cost_usd DESC NULLS LAST, total_tokens DESC, provider, model, mode, price_key;
