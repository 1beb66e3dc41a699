-- Requests with what they cost in USD: exactly one row per row of requests.
-- Price keys come from model_prices (what a recorded model, speed and tier mean at that time), rates from the one cell of
-- prices that holds at that time for that size of prompt. Everything stays DECIMAL: sums of DOUBLE differ from run to run.
CREATE OR REPLACE VIEW priced_requests AS
WITH sized AS (
    SELECT
        *,
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
        sized.* EXCLUDE (prompt_tokens),
        found.price_key,
        found.match_kind,
        found.channel AS price_channel,
        found.mode AS price_mode,
        rates.price_key IS NOT NULL AS has_price,
        coalesce(input_tokens, 0) + coalesce(cache_read_tokens, 0) + coalesce(cache_write_5m_tokens, 0)
            + coalesce(cache_write_1h_tokens, 0) + coalesce(output_tokens, 0) AS total_tokens,
        (input_tokens::DECIMAL(19, 0) * rates.input)::DECIMAL(38, 12) AS input_cost_usd,
        (cache_read_tokens::DECIMAL(19, 0) * rates.cache_read)::DECIMAL(38, 12) AS cache_read_cost_usd,
        (cache_write_5m_tokens::DECIMAL(19, 0) * rates.cache_write_5m)::DECIMAL(38, 12) AS cache_write_5m_cost_usd,
        (cache_write_1h_tokens::DECIMAL(19, 0) * rates.cache_write_1h)::DECIMAL(38, 12) AS cache_write_1h_cost_usd,
        (output_tokens::DECIMAL(19, 0) * rates.output)::DECIMAL(38, 12) AS output_cost_usd,
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
    LEFT JOIN rates
        ON rates.price_key = found.price_key
        AND rates.channel = found.channel
        AND rates.mode = found.mode
        AND rates.in_us = coalesce(sized.inference_geo = 'us', false)
        AND sized.ts_utc >= rates.valid_from
        AND sized.ts_utc < rates.valid_to
        AND sized.prompt_tokens > rates.prompt_over
        AND sized.prompt_tokens <= rates.prompt_upto
)
SELECT
    * EXCLUDE (has_price),
    CASE
        WHEN match_kind = 'not_billable' THEN 'not_billable'
        WHEN coalesce(
            input_tokens, cache_read_tokens, cache_write_5m_tokens, cache_write_1h_tokens, output_tokens,
            web_search_requests
        ) IS NULL THEN 'no_usage'
        WHEN NOT has_price THEN 'unpriced'
        WHEN coalesce(grain, 'request') <> 'request' THEN 'estimated'
        WHEN coalesce(count_basis, 'exact') NOT IN ('exact', 'rounded', 'rollup') THEN 'estimated'
        ELSE 'priced'
    END AS cost_status,
    CASE
        WHEN cost_status = 'not_billable' THEN 0
        WHEN cost_status IN ('priced', 'estimated') THEN
            coalesce(input_cost_usd, 0) + coalesce(cache_read_cost_usd, 0) + coalesce(cache_write_5m_cost_usd, 0)
                + coalesce(cache_write_1h_cost_usd, 0) + coalesce(output_cost_usd, 0) + coalesce(web_search_cost_usd, 0)
    END::DECIMAL(38, 12) AS cost_usd
FROM costed;
