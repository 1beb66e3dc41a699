-- title: Delegation, interruptions and errors
-- question: How often is work delegated, interrupted, stopped by errors, or let run without asking?
-- theme: habits and health
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   prompts BIGINT: prompts of people
--   sessions BIGINT: sessions with billed calls
--   subagent_sessions BIGINT: those of them that subagents ran in
--   delegated_requests BIGINT: billed calls of subagents
--   delegated_percent DOUBLE: share of billed calls
--   delegated_usd DECIMAL(38,12): cost of those calls, USD
--   interruptions BIGINT: answers cut off by the person, as Claude Code notes them; NULL of other tools
--   interrupted_percent DOUBLE: interruptions by prompt
--   api_errors BIGINT: errors of the vendor's service that were recorded
--   errors_per_100_requests DOUBLE: api_errors by hundred billed calls
--   mode_recorded BIGINT: prompts that say in which permission mode they were given
--   default_percent DOUBLE: share of those in the mode default, which asks before it acts
--   plan_percent DOUBLE: share of those in the mode plan
--   unattended_percent DOUBLE: share of those in other modes, which ask less or not at all
WITH steps AS (
    SELECT
        chosen.provider,
        count(*) FILTER (kind = 'human') AS prompts,
        count(*) FILTER (starts_with(content_text, '[Request interrupted by user')) AS interruptions,
        count(*) FILTER (kind = 'error') AS api_errors,
        count(permission_mode) FILTER (kind = 'human') AS mode_recorded,
        count(*) FILTER (kind = 'human' AND permission_mode = 'default') AS in_default,
        count(*) FILTER (kind = 'human' AND permission_mode = 'plan') AS in_plan
    FROM local_steps(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    ) AS chosen
    GROUP BY chosen.provider
),
billed AS (
    SELECT
        chosen.provider,
        count(DISTINCT chosen.session_id) AS sessions,
        count(DISTINCT chosen.session_id) FILTER (known.relation = 'subagent' OR is_sidechain) AS subagent_sessions,
        count(*) AS requests,
        count(*) FILTER (known.relation = 'subagent' OR is_sidechain) AS delegated_requests,
        coalesce(sum(cost_usd) FILTER (known.relation = 'subagent' OR is_sidechain), 0)::DECIMAL(38, 12) AS delegated_usd
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    ) AS chosen
    LEFT JOIN sessions AS known ON known.provider = chosen.provider AND known.session_id = chosen.session_id
    GROUP BY chosen.provider
)
SELECT
    coalesce(steps.provider, billed.provider) AS provider,
    coalesce(prompts, 0) AS prompts,
    coalesce(sessions, 0) AS sessions,
    coalesce(subagent_sessions, 0) AS subagent_sessions,
    coalesce(delegated_requests, 0) AS delegated_requests,
    100.0 * delegated_requests / nullif(requests, 0) AS delegated_percent,
    coalesce(delegated_usd, 0)::DECIMAL(38, 12) AS delegated_usd,
    CASE WHEN steps.provider = 'claude' THEN interruptions END AS interruptions,
    CASE WHEN steps.provider = 'claude' THEN 100.0 * interruptions / nullif(prompts, 0) END AS interrupted_percent,
    coalesce(api_errors, 0) AS api_errors,
    100.0 * api_errors / nullif(requests, 0) AS errors_per_100_requests,
    coalesce(mode_recorded, 0) AS mode_recorded,
    100.0 * in_default / nullif(mode_recorded, 0) AS default_percent,
    100.0 * in_plan / nullif(mode_recorded, 0) AS plan_percent,
    100.0 * (mode_recorded - in_default - in_plan) / nullif(mode_recorded, 0) AS unattended_percent
FROM steps
FULL JOIN billed ON billed.provider = steps.provider
ORDER BY provider;
