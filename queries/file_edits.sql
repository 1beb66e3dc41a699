-- title: Files most edited
-- question: Which files are edited most, and how often are they read for each edit?
-- theme: tools
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   file_path VARCHAR: file as the calls name it
--   edits BIGINT: calls that say which lines they change, or whose tool edits, writes, patches or replaces by its name
--   reads BIGINT: calls of tools that read or view by their name
--   rereads BIGINT: reads beyond the first of a session
--   reads_per_edit DOUBLE: reads by edit; NULL without edits
--   sessions BIGINT: sessions with such calls
--   lines_added BIGINT: lines added, where calls say so
--   lines_removed BIGINT: lines removed, where calls say so
--   failed BIGINT: calls whose result is marked as an error
WITH calls AS (
    SELECT
        *,
        lines_added IS NOT NULL OR lines_removed IS NOT NULL
            OR regexp_matches(lower(name), 'edit|write|patch|replace') AS is_edit,
        NOT is_edit AND regexp_matches(lower(name), 'read|view') AS is_read
    FROM local_tool_use(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    WHERE file_path IS NOT NULL
)
SELECT
    provider,
    project,
    file_path,
    count(*) FILTER (is_edit) AS edits,
    count(*) FILTER (is_read) AS reads,
    reads - count(DISTINCT session_id) FILTER (is_read) AS rereads,
    reads::DOUBLE / nullif(edits, 0) AS reads_per_edit,
    count(DISTINCT session_id) AS sessions,
    coalesce(sum(lines_added), 0)::BIGINT AS lines_added,
    coalesce(sum(lines_removed), 0)::BIGINT AS lines_removed,
    count(*) FILTER (is_error) AS failed
FROM calls
WHERE is_edit OR is_read
GROUP BY provider, project, file_path
ORDER BY edits DESC, reads DESC, provider, project, file_path;
