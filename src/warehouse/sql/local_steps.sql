-- Prompts, answers and tool results, each counted once, with the seconds since the one before it in its session, and the day
-- they fall on in a time zone. The time before is looked for before the days are chosen, so that a day loses none.
CREATE OR REPLACE MACRO local_steps(
    tz := NULL, since := NULL, until := NULL, only_provider := NULL, only_project := NULL
) AS TABLE
WITH steps AS (
    SELECT
        provider, session_id, event_id, ts_utc, ts_basis, kind, role, content_text,
        (attributes ->> '$.permissionMode') AS permission_mode,
        lag(kind) OVER in_session AS kind_before,
        epoch_us(ts_utc) - epoch_us(lag(ts_utc) OVER in_session) AS us_since
    FROM messages_unique
    WHERE kind IN ('human', 'assistant', 'tool_result', 'error')
        OR starts_with(content_text, '[Request interrupted by user')
    WINDOW in_session AS (PARTITION BY provider, session_id ORDER BY ts_utc, seq, event_id)
)
SELECT steps.*, known.project, (steps.ts_utc + to_seconds(offsets.offset_seconds))::DATE AS day
FROM steps
LEFT JOIN sessions AS known ON known.provider = steps.provider AND known.session_id = steps.session_id
ASOF LEFT JOIN zone_offsets(coalesce(tz, 'UTC')) AS offsets ON steps.ts_utc >= offsets.utc_from
WHERE (since IS NULL OR day >= since::DATE)
    AND (until IS NULL OR day <= until::DATE)
    AND (only_provider IS NULL OR steps.provider = only_provider)
    AND (only_project IS NULL OR known.project = only_project OR ends_with(known.project, '/' || only_project));
