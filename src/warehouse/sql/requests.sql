-- One row per billed request: counters summed over its rows, everything else from the row that stands, which is the newest.
-- A counter is NULL if no row recorded it. A request whose newest visible row takes it back stands on another day, maybe
-- outside of the parts that were read; it has no row of that day here.
-- Where no request has a second row there is nothing to sum, which saves the grouping of nearly all rows.
CREATE OR REPLACE VIEW requests AS
WITH ranked AS (
    -- A batch can hold several rows of a request, and a reversal has its successor right behind it.
    SELECT
        *,
        make_timestamp(epoch_us(ts)) AS ts_utc,
        batch * 1048576 + rev * 2 + CASE WHEN status = 'reversal' THEN 0 ELSE 1 END AS standing
    FROM stored.usage_revised
)
SELECT
    provider,
    request_key,
    session_id,
    make_timestamp(epoch_us(ts)) AS ts_utc,
    date,
    * EXCLUDE (provider, request_key, session_id, ts, date, event_id, record_key, seq, rev, status)
FROM stored.usage_single
UNION ALL BY NAME
SELECT
    provider,
    request_key,
    arg_max_null(session_id, standing) AS session_id,
    arg_max_null(ts_utc, standing) AS ts_utc,
    arg_max_null(date, standing) AS date,
    arg_max_null(message_uuid, standing) AS message_uuid,
    arg_max_null(response_id, standing) AS response_id,
    arg_max_null(model, standing) AS model,
    arg_max_null(vendor, standing) AS vendor,
    arg_max_null(speed, standing) AS speed,
    arg_max_null(service_tier, standing) AS service_tier,
    arg_max_null(inference_geo, standing) AS inference_geo,
    arg_max_null(effort, standing) AS effort,
    sum(input_tokens)::BIGINT AS input_tokens,
    sum(cache_read_tokens)::BIGINT AS cache_read_tokens,
    sum(cache_write_5m_tokens)::BIGINT AS cache_write_5m_tokens,
    sum(cache_write_1h_tokens)::BIGINT AS cache_write_1h_tokens,
    sum(output_tokens)::BIGINT AS output_tokens,
    sum(web_search_requests)::BIGINT AS web_search_requests,
    sum(reasoning_tokens)::BIGINT AS reasoning_tokens,
    arg_max_null(context_tokens, standing) AS context_tokens,
    arg_max_null(finish_reason, standing) AS finish_reason,
    arg_max_null(latency_ms, standing) AS latency_ms,
    arg_max_null(ttft_ms, standing) AS ttft_ms,
    arg_max_null(reported_cost, standing) AS reported_cost,
    arg_max_null(reported_cost_unit, standing) AS reported_cost_unit,
    arg_max_null(grain, standing) AS grain,
    arg_max_null(count_basis, standing) AS count_basis,
    arg_max_null(cache_write_basis, standing) AS cache_write_basis,
    arg_max_null(reported, standing) AS reported,
    arg_max_null(project, standing) AS project,
    arg_max_null(cwd, standing) AS cwd,
    arg_max_null(git_branch, standing) AS git_branch,
    arg_max_null(is_sidechain, standing) AS is_sidechain,
    arg_max_null(agent_id, standing) AS agent_id,
    arg_max_null(agent_type, standing) AS agent_type,
    arg_max_null(skill, standing) AS skill,
    arg_max_null(attributes, standing) AS attributes,
    arg_max_null(host, standing) AS host,
    arg_max_null(source_path, standing) AS source_path,
    max(batch) AS batch
FROM ranked
GROUP BY provider, request_key
HAVING arg_max_null(status, standing) IS DISTINCT FROM 'reversal';
