-- One row per record: of the copies that forks and resumed sessions hold, the oldest.
CREATE OR REPLACE VIEW messages_unique AS
SELECT *
FROM messages
WHERE event_id IN (
    SELECT arg_min(event_id, {'ts': ts_utc, 'session': session_id, 'event': event_id})
    FROM messages
    GROUP BY provider, record_key
);
