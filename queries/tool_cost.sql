-- title: Cost by tool
-- question: Which tools do the dearest calls serve, if the cost of a call is shared equally by the tools it asked for?
-- theme: tools
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   name VARCHAR: tool; NULL for billed calls that asked for none
--   mcp_server VARCHAR: MCP server that offers it
--   requests BIGINT: billed model calls that asked for it
--   calls BIGINT: times that they asked for it
--   cost_usd DECIMAL(38,12): approximate, USD: each call's cost in equal shares by tool (not by number of calls), rounded down
--   cost_share_percent DOUBLE: share of the cost of the provider
WITH chosen AS (
    SELECT provider, request_key, cost_usd
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
),
tools AS (
    SELECT
        provider, request_key, name, mcp_server, count(*) AS calls,
        count(*) OVER (PARTITION BY provider, request_key) AS among
    FROM tool_requests
    WHERE request_key IS NOT NULL
    GROUP BY provider, request_key, name, mcp_server
),
parts AS (
    SELECT
        chosen.provider, name, mcp_server, calls,
        CASE WHEN among > 1 THEN money_share(cost_usd, among) ELSE cost_usd END AS cost_usd
    FROM chosen
    LEFT JOIN tools ON tools.provider = chosen.provider AND tools.request_key = chosen.request_key
)
SELECT
    provider,
    name,
    mcp_server,
    count(*) AS requests,
    coalesce(sum(calls), 0)::BIGINT AS calls,
    coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
    100 * coalesce(sum(cost_usd), 0)::DOUBLE / nullif(sum(sum(cost_usd)) OVER (PARTITION BY provider), 0)::DOUBLE
        AS cost_share_percent
FROM parts
GROUP BY provider, name, mcp_server
ORDER BY provider, cost_usd DESC, name, mcp_server;
