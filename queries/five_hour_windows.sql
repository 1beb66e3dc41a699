-- title: Five-hour windows, estimated
-- question: What did each five-hour window use, and how fast, as far as the calls tell where windows begin?
-- theme: cost over time
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   starts_utc TIMESTAMP: estimate: the whole UTC hour of the first call after the window before ended
--   ends_utc TIMESTAMP: estimate: five hours later
--   first_utc TIMESTAMP: first call in it, UTC
--   last_utc TIMESTAMP: last call in it, UTC
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: all tokens, prompt and output
--   cost_usd DECIMAL(38,12): USD at the vendor's API prices of the time; what has no price counts as zero
--   unpriced_tokens BIGINT: tokens without a price, missing from cost_usd
--   usd_per_hour DOUBLE: estimate: cost by hour between first and last call; NULL if that is under a minute
--   tokens_per_minute DOUBLE: estimate: tokens by minute of the same time
--   projected_usd DOUBLE: estimate: cost at its end if it goes on like that; only of a provider's newest window
WITH RECURSIVE hours AS (
    SELECT DISTINCT provider, date_trunc('hour', ts_utc) AS starts_utc
    FROM priced_requests
    WHERE provider = coalesce(getvariable('provider'), provider)
),
-- A gap of five hours ends a window too, but by then it has ended anyway.
windows AS (
    SELECT provider, min(starts_utc) AS starts_utc
    FROM hours
    GROUP BY provider
    UNION ALL
    SELECT windows.provider, min(hours.starts_utc)
    FROM windows
    JOIN hours ON hours.provider = windows.provider AND hours.starts_utc >= windows.starts_utc + INTERVAL 5 HOUR
    GROUP BY windows.provider
),
chosen AS (
    SELECT provider, ts_utc, total_tokens, cost_usd, cost_status
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
),
by_window AS (
    SELECT
        chosen.provider,
        windows.starts_utc,
        min(ts_utc) AS first_utc,
        max(ts_utc) AS last_utc,
        count(*) AS requests,
        sum(total_tokens)::BIGINT AS total_tokens,
        coalesce(sum(cost_usd), 0)::DECIMAL(38, 12) AS cost_usd,
        coalesce(sum(total_tokens) FILTER (cost_status = 'unpriced'), 0)::BIGINT AS unpriced_tokens,
        (epoch_us(max(ts_utc)) - epoch_us(min(ts_utc))) / 3.6e9 AS hours
    FROM chosen
    ASOF JOIN windows ON windows.provider = chosen.provider AND chosen.ts_utc >= windows.starts_utc
    GROUP BY chosen.provider, windows.starts_utc
)
SELECT
    provider,
    starts_utc,
    starts_utc + INTERVAL 5 HOUR AS ends_utc,
    first_utc,
    last_utc,
    requests,
    total_tokens,
    cost_usd,
    unpriced_tokens,
    CASE WHEN hours >= 1 / 60 THEN cost_usd::DOUBLE / hours END AS usd_per_hour,
    CASE WHEN hours >= 1 / 60 THEN total_tokens / hours / 60 END AS tokens_per_minute,
    CASE WHEN starts_utc = max(starts_utc) OVER (PARTITION BY provider)
        THEN cost_usd::DOUBLE + usd_per_hour * (epoch_us(ends_utc) - epoch_us(last_utc)) / 3.6e9
    END AS projected_usd
FROM by_window
ORDER BY provider, starts_utc;
