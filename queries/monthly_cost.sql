-- title: Monthly cost
-- question: What did each month cost by provider, and how does it compare with the month before?
-- theme: cost over time
-- parameters: tz, since, until, provider, project
-- columns:
--   month DATE: first local day of the month in tz
--   provider VARCHAR: tool whose sessions were read
--   days BIGINT: days with calls
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   coverage_percent BIGINT: share of tokens with a price, rounded down
--   change_usd DECIMAL(38,12): cost_usd less that of the month before; NULL if there were no calls in it
--   change_percent DOUBLE: change_usd in percent of the month before
WITH by_month AS (
    SELECT
        date_trunc('month', day)::DATE AS month,
        provider,
        count(DISTINCT day) AS days,
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
    GROUP BY month, provider
)
SELECT
    this.*,
    this.cost_usd - before.cost_usd AS change_usd,
    100 * change_usd::DOUBLE / nullif(before.cost_usd, 0)::DOUBLE AS change_percent
FROM by_month AS this
LEFT JOIN by_month AS before
    ON before.provider = this.provider AND before.month = (this.month - INTERVAL 1 MONTH)::DATE
ORDER BY this.month, this.provider;
