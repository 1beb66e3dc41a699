-- title: Weekly cost
-- question: What did each week cost by provider, and how does it compare with the week before?
-- theme: cost over time
-- parameters: tz, week_start, since, until, provider, project
-- columns:
--   week DATE: first local day of the week in tz
--   iso_week VARCHAR: its ISO name, such as 2026-W01; NULL where weeks do not begin on Monday
--   provider VARCHAR: tool whose sessions were read
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   coverage_percent BIGINT: share of tokens with a price, rounded down
--   change_usd DECIMAL(38,12): cost_usd less that of the week before; NULL if there were no calls in it
--   change_percent DOUBLE: change_usd in percent of the week before
WITH by_week AS (
    SELECT
        week_of(day, getvariable('week_start')) AS week,
        provider,
        count(*) AS requests,
        sum(total_tokens)::BIGINT AS total_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
        coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
        (100 * (sum(total_tokens) - unpriced_tokens) // nullif(sum(total_tokens), 0))::BIGINT AS coverage_percent
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    GROUP BY week, provider
)
SELECT
    this.week,
    CASE WHEN isodow(this.week) = 1 THEN strftime(this.week, '%G-W%V') END AS iso_week,
    this.* EXCLUDE (week),
    this.cost_usd - before.cost_usd AS change_usd,
    100 * change_usd::DOUBLE / nullif(before.cost_usd, 0)::DOUBLE AS change_percent
FROM by_week AS this
LEFT JOIN by_week AS before ON before.provider = this.provider AND before.week = this.week - 7
ORDER BY this.week, this.provider;
