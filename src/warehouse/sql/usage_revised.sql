-- Rows of usage in partitions that hold growth or reversals of requests: there, rows must be summed by request.
CREATE OR REPLACE VIEW stored.usage_revised AS
SELECT *
FROM stored.usage
WHERE (provider, date) IN (SELECT (provider, date) FROM stored.usage WHERE status IS DISTINCT FROM 'counted');
