-- title: Cost by subagent, skill and MCP server
-- question: What do subagents, skills and MCP servers cost, where each kind by itself adds up to the whole?
-- theme: where it goes
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   kind VARCHAR: subagent, skill or mcp_server
--   name VARCHAR: type of the subagent, name of the skill or of the server; NULL for calls that have none to do with it
--   requests BIGINT: billed model calls; for servers, those that asked for one of its tools
--   total_tokens BIGINT: all tokens of those calls
--   cost_usd DECIMAL(38,12): cost in USD; of a call that asked for tools of several servers, each has an equal share, rounded down
--   cost_share_percent DOUBLE: share of the cost of the provider
WITH chosen AS (
    SELECT provider, request_key, session_id, agent_type, agent_id, is_sidechain, skill, total_tokens, cost_usd
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
),
servers AS (
    SELECT DISTINCT provider, request_key, mcp_server
    FROM tool_requests
    WHERE request_key IS NOT NULL AND mcp_server IS NOT NULL
),
shares AS (
    SELECT *, count(*) OVER (PARTITION BY provider, request_key) AS among
    FROM servers
),
parts AS (
    SELECT
        chosen.provider,
        'subagent' AS kind,
        CASE
            WHEN agent_type IS NOT NULL THEN agent_type
            WHEN known.relation = 'subagent' OR is_sidechain OR agent_id IS NOT NULL THEN '(type not recorded)'
        END AS name,
        total_tokens,
        cost_usd
    FROM chosen
    LEFT JOIN sessions AS known ON known.provider = chosen.provider AND known.session_id = chosen.session_id
    UNION ALL
    SELECT provider, 'skill', skill, total_tokens, cost_usd FROM chosen
    UNION ALL
    SELECT
        chosen.provider, 'mcp_server', mcp_server, total_tokens,
        CASE WHEN among > 1 THEN money_share(cost_usd, among) ELSE cost_usd END
    FROM chosen
    LEFT JOIN shares ON shares.provider = chosen.provider AND shares.request_key = chosen.request_key
)
SELECT
    provider,
    kind,
    name,
    count(*) AS requests,
    sum(total_tokens)::BIGINT AS total_tokens,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    100 * coalesce(sum(cost_usd), 0)::DOUBLE
        / nullif(sum(sum(cost_usd)) OVER (PARTITION BY provider, kind), 0)::DOUBLE AS cost_share_percent
FROM parts
GROUP BY provider, kind, name
ORDER BY provider, kind, cost_usd DESC, name;
