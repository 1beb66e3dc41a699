-- title: Where the time goes
-- question: How long do people wait for the first answer, and how is the time shared by model, tools and people?
-- theme: habits and health
-- parameters: tz, since, until, provider, project
-- days: all
-- columns:
--   provider VARCHAR: tool whose sessions were read
--   project VARCHAR: directory that the sessions began in
--   prompts BIGINT: prompts of people
--   answered BIGINT: prompts whose next record is an answer
--   first_answer_p50_s DOUBLE: median seconds from a prompt to the first record of its answer
--   first_answer_p95_s DOUBLE: 95th percentile of the same
--   model_s BIGINT: seconds before records of the model, in whole sessions of the chosen days
--   tool_s BIGINT: seconds before tool results, waiting for permission included
--   idle_s BIGINT: seconds before prompts: the person reads, thinks or is away
--   model_percent DOUBLE: model_s by model_s and tool_s
WITH steps AS (
    SELECT provider, project, kind, kind_before, us_since
    FROM local_steps(
        tz := getvariable('tz'),
        since := getvariable('since'),
        until := getvariable('until'),
        only_provider := getvariable('provider'),
        only_project := getvariable('project')
    )
    -- Times that stand for others say nothing of how long something took.
    WHERE ts_basis = 'record'
)
SELECT
    provider,
    project,
    count(*) FILTER (kind = 'human') AS prompts,
    count(*) FILTER (kind = 'assistant' AND kind_before = 'human') AS answered,
    quantile_cont(us_since / 1e6, 0.5) FILTER (kind = 'assistant' AND kind_before = 'human') AS first_answer_p50_s,
    quantile_cont(us_since / 1e6, 0.95) FILTER (kind = 'assistant' AND kind_before = 'human') AS first_answer_p95_s,
    (coalesce(sum(us_since) FILTER (kind = 'assistant'), 0) // 1000000)::BIGINT AS model_s,
    (coalesce(sum(us_since) FILTER (kind = 'tool_result'), 0) // 1000000)::BIGINT AS tool_s,
    (coalesce(sum(us_since) FILTER (kind = 'human'), 0) // 1000000)::BIGINT AS idle_s,
    100.0 * model_s / nullif(model_s + tool_s, 0) AS model_percent
FROM steps
GROUP BY provider, project
ORDER BY model_s + tool_s DESC, provider, project;
