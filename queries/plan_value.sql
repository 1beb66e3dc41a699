-- title: Value of a plan
-- question: What would a subscription's work have cost at API prices, month by month?
-- theme: cost over time
-- parameters: tz, since, until, provider, project, plan_usd
-- columns:
--   month DATE: first local day of the month in tz
--   provider VARCHAR: tool whose sessions were read
--   requests BIGINT: billed model calls
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   plan_usd DECIMAL(18,2): price of the plan for a month in USD, as given; NULL if not given
--   value_usd DECIMAL(38,12): cost_usd less plan_usd
--   times_plan DOUBLE: cost_usd as a multiple of plan_usd
SELECT
    date_trunc('month', day)::DATE AS month,
    provider,
    count(*) AS requests,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
    getvariable('plan_usd')::DECIMAL(18, 2) AS plan_usd,
    (coalesce(sum(cost_usd), 0) - getvariable('plan_usd')::DECIMAL(18, 2))::DECIMAL(38, 12) AS value_usd,
    coalesce(sum(cost_usd), 0)::DOUBLE / nullif(getvariable('plan_usd')::DOUBLE, 0) AS times_plan
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY month, provider
ORDER BY month, provider;
