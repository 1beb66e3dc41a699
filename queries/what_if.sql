-- title: What if another model had done it
-- question: What would the tokens of each model have cost at the prices of another, on the same days?
-- theme: prices
-- parameters: tz, since, until, provider, project, other_model
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   price_key VARCHAR: vendor/model that the calls are priced as
--   other_key VARCHAR: vendor/model whose prices are tried: the parameter other_model, or each that is in use
--   requests BIGINT: billed model calls with a price
--   compared_requests BIGINT: those of them at whose time the other model had a price
--   compared_usd DECIMAL(38,12): computed cost of those, USD
--   other_usd DECIMAL(38,12): cost of the same tokens at the other's standard prices, USD; another model may use more or fewer
--   difference_usd DECIMAL(38,12): other_usd less compared_usd
--   difference_percent DOUBLE: difference_usd in percent of compared_usd
WITH chosen AS (
    SELECT
        provider, price_key, ts_utc, cost_computed_usd,
        coalesce(input_tokens, 0) AS input_tokens,
        coalesce(cache_read_tokens, 0) AS cache_read_tokens,
        coalesce(cache_write_5m_tokens, 0) AS cache_write_5m_tokens,
        coalesce(cache_write_1h_tokens, 0) AS cache_write_1h_tokens,
        coalesce(output_tokens, 0) AS output_tokens,
        coalesce(web_search_requests, 0) AS searches,
        CASE
            WHEN coalesce(grain, 'request') <> 'request' THEN 0
            ELSE coalesce(context_tokens, 0)
        END AS prompt_tokens
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    WHERE cost_computed_usd IS NOT NULL AND price_tier IS NOT NULL
),
others AS (
    SELECT DISTINCT price_key AS other_key
    FROM chosen
    WHERE getvariable('other_model') IS NULL
    UNION
    SELECT getvariable('other_model')
    WHERE getvariable('other_model') IS NOT NULL
),
compared AS (
    SELECT
        chosen.provider,
        chosen.price_key,
        others.other_key,
        chosen.cost_computed_usd,
        (
            chosen.input_tokens::DECIMAL(19, 0) * rates.input
            + chosen.cache_read_tokens::DECIMAL(19, 0) * rates.cache_read
            + chosen.cache_write_5m_tokens::DECIMAL(19, 0) * rates.cache_write_5m
            + chosen.cache_write_1h_tokens::DECIMAL(19, 0) * rates.cache_write_1h
            + chosen.output_tokens::DECIMAL(19, 0) * rates.output
            + chosen.searches::DECIMAL(19, 0) * rates.web_search
        )::DECIMAL(38, 12) AS other_usd
    FROM chosen
    JOIN others ON others.other_key <> chosen.price_key
    LEFT JOIN rates
        ON rates.price_key = others.other_key
        AND rates.channel = 'api'
        AND rates.mode = 'standard'
        AND NOT rates.in_us
        AND chosen.ts_utc >= rates.valid_from
        AND chosen.ts_utc < rates.valid_to
        AND chosen.prompt_tokens > rates.prompt_over
        AND chosen.prompt_tokens <= rates.prompt_upto
)
SELECT
    provider,
    price_key,
    other_key,
    count(*) AS requests,
    count(other_usd) AS compared_requests,
    coalesce(sum(cost_computed_usd) FILTER (other_usd IS NOT NULL), 0)::DECIMAL(38, 12) AS compared_usd,
    sum(other_usd) AS other_usd,
    (sum(other_usd) - coalesce(sum(cost_computed_usd) FILTER (other_usd IS NOT NULL), 0))::DECIMAL(38, 12)
        AS difference_usd,
    100 * difference_usd::DOUBLE / nullif(compared_usd, 0)::DOUBLE AS difference_percent
FROM compared
GROUP BY provider, price_key, other_key
ORDER BY provider, compared_usd DESC, price_key, other_usd, other_key;
