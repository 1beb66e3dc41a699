-- title: Errors and retries
-- question: Which tools fail and are called again, and what do the failed calls cost?
-- theme: tools
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   name VARCHAR: tool
--   calls BIGINT: calls, copies in forked sessions left out
--   errors BIGINT: results marked as errors
--   retried BIGINT: errors after which the session's next call is of the same tool
--   retried_alike BIGINT: of them, those with the very same input
--   failed_again BIGINT: of those retried, those that failed again
--   error_ms BIGINT: recorded duration of the failed calls in milliseconds; NULL if none is recorded
--   error_usd DECIMAL(38,12): approximate, USD: the failed calls' share of what the requests that made them cost, by number of calls
WITH calls AS (
    SELECT
        event_id,
        lead(name) OVER in_session AS next_name,
        lead(input) OVER in_session AS next_input,
        lead(is_error) OVER in_session AS next_error
    FROM tool_use
    WHERE event_id IN (SELECT event_id FROM tool_calls_unique)
    WINDOW in_session AS (PARTITION BY provider, session_id ORDER BY ts_utc, event_id)
),
shares AS (
    SELECT provider, event_id, request_key, count(*) OVER (PARTITION BY provider, request_key) AS among
    FROM tool_requests
    WHERE request_key IS NOT NULL
)
SELECT
    chosen.provider,
    chosen.name,
    count(*) AS calls,
    count(*) FILTER (is_error) AS errors,
    count(*) FILTER (is_error AND next_name = chosen.name) AS retried,
    count(*) FILTER (is_error AND next_name = chosen.name AND next_input = input) AS retried_alike,
    count(*) FILTER (is_error AND next_name = chosen.name AND next_error) AS failed_again,
    sum(duration_ms) FILTER (is_error)::BIGINT AS error_ms,
    coalesce(sum(money_share(costs.cost_usd, among)) FILTER (is_error), 0)::DECIMAL(38, 12) AS error_usd
FROM local_tool_use(
    tz := getvariable('tz'),
    since := getvariable('since'),
    until := getvariable('until'),
    only_provider := getvariable('provider'),
    only_project := getvariable('project')
) AS chosen
LEFT JOIN calls ON calls.event_id = chosen.event_id
LEFT JOIN shares ON shares.event_id = chosen.event_id
LEFT JOIN priced_requests AS costs ON costs.provider = shares.provider AND costs.request_key = shares.request_key
GROUP BY chosen.provider, chosen.name
HAVING count(*) FILTER (is_error) > 0
ORDER BY errors DESC, chosen.provider, chosen.name;
