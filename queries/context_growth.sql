-- title: Context growth
-- question: How large did the prompts of each session grow, how often were they compacted, and what did long prompts cost?
-- theme: caching and context
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   session_id VARCHAR: durable id of the session
--   project VARCHAR: directory that the session began in
--   requests BIGINT: billed model calls with a known size of the prompt
--   first_context_tokens BIGINT: prompt of the first of them
--   last_context_tokens BIGINT: prompt of the last of them
--   peak_context_tokens BIGINT: largest prompt
--   median_context_tokens BIGINT: median prompt
--   drops BIGINT: calls whose prompt was under half of the one before
--   compactions BIGINT: compactions recorded in the whole session
--   long_requests BIGINT: calls in a dearer tier for long prompts
--   long_usd DECIMAL(38,12): cost of those calls, USD
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
WITH turns AS (
    SELECT
        provider, session_id, project, ts_utc, request_key, context_tokens, cost_usd, price_tier,
        lag(context_tokens) OVER (PARTITION BY provider, session_id ORDER BY ts_utc, request_key) AS context_before
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    WHERE context_tokens IS NOT NULL AND coalesce(grain, 'request') = 'request'
),
compactions AS (
    -- A summary that stands in a conversation; those without a role are titles of sessions.
    SELECT provider, session_id, count(*) AS compactions
    FROM messages_unique
    WHERE kind = 'summary' AND role IS NOT NULL
    GROUP BY provider, session_id
)
SELECT
    turns.provider,
    turns.session_id,
    arg_max(project, ts_utc) AS project,
    count(*) AS requests,
    arg_min(context_tokens, {'ts': ts_utc, 'key': request_key}) AS first_context_tokens,
    arg_max(context_tokens, {'ts': ts_utc, 'key': request_key}) AS last_context_tokens,
    max(context_tokens) AS peak_context_tokens,
    median(context_tokens)::BIGINT AS median_context_tokens,
    count(*) FILTER (context_tokens * 2 < context_before) AS drops,
    coalesce(any_value(compactions.compactions), 0) AS compactions,
    count(*) FILTER (price_tier <> 'base') AS long_requests,
    coalesce(sum(cost_usd) FILTER (price_tier <> 'base'), 0)::DECIMAL(38, 12) AS long_usd,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd
FROM turns
LEFT JOIN compactions ON compactions.provider = turns.provider AND compactions.session_id = turns.session_id
GROUP BY turns.provider, turns.session_id
ORDER BY peak_context_tokens DESC, turns.provider, turns.session_id;
