-- Rows of usage in partitions that hold a later row of a request (growth, a reversal, or one that moved here from another
-- day): there, rows must be summed by request.
CREATE OR REPLACE VIEW stored.usage_revised AS
SELECT *
FROM stored.usage
WHERE (provider, date) IN (SELECT (provider, date) FROM stored.usage WHERE rev > 0);
