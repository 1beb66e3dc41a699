-- title: Models without a price
-- question: Which recorded models have no price or only a stand-in, and what is missing by that?
-- theme: prices
-- parameters: tz, since, until, provider, project
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   vendor VARCHAR: who made the model, as recorded
--   model VARCHAR: model as recorded
--   mode VARCHAR: price mode
--   cost_status VARCHAR: unpriced, or estimated where the tool's fallback stands in
--   requests BIGINT: billed model calls
--   total_tokens BIGINT: their tokens
--   first_day DATE: first local day of use
--   last_day DATE: last local day of use
--   nearest_key VARCHAR: priced model with the most similar name: a hint, never used as a price
WITH missing AS (
    SELECT
        provider, vendor, model, price_mode AS mode, cost_status,
        count(*) AS requests, sum(total_tokens)::BIGINT AS total_tokens, min(day) AS first_day, max(day) AS last_day
    FROM local_requests(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    WHERE (cost_status = 'unpriced' OR match_kind = 'fallback') AND total_tokens > 0
    GROUP BY ALL
),
known AS (SELECT DISTINCT price_key FROM prices),
nearest AS (
    SELECT model, arg_max(price_key, {'likeness': likeness, 'key': price_key}) AS nearest_key
    FROM (
        SELECT
            missing.model,
            known.price_key,
            jaro_winkler_similarity(lower(missing.model), split_part(known.price_key, '/', 2)) AS likeness
        FROM (SELECT DISTINCT model FROM missing WHERE model IS NOT NULL) AS missing
        CROSS JOIN known
    )
    GROUP BY model
)
SELECT missing.*, nearest.nearest_key
FROM missing
LEFT JOIN nearest ON nearest.model = missing.model
ORDER BY total_tokens DESC, provider, vendor, missing.model, mode;
