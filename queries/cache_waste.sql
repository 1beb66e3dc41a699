-- title: Cache waste
-- question: Which cache writes were not read again, and what was written again after a break longer than a cache lives?
-- theme: caching and context
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   model VARCHAR: model as recorded
--   writes BIGINT: calls that wrote to a cache
--   write_tokens BIGINT: prompt tokens that they wrote
--   write_usd DECIMAL(38,12): what writing cost, USD
--   last_writes BIGINT: of them, the last call of a session and model: nothing of the session read what it wrote
--   last_write_usd DECIMAL(38,12): what those writes cost, USD
--   expired_writes BIGINT: of them, those whose next call came after the lifetime that was paid for
--   expired_write_usd DECIMAL(38,12): what those writes cost, USD
--   rewrites BIGINT: calls after such a break that wrote
--   rewrite_tokens BIGINT: prompt tokens that they wrote, old and new
--   rewrite_usd DECIMAL(38,12): what that cost, USD
WITH turns AS (
    SELECT
        provider, session_id, model, request_key, ts_utc,
        coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0) AS write_tokens,
        CASE WHEN cache_write_1h_tokens > 0 THEN 3600000000 ELSE 300000000 END AS lives_us,
        epoch_us(lead(ts_utc) OVER in_session) - epoch_us(ts_utc) AS us_to_next
    FROM requests
    WHERE coalesce(grain, 'request') = 'request'
    WINDOW in_session AS (PARTITION BY provider, session_id, model ORDER BY ts_utc, request_key)
),
judged AS (
    SELECT
        provider, request_key, write_tokens,
        write_tokens > 0 AND us_to_next IS NULL AS is_last,
        write_tokens > 0 AND coalesce(us_to_next > lives_us, false) AS is_expired,
        coalesce(lag(us_to_next > lives_us) OVER in_session, false) AND write_tokens > 0 AS is_rewrite
    FROM turns
    WINDOW in_session AS (PARTITION BY provider, session_id, model ORDER BY ts_utc, request_key)
),
chosen AS (
    SELECT
        provider, request_key, project, model,
        coalesce(cache_write_5m_cost_usd, 0) + coalesce(cache_write_1h_cost_usd, 0) AS write_usd
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
)
SELECT
    chosen.provider,
    project,
    model,
    count(*) FILTER (write_tokens > 0) AS writes,
    sum(write_tokens)::BIGINT AS write_tokens,
    sum(write_usd)::DECIMAL(38, 12) AS write_usd,
    count(*) FILTER (is_last) AS last_writes,
    coalesce(sum(write_usd) FILTER (is_last), 0)::DECIMAL(38, 12) AS last_write_usd,
    count(*) FILTER (is_expired) AS expired_writes,
    coalesce(sum(write_usd) FILTER (is_expired), 0)::DECIMAL(38, 12) AS expired_write_usd,
    count(*) FILTER (is_rewrite) AS rewrites,
    coalesce(sum(write_tokens) FILTER (is_rewrite), 0)::BIGINT AS rewrite_tokens,
    coalesce(sum(write_usd) FILTER (is_rewrite), 0)::DECIMAL(38, 12) AS rewrite_usd
FROM chosen
JOIN judged ON judged.provider = chosen.provider AND judged.request_key = chosen.request_key
GROUP BY chosen.provider, project, model
HAVING sum(write_tokens) > 0
ORDER BY rewrite_usd DESC, write_usd DESC, chosen.provider, project, model;
