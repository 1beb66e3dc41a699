-- title: Model mix
-- question: How did the shares of the models change from week to week?
-- theme: where it goes
-- parameters: tz, week_start, since, until, provider, project
-- columns:
--   week DATE: first local day of the week in tz
--   provider VARCHAR: tool whose sessions were read
--   model VARCHAR: model as recorded
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   request_share_percent DOUBLE: share of the week's calls of all providers
--   token_share_percent DOUBLE: share of the week's tokens of all providers
--   cost_share_percent DOUBLE: share of the week's cost of all providers
SELECT
    week_of(day, getvariable('week_start')) AS week,
    provider,
    model,
    count(*) AS requests,
    sum(total_tokens)::BIGINT AS total_tokens,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
    100.0 * count(*) / sum(count(*)) OVER in_week AS request_share_percent,
    100 * sum(total_tokens)::DOUBLE / nullif(sum(sum(total_tokens)) OVER in_week, 0)::DOUBLE AS token_share_percent,
    100 * coalesce(sum(cost_usd), 0)::DOUBLE / nullif(sum(sum(cost_usd)) OVER in_week, 0)::DOUBLE AS cost_share_percent
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY week, provider, model
WINDOW in_week AS (PARTITION BY week_of(day, getvariable('week_start')))
ORDER BY week, cost_usd DESC, provider, model;
