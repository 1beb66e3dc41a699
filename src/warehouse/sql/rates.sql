-- Prices per token, without and with the surcharge for inference in the US: money is multiplied out here, per price and not
-- per request. A rate has six decimals per million tokens, so twelve per token are exact.
CREATE OR REPLACE VIEW rates AS
SELECT
    prices.price_key,
    prices.channel,
    prices.mode,
    prices.valid_from,
    prices.valid_to,
    prices.prompt_over,
    prices.prompt_upto,
    place.in_us,
    (prices.input * place.factor * 0.000001::DECIMAL(7, 6))::DECIMAL(18, 12) AS input,
    (prices.cache_read * place.factor * 0.000001::DECIMAL(7, 6))::DECIMAL(18, 12) AS cache_read,
    (prices.cache_write_5m * place.factor * 0.000001::DECIMAL(7, 6))::DECIMAL(18, 12) AS cache_write_5m,
    (prices.cache_write_1h * place.factor * 0.000001::DECIMAL(7, 6))::DECIMAL(18, 12) AS cache_write_1h,
    (prices.output * place.factor * 0.000001::DECIMAL(7, 6))::DECIMAL(18, 12) AS output,
    (prices.web_search_per_1k * 0.001000::DECIMAL(7, 6))::DECIMAL(18, 12) AS web_search,
    prices.basis,
    prices.source
FROM prices
CROSS JOIN LATERAL (VALUES (false, 1::DECIMAL(9, 6)), (true, prices.geo_us_mult)) AS place (in_us, factor);
