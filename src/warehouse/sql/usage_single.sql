-- Rows of usage in partitions where every request has one row only, which is nearly all of them.
-- Every later row of a request, wherever it lies, takes its partition out of here; and the first row of such a request lies
-- in a partition that holds a later row too (the growth, or the reversal). So the two halves never share a request.
CREATE OR REPLACE VIEW stored.usage_single AS
SELECT *
FROM stored.usage
WHERE (provider, date) NOT IN (SELECT (provider, date) FROM stored.usage WHERE rev > 0);
