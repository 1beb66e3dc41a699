-- title: Dearest prompts
-- question: Which prompts cost most, with all calls up to the next prompt and those of their subagents?
-- theme: sessions
-- parameters: tz, since, until, provider, project, top
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   session_id VARCHAR: session of the prompt
--   project VARCHAR: directory that the session began in
--   prompt_utc TIMESTAMP: time of the prompt, UTC; NULL for calls before the first prompt that was recorded
--   prompt VARCHAR: its first 80 characters, on one line
--   requests BIGINT: billed model calls in the chosen days that it led to
--   subagent_requests BIGINT: those of them in sessions of subagents
--   total_tokens BIGINT: all tokens, prompt and output
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
WITH chosen AS (
    SELECT
        costs.provider,
        CASE WHEN known.relation = 'subagent' THEN coalesce(known.root_session_id, known.parent_session_id) END AS root_id,
        coalesce(root_id, costs.session_id) AS session_id,
        costs.project,
        costs.ts_utc,
        costs.total_tokens,
        costs.cost_usd,
        costs.cost_status
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    ) AS costs
    LEFT JOIN sessions AS known ON known.provider = costs.provider AND known.session_id = costs.session_id
),
prompts AS (
    SELECT provider, session_id, ts_utc AS prompt_utc, arg_min(content_text, event_id) AS content_text
    FROM messages
    WHERE kind = 'human'
    GROUP BY ALL
),
by_prompt AS (
    SELECT
        chosen.provider,
        chosen.session_id,
        max(chosen.project) AS project,
        prompts.prompt_utc,
        left(trim(regexp_replace(any_value(prompts.content_text), '\s+', ' ', 'g')), 80) AS prompt,
        count(*) AS requests,
        count(root_id) AS subagent_requests,
        sum(total_tokens)::BIGINT AS total_tokens,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens
    FROM chosen
    ASOF LEFT JOIN prompts
        ON prompts.provider = chosen.provider
        AND prompts.session_id = chosen.session_id
        AND prompts.prompt_utc <= chosen.ts_utc
    GROUP BY chosen.provider, chosen.session_id, prompts.prompt_utc
)
SELECT *
FROM by_prompt
QUALIFY row_number() OVER (ORDER BY cost_usd DESC, total_tokens DESC, provider, session_id, prompt_utc)
    <= coalesce(getvariable('top')::BIGINT, 50)
ORDER BY cost_usd DESC, total_tokens DESC, provider, session_id, prompt_utc;
