-- Rows of usage in partitions where every request has one row only, which is nearly all of them.
-- A later row of a request lies in the partition of its first, so the two halves never share a request that must be summed.
CREATE OR REPLACE VIEW stored.usage_single AS
SELECT *
FROM stored.usage
WHERE (provider, date) NOT IN (SELECT (provider, date) FROM stored.usage WHERE status IS DISTINCT FROM 'counted');
