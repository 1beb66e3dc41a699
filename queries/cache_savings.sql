-- title: Cache hits and savings
-- question: How much of the prompts came from caches, and what did caching save after paying for writes?
-- theme: caching and context
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   model VARCHAR: model as recorded
--   requests BIGINT: billed model calls
--   prompt_tokens BIGINT: input, cache reads and cache writes
--   cache_read_tokens BIGINT: prompt tokens read from a cache
--   cache_write_tokens BIGINT: prompt tokens written to a cache
--   hit_percent DOUBLE: share of prompt_tokens read from a cache
--   read_saved_usd DECIMAL(38,12): what those read would have cost more as input, USD
--   write_premium_usd DECIMAL(38,12): what those written cost more than as input, USD
--   net_saved_usd DECIMAL(38,12): read_saved_usd less write_premium_usd; below zero, caching cost more than it saved
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
SELECT
    provider,
    project,
    model,
    count(*) AS requests,
    sum(coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0)
        + coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0))::BIGINT AS prompt_tokens,
    coalesce(sum(cache_read_tokens), 0)::BIGINT AS cache_read_tokens,
    sum(coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0))::BIGINT AS cache_write_tokens,
    100.0 * sum(cache_read_tokens)::DOUBLE / nullif(prompt_tokens, 0) AS hit_percent,
    coalesce(sum(cache_read_saved_usd), 0)::DECIMAL(38, 12) AS read_saved_usd,
    coalesce(sum(cache_write_premium_usd), 0)::DECIMAL(38, 12) AS write_premium_usd,
    (coalesce(sum(cache_read_saved_usd), 0) - coalesce(sum(cache_write_premium_usd), 0))::DECIMAL(38, 12) AS net_saved_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY provider, project, model
ORDER BY net_saved_usd DESC, prompt_tokens DESC, provider, project, model;
