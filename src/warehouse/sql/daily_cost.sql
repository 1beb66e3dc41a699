-- What each day cost, by provider.
CREATE OR REPLACE MACRO daily_cost(
    tz := NULL, since := NULL, until := NULL, only_provider := NULL, only_project := NULL
) AS TABLE
SELECT
    day,
    provider,
    count(*) AS requests,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(cache_read_tokens)::BIGINT AS cache_read_tokens,
    sum(cache_write_5m_tokens)::BIGINT AS cache_write_5m_tokens,
    sum(cache_write_1h_tokens)::BIGINT AS cache_write_1h_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(web_search_requests)::BIGINT AS web_search_requests,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
    count(DISTINCT coalesce(model, '')) FILTER (cost_status = 'unpriced') AS unpriced_models,
    -- Rounded down: 99.9 % is not all.
    (100 * (sum(total_tokens) - unpriced_tokens) // nullif(sum(total_tokens), 0))::BIGINT AS coverage_percent
FROM local_requests(
    tz := tz, since := since, until := until, only_provider := only_provider, only_project := only_project
)
GROUP BY day, provider
ORDER BY day, provider;

CREATE OR REPLACE VIEW daily_cost AS SELECT * FROM daily_cost();
