-- Priced requests with their local time and day in a time zone, from `since` up to and including `until`.
CREATE OR REPLACE MACRO local_requests(
    tz := NULL, since := NULL, until := NULL, only_provider := NULL, only_project := NULL
) AS TABLE
SELECT
    priced.*,
    priced.ts_utc + to_seconds(offsets.offset_seconds) AS ts_local,
    (priced.ts_utc + to_seconds(offsets.offset_seconds))::DATE AS day
FROM priced_requests AS priced
ASOF LEFT JOIN zone_offsets(coalesce(tz, 'UTC')) AS offsets ON priced.ts_utc >= offsets.utc_from
WHERE (since IS NULL OR day >= since::DATE)
    AND (until IS NULL OR day <= until::DATE)
    AND (only_provider IS NULL OR priced.provider = only_provider)
    AND (only_project IS NULL OR priced.project = only_project OR ends_with(priced.project, '/' || only_project));
