-- title: Run rate
-- question: How much does a day cost of late, and where does the month end if it goes on like that?
-- theme: cost over time
-- parameters: tz, since, until, provider, project
-- columns:
--   as_of_day DATE: until, or the last local day with a call; it counts as a whole day
--   month DATE: first day of its month
--   days_gone BIGINT: days of the month up to it
--   days_in_month BIGINT: days of the month
--   cost_usd DECIMAL(38,12): cost of the month so far, USD
--   last_7_days_usd DECIMAL(38,12): cost of the seven days that end with as_of_day, USD
--   usd_per_day DOUBLE: estimate: cost_usd by day gone
--   usd_per_day_7 DOUBLE: estimate: last_7_days_usd by day
--   month_end_usd DOUBLE: estimate: the month at the rate of the month so far
--   month_end_usd_7 DOUBLE: estimate: the month with its remaining days at the rate of the last seven
--   unpriced_tokens BIGINT: tokens of the month without a price, missing from every figure
WITH chosen AS (
    SELECT day, cost_usd, cost_status, total_tokens
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
),
ends AS (
    SELECT
        coalesce(getvariable('until')::DATE, max(day)) AS as_of_day,
        date_trunc('month', as_of_day)::DATE AS month,
        day(as_of_day) AS days_gone,
        day(last_day(as_of_day)) AS days_in_month
    FROM chosen
),
sums AS (
    SELECT
        ends.*,
        coalesce(sum(cost_usd) FILTER (day >= month), 0)::DECIMAL(38, 12) AS cost_usd,
        coalesce(sum(cost_usd) FILTER (day > as_of_day - 7), 0)::DECIMAL(38, 12) AS last_7_days_usd,
        coalesce(sum(total_tokens) FILTER (day >= month AND cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens
    FROM chosen
    CROSS JOIN ends
    GROUP BY ALL
)
SELECT
    as_of_day,
    month,
    days_gone,
    days_in_month,
    cost_usd,
    last_7_days_usd,
    cost_usd::DOUBLE / days_gone AS usd_per_day,
    last_7_days_usd::DOUBLE / 7 AS usd_per_day_7,
    usd_per_day * days_in_month AS month_end_usd,
    cost_usd::DOUBLE + usd_per_day_7 * (days_in_month - days_gone) AS month_end_usd_7,
    unpriced_tokens
FROM sums;
