-- One row per tool call: of the copies that forks and resumed sessions hold, the oldest.
CREATE OR REPLACE VIEW tool_calls_unique AS
SELECT *
FROM tool_calls
WHERE event_id IN (
    SELECT arg_min(event_id, {'ts': ts_utc, 'session': session_id, 'event': event_id})
    FROM tool_calls
    GROUP BY provider, record_key
);
