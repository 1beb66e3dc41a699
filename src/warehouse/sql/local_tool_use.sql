-- Tool calls, each counted once, with their project and the day they fall on in a time zone.
CREATE OR REPLACE MACRO local_tool_use(
    tz := NULL, since := NULL, until := NULL, only_provider := NULL, only_project := NULL
) AS TABLE
SELECT calls.*, known.project, (calls.ts_utc + to_seconds(offsets.offset_seconds))::DATE AS day
FROM tool_use AS calls
LEFT JOIN sessions AS known ON known.provider = calls.provider AND known.session_id = calls.session_id
ASOF LEFT JOIN zone_offsets(coalesce(tz, 'UTC')) AS offsets ON calls.ts_utc >= offsets.utc_from
WHERE calls.event_id IN (SELECT event_id FROM tool_calls_unique)
    AND (since IS NULL OR day >= since::DATE)
    AND (until IS NULL OR day <= until::DATE)
    AND (only_provider IS NULL OR calls.provider = only_provider)
    AND (only_project IS NULL OR known.project = only_project OR ends_with(known.project, '/' || only_project));
