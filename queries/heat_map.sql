-- title: Heat map
-- question: At which hours of which weekdays is the work done, and what does it cost?
-- theme: cost over time
-- parameters: tz, since, until, provider, project
-- columns:
--   weekday BIGINT: 1 is Monday, 7 is Sunday
--   hour BIGINT: local hour in tz, 0 to 23; where clocks go back, both hours of that name count in it
--   requests BIGINT: billed model calls
--   days BIGINT: distinct days with calls in that hour
--   total_tokens BIGINT: all tokens, prompt and output
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
SELECT
    isodow(day) AS weekday,
    hour(ts_local) AS hour,
    count(*) AS requests,
    count(DISTINCT day) AS days,
    sum(total_tokens)::BIGINT AS total_tokens,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY isodow(day), hour(ts_local)
ORDER BY weekday, hour;
