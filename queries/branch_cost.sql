-- title: Cost by branch
-- question: Which Git branches of which projects cost what?
-- theme: where it goes
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   git_branch VARCHAR: branch at the time of the call; NULL if none was recorded
--   sessions BIGINT: sessions with billed calls
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   coverage_percent BIGINT: share of tokens with a price, rounded down
--   first_day DATE: first local day of use
--   last_day DATE: last local day of use
SELECT
    provider,
    project,
    git_branch,
    count(DISTINCT session_id) AS sessions,
    count(*) AS requests,
    sum(total_tokens)::BIGINT AS total_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
    coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
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
GROUP BY provider, project, git_branch
ORDER BY cost_usd DESC, total_tokens DESC, provider, project, git_branch;
