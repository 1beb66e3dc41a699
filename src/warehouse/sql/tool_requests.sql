-- Tool calls, each counted once, with the request that asked for them. Sources do not link the two, so time does: Codex notes
-- a request behind the calls that it asked for, the others note it before them. Approximate where requests overlap.
CREATE OR REPLACE VIEW tool_requests AS
WITH moments AS (
    SELECT provider, session_id, ts_utc AS request_utc, max(request_key) AS request_key
    FROM requests
    GROUP BY ALL
)
SELECT calls.*, moments.request_key
FROM (SELECT * FROM tool_calls_unique WHERE provider <> 'codex') AS calls
ASOF LEFT JOIN moments
    ON moments.provider = calls.provider
    AND moments.session_id = calls.session_id
    AND moments.request_utc <= calls.ts_utc
UNION ALL BY NAME
SELECT calls.*, moments.request_key
FROM (SELECT * FROM tool_calls_unique WHERE provider = 'codex') AS calls
ASOF LEFT JOIN moments
    ON moments.provider = calls.provider
    AND moments.session_id = calls.session_id
    AND moments.request_utc >= calls.ts_utc;
