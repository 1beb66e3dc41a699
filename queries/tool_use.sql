-- title: Tool use
-- question: Which tools are called how often, how often do they fail, and how long do they take?
-- theme: tools
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   name VARCHAR: name of the tool that the model called
--   mcp_server VARCHAR: MCP server that offers it
--   calls BIGINT: calls, copies in forked sessions left out
--   sessions BIGINT: sessions that called it
--   without_result BIGINT: calls whose result was not recorded
--   errors BIGINT: results marked as errors
--   error_percent DOUBLE: share of results that say whether they are errors
--   timed BIGINT: results with a recorded duration
--   p50_ms DOUBLE: median duration in milliseconds, of those
--   p95_ms DOUBLE: 95th percentile of the duration in milliseconds, of those
SELECT
    provider,
    name,
    mcp_server,
    count(*) AS calls,
    count(DISTINCT session_id) AS sessions,
    count(*) FILTER (NOT has_result) AS without_result,
    count(*) FILTER (is_error) AS errors,
    100.0 * count(*) FILTER (is_error) / nullif(count(is_error), 0) AS error_percent,
    count(duration_ms) AS timed,
    quantile_cont(duration_ms::DOUBLE, 0.5) AS p50_ms,
    quantile_cont(duration_ms::DOUBLE, 0.95) AS p95_ms
FROM local_tool_use(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
)
GROUP BY provider, name, mcp_server
ORDER BY calls DESC, provider, name, mcp_server;
