-- title: Cost by session
-- question: Which sessions cost most, how long were they, and how large did their prompts get?
-- theme: sessions
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   session_id VARCHAR: durable id of the session; a subagent's own session counts by itself
--   parent_session_id VARCHAR: session that it was started from
--   project VARCHAR: directory that the session began in
--   title VARCHAR: first 60 characters of its title
--   first_utc TIMESTAMP: first billed call in the chosen days, UTC
--   last_utc TIMESTAMP: last billed call in the chosen days, UTC
--   requests BIGINT: billed model calls
--   peak_context_tokens BIGINT: largest prompt of one call
--   total_tokens BIGINT: all tokens, prompt and output
--   output_tokens BIGINT: generated tokens, reasoning included
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   estimated_usd DECIMAL(38,12): part of cost_usd whose counters or prices are estimated
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   unpriced_models BIGINT: distinct models without a price
--   coverage_percent BIGINT: share of tokens with a price, rounded down
WITH by_session AS (
    SELECT
        provider,
        session_id,
        arg_max(project, ts_utc) AS project,
        min(ts_utc) AS first_utc,
        max(ts_utc) AS last_utc,
        count(*) AS requests,
        max(context_tokens) AS peak_context_tokens,
        sum(total_tokens)::BIGINT AS total_tokens,
        sum(output_tokens)::BIGINT AS output_tokens,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
        coalesce(sum(cost_usd) FILTER (cost_status = 'estimated'), 0)::DECIMAL(38, 12) AS estimated_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
        count(DISTINCT coalesce(model, '')) FILTER (cost_status = 'unpriced') AS unpriced_models,
        (100 * (sum(total_tokens) - unpriced_tokens) // nullif(sum(total_tokens), 0))::BIGINT AS coverage_percent
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    GROUP BY provider, session_id
)
SELECT
    costs.provider,
    costs.session_id,
    known.parent_session_id,
    coalesce(known.project, costs.project) AS project,
    left(known.title, 60) AS title,
    costs.first_utc,
    costs.last_utc,
    costs.requests,
    costs.peak_context_tokens,
    costs.total_tokens,
    costs.output_tokens,
    costs.cost_usd,
    costs.estimated_usd,
    costs.unpriced_tokens,
    costs.unpriced_models,
    costs.coverage_percent
FROM by_session AS costs
LEFT JOIN sessions AS known ON known.provider = costs.provider AND known.session_id = costs.session_id
ORDER BY costs.cost_usd DESC, costs.total_tokens DESC, costs.provider, costs.session_id;
