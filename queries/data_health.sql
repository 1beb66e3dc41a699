-- title: Data health
-- question: How complete and how certain are the numbers, and what could not be read?
-- theme: habits and health
-- parameters: since, until, provider
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   finding VARCHAR: what was counted
--   rows BIGINT: how many
--   of_rows BIGINT: of how many; NULL where there is no whole
--   percent DOUBLE: share of of_rows
WITH wanted_usage AS (
    SELECT *
    FROM priced_requests
    WHERE date >= coalesce(getvariable('since')::DATE, date) AND date <= coalesce(getvariable('until')::DATE, date)
),
findings AS (
    SELECT provider, 1 AS place, 'requests counted' AS finding, count(*) AS rows, NULL::BIGINT AS of_rows
    FROM wanted_usage GROUP BY provider
    UNION ALL
    SELECT provider, 2, 'requests without a model', count(*) FILTER (model IS NULL), count(*)
    FROM wanted_usage GROUP BY provider
    UNION ALL
    SELECT provider, 3, 'requests without a price', count(*) FILTER (cost_status = 'unpriced'), count(*)
    FROM wanted_usage GROUP BY provider
    UNION ALL
    SELECT provider, 4, 'requests without recorded counters', count(*) FILTER (cost_status = 'no_usage'), count(*)
    FROM wanted_usage GROUP BY provider
    UNION ALL
    SELECT provider, 5, 'requests not counted exactly: ' || count_basis, count(*), NULL
    FROM wanted_usage WHERE count_basis <> 'exact' GROUP BY provider, count_basis
    UNION ALL
    SELECT
        provider, 6, 'requests with cache writes of assumed lifetime',
        count(*) FILTER (cache_write_basis = 'assumed_5m' AND cache_write_5m_tokens > 0), count(*)
    FROM wanted_usage GROUP BY provider
    UNION ALL
    SELECT provider, 7, 'copies of requests set aside: ' || why, count(*), NULL
    FROM usage_copies
    WHERE date >= coalesce(getvariable('since')::DATE, date) AND date <= coalesce(getvariable('until')::DATE, date)
    GROUP BY provider, why
    UNION ALL
    SELECT provider, 8, 'messages without a time of their own', count(*) FILTER (ts_basis <> 'record'), count(*)
    FROM messages
    WHERE date >= coalesce(getvariable('since')::DATE, date) AND date <= coalesce(getvariable('until')::DATE, date)
    GROUP BY provider
    UNION ALL
    SELECT provider, 9, 'tool calls without a result', count(*) FILTER (NOT has_result), count(*)
    FROM tool_use
    WHERE date >= coalesce(getvariable('since')::DATE, date) AND date <= coalesce(getvariable('until')::DATE, date)
    GROUP BY provider
    UNION ALL
    SELECT provider, 10, 'issues: ' || kind, count(*), NULL
    FROM issues
    WHERE date >= coalesce(getvariable('since')::DATE, date) AND date <= coalesce(getvariable('until')::DATE, date)
    GROUP BY provider, kind
)
SELECT provider, finding, rows, of_rows, 100.0 * rows / nullif(of_rows, 0) AS percent
FROM findings
WHERE provider = coalesce(getvariable('provider'), provider)
ORDER BY provider, place, finding;
