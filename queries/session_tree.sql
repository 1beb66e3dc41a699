-- title: Session tree
-- question: What did each session cost by itself, with its subagents, and in all?
-- theme: sessions
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   root_session_id VARCHAR: session that the family began with
--   session_id VARCHAR: durable id of the session
--   parent_session_id VARCHAR: session that it was started from
--   depth INTEGER: 0 for the first of the family
--   relation VARCHAR: subagent, fork or resume; NULL for the first of the family
--   project VARCHAR: directory that the session began in
--   title VARCHAR: first 60 characters of its title
--   requests BIGINT: billed model calls of its own
--   total_tokens BIGINT: tokens of its own
--   own_usd DECIMAL(38,12): cost of its own calls, USD; adding up this column gives the total
--   below_usd DECIMAL(38,12): cost of all sessions below it, USD
--   cost_usd DECIMAL(38,12): both together, USD; never add this column over rows of a family
--   sessions_below BIGINT: sessions below it
--   unpriced_tokens BIGINT: its own tokens without a price
WITH RECURSIVE by_session AS (
    SELECT
        provider,
        session_id,
        arg_max(project, ts_utc) AS project,
        count(*) AS requests,
        sum(total_tokens)::BIGINT AS total_tokens,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS own_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    GROUP BY provider, session_id
),
family AS (
    SELECT provider, session_id, parent_session_id
    FROM sessions
    WHERE provider = coalesce(getvariable('provider'), provider)
    UNION
    SELECT provider, session_id, NULL FROM by_session
    WHERE (provider, session_id) NOT IN (SELECT (provider, session_id) FROM sessions)
),
-- Each session with each that stands above it, itself at no distance. Parents that go in a circle end after 32 steps.
above AS (
    SELECT provider, session_id, session_id AS above_id, parent_session_id AS next_id, 0 AS distance
    FROM family
    UNION ALL
    SELECT above.provider, above.session_id, parent.session_id, parent.parent_session_id, above.distance + 1
    FROM above
    JOIN family AS parent ON parent.provider = above.provider AND parent.session_id = above.next_id
    WHERE above.distance < 32 AND parent.session_id <> above.session_id
),
places AS (
    SELECT provider, session_id, arg_max(above_id, distance) AS root_session_id, max(distance) AS depth
    FROM above
    GROUP BY provider, session_id
),
sums AS (
    SELECT
        above.provider,
        above.above_id AS session_id,
        sum(costs.own_usd)::DECIMAL(38, 12) AS cost_usd,
        count(DISTINCT above.session_id) FILTER (above.distance > 0) AS sessions_below
    FROM above
    JOIN by_session AS costs ON costs.provider = above.provider AND costs.session_id = above.session_id
    GROUP BY above.provider, above.above_id
)
SELECT
    sums.provider,
    places.root_session_id,
    sums.session_id,
    known.parent_session_id,
    places.depth,
    known.relation,
    coalesce(known.project, own.project) AS project,
    left(known.title, 60) AS title,
    coalesce(own.requests, 0) AS requests,
    coalesce(own.total_tokens, 0) AS total_tokens,
    coalesce(own.own_usd, 0)::DECIMAL(38, 12) AS own_usd,
    (sums.cost_usd - coalesce(own.own_usd, 0))::DECIMAL(38, 12) AS below_usd,
    sums.cost_usd,
    sums.sessions_below,
    coalesce(own.unpriced_tokens, 0) AS unpriced_tokens
FROM sums
JOIN places ON places.provider = sums.provider AND places.session_id = sums.session_id
LEFT JOIN by_session AS own ON own.provider = sums.provider AND own.session_id = sums.session_id
LEFT JOIN sessions AS known ON known.provider = sums.provider AND known.session_id = sums.session_id
ORDER BY
    max(sums.cost_usd) OVER (PARTITION BY sums.provider, places.root_session_id) DESC,
    sums.provider, places.root_session_id, places.depth, sums.cost_usd DESC, sums.session_id;
