-- title: Outlier sessions
-- question: Which sessions cost over $1 and more than twice the median of their project (of three sessions and more)?
-- theme: sessions
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   session_id VARCHAR: durable id of the session
--   title VARCHAR: first 60 characters of its title
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   median_usd DECIMAL(38,12): median cost of the sessions of the project, USD
--   times_median DOUBLE: cost_usd as a multiple of it; NULL if the median is zero
--   sessions BIGINT: sessions of the project
WITH by_session AS (
    SELECT
        provider,
        arg_max(project, ts_utc) AS project,
        session_id,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    GROUP BY provider, session_id
),
compared AS (
    SELECT
        *,
        median(cost_usd::DOUBLE) OVER (PARTITION BY provider, project)::DECIMAL(38, 12) AS median_usd,
        count(*) OVER (PARTITION BY provider, project) AS sessions
    FROM by_session
)
SELECT
    compared.provider,
    compared.project,
    compared.session_id,
    left(known.title, 60) AS title,
    cost_usd,
    median_usd,
    cost_usd::DOUBLE / nullif(median_usd, 0)::DOUBLE AS times_median,
    sessions
FROM compared
LEFT JOIN sessions AS known ON known.provider = compared.provider AND known.session_id = compared.session_id
WHERE sessions >= 3 AND cost_usd > 1 AND cost_usd > 2 * median_usd
ORDER BY cost_usd DESC, compared.provider, compared.session_id;
