-- Rows of usage with their time as plain UTC: counters that add. Never deduplicated: a later row of a request holds a difference.
CREATE OR REPLACE VIEW usage AS
SELECT *, make_timestamp(epoch_us(ts)) AS ts_utc
FROM stored.usage;
