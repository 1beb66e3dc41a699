-- Tool calls with their results: one row per call, also where the result came in a later run or not at all.
-- Of several results of one call (a tool that reports twice), the last stands.
CREATE OR REPLACE VIEW tool_use AS
WITH results AS (
    SELECT
        provider,
        session_id,
        tool_use_id,
        arg_max(event_id, {'ts': ts_utc, 'event': event_id}) AS event_id
    FROM tool_results
    WHERE tool_use_id IS NOT NULL
    GROUP BY provider, session_id, tool_use_id
)
SELECT
    calls.provider,
    calls.session_id,
    calls.tool_use_id,
    calls.event_id,
    calls.record_key,
    calls.date,
    calls.ts_utc,
    calls.name,
    calls.mcp_server,
    calls.input,
    calls.file_path,
    calls.lines_added,
    calls.lines_removed,
    found.event_id IS NOT NULL AS has_result,
    found.is_error,
    found.exit_code,
    found.duration_ms,
    found.ts_utc AS result_ts_utc,
    found.output
FROM tool_calls AS calls
LEFT JOIN results USING (provider, session_id, tool_use_id)
LEFT JOIN tool_results AS found ON found.event_id = results.event_id;
