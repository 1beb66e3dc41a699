-- title: Cost by project
-- question: Which projects cost what?
-- theme: where it goes
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   sessions BIGINT: sessions with billed calls
--   branches BIGINT: distinct Git branches
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   unpriced_models BIGINT: distinct models without a price
--   coverage_percent BIGINT: share of tokens with a price, rounded down
--   first_day DATE: first local day of use
--   last_day DATE: last local day of use
SELECT
    provider,
    project,
    count(DISTINCT session_id) AS sessions,
    count(DISTINCT git_branch) AS branches,
    count(*) AS requests,
    sum(total_tokens)::BIGINT AS total_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
    count(DISTINCT coalesce(model, '')) FILTER (cost_status = 'unpriced') AS unpriced_models,
    (100 * (sum(total_tokens) - unpriced_tokens) // nullif(sum(total_tokens), 0))::BIGINT AS coverage_percent,
    min(day) AS first_day,
    max(day) AS last_day
FROM local_requests(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY provider, project
ORDER BY cost_usd DESC, total_tokens DESC, provider, project;
