-- Requests with what they cost in USD: exactly one row per row of requests.
-- Price keys come from model_prices (what a recorded model, speed and tier mean at that time), the hours of vendors that have
-- such from price_hours, rates from the one cell of prices that holds at that time for that size of prompt. Everything stays
-- DECIMAL: sums of DOUBLE differ from run to run.
-- Two variables change what it says: `cost_mode` (auto, computed, reported) chooses between what a source reported and what
-- prices make of its counters; `prices_at` (a TIMESTAMP) prices all history as if at that instant.
CREATE OR REPLACE VIEW priced_requests AS
WITH sized AS (
    SELECT
        *,
        coalesce(CAST(getvariable('prices_at') AS TIMESTAMP), ts_utc) AS priced_at,
        -- A row that covers more than one request says nothing of the size of any of them: base tier.
        CASE
            WHEN coalesce(grain, 'request') <> 'request' THEN 0
            ELSE coalesce(
                context_tokens,
                coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0)
                    + coalesce(cache_write_5m_tokens, 0) + coalesce(cache_write_1h_tokens, 0)
            )
        END AS prompt_tokens
    FROM requests
),
costed AS (
    SELECT
        sized.* EXCLUDE (prompt_tokens, priced_at),
        found.price_key,
        found.match_kind,
        found.billing,
        found.channel AS price_channel,
        coalesce(hours.mode, found.mode) AS price_mode,
        CASE
            WHEN rates.prompt_over IS NULL THEN NULL
            WHEN rates.prompt_over < 0 THEN 'base'
            ELSE 'over_' || rates.prompt_over
        END AS price_tier,
        rates.basis AS price_basis,
        rates.source AS price_source,
        rates.price_key IS NOT NULL AS has_price,
        coalesce(
            input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
            web_search_requests
        ) IS NOT NULL AS has_counters,
        coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_5m_tokens, 0)
            + coalesce(cache_write_1h_tokens, 0) + coalesce(output_tokens, 0) AS total_tokens,
        CASE WHEN upper(reported_cost_unit) = 'USD' THEN reported_cost END::DECIMAL(38, 12) AS cost_reported_usd,
        (input_tokens::DECIMAL(19, 0) * rates.input)::DECIMAL(38, 12) AS input_cost_usd,
        (cache_read_tokens::DECIMAL(19, 0) * rates.cache_read)::DECIMAL(38, 12) AS cache_read_cost_usd,
        (cache_write_5m_tokens::DECIMAL(19, 0) * rates.cache_write_5m)::DECIMAL(38, 12) AS cache_write_5m_cost_usd,
        (cache_write_1h_tokens::DECIMAL(19, 0) * rates.cache_write_1h)::DECIMAL(38, 12) AS cache_write_1h_cost_usd,
        (output_tokens::DECIMAL(19, 0) * rates.output)::DECIMAL(38, 12) AS output_cost_usd,
        -- What caching saved and took: the distance of its prices from that of input.
        (cache_read_tokens::DECIMAL(19, 0) * (rates.input - rates.cache_read))::DECIMAL(38, 12) AS cache_read_saved_usd,
        (
            coalesce(cache_write_5m_tokens, 0)::DECIMAL(19, 0) * (rates.cache_write_5m - rates.input)
            + coalesce(cache_write_1h_tokens, 0)::DECIMAL(19, 0) * (rates.cache_write_1h - rates.input)
        )::DECIMAL(38, 12) AS cache_write_premium_usd,
        (web_search_requests::DECIMAL(19, 0) * rates.web_search)::DECIMAL(38, 12) AS web_search_cost_usd
    FROM sized
    LEFT JOIN model_prices AS found
        ON found.provider = sized.provider
        AND found.vendor = coalesce(sized.vendor, '')
        AND found.model = coalesce(sized.model, '')
        AND found.speed = coalesce(sized.speed, '')
        AND found.service_tier = coalesce(sized.service_tier, '')
        AND sized.ts_utc >= found.valid_from
        AND sized.ts_utc < found.valid_to
    -- Which rule of hours holds is a matter of prices; which hour it was, of the request.
    LEFT JOIN price_hours AS hours
        ON hours.price_key = found.price_key
        AND found.mode = 'standard'
        AND found.channel = 'api'
        AND sized.priced_at >= hours.valid_from
        AND sized.priced_at < hours.valid_to
        AND hour(sized.ts_utc) * 60 + minute(sized.ts_utc) >= hours.from_minute
        AND hour(sized.ts_utc) * 60 + minute(sized.ts_utc) < hours.to_minute
        AND contains(hours.weekdays, isodow(sized.ts_utc)::VARCHAR)
        AND NOT list_contains(hours.except_days, sized.ts_utc::DATE)
    LEFT JOIN rates
        ON rates.price_key = found.price_key
        AND rates.channel = found.channel
        AND rates.mode = coalesce(hours.mode, found.mode)
        AND rates.in_us = coalesce(sized.inference_geo = 'us', false)
        AND sized.priced_at >= rates.valid_from
        AND sized.priced_at < rates.valid_to
        AND sized.prompt_tokens > rates.prompt_over
        AND sized.prompt_tokens <= rates.prompt_upto
),
computed AS (
    SELECT
        *,
        -- A reported zero beside counters is a plan's or nobody's, and no price; only where it is asked for it is taken.
        CASE coalesce(getvariable('cost_mode'), 'auto')
            WHEN 'computed' THEN false
            WHEN 'reported' THEN cost_reported_usd IS NOT NULL
            ELSE coalesce(cost_reported_usd > 0, false)
        END AS is_reported,
        CASE
            WHEN NOT has_counters THEN NULL
            WHEN billing NOT IN ('metered', 'estimate') THEN 0
            WHEN has_price THEN
                coalesce(input_cost_usd, 0) + coalesce(cache_read_cost_usd, 0) + coalesce(cache_write_5m_cost_usd, 0)
                    + coalesce(cache_write_1h_cost_usd, 0) + coalesce(output_cost_usd, 0)
                    + coalesce(web_search_cost_usd, 0)
        END::DECIMAL(38, 12) AS cost_computed_usd
    FROM costed
)
SELECT
    * EXCLUDE (has_price, has_counters, is_reported),
    CASE
        WHEN is_reported THEN 'reported'
        WHEN NOT has_counters THEN 'no_usage'
        WHEN getvariable('cost_mode') = 'reported' THEN 'unpriced'
        WHEN billing IN ('free', 'nothing') THEN 'free'
        WHEN billing IN ('flat_rate', 'local') THEN billing
        WHEN NOT has_price THEN 'unpriced'
        WHEN billing = 'estimate' THEN 'estimated'
        WHEN coalesce(grain, 'request') <> 'request' THEN 'estimated'
        WHEN coalesce(count_basis, 'exact') NOT IN ('exact', 'rounded', 'rollup') THEN 'estimated'
        ELSE 'priced'
    END AS cost_status,
    CASE
        WHEN is_reported THEN cost_reported_usd
        WHEN coalesce(getvariable('cost_mode'), 'auto') <> 'reported' THEN cost_computed_usd
    END::DECIMAL(38, 12) AS cost_usd,
    -- What covers several requests is the cost of none of them; it counts in every sum all the same.
    CASE WHEN coalesce(grain, 'request') = 'request' THEN cost_usd END::DECIMAL(38, 12) AS request_cost_usd
FROM computed;
