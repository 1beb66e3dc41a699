-- title: Daily cost
-- question: What did each day cost by provider, and how much of that is known?
-- theme: cost over time
-- parameters: tz, since, until, provider, project
-- columns:
--   day DATE: local day in tz
--   provider VARCHAR: tool whose sessions were read
--   requests BIGINT: billed model calls
--   input_tokens BIGINT: prompt tokens that came from no cache
--   cache_read_tokens BIGINT: prompt tokens read from a cache
--   cache_write_5m_tokens BIGINT: prompt tokens written to a cache for five minutes or an unrecorded time
--   cache_write_1h_tokens BIGINT: prompt tokens written to a cache for an hour
--   output_tokens BIGINT: generated tokens, reasoning included
--   web_search_requests BIGINT: searches billed by the piece
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of that day; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters are estimated, incomplete, or cover several requests
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   unpriced_models BIGINT: distinct models without a price
--   coverage_percent BIGINT: share of tokens with a price, rounded down
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
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY day, provider
ORDER BY day, provider;
