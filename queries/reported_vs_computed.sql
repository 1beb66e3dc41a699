-- title: Reported and computed cost
-- question: Where tools record a cost themselves, how far is it from what counters and prices give?
-- theme: prices
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   model VARCHAR: model as recorded
--   requests BIGINT: billed model calls
--   reported_requests BIGINT: calls with a recorded cost in USD
--   compared_requests BIGINT: those of them that have a computed cost too
--   reported_usd DECIMAL(38,12): recorded cost of those compared, USD
--   computed_usd DECIMAL(38,12): computed cost of those compared, USD
--   difference_usd DECIMAL(38,12): reported_usd less computed_usd
--   difference_percent DOUBLE: difference_usd in percent of computed_usd
SELECT
    provider,
    model,
    count(*) AS requests,
    count(cost_reported_usd) AS reported_requests,
    count(*) FILTER (cost_reported_usd IS NOT NULL AND cost_computed_usd IS NOT NULL) AS compared_requests,
    sum(cost_reported_usd) FILTER (cost_computed_usd IS NOT NULL) AS reported_usd,
    sum(cost_computed_usd) FILTER (cost_reported_usd IS NOT NULL) AS computed_usd,
    reported_usd - computed_usd AS difference_usd,
    100 * difference_usd::DOUBLE / nullif(computed_usd, 0)::DOUBLE AS difference_percent
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY provider, model
ORDER BY abs(difference_usd) DESC NULLS LAST, requests DESC, provider, model;
